//! The loaded digits, and those on their way.

use std::sync::Arc;

use hushgrad_message::Message;
use leptos::prelude::*;

use crate::{
    data::{Picture, Source, TestSet, card::Card},
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
    /// Whether all have arrived; else more are on their way.
    pub complete: bool,
    /// The shape of an image.
    pub picture: Picture,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Remarks on the visitor's own images, a sentence each.
    pub remarks: Vec<Message>,
    /// The visitor's own images by class, once complete.
    pub card: Option<Arc<Card>>,
}

impl LoadedDigits {
    /// Returns the choice that yields these digits.
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

/// Requested digits; a run starts as soon as they arrive.
struct Awaited {
    load: u32,
    /// The previous choice of digits, if it was changed for them.
    before: Option<Digits>,
    /// The visitor's files to read.
    files: Vec<web_sys::File>,
}

/// What no view depends on.
#[derive(Default)]
struct Loads {
    /// The visitor's files in use, for another thread to read.
    own_files: Vec<web_sys::File>,
    /// Number of the last load.
    last: u32,
    /// Loads that have brought nothing yet.
    awaited: Vec<Awaited>,
    /// The load that has brought a part of its digits.
    arriving: Option<u32>,
}

/// What an arrival of digits means.
pub struct Arrival {
    /// Whether they were awaited.
    pub awaited: bool,
    /// Whether a part had arrived before.
    pub rest: bool,
    /// Whether no other digits are awaited.
    pub last: bool,
}

#[derive(Clone, Copy)]
pub struct DigitSets {
    trainer: TrainingClient,
    pub loaded: RwSignal<Option<LoadedDigits>>,
    /// Bytes done, and in total.
    pub loading: RwSignal<Option<(u64, u64)>>,
    /// When the page had everything that it loads on its own, in milliseconds since 1970.
    pub ready_at: RwSignal<Option<f64>>,
    loads: StoredValue<Loads, LocalStorage>,
}

impl DigitSets {
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

    /// Returns the number of training images once all have arrived: a run's cost depends on all.
    #[must_use]
    pub fn whole(self) -> Option<u32> {
        self.loaded.with_untracked(|loaded| loaded.as_ref().filter(|loaded| loaded.complete).map(|loaded| loaded.train))
    }

    /// True if a part has arrived, and more are on their way.
    #[must_use]
    pub fn are_arriving(self) -> bool {
        self.loaded.with_untracked(|loaded| loaded.as_ref().is_some_and(|loaded| !loaded.complete))
    }

    /// Returns the number of training images so far.
    #[must_use]
    pub fn train(self) -> Option<u32> {
        self.loaded.with_untracked(|loaded| loaded.as_ref().map(|loaded| loaded.train))
    }

    /// Returns the number of users whom the visitor's files name; tracked.
    #[must_use]
    pub fn users(self) -> Option<u32> {
        self.loaded.with(|loaded| loaded.as_ref()?.card.as_ref()?.users)
    }

    /// Adapts the model to the loaded images; returns it unchanged if they do not fit.
    #[must_use]
    pub fn fitted(self, model: Architecture) -> Architecture {
        let images = |loaded: &Option<LoadedDigits>| loaded.as_ref().map(|it| (it.picture, it.classes.len()));
        let Some((picture, classes)) = self.loaded.with_untracked(images) else { return model };
        model.fitted(picture, classes).unwrap_or(model)
    }

    /// Returns the shape of images and the number of classes, by default those of digits; tracked.
    #[must_use]
    pub fn images(self) -> (Picture, usize) {
        self.loaded.with(|loaded| loaded.as_ref().map_or((Picture::DIGIT, 10), |it| (it.picture, it.classes.len())))
    }

    /// Returns the name of a label; tracked.
    #[must_use]
    pub fn class(self, label: usize) -> String {
        self.loaded
            .with(|loaded| loaded.as_ref().and_then(|it| it.classes.get(label).cloned()))
            .unwrap_or_else(|| label.to_string())
    }

    /// Renames the classes, if the number fits.
    pub fn name_classes(self, names: Vec<String>) {
        self.loaded.update(|loaded| {
            if let Some(loaded) = loaded.as_mut().filter(|loaded| loaded.classes.len() == names.len()) {
                loaded.classes = names;
            }
        });
    }

    /// Returns the visitor's files in use.
    #[must_use]
    pub fn own_files(self) -> Vec<web_sys::File> {
        self.loads.with_value(|loads| loads.own_files.clone())
    }

    /// Requests digits. `before`: the previous choice, if it was changed for these.
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

    /// Sends bytes `start..end` of a file of a load.
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

    /// Ends a load without more data; true if it had brought a part, which now counts as all.
    pub fn end_part(self, load: u32) -> bool {
        let part = self.loads.try_update_value(|loads| loads.arriving.take_if(|arriving| *arriving == load).is_some());
        let part = part.unwrap_or_default();
        if part {
            self.loaded.update(|loaded| loaded.iter_mut().for_each(|loaded| loaded.complete = true));
        }
        part
    }

    /// Ends a load without further data. Returns the previous choice of digits, if it was changed
    /// for this load and no later one was requested.
    pub fn end_load(self, load: u32) -> Option<Digits> {
        let (before, last) = self.loads.try_update_value(|loads| {
            let place = loads.awaited.iter().position(|awaited| awaited.load == load);
            let before = place.and_then(|place| loads.awaited.remove(place).before);
            (before.filter(|_| load == loads.last), loads.awaited.is_empty())
        })?;
        // The next bytes of another load show its progress again.
        self.loading.set((!last).then_some((0, 0)));
        before
    }

    /// Turns the visitor's images by 90°, or mirrors them.
    pub fn orient(self, mirror: bool) {
        self.trainer.send(Request::Orient { mirror });
    }

    /// Takes digits of a load, and drops earlier loads.
    pub fn arrive(self, load: u32, mut loaded: LoadedDigits) -> Option<Arrival> {
        let (own, complete) = (loaded.choice() == Digits::Files, loaded.complete);
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
        self.loaded.update(|before| {
            // Turned images keep the names that their classes were given.
            let named = before.take().map(|before| before.classes);
            if let Some(classes) = named.filter(|named| !arrival.awaited && named.len() == loaded.classes.len()) {
                loaded.classes = classes;
            }
            *before = Some(loaded);
        });
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

    /// Forgets all digits: their thread is gone.
    pub fn forget(self) {
        self.loads.update_value(|loads| {
            loads.awaited.clear();
            loads.arriving = None;
        });
        self.loaded.set(None);
        self.loading.set(None);
    }
}
