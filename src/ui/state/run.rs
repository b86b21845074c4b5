//! The current run: its state, and the requests to it.

use leptos::prelude::*;

use super::{charts::Curves, digits::DigitSets};
use crate::{
    model::Architecture,
    train::report::{Privacy, Report, Teaching},
    ui::{
        settings::{Settings, Speed},
        threads::training::TrainingClient,
    },
    worker::protocol::{Request, RunInfo},
};

/// Why parameters were requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParametersFor {
    /// Their run is about to end, and its model goes on classifying; `private`: it had a guarantee.
    Comparison {
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
    /// Play, or take one step, as soon as there is a run.
    play_when_ready: bool,
    step_when_ready: bool,
    /// The noise for newer settings is being computed; their run is yet to come.
    settling: bool,
    /// The thread was told to pause and has not confirmed it: it may take another step.
    pausing: bool,
    /// The run is paused, and its last step is being evaluated.
    measuring: bool,
    settings: Option<Settings>,
    /// Number of runs of earlier threads.
    runs_before: u32,
    parameters_for: Option<ParametersFor>,
}

impl Inner {
    /// Takes the pending request to a run.
    fn take_asked(&mut self) -> Option<Request> {
        let (play, step) = (std::mem::take(&mut self.play_when_ready), std::mem::take(&mut self.step_when_ready));
        if step { Some(Request::StepOnce) } else { play.then_some(Request::Play) }
    }
}

#[derive(Clone, Copy)]
pub struct Run {
    trainer: TrainingClient,
    digits: DigitSets,
    pub info: RwSignal<Option<RunInfo>>,
    pub playing: RwSignal<bool>,
    /// Steps were requested and the first has not come: digits, noise or engine are on their way.
    pub starting: RwSignal<bool>,
    /// Training images whose features are computed, and their number, while the first step waits.
    pub features: RwSignal<Option<(u32, u32)>>,
    pub speed: RwSignal<Speed>,
    pub report: RwSignal<Option<Report>>,
    /// Set before the report that it belongs to.
    pub teaching: RwSignal<Teaching>,
    pub accuracy: RwSignal<Option<f64>>,
    pub curves: StoredValue<Curves>,
    inner: StoredValue<Inner, LocalStorage>,
}

impl Run {
    #[must_use]
    pub fn new(trainer: TrainingClient, digits: DigitSets, speed: Speed) -> Self {
        Self {
            trainer,
            digits,
            info: RwSignal::new(None),
            playing: RwSignal::new(false),
            starting: RwSignal::new(false),
            features: RwSignal::new(None),
            speed: RwSignal::new(speed),
            report: RwSignal::new(None),
            teaching: RwSignal::new(Teaching::default()),
            accuracy: RwSignal::new(None),
            curves: StoredValue::new(Curves::default()),
            inner: StoredValue::new_local(Inner::default()),
        }
    }

    /// True if the run breaks its promise on purpose, so that its ledger is false.
    #[must_use]
    pub fn is_broken(self) -> bool {
        self.info.with(|info| info.as_ref().is_some_and(|info| info.broken.is_some()))
    }

    // Requests to the run.

    /// Plays the run; a complete run plays from its start.
    pub fn play(self) {
        self.request(Request::Play, |inner| inner.play_when_ready = true);
    }

    pub fn pause(self) {
        self.drop_wishes();
        let playing = self.playing.get_untracked();
        self.inner.update_value(|inner| inner.pausing |= playing);
        // At once: a run of newer settings plays on if this one does.
        self.playing.set(false);
        self.trainer.send(Request::Pause);
    }

    /// Takes one step, recorded in detail; of a complete run, its first.
    pub fn step_once(self) {
        self.request(Request::StepOnce, |inner| inner.step_when_ready = true);
    }

    fn request(self, request: Request, when_ready: impl FnOnce(&mut Inner)) {
        let complete = untrack(|| self.is_complete());
        self.starting.set(self.is_at_start() || complete);
        if self.is_awaited() {
            return self.inner.update_value(when_ready);
        }
        if complete {
            self.reset();
        }
        self.trainer.send(request);
    }

    /// True if a paused run's last step is not evaluated yet: the report may be of an earlier one.
    #[must_use]
    pub fn is_measuring(self) -> bool {
        self.inner.with_value(|inner| inner.measuring)
    }

    /// True if the run takes steps, or may still take some.
    #[must_use]
    pub fn is_moving(self) -> bool {
        self.playing.get_untracked() || self.inner.with_value(|inner| inner.pausing)
    }

    /// Restarts with the same configuration.
    pub fn reset(self) {
        self.trainer.send(Request::Reset);
    }

    /// Tells the training thread how long to wait after each step.
    pub fn send_speed(self) {
        self.trainer.send(Request::SlowMotion { milliseconds: self.speed.get_untracked().wait() });
    }

    /// Exports the run as a file.
    pub fn export(self) {
        if let Some(run) = self.info.get_untracked() {
            self.trainer.send(Request::ExportRun { key: run.key });
        }
    }

    /// Requests the model's parameters for export. Returns whether there is a model.
    pub fn request_weights(self) -> bool {
        let model = self.info.with_untracked(|run| run.as_ref().map(|run| run.config.model));
        if let Some(model) = model {
            self.request_parameters(ParametersFor::Export { model });
        }
        model.is_some()
    }

    /// Requests the parameters of a run that is about to end, so that its model can still classify.
    pub fn keep_model(self) {
        let (Some(info), Some(report)) = (self.info.get_untracked(), self.report.get_untracked()) else { return };
        if report.step > 0 {
            let private = matches!(report.privacy, Privacy::Bounded(_));
            self.request_parameters(ParametersFor::Comparison { model: info.config.model, private });
        }
    }

    fn request_parameters(self, reason: ParametersFor) {
        self.inner.update_value(|inner| inner.parameters_for = Some(reason));
        self.trainer.send(Request::ExportParameters);
    }

    /// Takes the reason for the last request for parameters.
    pub fn take_parameters_for(self) -> Option<ParametersFor> {
        self.inner.try_update_value(|inner| inner.parameters_for.take()).flatten()
    }

    // Runs that are yet to come.

    /// True if requests are meant for a run yet to come: the first, one whose noise is being
    /// computed, or one on all digits while only a part has arrived.
    #[must_use]
    pub fn is_awaited(self) -> bool {
        let unsettled = self.info.with_untracked(Option::is_none) || self.inner.with_value(|inner| inner.settling);
        unsettled || self.digits.are_arriving() && self.is_at_start()
    }

    /// True if no step has been taken.
    #[must_use]
    pub fn is_at_start(self) -> bool {
        self.report.with_untracked(|report| report.as_ref().is_none_or(|report| report.step == 0))
    }

    /// Sets whether the noise for newer settings is being computed.
    pub fn set_settling(self, settling: bool) {
        self.inner.update_value(|inner| inner.settling = settling);
    }

    /// Keeps the current run, which executes pending requests: the settings bring no new one.
    pub fn stay(self) {
        self.set_settling(false);
        if !self.is_awaited() {
            self.do_asked();
        }
    }

    /// Sets whether the next run plays as soon as it starts.
    pub fn play_next(self, play: bool) {
        self.inner.update_value(|inner| inner.play_when_ready = play);
    }

    /// Has the next run take a step as soon as it starts.
    pub fn step_next(self) {
        self.inner.update_value(|inner| inner.step_when_ready = true);
    }

    /// Has the next run play if this one does, or if that was requested.
    pub fn play_on(self) {
        let playing = self.playing.get_untracked();
        self.inner.update_value(|inner| inner.play_when_ready |= playing);
    }

    /// Drops the requests to a run yet to come.
    pub fn drop_wishes(self) {
        self.starting.set(false);
        self.inner.update_value(|inner| (inner.play_when_ready, inner.step_when_ready) = (false, false));
    }

    fn do_asked(self) {
        let asked = self.inner.try_update_value(Inner::take_asked);
        if let Some(Some(request)) = asked {
            self.trainer.send(request);
        }
    }

    // Reports on the run.

    /// Returns the page's number of a thread's run; numbers continue across threads.
    #[must_use]
    pub fn number_of(self, run: u32) -> u32 {
        run + self.inner.with_value(|inner| inner.runs_before)
    }

    /// Takes the start of a run, which executes pending requests.
    pub fn begin(self, info: RunInfo, settings: Settings) {
        self.info.set(Some(info));
        self.features.set(None);
        self.inner.update_value(|inner| {
            inner.settings = Some(settings);
            (inner.pausing, inner.measuring) = (false, false);
        });
        if !self.is_awaited() {
            self.do_asked();
        }
    }

    /// Takes whether the thread plays.
    pub fn follow(self, playing: bool) {
        self.inner.update_value(|inner| (inner.pausing, inner.measuring) = (false, !playing));
        self.playing.set(playing);
        if !playing && !self.is_awaited() {
            self.starting.set(false);
        }
    }

    /// Loses the run with its thread; the next thread numbers its runs from this one on.
    pub fn lose(self) {
        let last = self.info.with_untracked(|run| run.as_ref().map(|run| run.run));
        self.inner.update_value(|inner| {
            inner.runs_before = last.unwrap_or(inner.runs_before);
            (inner.pausing, inner.measuring) = (false, false);
        });
        self.info.set(None);
        self.features.set(None);
        self.playing.set(false);
    }

    /// Clears everything shown of the run.
    pub fn forget(self) {
        self.curves.set_value(Curves::default());
        self.report.set(None);
        self.teaching.set(Teaching::default());
        self.accuracy.set(None);
    }

    /// Takes a report, whose points join the curves.
    pub fn take(self, report: Report) {
        if report.step > 0 {
            self.trainer.forgive();
            self.starting.set(false);
            self.features.set(None);
        }
        if report.test_accuracy.is_some() || report.complete {
            self.inner.update_value(|inner| inner.measuring = false);
        }
        let step = report.step as f64;
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
        self.report.set(Some(report));
    }

    #[must_use]
    pub fn settings(self) -> Option<Settings> {
        self.inner.with_value(|inner| inner.settings.clone())
    }

    /// True if all planned steps are done and evaluated.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.report.with(|report| report.as_ref().is_some_and(|report| report.complete))
    }
}
