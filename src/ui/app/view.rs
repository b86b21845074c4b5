//! The page: header, panels, footer; and its start.

use leptos::{html, prelude::*};

use super::{address::address, class, drops::drops, header::header, help::help_dialog, keys::keys, requests};
use crate::ui::{
    browser, embed, lessons,
    link::Opening,
    noise_lab, own_training, results,
    runs::{self, verdict::sweep_verdict},
    setup,
    size::closures::{bool_fn, effect, on_click, text_fn, view_fn},
    stage::{follow::follow, preset_cards, stations, step, sweep_bar::sweep_bar, transport},
    state::{LessonPlayer, Page, Panel, SHEET_OPENER, Threads},
    text::t,
    widgets::messages::messages,
};

/// Builds the page into `root`, replacing the content shown until the program runs.
pub fn start(root: web_sys::HtmlElement) {
    // First of all, as problems with the address are reported in the visitor's language.
    browser::listen_to_language();
    let query = browser::query();
    let mut opening = Opening::read(&query, browser::is_embedded());
    let embedded = browser::is_embedded().then(|| embed::options::read(&query)).map(|(options, wrong)| {
        opening.problems.extend(wrong);
        options
    });
    root.set_inner_html("");
    mount_to(root, move || {
        let page = Page::new(opening, embedded.as_ref().is_none_or(embed::options::Options::shows_lots));
        Threads(page).listen();
        // Fetch the training thread after the first paint.
        let connect = move || {
            Threads(page).connect();
            if !browser::is_embedded() {
                Threads(page).save_when_hidden();
                page.load_recorded_step();
            }
        };
        request_animation_frame(move || set_timeout(connect, std::time::Duration::ZERO));
        // Show it without storing it: a link's theme is not the visitor's choice.
        browser::show_theme(page.appearance.theme.get_untracked());
        // Repaints the canvases.
        browser::when_system_theme_changes(move || page.appearance.theme.notify());
        window_event_listener_untyped("hushgrad-spoken", move |_| {
            browser::keeping_focus(|| LessonPlayer(page).take_language())
        });
        view_fn(move || {
            let _spoken = page.appearance.language.get();
            Some(untrack(|| match &embedded {
                Some(options) => embed::view::view(page, options.clone()).into_any(),
                None => view(page).into_any(),
            }))
        })
    })
    .forget();
}

fn view(page: Page) -> impl IntoView {
    let [help, cards] = [NodeRef::<html::Dialog>::new(), NodeRef::new()];
    keys(page, help);
    let dropping = drops(page);
    address(page);
    effect(move || {
        let present = page.appearance.present.get();
        browser::show_presenting(present);
        // A lesson's step may be about the settings.
        if present && page.lessons.open.with_untracked(Option::is_none) {
            page.appearance.sheet.set(false);
        }
    });
    effect(move || browser::remember_settings(page.appearance.sheet.get()));
    let (shown, sheet) = (page.appearance.panel, page.appearance.sheet);
    let tab = move |panel: Panel, name: &'static str| {
        view! {
            <button type="button" aria-pressed=text_fn(move || (shown.get() == panel).to_string()) on:click=on_click(move |_| page.appearance.show_panel(panel))>{name}</button>
        }
    };
    let class = move |panel: Panel, name: &'static str| {
        text_fn(move || format!("panel {name}{}", if shown.get() == panel { " shown" } else { "" }))
    };
    view! {
        <a class="skip" href="#results">{t!("To the results")}</a>
        {header(page, help, cards)}
        <section class="top" class:open=bool_fn(move || page.appearance.more.get()) aria-label=t!("Run and messages")>{transport::bar(page)}<div class="overlay">{messages(page)}{sweep_bar(page)}</div></section>
        {class::bars(page)}
        {lessons::panel::panel(page)}
        <nav class="tabs" aria-label=t!("Panels")>{tab(Panel::Step, t!("Stage"))}{tab(Panel::Results, t!("Results"))}
            <button type="button" id=SHEET_OPENER aria-controls="set-up" aria-expanded=text_fn(move || sheet.get().to_string()) on:click=on_click(move |_| page.appearance.turn_sheet())>{t!("Settings")}</button></nav>
        <main><div class="panels" class:with-lab=bool_fn(move || page.lab.open.get() || page.own_training.open.get())>
            {noise_lab::panel::panel(page)}{own_training::panel::panel(page)}
            <section class="panel stage" data-testid="stage" aria-label=t!("One person, in or out")>{stations::stage(page)}{sweep_verdict(page)}</section>
            <section class="panel setup" class:shown=bool_fn(move || sheet.get()) id="set-up" data-testid="set-up" aria-label=t!("Settings")>{setup::panel::panel(page)}</section>
            <section class=class(Panel::Step, "step") aria-label=t!("One step")>{step::panel(page)}{follow(page)}</section>
            <section class=class(Panel::Results, "results") id="results" tabindex="-1" aria-label=t!("Results")>{results::panel::panel(page)}</section>
            </div>{runs::panel::panel(page)}
        </main>
        <footer><p>{t!("Everything runs in this page: the digits, the training, the accounting. Nothing is sent anywhere.")}" "
            <button type="button" class="quiet" data-testid="own-training" title=t!("ε of a training with Opacus, TensorFlow Privacy, JAX Privacy or your own code") on:click=on_click(move |_| {
                page.lab.open.set(false);
                page.own_training.open.set(true);
                window().scroll_to_with_x_and_y(0.0, 0.0);
            })>{t!("Trained elsewhere? Find your ε")}</button></p>{requests::panel(page)}</footer>
        <p class="visually-hidden" role="status" aria-live="polite">{text_fn(move || page.messages.spoken.get())}</p>
        <div class="drop-here" hidden=bool_fn(move || !dropping.get()) aria-hidden="true"><p>{t!("Drop images and labels: IDX, CIFAR, NumPy, CSV, or a ZIP of pictures")}</p></div>
        {help_dialog(help)}
        {preset_cards::cards_dialog(page, cards)}
    }
    .into_any()
}
