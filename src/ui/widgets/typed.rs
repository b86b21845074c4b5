//! Text fields: a custom density, phases, and layers' norms.

use leptos::prelude::*;

use hushgrad_message::ToMessage as _;

use super::hint::labelled;
use crate::{
    accounting::ledger::{Held, Part},
    mechanism::layers::Layers,
    ui::{
        settings::{Encoder, Family, PhaseKind, Settings},
        size::closures::{bool_fn, bool_memo, on_event, text_fn, text_memo, view_fn},
        state::{Origin, Page, TaskLock},
        text::{Text, heard, text},
    },
};

/// Label of a field for a density.
pub const DENSITY: Text = text!("Density formula in x");

pub const DENSITY_HINT: Text = text!(
    "Any formula that is symmetric about 0, has a single peak and falls off fast enough; it need not be normalised. Noise is drawn from exactly the table that the accountant uses."
);

/// A setting that is text.
pub struct Typed {
    /// Id of the field, and key in links.
    id: &'static str,
    label: Text,
    hint: Text,
    /// The choice that it belongs to, by its key in links.
    choice: &'static str,
    shown: fn(&Settings) -> bool,
    get: fn(&Settings) -> &String,
    set: fn(&mut Settings, String),
    /// Returns what is wrong with it.
    problem: fn(Page) -> String,
    /// Lists what it comes to.
    parts: fn(&Settings) -> Vec<Part>,
}

/// The formula of a custom density.
pub static OWN_DENSITY: Typed = Typed {
    id: "density",
    label: DENSITY,
    hint: DENSITY_HINT,
    choice: "noise",
    shown: |settings| settings.family == Family::Custom,
    get: |settings| &settings.formula,
    set: |settings, typed| settings.formula = typed,
    problem: |page| page.messages.of(Origin::Density).unwrap_or_default(),
    parts: |_| vec![],
};

/// The list of custom phases.
pub static OWN_PHASES: Typed = Typed {
    id: "phase-list",
    label: text!("Phases"),
    hint: text!(
        "Each phase is a number of steps, then what it changes: noise, clip or rate with a factor, lot with a number, or another family (laplace). Separate phases by semicolons: 200; 200 noise 0.7 rate 0.5."
    ),
    choice: "phases",
    shown: |settings| settings.family != Family::None && settings.phases == PhaseKind::List,
    get: |settings| &settings.phase_list,
    set: |settings, typed| {
        settings.phase_list = typed;
        settings.plan_phases();
    },
    problem: |_| String::new(),
    parts: |_| vec![],
};

/// The layers' norms.
pub static OWN_NORMS: Typed = Typed {
    id: "layer-norms",
    label: text!("Clip norm per layer or group"),
    hint: text!(
        "One norm per layer, from first to last, separated by spaces: 0.5 0.5 1 1. Or groups of layers, each with its norm and its noise relative to the others: 1-2:0.5@2 3-4:1@1. If empty, the clip norm is divided among the layers, so that the whole gradient is no longer than it."
    ),
    choice: "clipping",
    shown: |settings| settings.encoder == Encoder::Layers,
    get: |settings| &settings.layer_norms,
    set: |settings, typed| settings.layer_norms = typed,
    problem: |page| {
        let made = page.settings.with(|settings| Layers::new(&settings.layer_clip()?, &settings.model.lengths()));
        made.err().map(|fault| heard(&fault.to_message())).unwrap_or_default()
    },
    parts: |settings| {
        let parts = settings.config().parts();
        parts.into_iter().filter(|part| matches!(part.holds, Held::Layers(_))).collect()
    },
};

/// The field, while it applies.
pub fn typed_field(page: Page, which: &'static Typed) -> AnyView {
    let shown = bool_memo(move || page.settings.with(which.shown));
    // A memo, because the accountant's answers change the settings while the visitor types.
    let text = text_memo(move || page.settings.with(|settings| (which.get)(settings).clone()));
    let parts = text_memo(move || {
        page.settings.with(which.parts).iter().map(|part| heard(&part.to_message())).collect::<Vec<_>>().join("; ")
    });
    let typed = move |event: leptos::ev::Event| {
        let typed = event_target_value(&event).trim().to_owned();
        page.change(|settings| (which.set)(settings, typed));
    };
    view_fn(move || {
        shown.get().then(|| {
            let error = format!("{}-error", which.id);
            let field = view! {
                <input type="text" id=which.id data-testid=which.id spellcheck="false" autocomplete="off" disabled=bool_fn(move || TaskLock(page).is_fixed(which.choice)) aria-describedby=error.clone()
                    prop:value=text_fn(move || text.get()) on:change=on_event(typed) />
                <p class="field-error" id=error>{text_fn(move || (which.problem)(page))}</p>
                <p class="caption" hidden=bool_fn(move || parts.with(String::is_empty))>{text_fn(move || parts.get())}</p>
            };
            let words = [which.label, which.hint].map(Text::get);
            labelled(which.id, "label".to_owned(), which.label.get().into_any(), words, field.into_any())
        })
    })
    .into_any()
}
