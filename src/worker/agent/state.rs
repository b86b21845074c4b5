//! The state of the training thread's loop.

use std::{rc::Rc, time::Duration};

use futures::channel::mpsc::UnboundedSender;
use hushgrad_message::ToMessage;
use web_time::Instant;

use super::{ahead::ReservedReleases, evaluation::Evaluation, saving::Saving, timed::TimedKind};
use crate::{
    data::{Dataset, Digits, TestSet},
    engine::{AnyEngine, EngineFactory, EngineInfo, Timings, cpu::helpers::Helpers},
    mechanism::State,
    train::session::Session,
    worker::{
        background::BackgroundJobs,
        functional::PayOnce,
        host::Host,
        inbox::Incoming,
        jobs::Job,
        look::StepInspection,
        protocol::{BackendChoice, Event, Fallback},
        reading::Orders,
        run_store::{Memory, Record, StoreError},
    },
};

/// The owner of the run; the loop calls it for each message and each piece of work.
pub(super) struct Agent<H: Host> {
    pub host: Rc<H>,
    /// The loop's own inbox, for concurrent tasks.
    pub reply: UnboundedSender<Incoming>,
    pub devices: Devices,
    pub data: Data,
    pub run: Current,
    pub keeper: Keeper<H::Lock>,
    pub jobs: Jobs,
}

/// The engine that the page asked for, the one that computes, and the threads beside it.
pub(super) struct Devices {
    /// Builds engines on the GPU while it is wanted and works, else on the CPU.
    pub factory: EngineFactory,
    /// Why it builds on the CPU although the GPU was wanted.
    pub fallback: Option<Fallback>,
    /// The backend that the page requested.
    pub choice: BackendChoice,
    /// Step times on both engines, for the kinds of steps that were timed.
    pub timings: Vec<(TimedKind, Timings)>,
    /// The step times that the page was told last.
    pub told_time: Option<Timings>,
    /// Cores on which the CPU computes; `None`: as many as the machine can spare.
    pub cores: Option<u32>,
    /// Helper threads: `None` until a CPU engine needs them, `Some(None)` if there are none.
    pub helpers: Option<Option<Helpers>>,
    /// True if the page was told that a helper was lost.
    pub told_of_helpers: bool,
    /// The engine and the fallback that the page was told last.
    pub opened: Option<(EngineInfo, Option<Fallback>)>,
}

/// The digits loaded last, and the loads in progress.
#[derive(Default)]
pub(super) struct Data {
    /// The digits loaded last, for the next run.
    pub digits: Option<Digits>,
    /// Numbers of the loads in progress, oldest first. A load that brings digits ends earlier ones.
    pub loads: Vec<u32>,
    /// The load of `digits`, while more of them are coming.
    pub arriving: Option<u32>,
    /// The load whose files are being read, and the channel to their reader.
    pub reading: Option<(u32, Box<dyn Orders>)>,
    /// The load of `digits`.
    pub load: u32,
    /// Digest of the first 1000 training digits as loaded; if equal, runs count as on the same
    /// digits.
    pub opening: Option<String>,
    /// `digits.train` with its minority turned (`train::config::Minority`), once a run needed it.
    pub turned: Option<Dataset>,
}

/// The current run, and how it is played, evaluated and shown.
#[derive(Default)]
pub(super) struct Current {
    pub session: Option<Session<AnyEngine>>,
    /// The current run's test set, in slices between which an evaluation can pause.
    pub slices: Vec<Dataset>,
    /// The current run's training set; `digits` may be newer.
    pub data: Option<Dataset>,
    /// Where the current run's test set comes from.
    pub test_set: Option<TestSet>,
    /// The current run's number: how many this thread has started.
    pub number: u32,
    pub playing: bool,
    /// Wait after each step in slow motion; zero if it is off.
    pub slow: Duration,
    /// True if a single step was requested and waits for the rest of the digits.
    pub step_awaits_digits: bool,
    /// When slow motion takes the next step.
    pub wake: Option<Instant>,
    /// A step and the engine's state after it: at the last evaluation on the GPU, or where the run
    /// was continued. A run whose device is lost continues from there.
    pub checkpoint: Option<(u64, State)>,
    pub last_report: Option<Instant>,
    /// When the page was last told of an audit.
    pub last_audit: Option<Instant>,
    pub evaluation: Evaluation,
    /// True if the page is yet to be shown what a first step would be.
    pub preview: bool,
    /// True if the page asked to trace the next step.
    pub look: bool,
    /// The last step that was traced with its lot.
    pub looked_at: Option<Rc<StepInspection>>,
    /// True if the page shows the digits of a traced step's lot.
    pub lots: bool,
}

/// What is kept of runs, and whether the browser keeps it.
pub(super) struct Keeper<L> {
    /// True if runs are to be stored.
    pub keeps: bool,
    /// The current run's books.
    pub ahead: Option<ReservedReleases<L>>,
    pub saving: Saving,
    /// The run deleted last, so that the page can restore it.
    pub deleted: Option<(String, Record)>,
    /// Runs that the browser refused to store.
    pub memory: Memory,
    /// Why the browser last refused.
    pub refusal: Option<StoreError>,
}

/// Work beside the run.
#[derive(Default)]
pub(super) struct Jobs {
    pub background: BackgroundJobs,
    /// The functional mechanism (*pay once*) in progress, and the digest of its digits.
    pub pay_once: Option<(PayOnce, Option<String>)>,
    /// Jobs that do not concern the run, at most one of each kind.
    pub started: Vec<Job>,
}

impl<H: Host> Agent<H> {
    pub fn new(host: Rc<H>, reply: UnboundedSender<Incoming>) -> Self {
        let devices = Devices {
            factory: EngineFactory::cpu(),
            fallback: None,
            choice: BackendChoice::default(),
            timings: Vec::new(),
            told_time: None,
            cores: None,
            helpers: None,
            told_of_helpers: false,
            opened: None,
        };
        let keeper = Keeper {
            keeps: false,
            ahead: None,
            saving: Saving::default(),
            deleted: None,
            memory: Memory::default(),
            refusal: None,
        };
        Self { host, reply, devices, data: Data::default(), run: Current::default(), keeper, jobs: Jobs::default() }
    }

    /// Tells the page that the current or a pending run failed; `field`: the setting at fault.
    pub fn problem(&self, field: Option<&str>, error: &dyn ToMessage) {
        self.host.send(Event::problem(field, error));
    }

    /// Tells the page of a failure that does not concern the run.
    pub fn aside(&self, error: &dyn ToMessage) {
        self.host.send(Event::aside(error));
    }

    /// True if the run's first step waits for digits that are still loading. On a part of them each
    /// example would be sampled more often, so every step would cost more.
    pub fn awaits_digits(&self) -> bool {
        self.data.arriving.is_some() && self.run.session.as_ref().is_some_and(|session| session.step_count() == 0)
    }

    pub fn set_playing(&mut self, playing: bool) {
        if self.run.playing != playing {
            self.run.playing = playing;
            self.host.send(Event::Playing(playing));
        }
    }
}
