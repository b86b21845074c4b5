//! The header: presets, theme, lessons, what is shared and taken away.

use leptos::{html, prelude::*};

use super::help::open;
use crate::ui::{
    lessons,
    runs::{menu::export_menu, share},
    settings::{Choice, Theme},
    setup::preset::preset_choice,
    size::closures::{bool_fn, on_click, on_event, text_fn},
    stage::preset_cards,
    state::Page,
};

/// The header.
pub fn header(page: Page, help: NodeRef<html::Dialog>, cards: NodeRef<html::Dialog>) -> impl IntoView {
    let themes = Theme::ALL
        .iter()
        .map(|&theme| view! { <option value=theme.key() selected=bool_fn(move || page.appearance.theme.get() == theme)>{theme.label()}</option> })
        .collect_view();
    view! {
        <header class="bar" class:open=bool_fn(move || page.appearance.more.get())>
            <svg class="logo" width="28" height="28" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
                <path class="wave" d="M2 20c3 0 3-9 6-9s3 13 6 13 3-17 6-17 3 11 5 11 2-4 5-4"></path></svg>
            <h1>"hushgrad"</h1>
            <p class="tagline">"Learn from 60,000 people’s handwriting without giving any one of them away."</p>
            {preset_choice(page)}
            <button type="button" class="quiet cards-button" data-testid="cards" disabled=bool_fn(move || page.is_fixed("preset")) title="Ready-made runs: what they learn, and at what ε" on:click=on_click(move |_| preset_cards::open(page, cards))>"Presets"</button>
            <label class="theme seldom"><span class="visually-hidden">"Theme"</span>
                <select data-testid="theme" prop:value=text_fn(move || page.appearance.theme.get().key()) on:change=on_event(move |event| {
                    if let Some(theme) = Theme::by_key(&event_target_value(&event)) {
                        page.appearance.choose_theme(theme);
                    }
                })>{themes}</select></label>
            {lessons::panel::menu(page)}
            <button type="button" class="quiet more" data-testid="more" aria-expanded=text_fn(move || page.appearance.more.get().to_string()) on:click=on_click(move |_| page.appearance.more.update(|more| *more = !*more))>"More"</button>
            <button type="button" class="quiet seldom" data-testid="noise-lab" aria-pressed=text_fn(move || page.lab.open.get().to_string()) on:click=on_click(move |_| page.lab.open.update(|lab| *lab = !*lab))>"Noise lab"</button>
            {share::menu(page)}
            <button type="button" class="quiet seldom" data-testid="embed" title="This state in a page of yours" aria-haspopup="dialog" on:click=on_click(move |_| share::embed(page))>"Embed"</button>
            {export_menu(page)}
            <button type="button" class="quiet help seldom" aria-label="Help and keys" title="Help and keys (?)" on:click=on_click(move |_| open(help))>"?"</button>
        </header>
    }
    .into_any()
}
