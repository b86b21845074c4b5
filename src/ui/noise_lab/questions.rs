//! The visitor's choices: noises, envelope, ε, and a custom noise.

use leptos::prelude::*;

use super::comparison::{Lab, NAMES};
use crate::{
    plot::format,
    train::number::parse,
    ui::{
        link::noise_query::{EXPONENT, FORMULA, PSIS},
        settings::{FORMULA as FIRST_FORMULA, Number},
        size::closures::{bool_fn, on_event, text_fn, text_memo},
        state::{COLOURS, Origin, as_sentence},
        text::{Text, t},
        widgets::{
            hint::labelled,
            typed::{DENSITY, DENSITY_HINT},
        },
    },
};

/// The choices, and the run that they refer to.
pub fn questions(lab: Lab) -> impl IntoView {
    let page = lab.page;
    let context = move || {
        t!(
            "For {n} steps with lots of {lot} out of {train}, at δ = {delta}.",
            n = format::integer(lab.steps()),
            lot = format::integer(page.settings.with(|settings| settings.lot).into()),
            train = format::integer(lab.train().into()),
            delta = format::number(page.settings.with(|settings| settings.delta))
        )
    };
    let refusal = move || {
        lab.compared.with(|compared| {
            let found = compared.iter().find(|(which, ..)| *which == FORMULA);
            found.and_then(|(.., compared)| compared.as_ref().err().map(as_sentence)).unwrap_or_default()
        })
    };
    view! {
        <div class="lab-questions">
            <fieldset class="checks"><legend>{t!("Noise")}</legend>{families(lab)}</fieldset>
            <div>{envelope(lab)}{epsilon(lab)}<p class="lead">{text_fn(context)}</p></div>
            <fieldset><legend>{t!("Design your own")}</legend>{exponent(lab)}{formula(lab)}
                <p class="field-error" id="lab-refusal" role="alert" data-testid="lab-refusal">{text_fn(refusal)}</p>
            </fieldset>
        </div>
    }
    .into_any()
}

/// The noises to compare.
fn families(lab: Lab) -> AnyView {
    (0..EXPONENT)
        .map(|which| {
            let id = format!("lab-{which}");
            view! {
                <span class=format!("check key {}", COLOURS[which])><input type="checkbox" id=id.clone() prop:checked=bool_fn(move || lab.page.lab.query.with(|query| query.chosen[which]))
                    on:change=on_event(move |event| lab.ask(|query| query.chosen[which] = event_target_checked(&event))) />
                <label for=id>{NAMES[which].get()}</label></span>
            }
        })
        .collect_view()
        .into_any()
}

/// The envelope.
fn envelope(lab: Lab) -> AnyView {
    let psis = PSIS
        .iter()
        .map(|(key, psi, name)| view! { <option value=*key selected=bool_fn(move || lab.page.lab.query.with(|query| query.psi == *psi))>{name.get()}</option> })
        .collect_view();
    let choose = move |event: leptos::ev::Event| {
        let key = event_target_value(&event);
        if let Some((_, psi, _)) = PSIS.iter().find(|(each, ..)| *each == key) {
            lab.ask(|query| query.psi = *psi);
        }
    };
    labelled(
        "lab-psi",
        "label".to_owned(),
        t!("Envelope: where an example may differ").into_any(),
        [
            t!("Envelope"),
            t!(
                "What one example may change, with total length 1: every coordinate a little, or a few a lot. The fewer, the more the noise's tails matter."
            ),
        ],
        view! { <select id="lab-psi" data-testid="lab-psi" on:change=on_event(choose)>{psis}</select> }.into_any(),
    )
}

/// The target ε.
fn epsilon(lab: Lab) -> AnyView {
    let text = text_memo(move || format::field(lab.page.lab.query.with(|query| query.epsilon)));
    let set = move |event: leptos::ev::Event| match Number::Budget.parse(&format::neutral(&event_target_value(&event)))
    {
        // An empty field returns to its value.
        Ok(epsilon) => lab.ask(|query| query.epsilon = epsilon.unwrap_or(query.epsilon)),
        Err(error) => lab.page.messages.put(Origin::Lab, error.to_string()),
    };
    labelled(
        "lab-epsilon",
        "label".to_owned(),
        t!("All cost ε =").into_any(),
        [
            t!("All cost ε"),
            t!("Privacy budget of all steps together; each noise is made just wide enough for it."),
        ],
        view! {
            <input type="text" inputmode="decimal" id="lab-epsilon" data-testid="lab-epsilon" prop:value=text_fn(move || text.get())
                on:change=on_event(set) />
        }
        .into_any(),
    )
}

/// A generalised Gaussian of any exponent.
fn exponent(lab: Lab) -> AnyView {
    let slide = move |event: leptos::ev::Event| {
        if let Some(exponent) = parse(&event_target_value(&event)) {
            lab.exponent.set(exponent);
        }
    };
    let compare = move |_| {
        lab.ask(|query| (query.exponent, query.chosen[EXPONENT]) = (lab.exponent.get_untracked(), true));
    };
    labelled(
        "lab-exponent",
        format!("label key {}", COLOURS[EXPONENT]),
        view! { {t!("Exponent")}": z ∝ exp(−|x|^"{text_fn(move || format::number(lab.exponent.get()))}")" }.into_any(),
        [t!("Exponent"), Number::Exponent.spec().hint.get()],
        view! {
            <input type="range" id="lab-exponent" data-testid="lab-exponent" class="slider" min="1" max="8" step="0.25" prop:value=text_fn(move || format::exact(lab.exponent.get()))
                on:input=on_event(slide) on:change=on_event(compare) />
            <span class="ends" aria-hidden="true"><span>{t!("1: Laplace")}</span><span>{t!("8: nearly uniform")}</span></span>
        }
        .into_any(),
    )
}

/// A custom density.
fn formula(lab: Lab) -> AnyView {
    let text = text_memo(move || lab.formula());
    let compare = move |event: leptos::ev::Event| {
        lab.ask(|query| (query.formula, query.chosen[FORMULA]) = (event_target_value(&event), true));
    };
    labelled(
        "lab-formula",
        format!("label key {}", COLOURS[FORMULA]),
        DENSITY.get().into_any(),
        [DENSITY, DENSITY_HINT].map(Text::get),
        view! {
            <input type="text" id="lab-formula" data-testid="lab-formula" spellcheck="false" autocomplete="off" aria-describedby="lab-refusal" placeholder=FIRST_FORMULA
                prop:value=text_fn(move || text.get()) on:change=on_event(compare) />
        }
        .into_any(),
    )
}
