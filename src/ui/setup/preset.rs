//! The list of presets.

use leptos::prelude::*;

use crate::ui::{
    settings::presets::{self, Preset},
    size::closures::{bool_fn, on_event, text_fn, text_memo},
    state::{Page, TaskLock},
    text::t,
    widgets::hint::hint,
};

pub fn preset_choice(page: Page) -> impl IntoView {
    let preset = text_memo(move || page.settings.with(Preset::of).map_or("", |preset| preset.key));
    let custom = view! { <option value="" disabled selected=bool_fn(move || preset.with(String::is_empty))>{t!("Custom")}</option> };
    let presets = presets::all()
        .map(|each| view! { <option value=each.key selected=bool_fn(move || preset.with(|preset| preset == each.key))>{each.label.get()}</option> })
        .collect_view();
    let (button, sentence) = hint(
        "preset",
        t!("Preset"),
        t!("Ready-made runs: each sets everything but the digits and says what to look for."),
    );
    view! {
        <div class="preset"><label class="small-label visually-hidden" for="preset">{t!("Preset")}</label>{button}
            <select id="preset" data-testid="preset" aria-label=t!("Preset") disabled=bool_fn(move || TaskLock(page).is_fixed("preset")) prop:value=text_fn(move || preset.get()) on:change=on_event(move |event| {
                if let Some(preset) = Preset::by_key(&event_target_value(&event)) {
                    page.choose_preset(preset);
                }
            })>{custom}{presets}</select>{sentence}</div>
    }
    .into_any()
}
