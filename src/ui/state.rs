//! What the page knows, as signals, and the one place that talks to the training thread.

use std::sync::Arc;

use gloo::timers::callback::{Interval, Timeout};
use leptos::prelude::*;

use super::{
    accountant::Desk,
    browser,
    field::Number,
    kept::Shelf,
    presets::Preset,
    query::Link,
    series::Curve,
    settings::{Digits, Settings, Speed, Theme},
    study::Study,
    thread::Thread,
};
use crate::{
    data::{Source, TestSet},
    engine::EngineInfo,
    model::Architecture,
    train::{
        projection::Projection,
        report::{Privacy, Report},
    },
    worker::{
        browser::Trainer,
        pictures::Pictures,
        protocol::{Asked, BackendChoice, DataRequest, Event, Problem, Request, RunInfo},
    },
};

/// Charts are drawn anew at most this often.
const CHARTS_MS: u32 = 100;
/// The training thread's pulse is felt this often, and after so many silent times it is taken for dead.
const PULSE_MS: u32 = 10_000;
const SILENT_PULSES: u32 = 6;
/// A thread that fails this often without a step between is not started again.
const MOST_FAILURES: u32 = 3;
/// Tiles are drawn anew at most this often; at full speed a step is looked into at most this often, too.
const TILES_MS: u32 = 250;
const LOOK_MS: u32 = 1000;
/// The screen reader hears of a playing run this often.
const SPOKEN_MS: f64 = 10_000.0;
/// Older runs are forgotten.
const MOST_PAST: usize = 12;
/// Digits drawn where the visitor asks for synthetic ones.
const SYNTHETIC: (u32, u32) = (20_000, 5_000);

/// Curves of one run by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    pub accuracy: Curve,
    pub improved: Curve,
    pub classic: Curve,
}

/// A run that is over, kept as a ghost.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    pub run: u32,
    /// Under which the browser keeps it.
    pub key: String,
    pub name: String,
    /// What changed from the run before.
    pub note: String,
    /// Drawn in a colour of its own, and never forgotten by itself.
    pub pinned: bool,
    pub settings: Settings,
    pub info: RunInfo,
    pub curves: Arc<Curves>,
    pub last: Report,
    pub accuracy: Option<f64>,
}

/// A model that outlives its run.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub model: Architecture,
    pub parameters: Vec<f32>,
    /// Whether its run had a guarantee.
    pub private: bool,
}

/// The digits at hand.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedDigits {
    pub name: String,
    pub source: Source,
    pub train: u32,
    pub test: u32,
    pub test_set: TestSet,
    pub complete: bool,
}

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The link that the page was opened with: it stays until it is dismissed.
    Address,
    /// Digits that could not be brought, in whole or in part: it stays until others are asked for.
    Digits,
    /// The run: void once a new one stands.
    Run,
    /// The training thread: it stays until it is dismissed.
    Thread,
    Field(Number),
    /// The density of the visitor's own.
    Density,
}

impl From<Option<Number>> for Origin {
    fn from(field: Option<Number>) -> Self {
        field.map_or(Self::Run, Self::Field)
    }
}

/// All signals. Copied freely.
#[derive(Clone, Copy)]
pub struct Page {
    pub settings: RwSignal<Settings>,
    pub backend: BackendChoice,
    pub speed: RwSignal<Speed>,
    pub theme: RwSignal<Theme>,
    pub engine: RwSignal<Option<(EngineInfo, Option<String>)>>,
    pub digits: RwSignal<Option<LoadedDigits>>,
    /// Bytes done and to do.
    pub loading: RwSignal<Option<(u64, u64)>>,
    pub run: RwSignal<Option<RunInfo>>,
    pub playing: RwSignal<bool>,
    pub report: RwSignal<Option<Report>>,
    pub accuracy: RwSignal<Option<f64>>,
    pub curves: StoredValue<Curves>,
    /// Changes whenever charts should look at `curves` again.
    pub chart_tick: RwSignal<u32>,
    pub past: RwSignal<Vec<Past>>,
    pub pictures: RwSignal<Option<(u64, Arc<Pictures>)>>,
    pub prediction: RwSignal<Option<[f32; 10]>>,
    /// The last model of the other kind (with a guarantee, without one), for answers side by side.
    pub kept: RwSignal<Option<Arc<Kept>>>,
    /// What the settings will cost; why nothing can be said.
    pub projection: RwSignal<Option<Result<Arc<Projection>, String>>>,
    /// What is drawn on the pad, as the model sees it.
    pub drawing: RwSignal<Option<Vec<f32>>>,
    /// Problems by what they are about, one for each. The last is shown.
    pub problems: RwSignal<Vec<(Origin, String)>>,
    pub notice: RwSignal<Option<String>>,
    pub spoken: RwSignal<String>,
    /// When everything that the page loads by itself was there, in milliseconds since 1970.
    pub ready_at: RwSignal<Option<f64>>,
    /// What the training thread asked of the network.
    pub requests: RwSignal<Vec<Asked>>,
    pub study: Study,
    pub desk: StoredValue<Desk, LocalStorage>,
    pub shelf: StoredValue<Shelf, LocalStorage>,
    inner: StoredValue<Inner, LocalStorage>,
}

/// Why parameters were asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ParametersFor {
    /// Their run is about to end; whether it had a guarantee.
    Keeping {
        model: Architecture,
        private: bool,
    },
    Export {
        model: Architecture,
    },
}

/// What no view depends on.
#[derive(Default)]
struct Inner {
    thread: Option<Thread<Trainer>>,
    /// Counts the threads: what an earlier one has still to say is not heard.
    threads: u32,
    failures: u32,
    pulse: Option<Interval>,
    /// Pulses since the thread was last heard; `None`: it has not spoken yet.
    silent: Option<u32>,
    /// Runs of the threads before this one.
    runs_before: u32,
    /// The visitor's own files, for another thread to read: those in use, and those that were asked for last.
    own_files: Vec<web_sys::File>,
    files_asked: Vec<web_sys::File>,
    /// Play as soon as there is a run.
    play_when_ready: bool,
    step_when_ready: bool,
    /// Start a run as soon as the digits that the visitor asked for are there.
    start_when_loaded: bool,
    /// The settings of the current run, and of the one that was asked for last.
    run_settings: Option<Settings>,
    /// Digits that were in use when others were asked for.
    digits_before: Option<Digits>,
    /// What the parameters that were asked for last are for.
    parameters_for: Option<ParametersFor>,
    charts_due: Option<Timeout>,
    tiles_due: Option<Timeout>,
    /// The step that the tiles show next.
    pictures: Option<(u64, Pictures)>,
    /// When a step was last looked into, and whether one is being waited for.
    looked_at: f64,
    looking: bool,
    spoken_at: f64,
    predicted_at: f64,
}

impl Page {
    /// The state that a link describes; nothing is started.
    #[must_use]
    pub fn new(link: Link, problems: Vec<String>) -> Self {
        Self {
            study: Study::new(&link),
            settings: RwSignal::new(link.settings),
            backend: link.backend,
            speed: RwSignal::new(link.speed),
            theme: RwSignal::new(link.theme.unwrap_or_else(browser::stored_theme)),
            engine: RwSignal::new(None),
            digits: RwSignal::new(None),
            loading: RwSignal::new(None),
            run: RwSignal::new(None),
            playing: RwSignal::new(false),
            report: RwSignal::new(None),
            accuracy: RwSignal::new(None),
            curves: StoredValue::new(Curves::default()),
            chart_tick: RwSignal::new(0),
            past: RwSignal::new(vec![]),
            pictures: RwSignal::new(None),
            prediction: RwSignal::new(None),
            kept: RwSignal::new(None),
            projection: RwSignal::new(None),
            drawing: RwSignal::new(None),
            problems: RwSignal::new(if problems.is_empty() {
                vec![]
            } else {
                vec![(Origin::Address, problems.join(" "))]
            }),
            notice: RwSignal::new(None),
            spoken: RwSignal::new(String::new()),
            ready_at: RwSignal::new(None),
            requests: RwSignal::new(vec![]),
            desk: StoredValue::new_local(Desk::default()),
            shelf: StoredValue::new_local(Shelf::default()),
            inner: StoredValue::new_local(Inner::default()),
        }
    }

    /// Starts both threads, and asks for a backend and for digits.
    pub fn connect(self) {
        self.start_thread();
        self.hire_accountant();
        if self.study.wanted.with_value(Option::is_some) {
            self.open_book();
        }
        let pulse = Interval::new(PULSE_MS, move || self.feel_pulse());
        self.inner.update_value(|inner| inner.pulse = Some(pulse));
    }

    fn start_thread(self) {
        let address = browser::script_address("hushgrad-worker", "./worker_loader.js");
        let number = self.inner.with_value(|inner| inner.threads) + 1;
        let current = move || self.inner.with_value(|inner| inner.threads == number);
        let take = move |event| {
            if current() {
                self.inner.update_value(|inner| inner.silent = Some(0));
                self.take(event);
            }
        };
        let failed = move |why: String| {
            if current() {
                self.lose_thread(&why);
            }
        };
        let thread = Thread::start(&address, take, failed);
        self.inner.update_value(|inner| {
            inner.threads = number;
            inner.silent = None;
            inner.thread = Some(thread);
        });
        self.send(Request::Open { backend: self.backend });
        self.send_speed();
        self.load_digits(self.settings.with_untracked(|s| s.digits));
    }

    /// A thread says something at least as often as it is asked; a page that sleeps does not ask.
    fn feel_pulse(self) {
        let silent = self.inner.try_update_value(|inner| {
            inner.silent = inner.silent.map(|pulses| if document().hidden() { 0 } else { pulses + 1 });
            inner.silent
        });
        match silent.flatten() {
            Some(pulses) if pulses > SILENT_PULSES => {
                let seconds = PULSE_MS / 1000 * SILENT_PULSES;
                self.lose_thread(&format!("it has not answered for {seconds} seconds"));
            }
            _ => self.send(Request::Ping),
        }
    }

    /// The number by which the training thread knows a run.
    pub fn run_of_thread(self, run: u32) -> u32 {
        run - self.inner.with_value(|inner| inner.runs_before)
    }

    /// The training thread is gone, and its run with it; what the page knows of the run is kept, and another is started.
    fn lose_thread(self, why: &str) {
        let last = self.run.with_untracked(|run| run.as_ref().map(|run| run.run));
        let lost = self.inner.try_update_value(|inner| {
            inner.failures += 1;
            inner.threads += 1;
            inner.silent = None;
            inner.runs_before = last.unwrap_or(inner.runs_before);
            (inner.thread.take(), inner.failures < MOST_FAILURES)
        });
        let Some((gone, again)) = lost else { return };
        // Ended in a turn of its own: this may be called from within the thread's listener.
        Timeout::new(0, move || drop(gone)).forget();
        let kept = self.current().is_some();
        self.keep_past();
        self.forget_run();
        self.run.set(None);
        self.playing.set(false);
        self.engine.set(None);
        self.digits.set(None);
        self.loading.set(None);
        let why = why.trim_end_matches('.');
        let kept = if kept { " The run so far is kept below." } else { "" };
        self.put_problem(Origin::Thread, match again {
            true => format!("The training thread failed: {why}. Another one has been started.{kept}"),
            false => format!("The training thread failed again: {why}. Reload the page, or try it with backend=cpu in the address.{kept}"),
        });
        if again {
            self.start_thread();
        }
    }

    /// Nothing is shown of a run any more.
    fn forget_run(self) {
        self.curves.set_value(Curves::default());
        self.report.set(None);
        self.accuracy.set(None);
        self.pictures.set(None);
        self.inner.update_value(|inner| {
            inner.pictures = None;
            inner.looking = false;
        });
        self.chart_tick.update(|tick| *tick += 1);
    }

    pub fn send(self, request: Request) {
        self.inner.with_value(|inner| {
            if let Some(thread) = &inner.thread {
                thread.send(request);
            }
        });
    }

    // What the visitor does.

    pub fn play(self) {
        if self.run.with_untracked(Option::is_none) {
            self.inner.update_value(|inner| inner.play_when_ready = true);
            return;
        }
        if self.complete() {
            self.reset();
        }
        self.send(Request::Play);
    }

    pub fn pause(self) {
        self.inner.update_value(|inner| inner.play_when_ready = false);
        self.send(Request::Pause);
    }

    pub fn toggle(self) {
        if self.playing.get_untracked() { self.pause() } else { self.play() }
    }

    pub fn step_once(self) {
        if self.run.with_untracked(Option::is_none) {
            self.inner.update_value(|inner| inner.step_when_ready = true);
            return;
        }
        if self.complete() {
            self.reset();
        }
        self.send(Request::StepOnce);
    }

    pub fn reset(self) {
        self.save();
        self.send(Request::Reset);
    }

    pub fn set_speed(self, speed: Speed) {
        self.speed.set(speed);
        self.send_speed();
    }

    fn send_speed(self) {
        self.inner.update_value(|inner| inner.looking = false);
        self.send(Request::SlowMotion { milliseconds: self.speed.get_untracked().wait() });
    }

    /// Changes settings; a new run starts where the change means one, and goes on playing if the old one did.
    pub fn change(self, edit: impl FnOnce(&mut Settings)) {
        let before = self.settings.get_untracked();
        let mut settings = before.clone();
        edit(&mut settings);
        if before == settings {
            return;
        }
        // What a field was refused for is void once something else has given it a value.
        for number in Number::ALL {
            if before.number(number) != settings.number(number) {
                self.clear_problem(Some(number));
            }
        }
        self.settings.set(settings);
        let train = self.digits.with_untracked(|digits| digits.as_ref().map(|digits| digits.train));
        self.follow_budget(train, Some(before), Self::restart);
    }

    pub fn choose_preset(self, preset: Preset) {
        self.problems.set(vec![]);
        self.change(|settings| *settings = preset.settings(settings));
        self.notice.set(Some(preset.note.to_owned()));
    }

    /// A number field was committed with this text.
    pub fn commit(self, number: Number, text: &str) {
        match number.parse(text) {
            Ok(value) => {
                self.clear_problem(Some(number));
                self.change(|settings| {
                    settings.set_number(number, value);
                    if number == Number::Scale {
                        settings.budget = None;
                    }
                });
                // A field is committed by Enter and again when it is left: what does not fit the data stays said.
                self.check_data();
            }
            Err(sentence) => self.put_problem(Some(number), sentence),
        }
    }

    /// Whether there are digits, and the settings fit them; says so where they do not.
    fn check_data(self) -> bool {
        let Some(train) = self.digits.with_untracked(|digits| digits.as_ref().map(|d| d.train)) else { return false };
        let checked = self.settings.with_untracked(|settings| settings.check_data(train));
        checked.map_err(|(field, sentence)| self.put_problem(Some(field), sentence)).is_ok()
    }

    fn restart(self) {
        let config = self.settings.with_untracked(Settings::config);
        if self.run.with_untracked(|run| run.as_ref().is_some_and(|run| run.config == config)) {
            return;
        }
        if self.check_data() {
            let playing = self.playing.get_untracked();
            self.inner.update_value(|inner| inner.play_when_ready |= playing);
            self.start();
        }
    }

    /// Asks for the parameters of a run that is about to end, so that its model can still answer.
    fn keep_model(self) {
        let (Some(info), Some(report)) = (self.run.get_untracked(), self.report.get_untracked()) else { return };
        if report.step > 0 {
            let private = matches!(report.privacy, Privacy::Bounded(_));
            let reason = ParametersFor::Keeping { model: info.config.model, private };
            self.inner.update_value(|inner| inner.parameters_for = Some(reason));
            self.send(Request::ExportParameters);
        }
    }

    fn take_parameters(self, parameters: Vec<f32>) {
        match self.inner.try_update_value(|inner| inner.parameters_for.take()).flatten() {
            Some(ParametersFor::Keeping { model, private }) if parameters.len() == model.parameters() => {
                self.kept.set(Some(Arc::new(Kept { model, parameters, private })));
            }
            Some(ParametersFor::Export { model }) => {
                let file = super::export::safetensors(model, &parameters);
                browser::download("hushgrad-model.safetensors", "application/octet-stream", &file);
            }
            Some(ParametersFor::Keeping { .. }) | None => {}
        }
    }

    /// Asks for other digits; a new run starts on them when they are there.
    pub fn choose_digits(self, digits: Digits) {
        let before = self.settings.with_untracked(|settings| settings.digits);
        self.settings.update(|settings| settings.digits = digits);
        self.inner.update_value(|inner| inner.digits_before = Some(before));
        self.load_digits(digits);
    }

    fn load_digits(self, digits: Digits) {
        let request = match digits {
            Digits::Mnist => DataRequest::Site { manifest: browser::address("data/manifest.json") },
            Digits::Synthetic => DataRequest::Synthetic { seed: 0, train: SYNTHETIC.0, test: SYNTHETIC.1 },
            Digits::Files if self.inner.with_value(|inner| !inner.own_files.is_empty()) => {
                return self.load_files(self.inner.with_value(|inner| inner.own_files.clone()));
            }
            // Nothing to ask for until the visitor has picked files; a shared link falls back to the site's digits.
            Digits::Files if self.digits.with_untracked(Option::is_none) => {
                self.settings.update(|settings| settings.digits = Digits::Mnist);
                self.notice.set(Some("The link was made with somebody's own files, which stay on their machine; choose yours, or go on with the page's digits.".to_owned()));
                return self.load_digits(Digits::Mnist);
            }
            Digits::Files => return,
        };
        self.ask_for(request);
    }

    /// Reads the visitor's files and hands them to the training thread.
    pub fn load_files(self, files: Vec<web_sys::File>) {
        leptos::task::spawn_local(async move {
            match browser::read_files(files.clone()).await {
                Ok(read) => {
                    let before = self.settings.with_untracked(|settings| settings.digits);
                    self.inner.update_value(|inner| {
                        inner.digits_before = Some(before);
                        inner.files_asked = files;
                    });
                    self.ask_for(DataRequest::Files(read));
                }
                Err(sentence) => self.put_problem(None, sentence),
            }
        });
    }

    fn ask_for(self, request: DataRequest) {
        self.clear_problem(None);
        self.loading.set(Some((0, 0)));
        self.inner.update_value(|inner| inner.start_when_loaded = true);
        self.clear_problems_of(Origin::Digits);
        self.send(Request::Load(request));
    }

    pub fn draw(self, pixels: Option<Vec<f32>>) {
        self.prediction.update(|prediction| {
            if pixels.is_none() {
                *prediction = None;
            }
        });
        self.drawing.set(pixels);
        self.predict();
    }

    fn predict(self) {
        if let Some(pixels) = self.drawing.get_untracked()
            && self.run.with_untracked(Option::is_some)
        {
            self.inner.update_value(|inner| inner.predicted_at = browser::now());
            self.send(Request::Predict { pixels });
        }
    }

    // Problems.

    pub fn put_problem(self, origin: impl Into<Origin>, sentence: String) {
        let origin = origin.into();
        self.problems.update(|problems| {
            problems.retain(|(of, _)| *of != origin);
            problems.push((origin, sentence));
        });
    }

    pub fn clear_problem(self, field: Option<Number>) {
        self.clear_problems_of(field.into());
    }

    pub fn clear_problems_of(self, origin: Origin) {
        if self.problems.with_untracked(|problems| problems.iter().any(|(of, _)| *of == origin)) {
            self.problems.update(|problems| problems.retain(|(of, _)| *of != origin));
        }
    }

    /// The sentence at a field.
    #[must_use]
    pub fn problem_of(self, field: Number) -> Option<String> {
        let origin = Origin::Field(field);
        self.problems.with(|problems| problems.iter().find(|(of, _)| *of == origin).map(|(_, text)| text.clone()))
    }

    fn complete(self) -> bool {
        self.report.with_untracked(|report| report.as_ref().is_some_and(|report| report.complete))
    }

    // What the training thread says.

    fn take(self, event: Event) {
        match event {
            Event::Opened { engine, instead } => self.engine.set(Some((engine, instead))),
            Event::Loading { done, total } => self.loading.set(Some((done, total))),
            Event::Loaded { name, source, train, test, test_set, complete } => {
                self.take_digits(LoadedDigits { name, source, train, test, test_set, complete });
            }
            Event::Started(info) => self.take_run(info),
            Event::Playing(playing) => {
                self.playing.set(playing);
                if playing {
                    self.clear_problem(None);
                    self.notice.set(None);
                }
                self.speak(true);
            }
            Event::Report(report) => self.take_report(report),
            Event::Pictures { step, pictures } => self.take_pictures(step, pictures),
            Event::Prediction(classes) => {
                if self.drawing.with_untracked(Option::is_some) {
                    self.prediction.set(Some(classes));
                }
            }
            Event::Pong => {}
            Event::Confusion { step, counts } => self.take_confusion(step, *counts),
            Event::Twin { model, parameters, .. } => self.take_twin(model, parameters),
            Event::Ledger(json) => browser::download("hushgrad-ledger.json", "application/json", json.as_bytes()),
            Event::Parameters(parameters) => self.take_parameters(parameters),
            Event::RunSaved { key, card, file } => self.take_saved(key, card, file),
            Event::Requests(requests) => self.requests.set(requests),
            Event::Notice(sentence) => self.notice.set(Some(sentence)),
            Event::Problem(problem) => self.take_problem(problem),
        }
    }

    fn take_problem(self, Problem { field, sentence }: Problem) {
        let number = field.as_deref().and_then(Number::by_config_path);
        self.inner.update_value(|inner| inner.play_when_ready = false);
        self.stop_continuing();
        if self.loading.with_untracked(Option::is_some) && number.is_none() {
            self.loading.set(None);
            let before = self.inner.try_update_value(|inner| {
                inner.start_when_loaded = false;
                inner.digits_before.take()
            });
            if let Some(Some(before)) = before {
                self.settings.update(|settings| settings.digits = before);
            }
        }
        let about_a_file = field.is_some_and(|field| field.contains(['.', '/']) || field.contains("ubyte"));
        let origin = if number.is_none() && about_a_file { Origin::Digits } else { number.into() };
        self.put_problem(origin, as_sentence(&sentence));
    }

    fn take_digits(self, loaded: LoadedDigits) {
        let own = match loaded.source {
            Source::Mnist | Source::Site => Digits::Mnist,
            Source::Synthetic => Digits::Synthetic,
            Source::Visitor => Digits::Files,
        };
        if self.settings.with_untracked(|settings| settings.digits != own) {
            self.settings.update(|settings| settings.digits = own);
        }
        if loaded.complete {
            self.loading.set(None);
            if self.ready_at.with_untracked(Option::is_none) {
                self.ready_at.set(Some(js_sys::Date::now()));
            }
        }
        if own == Digits::Files {
            self.inner.update_value(|inner| inner.own_files = std::mem::take(&mut inner.files_asked));
        }
        let train = loaded.train;
        self.digits.set(Some(loaded));
        let start = self.inner.try_update_value(|inner| {
            inner.digits_before = None;
            std::mem::take(&mut inner.start_when_loaded)
        });
        if start == Some(true) || self.run.with_untracked(Option::is_none) {
            self.follow_budget(Some(train), None, Self::start);
        } else {
            self.schedule_projection();
        }
    }

    /// A run of the settings on the digits that are there.
    fn start(self) {
        if self.check_data() {
            self.clear_problem(Some(Number::Lot));
            self.save();
            self.keep_model();
            self.send(Request::Start(self.settings.with_untracked(Settings::config)));
        }
    }

    fn take_run(self, mut info: RunInfo) {
        info.run += self.inner.with_value(|inner| inner.runs_before);
        self.keep_past();
        self.clear_problem(None);
        for number in Number::ALL {
            let applied = self.settings.with_untracked(|settings| !settings.applies(number));
            if applied {
                self.clear_problem(Some(number));
            }
        }
        self.forget_run();
        self.curves.set_value(self.begin_on_shelf(&info));
        let settings = self.settings.get_untracked();
        self.study_run(&info);
        self.run.set(Some(info));
        let then = self.inner.try_update_value(|inner| {
            inner.run_settings = Some(settings);
            (std::mem::take(&mut inner.play_when_ready), std::mem::take(&mut inner.step_when_ready))
        });
        match then {
            Some((_, true)) => self.send(Request::StepOnce),
            Some((true, _)) => self.send(Request::Play),
            _ => {}
        }
        self.predict();
    }

    /// The run that stands, if it has anything to show.
    #[must_use]
    pub fn current(self) -> Option<Past> {
        let (info, last) = (self.run.get_untracked()?, self.report.get_untracked()?);
        let settings = self.inner.with_value(|inner| inner.run_settings.clone()).filter(|_| last.step > 0)?;
        let curves = Arc::new(self.curves.get_value());
        let accuracy = self.accuracy.get_untracked();
        let before = self.past.with_untracked(|past| past.last().map(|past| past.settings.clone()));
        let note = before.map_or_else(String::new, |before| settings.changes_since(&before));
        let (key, name) = self.shelf.with_value(|shelf| (shelf.key.clone(), shelf.name.clone()));
        Some(Past { run: info.run, key, name, note, pinned: false, settings, info, curves, last, accuracy })
    }

    /// The run that ends becomes a ghost; the oldest that is not pinned goes where there are too many.
    fn keep_past(self) {
        let Some(mut current) = self.current() else { return };
        self.name_past(&mut current);
        let forgotten = self.past.try_update(|past| {
            past.push(current);
            let oldest = past.iter().position(|past| !past.pinned).unwrap_or(0);
            (past.len() > MOST_PAST).then(|| past.remove(oldest).key)
        });
        if let Some(Some(key)) = forgotten {
            self.forget(key);
        }
    }

    pub fn export_weights(self) {
        match self.run.with_untracked(|run| run.as_ref().map(|run| run.config.model)) {
            Some(model) => {
                self.inner.update_value(|inner| inner.parameters_for = Some(ParametersFor::Export { model }));
                self.send(Request::ExportParameters);
            }
            None => self.notice.set(Some("There is no model to export yet.".to_owned())),
        }
    }

    fn take_report(self, report: Report) {
        let step = report.step as f64;
        if report.step > 0 {
            self.inner.update_value(|inner| inner.failures = 0);
        }
        self.curves.update_value(|curves| {
            if let Some(accuracy) = report.test_accuracy {
                curves.accuracy.push((step, accuracy));
            }
            if let Privacy::Bounded(bound) = &report.privacy {
                curves.improved.push((step, bound.improved.epsilon));
                curves.classic.push((step, bound.classic.epsilon));
            }
        });
        if let Some(accuracy) = report.test_accuracy {
            self.accuracy.set(Some(accuracy));
        }
        let complete = report.complete;
        self.report.set(Some(report.clone()));
        self.schedule_charts();
        self.speak(complete);
        self.save_now_and_then();
        let now = browser::now();
        if self.inner.with_value(|inner| now - inner.predicted_at > 400.0) {
            self.predict();
        }
        // At full speed steps are not traced; now and then one is asked for, so that the tiles live.
        self.study_report(&report);
        let look = self.playing.get_untracked()
            && self.speed.get_untracked() == Speed::Max
            && self.inner.with_value(|inner| !inner.looking && now - inner.looked_at > f64::from(LOOK_MS));
        if look {
            self.inner.update_value(|inner| inner.looking = true);
            self.send(Request::SlowMotion { milliseconds: 1 });
        }
    }

    fn schedule_charts(self) {
        self.inner.update_value(|inner| {
            if inner.charts_due.is_none() {
                inner.charts_due = Some(Timeout::new(CHARTS_MS, move || {
                    self.inner.update_value(|inner| inner.charts_due = None);
                    self.chart_tick.update(|tick| *tick += 1);
                }));
            }
        });
    }

    fn take_pictures(self, step: u64, pictures: Pictures) {
        let end_look = self.inner.try_update_value(|inner| {
            inner.pictures = Some((step, pictures));
            inner.looked_at = browser::now();
            std::mem::take(&mut inner.looking)
        });
        if end_look == Some(true) {
            self.send(Request::SlowMotion { milliseconds: self.speed.get_untracked().wait() });
        }
        self.inner.update_value(|inner| {
            if inner.tiles_due.is_none() {
                // The first picture after a quiet time comes at once.
                let wait = if self.pictures.with_untracked(Option::is_none) { 0 } else { TILES_MS };
                inner.tiles_due = Some(Timeout::new(wait, move || self.show_pictures()));
            }
        });
    }

    fn show_pictures(self) {
        let pictures = self.inner.try_update_value(|inner| {
            inner.tiles_due = None;
            inner.pictures.take()
        });
        if let Some(Some((step, pictures))) = pictures {
            self.pictures.set(Some((step, Arc::new(pictures))));
        }
    }

    /// Tells the screen reader where the run stands: at once if `now`, else every ten seconds.
    fn speak(self, now: bool) {
        let time = browser::now();
        if !now && self.inner.with_value(|inner| time - inner.spoken_at < SPOKEN_MS) {
            return;
        }
        self.inner.update_value(|inner| inner.spoken_at = time);
        let Some(report) = self.report.get_untracked() else { return };
        let privacy = match &report.privacy {
            Privacy::Bounded(bound) => format!("epsilon at most {}", super::format::epsilon(bound.improved.epsilon)),
            Privacy::NoGuarantee { .. } => "no privacy guarantee".to_owned(),
        };
        let accuracy = self
            .accuracy
            .get_untracked()
            .map_or_else(String::new, |a| format!("test accuracy {}, ", super::format::percent(a)));
        let state = match (report.complete, self.playing.get_untracked()) {
            (true, _) => "Run complete",
            (_, true) => "Training",
            _ => "Paused",
        };
        self.spoken.set(format!("{state} at step {}: {accuracy}{privacy}.", super::format::integer(report.step)));
    }
}

/// Errors of the lower layers start small and end without a stop.
pub fn as_sentence(text: &str) -> String {
    let text = text.trim();
    // A name of a file keeps its letters.
    let is_word = text.split_whitespace().next().is_some_and(|word| !word.contains(['-', '_', '/', '.']));
    let mut chars = text.chars();
    let mut sentence: String = match chars.next() {
        Some(first) if is_word => std::iter::once(first.to_ascii_uppercase()).chain(chars).collect(),
        _ => text.to_owned(),
    };
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}
