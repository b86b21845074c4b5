//! Presets as cards: what they learn, their accuracy and ε.

use std::sync::Arc;

use leptos::{html, prelude::*};

use super::colours::paint;
use crate::{
    plot::format,
    ui::{
        browser,
        settings::{cards::Card, presets::Preset},
        size::closures::{effect, on_click, text_memo, view_fn},
        state::{Page, TaskLock},
        text::t,
    },
};

/// A sequence of presets: at the end of each, those after it are offered.
const NEXT: [&str; 3] = ["quick-linear", "quick-cnn", "fast-3"];

pub fn open(page: Page, dialog: NodeRef<html::Dialog>) {
    page.cards.load();
    if let Some(dialog) = dialog.get_untracked()
        && !dialog.open()
    {
        // Fails only if the dialog has left the page.
        drop(dialog.show_modal());
    }
}

/// The dialog with a card for each recorded run.
pub fn cards_dialog(page: Page, dialog: NodeRef<html::Dialog>) -> AnyView {
    let close = move || {
        if let Some(dialog) = dialog.get_untracked() {
            dialog.close();
        }
    };
    let cards = move || {
        Some(match page.cards.all.get() {
            None => view! { <p>{t!("Fetching the cards…")}</p> }.into_any(),
            Some(all) if all.is_empty() => {
                view! { <p>{t!("The cards cannot be fetched now. The list of presets has the same runs.")}</p> }
                    .into_any()
            }
            Some(all) => {
                let one = |card: &Card| {
                    let preset = card.preset;
                    let choose = move |_| {
                        close();
                        page.choose_preset(preset);
                    };
                    view! {
                        <li><button type="button" class="card" data-testid=format!("card-{}", preset.key) on:click=on_click(choose)>
                            {picture(page, Arc::new(card.clone()))}
                            <strong>{preset.label.get()}</strong><span class="card-numbers">{numbers(card)}</span><span class="card-note">{preset.note.get()}</span>
                        </button></li>
                    }
                };
                view! { <ul class="cards">{all.iter().map(one).collect_view()}</ul> }.into_any()
            }
        })
    };
    view! {
        <dialog class="cards-dialog" node_ref=dialog aria-labelledby="cards-title">
            <h2 id="cards-title">{t!("Ready-made runs")}</h2>
            <p class="lead">{t!("Each was trained once on MNIST. The picture is what the model has learned.")}</p>
            {view_fn(cards)}
            <button type="button" class="primary" data-testid="cards-close" on:click=on_click(move |_| close())>{t!("Close")}</button>
        </dialog>
    }
    .into_any()
}

/// Accuracy, ε, steps and duration.
fn numbers(card: &Card) -> String {
    let (accuracy, steps) = (format::percent(card.accuracy), format::integer(card.steps));
    let says = match card.epsilon.map(format::epsilon) {
        Some(epsilon) => {
            t!("{accuracy} of test digits, ε ≤ {epsilon}, {n} steps", accuracy = accuracy, epsilon = epsilon, n = steps)
        }
        None => t!("{accuracy} of test digits, no guarantee, {n} steps", accuracy = accuracy, n = steps),
    };
    match card.duration() {
        Some(duration) => format!("{says}, {duration}"),
        None => says,
    }
}

fn picture(page: Page, card: Arc<Card>) -> AnyView {
    let canvas = NodeRef::<html::Canvas>::new();
    effect(move || {
        let theme = page.appearance.theme.get();
        if let Some(canvas) = canvas.get() {
            paint(&canvas, card.layout(), &card.picture, card.full(), browser::is_dark(theme));
        }
    });
    view! { <canvas class="one-picture" node_ref=canvas width="28" height="28" aria-hidden="true"></canvas> }.into_any()
}

/// At the end of a preset in `NEXT`: buttons for those after it.
pub fn next(page: Page) -> AnyView {
    let done = text_memo(move || {
        let complete = page.run.report.with(|report| report.as_ref().is_some_and(|report| report.complete));
        complete.then(|| page.settings.with(Preset::of)).flatten().map_or("", |preset| preset.key)
    });
    effect(move || {
        if done.with(|key| NEXT.contains(&key.as_str())) {
            page.cards.load();
        }
    });
    let offer = move || {
        let at =
            NEXT.iter().position(|key| done.with(|done| done == key)).filter(|_| !TaskLock(page).is_fixed("preset"))?;
        let all = page.cards.all.get()?;
        let others = NEXT.iter().skip(at + 1).filter_map(|key| all.iter().find(|card| card.preset.key == *key));
        let button = |card: &Card| {
            let preset = card.preset;
            let go = move |_| {
                page.choose_preset(preset);
                page.play();
            };
            view! { <button type="button" data-testid=format!("next-{}", preset.key) on:click=on_click(go)><strong>{preset.label.get()}</strong>": "{numbers(card)}</button> }
        };
        let buttons = others.map(button).collect_view();
        Some(
            view! { <div class="next-runs" data-testid="next-runs"><span>{t!("Next:")}</span>{buttons}</div> }
                .into_any(),
        )
    };
    view_fn(offer).into_any()
}
