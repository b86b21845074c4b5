//! One image that is followed through the network, and how far.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use crate::{
    ui::{browser, threads::training::TrainingClient},
    worker::{follow::Followed, protocol::Request},
};

/// Milliseconds at each place of the way.
const BEAT_MS: u32 = 800;

/// Where an image is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Pixels.
    Image,
    /// What layer k made of it, from 0.
    Layer(usize),
    /// What the model says.
    Answer,
    /// The loss's gradient behind layer k.
    Gradient(usize),
    /// The length of the whole gradient.
    Length,
    /// What the bound leaves of it.
    Bounded,
    /// The noise on the sum.
    Noise,
}

impl Place {
    /// The place number `at` of a network of so many layers.
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

    /// The number of the last.
    #[must_use]
    pub const fn last(layers: usize) -> usize {
        2 * layers + 4
    }
}

/// The way of one image. Copied freely.
#[derive(Clone, Copy)]
pub struct Following {
    trainer: TrainingClient,
    pub followed: RwSignal<Option<Arc<Followed>>>,
    /// How far it is shown, from 0 to [`Place::last`].
    pub at: RwSignal<usize>,
    /// Whether it is shown at all.
    open: RwSignal<bool>,
    walking: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Following {
    /// Nothing is followed.
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

    /// Whether the way is shown.
    pub fn show(self, open: bool) {
        self.open.set(open);
        if !open {
            self.stand();
        }
    }

    /// An image is ringed: it is followed, while the way is shown and nobody walks another.
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

    /// Goes the whole way in slow motion; where no motion is wanted it stands at its end at once.
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

    /// Shows it so far, by hand.
    pub fn go_to(self, at: usize) {
        self.stand();
        self.at.set(at);
    }

    fn stand(self) {
        self.walking.update_value(|walking| *walking = None);
    }

    /// Follows nothing any more.
    pub fn forget(self) {
        self.stand();
        self.followed.set(None);
    }
}
