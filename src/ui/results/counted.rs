//! Counts released with the steps: accuracy on the training digits, and the adaptive clip.

use leptos::prelude::*;

use crate::{
    plot::format,
    train::report::ReleasedMetrics,
    ui::{
        size::closures::{bool_fn, text_fn, text_memo},
        state::Page,
        text::t,
    },
};

/// The sentences; empty if the run counts nothing.
pub fn counted(page: Page) -> AnyView {
    let text =
        move || page.run.report.with(|report| report.as_ref().map(|report| said(&report.counted)).unwrap_or_default());
    let text = text_memo(text);
    view! { <p class="counted" data-testid="counted" hidden=bool_fn(move || text.with(String::is_empty))>{text_fn(move || text.get())}</p> }
        .into_any()
}

fn said(counted: &ReleasedMetrics) -> String {
    let percent = |share: f64| format::decimals_of(100.0 * share, 1);
    let mut said = String::new();
    if let Some(told) = counted.answers.filter(|told| told.steps > 0) {
        said = t!(
            "Accuracy on the training digits, released with the steps and covered by ε: {accuracy} ± {error}%, averaged over the last steps. Digits 0 to 9: {shares}%, each ± {noise} from its noise.",
            accuracy = percent(told.accuracy),
            error = percent(told.error()),
            shares = told.digits.map(percent).join(" · "),
            noise = percent(told.noise.sqrt())
        );
    }
    if let Some(clip) = counted.clip {
        if !said.is_empty() {
            said.push(' ');
        }
        said += &t!(
            "The clip norm follows the gradients and is now {clip}.",
            clip = format::number(format::significant(clip, 3))
        );
    }
    said
}
