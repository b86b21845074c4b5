//! What the page knows, as signals, and the one place that talks to the training thread.

use std::sync::Arc;

use gloo::timers::callback::{Interval, Timeout};
use leptos::prelude::*;

use super::{kept::Shelf, study::Study};
use crate::{
    data::{Source, TestSet},
    engine::EngineInfo,
    model::Architecture,
    plot::series::Curve,
    train::{
        projection::Projection,
        report::{Report, Teaching},
    },
    ui::{
        browser, embed,
        link::query::Link,
        settings::{Digits, Number, Settings, Speed, Theme},
        threads::{accountant::Desk, thread::Thread},
        widgets::chart::Taken,
    },
    worker::{
        browser::Trainer,
        pictures::Pictures,
        protocol::{Asked, BackendChoice, Instead, Request, RunInfo},
    },
};

/// The training thread's pulse is felt this often, and after so many silent times it is taken for dead.
const PULSE_MS: u32 = 10_000;
const SILENT_PULSES: u32 = 6;
/// A thread that fails this often without a step between is not started again.
const MOST_FAILURES: u32 = 3;

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
    /// The list of earlier runs: it stays until it is dismissed.
    Shelf,
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
    /// Whether the link names a theme: then it goes on with the link, and is not the visitor's own affair.
    pub theme_in_link: RwSignal<bool>,
    pub engine: RwSignal<Option<(EngineInfo, Option<Instead>)>>,
    pub digits: RwSignal<Option<LoadedDigits>>,
    /// Bytes done and to do.
    pub loading: RwSignal<Option<(u64, u64)>>,
    pub run: RwSignal<Option<RunInfo>>,
    pub playing: RwSignal<bool>,
    pub report: RwSignal<Option<Report>>,
    /// Set before the report that it belongs to.
    pub teaching: RwSignal<Teaching>,
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
    /// Those that the page has now.
    pub charts: StoredValue<Vec<Taken>>,
    pub desk: StoredValue<Desk, LocalStorage>,
    pub shelf: StoredValue<Shelf, LocalStorage>,
    /// What all runs on these digits cost together, as of when the run stood still last.
    pub together: RwSignal<String>,
    pub(super) inner: StoredValue<Inner, LocalStorage>,
}

/// Why parameters were asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ParametersFor {
    /// Their run is about to end; whether it had a guarantee.
    Keeping {
        model: Architecture,
        private: bool,
    },
    Export {
        model: Architecture,
    },
}

/// Digits that were asked for: a run starts as soon as they are there.
pub(super) struct Awaited {
    pub(super) load: u32,
    /// What the choice of digits was before, where it was changed for them.
    pub(super) before: Option<Digits>,
    /// The visitor's files that they are read from.
    pub(super) files: Vec<web_sys::File>,
}

/// What no view depends on.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) thread: Option<Thread<Trainer>>,
    /// Counts the threads: what an earlier one has still to say is not heard.
    pub(super) threads: u32,
    pub(super) failures: u32,
    pub(super) pulse: Option<Interval>,
    /// Pulses since the thread was last heard; `None`: it has not spoken yet.
    pub(super) silent: Option<u32>,
    /// Runs of the threads before this one.
    pub(super) runs_before: u32,
    /// The visitor's own files that are in use, for another thread to read.
    pub(super) own_files: Vec<web_sys::File>,
    /// Number of the load that was asked for last.
    pub(super) loads: u32,
    /// Loads that have brought nothing yet.
    pub(super) awaited: Vec<Awaited>,
    /// Play, or do one step, as soon as there is a run.
    pub(super) play_when_ready: bool,
    pub(super) step_when_ready: bool,
    /// The noise that newer settings need is being sought: their run is yet to come.
    pub(super) settling: bool,
    /// The settings of the current run, and of the one that was asked for last.
    pub(super) run_settings: Option<Settings>,
    /// What the parameters that were asked for last are for.
    pub(super) parameters_for: Option<ParametersFor>,
    pub(super) charts_due: Option<Timeout>,
    pub(super) tiles_due: Option<Timeout>,
    /// The step that the tiles show next.
    pub(super) pictures: Option<(u64, Pictures)>,
    /// When a step was last looked into, and whether one is being waited for.
    pub(super) looked_at: f64,
    pub(super) looking: bool,
    pub(super) spoken_at: f64,
    pub(super) predicted_at: f64,
}

impl Inner {
    /// What is asked of a run that stands now.
    pub(super) fn take_asked(&mut self) -> Option<Request> {
        let (play, step) = (std::mem::take(&mut self.play_when_ready), std::mem::take(&mut self.step_when_ready));
        if step { Some(Request::StepOnce) } else { play.then_some(Request::Play) }
    }
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
            theme_in_link: RwSignal::new(link.theme.is_some()),
            engine: RwSignal::new(None),
            digits: RwSignal::new(None),
            loading: RwSignal::new(None),
            run: RwSignal::new(None),
            playing: RwSignal::new(false),
            report: RwSignal::new(None),
            teaching: RwSignal::new(Teaching::default()),
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
            charts: StoredValue::new(vec![]),
            desk: StoredValue::new_local(Desk::default()),
            shelf: StoredValue::new_local(Shelf::default()),
            together: RwSignal::new(String::new()),
            inner: StoredValue::new_local(Inner::default()),
        }
    }

    /// The link to what is set.
    #[must_use]
    pub fn link(self) -> Link {
        Link {
            settings: self.settings.get(),
            backend: self.backend,
            speed: self.speed.get(),
            theme: self.theme_in_link.get().then(|| self.theme.get()),
            ..Link::default()
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

    pub(super) fn start_thread(self) {
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
        // Not a wish of this page's own: its links go on saying what its address said.
        let backend = if embed::gpu_is_taken() { BackendChoice::Cpu } else { self.backend };
        self.send(Request::Open { backend, keep: !embed::is_embedded() });
        self.send_speed();
        self.load_digits(self.settings.with_untracked(|s| s.digits), None);
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

    /// The training thread is gone, and its run with it; another is started, and says what is kept of the run.
    pub(super) fn lose_thread(self, why: &str) {
        let last = self.run.with_untracked(|run| run.as_ref().map(|run| run.run));
        let lost = self.inner.try_update_value(|inner| {
            inner.failures += 1;
            inner.threads += 1;
            inner.silent = None;
            inner.runs_before = last.unwrap_or(inner.runs_before);
            inner.awaited.clear();
            (inner.thread.take(), inner.failures < MOST_FAILURES)
        });
        let Some((gone, again)) = lost else { return };
        // Ended in a turn of its own: this may be called from within the thread's listener.
        Timeout::new(0, move || drop(gone)).forget();
        let kept = match (self.current(), self.shelf.with_value(|shelf| shelf.unkept)) {
            (None, _) => "",
            (_, true) => " Nothing of its run is kept.",
            _ => {
                " What is kept of its run stands below: every step is counted, and parameters are those of the last save."
            }
        };
        self.leave_sweep();
        self.keep_past();
        self.forget_run();
        self.run.set(None);
        self.playing.set(false);
        self.engine.set(None);
        self.digits.set(None);
        self.loading.set(None);
        let why = why.trim_end_matches('.');
        self.put_problem(Origin::Thread, match again {
            true => format!("The training thread failed: {why}. Another one has been started.{kept}"),
            false => format!("The training thread failed again: {why}. Reload the page, or try it with backend=cpu in the address.{kept}"),
        });
        if again {
            self.start_thread();
        }
    }

    /// Nothing is shown of a run any more.
    pub(super) fn forget_run(self) {
        self.curves.set_value(Curves::default());
        self.report.set(None);
        self.teaching.set(Teaching::default());
        self.accuracy.set(None);
        self.pictures.set(None);
        self.study.spent.set(None);
        self.study.curve.set(None);
        self.study.twin.set(false);
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

    pub(super) fn complete(self) -> bool {
        self.report.with_untracked(|report| report.as_ref().is_some_and(|report| report.complete))
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
