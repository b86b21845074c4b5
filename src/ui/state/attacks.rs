//! Demonstrations of attacks on synthetic digits or on none: who was trained on, and which of a few
//! candidates was in.

use std::sync::Arc;

use hushgrad_message::Message;
use leptos::prelude::*;

use crate::{
    attack::{
        Progress,
        membership::{MembershipTarget, Own, leaky_settings},
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
        accounts::{Allowed, Answer, Question},
        attacking::{AttackProgress, AttackRequest, Seen},
        games::Played,
        jobs::{JobKind, JobRequest},
        protocol::Request,
    },
};

/// How the records of a small town, the attacked training set, are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Not at all.
    No,
    /// Noise of half a clipping norm.
    Little,
    /// Noise of 1.1 clipping norms.
    Much,
    /// By the current settings.
    AsSet,
}

impl Hidden {
    pub const ALL: [Self; 4] = [Self::No, Self::Little, Self::Much, Self::AsSet];

    /// Returns the key in lists.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::No => "none",
            Self::Little => "0.5",
            Self::Much => "1.1",
            Self::AsSet => "set",
        }
    }

    /// Returns the configuration of the town's run; `set` is the current one.
    #[must_use]
    pub fn config(self, set: RunConfig) -> RunConfig {
        match self {
            Self::No => leaky_settings(None),
            Self::Little => leaky_settings(Some(0.5)),
            Self::Much => leaky_settings(Some(1.1)),
            Self::AsSet => RunConfig { canaries: 0, ..set },
        }
    }
}

/// An attacked town.
#[derive(Clone)]
pub struct MembershipExperiment {
    pub hidden: Hidden,
    pub seen: Arc<Seen>,
    /// What its run allows, once `known`; `None`: no guarantee.
    pub allowed: Option<Arc<Allowed>>,
    pub known: bool,
}

/// The game that is being played.
#[derive(Clone, Debug, PartialEq)]
struct Game {
    config: RunConfig,
    train: u32,
    candidates: u32,
}

#[derive(Clone, Copy)]
pub struct Attacks {
    trainer: TrainingClient,
    accountant: AccountantClient,
    pub open: RwSignal<bool>,
    /// Whether a link opened them.
    pub linked: bool,
    /// Protection of the next town, and of the attacked one.
    pub hidden: RwSignal<Hidden>,
    attacked: StoredValue<(Hidden, RunConfig)>,
    /// Label of the drawing, if it is to be a record.
    pub label: RwSignal<Option<u8>>,
    /// Progress of the model, while one is trained.
    pub progress: RwSignal<Option<Progress>>,
    /// The latest result for each protection, newest last.
    pub seen: RwSignal<Vec<MembershipExperiment>>,
    pub candidates: RwSignal<u32>,
    game: StoredValue<Option<Game>>,
    pub played: RwSignal<Option<Result<Played, Message>>>,
}

impl Attacks {
    #[must_use]
    pub fn new(trainer: TrainingClient, accountant: AccountantClient, link: &Link) -> Self {
        Self {
            trainer,
            accountant,
            open: RwSignal::new(link.attacks),
            linked: link.attacks,
            hidden: RwSignal::new(Hidden::No),
            attacked: StoredValue::new((Hidden::No, leaky_settings(None))),
            label: RwSignal::new(None),
            progress: RwSignal::new(None),
            seen: RwSignal::new(vec![]),
            candidates: RwSignal::new(10),
            game: StoredValue::new(None),
            played: RwSignal::new(None),
        }
    }

    /// Forgets any attack in progress: the thread is new.
    pub fn forget(self) {
        self.progress.set(None);
    }

    /// Trains a model and attacks it.
    pub fn begin(self, set: RunConfig, own: Option<Own>) {
        let hidden = self.hidden.get_untracked();
        let config = hidden.config(set);
        self.attacked.set_value((hidden, config.clone()));
        self.progress.set(Some(Progress { done: 0, of: 1 }));
        self.trainer.send(Request::StartJob(JobRequest::Attack(Box::new(AttackRequest { config, own }))));
    }

    pub fn stop(self) {
        self.progress.set(None);
        self.trainer.send(Request::StopJob(JobKind::Attack));
    }

    /// Takes a report of the training thread; ignores reports after a stop.
    pub(super) fn take(self, inferred: Option<AttackProgress>) {
        if self.progress.with_untracked(Option::is_none) {
            return;
        }
        match inferred {
            Some(AttackProgress::Training(progress)) => self.progress.set(Some(progress)),
            Some(AttackProgress::Found(seen)) => {
                self.progress.set(None);
                let (hidden, config) = self.attacked.get_value();
                let seen: Arc<Seen> = Arc::from(seen);
                self.seen.update(|all| {
                    all.retain(|town| town.hidden != hidden);
                    all.push(MembershipExperiment { hidden, seen: seen.clone(), allowed: None, known: false });
                });
                let train = MembershipTarget::default().examples().unwrap_or_default();
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

    /// Plays the game on runs of `config` on `train` images, until complete or superseded.
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
            // A closed panel needs no more.
            if more && self.open.get_untracked() {
                self.play_on(game);
            } else if more {
                self.game.set_value(None);
            }
        });
    }
}
