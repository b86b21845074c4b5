//! The settings: a drawer, or on a phone a sheet.

use leptos::prelude::*;

use super::{
    class_names::class_names,
    control::{control, controls},
    cores::cores,
    digits_line::digits_line,
    layout::{ADVANCED, DENOISER, DIGITS, MODEL, PRIVACY, TRAINING},
    projection::projection,
    read_card::read_card,
};
use crate::ui::{
    settings::{Family, Settings},
    size::closures::{bool_fn, bool_memo, on_click, text_fn, text_memo, view_fn},
    state::{Page, SHEET_CLOSE},
    text::t,
};

pub fn panel(page: Page) -> impl IntoView {
    let no_noise = bool_memo(move || page.settings.with(|settings| settings.family == Family::None));
    let unprotected = text_memo(move || page.settings.with(Settings::no_guarantee).unwrap_or_default());
    view! {
        <div class="sheet-head"><h2>{t!("Settings")}</h2>
            <button type="button" id=SHEET_CLOSE data-testid=SHEET_CLOSE class="quiet" on:click=on_click(move |_| page.appearance.close_sheet())>{t!("Close")}</button></div>
        <fieldset>
            <legend>{t!("Data and model")}</legend>
            {control(page, DIGITS)}
            {digits_line(page)}{read_card(page)}{class_names(page)}
            {control(page, MODEL)}
        </fieldset>
        <fieldset>
            <legend>{t!("Privacy")}</legend>
            {controls(page, PRIVACY)}
            <div class="quiet-when-off" class:off=bool_fn(move || no_noise.get())>
                {controls(page, DENOISER)}
            </div>
            <p class="warning" hidden=bool_fn(move || unprotected.with(String::is_empty))>{text_fn(move || unprotected.get())}</p>
            {view_fn(move || unprotected.with(String::is_empty).then(|| projection(page).into_any()))}
        </fieldset>
        <fieldset>
            <legend>{t!("Training")}</legend>
            {controls(page, TRAINING)}
        </fieldset>
        <details class="advanced">
            <summary>{t!("Advanced")}</summary>
            {controls(page, ADVANCED)}
            {cores(page)}
        </details>
    }
    .into_any()
}
