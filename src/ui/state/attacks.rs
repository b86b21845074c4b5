//! Attacks that people recognise, each on drawn digits or on none: who was trained on, which of a few was in, and an image from one gradient.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    attack::{
        Progress,
        membership::{Own, Sought, small_town},
    },
    train::config::RunConfig,
    ui::{
        link::Link,
        threads::{
            accountant::{AccountantClient, Topic},
            training::TrainingClient,
        },
    },
    worker::{
        accounts::{Allowed, Answer, Picture, Question},
        attacking::{Asked, Inferred, Seen},
        games::Played,
        protocol::Request,
    },
};

/// What hides the records of a small town.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Nothing.
    No,
    /// Noise of half a clip.
    Little,
    /// Of 1.1 clips.
    Much,
    /// Whatever is set.
    AsSet,
}

impl Hidden {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::No, Self::Little, Self::Much, Self::AsSet];

    /// As a list knows it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::No => "none",
            Self::Little => "0.5",
            Self::Much => "1.1",
            Self::AsSet => "set",
        }
    }

    /// How its model is trained, where `set` is what is set.
    #[must_use]
    pub fn config(self, set: RunConfig) -> RunConfig {
        match self {
            Self::No => small_town(None),
            Self::Little => small_town(Some(0.5)),
            Self::Much => small_town(Some(1.1)),
            Self::AsSet => RunConfig { canaries: 0, ..set },
        }
    }
}

/// A town that was attacked.
#[derive(Clone)]
pub struct Town {
    pub hidden: Hidden,
    pub seen: Arc<Seen>,
    /// What its run allows, once that is known; `None`: it has no guarantee.
    pub allowed: Option<Arc<Allowed>>,
    pub known: bool,
}

/// A game that is asked about.
#[derive(Clone, Debug, PartialEq)]
struct Game {
    config: RunConfig,
    train: u32,
    candidates: u32,
}

/// The attacks. Copied freely.
#[derive(Clone, Copy)]
pub struct Attacks {
    trainer: TrainingClient,
    accountant: AccountantClient,
    pub open: RwSignal<bool>,
    /// Whether a link has opened them.
    pub linked: bool,
    /// What hides the records of the next town, and of the one that is attacked.
    pub hidden: RwSignal<Hidden>,
    attacked: StoredValue<(Hidden, RunConfig)>,
    /// The digit that the drawing is said to be, where it is to be a record.
    pub label: RwSignal<Option<u8>>,
    /// How far the model is, while one is trained.
    pub progress: RwSignal<Option<Progress>>,
    /// What was seen of each kind of town, the last one last.
    pub seen: RwSignal<Vec<Town>>,
    pub candidates: RwSignal<u32>,
    game: StoredValue<Option<Game>>,
    pub played: RwSignal<Option<Result<Played, String>>>,
    /// Noise of the gradient, in multiples of the clip, and which draw of it.
    pub sigma: RwSignal<f64>,
    pub draw: RwSignal<u32>,
    pub picture: RwSignal<Option<Result<Arc<Picture>, String>>>,
}

impl Attacks {
    /// Nothing is attacked yet.
    #[must_use]
    pub fn new(trainer: TrainingClient, accountant: AccountantClient, link: &Link) -> Self {
        Self {
            trainer,
            accountant,
            open: RwSignal::new(link.attacks),
            linked: link.attacks,
            hidden: RwSignal::new(Hidden::No),
            attacked: StoredValue::new((Hidden::No, small_town(None))),
            label: RwSignal::new(None),
            progress: RwSignal::new(None),
            seen: RwSignal::new(vec![]),
            candidates: RwSignal::new(10),
            game: StoredValue::new(None),
            played: RwSignal::new(None),
            sigma: RwSignal::new(0.0),
            draw: RwSignal::new(0),
            picture: RwSignal::new(None),
        }
    }

    /// The thread is another one: nothing is under way.
    pub fn forget(self) {
        self.progress.set(None);
    }

    /// Trains a model, and attacks it.
    pub fn begin(self, set: RunConfig, own: Option<Own>) {
        let hidden = self.hidden.get_untracked();
        let config = hidden.config(set);
        self.attacked.set_value((hidden, config.clone()));
        self.progress.set(Some(Progress { done: 0, of: 1 }));
        self.trainer.send(Request::Attack(Box::new(Asked { config, own })));
    }

    /// Stops it.
    pub fn stop(self) {
        self.progress.set(None);
        self.trainer.send(Request::StopAttack);
    }

    /// Takes what the training thread says of it; what was on its way when it was stopped is left.
    pub(super) fn take(self, inferred: Option<Inferred>) {
        if self.progress.with_untracked(Option::is_none) {
            return;
        }
        match inferred {
            Some(Inferred::Training(progress)) => self.progress.set(Some(progress)),
            Some(Inferred::Found(seen)) => {
                self.progress.set(None);
                let (hidden, config) = self.attacked.get_value();
                let seen: Arc<Seen> = Arc::from(seen);
                self.seen.update(|all| {
                    all.retain(|town| town.hidden != hidden);
                    all.push(Town { hidden, seen: seen.clone(), allowed: None, known: false });
                });
                let train = Sought::default().examples().unwrap_or_default();
                self.accountant.ask(Question::Allowed { config, train }, move |answer| {
                    let Answer::Allowed(allowed) = answer else { return };
                    self.seen.update(|all| {
                        if let Some(town) = all.iter_mut().find(|town| Arc::ptr_eq(&town.seen, &seen)) {
                            (town.allowed, town.known) = (allowed.ok().map(Arc::new), true);
                        }
                    });
                });
            }
            None => self.progress.set(None),
        }
    }

    /// Plays about runs of this configuration on so many images, until all is known or another game is asked about.
    pub fn play(self, config: RunConfig, train: u32) {
        let game = Game { config, train, candidates: self.candidates.get() };
        if self.game.with_value(|now| now.as_ref() != Some(&game)) {
            self.game.set_value(Some(game.clone()));
            self.played.set(None);
            self.play_on(game);
        }
    }

    fn play_on(self, game: Game) {
        let Game { config, train, candidates } = game.clone();
        self.accountant.ask_latest(Topic::Game, Question::Game { config, train, candidates }, move |answer| {
            let same = self.game.with_value(|now| now.as_ref() == Some(&game));
            let (Answer::Game(played), true) = (answer, same) else { return };
            let more = played.as_ref().is_ok_and(|played| !played.progress.complete());
            self.played.set(Some(played));
            // Who closes it needs no more.
            if more && self.open.get_untracked() {
                self.play_on(game);
            } else if more {
                self.game.set_value(None);
            }
        });
    }

    /// Reads this image off its gradient.
    pub fn invert(self, image: Vec<f32>, delta: f64) {
        let question = Question::Invert { image, sigma: self.sigma.get(), draw: self.draw.get(), delta };
        self.accountant.ask_latest(Topic::Invert, question, move |answer| {
            if let Answer::Invert(picture) = answer {
                self.picture.set(Some(picture.map(Arc::from)));
            }
        });
    }
}
