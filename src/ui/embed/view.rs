//! The embedded page: a run, its two curves and a few controls.

use leptos::prelude::*;

use super::{options::Options, talk::talk};
use crate::ui::{
    results::curves::{accuracy_chart, epsilon_chart},
    setup::control::controls,
    size::closures::text_fn,
    stage::transport,
    state::Page,
    widgets::messages::messages,
};

/// The whole page.
pub fn view(page: Page, options: Options) -> impl IntoView {
    talk(page);
    let whole = move || format!("./?{}", page.link().write());
    view! {
        <main class="embed" data-hide=options.hide>
            <div class="top">{transport::bar(page)}<div class="overlay">{messages(page)}</div></div>
            <div class="embed-charts">
                <div class="embed-accuracy">{accuracy_chart(page, 140.0)}</div>
                <div class="embed-epsilon">{epsilon_chart(page, 140.0)}</div>
            </div>
            <div class="embed-controls">{controls(page, &options.controls)}</div>
            <p class="embed-foot"><span>"Trains in this page; nothing leaves your machine."</span>
                <a href=text_fn(whole) target="_blank" rel="noopener">"Open the whole playground"</a></p>
            <p class="visually-hidden" role="status" aria-live="polite">{text_fn(move || page.messages.spoken.get())}</p>
        </main>
    }
    .into_any()
}
