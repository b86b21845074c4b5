//! Messages between page and training thread, in postcard; built together, they have no version.

use hushgrad_message::{Message, ToMessage};
use serde::{Deserialize, Serialize};

use super::{
    counting::ClassReport,
    follow::Followed,
    functional::{FunctionalProgress, FunctionalRequest},
    jobs::{JobKind, JobProgress, JobRequest},
    look::{Contribution, LotView},
    snapshot::StepSnapshot,
    together::Remembered,
};
use crate::{
    accounting::{audit::Evidence, ledger},
    data::{self, card::Card},
    engine::{EngineInfo, Timings},
    model::Architecture,
    train::{
        audit::InjectedBug,
        config::RunConfig,
        report::{Report, Teaching},
        run_file::RunCard,
    },
};

/// Requests of the page to the training thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// The first message: choose and check a backend. With `keep`, store runs and send earlier ones
    /// ([`Event::Kept`]). With `lots`, traced steps have an [`Event::Lot`], and the last is traced.
    Open {
        backend: BackendChoice,
        /// As in [`Request::Cores`].
        cores: Option<u32>,
        keep: bool,
        lots: bool,
    },
    /// Use so many cores when the CPU trains (`None`: all it can spare). Results do not change.
    Cores(Option<u32>),
    /// Load other digits. The current run continues until [`Request::Start`] or [`Request::Reset`],
    /// and earlier loads until this one brings digits. `load` numbers loads, in ascending order.
    Load {
        load: u32,
        from: DataRequest,
    },
    /// Turn the images loaded last by 90° clockwise or, with `mirror`, mirror them; answered by
    /// [`Event::Loaded`]. They are of the same people, so earlier runs still count.
    Orient {
        mirror: bool,
    },
    /// The bytes requested by [`Event::Wanted`]; `None` if they cannot be read.
    Piece {
        load: u32,
        bytes: Option<Vec<u8>>,
    },
    /// Start a run, paused at step 0. If its configuration is refused, the current run stays.
    Start {
        config: Box<RunConfig>,
        /// A promise that the run breaks, for an audit to find. It is not stored and has no file.
        broken: Option<InjectedBug>,
    },
    Play,
    Pause,
    /// Take one traced step, then pause.
    StepOnce,
    /// Trace the next step, whatever the speed.
    Look,
    /// Compute the contribution of example `place` of the last [`Event::Lot`] ([`Event::Contribution`]).
    Inspect {
        place: u32,
    },
    /// Follow that example through the network. Answered by [`Event::Followed`].
    Follow {
        place: u32,
    },
    /// Start a run of the same configuration on the digits loaded last, paused at step 0.
    Reset,
    /// Milliseconds to wait after each step (slow motion); above zero, steps are traced.
    SlowMotion {
        milliseconds: u32,
    },
    /// Predict class probabilities of a drawn digit: 784 pixels in [0, 1].
    Predict {
        pixels: Vec<f32>,
    },
    /// Count which digits pay for privacy; answered by [`Event::ClassReport`].
    Count,
    /// Train the non-private baseline; answered by [`Event::Baseline`] or [`Event::NoBaseline`].
    TrainBaseline,
    /// Release a convex head's statistics of the digits loaded last ([`Event::PaidOnce`]).
    PayOnce(FunctionalRequest),
    /// Train more steps on the last release.
    TrainOn,
    /// Start a job beside the run; answered by [`Event::Job`] and [`Event::JobFailed`].
    StartJob(JobRequest),
    StopJob(JobKind),
    /// Send the run's ledger as JSON, as `hushgrad account` reads it.
    ExportLedger,
    /// Send the model's parameters, flat.
    ExportParameters,
    /// Answered by [`Event::Pong`] at once, whatever is running, so that a dead thread is noticed.
    Ping,
    /// Save the current run at once, because the page may be closed.
    Save,
    /// Name or pin the current run or a stored one.
    Label {
        key: String,
        label: Label,
    },
    /// Delete a stored run. Its books stay for [`Event::Together`].
    Delete {
        key: String,
    },
    /// Restore the run deleted last; answered by [`Event::Kept`].
    Restore {
        key: String,
    },
    /// Stop counting earlier runs on these digits in [`Event::Together`].
    Forget,
    /// Store the run of a run file, whose card the accountant has computed.
    KeepFile {
        card: Box<RunCard>,
        bytes: Vec<u8>,
    },
    /// Send the current run or a stored one as a run file; answered by [`Event::RunFile`].
    ExportRun {
        key: String,
    },
    /// Continue a stored run on the digits loaded last, paused where it was saved. Its ledger keeps
    /// all releases, including those after the last save.
    Continue {
        key: String,
    },
    /// List the thread's network requests so far.
    Requests,
}

/// The engine that the page requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackendChoice {
    /// WebGPU if available, correct on known steps and faster ([`Event::Timed`]); else the CPU.
    #[default]
    Automatic,
    Cpu,
    Gpu,
}

/// Numbers of training and test digits that are drawn if the site has none or the visitor asks.
pub const DRAWN: (u32, u32) = (20_000, 5_000);

/// Where digits come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DataRequest {
    /// MNIST hosted with the page; `manifest` is an absolute URL on the page's own origin. Falls
    /// back to synthetic digits, with an [`Event::Notice`], if the site has none.
    Site { manifest: String },
    /// Drawn by the program.
    Synthetic { seed: u64, train: u32, test: u32 },
    /// Colour images drawn by the program.
    Colour { seed: u64, train: u32, test: u32 },
    /// Files of the visitor: names, and sizes in bytes. The program of the loader at `reader` (an
    /// absolute URL on the page's own origin) reads them, and requests pieces ([`Event::Wanted`]).
    Files { reader: String, files: Vec<(String, u64)> },
}

/// Messages of the training thread to the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The backend in use, and why the GPU is not, if wanted. Sent again when that changes.
    Opened {
        engine: EngineInfo,
        fallback: Option<Fallback>,
    },
    /// Times of a step of the next run on both engines, if they decided; sent when they change.
    Timed(Option<Timings>),
    /// Digits are ready for the next run. `complete` is false while more shards are coming.
    Loaded {
        load: u32,
        name: String,
        source: data::Source,
        train: u32,
        test: u32,
        test_set: data::TestSet,
        complete: bool,
        /// The shape of an image.
        picture: data::Picture,
        /// Names of the classes.
        classes: Vec<String>,
        /// Remarks on the visitor's own images, a sentence each.
        remarks: Vec<Message>,
        /// The visitor's own images by class, once complete.
        card: Option<Card>,
    },
    /// Bytes received or pictures decoded by the load requested last, and their total.
    Loading {
        done: u64,
        total: u64,
    },
    /// Training images whose features are computed, which a run awaits before its first step.
    Features {
        done: u32,
        total: u32,
    },
    /// Request for bytes `start..end` of one of the load's files (from 0), for [`Request::Piece`].
    Wanted {
        load: u32,
        file: u32,
        start: u64,
        end: u64,
    },
    /// Digits could not be loaded; earlier ones stay. Unless `over`, only a part is missing.
    NotLoaded {
        load: u32,
        over: bool,
        sentence: Message,
    },
    /// The current run changed: a new one at step 0, or a continued one.
    Started(RunInfo),
    /// The current run's ledger as JSON, sent when the run starts: earlier releases, and all that
    /// the price of a step depends on. A run without a guarantee has none.
    LedgerOpened {
        run: u32,
        ledger: String,
        /// Its step then, and the releases of later steps; the last repeats if the run has no end.
        step: u64,
        planned: Vec<ledger::Event>,
    },
    /// The events of that ledger so far, sent before each [`Event::Report`].
    Released(Vec<ledger::Event>),
    Playing(bool),
    /// The run's status, and the numbers for the visitor's own screen that must not be published.
    Report(Report, Teaching),
    /// Findings of an auditor so far; sent after some [`Event::Report`]s of a run with canaries.
    Audited(Box<Audited>),
    /// A traced step.
    Snapshot {
        step: u64,
        snapshot: StepSnapshot,
    },
    /// The digits of that step's lot, and the contribution of one; sent after [`Event::Snapshot`].
    /// Step 0 is a rehearsal: what a first step would be, of which nothing is released.
    Lot {
        step: u64,
        lot: LotView,
        person: Option<Box<Contribution>>,
    },
    /// The contribution of another of them.
    Contribution {
        step: u64,
        person: Box<Contribution>,
    },
    /// One of them on its way through the network.
    Followed(Box<Followed>),
    /// Class probabilities of a drawn digit.
    Prediction(Vec<f32>),
    /// Which digits pay for privacy.
    ClassReport(Box<ClassReport>),
    /// Progress of the release for a convex head, and of training on it.
    PaidOnce(FunctionalProgress),
    /// Progress of a job, or its result.
    Job(JobProgress),
    /// A job was refused or failed.
    JobFailed(JobKind),
    /// The non-private baseline's test accuracy after `step` of its steps.
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
    /// A stored run, accounted for anew.
    Kept(Box<KeptRun>),
    /// A sentence on why runs are kept only as long as the thread lives.
    Unkept(Message),
    /// All runs on the current run's digits; a sentence if some cannot be read.
    Together(Result<Remembered, Message>),
    /// A run file as JSON.
    RunFile(String),
    Requests(Vec<NetworkRequest>),
    /// A notice; nothing failed.
    Notice(Message),
    /// Something failed. A request that failed had no effect.
    Problem(Problem),
}

impl Event {
    /// Returns the failure of the current or a pending run; `field`: the setting at fault, if any.
    #[must_use]
    pub fn problem(field: Option<&str>, error: &dyn ToMessage) -> Self {
        Self::Problem(Problem { field: field.map(str::to_owned), sentence: error.to_message(), aside: false })
    }

    /// Returns the failure of anything else.
    #[must_use]
    pub fn aside(error: &dyn ToMessage) -> Self {
        Self::Problem(Problem { field: None, sentence: error.to_message(), aside: true })
    }
}

/// Why the CPU computes although WebGPU was wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// A phrase.
    pub reason: Message,
    /// True if there is WebGPU; else the browser's settings or another browser may help.
    pub webgpu: bool,
}

/// Name, note and pin of a run in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub name: String,
    /// What changed from the previous run.
    pub note: String,
    pub pinned: bool,
}

/// A stored run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRun {
    pub key: String,
    pub pinned: bool,
    /// Releases counted in its ε beyond its steps, because their parameters were not saved.
    pub beyond: u64,
    pub card: RunCard,
}

/// An audit of the current run so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// Steps observed.
    pub steps: u64,
    pub evidence: Evidence,
}

/// The current run, as it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Counts runs since the thread started.
    pub run: u32,
    /// Its key in the run store.
    pub key: String,
    /// Key of the run that it continues.
    pub continues: Option<String>,
    /// As in [`KeptRun`].
    pub beyond: u64,
    pub config: RunConfig,
    /// The promise that it breaks, if any.
    pub broken: Option<InjectedBug>,
    pub engine: EngineInfo,
    /// Number of the model's parameters, P.
    pub parameters: u32,
    pub train: u32,
    pub test: u32,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// The `RunConfig` field at fault, if any (`noise.sigma`).
    pub field: Option<String>,
    /// One sentence: what, where, what to do.
    pub sentence: Message,
    /// True if it concerns neither the current nor a pending run; pending requests stay.
    pub aside: bool,
}

/// A network request, possibly answered from the browser's own store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkRequest {
    pub url: String,
    /// Bytes transferred; 0 if the browser had the answer.
    pub bytes: u64,
    /// Milliseconds since 1970.
    pub at: f64,
}
