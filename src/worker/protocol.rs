//! Messages between the page and the training thread. Postcard carries them; both sides are built together, so the messages have no version.

use serde::{Deserialize, Serialize};

use super::{
    annealing::Cooled,
    attacking::{Asked, Inferred},
    counting::Counted,
    follow::Followed,
    functional::{News, Wanted},
    look::{LotView, Person},
    snapshot::StepSnapshot,
    together::Remembered,
};
use crate::{
    accounting::{audit::Evidence, ledger},
    data,
    engine::{EngineInfo, Timings},
    model::Architecture,
    train::{
        audit::Mutation,
        config::RunConfig,
        report::{Report, Teaching},
        run_file::RunCard,
    },
};

/// What the page asks of the training thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// The first message: choose and check a backend. With `keep` runs are kept, and each run of earlier visits is told by an [`Event::Kept`].
    /// With `lots` each step that is taken apart is followed by an [`Event::Lot`], and a run's last planned step is taken apart.
    Open {
        backend: BackendChoice,
        /// As of [`Request::Cores`].
        cores: Option<u32>,
        keep: bool,
        lots: bool,
    },
    /// Compute on so many cores from now on, where the CPU trains; `None`: on as many as the machine can spare. What is computed is the same.
    Cores(Option<u32>),
    /// Replace the digits. The current run goes on until [`Request::Start`] or [`Request::Reset`], and loads that are under
    /// way until this one has brought digits. `load` is the page's number for it, larger than those before.
    Load {
        load: u32,
        from: DataRequest,
    },
    /// The bytes that [`Event::Wanted`] asked for; `None`: they cannot be read.
    Piece {
        load: u32,
        bytes: Option<Vec<u8>>,
    },
    /// A new run, paused at step 0. Refused as a whole if the configuration is; then the old run is untouched.
    Start {
        config: Box<RunConfig>,
        /// A promise that it breaks, so that an audit finds it. Such a run is not kept, and no file is made of it.
        broken: Option<Mutation>,
    },
    Play,
    Pause,
    /// One step, traced, then pause.
    StepOnce,
    /// Take the next step apart, whatever the speed; the one after it is as before.
    Look,
    /// Look at what another of the digits adds that the last [`Event::Lot`] showed: the one at this place. Answered by [`Event::Person`].
    Ring {
        place: u32,
    },
    /// Follow one of these images through the network. Answered by [`Event::Followed`].
    Follow {
        place: u32,
    },
    /// A new run with the same configuration, on the digits loaded last, paused at step 0.
    Reset,
    /// Milliseconds to wait after each step (slow motion); steps are traced while this is over zero.
    SlowMotion {
        milliseconds: u32,
    },
    /// Class probabilities of a drawn digit: 784 pixels in [0, 1].
    Predict {
        pixels: Vec<f32>,
    },
    /// Count which digits pay for privacy; answered by [`Event::Counted`].
    Count,
    /// Train the run's non-private baseline beside it; answered by [`Event::Baseline`] or [`Event::NoBaseline`].
    TrainBaseline,
    /// Release what a convex head needs to know of the digits loaded last; answered by [`Event::PaidOnce`].
    PayOnce(Wanted),
    /// More steps on what was released last.
    TrainOn,
    /// Seek the noise of this run's phases on drawn digits, at what it costs on so many examples; answered by [`Event::Cooled`].
    Anneal {
        config: Box<RunConfig>,
        examples: u32,
    },
    StopAnnealing,
    /// Train a model of drawn digits, and tell by it who was in; answered by [`Event::Inferred`].
    Attack(Box<Asked>),
    StopAttack,
    /// The run's ledger as JSON, as `hushgrad account` reads it.
    ExportLedger,
    /// Parameters of the model, flat.
    ExportParameters,
    /// Answered by [`Event::Pong`] at once, whatever else is under way, so that the page notices a dead thread.
    Ping,
    /// Save the current run at once, because the page may be closed.
    Save,
    /// Name or pin a run: the current one, or one that is kept.
    Label {
        key: String,
        label: Label,
    },
    /// Delete a run that is kept. Its books stay for [`Event::Together`].
    Delete {
        key: String,
    },
    /// Bring back the run that was deleted last; answered by [`Event::Kept`].
    Restore {
        key: String,
    },
    /// Stop counting earlier runs on these digits in [`Event::Together`].
    Forget,
    /// Keep the run of a run file, whose card the accountant has computed.
    KeepFile {
        card: Box<RunCard>,
        bytes: Vec<u8>,
    },
    /// Send a run, the current one or one that is kept, as a run file; answered by [`Event::RunFile`].
    ExportRun {
        key: String,
    },
    /// Continue a run that is kept, on the digits loaded last, paused where it was saved. All that it released stays in its ledger, also
    /// after the last save.
    Continue {
        key: String,
    },
    /// List the thread's network requests so far.
    Requests,
}

/// Which engine the page asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackendChoice {
    /// WebGPU where it is there, computes known steps as the CPU does, and takes less time for a step of the run ([`Event::Timed`]); else the CPU.
    #[default]
    Automatic,
    Cpu,
    Gpu,
}

/// Digits that the program draws where the site carries none or the visitor asks for them: to train on, to test.
pub const DRAWN: (u32, u32) = (20_000, 5_000);

/// Where digits come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DataRequest {
    /// MNIST beside the page; `manifest` is an absolute URL on the page's own origin. Falls back to synthetic digits,
    /// with an [`Event::Notice`], where the site carries none.
    Site { manifest: String },
    /// Drawn by the program.
    Synthetic { seed: u64, train: u32, test: u32 },
    /// Colour images drawn by the program.
    Colour { seed: u64, train: u32, test: u32 },
    /// Files that the visitor dropped or picked: names, and sizes in bytes. The thread has them read by the program that the loader at `reader` starts,
    /// an absolute URL on the page's own origin, and asks for what that wants of them ([`Event::Wanted`]).
    Files { reader: String, files: Vec<(String, u64)> },
}

/// What the training thread tells the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// Which backend runs, and why the GPU does not where it was wanted. Sent again when a run has another.
    Opened {
        engine: EngineInfo,
        fallback: Option<Fallback>,
    },
    /// How long a step of the next run takes on either engine, where that decided; sent when it is another.
    Timed(Option<Timings>),
    /// Digits are ready for the next run. `complete` is false while more shards are on their way.
    Loaded {
        load: u32,
        name: String,
        source: data::Source,
        train: u32,
        test: u32,
        test_set: data::TestSet,
        complete: bool,
        /// What an image is.
        picture: data::Picture,
        /// What labels say.
        classes: Vec<String>,
        /// Sentences on the visitor's own images.
        remarks: Vec<String>,
    },
    /// Bytes that have arrived of the load that was asked for last, and bytes in all.
    Loading {
        done: u64,
        total: u64,
    },
    /// Training images whose features are computed, of so many, while a run waits for them before its first step.
    Features {
        done: u32,
        total: u32,
    },
    /// Bytes `start..end` of one of the load's files, the first being 0, answered by [`Request::Piece`].
    Wanted {
        load: u32,
        file: u32,
        start: u64,
        end: u64,
    },
    /// Digits could not be loaded, and those before stay. A load that is not `over` goes on without a part.
    NotLoaded {
        load: u32,
        over: bool,
        sentence: String,
    },
    /// Another run is the current one: a new one at step 0, or a continued one.
    Started(RunInfo),
    /// The current run's ledger as JSON, sent when the run starts: what was released before, and all that the price of a step depends on. A run
    /// without a guarantee has none.
    LedgerOpened {
        run: u32,
        ledger: String,
        /// The run's step then, and what its steps from the next one on will release; the last of it for ever where the run has no end.
        step: u64,
        planned: Vec<ledger::Event>,
    },
    /// The events of that ledger so far, sent before each [`Event::Report`].
    Released(Vec<ledger::Event>),
    Playing(bool),
    /// Where the run stands, and the numbers that may be shown on the visitor's own screen and not be published.
    Report(Report, Teaching),
    /// What an auditor has found so far; sent after some [`Event::Report`]s of a run with canaries.
    Audited(Box<Audited>),
    /// What happened in one step.
    Snapshot {
        step: u64,
        snapshot: StepSnapshot,
    },
    /// The digits of that step's lot, and what one of them adds; sent after [`Event::Snapshot`].
    Lot {
        step: u64,
        lot: LotView,
        person: Option<Box<Person>>,
    },
    /// What another of them adds.
    Person {
        step: u64,
        person: Box<Person>,
    },
    /// The way of one of them through the network.
    Followed(Box<Followed>),
    /// What the model says of a drawn digit, class by class.
    Prediction(Vec<f32>),
    /// Which digits pay for privacy.
    Counted(Box<Counted>),
    /// How the release for a convex head goes, and the training on it.
    PaidOnce(News),
    /// Where the search for the noise of phases stands; `None`: it was refused.
    Cooled(Option<Box<Cooled>>),
    /// How an attack goes; `None`: it was refused.
    Inferred(Option<Inferred>),
    /// The non-private baseline's test accuracy after so many of its steps.
    BaselineMeasured {
        step: u64,
        accuracy: f64,
    },
    /// The non-private baseline's parameters after its steps.
    Baseline {
        model: Architecture,
        steps: u64,
        parameters: Vec<f32>,
    },
    /// The baseline could not be trained.
    NoBaseline,
    Ledger(String),
    Parameters(Vec<f32>),
    Pong,
    /// A run that is kept, accounted for anew.
    Kept(Box<KeptRun>),
    /// A sentence on why runs are kept only as long as the thread lives.
    Unkept(String),
    /// All runs on the current run's digits; a sentence, where some cannot be read.
    Together(Result<Remembered, String>),
    /// A run file as JSON.
    RunFile(String),
    Requests(Vec<NetworkRequest>),
    /// A sentence worth knowing; nothing failed.
    Notice(String),
    /// Something failed: what was asked for did not happen, and nothing else changed.
    Problem(Problem),
}

impl Event {
    /// The message of a failure of the run that stands, or that was asked for; `field` names the setting at fault, where one is.
    #[must_use]
    pub fn problem(field: Option<&str>, error: &dyn std::fmt::Display) -> Self {
        Self::Problem(Problem { field: field.map(str::to_owned), sentence: error.to_string(), aside: false })
    }

    /// The message of a failure of something else.
    #[must_use]
    pub fn aside(error: &dyn std::fmt::Display) -> Self {
        Self::Problem(Problem { field: None, sentence: error.to_string(), aside: true })
    }
}

/// Why the CPU computes where WebGPU was wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// A phrase.
    pub reason: String,
    /// Whether there is WebGPU; else the browser's settings or another browser may help.
    pub webgpu: bool,
}

/// The name, the note and the pin of a run in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub name: String,
    /// What changed from the run before.
    pub note: String,
    pub pinned: bool,
}

/// A run that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRun {
    pub key: String,
    pub pinned: bool,
    /// Releases that its ε counts beyond its steps, because their parameters were not saved.
    pub beyond: u64,
    pub card: RunCard,
}

/// An audit of the current run as it goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// Steps that were seen.
    pub steps: u64,
    pub evidence: Evidence,
}

/// The current run, when it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Counts runs since the page was loaded.
    pub run: u32,
    /// Its key in the run store.
    pub key: String,
    /// Key of the run that it continues.
    pub continues: Option<String>,
    /// As of [`KeptRun`].
    pub beyond: u64,
    pub config: RunConfig,
    /// The promise that it breaks.
    pub broken: Option<Mutation>,
    pub engine: EngineInfo,
    /// Number of the model's parameters, P.
    pub parameters: u32,
    pub train: u32,
    pub test: u32,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The `RunConfig` field that is wrong, where one is (`noise.sigma`).
    pub field: Option<String>,
    /// One sentence: what, where, what to do.
    pub sentence: String,
    /// Whether it has nothing to do with the run that stands, or with one that was asked for: what is wished of those stays wished.
    pub aside: bool,
}

/// A request that was made over the network, or answered by the browser's own store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkRequest {
    pub url: String,
    /// Bytes of the answer as they came; 0 where the browser had it.
    pub bytes: u64,
    /// Milliseconds since 1970.
    pub at: f64,
}
