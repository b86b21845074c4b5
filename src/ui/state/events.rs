//! What the training thread says, and when it is shown and spoken.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::page::{LoadedDigits, Origin, Page, ParametersFor, Past, as_sentence};
use crate::{
    data::Source,
    plot::format,
    train::report::{Privacy, Report},
    ui::{
        browser, embed,
        settings::{Digits, Number, Settings, Speed},
    },
    worker::{
        pictures::Pictures,
        protocol::{Event, Problem, Request, RunInfo},
    },
};

/// Charts are drawn anew at most this often.
const CHARTS_MS: u32 = 100;
/// Tiles are drawn anew at most this often; at full speed a step is looked into at most this often, too.
const TILES_MS: u32 = 250;
const LOOK_MS: u32 = 1000;
/// The screen reader hears of a playing run this often.
const SPOKEN_MS: f64 = 10_000.0;
/// So many earlier runs are kept, and more only where they are pinned.
const MOST_PAST: usize = 100;

impl Page {
    pub(super) fn take(self, event: Event) {
        match event {
            Event::Opened { engine, instead } => self.engine.set(Some((engine, instead))),
            Event::Loading { done, total } => self.loading.set(Some((done, total))),
            Event::Loaded { load, name, source, train, test, test_set, complete } => {
                self.take_digits(load, LoadedDigits { name, source, train, test, test_set, complete });
            }
            Event::Wanted { load, file, start, end } => self.send_piece(load, file, (start, end)),
            Event::NotLoaded { load, over, sentence } => {
                if over {
                    self.end_load(load);
                }
                self.put_problem(Origin::Digits, as_sentence(&sentence));
            }
            Event::Started(info) => self.take_run(info),
            Event::Playing(playing) => {
                self.playing.set(playing);
                if playing {
                    self.clear_problem(None);
                } else {
                    self.account_tightly();
                }
                self.speak(true);
            }
            Event::Report(report, teaching) => {
                self.teaching.set(teaching);
                self.take_report(report);
            }
            Event::Pictures { step, pictures } => self.take_pictures(step, pictures),
            Event::Prediction(classes) => {
                if self.drawing.with_untracked(Option::is_some) {
                    self.prediction.set(Some(classes));
                }
            }
            Event::Pong => {}
            Event::Confusion { step, counts } => self.take_confusion(step, *counts),
            Event::Twin { model, parameters, .. } => self.take_twin(model, parameters),
            Event::NoTwin => self.study.twin.set(false),
            Event::Ledger(json) => browser::download("hushgrad-ledger.json", "application/json", json.as_bytes()),
            Event::Parameters(parameters) => self.take_parameters(parameters),
            Event::Kept(run) => self.take_kept(*run),
            Event::Together(sentence) => self.together.set(sentence),
            Event::Unkept(sentence) => {
                self.shelf.update_value(|shelf| shelf.unkept = true);
                self.notice.set(Some(sentence));
            }
            Event::RunFile(text) => browser::download("hushgrad-run.json", "application/json", text.as_bytes()),
            Event::Requests(requests) => self.requests.set(requests),
            Event::Notice(sentence) => self.notice.set(Some(sentence)),
            Event::Problem(problem) => self.take_problem(problem),
        }
    }

    pub(super) fn take_problem(self, Problem { field, sentence }: Problem) {
        let number = field.as_deref().and_then(Number::by_config_path);
        self.inner.update_value(|inner| (inner.play_when_ready, inner.step_when_ready) = (false, false));
        if !self.end_sweep_early(&sentence) {
            self.put_problem(number, as_sentence(&sentence));
        }
    }

    /// Nothing more comes of a load.
    fn end_load(self, load: u32) {
        let ended = self.inner.try_update_value(|inner| {
            let place = inner.awaited.iter().position(|awaited| awaited.load == load);
            let before = place.and_then(|place| inner.awaited.remove(place).before);
            (before.filter(|_| load == inner.loads), inner.awaited.is_empty())
        });
        if let Some((before, last)) = ended {
            self.choose_back(before);
            // A load that goes on is shown again with its next bytes.
            self.loading.set((!last).then_some((0, 0)));
        }
    }

    pub(super) fn take_digits(self, load: u32, loaded: LoadedDigits) {
        let own = match loaded.source {
            Source::Mnist | Source::Site => Digits::Mnist,
            Source::Synthetic => Digits::Synthetic,
            Source::Visitor => Digits::Files,
        };
        let (train, complete) = (loaded.train, loaded.complete);
        self.digits.set(Some(loaded));
        let taken = self.inner.try_update_value(|inner| {
            let place = inner.awaited.iter().position(|awaited| awaited.load == load);
            let files = place.map(|place| inner.awaited.remove(place).files);
            inner.awaited.retain(|awaited| awaited.load > load);
            if let (Some(files), Digits::Files) = (&files, own) {
                inner.own_files.clone_from(files);
            }
            (files.is_some(), inner.awaited.is_empty())
        });
        let Some((awaited, last)) = taken else { return };
        // While others are awaited, the choice is theirs.
        if last && self.settings.with_untracked(|settings| settings.digits != own) {
            self.settings.update(|settings| settings.digits = own);
        }
        if complete {
            if last {
                self.loading.set(None);
            }
            if self.ready_at.with_untracked(Option::is_none) {
                self.ready_at.set(Some(js_sys::Date::now()));
            }
        }
        if awaited || self.run.with_untracked(Option::is_none) {
            self.follow_budget(Some(train), None, Self::start);
        } else {
            self.schedule_projection();
        }
    }

    /// A run of the settings on the digits that are there.
    pub(super) fn start(self) {
        if self.check_data() {
            self.clear_problem(Some(Number::Lot));
            self.keep_model();
            self.send(Request::Start(self.settings.with_untracked(Settings::config)));
        } else {
            self.stay();
        }
    }

    pub(super) fn take_run(self, mut info: RunInfo) {
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
        self.label_current(&info);
        self.run.set(Some(info));
        let then = self.inner.try_update_value(|inner| {
            inner.run_settings = Some(settings);
            inner.take_asked()
        });
        if let Some(Some(request)) = then {
            self.send(request);
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
        let note = self.note(&settings);
        let (name, pinned) = self.shelf.with_value(|shelf| (shelf.name.clone(), shelf.pinned));
        Some(Past { run: info.run, name, note, pinned, settings, info, curves, last, accuracy })
    }

    /// What changed from the run before.
    pub fn note(self, settings: &Settings) -> String {
        let before = self.past.with_untracked(|past| past.last().map(|past| past.settings.clone()));
        before.map_or_else(String::new, |before| settings.changes_since(&before))
    }

    /// The run that ends becomes a ghost. Where there are too many, the oldest before it that is not pinned goes, and the
    /// page says so.
    pub(super) fn keep_past(self) {
        let Some(current) = self.current() else { return };
        let gone = self.past.try_update(|past| {
            let oldest = past.iter().position(|past| !past.pinned).filter(|_| past.len() >= MOST_PAST);
            let gone = oldest.map(|oldest| past.remove(oldest));
            past.push(current);
            gone
        });
        let Some(Some(Past { info, name, .. })) = gone else { return };
        self.send(Request::Delete { key: info.key });
        if !embed::is_embedded() {
            self.put_problem(
                Origin::Shelf,
                format!("The list of runs is full: “{name}”, the oldest that was not pinned, is deleted. Pin runs, or save them as files, to keep them."),
            );
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

    pub(super) fn take_report(self, report: Report) {
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
        if !self.playing.get_untracked() {
            self.account_tightly();
        }
        self.schedule_charts();
        self.speak(complete);
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

    pub(super) fn schedule_charts(self) {
        self.inner.update_value(|inner| {
            if inner.charts_due.is_none() {
                inner.charts_due = Some(Timeout::new(CHARTS_MS, move || {
                    self.inner.update_value(|inner| inner.charts_due = None);
                    self.chart_tick.update(|tick| *tick += 1);
                }));
            }
        });
    }

    pub(super) fn take_pictures(self, step: u64, pictures: Pictures) {
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

    pub(super) fn show_pictures(self) {
        let pictures = self.inner.try_update_value(|inner| {
            inner.tiles_due = None;
            inner.pictures.take()
        });
        if let Some(Some((step, pictures))) = pictures {
            self.pictures.set(Some((step, Arc::new(pictures))));
        }
    }

    /// Tells the screen reader where the run stands: at once if `now`, else every ten seconds.
    pub(super) fn speak(self, now: bool) {
        let time = browser::now();
        if !now && self.inner.with_value(|inner| time - inner.spoken_at < SPOKEN_MS) {
            return;
        }
        self.inner.update_value(|inner| inner.spoken_at = time);
        let Some(report) = self.report.get_untracked() else { return };
        let privacy = match &report.privacy {
            Privacy::Bounded(bound) => format!("epsilon at most {}", format::epsilon(bound.improved.epsilon)),
            Privacy::NoGuarantee { .. } => "no privacy guarantee".to_owned(),
        };
        let accuracy = self
            .accuracy
            .get_untracked()
            .map_or_else(String::new, |a| format!("test accuracy {}, ", format::percent(a)));
        let state = match (report.complete, self.playing.get_untracked()) {
            (true, _) => "Run complete",
            (_, true) => "Training",
            _ => "Paused",
        };
        self.spoken.set(format!("{state} at step {}: {accuracy}{privacy}.", format::integer(report.step)));
    }
}
