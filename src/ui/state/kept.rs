//! Runs that outlive the page: the training thread keeps them and says what it has; here they are listed, renamed, deleted, taken away and
//! brought back as files, continued.

use std::sync::Arc;

use leptos::prelude::*;

use super::page::{Curves, Page, Past};
use crate::{
    plot::series::Curve,
    train::projection::Point,
    ui::settings::Settings,
    worker::{
        accounts::{Answer, Question},
        protocol::{KeptRun, Label, Request, RunInfo},
    },
};

/// What the page calls the run that stands.
#[derive(Default)]
pub struct Shelf {
    pub name: String,
    pub pinned: bool,
    /// Nothing is kept of this visit's runs but in the thread's memory.
    pub unkept: bool,
}

impl Page {
    /// Has the run that stands saved when the page is put away.
    pub fn restore(self) {
        let away = window_event_listener_untyped("visibilitychange", move |_| {
            if document().hidden() {
                self.send(Request::Save);
            }
        });
        on_cleanup(move || away.remove());
    }

    /// A run that is kept, as its books say: in place of what the page knew of it, else among those of other visits.
    pub fn take_kept(self, kept: KeptRun) {
        // The one that stands is no earlier one.
        if self.run.with_untracked(|run| run.as_ref().is_some_and(|run| run.key == kept.key)) {
            return;
        }
        let digits = self.settings.with_untracked(|settings| settings.digits);
        self.past.update(|all| {
            let known = all.iter().position(|past| past.info.key == kept.key);
            // Runs of other visits count down from the top, runs of the training thread up from 1.
            let others = || all.iter().map(|past| past.run).filter(|run| *run > u32::MAX / 2).min();
            let run = known.map_or_else(|| others().map_or(u32::MAX, |run| run - 1), |place| all[place].run);
            let past = past_of(run, Settings::of_config(&kept.card.config, digits), kept);
            match known {
                Some(place) => all[place] = past,
                // Those of this visit stay the last.
                None => {
                    let place = all.iter().position(|other| other.run <= u32::MAX / 2).unwrap_or(all.len());
                    all.insert(place, past);
                }
            }
        });
        self.chart_tick.update(|tick| *tick += 1);
    }

    /// Hands out the run that stands as a file.
    pub fn export_run(self) {
        if let Some(run) = self.run.get_untracked() {
            self.send(Request::ExportRun { key: run.key });
        }
    }

    /// Names or pins an earlier run, here and where it is kept.
    pub fn label_run(self, run: u32, edit: impl FnOnce(&mut Past)) {
        let changed = self.past.try_update(|all| {
            let past = all.iter_mut().find(|past| past.run == run)?;
            edit(past);
            let label = Label { name: past.name.clone(), note: past.note.clone(), pinned: past.pinned };
            Some((past.info.key.clone(), label))
        });
        self.chart_tick.update(|tick| *tick += 1);
        if let Some(Some((key, label))) = changed {
            self.send(Request::Label { key, label });
        }
    }

    pub fn delete_run(self, run: u32) {
        let gone = self.past.try_update(|all| {
            let place = all.iter().position(|past| past.run == run)?;
            Some(all.remove(place).info.key)
        });
        self.chart_tick.update(|tick| *tick += 1);
        if let Some(Some(key)) = gone {
            self.send(Request::Delete { key });
        }
    }

    /// A new run stands, or one goes on: then it is no earlier one any more. Gives its curves back.
    pub fn begin_on_shelf(self, info: &RunInfo) -> Curves {
        self.shelf.update_value(|shelf| shelf.unkept = false);
        let continued = self.past.try_update(|all| {
            let place = all.iter().position(|past| Some(&past.info.key) == info.continues.as_ref())?;
            Some(all.remove(place))
        });
        let Some(Some(past)) = continued else {
            let names = self.past.with_untracked(|all| {
                let number = |past: &Past| past.name.strip_prefix("Run ").and_then(|n| n.parse::<u32>().ok());
                all.iter().filter_map(number).max().unwrap_or(0)
            });
            self.shelf.update_value(|shelf| {
                shelf.name = format!("Run {}", names.saturating_add(1));
                shelf.pinned = false;
            });
            return Curves::default();
        };
        let digits = self.settings.with_untracked(|settings| settings.digits);
        self.settings.set(Settings { digits, ..past.settings });
        self.schedule_projection();
        self.accuracy.set(past.accuracy);
        self.shelf.update_value(|shelf| (shelf.name, shelf.pinned) = (past.name, past.pinned));
        (*past.curves).clone()
    }

    /// Tells the thread what the run that stands is called.
    pub fn label_current(self, info: &RunInfo) {
        let note = self.note(&self.settings.get_untracked());
        let (name, pinned) = self.shelf.with_value(|shelf| (shelf.name.clone(), shelf.pinned));
        self.send(Request::Label { key: info.key.clone(), label: Label { name, note, pinned } });
    }

    /// A run from a file joins the list, once the accountant has found it true; its settings are taken over.
    pub fn open_run(self, name: String, bytes: Vec<u8>) {
        let file = bytes.clone();
        self.ask_of_file(Question::OpenRun { name, bytes }, move |answer| match answer {
            Answer::OpenRun(Ok((card, _))) => {
                let (name, config) = (card.name.clone(), card.config.clone());
                self.send(Request::KeepFile { card, bytes: file });
                self.change(|now| *now = Settings::of_config(&config, now.digits));
                self.notice.set(Some(format!(
                    "“{name}” is drawn beside your runs. Its ε was computed anew from what the file says was released, which is its author's word. Continue it in the list of runs, or press Play to run its settings from the start."
                )));
            }
            Answer::OpenRun(Err(phrase)) => self.put_problem(None, format!("{phrase}.")),
            _ => {}
        });
    }
}

fn past_of(run: u32, settings: Settings, kept: KeptRun) -> Past {
    let KeptRun { key, pinned, beyond, card } = kept;
    let curve = |points: Vec<Point>| {
        let mut curve = Curve::default();
        points.into_iter().for_each(|point| curve.push(point));
        curve
    };
    Past {
        run,
        name: card.name,
        note: card.note,
        pinned,
        settings,
        info: RunInfo {
            run,
            key,
            continues: None,
            beyond,
            parameters: card.config.model.parameters() as u32,
            config: card.config,
            engine: card.engine,
            train: card.train,
            test: card.test,
            data: card.data,
        },
        curves: Arc::new(Curves {
            accuracy: curve(card.accuracy_curve),
            improved: curve(card.improved_curve),
            classic: curve(card.classic_curve),
        }),
        last: card.report,
        accuracy: card.accuracy,
    }
}
