//! What a class needs above the panels: what a task leaves free, and what was handed in.

use leptos::prelude::*;

use crate::ui::{
    link::Lock,
    runs::share,
    size::closures::{on_click, text_fn, view_fn},
    state::Page,
};

/// The bar of a task, and the one of a run that was handed in, while there are any.
pub fn bars(page: Page) -> AnyView {
    let task = move || {
        let sentence = page.task.with(|task| task.as_ref().map(Lock::sentence))?;
        Some(view! {
            <section class="class-bar" data-testid="task" aria-label="Task">
                <p id="task-says">{sentence}</p>
                <button type="button" data-testid="task-hand-in" on:click=on_click(move |_| share::hand_in(page))>"Hand in…"</button>
                <button type="button" class="quiet" data-testid="unlock" on:click=on_click(move |_| page.unlock())>"Unlock all"</button>
            </section>
        }.into_any())
    };
    let handed_in = move || {
        let said = page.submission.said.get()?;
        let claim = said.claim();
        let by = (!said.name.is_empty()).then(|| view! { " by "<bdi>{said.name}</bdi> });
        Some(view! {
            <section class="class-bar" data-testid="handed-in" aria-label="Handed in">
                <div>
                    <p><strong>"Handed in"{by}": "</strong><span data-testid="handed-in-says">{claim}</span>". "<span class="claim">"The link says so; anybody can write one."</span></p>
                    <p data-testid="handed-in-epsilon">{text_fn(move || page.verdict_on_epsilon())}</p>
                    <p data-testid="handed-in-accuracy">{text_fn(move || page.verdict_on_accuracy())}</p>
                </div>
                <button type="button" data-testid="train-again" on:click=on_click(move |_| page.train_again())>"Train it again"</button>
                <button type="button" class="quiet close" aria-label="Put away what was handed in" on:click=on_click(move |_| page.put_away())>"×"</button>
            </section>
        }.into_any())
    };
    view! { {view_fn(task)}{view_fn(handed_in)} }.into_any()
}
