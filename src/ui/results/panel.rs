//! RESULTS: curves, numbers, what ε says, the drawn digit.

use leptos::prelude::*;

use super::{
    curves::{accuracy_chart, epsilon_chart},
    meaning::{Known, meaning},
    numbers::numbers,
    odds::odds,
    pad::pad,
    who_pays,
};
use crate::ui::{lessons::formulas::formulas, size::closures::view_fn, state::Page};

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    let known = Known::of(page);
    view! {
        {odds(page, known.attack)}
        <h2>"Results"</h2>
        {accuracy_chart(page, 165.0)}
        {epsilon_chart(page, 150.0)}
        {view_fn(move || page.shows_recorded().then(|| recorded_note().into_any()))}
        {meaning(page, known)}
        {pad(page)}
        {who_pays::panel(page)}
        {formulas(page)}
        {numbers(page)}
    }
    .into_any()
}

fn recorded_note() -> impl IntoView {
    view! { <p class="recorded" data-testid="recorded">"Recorded: MNIST, with these settings. Press Play, and your own run takes its place."</p> }
}
