//! The digits at hand, and those that are on their way.

use leptos::prelude::*;

use crate::{
    data::{Picture, Source, TestSet},
    model::Architecture,
    ui::{browser, settings::Digits, threads::training::TrainingClient},
    worker::protocol::{DataRequest, Request},
};

/// Digits that the training thread has.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedDigits {
    pub name: String,
    pub source: Source,
    pub train: u32,
    pub test: u32,
    pub test_set: TestSet,
    /// Whether all of them are there; else more are on their way.
    pub complete: bool,
    /// What an image is.
    pub picture: Picture,
    /// What labels say.
    pub classes: Vec<String>,
}

impl LoadedDigits {
    /// The choice that these digits are.
    #[must_use]
    pub const fn choice(&self) -> Digits {
        match self.source {
            Source::Mnist | Source::Site => Digits::Mnist,
            Source::Synthetic => Digits::Synthetic,
            Source::Colour => Digits::Colour,
            Source::Visitor | Source::Known => Digits::Files,
        }
    }
}

/// Digits that were asked for: a run starts as soon as they are there.
struct Awaited {
    load: u32,
    /// What the choice of digits was before, where it was changed for them.
    before: Option<Digits>,
    /// The visitor's files that they are read from.
    files: Vec<web_sys::File>,
}

/// What no view depends on.
#[derive(Default)]
struct Loads {
    /// The visitor's own files that are in use, for another thread to read.
    own_files: Vec<web_sys::File>,
    /// Number of the load that was asked for last.
    last: u32,
    /// Loads that have brought nothing yet.
    awaited: Vec<Awaited>,
    /// The load that has brought a part of its digits.
    arriving: Option<u32>,
}

/// What the arrival of digits means.
pub struct Arrival {
    /// Whether they were awaited.
    pub awaited: bool,
    /// Whether a part of them had come before.
    pub rest: bool,
    /// Whether no others are awaited.
    pub last: bool,
}

/// The digits. Copied freely.
#[derive(Clone, Copy)]
pub struct DigitSets {
    trainer: TrainingClient,
    pub loaded: RwSignal<Option<LoadedDigits>>,
    /// Bytes done and to do.
    pub loading: RwSignal<Option<(u64, u64)>>,
    /// When everything that the page loads by itself was there, in milliseconds since 1970.
    pub ready_at: RwSignal<Option<f64>>,
    loads: StoredValue<Loads, LocalStorage>,
}

impl DigitSets {
    /// No digits yet.
    #[must_use]
    pub fn new(trainer: TrainingClient) -> Self {
        Self {
            trainer,
            loaded: RwSignal::new(None),
            loading: RwSignal::new(None),
            ready_at: RwSignal::new(None),
            loads: StoredValue::new_local(Loads::default()),
        }
    }

    /// How many there are to train on, once all are there: what a run will cost depends on all of them.
    #[must_use]
    pub fn whole(self) -> Option<u32> {
        self.loaded.with_untracked(|loaded| loaded.as_ref().filter(|loaded| loaded.complete).map(|loaded| loaded.train))
    }

    /// Whether a part of them is there, and more are on their way.
    #[must_use]
    pub fn are_arriving(self) -> bool {
        self.loaded.with_untracked(|loaded| loaded.as_ref().is_some_and(|loaded| !loaded.complete))
    }

    /// How many digits there are to train on.
    #[must_use]
    pub fn train(self) -> Option<u32> {
        self.loaded.with_untracked(|loaded| loaded.as_ref().map(|loaded| loaded.train))
    }

    /// The model on the images at hand; as it is where they do not fit it.
    #[must_use]
    pub fn fitted(self, model: Architecture) -> Architecture {
        let images = |loaded: &Option<LoadedDigits>| loaded.as_ref().map(|it| (it.picture, it.classes.len()));
        let Some((picture, classes)) = self.loaded.with_untracked(images) else { return model };
        model.fitted(picture, classes).unwrap_or(model)
    }

    /// What images are, and how many classes they have; digits', until it is known. Heard by whoever shows it.
    #[must_use]
    pub fn images(self) -> (Picture, usize) {
        self.loaded.with(|loaded| loaded.as_ref().map_or((Picture::DIGIT, 10), |it| (it.picture, it.classes.len())))
    }

    /// What a label says, heard by whoever shows it.
    #[must_use]
    pub fn class(self, label: usize) -> String {
        self.loaded
            .with(|loaded| loaded.as_ref().and_then(|it| it.classes.get(label).cloned()))
            .unwrap_or_else(|| label.to_string())
    }

    /// Calls the classes so.
    pub fn name_classes(self, names: Vec<String>) {
        self.loaded.update(|loaded| {
            if let Some(loaded) = loaded.as_mut().filter(|loaded| loaded.classes.len() == names.len()) {
                loaded.classes = names;
            }
        });
    }

    /// The visitor's own files that are in use.
    #[must_use]
    pub fn own_files(self) -> Vec<web_sys::File> {
        self.loads.with_value(|loads| loads.own_files.clone())
    }

    /// Asks for digits. `before`: what the choice was, where it was changed for these.
    pub fn request(self, from: DataRequest, before: Option<Digits>, files: Vec<web_sys::File>) {
        self.loading.set(Some((0, 0)));
        let load = self.loads.try_update_value(|loads| {
            loads.last += 1;
            loads.awaited.push(Awaited { load: loads.last, before, files });
            loads.last
        });
        if let Some(load) = load {
            self.trainer.send(Request::Load { load, from });
        }
    }

    /// Sends bytes `start..end` of one of a load's files.
    pub fn send_piece(self, load: u32, file: u32, (start, end): (u64, u64)) {
        let file = self.loads.with_value(|loads| {
            let awaited = loads.awaited.iter().find(|awaited| awaited.load == load)?;
            awaited.files.get(file as usize).cloned()
        });
        leptos::task::spawn_local(async move {
            let bytes = match file.and_then(|file| file.slice_with_f64_and_f64(start as f64, end as f64).ok()) {
                Some(piece) => browser::bytes_of(&piece).await,
                None => None,
            };
            self.trainer.send(Request::Piece { load, bytes });
        });
    }

    /// A load brings nothing more. Whether it had brought a part of its digits, which is all that there is of them then.
    pub fn end_part(self, load: u32) -> bool {
        let part = self.loads.try_update_value(|loads| loads.arriving.take_if(|arriving| *arriving == load).is_some());
        let part = part.unwrap_or_default();
        if part {
            self.loaded.update(|loaded| loaded.iter_mut().for_each(|loaded| loaded.complete = true));
        }
        part
    }

    /// Ends a load that brings nothing more. What the choice of digits was before it, where it was changed for this load and no later one.
    pub fn end_load(self, load: u32) -> Option<Digits> {
        let (before, last) = self.loads.try_update_value(|loads| {
            let place = loads.awaited.iter().position(|awaited| awaited.load == load);
            let before = place.and_then(|place| loads.awaited.remove(place).before);
            (before.filter(|_| load == loads.last), loads.awaited.is_empty())
        })?;
        // A load that goes on is shown again with its next bytes.
        self.loading.set((!last).then_some((0, 0)));
        before
    }

    /// Takes digits that a load has brought: loads before it bring nothing any more.
    pub fn arrive(self, load: u32, loaded: LoadedDigits) -> Option<Arrival> {
        let (own, complete) = (loaded.choice() == Digits::Files, loaded.complete);
        self.loaded.set(Some(loaded));
        let arrival = self.loads.try_update_value(|loads| {
            let place = loads.awaited.iter().position(|awaited| awaited.load == load);
            let files = place.map(|place| loads.awaited.remove(place).files);
            loads.awaited.retain(|awaited| awaited.load > load);
            let rest = loads.arriving == Some(load);
            loads.arriving = (!complete).then_some(load);
            let awaited = files.is_some();
            if let Some(files) = files.filter(|_| own) {
                loads.own_files = files;
            }
            Arrival { awaited, rest, last: loads.awaited.is_empty() }
        })?;
        if complete {
            if arrival.last {
                self.loading.set(None);
            }
            if self.ready_at.with_untracked(Option::is_none) {
                self.ready_at.set(Some(js_sys::Date::now()));
            }
        }
        Some(arrival)
    }

    /// Nothing is known of any digits: the thread that had them is gone.
    pub fn forget(self) {
        self.loads.update_value(|loads| {
            loads.awaited.clear();
            loads.arriving = None;
        });
        self.loaded.set(None);
        self.loading.set(None);
    }
}
