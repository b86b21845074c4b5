//! A labelled number, with its range, slider and error.

use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::hint::hint;
use crate::{
    plot::format,
    ui::{
        browser,
        settings::Number,
        size::closures::{bool_fn, bool_memo, effect, on_click, on_event, text_fn, text_memo},
        state::{Origin, Page, SweepRuns, TaskLock},
        text::t,
    },
};

/// A number's name, as a button that starts a sweep: four runs, or four curves. A frame has none.
fn name(page: Page, number: Number, id: String, off: Memo<bool>) -> AnyView {
    let label = number.spec().label.get();
    if !number.can_be_swept() || browser::is_embedded() {
        return view! { <label for=id>{label}</label> }.into_any();
    }
    let (what, sweep) = if number == Number::Delta {
        (t!("Its effect, in four curves of ε"), t!("Sweep {label}: four curves of ε", label = label))
    } else {
        (t!("Its effect, in four runs"), t!("Sweep {label}: four runs", label = label))
    };
    view! {
        <button type="button" class="sweep-button" data-testid="sweep" data-mark=t!("sweep") title=what disabled=bool_fn(move || off.get())
            aria-label=sweep on:click=on_click(move |_| SweepRuns(page).begin_sweep(number))>{label}" "</button>
    }
    .into_any()
}

/// A labelled number, with a slider if it has one. It is validated only when committed.
pub fn number(page: Page, number: Number) -> AnyView {
    let spec = number.spec();
    let label = spec.label.get();
    let (button, sentence) = hint(spec.key, label, spec.hint.get());
    let id = format!("number-{}", spec.key);
    let error_id = format!("error-{}", spec.key);
    let set = Memo::new(move |_| match number {
        Number::Scale if page.knob.is_dragged() => Some(page.knob.scale()),
        _ => page.settings.with(|settings| settings.number(number)),
    });
    // A number that does not apply may still be shown, disabled, for tools that look for it.
    let off = bool_memo(move || {
        TaskLock(page).is_fixed(spec.key) || page.settings.with(|settings| !settings.applies(number))
    });
    let shown = move |value: Option<f64>| value.map(format::field).unwrap_or_default();
    let text = RwSignal::new(shown(set.get_untracked()));
    effect(move || text.set(shown(set.get())));
    let problem = text_memo(move || page.messages.of(Origin::Field(number)).unwrap_or_default());
    let commit = move || page.commit(number, &format::neutral(&text.get_untracked()));
    let nudge = move |event: KeyboardEvent, up: bool| {
        event.prevent_default();
        if let Ok(Some(value)) = number.parse(&format::neutral(&text.get_untracked()))
            && let Some(nudged) = spec.nudged(value, up)
        {
            text.set(format::field(nudged));
            commit();
        }
    };
    let slider = spec.slider.map(|slider| {
        let share = move || {
            let value = number.parse(&format::neutral(&text.get())).ok().flatten().or_else(|| set.get()).unwrap_or_default();
            format::fixed(slider.share(value) * 1000.0, 0)
        };
        let value_of = move |event: &web_sys::Event| {
            let share = event_target::<web_sys::HtmlInputElement>(event).value_as_number();
            format::field(slider.value(share / 1000.0))
        };
        // While an optional field is empty, its slider is hidden.
        let idle = move || spec.optional && text.with(|text| text.trim().is_empty());
        view! {
            <input type="range" hidden=bool_fn(idle) disabled=bool_fn(move || off.get()) min="0" max="1000" step="any" class="slider" aria-label=t!("{label}, slider", label = label)
                aria-valuetext=text_fn(move || text.get()) prop:value=text_fn(share)
                on:input=on_event(move |event| {
                    let value = value_of(&event);
                    if let (Number::Scale, Ok(Some(scale))) = (number, number.parse(&format::neutral(&value))) {
                        page.knob.drag(scale);
                    }
                    text.set(value);
                })
                on:change=on_event(move |event| {
                    // A lesson that is about the knob is of its own settings.
                    if number != Number::Scale || !page.lessons.is_about_knob() {
                        text.set(value_of(&event));
                        commit();
                    }
                }) />
            <span class="ends" aria-hidden="true" hidden=bool_fn(idle)><span>{slider.low_end.get()}</span><span>{slider.high_end.get()}</span></span>
        }
    });
    view! {
        <div class="control number" class:wrong=bool_fn(move || !problem.with(String::is_empty))>
            <span class="label">{name(page, number, id.clone(), off)}{button}</span>
            <input type="text" inputmode="decimal" autocomplete="off" spellcheck="false" id=id data-testid=spec.hook aria-label=label
                placeholder=if spec.optional { t!("not set") } else { "" } disabled=bool_fn(move || off.get())
                prop:value=text_fn(move || text.get())
                aria-invalid=text_fn(move || (!problem.with(String::is_empty)).to_string())
                aria-describedby=error_id.clone()
                on:input=on_event(move |event| text.set(event_target_value(&event)))
                on:change=on_event(move |_| commit())
                on:keydown=move |event: KeyboardEvent| match event.key().as_str() {
                    "ArrowUp" => nudge(event, true),
                    "ArrowDown" => nudge(event, false),
                    "Enter" => commit(),
                    "Escape" => {
                        text.set(shown(set.get_untracked()));
                        page.messages.clear(Some(number));
                    }
                    _ => {}
                } />
            {slider}
            <p class="field-error" id=error_id>{text_fn(move || problem.get())}</p>
            {sentence}
        </div>
    }
    .into_any()
}
