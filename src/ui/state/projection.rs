//! What the settings will cost, before Play.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::{
    digits::DigitSets,
    planned::{odds_question, projection_question, tight_question},
    run::Run,
};
use crate::{
    plot::{drawing::Line, series::Point},
    train::{config::RunConfig, projection::Projection},
    ui::{
        browser,
        settings::{Family, Settings},
        threads::accountant::{AccountantClient, Topic},
    },
    worker::accounts::Answer,
};

/// A projection waits until the settings have stood still this long.
const PROJECTION_MS: u32 = 120;
/// How long the tight curve waits where it takes long: the accountant answers one question at a time.
const TIGHT_MS: u32 = 600;

/// The projected cost. Copied freely.
#[derive(Clone, Copy)]
pub struct ProjectedCost {
    settings: RwSignal<Settings>,
    digits: DigitSets,
    accountant: AccountantClient,
    /// What the settings will cost; why nothing can be said.
    pub projection: RwSignal<Option<Result<Arc<Projection>, String>>>,
    /// The settings that it is of, and how many images: it stays while another is on its way.
    of: StoredValue<Option<(Settings, u32)>>,
    /// Tight ε by step of the projection.
    pub tight: RwSignal<Vec<Point>>,
    /// Whether tight ε of the settings is still to come.
    pub pending: RwSignal<bool>,
    /// Whether its odds are still to come.
    pub odds_pending: RwSignal<bool>,
    /// Of a hundred members, how many any attacker finds at most once all of it is released.
    pub odds: RwSignal<Option<u32>>,
    /// ε by step at other δ, until something else is set.
    pub deltas: RwSignal<Vec<Line>>,
    /// The questions wait until the settings stand still.
    due: StoredValue<Option<Timeout>, LocalStorage>,
    tight_due: StoredValue<Option<Timeout>, LocalStorage>,
}

impl ProjectedCost {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(settings: RwSignal<Settings>, digits: DigitSets, accountant: AccountantClient) -> Self {
        Self {
            settings,
            digits,
            accountant,
            projection: RwSignal::new(None),
            of: StoredValue::new(None),
            tight: RwSignal::new(vec![]),
            pending: RwSignal::new(false),
            odds_pending: RwSignal::new(false),
            odds: RwSignal::new(None),
            deltas: RwSignal::new(vec![]),
            due: StoredValue::new_local(None),
            tight_due: StoredValue::new_local(None),
        }
    }

    /// The projection, where there is one.
    #[must_use]
    pub fn known(self) -> Option<Arc<Projection>> {
        self.projection.with(|projection| projection.clone().and_then(Result::ok))
    }

    /// The projection and its tight ε, where it is of the settings as they are now: a sentence must not name those of before.
    #[must_use]
    pub fn of_now(self) -> Option<(Arc<Projection>, Option<f64>)> {
        let known = self.known()?;
        let tight = self.tight.with(|points| points.last().map(|point| point.1));
        self.is_of_now().then_some((known, tight))
    }

    /// Whether it is of the settings as they are now.
    fn is_of_now(self) -> bool {
        self.settings.with(|now| self.of.with_value(|of| of.as_ref().is_some_and(|(of, _)| of == now)))
    }

    /// Whether it is of the run that stands, and of the settings as they are now.
    #[must_use]
    pub fn is_of_run(self, run: Run) -> bool {
        run.info.with(|info| info.as_ref().is_some_and(|info| self.is_of(&info.config, info.train)))
    }

    /// Whether it is of this configuration on so many images, and of the settings as they are now.
    fn is_of(self, config: &RunConfig, train: u32) -> bool {
        self.projection.track();
        self.is_of_now()
            && self.of.with_value(|of| {
                of.as_ref().is_some_and(|(of, all)| *all == train && of.what_runs() == (config.clone(), None))
            })
    }

    /// The odds, where they are of the settings as they are now.
    #[must_use]
    pub fn odds_of_now(self) -> Option<u32> {
        self.odds.get().filter(|_| self.is_of_now())
    }

    /// ε of all planned steps: by tight accounting, where that is known.
    #[must_use]
    pub fn end(self) -> Option<f64> {
        let tight = self.tight.with(|points| points.last().map(|point| point.1));
        tight.or_else(|| self.projection.with(|known| Some(known.as_ref()?.as_ref().ok()?.end.improved.epsilon)))
    }

    /// Looks anew at what the settings will cost, once they stand still.
    pub fn schedule(self) {
        self.set_pending(true);
        let due = browser::Busy::until(PROJECTION_MS, move || {
            // Of a part of the digits everything costs more, and no run is of a part.
            let train = self.digits.whole();
            let (Some(train), settings) = (train, self.settings.get_untracked()) else {
                self.projection.set(None);
                self.set_pending(false);
                return self.forget_tight();
            };
            let question = projection_question(&settings, train);
            self.accountant.ask_latest(Topic::Projection, question, move |answer| {
                // Of other digits that have come since, another answer comes.
                if let (Answer::Projection(projection), true) = (answer, self.digits.train() == Some(train)) {
                    self.of.set_value(Some((settings.clone(), train)));
                    self.projection.set(Some(projection.map(Arc::new)));
                    self.project_tight(train);
                }
            });
        });
        self.deltas.set(vec![]);
        self.due.set_value(Some(due));
    }

    fn set_pending(self, pending: bool) {
        self.pending.set(pending);
        self.odds_pending.set(pending);
    }

    fn forget_tight(self) {
        self.tight.set(vec![]);
        self.odds.set(None);
    }

    /// Tight ε and the odds of what is projected: at once where it is quickly told, else when the settings have stood still.
    fn project_tight(self, train: u32) {
        self.forget_tight();
        let settings = self.settings.get_untracked();
        if settings.replay.is_some() || !self.projection.with_untracked(|known| matches!(known, Some(Ok(_)))) {
            self.set_pending(false);
            return self.tight_due.set_value(None);
        }
        let quick = settings.encoder.clips() && settings.family == Family::Gaussian;
        let wait = if quick { 0 } else { TIGHT_MS };
        let due = browser::Busy::until(wait, move || self.ask_tight(settings, train));
        self.tight_due.set_value(Some(due));
    }

    fn ask_tight(self, settings: Settings, train: u32) {
        let (tight, odds) = (tight_question(&settings, train), odds_question(&settings, train));
        let now = move || self.digits.train() == Some(train) && self.settings.with_untracked(|now| *now == settings);
        let still = now.clone();
        self.accountant.ask_latest(Topic::Tight, tight, move |answer| {
            if let (Answer::Tight(found), true) = (answer, now()) {
                self.tight.set(found.unwrap_or_default());
                self.pending.set(false);
            }
        });
        self.accountant.ask_latest(Topic::Odds, odds, move |answer| {
            if let (Answer::Odds(odds), true) = (answer, still()) {
                self.odds.set(Some(odds.unwrap_or(100)));
                self.odds_pending.set(false);
            }
        });
    }

    /// Asks nothing more until something is set: the accountant's thread has failed.
    pub fn cancel(self) {
        self.set_pending(false);
        self.due.set_value(None);
    }
}
