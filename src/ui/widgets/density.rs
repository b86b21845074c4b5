//! The field for a density of the visitor's own.

use leptos::prelude::*;

use super::hint::labelled;
use crate::ui::{
    settings::Family,
    size::closures::{bool_fn, bool_memo, on_event, text_fn, text_memo, view_fn},
    state::{Origin, Page},
    text::{Text, text},
};

/// A field for a density.
pub const DENSITY: Text = text!("A density, in x");

pub const DENSITY_HINT: Text = text!(
    "Any formula that is symmetric about 0, has a single peak and falls off fast enough; it need not be normalised. Noise is drawn from exactly the table that is accounted for."
);

/// Where the set-up's noise is a density of the visitor's own: its formula.
pub fn density_field(page: Page) -> impl IntoView {
    let shown = bool_memo(move || page.settings.with(|settings| settings.family == Family::Custom));
    // The accountant's answers change the settings while the next formula is being typed.
    let formula = text_memo(move || page.settings.with(|settings| settings.formula.clone()));
    let problem = move || page.messages.of(Origin::Density).unwrap_or_default();
    let typed = move |event: leptos::ev::Event| {
        let typed = event_target_value(&event).trim().to_owned();
        page.change(|settings| settings.formula = typed);
    };
    view_fn(move || {
        shown.get().then(|| {
            let field = view! {
                <input type="text" id="density" data-testid="density" spellcheck="false" autocomplete="off" disabled=bool_fn(move || page.is_fixed("noise")) aria-describedby="density-error"
                    prop:value=text_fn(move || formula.get()) on:change=on_event(typed) />
                <p class="field-error" id="density-error">{text_fn(problem)}</p>
            };
            let words = [DENSITY, DENSITY_HINT].map(Text::get);
            labelled("density", "label".to_owned(), DENSITY.get().into_any(), words, field.into_any())
        })
    })
}
