//! RESULTS: curves, numbers, what ε says, the drawn digit.

use leptos::prelude::*;

use super::{
    confusion,
    curves::{accuracy_chart, epsilon_chart},
    meaning::meaning,
    numbers::numbers,
    pad::pad,
};
use crate::ui::{lessons::formulas::formulas, size::closures::view_fn, state::Page};

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    view! {
        <h2>"Results"</h2>
        {accuracy_chart(page, 165.0)}
        {epsilon_chart(page, 150.0)}
        {view_fn(move || (!page.has_own_run()).then(|| recorded_note().into_any()))}
        {meaning(page)}
        {pad(page)}
        {confusion::panel(page)}
        {formulas(page)}
        {numbers(page)}
    }
    .into_any()
}

fn recorded_note() -> impl IntoView {
    view! { <p class="recorded" data-testid="recorded">"Recorded: MNIST, the linear model, the first settings of this page. Press Play, and your own run takes its place."</p> }
}
