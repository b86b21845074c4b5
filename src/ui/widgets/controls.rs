//! The controls of the set-up: labelled choices and numbers, each with its sentence, its range and its error.

use leptos::prelude::*;
use web_sys::{HtmlSelectElement, KeyboardEvent};

use crate::{
    plot::format,
    ui::{
        embed,
        settings::{Choice, Number, Settings},
        size::closures::{fact, follow, on_click, on_event, whether, wording},
        state::Page,
    },
};

/// ⓘ and the sentence that it shows.
pub fn hint(id: &'static str, label: &'static str, text: &'static str) -> (AnyView, AnyView) {
    let open = RwSignal::new(false);
    let button = view! {
        <button type="button" class="hint" aria-label=format!("About: {label}") aria-controls=format!("{id}-hint")
            aria-expanded=wording(move || open.get().to_string()) on:click=on_click(move |_| open.update(|open| *open = !*open))>"i"</button>
    };
    let sentence =
        view! { <p class="hint-text" id=format!("{id}-hint") hidden=whether(move || !open.get())>{text}</p> };
    (button.into_any(), sentence.into_any())
}

/// A field under its label, and ⓘ with its sentence. `class` is the label's; `name` is what ⓘ calls the field.
pub fn labelled(
    id: &'static str,
    class: String,
    label: AnyView,
    [name, text]: [&'static str; 2],
    field: AnyView,
) -> AnyView {
    let (button, sentence) = hint(id, name, text);
    view! {
        <div class="control">
            <span class=class><label for=id>{label}</label>{button}</span>
            {field}{sentence}
        </div>
    }
    .into_any()
}

/// A labelled `<select>`.
pub fn choice<C: Choice + Send + Sync>(
    page: Page,
    testid: &'static str,
    label: &'static str,
    text: &'static str,
    get: fn(&Settings) -> C,
    choose: fn(Page, C),
) -> AnyView {
    let option = |place: usize| C::ALL.get(place).map(|option| (option.key(), option.label()));
    let chosen = Box::new(move |key: String| {
        if let Some(choice) = C::by_key(&key) {
            choose(page, choice);
        }
    });
    select(page, [testid, label, text], option, Box::new(move |settings| get(settings).key()), chosen)
}

/// What all choices share: one function for all of them keeps the page small.
fn select(
    page: Page,
    [testid, label, text]: [&'static str; 3],
    option: fn(usize) -> Option<(&'static str, String)>,
    get: Box<dyn Fn(&Settings) -> &'static str + Send + Sync>,
    chosen: Box<dyn Fn(String)>,
) -> AnyView {
    let current = Memo::new(move |_| page.settings.with(&get));
    let list = (0..)
        .map_while(option)
        .map(|(key, label)| view! { <option value=key selected=whether(move || current.get() == key)>{label}</option> })
        .collect_view();
    let choose = move |event: web_sys::Event| {
        chosen(event_target_value(&event));
        // What was refused is not shown as if it were chosen.
        event_target::<HtmlSelectElement>(&event).set_value(current.get_untracked());
    };
    let field = view! { <select id=testid data-testid=testid prop:value=wording(move || current.get()) on:change=on_event(choose)>{list}</select> };
    labelled(testid, "label".to_owned(), label.into_any(), [label, text], field.into_any())
}

/// A number's name. Pressed, it makes four runs, or curves, that show what the number does; a frame has no place for those.
fn name(page: Page, number: Number, id: String, off: Memo<bool>) -> AnyView {
    let label = number.spec().label;
    if !number.can_be_swept() || embed::is_embedded() {
        return view! { <label for=id>{label}</label> }.into_any();
    }
    let what = if number == Number::Delta { "four curves of ε" } else { "four runs" };
    view! {
        <button type="button" class="sweep-button" data-testid="sweep" title=format!("What it does, in {what}") disabled=whether(move || off.get())
            aria-label=format!("Sweep {label}: {what}") on:click=on_click(move |_| page.begin_sweep(number))>{label}</button>
    }
    .into_any()
}

/// A labelled number, with a slider where its field has one. It complains only when it is committed.
pub fn number(page: Page, number: Number, testid: Option<&'static str>) -> AnyView {
    let spec = number.spec();
    let (button, sentence) = hint(spec.key, spec.label, spec.hint);
    let id = format!("number-{}", spec.key);
    let error_id = format!("error-{}", spec.key);
    let set = Memo::new(move |_| page.settings.with(|settings| settings.number(number)));
    // One that plays no part now may still be looked for by its name.
    let off = fact(move || page.settings.with(|settings| !settings.applies(number)));
    let shown = move |value: Option<f64>| value.map(format::exact).unwrap_or_default();
    let text = RwSignal::new(shown(set.get_untracked()));
    follow(move || text.set(shown(set.get())));
    let problem = Memo::new(move |_| page.problem_of(number));
    let commit = move || page.commit(number, &text.get_untracked());
    let nudge = move |event: KeyboardEvent, up: bool| {
        event.prevent_default();
        if let Ok(Some(value)) = number.parse(&text.get_untracked())
            && let Some(nudged) = spec.nudged(value, up)
        {
            text.set(format::exact(nudged));
            commit();
        }
    };
    let slider = spec.slider.map(|slider| {
        let share = move || {
            let value = number.parse(&text.get()).ok().flatten().or_else(|| set.get()).unwrap_or_default();
            format::fixed(spec.slider_share(value) * 1000.0, 0)
        };
        let value_of = move |event: &web_sys::Event| {
            let share = event_target::<web_sys::HtmlInputElement>(event).value_as_number();
            format::exact(spec.slider_value(share / 1000.0))
        };
        // A field that may be empty has nothing to slide while it is.
        let idle = move || spec.optional && text.with(|text| text.trim().is_empty());
        view! {
            <input type="range" hidden=whether(idle) disabled=whether(move || off.get()) min="0" max="1000" step="any" class="slider" aria-label=format!("{}, slider", spec.label)
                aria-valuetext=wording(move || text.get()) prop:value=wording(share)
                on:input=on_event(move |event| text.set(value_of(&event)))
                on:change=on_event(move |event| { text.set(value_of(&event)); commit(); }) />
            <span class="ends" aria-hidden="true" hidden=whether(idle)><span>{slider.low_end}</span><span>{slider.high_end}</span></span>
        }
    });
    view! {
        <div class="control number" class:wrong=whether(move || problem.with(Option::is_some))>
            <span class="label">{name(page, number, id.clone(), off)}{button}</span>
            <input type="text" inputmode="decimal" autocomplete="off" spellcheck="false" id=id data-testid=testid aria-label=spec.label
                placeholder=if spec.optional { "open" } else { "" } disabled=whether(move || off.get())
                prop:value=wording(move || text.get())
                aria-invalid=wording(move || problem.with(Option::is_some).to_string())
                aria-describedby=error_id.clone()
                on:input=on_event(move |event| text.set(event_target_value(&event)))
                on:change=on_event(move |_| commit())
                on:keydown=move |event: KeyboardEvent| match event.key().as_str() {
                    "ArrowUp" => nudge(event, true),
                    "ArrowDown" => nudge(event, false),
                    "Enter" => commit(),
                    "Escape" => {
                        text.set(shown(set.get_untracked()));
                        page.clear_problem(Some(number));
                    }
                    _ => {}
                } />
            {slider}
            <p class="field-error" id=error_id>{wording(move || problem.get().unwrap_or_default())}</p>
            {sentence}
        </div>
    }
    .into_any()
}
