//! Formulas with the run's numbers.

use leptos::prelude::*;

use super::text::is_true;
use crate::ui::{
    size::closures::{on_event, text_fn, view_fn},
    state::{Figures, LessonPlayer, Page, lesson_set::LessonSet, lesson_text::fill},
    text::t,
};

/// Builds a formula that opens to its explanation; of an open step, once its numbers are true.
pub fn formula(page: Page, set: &LessonSet, key: &str, of_step: bool) -> AnyView {
    set.formula(key)
        .cloned()
        .map(|found| {
            let explanation = found.explanation;
            view! {
                <details class="formula"><summary>{found.formula}</summary>
                    <p>{text_fn(move || match of_step && !is_true(page, &explanation) {
                        true => t!("Its numbers are not ready yet.").to_owned(),
                        false => fill(&explanation, |name| Figures(page).value_of(name)),
                    })}</p></details>
            }
        })
        .into_any()
}

/// Builds the list of formulas of the current mechanism.
pub fn formulas(page: Page) -> impl IntoView {
    let open = RwSignal::new(false);
    // One bit per formula; opened formulas stay open while the set is unchanged.
    let which = Memo::new(move |_| {
        let set = page.lessons.set.get();
        let all = set.iter().flat_map(|set| &set.formulas).enumerate();
        page.settings.with(|settings| {
            all.filter(|(_, each)| settings.meet(&each.condition)).fold(0, |bits, (at, _)| bits | (1u64 << at))
        })
    });
    let list = move || {
        let set = open.get().then(|| page.lessons.set.get()).flatten()?;
        let which = which.get();
        let shown = set.formulas.iter().enumerate().filter(|(at, _)| (which >> at) & 1 == 1);
        Some(shown.map(|(_, each)| formula(page, &set, &each.key, false)).collect_view().into_any())
    };
    view! {
        <details class="meaning" data-testid="formulas" on:toggle=on_event(move |_| { LessonPlayer(page).load_lessons(); open.set(true); })>
            <summary>{t!("The formulas, with this run's numbers")}</summary>{view_fn(list)}
        </details>
    }
    .into_any()
}
