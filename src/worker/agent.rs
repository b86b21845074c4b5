//! The training thread's loop: takes requests, plays the run, reports. It runs anywhere; what differs between a browser
//! and a test is its [`Host`].
//!
//! One task owns the run. Between two steps (and between two slices of an evaluation) it looks into its inbox, so every
//! request is answered within a step's time, and none meets a half-done one.

mod ahead;
mod files;
mod kept;
mod saved;
mod together;

use std::{pin::pin, rc::Rc, time::Duration};

use ahead::{Ahead, Place};
use futures::{
    StreamExt,
    channel::mpsc::UnboundedReceiver,
    future::{Either, select},
};
use kept::Continued;
use saved::Saving;
use web_time::Instant;

use super::{
    background::{BackgroundJobs, baseline_of},
    loader::{self, Arrival, LoadError},
    protocol::{BackendChoice, DataRequest, Event, Fallback, NetworkRequest, Problem, Request, RunInfo},
    run_store::{Change, Memory, PATIENCE, Store, StoreError},
    snapshot::StepSnapshot,
};
use crate::{
    data::{Dataset, Digits, TestSet, incoming::Incoming},
    engine::{AnyEngine, Backend, Engine, EngineError, EngineFactory, EngineInfo, reading},
    mechanism::State,
    train::{
        config::RunConfig,
        error::{ConfigError, SessionError},
        plan::Plan,
        report::Report,
        session::Session,
    },
};

/// Reports while playing, at most this often.
const REPORT_EVERY: Duration = Duration::from_millis(50);
/// Between two looks at the inbox the thread computes at most this long (and at least one step).
const YIELD_EVERY: Duration = Duration::from_millis(8);
/// Training examples whose features are computed without a look at the clock.
const PREPARED_AT_A_TIME: usize = 16;
/// While playing, evaluation may take this share of the time.
const EVALUATION_SHARE: f64 = 0.2;
/// Play waits this long for digits that are on their way: trained on a part of them, each example is seen more often, and
/// costs more.
const WAIT_FOR_DIGITS: Duration = Duration::from_millis(1500);
/// Slow motion sleeps in pieces of this length, so that pausing needs no more.
const SLEEP: Duration = Duration::from_millis(30);
/// Examples evaluated between two looks at the inbox.
const SLICE: usize = 500;

/// What the loop needs of the place where it runs.
#[expect(async_fn_in_trait, reason = "one thread; no Send bound is wanted")]
pub trait Host: Store + 'static {
    /// Bytes at a URL of the page's own origin.
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, LoadError>;
    /// The same past whatever was kept of it, which was damaged.
    async fn fetch_anew(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        self.fetch(url).await
    }
    /// Keeps bytes that came from a URL and were found sound, for a visit without a network.
    fn keep(&self, _url: &str, _bytes: &[u8]) {}
    /// Lets messages arrive. For the loop alone, one turn at a time; a task beside it sleeps.
    async fn breathe(&self);
    async fn sleep(&self, time: Duration);
    /// Runs a task beside the loop.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);
    fn send(&self, event: Event);
    /// Requests that this thread has made.
    fn requests(&self) -> Vec<NetworkRequest>;
}

/// What reaches the loop: the page's requests, and digits as they arrive.
pub enum Message {
    Request(Request),
    /// What the load with this number brings.
    Arrival {
        load: u32,
        arrival: Arrival,
    },
    /// What became of a block of releases of this run, up to `upto`.
    Reserved {
        run: u32,
        upto: u64,
        result: Result<(), StoreError>,
    },
    /// What became of this run as it stood at `step`.
    Saved {
        run: u32,
        step: u64,
        result: Result<(), StoreError>,
    },
}

/// What a store says, or that it is silent.
async fn within<H: Host, T>(host: &H, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    match select(pin!(answer), pin!(host.sleep(PATIENCE))).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(StoreError::Silent),
    }
}

async fn write<H: Host>(host: &H, changes: Vec<Change>) -> Result<(), StoreError> {
    within(host, host.write(changes)).await
}

/// Answers requests until the inbox closes.
pub async fn run<H: Host>(
    host: Rc<H>,
    mut inbox: UnboundedReceiver<Message>,
    reply: futures::channel::mpsc::UnboundedSender<Message>,
) {
    let mut agent = Agent {
        host,
        reply,
        factory: EngineFactory::cpu(),
        fallback: None,
        opened: None,
        digits: None,
        loads: Vec::new(),
        arriving: None,
        incoming: None,
        slices: Vec::new(),
        session: None,
        run_data: None,
        run_test_set: None,
        runs: 0,
        playing: false,
        slow: Duration::ZERO,
        told_of_features: false,
        hold: None,
        wake: None,
        checkpoint: None,
        keeps: false,
        opening: None,
        ahead: None,
        saving: Saving::default(),
        memory: Memory::default(),
        refusal: None,
        last_report: None,
        evaluation: Evaluation::default(),
        background: BackgroundJobs::default(),
    };
    loop {
        let message = if agent.idle() { inbox.next().await.map(Some) } else { poll(&mut inbox) };
        match message {
            None => return,
            Some(Some(message)) => agent.receive(message).await,
            Some(None) => agent.advance().await,
        }
    }
}

/// `Some(None)`: nothing there now; `None`: closed.
fn poll(inbox: &mut UnboundedReceiver<Message>) -> Option<Option<Message>> {
    match inbox.try_recv() {
        Ok(message) => Some(Some(message)),
        Err(futures::channel::mpsc::TryRecvError::Empty) => Some(None),
        Err(futures::channel::mpsc::TryRecvError::Closed) => None,
    }
}

/// How far the test set has been looked at, for the model as it stands.
#[derive(Default)]
struct Evaluation {
    /// Slice that comes next; `None`: no evaluation is under way.
    next: Option<usize>,
    correct: u32,
    spent: Duration,
    /// When the last one ended, and how long it took.
    last: Option<(Instant, Duration)>,
}

/// What a run begins with.
struct Prepared {
    plan: Plan,
    engine: AnyEngine,
    /// Why it is the CPU's, where the GPU was to run it.
    fallback: Option<Fallback>,
}

struct Agent<H: Host> {
    host: Rc<H>,
    reply: futures::channel::mpsc::UnboundedSender<Message>,
    /// Of the GPU as long as that was asked for and works.
    factory: EngineFactory,
    /// Why it is of the CPU, where the GPU was asked for.
    fallback: Option<Fallback>,
    /// What the page was told last of what runs.
    opened: Option<(EngineInfo, Option<Fallback>)>,
    digits: Option<Digits>,
    /// Loads under way, the one asked for last at the end. One that brings digits ends all before it, not those after it.
    loads: Vec<u32>,
    /// The load of these digits, while it has more of them to bring.
    arriving: Option<u32>,
    /// The visitor's files that are on their way, and their load.
    incoming: Option<(u32, Incoming)>,
    /// The test set of the current run, cut for evaluation.
    slices: Vec<Dataset>,
    session: Option<Session<AnyEngine>>,
    /// What the current run trains on; newer digits wait for the next.
    run_data: Option<Dataset>,
    /// Whose images it is tested on.
    run_test_set: Option<TestSet>,
    runs: u32,
    playing: bool,
    slow: Duration,
    /// Whether the page knows what this run's first step waits for.
    told_of_features: bool,
    /// Until when a run that has not begun waits for the rest of its digits.
    hold: Option<Instant>,
    /// When slow motion takes its next step.
    wake: Option<Instant>,
    /// Parameters and momentum after the last evaluation or as the run was continued, and their step, for a device that may be lost.
    checkpoint: Option<(u64, State)>,
    /// Whether runs are kept.
    keeps: bool,
    /// What the digits loaded last are called by those whose runs add up.
    opening: Option<String>,
    /// The books of the run that stands.
    ahead: Option<Ahead<H::Lock>>,
    saving: Saving,
    /// Runs that the browser does not keep, and why it did not.
    memory: Memory,
    refusal: Option<StoreError>,
    last_report: Option<Instant>,
    evaluation: Evaluation,
    background: BackgroundJobs,
}

impl<H: Host> Agent<H> {
    fn idle(&self) -> bool {
        (!self.playing || self.waits_for_books()) && self.evaluation.next.is_none() && self.background.idle()
    }

    fn problem(&self, field: Option<&str>, error: &dyn std::fmt::Display) {
        self.host.send(problem_of(field, error));
    }

    async fn receive(&mut self, message: Message) {
        match message {
            Message::Arrival { load, arrival } => self.arrive(load, arrival).await,
            Message::Request(request) => self.answer(request).await,
            Message::Reserved { run, upto, result } => self.take_reserved(run, upto, result),
            Message::Saved { run, step, result } => self.take_saved(run, step, result),
        }
    }

    async fn answer(&mut self, request: Request) {
        match request {
            Request::Open { backend, keep } => {
                self.keeps = keep;
                if keep {
                    self.list();
                }
                self.open(backend).await;
            }
            Request::Load { load, from } => self.load(load, from).await,
            Request::Piece { load, bytes } => self.take_piece(load, bytes).await,
            Request::Start(config) => {
                self.start(config).await;
            }
            Request::Reset => match self.session.as_ref().map(|session| session.plan().config.clone()) {
                Some(config) => self.start(config).await,
                None => self.problem(None, &"there is no run to reset yet; wait for the digits to load"),
            },
            Request::Play => match &self.session {
                Some(session) if session.complete() => {
                    self.host.send(Event::Notice(
                        "The run has done all its steps. Reset it, or plan more steps.".to_owned(),
                    ));
                }
                Some(_) if self.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Gone) => {
                    self.problem(None, &format!("the run's books are not here any more; {}", self.books_lost()));
                }
                Some(session) => {
                    let waits = self.arriving.is_some() && session.step_count() == 0;
                    self.hold = waits.then(|| Instant::now() + WAIT_FOR_DIGITS);
                    self.set_playing(true);
                }
                None => self.problem(None, &"there is no run to play yet; wait for the digits to load"),
            },
            Request::Pause => {
                if self.playing {
                    self.hold = None;
                    self.set_playing(false);
                    self.put_down().await;
                    self.evaluate_now();
                }
            }
            Request::StepOnce => {
                self.set_playing(false);
                if self.session.as_ref().is_some_and(|session| !session.complete()) {
                    self.write_one_ahead().await;
                }
                self.step(true).await;
                self.evaluate_now();
            }
            Request::SlowMotion { milliseconds } => {
                self.slow = Duration::from_millis(milliseconds.min(60_000).into());
                self.wake = None;
            }
            Request::Predict { pixels } => self.predict(&pixels).await,
            Request::Confusion => self.count_confusion().await,
            Request::TrainBaseline => self.train_baseline().await,
            Request::ExportLedger => match self.session.as_ref().map(Session::ledger) {
                Some(Some(ledger)) => self.host.send(Event::Ledger(ledger.to_json())),
                Some(None) => self.problem(None, &"this run has no guarantee, so it has no ledger to export"),
                None => self.problem(None, &"there is no run to export yet; wait for the digits to load"),
            },
            Request::ExportParameters => {
                if let Some(session) = &mut self.session {
                    match session.engine().state().await {
                        Ok(state) => self.host.send(Event::Parameters(state.read_with().to_vec())),
                        Err(error) => self.fail(error.into()).await,
                    }
                }
            }
            Request::Ping => self.host.send(Event::Pong),
            Request::Save => self.save().await,
            Request::Label { key, label } => self.label(key, label),
            Request::Delete { key } => self.delete(key).await,
            Request::Forget => self.forget().await,
            Request::KeepFile { card, bytes } => self.keep_file(*card, bytes).await,
            Request::ExportRun { key } => self.export_run(&key).await,
            Request::Continue { key } => self.continue_run(&key).await,
            Request::Requests => self.host.send(Event::Requests(self.host.requests())),
        }
    }

    async fn open(&mut self, backend: BackendChoice) {
        let (factory, fallback) = match backend {
            BackendChoice::Cpu => (EngineFactory::cpu(), None),
            BackendChoice::Gpu | BackendChoice::Automatic => match EngineFactory::gpu_checked().await {
                Ok(factory) => (factory, None),
                Err(error) => {
                    let webgpu = !matches!(error, EngineError::NoAdapter(_));
                    (EngineFactory::cpu(), Some(Fallback { reason: error.to_string(), webgpu }))
                }
            },
        };
        (self.factory, self.fallback, self.opened) = (factory, fallback, None);
        self.announce(self.factory.info(), self.fallback.clone());
    }

    /// Tells the page what runs, if it was told otherwise.
    fn announce(&mut self, engine: EngineInfo, fallback: Option<Fallback>) {
        let now = Some((engine.clone(), fallback.clone()));
        if self.opened != now {
            self.opened = now;
            self.host.send(Event::Opened { engine, fallback });
        }
    }

    /// Why a run leaves the GPU. Where the device is lost, so do all runs to come.
    fn leave_gpu(&mut self, error: &EngineError) -> Fallback {
        let EngineError::DeviceLost(reason) = error else {
            return Fallback { reason: error.to_string(), webgpu: true };
        };
        let why = Fallback { reason: format!("the graphics device was lost ({reason})"), webgpu: true };
        if self.factory.info().backend == Backend::Gpu {
            (self.factory, self.fallback) = (EngineFactory::cpu(), Some(why.clone()));
            self.announce(self.factory.info(), self.fallback.clone());
        }
        why
    }

    async fn load(&mut self, load: u32, from: DataRequest) {
        self.loads.push(load);
        let from = match from {
            DataRequest::Files(files) => return self.await_files(load, files).await,
            other => other,
        };
        let (host, reply) = (self.host.clone(), self.reply.clone());
        // The loop may have ended: then nobody waits for the digits.
        let deliver = move |arrival| drop(reply.unbounded_send(Message::Arrival { load, arrival }));
        self.host.clone().spawn(async move { loader::load(&*host, from, deliver).await });
    }

    async fn arrive(&mut self, load: u32, arrival: Arrival) {
        // A load that others have made stale is not heard.
        if !self.loads.contains(&load) {
            return;
        }
        match arrival {
            Arrival::Progress { done, total } => {
                if self.loads.last() == Some(&load) {
                    self.host.send(Event::Loading { done, total });
                }
            }
            Arrival::Digits { digits, complete } => self.take_digits(load, digits, complete).await,
            Arrival::Notice(sentence) => self.host.send(Event::Notice(sentence.to_owned())),
            Arrival::Gap(error) => {
                self.host.send(Event::NotLoaded { load, over: false, sentence: error.to_string() });
            }
            Arrival::End(error) => {
                self.loads.retain(|&other| other != load);
                self.arriving = self.arriving.filter(|&other| other != load);
                self.host.send(Event::NotLoaded { load, over: true, sentence: error.to_string() });
            }
        }
    }

    async fn take_digits(&mut self, load: u32, digits: Digits, complete: bool) {
        self.loads.retain(|&other| other > load || other == load && !complete);
        self.arriving = (!complete).then_some(load);
        self.host.send(Event::Loaded {
            load,
            name: digits.train.name.clone(),
            source: digits.source,
            train: digits.train.len() as u32,
            test: digits.test.len() as u32,
            test_set: digits.test_set,
            complete,
        });
        self.opening = Some(digits.train.opening_digest());
        self.digits = Some(digits);
        // A run that has released nothing yet takes the fuller data; any other keeps the data that it was accounted for.
        if let Some(session) = &self.session
            && session.step_count() == 0
            && (!self.playing || self.hold.is_some())
        {
            let config = session.plan().config.clone();
            let was_playing = self.playing;
            self.start(config).await;
            self.set_playing(was_playing && self.session.is_some());
            if complete {
                self.hold = None;
            }
        }
    }

    async fn start(&mut self, config: RunConfig) {
        match self.prepare(config, None).await {
            Ok(Prepared { plan, engine, fallback }) => self.stand(Session::new(plan, engine), fallback, None).await,
            Err(error) => self.refuse(&error),
        }
    }

    fn refuse(&self, error: &SessionError) {
        let field = if let SessionError::Config(error) = error { Some(error.field()) } else { None };
        self.problem(field, error);
    }

    /// A run on the digits loaded last, in `state`, else at its start.
    async fn prepare(&mut self, config: RunConfig, state: Option<&State>) -> Result<Prepared, SessionError> {
        let Some(train) = self.digits.as_ref().map(|digits| digits.train.clone()) else {
            return Err(ConfigError::Contradiction { field: "dataset", sentence: "no digits are loaded yet" }.into());
        };
        let plan = Plan::new(config, train.len() as u32)?;
        self.build(plan, &train, state).await
    }

    /// Where the GPU is lost, or cannot run the plan, the CPU does.
    async fn build(&mut self, plan: Plan, train: &Dataset, state: Option<&State>) -> Result<Prepared, SessionError> {
        let refused = match engine_of(&self.factory, &plan, train, state).await {
            Ok(engine) => return Ok(Prepared { plan, engine, fallback: None }),
            Err(error) if self.factory.info().backend == Backend::Cpu => return Err(error.into()),
            Err(error) => error,
        };
        let why = self.leave_gpu(&refused);
        let engine = engine_of(&EngineFactory::cpu(), &plan, train, state).await?;
        Ok(Prepared { plan, engine, fallback: Some(why) })
    }

    /// Puts a run, paused, in the place of the one before, which is saved.
    async fn stand(
        &mut self,
        session: Result<Session<AnyEngine>, SessionError>,
        fallback: Option<Fallback>,
        continued: Option<Continued<H::Lock>>,
    ) {
        let mut session = match session {
            Ok(session) => session,
            Err(error) => return self.refuse(&error),
        };
        self.set_playing(false);
        self.put_away().await;
        let engine = session.engine().info().clone();
        self.announce(engine.clone(), fallback.clone().or_else(|| self.fallback.clone()));
        if let Some(Fallback { reason, .. }) = fallback {
            self.host.send(Event::Notice(format!("This run is trained on the CPU, because of this: {reason}.")));
        }
        self.slices = self.digits.as_ref().map(|digits| cut(&digits.test)).unwrap_or_default();
        self.run_data = self.digits.as_ref().map(|digits| digits.train.clone());
        self.run_test_set = self.digits.as_ref().map(|digits| digits.test_set);
        self.told_of_features = false;
        self.wake = None;
        self.evaluation = Evaluation::default();
        self.background.clear();
        self.last_report = None;
        self.runs += 1;
        let continues = continued.as_ref().map(|continued| continued.from.clone());
        let (ahead, saving) = match continued {
            Some(Continued { ahead, saving, state, .. }) => {
                self.checkpoint = Some((session.step_count(), state));
                (ahead, saving)
            }
            None => {
                self.checkpoint = None;
                let mut ahead = Ahead::open(kept::new_key(self.runs), &session, self.opening.clone());
                if !self.keeps {
                    ahead.place = Place::Nowhere;
                }
                (ahead, Saving::default())
            }
        };
        let plan = session.plan();
        self.host.send(Event::Started(RunInfo {
            run: self.runs,
            key: ahead.key.clone(),
            continues,
            beyond: session.ledger().map_or(0, |ledger| ledger.steps().saturating_sub(session.step_count())),
            config: plan.config.clone(),
            engine,
            parameters: plan.config.model.parameters() as u32,
            train: plan.train_examples,
            test: self.slices.iter().map(Dataset::len).sum::<usize>() as u32,
            data: self.digits.as_ref().map(|digits| digits.train.name.clone()).unwrap_or_default(),
        }));
        if let (Some(ledger), Some(release)) = (session.ledger(), session.release()) {
            let (ledger, release) = (ledger.to_json(), release.place() as u32);
            self.host.send(Event::LedgerOpened { run: self.runs, ledger, release });
        }
        (self.session, self.ahead, self.saving) = (Some(session), Some(ahead), saving);
        self.evaluate_now();
        self.add_up();
    }

    fn set_playing(&mut self, playing: bool) {
        if self.playing != playing {
            self.playing = playing;
            self.host.send(Event::Playing(playing));
        }
    }

    fn evaluate_now(&mut self) {
        self.evaluation.next = Some(0);
        self.evaluation.correct = 0;
        self.evaluation.spent = Duration::ZERO;
    }

    /// Does the next piece of work: a slice of an evaluation, else a few steps.
    async fn advance(&mut self) {
        if !self.background.idle() {
            match self.background.advance(&self.slices, YIELD_EVERY).await {
                Ok(Some(done)) => self.host.send(done),
                Ok(None) => {}
                Err(error) => {
                    self.background.clear();
                    match error {
                        // The baseline begins anew on the CPU; the run finds out by itself.
                        SessionError::Engine(lost @ EngineError::DeviceLost(_)) => {
                            self.leave_gpu(&lost);
                            self.train_baseline().await;
                        }
                        error => {
                            self.problem(None, &error);
                            self.host.send(Event::NoBaseline);
                        }
                    }
                }
            }
        }
        if self.evaluation.next.is_none() && !self.playing {
            return self.host.breathe().await;
        }
        if let Some(slice) = self.evaluation.next {
            self.evaluate_slice(slice).await;
        } else if self.hold.is_some_and(|until| Instant::now() < until) {
            self.host.sleep(SLEEP).await;
        } else if let Some(left) = self.wake.take().and_then(|wake| wake.checked_duration_since(Instant::now())) {
            self.wake = Some(Instant::now() + left);
            self.host.sleep(left.min(SLEEP)).await;
        } else if self.preparing().await {
            // The next look at the inbox comes first.
        } else {
            self.write_ahead().await;
            self.play_on().await;
        }
        self.host.breathe().await;
    }

    /// A few steps, as far as they are written as released.
    async fn play_on(&mut self) {
        if self.slow > Duration::ZERO {
            if self.may_release() {
                self.step(true).await;
                self.wake = Some(Instant::now() + self.slow);
            }
        } else {
            let start = Instant::now();
            while self.playing && self.may_release() && start.elapsed() < YIELD_EVERY {
                self.step(false).await;
            }
        }
        self.after_steps().await;
    }

    /// Goes on with what the run's first step waits for; whether there is more of it.
    async fn preparing(&mut self) -> bool {
        let start = Instant::now();
        while let Some(session) = &mut self.session {
            match session.prepare(PREPARED_AT_A_TIME).await {
                Ok(0) => return false,
                Ok(_) if start.elapsed() >= YIELD_EVERY => {
                    if !std::mem::replace(&mut self.told_of_features, true) {
                        let sentence =
                            "Before the first step, the features of all digits are computed, once.".to_owned();
                        self.host.send(Event::Notice(sentence));
                    }
                    return true;
                }
                Ok(_) => {}
                Err(error) => {
                    self.fail(error).await;
                    return true;
                }
            }
        }
        false
    }

    async fn step(&mut self, traced: bool) {
        if self.session.as_ref().is_some_and(Session::complete) {
            return self.set_playing(false);
        }
        // Nothing is released that is not written.
        let may = self.may_release();
        let Some(session) = self.session.as_mut().filter(|_| may) else { return };
        let done = if traced {
            session.traced_step().await.map(|trace| {
                let task = &session.plan().task;
                let noise = task.noise.as_ref().and_then(|noise| noise.build().ok());
                if let Some(snapshot) = StepSnapshot::new(&trace, task, noise.as_deref()) {
                    self.host.send(Event::Snapshot { step: session.step_count(), snapshot });
                }
            })
        } else {
            session.step().await
        };
        if let Err(error) = done {
            return self.fail(error).await;
        }
        if self.session.as_ref().is_some_and(Session::complete) {
            self.set_playing(false);
            self.put_down().await;
            self.evaluate_now();
        }
    }

    /// Reports, and starts an evaluation, when they are due.
    async fn after_steps(&mut self) {
        let now = Instant::now();
        if self.playing && self.last_report.is_none_or(|last| now.duration_since(last) >= REPORT_EVERY) {
            let due = self.evaluation.last.is_none_or(|(ended, took)| {
                now.duration_since(ended).as_secs_f64() * EVALUATION_SHARE
                    >= took.as_secs_f64() * (1.0 - EVALUATION_SHARE)
            });
            self.report(None).await;
            self.save_now_and_then().await;
            if due {
                self.evaluate_now();
            }
        }
    }

    async fn evaluate_slice(&mut self, slice: usize) {
        let Some(session) = &mut self.session else {
            self.evaluation.next = None;
            return;
        };
        // Steps still on the device are training time, not evaluation time.
        if slice == 0
            && let Err(error) = session.settle().await
        {
            return self.fail(error).await;
        }
        let start = Instant::now();
        let reading = session.plan().config.reading;
        match reading::count_correct(session.engine(), &self.slices[slice], reading).await {
            Ok(correct) => self.evaluation.correct += correct,
            Err(error) => return self.fail(error.into()).await,
        }
        self.evaluation.spent += start.elapsed();
        self.evaluation.next = Some(slice + 1).filter(|&next| next < self.slices.len());
        if self.evaluation.next.is_none() {
            let examples: usize = self.slices.iter().map(Dataset::len).sum();
            self.evaluation.last = Some((Instant::now(), self.evaluation.spent));
            if session.engine().info().backend == Backend::Gpu {
                match session.engine().state().await {
                    Ok(state) => self.checkpoint = Some((session.step_count(), state)),
                    Err(error) => return self.fail(error.into()).await,
                }
            }
            self.report(Some(f64::from(self.evaluation.correct) / examples as f64)).await;
            if !self.playing {
                self.put_down().await;
            }
        }
    }

    async fn report(&mut self, accuracy: Option<f64>) {
        let Some(session) = &mut self.session else { return };
        match session.report(accuracy).await {
            Ok(report) => {
                let report = Report { test_set: self.run_test_set, ..report };
                self.saving.note(&report);
                if let Some(ledger) = session.ledger() {
                    self.host.send(Event::Released(ledger.events().to_vec()));
                }
                self.host.send(Event::Report(report, session.teaching()));
            }
            Err(error) => return self.fail(error).await,
        }
        self.last_report = Some(Instant::now());
    }

    async fn predict(&mut self, pixels: &[f32]) {
        let fine = pixels.len() == crate::model::PIXELS && pixels.iter().all(|p| (0.0..=1.0).contains(p));
        if !fine {
            return self.problem(None, &"a drawn digit must have 784 pixels between 0 and 1");
        }
        let Some(session) = &mut self.session else { return };
        let reading = session.plan().config.reading;
        match reading::predict(session.engine(), pixels, reading).await {
            Ok(classes) => self.host.send(Event::Prediction(classes)),
            Err(error) => self.fail(error.into()).await,
        }
    }

    async fn count_confusion(&mut self) {
        let Some(session) = &mut self.session else { return };
        let (step, plan) = (session.step_count(), session.plan());
        let (task, reading) = (plan.task.clone(), plan.config.reading);
        let parameters = match session.engine().state().await {
            Ok(state) => state.read_with().to_vec(),
            Err(error) => return self.fail(error.into()).await,
        };
        let counted = self.slices.first().map(|first| self.background.count(&task, reading, &parameters, step, first));
        if let Some(Err(error)) = counted {
            self.problem(None, &error);
        }
    }

    async fn train_baseline(&mut self) {
        let (Some(session), Some(train)) = (&self.session, self.run_data.clone()) else {
            return self.host.send(Event::NoBaseline);
        };
        let config = baseline_of(&session.plan().config, session.step_count());
        if let Err(error) = self.begin_baseline(config, &train).await {
            self.problem(None, &error);
            self.host.send(Event::NoBaseline);
        }
    }

    async fn begin_baseline(&mut self, config: RunConfig, train: &Dataset) -> Result<(), SessionError> {
        let plan = Plan::new(config, train.len() as u32)?;
        let Prepared { plan, engine, .. } = self.build(plan, train, None).await?;
        self.background.train_baseline(Session::new(plan, engine)?);
        Ok(())
    }

    /// A run that the GPU fails goes on from its last checkpoint on the CPU; the ledger counts every step that was released,
    /// also those that are trained anew. Any other failure stops the run where it is.
    async fn fail(&mut self, error: SessionError) {
        self.evaluation.next = None;
        let on_gpu = self.session.as_mut().is_some_and(|session| session.engine().info().backend == Backend::Gpu);
        let moved = match error {
            SessionError::Engine(error) if on_gpu => {
                let why = self.leave_gpu(&error);
                self.move_to_cpu(&why).await.map(|()| why.reason)
            }
            other => Err(other),
        };
        match moved {
            Ok(why) => {
                let step = self.checkpoint.as_ref().map_or(0, |(step, _)| *step);
                let done = self.session.as_ref().map_or(0, Session::step_count);
                self.problem(None, &format!(
                    "{why}; the run goes on from its last checkpoint on the CPU, with its parameters after step {step} of {done}, and ε counts every step that was released"
                ));
                self.evaluate_now();
            }
            Err(error) => {
                self.set_playing(false);
                self.put_down().await;
                self.problem(None, &error);
            }
        }
    }

    async fn move_to_cpu(&mut self, why: &Fallback) -> Result<(), SessionError> {
        let (Some(session), Some(train)) = (&mut self.session, &self.run_data) else { return Ok(()) };
        let engine = {
            let state = self.checkpoint.as_ref().map(|(_, state)| state);
            engine_of(&EngineFactory::cpu(), session.plan(), train, state).await?
        };
        let info = engine.info().clone();
        session.replace_engine(engine);
        self.announce(info, Some(why.clone()));
        Ok(())
    }
}

fn problem_of(field: Option<&str>, error: &dyn std::fmt::Display) -> Event {
    Event::Problem(Problem { field: field.map(str::to_owned), sentence: error.to_string() })
}

/// An engine for a plan, in `state`, else at the plan's start.
async fn engine_of(
    factory: &EngineFactory,
    plan: &Plan,
    train: &Dataset,
    state: Option<&State>,
) -> Result<AnyEngine, EngineError> {
    let mut engine = factory.build(&plan.task, train, &plan.initial_parameters()).await?;
    if let Some(state) = state {
        engine.set_state(state).await?;
    }
    Ok(engine)
}

/// The test set in pieces that are evaluated without a look at the inbox.
fn cut(test: &Dataset) -> Vec<Dataset> {
    (0..test.len()).step_by(SLICE).map(|start| test.slice(start..start + SLICE)).collect()
}
