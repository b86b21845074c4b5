//! What teaching adds to the page: lessons, the noise lab, sweeps, the confusion matrix, the twin, tight accounting.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::{
    lesson_set::{Book, Step},
    page::{Kept, Origin, Page, as_sentence},
};
use crate::{
    data::TestSet,
    engine::Confusion,
    mechanism::Denoiser,
    model::Architecture,
    plot::{format, series::Point},
    train::{
        config::RunConfig,
        projection::Spent,
        report::{Privacy, Report},
    },
    ui::{
        browser, embed,
        link::{
            noise_query::Asked,
            query::{self, Link},
        },
        settings::{
            Encoder, Family, Number, Settings,
            sweep::{self, Sweep},
        },
        size::closures::{on_click, whether, wording},
        threads::accountant::{Topic, planned_steps},
        widgets::chart::Line,
    },
    worker::{
        accounts::{Answer, Question},
        lab::Psi,
        protocol::{Request, RunInfo},
    },
};

/// Panels of the page: tabs on a phone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Setup,
    Step,
    Results,
}

/// Digits are counted anew at most this often while a run plays.
const COUNT_MS: f64 = 1500.0;
/// Points of the tight curve, and how long it waits where it takes long: the accountant answers one question at a time.
const TIGHT: u64 = 6;
const TIGHT_MS: u32 = 600;

/// Its signals. Copied freely.
#[derive(Clone, Copy)]
pub struct Study {
    pub book: RwSignal<Option<Arc<Book>>>,
    /// Lesson and step that are open.
    pub lesson: RwSignal<Option<(usize, usize)>>,
    /// What a link asked for, until the book is there.
    pub wanted: StoredValue<Option<String>>,
    pub panel: RwSignal<Panel>,
    pub lab: RwSignal<bool>,
    /// What it is asked.
    pub asked: RwSignal<Asked>,
    pub sweep: RwSignal<Option<Sweep>>,
    /// ε by step at other δ, until something else is set.
    pub deltas: RwSignal<Vec<Line>>,
    /// Runs of the last sweep.
    swept: StoredValue<Vec<u32>>,
    /// What the run that stands is tested on; the digits at hand may be others by now.
    pub test_set: StoredValue<TestSet>,
    /// Step, and how often the digit of the row was read as that of the column.
    pub confusion: RwSignal<Option<(u64, Arc<Confusion>)>>,
    pub confusion_open: RwSignal<bool>,
    counted_at: StoredValue<f64>,
    /// Whether a twin is being trained.
    pub twin: RwSignal<bool>,
    /// Tight ε by step of the projection.
    pub tight: RwSignal<Vec<Point>>,
    tight_due: StoredValue<Option<Timeout>, LocalStorage>,
    /// What tight accounting says of the run, at this step of it.
    pub spent: RwSignal<Option<(u64, Spent)>>,
    /// Its privacy curve at that step, which is asked for while its panel is open.
    pub curve: RwSignal<Option<(u64, Vec<Point>)>>,
    pub risk_open: RwSignal<bool>,
}

impl Study {
    #[must_use]
    pub fn new(link: &Link) -> Self {
        Self {
            book: RwSignal::new(None),
            lesson: RwSignal::new(None),
            wanted: StoredValue::new(link.lesson.clone()),
            panel: RwSignal::new(Panel::Results),
            lab: RwSignal::new(link.lab),
            asked: RwSignal::new(link.asked.clone()),
            sweep: RwSignal::new(None),
            deltas: RwSignal::new(vec![]),
            swept: StoredValue::new(vec![]),
            test_set: StoredValue::new(TestSet::Public),
            confusion: RwSignal::new(None),
            confusion_open: RwSignal::new(false),
            counted_at: StoredValue::new(0.0),
            twin: RwSignal::new(false),
            tight: RwSignal::new(vec![]),
            tight_due: StoredValue::new_local(None),
            spent: RwSignal::new(None),
            curve: RwSignal::new(None),
            risk_open: RwSignal::new(false),
        }
    }
}

impl Page {
    // Lessons.

    /// Fetches lessons and formulas, unless they are there.
    pub fn open_book(self) {
        if self.study.book.with_untracked(Option::is_some) {
            return;
        }
        leptos::task::spawn_local(async move {
            match browser::fetch_text(&browser::script_address("hushgrad-lessons", "./lessons.txt")).await {
                Ok(text) => {
                    let book = Book::read(&text);
                    let wanted = self.study.wanted.try_update_value(Option::take).flatten();
                    let found = wanted.as_deref().and_then(|name| book.find(name));
                    self.study.book.set(Some(Arc::new(book)));
                    match (found, wanted) {
                        // A link brings its own settings; only a bare one starts the lesson's.
                        (Some(place), Some(name)) => self.enter(place, !name.contains('.')),
                        (None, Some(name)) => {
                            self.put_problem(
                                Origin::Address,
                                format!("The link asks for the lesson “{name}”, and there is none of that name."),
                            );
                        }
                        _ => {}
                    }
                }
                Err(reason) => self.put_problem(
                    None,
                    format!("The lessons could not be fetched ({reason}). Check the connection, and open them again."),
                ),
            }
        });
    }

    /// Opens a step of a lesson; with `act`, the page takes its settings and does what it says.
    pub fn enter(self, (lesson, step): (usize, usize), act: bool) {
        let Some(book) = self.study.book.get_untracked() else { return };
        let Some(now) = book.lessons.get(lesson).and_then(|lesson| lesson.steps.get(step)) else { return };
        self.study.lesson.set(Some((lesson, step)));
        // A link that opens the lab says what it is asked, too.
        let ask = act || !self.study.lab.get_untracked();
        if ask {
            self.study.lab.set(now.show == "lab");
        }
        match now.show.as_str() {
            "step" => self.study.panel.set(Panel::Step),
            "setup" => self.study.panel.set(Panel::Setup),
            _ => self.study.panel.set(Panel::Results),
        }
        match now.psi.as_deref() {
            Some("one") if ask => self.study.asked.update(|asked| asked.psi = Psi::Entries(1)),
            _ if ask && now.show == "lab" => self.study.asked.update(|asked| asked.psi = Psi::Spread),
            _ => {}
        }
        if act {
            self.act(now);
        }
    }

    fn act(self, step: &Step) {
        if let Some(query) = &step.set {
            let (link, _) = query::read(query);
            let digits = self.settings.with_untracked(|settings| settings.digits);
            self.set_speed(link.speed);
            self.pause();
            self.change(|settings| *settings = Settings { digits, ..link.settings });
        }
        match step.act.as_deref() {
            Some("play") => self.play(),
            Some("step") => self.step_once(),
            _ => {}
        }
    }

    pub fn close_lesson(self) {
        self.study.lesson.set(None);
        self.study.lab.set(false);
    }

    /// What a text's `{name}` stands for now.
    #[must_use]
    pub fn value_of(self, name: &str) -> Option<String> {
        let settings = |read: fn(&Settings) -> f64| Some(format::number(self.settings.with(read)));
        let clip = |s: &Settings| if s.encoder == Encoder::Clip { s.clip_norm } else { 1.0 };
        let train = || self.digits.with(|digits| digits.as_ref().map(|digits| digits.train));
        let parameters = || self.settings.with(|s| s.model.parameters());
        let report = |read: fn(&Report) -> Option<f64>| self.report.with(|report| report.as_ref().and_then(read));
        let bound = |classic: bool| {
            let spent = self.report.with(|report| match report.as_ref().map(|report| &report.privacy) {
                Some(Privacy::Bounded(bound)) => Some(if classic { bound.classic } else { bound.improved }),
                _ => None,
            });
            spent.filter(|spent| spent.epsilon > 0.0).map(|spent| (spent.epsilon, spent.order))
        };
        let projected = || self.projection.with(|projection| projection.clone().and_then(Result::ok));
        match name {
            "lot" => Some(format::integer(self.settings.with(|s| s.lot).into())),
            "train" => train().map(|n| format::integer(n.into())),
            "sigma" => settings(|s| s.scale),
            "clip" => Some(format::number(self.settings.with(clip))),
            "noise" => Some(format::number(self.settings.with(|s| s.scale * clip(s)))),
            "rate" => report(|report| (report.step > 0).then_some(report.learning_rate))
                .map_or_else(|| settings(|s| s.learning_rate), |rate| Some(format::number(rate))),
            "momentum" => settings(|s| s.momentum),
            "pre-scale" => settings(|s| s.pre_scale),
            "nu" => settings(|s| s.nu),
            "exponent" => settings(|s| s.exponent),
            "density" => Some(self.settings.with(|s| s.formula.clone())),
            "delta" => settings(|s| s.delta),
            "q" => train().map(|n| format::number(f64::from(self.settings.with(|s| s.lot)) / f64::from(n))),
            "parameters" => Some(format::integer(parameters() as u64)),
            // The mean of the Kolmogorov distribution is 0.8687.
            "floor" => Some(format::number(0.8687 / (parameters() as f64).sqrt())),
            "steps" => report(|report| Some(report.step as f64)).map(|steps| format::integer(steps as u64)),
            "planned" => projected().map(|projection| format::integer(projection.steps)),
            "projected" => projected().map(|projection| format::epsilon(projection.end.improved.epsilon)),
            "tight" => self.study.tight.with(|points| points.last().map(|point| format::epsilon(point.1))),
            "epsilon" => bound(false).map(|(epsilon, _)| format::epsilon(epsilon)),
            "classic" => bound(true).map(|(epsilon, _)| format::epsilon(epsilon)),
            "order" => bound(false).map(|(_, order)| format::number((order * 10.0).round() / 10.0)),
            "exp-epsilon" => bound(false).map(|(epsilon, _)| format::epsilon(epsilon.exp().next_up())),
            // A run without a denoiser has none, and a run that has not begun none yet.
            "factor" => report(|report| (report.step > 0).then_some(report.denoise_factor))
                .filter(|_| self.run.with(|run| run.as_ref().is_some_and(|run| run.config.denoiser != Denoiser::None)))
                .map(|f| format::number((f * 1e5).round() / 1e5)),
            "accuracy" => self.accuracy.get().map(format::percent),
            _ => None,
        }
    }

    // Sweeps.

    /// Four runs that show what a number does.
    pub fn begin_sweep(self, number: Number) {
        self.end_sweep();
        let Some(train) = self.digits.with_untracked(|digits| digits.as_ref().map(|digits| digits.train)) else {
            return self.notice.set(Some("The digits are still on their way: sweep when they are there.".to_owned()));
        };
        // What is wrong with the settings as they are is said where they are.
        if self.settings.with_untracked(Settings::unread) || !self.check_data() {
            return;
        }
        if number == Number::Delta {
            return self.sweep_delta(train);
        }
        let Some(sweep) = self.settings.with_untracked(|settings| Sweep::new(number, settings, train)) else {
            let label = number.spec().label;
            return self.notice.set(Some(format!("{label}: there is no room for a sweep around what is set.")));
        };
        self.pause();
        // The last sweep's runs give their colours to this one's.
        for run in self.study.swept.try_update_value(std::mem::take).unwrap_or_default() {
            self.label_run(run, |past| past.pinned = false);
        }
        self.study.lab.set(false);
        self.study.panel.set(Panel::Results);
        self.study.sweep.set(Some(sweep));
        self.next_of_sweep();
    }

    /// δ changes what is said of a run, and nothing in it: its sweep is four curves of ε.
    fn sweep_delta(self, train: u32) {
        let settings = self.settings.get_untracked();
        if let Some(reason) = settings.no_guarantee() {
            return self.notice.set(Some(reason.to_owned()));
        }
        self.study.panel.set(Panel::Results);
        self.notice.set(Some(
            "δ changes what is said of a training, not the training: the chart of ε shows the same steps at four δ."
                .to_owned(),
        ));
        self.study.deltas.set(vec![]);
        let steps = planned_steps(&settings, train);
        for (delta, class) in sweep::values(Number::Delta, &settings, train).into_iter().zip(&COLOURS[1..]) {
            let config = RunConfig { delta, ..settings.config() };
            let settings = settings.clone();
            self.ask(Question::Projection { config, train, steps }, move |answer| {
                let (Answer::Projection(Ok(found)), true) =
                    (answer, self.settings.with_untracked(|now| *now == settings))
                else {
                    return;
                };
                let name = format!("δ = {}", format::number(delta));
                self.study.deltas.update(|lines| {
                    // Who asks twice sees it once.
                    lines.retain(|line| line.name != name);
                    lines.push(Line { class, name, points: found.curve });
                });
            });
        }
    }

    /// Ends a sweep, done or not: everything is set as before, and a run of that stands.
    pub fn end_sweep(self) {
        if self.leave_sweep() {
            self.pause();
            self.begin(self.settings.get_untracked(), false);
        }
    }

    /// A run of a sweep that cannot begin ends the sweep; what was refused is not set any more. Whether there was one.
    pub fn end_sweep_early(self, why: &str) -> bool {
        let waits = self.study.sweep.with_untracked(|sweep| sweep.as_ref().is_some_and(|sweep| sweep.run.is_none()));
        if waits {
            self.end_sweep();
            self.notice.set(Some(format!("The sweep has ended early. {}", as_sentence(why))));
        }
        waits
    }

    /// Drops a sweep that is under way, and sets everything as before but the digits, which no sweep sets.
    pub fn leave_sweep(self) -> bool {
        let Some(Sweep { before, .. }) = self.study.sweep.get_untracked() else { return false };
        self.study.sweep.set(None);
        self.settings.update(|now| *now = Settings { digits: now.digits, ..before });
        true
    }

    fn next_of_sweep(self) {
        let Some(sweep) = self.study.sweep.get_untracked() else { return };
        match sweep.settings() {
            Some(settings) => self.begin(settings, true),
            None => self.end_sweep(),
        }
    }

    /// A new run stands.
    pub fn study_run(self, info: &RunInfo) {
        self.study.confusion.set(None);
        if let Some(test_set) = self.digits.with_untracked(|digits| digits.as_ref().map(|digits| digits.test_set)) {
            self.study.test_set.set_value(test_set);
        }
        let Some(mut sweep) = self.study.sweep.get_untracked() else { return };
        if sweep.wants(&info.config) {
            // One that was begun anew gives its colour to this one.
            if let Some(before) = sweep.run.replace(info.run) {
                self.label_run(before, |past| past.pinned = false);
            }
            // From its first step on: it is kept under this name, with its colour.
            self.shelf.update_value(|shelf| (shelf.name, shelf.pinned) = (sweep.name(), true));
            self.study.swept.update_value(|swept| swept.push(info.run));
            self.study.sweep.set(Some(sweep));
        } else if sweep.run.is_some() {
            // An earlier run was continued in the midst of it, with settings of its own. While the sweep waits for its own
            // run, others may still come.
            self.study.sweep.set(None);
        }
    }

    /// A report came.
    pub fn study_report(self, report: &Report) {
        let measured = report.test_accuracy.is_some();
        if measured && self.study.confusion_open.get_untracked() {
            let now = browser::now();
            // A run that stands still is counted as it stands.
            if !self.playing.get_untracked() || now - self.study.counted_at.get_value() > COUNT_MS {
                self.study.counted_at.set_value(now);
                self.send(Request::Confusion);
            }
        }
        let run = self.run.with_untracked(|run| run.as_ref().map(|run| run.run));
        let ours = self.study.sweep.with_untracked(|sweep| sweep.as_ref().is_some_and(|sweep| sweep.run == run));
        if report.complete && measured && ours {
            self.study.sweep.update(|sweep| {
                if let Some(sweep) = sweep {
                    sweep.at += 1;
                    sweep.run = None;
                }
            });
            self.next_of_sweep();
        }
    }

    // What the training thread makes beside the run.

    pub fn take_confusion(self, step: u64, counts: Confusion) {
        self.study.confusion.set(Some((step, Arc::new(counts))));
    }

    pub fn train_twin(self) {
        self.study.twin.set(true);
        self.send(Request::Twin);
    }

    pub fn take_twin(self, model: Architecture, parameters: Vec<f32>) {
        self.study.twin.set(false);
        if parameters.len() == model.parameters() {
            self.kept.set(Some(Arc::new(Kept { model, parameters, private: false })));
        }
    }

    // Accounting.

    /// Tight ε of what is projected: at once where it is quickly told, else when the settings have stood still.
    pub fn project_tight(self, train: u32) {
        self.study.tight.set(vec![]);
        let settings = self.settings.get_untracked();
        if settings.replay.is_some() || !self.projection.with_untracked(|known| matches!(known, Some(Ok(_)))) {
            return self.study.tight_due.set_value(None);
        }
        let quick = settings.encoder == Encoder::Clip && settings.family == Family::Gaussian;
        let due = Timeout::new(if quick { 0 } else { TIGHT_MS }, move || self.ask_tight(settings, train));
        self.study.tight_due.set_value(Some(due));
    }

    fn ask_tight(self, settings: Settings, train: u32) {
        let steps = planned_steps(&settings, train);
        let mut at: Vec<u64> = (1..=TIGHT).map(|i| (steps * i * i / (TIGHT * TIGHT)).max(1)).collect();
        at.dedup();
        let question = Question::Tight { config: settings.config(), train, steps: at };
        self.ask_latest(Topic::Tight, question, move |answer| {
            if let Answer::Tight(Ok(points)) = answer
                && self.settings.with_untracked(|now| *now == settings)
            {
                self.study.tight.set(points);
            }
        });
    }

    /// Tight ε of the run as it stands.
    pub fn account_tightly(self) {
        // A run that went on with other digits has released what its plan says nothing of.
        let bounded =
            |report: &Report| matches!(report.privacy, Privacy::Bounded(_)) && report.by_plan && report.step > 0;
        let at = self.report.with_untracked(|report| report.as_ref().filter(|r| bounded(r)).map(|report| report.step));
        let (Some(steps), Some(info)) = (at, self.run.get_untracked()) else { return };
        let known = self.study.spent.with_untracked(|spent| spent.as_ref().is_some_and(|(step, _)| *step == steps));
        if known || embed::is_embedded() {
            return;
        }
        let question = Question::Spent { config: info.config, train: info.train, steps };
        self.ask_latest(Topic::Spent, question, move |answer| {
            let same = self.run.with_untracked(|run| run.as_ref().is_some_and(|run| run.run == info.run));
            if let (Answer::Spent(Ok(spent)), true) = (answer, same) {
                self.study.spent.set(Some((steps, spent)));
                self.account_for_attacks();
            }
        });
    }

    /// The privacy curve of the run as it stands, where its tight ε is known and somebody looks.
    pub fn account_for_attacks(self) {
        let (Some((steps, spent)), Some(info)) = (self.study.spent.get_untracked(), self.run.get_untracked()) else {
            return;
        };
        let known = self.study.curve.with_untracked(|curve| curve.as_ref().is_some_and(|(step, _)| *step == steps));
        if known || !self.study.risk_open.get_untracked() {
            return;
        }
        let question = Question::Curve { config: info.config, train: info.train, steps, epsilon: spent.epsilon };
        self.ask_latest(Topic::Curve, question, move |answer| {
            let same = self.run.with_untracked(|run| run.as_ref().is_some_and(|run| run.run == info.run));
            if let (Answer::Curve(Ok(curve)), true) = (answer, same) {
                self.study.curve.set(Some((steps, curve)));
            }
        });
    }

    /// Has a density of the visitor's own read, where it has not been, and goes on with `then`.
    pub fn with_density(self, then: impl FnOnce(Self) + 'static) {
        let formula = self.settings.with_untracked(|settings| settings.unread().then(|| settings.formula.clone()));
        let Some(formula) = formula else { return then(self) };
        self.ask(Question::Density(formula.clone()), move |answer| {
            let Answer::Density(read) = answer else { return };
            if self.settings.with_untracked(|settings| settings.formula != formula) {
                return;
            }
            match read {
                Ok(density) => {
                    self.clear_problems_of(Origin::Density);
                    self.settings.update(|settings| settings.density = Some(density));
                    then(self);
                }
                Err(phrase) => {
                    self.put_problem(Origin::Density, as_sentence(&phrase));
                    self.stay();
                }
            }
        });
    }

    /// Whether a run of the visitor's own can be drawn.
    #[must_use]
    pub fn has_own_run(self) -> bool {
        let stepped = self.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0));
        stepped || self.past.with(|past| !past.is_empty())
    }
}

/// The classes of curves that are told apart by colour and dashes.
pub const COLOURS: [&str; 9] =
    ["line-n0", "line-n1", "line-n2", "line-n3", "line-n4", "line-n5", "line-n6", "line-n7", "line-n8"];

/// Where a sweep stands.
pub fn sweep_bar(page: Page) -> impl IntoView {
    let text = move || {
        page.study.sweep.with(|sweep| {
            sweep
                .as_ref()
                .filter(|sweep| sweep.at < sweep.values.len())
                .map(|sweep| format!("Sweep: run {} of {}, {}.", sweep.at + 1, sweep.values.len(), sweep.name()))
                .unwrap_or_default()
        })
    };
    view! {
        <div class="notice sweep" data-testid="sweep-status" hidden=whether(move || page.study.sweep.with(Option::is_none))>
            <p role="status">{wording(text)}</p>
            <button type="button" class="quiet" on:click=on_click(move |_| page.end_sweep())>"Stop"</button>
        </div>
    }
    .into_any()
}
