//! The search for the noise of the phases, on synthetic digits.

use leptos::prelude::*;

use crate::{
    plot::format,
    ui::{
        size::closures::{bool_fn, bool_memo, on_click, text_fn, view_fn},
        state::{NoiseSearch, Page, annealing::can_anneal},
        text::t,
    },
    worker::annealing::PROPOSALS,
};

/// The search's buttons and progress.
pub fn annealing(page: Page) -> AnyView {
    let search = page.annealing;
    let there = bool_memo(move || page.settings.with(can_anneal));
    let begin = move || if search.searches.get() { t!("Stop") } else { t!("Anneal on drawn digits") };
    let press = move |_| if search.searches.get_untracked() { search.stop() } else { NoiseSearch(page).anneal() };
    let standing = move || {
        let Some(cooled) = NoiseSearch(page).cooled() else {
            return match search.searches.get() {
                true => t!("Drawing digits, then training with constant noise.").to_owned(),
                false => t!(
                    "Simulated annealing tries {n} schedules at this ε on digits that the program draws. They are public, so it costs no privacy.",
                    n = PROPOSALS
                ),
            };
        };
        let loss = |loss: f64| format::fixed(loss, 4);
        let now = t!(
            "Proposal {k} of {n}, temperature {temperature}: loss {loss}, lowest {least}, {first} with constant noise.",
            k = cooled.proposal,
            n = PROPOSALS,
            temperature = format::fixed(cooled.temperature, 5),
            loss = loss(cooled.loss),
            least = loss(cooled.least),
            first = loss(cooled.first)
        );
        match search.searches.get() {
            true => now,
            false => {
                format!("{now} {}", t!("The lowest loss of many tries is partly luck: train it and compare."))
            }
        }
    };
    view_fn(move || {
        there.get().then(|| {
            view! {
                <div class="annealing" data-testid="annealing">
                    <div class="once-buttons">
                        <button type="button" data-testid="anneal" disabled=bool_fn(move || page.digits.loaded.with(|digits| !digits.as_ref().is_some_and(|digits| digits.complete))) on:click=on_click(press)>{text_fn(begin)}</button>
                        <button type="button" data-testid="take-annealed" hidden=bool_fn(move || NoiseSearch(page).annealed().is_none()) on:click=on_click(move |_| NoiseSearch(page).take_annealed())>{t!("Use the best phases")}</button>
                    </div>
                    <p class="small-label" data-testid="cooled">{text_fn(standing)}</p>
                </div>
            }
            .into_any()
        })
    })
    .into_any()
}
