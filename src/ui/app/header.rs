//! The header: presets, theme, lessons, sharing and export.

use leptos::{html, prelude::*};

use super::help::open;
use crate::ui::{
    browser, lessons,
    runs::{menu::export_menu, share},
    settings::{Choice, Theme, of_data, presets::Preset},
    size::closures::{bool_fn, on_click, on_event, text_fn},
    stage::preset_cards,
    state::{Page, SETTINGS, TaskLock},
    text::t,
};

pub fn header(page: Page, help: NodeRef<html::Dialog>, cards: NodeRef<html::Dialog>) -> impl IntoView {
    let themes = Theme::ALL
        .iter()
        .map(|&theme| view! { <option value=theme.key() selected=bool_fn(move || page.appearance.theme.get() == theme)>{theme.label()}</option> })
        .collect_view();
    let languages = browser::languages()
        .into_iter()
        .map(|language| {
            let (chosen, name) = (browser::language() == language, browser::language_name(&language));
            view! { <option value=language selected=chosen>{name}</option> }
        })
        .collect_view();
    let tagline = move || {
        let loaded = page.digits.loaded.with(|loaded| loaded.as_ref().map(|loaded| (loaded.source, loaded.train)));
        page.settings.with(|settings| of_data::tagline(loaded, settings))
    };
    view! {
        <header><div class="bar" class:open=bool_fn(move || page.appearance.more.get())>
            <svg class="logo" width="28" height="28" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
                <path class="wave" d="M2 20c3 0 3-9 6-9s3 13 6 13 3-17 6-17 3 11 5 11 2-4 5-4"></path></svg>
            <h1>"hushgrad"</h1>
            <button type="button" class="quiet wide" id="preset" data-testid="preset" aria-haspopup="dialog" data-value=text_fn(move || page.settings.with(Preset::of).map_or("", |preset| preset.key).to_owned()) disabled=bool_fn(move || TaskLock(page).is_fixed("preset")) title=t!("Ready-made runs: what they learn, and at what ε") on:click=on_click(move |_| preset_cards::open(page, cards))>{t!("Presets")}</button>
            <button type="button" class="quiet settings" id=SETTINGS data-testid=SETTINGS aria-controls="set-up" aria-expanded=text_fn(move || page.appearance.sheet.get().to_string()) on:click=on_click(move |_| page.appearance.turn_sheet())>{t!("Settings")}</button>
            {lessons::panel::menu(page)}
            <button type="button" class="quiet wide" data-testid="noise-lab" aria-pressed=text_fn(move || page.lab.open.get().to_string()) on:click=on_click(move |_| {
                page.own_training.open.set(false);
                page.lab.open.update(|lab| *lab = !*lab);
            })>{t!("Noise lab")}</button>
            {share::menu(page)}
            <button type="button" class="quiet" data-testid="more" aria-expanded=text_fn(move || page.appearance.more.get().to_string()) on:click=on_click(move |_| page.appearance.more.update(|more| *more = !*more))>{t!("More")}</button>
            <label class="theme seldom"><span class="visually-hidden">{t!("Theme")}</span>
                <select data-testid="theme" prop:value=text_fn(move || page.appearance.theme.get().key()) on:change=on_event(move |event| {
                    if let Some(theme) = Theme::by_key(&event_target_value(&event)) {
                        page.appearance.choose_theme(theme);
                    }
                })>{themes}</select></label>
            <label class="language seldom"><span class="visually-hidden">{t!("Language")}</span>
                <select data-testid="language" on:change=on_event(move |event| browser::choose_language(&event_target_value(&event)))>{languages}</select></label>
            <button type="button" class="quiet seldom" data-testid="embed" title=t!("Put this state on your own page") aria-haspopup="dialog" on:click=on_click(move |_| share::embed(page))>{t!("Embed")}</button>
            {export_menu(page)}
            <button type="button" class="quiet seldom present" data-testid="present" title=t!("For a projector: large, without the settings; Esc exits") aria-pressed=text_fn(move || page.appearance.present.get().to_string()) on:click=on_click(move |_| page.appearance.present.update(|present| *present = !*present))>{t!("Present")}</button>
            <button type="button" class="quiet help seldom" aria-label=t!("Help and keys") title=t!("Help and keys (?)") on:click=on_click(move |_| open(help))>"?"</button>
        </div><p class="tagline">{text_fn(tagline)}</p></header>
    }
    .into_any()
}
