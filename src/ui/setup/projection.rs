//! The projected cost of the settings.

use leptos::prelude::*;

use crate::{
    plot::format,
    ui::{
        size::closures::{bool_fn, bool_memo, text_fn, text_memo, view_fn},
        state::{Figures, OPEN_EPOCHS, Page},
        text::t,
        widgets::word::word,
    },
};

/// The projected cost of the settings, before a run starts.
pub fn projection(page: Page) -> impl IntoView {
    let text = move || {
        let Some(Ok(projection)) = page.cost.projection.get() else { return String::new() };
        let (epsilon, steps) = (format::epsilon(projection.end.improved.epsilon), format::integer(projection.steps));
        match page.settings.with(|settings| settings.steps) {
            Some(_) => t!("The {n} planned steps will cost ε ≤ {epsilon}", n = steps, epsilon = epsilon),
            None => t!(
                "{passes} passes over the data ({n} steps) would cost ε ≤ {epsilon}",
                passes = OPEN_EPOCHS,
                n = steps,
                epsilon = epsilon
            ),
        }
    };
    let tight = text_memo(move || Figures(page).value_of("tight").unwrap_or_default());
    // If digits share vectors, ε both of one digit and of all that share a vector.
    let both = move || {
        let [one, all] = page.cost.known().and_then(|projection| projection.shared)?.map(|epsilon| match epsilon {
            epsilon if epsilon.is_finite() => format::epsilon(epsilon),
            _ => "∞".to_owned(),
        });
        Some(match page.settings.with(|settings| settings.users) {
            Some(_) => t!(
                "That is ε ≤ {all} for one user with all their digits, ε ≤ {one} for one of those digits.",
                all = all,
                one = one
            ),
            None => t!("That is ε ≤ {one} for one digit, ε ≤ {all} for a whole micro-batch.", one = one, all = all),
        })
    };
    let both = text_memo(move || both().unwrap_or_default());
    // The counts are inside this ε; the gradient gets more noise to pay for them.
    let counted = text_memo(move || {
        page.settings
            .with(|settings| {
                let counting = settings.config().counting();
                let noise =
                    counting.of_gradient(settings.scale).filter(|_| !counting.is_none() && page.cost.known().is_some());
                noise.map(|noise| {
                t!(
                    "This ε includes the counts of each step, so the gradient gets noise of scale {noise}, not {scale}.",
                    noise = format::number(format::significant(noise, 4)),
                    scale = format::number(settings.scale)
                )
            })
            })
            .unwrap_or_default()
    });
    let known = bool_memo(move || matches!(page.cost.projection.get(), Some(Ok(_))));
    let rest = move || {
        known.get().then(|| match tight.get() {
            tight if tight.is_empty() => ".".into_any(),
            tight => view! { " "{t!("by")}" "{word("renyi", t!("Rényi accounting"))}"; "{word("tight", t!("tight accounting"))}": ε ≤ "{tight}"." }
                .into_any(),
        })
    };
    view! { <p class="projection" data-testid="projection">{text_fn(text)}{view_fn(rest)}</p>
    <p class="projection" data-testid="projection-shared" hidden=bool_fn(move || both.with(String::is_empty))>{text_fn(move || both.get())}</p>
    <p class="projection" data-testid="projection-counted" hidden=bool_fn(move || counted.with(String::is_empty))>{text_fn(move || counted.get())}</p> }
}
