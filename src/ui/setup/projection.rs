//! What the settings will cost, before Play.

use leptos::prelude::*;

use crate::{
    plot::format,
    ui::{
        size::closures::text_fn,
        state::{OPEN_EPOCHS, Page},
    },
};

/// What these settings will cost, before Play.
pub fn projection(page: Page) -> impl IntoView {
    let text = move || {
        let Some(Ok(projection)) = page.cost.projection.get() else { return String::new() };
        let (epsilon, steps) = (format::epsilon(projection.end.improved.epsilon), format::integer(projection.steps));
        let text = match page.settings.with(|settings| settings.steps) {
            Some(_) => format!("The {steps} planned steps will cost ε ≤ {epsilon}"),
            None => format!("{OPEN_EPOCHS} passes over the data ({steps} steps) would cost ε ≤ {epsilon}"),
        };
        page.value_of("tight").map_or_else(
            || format!("{text}."),
            |tight| format!("{text} by Rényi accounting; tight accounting: ε ≤ {tight}."),
        )
    };
    view! { <p class="projection" data-testid="projection">{text_fn(text)}</p> }
}
