//! Progress of a sweep.

use leptos::prelude::*;

use crate::ui::{
    size::closures::{bool_fn, on_click, text_fn},
    state::{Page, SweepRuns},
    text::t,
};

/// Progress of a sweep, and a button that ends it.
pub fn sweep_bar(page: Page) -> impl IntoView {
    let text = move || {
        page.sweeps.current.with(|sweep| {
            sweep
                .as_ref()
                .filter(|sweep| sweep.at < sweep.values.len())
                .map(|sweep| {
                    t!(
                        "Sweep: run {run} of {all}, {name}.",
                        run = sweep.at + 1,
                        all = sweep.values.len(),
                        name = sweep.name()
                    )
                })
                .unwrap_or_default()
        })
    };
    view! {
        <div class="notice sweep" data-testid="sweep-status" hidden=bool_fn(move || page.sweeps.current.with(Option::is_none))>
            <p role="status">{text_fn(text)}</p>
            <button type="button" class="quiet" on:click=on_click(move |_| SweepRuns(page).end_sweep())>{t!("Stop")}</button>
        </div>
    }
    .into_any()
}
