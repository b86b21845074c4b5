//! The noise knob: the scale under the pointer, and what it would cost.

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::{digits::DigitSets, planned::odds_question, recorded::Price};
use crate::{
    ui::{
        browser,
        settings::{Family, Number, Settings},
        size::closures::effect,
        threads::accountant::{AccountantClient, Topic},
    },
    worker::accounts::Answer,
};

/// Milliseconds of the opening: the noise rests at 0, rises to its setting, and rests there.
const OPENING_MS: [f64; 3] = [1200.0, 4000.0, 800.0];
/// Milliseconds between its frames.
const FRAME_MS: u32 = 33;

#[derive(Clone, Copy)]
pub struct Knob {
    settings: RwSignal<Settings>,
    digits: DigitSets,
    accountant: AccountantClient,
    /// The scale while the slider is dragged.
    dragged: RwSignal<Option<f64>>,
    /// True from the end of the opening until the knob is first turned.
    pub invites: RwSignal<bool>,
    /// The next frame of the opening.
    opening: StoredValue<Option<Timeout>, LocalStorage>,
    /// Prices of plans that differ from the settings in their scale alone.
    prices: RwSignal<Vec<Price>>,
    /// How often these were forgotten.
    forgotten: StoredValue<u32>,
}

impl Knob {
    #[must_use]
    pub fn new(settings: RwSignal<Settings>, digits: DigitSets, accountant: AccountantClient) -> Self {
        let (prices, forgotten) = (RwSignal::new(vec![]), StoredValue::new(0));
        let of = StoredValue::new(None::<(Settings, u32)>);
        // Prices under other settings, or on other digits, are no bounds.
        effect(move || {
            let now = settings.with(|settings| Settings { scale: 0.0, budget: None, ..settings.clone() });
            digits.loaded.track();
            let now = Some((now, digits.train().unwrap_or_default()));
            if of.with_value(|of| *of != now) {
                of.set_value(now);
                forgotten.update_value(|forgotten| *forgotten += 1);
                prices.set(vec![]);
            }
        });
        Self {
            settings,
            digits,
            accountant,
            dragged: RwSignal::new(None),
            invites: RwSignal::new(false),
            opening: StoredValue::new_local(None),
            prices,
            forgotten,
        }
    }

    /// Returns the scale that is dragged or set; 0 without noise.
    #[must_use]
    pub fn scale(self) -> f64 {
        let set = self.settings.with(|settings| if settings.family == Family::None { 0.0 } else { settings.scale });
        self.dragged.get().unwrap_or(set)
    }

    /// True while the slider is dragged.
    #[must_use]
    pub fn is_dragged(self) -> bool {
        self.dragged.with(Option::is_some)
    }

    /// Takes the scale under the pointer, and asks for its price.
    pub fn drag(self, scale: f64) {
        let settings = Settings { scale, budget: None, ..self.settings.get_untracked() };
        self.opening.set_value(None);
        self.invites.set(false);
        self.dragged.set(Some(scale));
        let Some(train) = self.digits.whole() else { return };
        if settings.replay.is_some() || self.price().is_some_and(|known| known.scale == scale) {
            return;
        }
        let forgotten = self.forgotten.get_value();
        self.accountant.ask_latest(Topic::Knob, odds_question(&settings, train), move |answer| {
            if let (Answer::Odds(Ok((found, epsilon))), true) = (answer, self.forgotten.get_value() == forgotten) {
                self.prices.update(|prices| prices.push(Price { scale, found, epsilon }));
            }
        });
    }

    /// Ends a drag, and the opening: the settings have the scale.
    pub fn release(self) {
        self.opening.set_value(None);
        self.invites.set(false);
        self.dragged.set(None);
    }

    /// Raises the noise from none to its setting, and then invites the visitor to turn it back.
    pub fn open(self) {
        self.frame(browser::now());
    }

    fn frame(self, start: f64) {
        let [rests, rises, stands] = OPENING_MS;
        let past = browser::now() - start - rests;
        if past >= rises + stands {
            self.release();
            return self.invites.set(true);
        }
        let spec = Number::Scale.spec();
        let (Some(slider), Some(set)) = (spec.slider, self.settings.with_untracked(spec.get)) else { return };
        let share = (past / rises).clamp(0.0, 1.0);
        let scale = slider.value(slider.share(set) * share * share * (3.0 - 2.0 * share));
        self.dragged.set(Some(if past > 0.0 { scale.min(set) } else { 0.0 }));
        self.opening.set_value(Some(Timeout::new(FRAME_MS, move || self.frame(start))));
    }

    /// Ends the opening, if it is under way.
    pub fn end_opening(self) {
        if self.opening.with_value(Option::is_some) {
            self.release();
        }
    }

    /// Returns a bound on the plan's cost at the scale that is dragged or set, if one is known.
    #[must_use]
    pub fn price(self) -> Option<Price> {
        let scale = self.scale();
        self.prices.with(|prices| Price::under(prices, scale))
    }
}
