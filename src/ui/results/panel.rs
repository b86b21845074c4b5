//! The panel RESULTS.

use leptos::prelude::*;

use super::{
    attacks,
    counted::counted,
    curves::{accuracy_chart, compare, epsilon_chart},
    meaning::meaning,
    numbers::numbers,
    odds::odds,
    pad::pad,
    pay_once, who_pays,
};
use crate::ui::{
    lessons::formulas::formulas,
    size::closures::view_fn,
    state::{Page, recorded::Recorded},
    text::t,
};

pub fn panel(page: Page) -> impl IntoView {
    view! {
        {odds(page)}
        <h2 class="visually-hidden">{t!("Results")}</h2>
        {accuracy_chart(page, 165.0)}
        {counted(page)}
        {pad(page)}
        {epsilon_chart(page, 150.0)}
        {compare(page)}
        {view_fn(move || page.recorded().map(recorded_note))}
        {meaning(page)}
        {attacks::panel(page)}
        {who_pays::panel(page)}
        {pay_once::panel(page)}
        {formulas(page)}
        {numbers(page)}
    }
    .into_any()
}

fn recorded_note(run: Recorded) -> AnyView {
    let of = match run {
        Recorded::Mnist => t!("Recorded: MNIST, with these settings."),
        Recorded::Drawn => t!("Recorded: digits drawn by the program, with these settings."),
    };
    view! { <p class="recorded" data-testid="recorded">{of}" "{t!("Press Play, and your own run takes its place.")}</p> }.into_any()
}
