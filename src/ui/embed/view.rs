//! The embedded page: a run, its two curves and a few controls.

use leptos::prelude::*;

use super::{
    options::{Options, View},
    talk::talk,
};
use crate::ui::{
    lessons, noise_lab,
    results::{
        self,
        curves::{accuracy_chart, epsilon_chart},
    },
    setup::{
        control::controls,
        layout::{Control, NOISE},
    },
    size::closures::text_fn,
    stage::{follow::follow, stations, transport},
    state::Page,
    text::t,
    widgets::messages::messages,
};

/// Builds the embedded page.
pub fn view(page: Page, options: Options) -> impl IntoView {
    talk(page);
    let whole = move || format!("./?{}", page.link().write());
    page.lab.open.set(options.view == View::Lab);
    if options.view == View::Attack {
        page.attacks.open.set(true);
    }
    // The stage has some controls itself; show none twice.
    let on_stage = |control: &Control| options.view == View::Stage && NOISE.contains(control);
    let with: Vec<Control> = options.controls.iter().copied().filter(|control| !on_stage(control)).collect();
    let shown = match options.view {
        View::Stage => {
            view! { <section class="embed-view stage" aria-label=t!("One person, in or out")>{stations::stage(page)}{follow(page)}</section> }
                .into_any()
        }
        View::Results => {
            view! { <section class="embed-view" aria-label=t!("Results")>{results::panel::panel(page)}</section> }
                .into_any()
        }
        View::Attack => {
            view! { <section class="embed-view" aria-label=t!("Attack your own run")>{results::attacks::panel(page)}</section> }
                .into_any()
        }
        View::Lab => noise_lab::panel::panel(page).into_any(),
        View::Lesson => view! { {lessons::panel::panel(page)}{charts(page)} }.into_any(),
        View::Run => charts(page),
    };
    view! {
        <main class="embed" data-hide=options.hide>
            <div class="top">{transport::bar(page)}<div class="overlay">{messages(page)}</div></div>
            {shown}
            <div class="embed-controls">{controls(page, &with)}</div>
            <p class="embed-foot"><span>{t!("Trains on your machine; the page around it receives the results.")}</span>
                <a href=text_fn(whole) target="_blank" rel="noopener">{t!("Open the whole playground")}</a></p>
            <p class="visually-hidden" role="status" aria-live="polite">{text_fn(move || page.messages.spoken.get())}</p>
        </main>
    }
    .into_any()
}

fn charts(page: Page) -> AnyView {
    view! {
        <div class="embed-charts">
            <div class="embed-accuracy">{accuracy_chart(page, 140.0)}</div>
            <div class="embed-epsilon">{epsilon_chart(page, 140.0)}</div>
        </div>
    }
    .into_any()
}
