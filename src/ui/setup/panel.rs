//! SETUP: what is trained, on what, and how it is kept private.

use leptos::prelude::*;

use super::{
    class_names::class_names,
    control::{control, controls},
    cores::cores,
    digits_line::digits_line,
    layout::{ADVANCED, DENOISER, DIGITS, MODEL, PRIVACY, TRAINING},
    projection::projection,
};
use crate::ui::{
    settings::{Family, Settings},
    size::closures::{bool_fn, bool_memo, on_click, view_fn},
    state::{Page, SHEET_CLOSE},
    text::t,
};

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    let no_noise = bool_memo(move || page.settings.with(|settings| settings.family == Family::None));
    let unprotected = Memo::new(move |_| page.settings.with(Settings::no_guarantee));
    view! {
        <div class="sheet-head"><h2>{t!("Set-up")}</h2>
            <button type="button" id=SHEET_CLOSE data-testid=SHEET_CLOSE class="quiet" on:click=on_click(move |_| page.appearance.close_sheet())>{t!("Close")}</button></div>
        <fieldset>
            <legend>{t!("Data and model")}</legend>
            {control(page, DIGITS)}
            {digits_line(page)}{class_names(page)}
            {control(page, MODEL)}
        </fieldset>
        <fieldset>
            <legend>{t!("Privacy")}</legend>
            {controls(page, PRIVACY)}
            <div class="quiet-when-off" class:off=bool_fn(move || no_noise.get())>
                {controls(page, DENOISER)}
            </div>
            {view_fn(move || unprotected.get().map(|reason| view! { <p class="warning">{reason}</p> }.into_any()))}
            {view_fn(move || unprotected.get().is_none().then(|| projection(page).into_any()))}
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
