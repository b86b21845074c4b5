//! LESSONS: the list, the lesson that is open, and formulas with the numbers of the run put in.

use std::sync::Arc;

use leptos::{html, prelude::*};

use crate::{
    plot::{drawing::AT_LEAST, series::Point},
    ui::{
        browser,
        size::closures::{follow, on_click, on_event, piece, wording},
        state::{
            Page,
            lesson_set::{Book, Lesson, Part, fill},
        },
        widgets::chart::{Drawing, Frame, Line, Range, Write, chart},
    },
    worker::accounts::{Answer, Question},
};

/// The menu in the header.
pub fn menu(page: Page) -> impl IntoView {
    let items = move || {
        page.study.book.get().map(|book| {
            let item = |(at, lesson): (usize, &Lesson)| {
                let (number, title) = (lesson.number.clone(), lesson.title.clone());
                view! {
                    <button type="button" on:click=on_click(move |_| page.enter((at, 0), true))>
                        <span class="lesson-number">{number}</span>{title}</button>
                }
            };
            book.lessons.iter().enumerate().map(item).collect_view().into_any()
        })
    };
    view! {
        <details class="menu" data-testid="lessons" on:toggle=on_event(move |_| page.open_book())>
            <summary>"Lessons"</summary>
            <div class="menu-items">{piece(items)}</div>
        </details>
    }
    .into_any()
}

/// The lesson that is open.
pub fn panel(page: Page) -> impl IntoView {
    let open = Memo::new(move |_| page.study.lesson.get());
    follow(move || {
        if let (Some((lesson, step)), Some(book)) = (open.get(), page.study.book.get_untracked()) {
            let point = book.lessons[lesson].steps[step].point.clone();
            // After the panels that the step asks for are there.
            set_timeout(move || browser::point_at(point.as_deref()), std::time::Duration::from_millis(60));
        } else {
            browser::point_at(None);
        }
    });
    piece(move || {
        let (at, book) = (open.get()?, page.study.book.get_untracked()?);
        Some(lesson(page, &book, at))
    })
}

fn lesson(page: Page, book: &Arc<Book>, (at, step): (usize, usize)) -> AnyView {
    let lesson = &book.lessons[at];
    let now = &lesson.steps[step];
    let last = step + 1 == lesson.steps.len();
    let title = NodeRef::<html::H3>::new();
    // Who turns a page by keyboard or hears it read goes on at its title.
    follow(move || {
        if let Some(title) = title.get() {
            drop(title.focus());
        }
    });
    let parts = now.parts.iter().map(|each| part(page, book, each)).collect_view();
    let next_lesson = (at + 1 < book.lessons.len()).then(|| book.lessons[at + 1].title.clone());
    let next = move |_| {
        if !last {
            page.enter((at, step + 1), true);
        } else if next_lesson.is_some() {
            page.enter((at + 1, 0), true);
        } else {
            page.close_lesson();
        }
    };
    let next_label = match (last, book.lessons.get(at + 1)) {
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

fn part(page: Page, book: &Book, part: &Part) -> AnyView {
    let filled = move |text: &String| {
        let text = text.clone();
        wording(move || fill(&text, |name| page.value_of(name)).replace('*', ""))
    };
    match part {
        Part::Text(text) => view! { <p>{filled(text)}</p> }.into_any(),
        Part::Question(text) => view! { <p class="question">{filled(text)}</p> }.into_any(),
        Part::Answer(text) => {
            view! { <details class="lesson-answer"><summary>"An answer"</summary><p>{filled(text)}</p></details> }
                .into_any()
        }
        Part::Formula(key) => formula(page, book, key),
        Part::Figure(_) => hidden_states(page).into_any(),
    }
}

/// A formula; it opens to its explanation, with the numbers of the run.
fn formula(page: Page, book: &Book, key: &str) -> AnyView {
    book.formula(key)
        .cloned()
        .map(|found| {
            let explanation = found.explanation;
            view! {
                <details class="formula"><summary>{found.formula}</summary>
                    <p>{wording(move || fill(&explanation, |name| page.value_of(name)))}</p></details>
            }
        })
        .into_any()
}

/// The formulas of the mechanism that runs.
pub fn formulas(page: Page) -> impl IntoView {
    let open = RwSignal::new(false);
    // A bit for each: what is opened stays open while they stay the same.
    let which = Memo::new(move |_| {
        let book = page.study.book.get();
        let all = book.iter().flat_map(|book| &book.formulas).enumerate();
        page.settings.with(|settings| {
            all.filter(|(_, each)| settings.meet(&each.condition)).fold(0, |bits, (at, _)| bits | (1u64 << at))
        })
    });
    let list = move || {
        let book = open.get().then(|| page.study.book.get()).flatten()?;
        let which = which.get();
        let shown = book.formulas.iter().enumerate().filter(|(at, _)| (which >> at) & 1 == 1);
        Some(shown.map(|(_, each)| formula(page, &book, &each.key)).collect_view().into_any())
    };
    view! {
        <details class="meaning" data-testid="formulas" on:toggle=on_event(move |_| { page.open_book(); open.set(true); })>
            <summary>"The formulas, with this run's numbers"</summary>{piece(list)}
        </details>
    }
    .into_any()
}

/// What steps leak whose models are seen, and whose are not.
fn hidden_states(page: Page) -> impl IntoView {
    let curves = RwSignal::new(<[Vec<Point>; 3]>::default());
    page.ask(Question::HiddenStates, move |answer| {
        if let Answer::HiddenStates(found) = answer {
            curves.set(found);
        }
    });
    chart(page, Frame { title: "Leak of K steps", file: "hidden-states", height: 190.0, full: true }, move || {
        let names = [("line-n1", "every model seen"), ("line-n2", "only the last seen"), (AT_LEAST, "at least")];
        let lines: Vec<Line> = curves.with(|curves| {
            let line = |((class, name), points): (&(&'static str, &str), &Vec<Point>)| Line {
                class,
                name: (*name).to_owned(),
                points: points.clone(),
            };
            names.iter().zip(curves).map(line).collect()
        });
        let high = lines.iter().flat_map(|line| &line.points).fold(0.01, |high: f64, point| high.max(point.1));
        Drawing {
            lines,
            x: Range { low: 0.0, high: 800.0, logarithmic: false, label: "steps K", write: Write::Whole },
            y: Range { low: 0.0, high, logarithmic: false, label: "ε(α)", write: Write::Epsilon },
            scatter: false,
            summary:
                "Rényi divergence by number of steps: composition rises in a line, the hidden-state bound levels off."
                    .to_owned(),
        }
    })
}
