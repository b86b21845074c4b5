//! Presets as cards: what they learn, their accuracy and ε.

use std::sync::Arc;

use leptos::{html, prelude::*};

use crate::ui::widgets::colours::paint;
use crate::{
    plot::format,
    ui::{
        browser,
        settings::{
            Number,
            cards::Card,
            presets::{self, Preset},
        },
        size::closures::{bool_fn, bool_memo, effect, on_click, text_fn, view_fn},
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
    let current = Memo::new(move |_| page.settings.with(Preset::of));
    let card = move |preset: Preset| {
        let choose = move |_| {
            close();
            page.choose_preset(preset);
        };
        let recorded = Memo::new(move |_| {
            page.cards.all.with(|all| all.as_ref()?.iter().find(|card| card.preset == preset).cloned().map(Arc::new))
        });
        let picture = move || recorded.get().map(|card| picture(page, card));
        let numbers = move || recorded.with(|card| card.as_deref().map_or_else(String::new, numbers));
        view! {
            <li><button type="button" class="card" data-testid=format!("card-{}", preset.key) aria-pressed=text_fn(move || (current.get() == Some(preset)).to_string()) on:click=on_click(choose)>
                {view_fn(picture)}
                <strong>{preset.label.get()}</strong><span class="card-numbers">{text_fn(numbers)}</span><span class="card-note">{preset.note.get()}</span>
            </button></li>
        }
    };
    view! {
        <dialog class="cards-dialog" node_ref=dialog aria-labelledby="cards-title">
            <h2 id="cards-title">{t!("Ready-made runs")}</h2>
            <p class="lead">{t!("Each sets everything but the digits. Those with a picture of what they learned were trained once on MNIST.")}</p>
            {view_fn(move || page.cards.asked.get().then(|| view! { <ul class="cards">{presets::all().map(card).collect_view()}</ul> }.into_any()))}
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

/// After a run: a button that attacks it, and after a preset in `NEXT` one for each that follows.
pub fn next(page: Page) -> AnyView {
    let done = bool_memo(move || page.run.is_complete());
    let preset = Memo::new(move |_| page.settings.with(Preset::of).map_or("", |preset| preset.key));
    effect(move || {
        if done.get() && NEXT.contains(&preset.get()) {
            page.cards.load();
        }
    });
    let others = move || {
        let at = NEXT.iter().position(|key| *key == preset.get()).filter(|_| !TaskLock(page).is_fixed("preset"))?;
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
        Some(others.map(button).collect_view().into_any())
    };
    // An attack needs canaries, which a task may fix, and an ε to test.
    let attacks = bool_memo(move || {
        page.guarantee.epsilon().is_some()
            && page.settings.with(|settings| settings.canaries == 0 && settings.applies(Number::Canaries))
            && !TaskLock(page).is_fixed(Number::Canaries.spec().key)
    });
    view_fn(move || {
        done.get().then(|| {
            view! {
                <div class="next-runs" data-testid="next-runs"><span>{t!("Next:")}</span>
                    <button type="button" data-testid="attack-now" hidden=bool_fn(move || !attacks.get()) on:click=on_click(move |_| page.attack_now())><strong>{t!("Attack it")}</strong>": "{t!("can anybody tell who was in?")}</button>
                    {view_fn(others)}</div>
            }
            .into_any()
        })
    })
    .into_any()
}
