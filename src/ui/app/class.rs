//! Bars above the panels for a class: what a task leaves free, and a submitted run.

use leptos::prelude::*;

use crate::ui::{
    browser,
    runs::share,
    settings::keys,
    setup::layout::NOISE,
    size::closures::{effect, on_click, text_fn, view_fn},
    state::{HandedInRun, Page, Panel, TaskLock},
    text::t,
};

/// Milliseconds until the panel of a field is shown.
const SHOWN_MS: u64 = 60;

/// Shows and focuses the field with this id, in whichever panel it is.
fn go_to(page: Page, id: String) {
    if is_on_stage(&id) {
        page.appearance.show_panel(Panel::Step)
    } else {
        page.appearance.open_sheet()
    }
    if id == "preset" {
        page.appearance.more.set(true);
    }
    set_timeout(move || browser::go_to(&id), std::time::Duration::from_millis(SHOWN_MS));
}

/// True if the field with this id is on the stage.
fn is_on_stage(id: &str) -> bool {
    NOISE.iter().any(|control| control.id() == id)
}

/// Returns the bars of the open task and of the submitted run, if any.
pub fn bars(page: Page) -> AnyView {
    // What a task leaves free is in view.
    effect(move || {
        let in_settings = |(_, id): (&str, String)| id != keys::PRESET && !is_on_stage(&id);
        if page.task.with(|task| task.as_ref().is_some_and(|task| task.free().any(in_settings))) {
            page.appearance.show_settings();
        }
    });
    let task = move || {
        let free: Vec<_> = page.task.with(|task| task.as_ref().map(|task| task.free().collect()))?;
        let name = |(at, (label, id)): (usize, (&'static str, String))| {
            let before = if at == 0 { " " } else { ", " };
            view! { {before}<button type="button" class="word" on:click=on_click(move |_| go_to(page, id.clone()))>{label}</button> }
        };
        let nothing = free.is_empty();
        let names = free.into_iter().enumerate().map(name).collect_view();
        Some(view! {
            <section class="class-bar" data-testid="task" aria-label=t!("Task")>
                <p>{if nothing { t!("This task fixes every setting.") } else { t!("This task lets you change:") }}{names}{(!nothing).then(|| [". ", t!("All else is fixed.")].concat())}</p>
                <button type="button" data-testid="task-hand-in" on:click=on_click(move |_| share::hand_in(page))>{t!("Hand in…")}</button>
                <button type="button" class="quiet" data-testid="unlock" on:click=on_click(move |_| TaskLock(page).unlock())>{t!("Unlock all")}</button>
            </section>
        }.into_any())
    };
    let handed_in = move || {
        let said = page.submission.said.get()?;
        let claim = said.claim();
        // Not the text “by” before an accounting method: other languages translate it differently.
        let what = if said.name.is_empty() { t!("Handed in") } else { t!("Handed in by") };
        let name = (!said.name.is_empty()).then(|| view! { " "<bdi>{said.name}</bdi> });
        Some(view! {
            <section class="class-bar" data-testid="handed-in" aria-label=t!("Handed in")>
                <div>
                    <p><strong>{what}{name}": "</strong><span data-testid="handed-in-says">{claim}</span>". "<span class="claim">{t!("Claimed by the link; anyone can write one.")}</span></p>
                    <p data-testid="handed-in-epsilon">{text_fn(move || HandedInRun(page).verdict_on_epsilon())}</p>
                    <p data-testid="handed-in-accuracy">{text_fn(move || HandedInRun(page).verdict_on_accuracy())}</p>
                </div>
                <button type="button" data-testid="train-again" on:click=on_click(move |_| HandedInRun(page).train_again())>{t!("Train it again")}</button>
                <button type="button" class="quiet close" aria-label=t!("Close the submission") on:click=on_click(move |_| HandedInRun(page).put_away())>"×"</button>
            </section>
        }.into_any())
    };
    view! { {view_fn(task)}{view_fn(handed_in)} }.into_any()
}
