//! LESSONS: the list, and the lesson that is open.

use std::sync::Arc;

use leptos::{html, prelude::*};

use super::{formulas::formula, hidden_states::hidden_states};
use crate::ui::{
    browser,
    size::closures::{effect, on_click, on_event, text_fn, view_fn},
    state::{
        Page,
        lesson_set::{Lesson, LessonSet, Part, fill},
    },
};

/// The menu in the header.
pub fn menu(page: Page) -> impl IntoView {
    let items = move || {
        page.lessons.set.get().map(|set| {
            let item = |(at, lesson): (usize, &Lesson)| {
                let (number, title) = (lesson.number.clone(), lesson.title.clone());
                view! {
                    <button type="button" on:click=on_click(move |_| page.enter((at, 0), true))>
                        <span class="lesson-number">{number}</span>{title}</button>
                }
            };
            set.lessons.iter().enumerate().map(item).collect_view().into_any()
        })
    };
    view! {
        <details class="menu" data-testid="lessons" on:toggle=on_event(move |_| page.load_lessons())>
            <summary>"Lessons"</summary>
            <div class="menu-items">{view_fn(items)}</div>
        </details>
    }
    .into_any()
}

/// The lesson that is open.
pub fn panel(page: Page) -> impl IntoView {
    let open = Memo::new(move |_| page.lessons.open.get());
    effect(move || {
        if let (Some((lesson, step)), Some(set)) = (open.get(), page.lessons.set.get_untracked()) {
            let point = set.lessons[lesson].steps[step].point.clone();
            // After the panels that the step asks for are there.
            set_timeout(move || browser::point_at(point.as_deref()), std::time::Duration::from_millis(60));
        } else {
            browser::point_at(None);
        }
    });
    view_fn(move || {
        let (at, set) = (open.get()?, page.lessons.set.get_untracked()?);
        Some(lesson(page, &set, at))
    })
}

fn lesson(page: Page, set: &Arc<LessonSet>, (at, step): (usize, usize)) -> AnyView {
    let lesson = &set.lessons[at];
    let now = &lesson.steps[step];
    let last = step + 1 == lesson.steps.len();
    let title = NodeRef::<html::H3>::new();
    // Who turns a page by keyboard or hears it read goes on at its title.
    effect(move || {
        if let Some(title) = title.get() {
            drop(title.focus());
        }
    });
    let parts = now.parts.iter().map(|each| part(page, set, each)).collect_view();
    let next_lesson = (at + 1 < set.lessons.len()).then(|| set.lessons[at + 1].title.clone());
    let next = move |_| {
        if !last {
            page.enter((at, step + 1), true);
        } else if next_lesson.is_some() {
            page.enter((at + 1, 0), true);
        } else {
            page.close_lesson();
        }
    };
    let next_label = match (last, set.lessons.get(at + 1)) {
        (false, _) => "Next".to_owned(),
        (true, Some(next)) => format!("Next lesson: {}", next.title),
        (true, None) => "Finish".to_owned(),
    };
    let link = last.then(|| {
        let set = lesson.settings_at(step).unwrap_or_default();
        let address = format!("?{set}{}lesson={}.{}", if set.is_empty() { "" } else { "&" }, lesson.key, step + 1);
        view! { <p><a data-testid="lesson-link" href=address>"Link to this state"</a></p> }
    });
    view! {
        <section class="panel lesson" aria-label="Lesson" data-testid="lesson">
            <div class="lesson-head">
                <h2>{format!("Lesson {} · {}", lesson.number, lesson.title)}</h2>
                <button type="button" class="quiet" aria-label="Close the lesson" on:click=on_click(move |_| page.close_lesson())>"×"</button>
            </div>
            <h3 tabindex="-1" node_ref=title>{now.title.clone()}</h3>
            {parts}{link}
            <div class="lesson-turn">
                <button type="button" data-testid="lesson-back" disabled={step == 0} on:click=on_click(move |_| page.enter((at, step.saturating_sub(1)), true))>"Back"</button>
                <span>{format!("{} of {}", step + 1, lesson.steps.len())}</span>
                <button type="button" class="primary" data-testid="lesson-next" on:click=on_click(next)>{next_label}</button>
            </div>
        </section>
    }
    .into_any()
}

fn part(page: Page, set: &LessonSet, part: &Part) -> AnyView {
    let filled = move |text: &String| {
        let text = text.clone();
        text_fn(move || fill(&text, |name| page.value_of(name)).replace('*', ""))
    };
    match part {
        Part::Text(text) => view! { <p>{filled(text)}</p> }.into_any(),
        Part::Question(text) => view! { <p class="question">{filled(text)}</p> }.into_any(),
        Part::Answer(text) => {
            view! { <details class="lesson-answer"><summary>"An answer"</summary><p>{filled(text)}</p></details> }
                .into_any()
        }
        Part::Formula(key) => formula(page, set, key),
        Part::Figure(_) => hidden_states(page).into_any(),
    }
}
