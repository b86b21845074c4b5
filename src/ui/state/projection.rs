//! The projected cost of the settings, before Play.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use hushgrad_message::Message;
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

/// Milliseconds for which settings must be unchanged before a projection.
const PROJECTION_MS: u32 = 120;
/// The same for a slow tight curve: the accountant answers one question at a time.
const TIGHT_MS: u32 = 600;

#[derive(Clone, Copy)]
pub struct ProjectedCost {
    settings: RwSignal<Settings>,
    digits: DigitSets,
    accountant: AccountantClient,
    /// The projected cost, or why there is none.
    pub projection: RwSignal<Option<Result<Arc<Projection>, Message>>>,
    /// Its settings and number of images; both stay until the next projection arrives.
    of: StoredValue<Option<(Settings, u32)>>,
    /// Tight ε of the projection, by step.
    pub tight: RwSignal<Vec<Point>>,
    /// Whether tight ε is still to come.
    pub pending: RwSignal<bool>,
    /// Whether the odds are still to come.
    pub odds_pending: RwSignal<bool>,
    /// How many of a hundred members any attacker finds at most after all planned steps.
    pub odds: RwSignal<Option<u32>>,
    /// ε by step at other δ, until a setting changes.
    pub deltas: RwSignal<Vec<Line>>,
    /// Delays the questions until settings are unchanged for a while.
    due: StoredValue<Option<Timeout>, LocalStorage>,
    tight_due: StoredValue<Option<Timeout>, LocalStorage>,
}

impl ProjectedCost {
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

    /// Returns the projection, if there is one.
    #[must_use]
    pub fn known(self) -> Option<Arc<Projection>> {
        self.projection.with(|projection| projection.clone().and_then(Result::ok))
    }

    /// Returns the projection and its tight ε, if they are of the current settings.
    #[must_use]
    pub fn of_now(self) -> Option<(Arc<Projection>, Option<f64>)> {
        let known = self.known()?;
        let tight = self.tight.with(|points| points.last().map(|point| point.1));
        self.is_of_now().then_some((known, tight))
    }

    /// True if it is of the current settings.
    fn is_of_now(self) -> bool {
        self.settings.with(|now| self.of.with_value(|of| of.as_ref().is_some_and(|(of, _)| of == now)))
    }

    /// True if it is of the current run, and of the current settings.
    #[must_use]
    pub fn is_of_run(self, run: Run) -> bool {
        run.info.with(|info| info.as_ref().is_some_and(|info| self.is_of(&info.config, info.train)))
    }

    /// True if it is of `config` on `train` images, and of the current settings.
    fn is_of(self, config: &RunConfig, train: u32) -> bool {
        self.projection.track();
        self.is_of_now()
            && self.of.with_value(|of| {
                of.as_ref().is_some_and(|(of, all)| *all == train && of.what_runs() == (config.clone(), None))
            })
    }

    /// Returns the odds, if they are of the current settings.
    #[must_use]
    pub fn odds_of_now(self) -> Option<u32> {
        self.odds.get().filter(|_| self.is_of_now())
    }

    /// Returns ε of all planned steps, by tight accounting if known.
    #[must_use]
    pub fn end(self) -> Option<f64> {
        let tight = self.tight.with(|points| points.last().map(|point| point.1));
        tight.or_else(|| self.projection.with(|known| Some(known.as_ref()?.as_ref().ok()?.end.improved.epsilon)))
    }

    /// Updates the projection once settings are unchanged for a while.
    pub fn schedule(self) {
        self.set_pending(true);
        let due = browser::Busy::until(PROJECTION_MS, move || {
            // With part of the digits everything costs more, and no run is on a part.
            let train = self.digits.whole();
            let (Some(train), settings) = (train, self.settings.get_untracked()) else {
                self.projection.set(None);
                self.set_pending(false);
                return self.forget_tight();
            };
            let question = projection_question(&settings, train);
            self.accountant.ask_latest(Topic::Projection, question, move |answer| {
                // If other digits have arrived since, another answer follows.
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

    /// Asks for the projection's tight ε and odds: at once if quick, else after a while.
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
                self.odds.set(Some(odds.map_or(100, |(found, _)| found)));
                self.odds_pending.set(false);
            }
        });
    }

    /// Asks nothing more until a setting changes: the accountant's thread has failed.
    pub fn cancel(self) {
        self.set_pending(false);
        self.due.set_value(None);
    }
}
