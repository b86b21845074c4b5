//! Follows one image through the network, place by place.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use crate::{
    ui::{browser, threads::training::TrainingClient},
    worker::{follow::Followed, protocol::Request},
};

/// Milliseconds at each place.
const BEAT_MS: u32 = 800;

/// A place on an image's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Image,
    /// The output of layer k, from 0.
    Layer(usize),
    /// The model's output.
    Answer,
    /// The gradient of the loss with respect to the output of layer k.
    Gradient(usize),
    /// The norm of the whole gradient.
    Length,
    /// The bounded gradient.
    Bounded,
    /// The noise on the sum.
    Noise,
}

impl Place {
    /// Returns place `at` in a network of `layers` layers.
    #[must_use]
    pub const fn of(at: usize, layers: usize) -> Self {
        match at {
            0 => Self::Image,
            _ if at <= layers => Self::Layer(at - 1),
            _ if at == layers + 1 => Self::Answer,
            _ if at <= 2 * layers + 1 => Self::Gradient(2 * layers + 1 - at),
            _ if at == 2 * layers + 2 => Self::Length,
            _ if at == 2 * layers + 3 => Self::Bounded,
            _ => Self::Noise,
        }
    }

    /// Returns the number of the last place.
    #[must_use]
    pub const fn last(layers: usize) -> usize {
        2 * layers + 4
    }
}

#[derive(Clone, Copy)]
pub struct Following {
    trainer: TrainingClient,
    pub followed: RwSignal<Option<Arc<Followed>>>,
    /// The place shown, from 0 to [`Place::last`].
    pub at: RwSignal<usize>,
    /// Whether the way is shown.
    open: RwSignal<bool>,
    walking: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Following {
    #[must_use]
    pub fn new(trainer: TrainingClient) -> Self {
        Self {
            trainer,
            followed: RwSignal::new(None),
            at: RwSignal::new(0),
            open: RwSignal::new(false),
            walking: StoredValue::new_local(None),
        }
    }

    /// Shows or hides the way.
    pub fn show(self, open: bool) {
        self.open.set(open);
        if !open {
            self.stand();
        }
    }

    /// Follows the ringed image, if the way is shown and no walk is in progress.
    pub fn ring(self, place: u32) {
        if self.open.get() && self.walking.with_value(Option::is_none) {
            self.trainer.send(Request::Follow { place });
        }
    }

    /// Takes the way of an image.
    pub fn take(self, followed: Followed) {
        let before = self.layers();
        let at_end = before.is_none_or(|layers| self.at.get_untracked() >= Place::last(layers));
        let layers = followed.layers.len();
        self.followed.set(Some(Arc::new(followed)));
        if at_end || before != Some(layers) {
            self.at.set(Place::last(layers));
        }
    }

    fn layers(self) -> Option<usize> {
        self.followed.with_untracked(|followed| followed.as_ref().map(|followed| followed.layers.len()))
    }

    /// Walks the whole way in slow motion; with reduced motion, jumps to its end.
    pub fn walk(self) {
        let Some(layers) = self.layers() else { return };
        if browser::may_move() { self.beat(0) } else { self.at.set(Place::last(layers)) }
    }

    fn beat(self, at: usize) {
        let Some(layers) = self.layers() else { return self.stand() };
        self.at.set(at.min(Place::last(layers)));
        let next = (at < Place::last(layers)).then(|| Timeout::new(BEAT_MS, move || self.beat(at + 1)));
        self.walking.update_value(|walking| *walking = next);
    }

    /// Goes to a place, ending any walk.
    pub fn go_to(self, at: usize) {
        self.stand();
        self.at.set(at);
    }

    fn stand(self) {
        self.walking.update_value(|walking| *walking = None);
    }

    /// Forgets the followed image.
    pub fn forget(self) {
        self.stand();
        self.followed.set(None);
    }
}
