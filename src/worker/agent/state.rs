//! What the training thread's loop holds from one message to the next.

use std::{rc::Rc, time::Duration};

use futures::channel::mpsc::UnboundedSender;
use web_time::Instant;

use super::{ahead::Ahead, evaluation::Evaluation, saving::Saving, timed::TimedKind};
use crate::{
    data::{Dataset, Digits, TestSet},
    engine::{AnyEngine, EngineFactory, EngineInfo, Timings, cpu::helpers::Helpers},
    mechanism::State,
    train::session::Session,
    worker::{
        annealing::Search,
        attacking::Attack,
        background::BackgroundJobs,
        functional::PayOnce,
        host::Host,
        inbox::Message,
        look::LookedAt,
        protocol::{BackendChoice, Event, Fallback},
        reading::Orders,
        run_store::{Memory, Record, StoreError},
    },
};

/// The owner of the run: the loop calls it with each message, and for each piece of work.
pub(super) struct Agent<H: Host> {
    pub host: Rc<H>,
    /// The loop's own inbox, for tasks beside it.
    pub reply: UnboundedSender<Message>,
    /// Builds engines on the GPU as long as that was asked for and works, else on the CPU.
    pub factory: EngineFactory,
    /// Why it builds them on the CPU, where the GPU was asked for.
    pub fallback: Option<Fallback>,
    /// What the page asked for.
    pub choice: BackendChoice,
    /// How long a step takes on either engine, for the kinds of steps that were timed.
    pub timings: Vec<(TimedKind, Timings)>,
    /// What the page was told of that last.
    pub told_time: Option<Timings>,
    /// On how many cores the CPU is to compute; `None`: as many as the machine can spare.
    pub cores: Option<u32>,
    /// Threads beside this one, once an engine on the CPU was to have some.
    pub helpers: Option<Option<Helpers>>,
    /// Whether the page was told that one was lost.
    pub told_of_helpers: bool,
    /// The engine and the fallback that the page was told of last.
    pub opened: Option<(EngineInfo, Option<Fallback>)>,
    /// The digits loaded last: the next run is trained on them.
    pub digits: Option<Digits>,
    /// Numbers of the loads under way, in the order in which they were asked for. A load that brings digits ends those before it.
    pub loads: Vec<u32>,
    /// The load of `digits`, while more of them are on their way.
    pub arriving: Option<u32>,
    /// The load whose files are being read, and the way to their reader.
    pub reading: Option<(u32, Box<dyn Orders>)>,
    /// The current run's test set, cut into slices.
    pub slices: Vec<Dataset>,
    pub session: Option<Session<AnyEngine>>,
    /// `digits.train` with its minority, once a run was to have one.
    pub turned: Option<Dataset>,
    /// The current run's training set; `digits` may be newer.
    pub run_data: Option<Dataset>,
    /// Where the current run's test set came from.
    pub run_test_set: Option<TestSet>,
    /// Runs since the thread began; the number of the current one.
    pub runs: u32,
    pub playing: bool,
    /// How long slow motion waits after each step; zero: it is off.
    pub slow: Duration,
    /// A single step was asked for, and waits for the rest of its digits.
    pub step_awaits_digits: bool,
    /// When slow motion takes the next step.
    pub wake: Option<Instant>,
    /// A step and the engine's state after it: after the last evaluation on the GPU, or where the run was continued. A run whose device is
    /// lost goes on from there.
    pub checkpoint: Option<(u64, State)>,
    /// Whether the page wants its runs kept.
    pub keeps: bool,
    /// Whether the page shows digits of a step's lot.
    pub lots: bool,
    /// Digest of the digits loaded last, by which runs on the same digits are found.
    pub opening: Option<String>,
    /// The current run's books.
    pub ahead: Option<Ahead<H::Lock>>,
    pub saving: Saving,
    /// The run that was deleted last, so that the page can have it back.
    pub deleted: Option<(String, Record)>,
    /// Runs that the browser refused to keep.
    pub memory: Memory,
    /// Why it refused the last of them.
    pub refusal: Option<StoreError>,
    pub last_report: Option<Instant>,
    /// When the page was last told of an audit.
    pub last_audit: Option<Instant>,
    pub evaluation: Evaluation,
    pub background: BackgroundJobs,
    /// A release for a convex head, and the digest of the digits that it is of.
    pub pay_once: Option<(PayOnce, Option<String>)>,
    /// A search for the noise of a run's phases.
    pub search: Option<Box<Search>>,
    /// An attack on a model of drawn digits.
    pub attack: Option<Box<Attack>>,
    /// Whether the next step is taken apart, whatever the speed.
    pub look: bool,
    /// The step that was looked into last.
    pub looked_at: Option<Rc<LookedAt>>,
}

impl<H: Host> Agent<H> {
    pub fn new(host: Rc<H>, reply: UnboundedSender<Message>) -> Self {
        Self {
            host,
            reply,
            factory: EngineFactory::cpu(),
            fallback: None,
            choice: BackendChoice::default(),
            timings: Vec::new(),
            told_time: None,
            cores: None,
            helpers: None,
            told_of_helpers: false,
            opened: None,
            digits: None,
            loads: Vec::new(),
            arriving: None,
            reading: None,
            slices: Vec::new(),
            session: None,
            turned: None,
            run_data: None,
            run_test_set: None,
            runs: 0,
            playing: false,
            slow: Duration::ZERO,
            step_awaits_digits: false,
            wake: None,
            checkpoint: None,
            keeps: false,
            lots: false,
            opening: None,
            ahead: None,
            saving: Saving::default(),
            deleted: None,
            memory: Memory::default(),
            refusal: None,
            last_report: None,
            last_audit: None,
            evaluation: Evaluation::default(),
            background: BackgroundJobs::default(),
            pay_once: None,
            search: None,
            attack: None,
            look: false,
            looked_at: None,
        }
    }

    /// Tells the page that the run failed, or one that was asked for; `field`: the setting at fault, where one is.
    pub fn problem(&self, field: Option<&str>, error: &dyn std::fmt::Display) {
        self.host.send(Event::problem(field, error));
    }

    /// Tells the page that something failed that the run does not wait for.
    pub fn aside(&self, error: &dyn std::fmt::Display) {
        self.host.send(Event::aside(error));
    }

    /// Whether the run's first step waits for digits that are on their way: on a part of them each example would be drawn more often, which costs more
    /// for as long as the run lasts.
    pub fn awaits_digits(&self) -> bool {
        self.arriving.is_some() && self.session.as_ref().is_some_and(|session| session.step_count() == 0)
    }

    pub fn set_playing(&mut self, playing: bool) {
        if self.playing != playing {
            self.playing = playing;
            self.host.send(Event::Playing(playing));
        }
    }
}
