//! What the lab asks: noises, envelope, ε, a noise of one's own.

use leptos::prelude::*;

use super::comparison::{Lab, NAMES};
use crate::{
    plot::format,
    ui::{
        link::noise_query::{EXPONENT, FORMULA, PSIS},
        settings::{FORMULA as FIRST_FORMULA, Number},
        size::{
            closures::{bool_fn, on_event, text_fn},
            decimal::decimal,
        },
        state::{COLOURS, Origin, as_sentence},
        widgets::{
            density::{DENSITY, DENSITY_HINT},
            hint::labelled,
        },
    },
};

pub fn questions(lab: Lab) -> impl IntoView {
    let page = lab.page;
    let families = (0..EXPONENT)
        .map(|which| {
            let id = format!("lab-{which}");
            view! {
                <span class=format!("check key {}", COLOURS[which])><input type="checkbox" id=id.clone() prop:checked=bool_fn(move || page.lab.query.with(|query| query.chosen[which]))
                    on:change=on_event(move |event| lab.ask(|query| query.chosen[which] = event_target_checked(&event))) />
                <label for=id>{NAMES[which]}</label></span>
            }
        })
        .collect_view();
    let psis = PSIS
        .iter()
        .map(|(key, psi, name)| view! { <option value=*key selected=bool_fn(move || page.lab.query.with(|query| query.psi == *psi))>{*name}</option> })
        .collect_view();
    let context = move || {
        format!(
            "For {} steps of lots of {} out of {}, at δ = {}.",
            format::integer(lab.steps()),
            format::integer(page.settings.with(|settings| settings.lot).into()),
            format::integer(lab.train().into()),
            format::number(page.settings.with(|settings| settings.delta))
        )
    };
    let set_exponent = move |event: leptos::ev::Event| {
        if let Some(exponent) = decimal(&event_target_value(&event)) {
            lab.exponent.set(exponent);
        }
    };
    let judge_exponent = move |_| {
        lab.ask(|query| (query.exponent, query.chosen[EXPONENT]) = (lab.exponent.get_untracked(), true));
    };
    let judge_formula = move |event: leptos::ev::Event| {
        lab.ask(|query| (query.formula, query.chosen[FORMULA]) = (event_target_value(&event), true));
    };
    let refusal = move || {
        lab.judged.with(|judged| {
            let found = judged.iter().find(|(which, ..)| *which == FORMULA);
            found.and_then(|(.., judged)| judged.as_ref().err().map(|phrase| as_sentence(phrase))).unwrap_or_default()
        })
    };
    let set_epsilon = move |event: leptos::ev::Event| match Number::Budget.parse(&event_target_value(&event)) {
        // Empty, it becomes what it was.
        Ok(epsilon) => lab.ask(|query| query.epsilon = epsilon.unwrap_or(query.epsilon)),
        Err(error) => page.messages.put(Origin::Run, error.to_string()),
    };
    let choose_psi = move |event: leptos::ev::Event| {
        let key = event_target_value(&event);
        if let Some((_, psi, _)) = PSIS.iter().find(|(each, ..)| *each == key) {
            lab.ask(|query| query.psi = *psi);
        }
    };
    let psi = labelled(
        "lab-psi",
        "label".to_owned(),
        "Envelope: where an example may differ".into_any(),
        [
            "Envelope",
            "What one example may change, length 1 in all: a little of every coordinate, or much of a few. The fewer, the more the noise's tails matter.",
        ],
        view! { <select id="lab-psi" data-testid="lab-psi" on:change=on_event(choose_psi)>{psis}</select> }.into_any(),
    );
    let epsilon = labelled(
        "lab-epsilon",
        "label".to_owned(),
        "All cost ε =".into_any(),
        ["All cost ε", "What all steps together may cost; each noise is made as wide as it must be for that, and no wider."],
        view! {
            <input type="text" inputmode="decimal" id="lab-epsilon" data-testid="lab-epsilon" prop:value=text_fn(move || format::exact(page.lab.query.with(|query| query.epsilon)))
                on:change=on_event(set_epsilon) />
        }
        .into_any(),
    );
    let exponent = labelled(
        "lab-exponent",
        format!("label key {}", COLOURS[EXPONENT]),
        view! { "Exponent: z ∝ exp(−|x|^"{text_fn(move || format::exact(lab.exponent.get()))}")" }.into_any(),
        ["Exponent", Number::Exponent.spec().hint],
        view! {
            <input type="range" id="lab-exponent" data-testid="lab-exponent" class="slider" min="1" max="8" step="0.25" prop:value=text_fn(move || format::exact(lab.exponent.get()))
                on:input=on_event(set_exponent) on:change=on_event(judge_exponent) />
            <span class="ends" aria-hidden="true"><span>"1: Laplace"</span><span>"8: nearly a box"</span></span>
        }
        .into_any(),
    );
    let formula = labelled(
        "lab-formula",
        format!("label key {}", COLOURS[FORMULA]),
        DENSITY.into_any(),
        [DENSITY, DENSITY_HINT],
        view! {
            <input type="text" id="lab-formula" data-testid="lab-formula" spellcheck="false" autocomplete="off" aria-describedby="lab-refusal" placeholder=FIRST_FORMULA
                prop:value=text_fn(move || lab.formula()) on:change=on_event(judge_formula) />
        }
        .into_any(),
    );
    view! {
        <div class="lab-questions">
            <fieldset class="checks"><legend>"Noise"</legend>{families}</fieldset>
            <div>{psi}{epsilon}<p class="lead">{text_fn(context)}</p></div>
            <fieldset><legend>"Design your own"</legend>{exponent}{formula}
                <p class="field-error" id="lab-refusal" role="alert" data-testid="lab-refusal">{text_fn(refusal)}</p>
            </fieldset>
        </div>
    }
    .into_any()
}
