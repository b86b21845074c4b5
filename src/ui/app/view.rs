//! The page: header, panels, footer; and its start.

use leptos::{html, prelude::*};

use super::{address::address, class, drops::drops, header::header, help::help_dialog, keys::keys, requests};
use crate::ui::{
    browser, embed, lessons, link, noise_lab, results, runs, setup,
    size::closures::{bool_fn, on_click, text_fn},
    stage::{preset_cards, stations, step, sweep_bar::sweep_bar, transport},
    state::{Page, Panel},
    widgets::messages::messages,
};

/// Builds the page into `root`, whose first content is only what shows before this runs.
pub fn start(root: web_sys::HtmlElement) {
    let query = browser::query();
    let (link, mut problems) = link::read(&query);
    let embedded = browser::is_embedded().then(|| embed::options::read(&query)).map(|(options, wrong)| {
        problems.extend(wrong);
        options
    });
    // In a frame the same key says what readers see to set, and there is no place for what was handed in.
    let (task, handed_in) = if embedded.is_some() {
        (None, None)
    } else {
        let ((task, wrong), (handed_in, malformed)) = (link::lock::read(&query), link::handed_in::read(&query));
        problems.extend(wrong.into_iter().chain(malformed));
        (task, handed_in)
    };
    root.set_inner_html("");
    mount_to(root, move || {
        let page = Page::new(link, &problems);
        page.listen();
        page.task.set(task);
        page.take_submission(handed_in);
        // The training thread is fetched after the first paint.
        let connect = move || {
            page.connect();
            if !browser::is_embedded() {
                page.save_when_hidden();
                page.load_recorded_step();
            }
        };
        request_animation_frame(move || set_timeout(connect, std::time::Duration::ZERO));
        // Shown and not kept: a link's theme is not the visitor's choice.
        browser::show_theme(page.appearance.theme.get_untracked());
        match embedded {
            Some(options) => embed::view::view(page, options).into_any(),
            None => view(page).into_any(),
        }
    })
    .forget();
}

fn view(page: Page) -> impl IntoView {
    let [help, cards] = [NodeRef::<html::Dialog>::new(), NodeRef::new()];
    keys(page, help);
    let dropping = drops(page);
    address(page);
    let shown = page.appearance.panel;
    let tab = move |panel: Panel, name: &'static str| {
        view! {
            <button type="button" aria-pressed=text_fn(move || (shown.get() == panel).to_string()) on:click=on_click(move |_| shown.set(panel))>{name}</button>
        }
    };
    let class = move |panel: Panel, name: &'static str| {
        text_fn(move || format!("panel {name}{}", if shown.get() == panel { " shown" } else { "" }))
    };
    view! {
        <a class="skip" href="#results">"To the results"</a>
        {header(page, help, cards)}
        <section class="top" class:open=bool_fn(move || page.appearance.more.get()) aria-label="Run and messages">{transport::bar(page)}<div class="overlay">{messages(page)}{sweep_bar(page)}</div></section>
        {class::bars(page)}
        {lessons::panel::panel(page)}
        <nav class="tabs" aria-label="Panels">{tab(Panel::Step, "Stage")}{tab(Panel::Results, "Results")}{tab(Panel::Setup, "Set-up")}</nav>
        <main class="panels" class:with-lab=bool_fn(move || page.lab.open.get())>
            {noise_lab::panel::panel(page)}
            <section class="panel stage" data-testid="stage" aria-label="One person, in or out">{stations::stage(page)}</section>
            <section class=class(Panel::Setup, "setup") aria-label="Set-up">{setup::panel::panel(page)}</section>
            <section class=class(Panel::Step, "step") aria-label="One step">{step::panel(page)}</section>
            <section class=class(Panel::Results, "results") id="results" tabindex="-1" aria-label="Results">{results::panel::panel(page)}</section>
            {runs::panel::panel(page)}
        </main>
        <footer><p>"Everything runs in this page: the digits, the training, the accounting. Nothing is sent anywhere."</p>{requests::panel(page)}</footer>
        <p class="visually-hidden" role="status" aria-live="polite">{text_fn(move || page.messages.spoken.get())}</p>
        <div class="drop-here" hidden=bool_fn(move || !dropping.get()) aria-hidden="true"><p>"Drop IDX files: images and labels"</p></div>
        {help_dialog(help)}
        {preset_cards::cards_dialog(page, cards)}
    }
    .into_any()
}
