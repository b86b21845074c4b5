//! Handles what the training thread says.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    digit_choice::DigitChoice,
    digits::LoadedDigits,
    messages::{Origin, as_sentence},
    pad::OtherModel,
    page::Page,
    run::ParametersFor,
    sweep_runs::SweepRuns,
    task::TaskLock,
};
use crate::{
    data::Source,
    model::{Architecture, safetensors},
    plot::format,
    train::report::{Privacy, Report},
    ui::{
        browser,
        settings::{Number, Settings},
        text::{heard, t},
        threads::accountant::Topic,
    },
    worker::{
        accounts::{Answer, Question},
        jobs::{JobKind, JobProgress},
        protocol::{Event, KeptRun, Problem, RunInfo},
    },
};

impl Page {
    pub(super) fn take(self, event: Event) {
        match event {
            Event::Timed(timed) => self.device.timed.set(timed),
            Event::Opened { engine, fallback } => self.device.engine.set(Some((engine, fallback))),
            Event::Loading { done, total } => self.digits.loading.set(Some((done, total))),
            Event::Features { done, total } => self.run.features.set(Some((done, total))),
            Event::Loaded { load, name, source, train, test, test_set, complete, picture, classes, remarks, card } => {
                let card = card.map(Arc::new);
                let loaded =
                    LoadedDigits { name, source, train, test, test_set, complete, picture, classes, remarks, card };
                DigitChoice(self).take_digits(load, loaded);
            }
            Event::Wanted { load, file, start, end } => self.digits.send_piece(load, file, (start, end)),
            Event::NotLoaded { load, over, sentence } => {
                if over {
                    DigitChoice(self).end_load(load);
                }
                self.messages.put(Origin::Digits, as_sentence(&sentence));
            }
            Event::Started(info) => self.take_run(info),
            Event::LedgerOpened { run, ledger, step, planned } => self.spending.open_ledger(run, ledger, step, planned),
            Event::Released(events) => self.spending.take_events(events),
            Event::Playing(playing) => {
                self.run.follow(playing);
                if playing {
                    self.messages.clear(Origin::Run);
                } else {
                    self.spending.account();
                    self.attack.ask_whole();
                }
                self.speak(true);
            }
            Event::Report(report, teaching) => {
                self.run.teaching.set(teaching);
                self.take_report(report);
            }
            Event::Audited(audited) => self.attack.take(*audited),
            Event::Snapshot { step, snapshot } => self.snapshots.take(step, snapshot),
            Event::Lot { step, lot, person } => self.snapshots.take_people(step, lot, person.map(|person| *person)),
            Event::Contribution { step, person } => self.snapshots.take_person(step, *person),
            Event::Followed(followed) => self.following.take(*followed),
            Event::Prediction(classes) => self.pad.take_prediction(classes),
            Event::Pong => {}
            Event::ClassReport(counted) => self.who_pays.take(*counted),
            Event::PaidOnce(news) => self.take_paid(news),
            Event::Job(JobProgress::Attack(progress)) => self.attacks.take(Some(progress)),
            Event::Job(JobProgress::Anneal(progress)) => self.annealing.take(Some(*progress)),
            Event::JobFailed(JobKind::Attack) => self.attacks.take(None),
            Event::JobFailed(JobKind::Anneal) => self.annealing.take(None),
            Event::BaselineMeasured { step, accuracy } => {
                self.run.curves.update_value(|curves| curves.baseline.push((step as f64, accuracy)));
                self.charts.schedule();
            }
            Event::Baseline { model, steps, parameters } => {
                self.pad.take_baseline(model, parameters);
                self.who_pays.take_baseline(steps);
            }
            Event::NoBaseline => self.pad.training_baseline.set(false),
            Event::Ledger(json) => browser::download("hushgrad-ledger.json", "application/json", json.as_bytes()),
            Event::Parameters(parameters) => self.take_parameters(parameters),
            Event::Kept(run) => self.take_kept(*run),
            Event::Together(Ok(remembered)) => {
                let question = Question::Together(remembered);
                self.accountant.ask_latest(Topic::Together, question, move |answer| {
                    if let Answer::Together(sentence) = answer {
                        self.runs.together.set(sentence);
                    }
                });
            }
            Event::Together(Err(sentence)) => self.runs.together.set(sentence),
            Event::Unkept(sentence) => {
                self.runs.current.update_value(|current| current.in_memory_only = true);
                self.messages.notify(heard(&sentence));
            }
            Event::RunFile(text) => browser::download("hushgrad-run.json", "application/json", text.as_bytes()),
            Event::Requests(requests) => self.requests.set(requests),
            Event::Notice(sentence) => self.messages.notify(heard(&sentence)),
            Event::Problem(problem) => self.take_problem(problem),
        }
    }

    /// Opens or closes the panel on which digits pay for privacy.
    pub fn show_who_pays(self, open: bool) {
        self.who_pays.toggle(open);
        self.train_beside();
    }

    /// Trains the same model without privacy alongside a private run that plays or is compared, if
    /// the digits are public and its steps are light. Other baselines are trained on request.
    fn train_beside(self) {
        let compared = self.who_pays.open.get_untracked();
        if !(self.run.playing.get_untracked() || compared) || browser::is_embedded() {
            return;
        }
        let bounded = self.run.report.with_untracked(|report| {
            report.as_ref().is_some_and(|report| report.step > 0 && matches!(report.privacy, Privacy::Bounded(_)))
        });
        let run = self.run.info.with_untracked(|run| {
            run.as_ref()
                .filter(|run| match run.config.model {
                    Architecture::Linear => true,
                    Architecture::Mlp => compared,
                    model => model.features().is_some() && compared,
                })
                .map(|run| run.run)
        });
        let public = self.digits.loaded.with_untracked(|loaded| {
            loaded.as_ref().is_some_and(|loaded| {
                loaded.complete && matches!(loaded.source, Source::Mnist | Source::Synthetic | Source::Colour)
            })
        });
        let known = self.run.curves.with_value(|curves| !curves.baseline.points().is_empty());
        if bounded
            && public
            && !known
            && self.sweeps.current.with_untracked(Option::is_none)
            && self.pad.first_beside(run)
        {
            self.pad.train_baseline();
        }
    }

    /// Reports a problem. Only a failure of the run drops pending requests and ends a sweep.
    fn take_problem(self, Problem { field, sentence, aside }: Problem) {
        let number = field.as_deref().and_then(Number::by_config_path);
        if !aside {
            self.run.drop_wishes();
            if SweepRuns(self).end_sweep_early(&sentence) {
                return;
            }
        }
        self.messages.put(number, as_sentence(&sentence));
    }

    /// Lists a stored run, unless it is the current one.
    fn take_kept(self, kept: KeptRun) {
        if self.run.info.with_untracked(|run| run.as_ref().is_some_and(|run| run.key == kept.key)) {
            return;
        }
        self.runs.take(kept, self.settings.with_untracked(|settings| settings.digits));
    }

    fn take_parameters(self, parameters: Vec<f32>) {
        match self.run.take_parameters_for() {
            Some(ParametersFor::Comparison { model, private }) => {
                self.pad.take_model(OtherModel { model, parameters, private });
            }
            Some(ParametersFor::Export { model }) => {
                let file = safetensors(model, &parameters);
                browser::download("hushgrad-model.safetensors", "application/octet-stream", &file);
            }
            None => {}
        }
    }

    fn take_run(self, mut info: RunInfo) {
        info.run = self.run.number_of(info.run);
        self.list_current();
        self.messages.clear(Origin::Run);
        for number in Number::ALL {
            if self.settings.with_untracked(|settings| !settings.applies(number)) {
                self.messages.clear(Some(number));
            }
        }
        self.forget_run();
        if let Some(past) = self.runs.begin(&info) {
            let digits = self.settings.with_untracked(|settings| settings.digits);
            TaskLock(self).unlock_for(&past.settings);
            self.settings.set(Settings { digits, ..past.settings });
            self.cost.schedule();
            self.run.accuracy.set(past.accuracy);
            self.run.curves.set_value((*past.curves).clone());
        }
        let settings = self.settings.get_untracked();
        self.who_pays.begin(self.digits.loaded.with_untracked(|loaded| loaded.as_ref().map(|loaded| loaded.test_set)));
        SweepRuns(self).take_run_of_sweep(&info);
        self.runs.label_current(&info, &settings);
        self.run.begin(info, settings);
        self.pad.predict();
    }

    /// Clears everything shown of the run.
    pub(super) fn forget_run(self) {
        self.run.forget();
        self.snapshots.forget();
        self.following.forget();
        self.spending.forget();
        self.attack.forget();
        self.pad.training_baseline.set(false);
        self.charts.refresh();
    }

    /// Lists the run that ends, and reports the one deleted to make room.
    pub(super) fn list_current(self) {
        let Some(deleted) = self.current().and_then(|current| self.runs.push(current)) else { return };
        if !browser::is_embedded() {
            self.messages.put(
                Origin::RunList,
                t!("The list of runs is full: “{deleted}”, the oldest unpinned run, was deleted. Pin runs or save them as files to keep them.", deleted = deleted),
            );
        }
    }

    fn take_report(self, report: Report) {
        let (complete, measured) = (report.complete, report.test_accuracy.is_some());
        self.run.take(report);
        self.spending.account();
        self.charts.schedule();
        self.speak(complete);
        self.pad.refresh();
        if measured {
            self.who_pays.refresh();
            if complete {
                SweepRuns(self).end_run_of_sweep();
            }
        }
        self.snapshots.look();
        self.train_beside();
    }

    /// Tells the screen reader the run's state: at once if `now`, else every ten seconds.
    fn speak(self, now: bool) {
        if !self.messages.is_time_to_speak(now) {
            return;
        }
        let Some(report) = self.run.report.get_untracked() else { return };
        let privacy = match &report.privacy {
            Privacy::Bounded(bound) => {
                let epsilon = untrack(|| self.guarantee.epsilon()).unwrap_or(bound.improved.epsilon);
                t!("epsilon at most {epsilon}", epsilon = format::epsilon(epsilon))
            }
            Privacy::NoGuarantee { .. } => t!("no privacy guarantee").to_owned(),
        };
        let accuracy = self.run.accuracy.get_untracked();
        let accuracy = accuracy
            .map_or_else(String::new, |share| t!("test accuracy {accuracy}", accuracy = format::percent(share)) + ", ");
        let step = format::integer(report.step);
        let state = match (report.complete, self.run.playing.get_untracked()) {
            (true, _) => t!("Run complete at step {step}", step = step),
            (_, true) => t!("Training at step {step}", step = step),
            _ => t!("Paused at step {step}", step = step),
        };
        self.messages.spoken.set(format!("{state}: {accuracy}{privacy}."));
    }
}
