//! A multiple-choice question. Each choice explains at once why it is right or wrong.

use leptos::prelude::*;

use super::text::filled;
use crate::ui::{
    size::closures::{bool_fn, on_click, text_fn, view_fn},
    state::{
        Page,
        lesson_set::{Choice, Question},
    },
    text::t,
};

/// Builds the question, its choices and, after a choice, the full answer.
pub fn question(page: Page, asked: &Question) -> AnyView {
    let chosen = RwSignal::new(None::<usize>);
    let choice = |(at, choice): (usize, &Choice)| {
        let right = choice.right;
        let class = move || match (chosen.get() == Some(at), right) {
            (false, _) => "choice",
            (true, true) => "choice right",
            (true, false) => "choice wrong",
        };
        view! {
            <button type="button" class=text_fn(class) aria-pressed=text_fn(move || (chosen.get() == Some(at)).to_string())
                on:click=on_click(move |_| chosen.set(Some(at)))>{choice.text.clone()}</button>
        }
    };
    let (choices, all) = (asked.choices.clone(), asked.choices.iter().enumerate().map(choice).collect_view());
    let why = move || {
        let choice = &choices[chosen.get()?];
        let verdict = if choice.right { t!("Right.") } else { t!("No.") };
        Some(view! { <strong>{verdict}" "</strong>{filled(page, &choice.why)} }.into_any())
    };
    view! {
        <div class="lesson-question">
            <p class="question">{filled(page, &asked.ask)}</p>
            <div class="choices" role="group" aria-label=t!("Answers") data-testid="lesson-choices">{all}</div>
            <p class="lesson-why" role="status" data-testid="lesson-why">{view_fn(why)}</p>
            <details class="lesson-answer" hidden=bool_fn(move || chosen.get().is_none())><summary>{t!("An answer")}</summary><p>{filled(page, &asked.answer)}</p></details>
        </div>
    }
    .into_any()
}
