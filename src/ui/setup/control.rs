//! One control of the set-up, while it applies.

use leptos::prelude::*;

use super::{builder::builder, layout::Control, noise_over_run::noise_over_run, preset::preset_choice};
use crate::ui::{
    settings::{Number, Select, UserSource},
    size::closures::{bool_memo, view_fn},
    state::Page,
    widgets::{
        number::number,
        select::select,
        typed::{OWN_DENSITY, OWN_NORMS, OWN_PHASES, typed_field},
    },
};

/// The control; empty if it does not apply, but for the noise scale, which other tools look for.
pub fn control(page: Page, which: Control) -> AnyView {
    match which {
        Control::Preset => preset_choice(page).into_any(),
        Control::Density => typed_field(page, &OWN_DENSITY),
        Control::LayerNorms => typed_field(page, &OWN_NORMS),
        Control::PhaseList => typed_field(page, &OWN_PHASES),
        // The layers of a custom network follow.
        Control::Select(Select::Model) => (select(page, Select::Model), builder(page)).into_any(),
        Control::Select(which) if which.spec().applies.is_none() => select(page, which),
        // Only some files name users.
        Control::Select(Select::UserSource) => {
            let there = bool_memo(move || {
                let chosen = page.settings.with(|settings| (settings.has_users(), settings.user_source));
                chosen == (true, UserSource::Data) || chosen.0 && page.digits.users().is_some()
            });
            view_fn(move || there.get().then(|| select(page, Select::UserSource))).into_any()
        }
        Control::Select(which) => {
            let there = bool_memo(move || page.settings.with(|settings| which.applies(settings)));
            view_fn(move || there.get().then(|| select(page, which))).into_any()
        }
        // The last control of the phases, followed by their plot.
        Control::Number(Number::NoiseEnd) => {
            (number_while_it_applies(page, Number::NoiseEnd), noise_over_run(page)).into_any()
        }
        Control::Number(which) => number_while_it_applies(page, which),
    }
}

fn number_while_it_applies(page: Page, which: Number) -> AnyView {
    let stays = which == Number::Scale;
    let there = bool_memo(move || stays || page.settings.with(|settings| settings.applies(which)));
    view_fn(move || there.get().then(|| number(page, which))).into_any()
}

/// Controls, one after another.
pub fn controls(page: Page, which: &[Control]) -> AnyView {
    which.iter().map(|which| control(page, *which)).collect_view().into_any()
}
