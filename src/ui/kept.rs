//! Runs that outlive the page: kept by the browser, restored, renamed, deleted, taken away and brought back as files,
//! continued.

use std::sync::Arc;

use js_sys::{JSON, Reflect};
use leptos::{prelude::*, task::spawn_local};

use super::{
    browser, embed,
    series::{Curve, decimate},
    settings::Settings,
    state::{Curves, Page, Past},
    storage::{self, Entry},
};
use crate::{
    train::{projection::Point, run_file::RunCard},
    worker::{
        accounts::{Answer, Question},
        protocol::{Request, RunInfo},
    },
};

/// A playing run is kept this often, so that a tab that is closed loses no more.
const KEEP_MS: f64 = 15_000.0;
/// Points of a kept curve.
const POINTS: usize = 1000;

/// What the page knows of the runs that it keeps.
#[derive(Default)]
pub struct Shelf {
    /// Of the run that stands.
    pub key: String,
    pub name: String,
    pub pinned: bool,
    /// The step at which it was kept last, and when.
    step: u64,
    at: f64,
    /// A run that the training thread was asked to go on with.
    continuing: Option<Past>,
    /// The run that stands is to be handed out as a file, too.
    exporting: bool,
    /// Run files by key, where the browser keeps none.
    files: Vec<(String, String)>,
}

impl Page {
    /// Brings back what earlier visits have left, and keeps the run that stands when the page is put away.
    pub fn restore(self) {
        spawn_local(async move {
            // What cannot be read cannot be written either, which is said when there is something to write.
            for entry in storage::all().await.unwrap_or_default() {
                let Entry { key, name, note, pinned, card } = entry;
                let question = Question::ReadCard { name: name.clone(), bytes: card.into_bytes() };
                self.ask(question, move |answer| match answer {
                    Answer::ReadCard(Ok(card)) => self.shelve(*card, |past| Past { key, name, note, pinned, ..past }),
                    Answer::ReadCard(Err(phrase)) => self.put_problem(None, format!("{phrase}.")),
                    _ => {}
                });
            }
        });
        let away = window_event_listener_untyped("visibilitychange", move |_| {
            if document().hidden() {
                self.save();
            }
        });
        on_cleanup(move || away.remove());
    }

    /// Puts a run among the earlier ones; gives its settings back.
    fn shelve(self, card: RunCard, label: impl FnOnce(Past) -> Past) {
        // Runs of other visits count down from the top, runs of the training thread up from 1.
        let run = self
            .past
            .with_untracked(|past| past.iter().map(|past| past.run).filter(|run| *run > u32::MAX / 2).min())
            .map_or(u32::MAX, |run| run - 1);
        let digits = self.settings.with_untracked(|settings| settings.digits);
        let past = label(past_of(run, Settings::of_config(&card.config, digits), card));
        self.past.update(|all| {
            // Those of this visit stay the last.
            let place = all.iter().position(|other| other.run <= u32::MAX / 2).unwrap_or(all.len());
            all.insert(place, past);
        });
        self.chart_tick.update(|tick| *tick += 1);
    }

    /// Keeps the run that stands, if it has gone on since it was kept last.
    pub fn save(self) {
        let Some(current) = self.current().filter(|_| !embed::is_embedded()) else { return };
        let step = current.last.step;
        let due = self.shelf.try_update_value(|shelf| {
            shelf.at = browser::now();
            std::mem::replace(&mut shelf.step, step) != step || shelf.exporting
        });
        if due == Some(true) {
            let (key, run) = (current.key.clone(), self.run_of_thread(current.info.run));
            self.send(Request::SaveRun { key, run, card: Box::new(card_of(&current)) });
        }
    }

    /// Whenever a report has come.
    pub fn save_now_and_then(self) {
        let measured = self.report.with_untracked(|report| report.as_ref().is_some_and(|r| r.test_accuracy.is_some()));
        let due = if self.playing.get_untracked() {
            self.shelf.with_value(|shelf| browser::now() - shelf.at > KEEP_MS)
        } else {
            measured
        };
        if due {
            self.save();
        }
    }

    /// Hands out the run that stands as a file.
    pub fn export_run(self) {
        self.shelf.update_value(|shelf| shelf.exporting = true);
        self.save();
    }

    /// The run that stands, as the training thread has written it.
    pub fn take_saved(self, key: String, card: String, file: String) {
        let current = self.current().filter(|current| current.key == key);
        let past = || self.past.with_untracked(|all| all.iter().find(|past| past.key == key).cloned());
        // One that was deleted in the meantime stays deleted.
        let Some(run) = current.or_else(past) else { return };
        if self.shelf.try_update_value(|shelf| std::mem::take(&mut shelf.exporting)) == Some(true) {
            hand_out(&file, &run.name);
        }
        self.keep(Entry { key, name: run.name, note: run.note, pinned: run.pinned, card }, file);
    }

    fn keep(self, entry: Entry, file: String) {
        spawn_local(async move {
            if let Err(error) = storage::put(&entry, &file).await {
                let first = self.shelf.try_update_value(|shelf| {
                    let first = shelf.files.is_empty();
                    shelf.files.retain(|(key, _)| *key != entry.key);
                    shelf.files.push((entry.key, file));
                    first
                });
                if first == Some(true) {
                    self.notice.set(Some(storage::reason(&error)));
                }
            }
        });
    }

    /// Names or pins an earlier run, here and where it is kept.
    pub fn label_run(self, run: u32, edit: impl FnOnce(&mut Past)) {
        let changed = self.past.try_update(|all| {
            let past = all.iter_mut().find(|past| past.run == run)?;
            edit(past);
            Some((past.key.clone(), past.name.clone(), past.pinned))
        });
        self.chart_tick.update(|tick| *tick += 1);
        if let Some(Some((key, name, pinned))) = changed {
            // Where nothing is kept, there is nothing to label.
            spawn_local(async move { drop(storage::label(&key, &name, pinned).await) });
        }
    }

    pub fn delete_run(self, run: u32) {
        let gone = self.past.try_update(|all| {
            let place = all.iter().position(|past| past.run == run)?;
            Some(all.remove(place).key)
        });
        self.chart_tick.update(|tick| *tick += 1);
        if let Some(Some(key)) = gone {
            self.forget(key);
        }
    }

    /// Throws away what is kept of a run.
    pub fn forget(self, key: String) {
        self.shelf.update_value(|shelf| shelf.files.retain(|(other, _)| *other != key));
        spawn_local(async move { drop(storage::remove(&key).await) });
    }

    async fn file_of(self, key: &str) -> Option<String> {
        let own = |shelf: &Shelf| shelf.files.iter().find(|(other, _)| other == key).map(|(_, file)| file.clone());
        match self.shelf.try_with_value(own).flatten() {
            Some(file) => Some(file),
            None => storage::file(key).await.ok().flatten(),
        }
    }

    /// Does something with an earlier run's file.
    fn with_file(self, past: Past, act: impl FnOnce(Past, String) + 'static) {
        spawn_local(async move {
            match self.file_of(&past.key).await {
                Some(file) => act(past, file),
                None => self.notice.set(Some(format!("The browser has not kept the file of “{}”.", past.name))),
            }
        });
    }

    /// Hands out an earlier run as a file.
    pub fn save_past(self, past: Past) {
        self.with_file(past, |past, file| hand_out(&file, &past.name));
    }

    /// Goes on with an earlier run where it stood.
    pub fn continue_run(self, past: Past) {
        self.with_file(past, move |past, file| {
            self.save();
            let name = past.name.clone();
            self.shelf.update_value(|shelf| shelf.continuing = Some(past));
            self.send(Request::Continue { name, bytes: file.into_bytes() });
        });
    }

    /// Nothing came of it.
    pub fn stop_continuing(self) {
        self.shelf.update_value(|shelf| shelf.continuing = None);
    }

    /// A new run stands, or the one that was asked to go on: then it is no earlier one any more. Gives its curves back.
    pub fn begin_on_shelf(self, info: &RunInfo) -> Curves {
        let continued = self.shelf.try_update_value(|shelf| shelf.continuing.take()).flatten();
        let Some(past) = continued.filter(|past| past.info.config == info.config) else {
            let names = self.past.with_untracked(|all| {
                let number = |past: &Past| past.name.strip_prefix("Run ").and_then(|n| n.parse::<u32>().ok());
                all.iter().filter_map(number).max().unwrap_or(0)
            });
            self.shelf.update_value(|shelf| {
                shelf.key = format!("{:013}-{}", js_sys::Date::now() as u64, info.run);
                shelf.name = format!("Run {}", names.saturating_add(1));
                shelf.pinned = false;
                shelf.step = 0;
                shelf.at = browser::now();
            });
            return Curves::default();
        };
        self.past.update(|all| all.retain(|other| other.key != past.key));
        let digits = self.settings.with_untracked(|settings| settings.digits);
        self.settings.set(Settings { digits, ..past.settings });
        self.schedule_projection();
        self.accuracy.set(past.accuracy);
        self.shelf.update_value(|shelf| {
            (shelf.key, shelf.name, shelf.pinned) = (past.key, past.name, past.pinned);
            (shelf.step, shelf.at) = (past.last.step, browser::now());
        });
        (*past.curves).clone()
    }

    /// A run from a file joins the list, once the accountant has found it true; its settings are taken over.
    pub fn open_run(self, name: String, bytes: Vec<u8>) {
        let file = String::from_utf8_lossy(&bytes).into_owned();
        self.ask_of_file(Question::OpenRun { name, bytes }, move |answer| match answer {
            Answer::OpenRun(Ok((run, card))) => {
                let key = format!("{:013}-file", js_sys::Date::now() as u64);
                let (name, config) = (run.name.clone(), run.config.clone());
                self.shelve(*run, |past| Past { key: key.clone(), pinned: true, ..past });
                self.keep(Entry { key, name: name.clone(), note: "from a file".to_owned(), pinned: true, card }, file);
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

/// Offers a run file under the run's present name.
fn hand_out(file: &str, name: &str) {
    let renamed = || {
        let whole = JSON::parse(file).ok()?;
        Reflect::set(&Reflect::get(&whole, &"run".into()).ok()?, &"name".into(), &name.into()).ok()?;
        JSON::stringify(&whole).ok()?.as_string()
    };
    let text = renamed().unwrap_or_else(|| file.to_owned());
    browser::download("hushgrad-run.json", "application/json", text.as_bytes());
}

fn card_of(past: &Past) -> RunCard {
    let Curves { accuracy, improved, classic } = &*past.curves;
    let [accuracy_curve, improved_curve, classic_curve] =
        [accuracy, improved, classic].map(|curve| decimate(curve.points(), POINTS));
    RunCard {
        name: past.name.clone(),
        note: past.note.clone(),
        config: past.info.config.clone(),
        engine: past.info.engine.clone(),
        data: past.info.data.clone(),
        train: past.info.train,
        test: past.info.test,
        report: past.last.clone(),
        accuracy: past.accuracy,
        accuracy_curve,
        improved_curve,
        classic_curve,
    }
}

fn past_of(run: u32, settings: Settings, card: RunCard) -> Past {
    let curve = |points: Vec<Point>| {
        let mut curve = Curve::default();
        points.into_iter().for_each(|point| curve.push(point));
        curve
    };
    Past {
        run,
        key: String::new(),
        name: card.name,
        note: "from a file".to_owned(),
        pinned: false,
        settings,
        info: RunInfo {
            run,
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
