//! LESSONS: the list, and the strip of the open lesson.

use std::sync::Arc;

use leptos::{ev, html, prelude::*};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, ResizeObserver};

use super::{
    formulas::formula,
    question::question,
    text::{is_true, paragraphs},
};
use crate::ui::{
    browser::{self, Framed},
    size::closures::{bool_memo, effect, on_click, on_event, view_fn},
    state::{
        LessonPlayer, LessonProgress, Page,
        lesson_set::{Lesson, LessonSet, Part},
    },
    text::t,
};

/// Milliseconds until the panels of a step are shown, and until they have their size.
const SHOWN_MS: [u64; 2] = [60, 400];

/// Builds the menu in the header.
pub fn menu(page: Page) -> impl IntoView {
    let items = move || {
        page.lessons.set.get().map(|set| {
            let item = |(at, lesson): (usize, &Lesson)| {
                view! {
                    <button type="button" on:click=on_click(move |_| LessonPlayer(page).enter((at, 0)))>
                        <span class="lesson-number">{(at + 1).to_string()}</span>{lesson.title.clone()}</button>
                }
            };
            set.lessons.iter().enumerate().map(item).collect_view().into_any()
        })
    };
    view! {
        <details class="menu" data-testid="lessons" on:toggle=on_event(move |_| LessonPlayer(page).load_lessons())>
            <summary>{t!("Lessons")}</summary>
            <div class="menu-items">{view_fn(items)}<a href=format!("teach.html?lang={}", browser::language())>{t!("For teachers")}</a></div>
        </details>
    }
    .into_any()
}

/// Builds the strip of the open lesson.
pub fn panel(page: Page) -> impl IntoView {
    LessonPlayer(page).follow_lessons();
    let open = Memo::new(move |_| page.lessons.open.get());
    // Arriving results move what is below them.
    let ready = bool_memo(move || {
        let (Some((lesson, step)), Some(set)) = (open.get(), page.lessons.set.get_untracked()) else { return false };
        let parts = &set.lessons[lesson].steps[step].parts;
        LessonPlayer(page).standing() == LessonProgress::Ready
            && !page.lab.looks.get()
            && parts.iter().all(|part| if let Part::Text(text) = part { is_true(page, text) } else { true })
    });
    // So does resizing the window. Ignore the height: a phone's bars change it during scrolling.
    let width = RwSignal::new(browser::width());
    let resized = window_event_listener(ev::resize, move |_| {
        if width.get_untracked() != browser::width() {
            width.set(browser::width());
        }
    });
    on_cleanup(move || resized.remove());
    let frame = Frame::new(page);
    effect(move || {
        let place = open.get();
        let _now = (ready.get(), width.get(), page.appearance.present.get());
        for wait in SHOWN_MS {
            let show = move || {
                if open.try_get_untracked() == Some(place) {
                    frame.draw(None);
                }
            };
            set_timeout(show, std::time::Duration::from_millis(wait));
        }
    });
    view_fn(move || {
        let (at, set) = (open.get()?, page.lessons.set.get()?);
        Some(strip(page, &set, at))
    })
}

/// The frame around what the open step points at. It is redrawn when that element, the strip or the
/// page is resized: compared runs extend their list, and results move it down.
#[derive(Clone, Copy)]
struct Frame {
    page: Page,
    observed: StoredValue<Observed, LocalStorage>,
}

#[derive(Default)]
struct Observed {
    observer: Option<(ResizeObserver, Closure<dyn Fn()>)>,
    elements: Vec<Element>,
    framed: Option<Framed>,
}

impl Frame {
    fn new(page: Page) -> Self {
        let frame = Self { page, observed: StoredValue::new_local(Observed::default()) };
        let again = Closure::<dyn Fn()>::new(move || frame.draw(frame.observed.with_value(|observed| observed.framed)));
        let observer = ResizeObserver::new(again.as_ref().unchecked_ref()).ok();
        frame.observed.update_value(|observed| observed.observer = observer.map(|observer| (observer, again)));
        on_cleanup(move || {
            frame
                .observed
                .with_value(|observed| observed.observer.iter().for_each(|(observer, _)| observer.disconnect()));
        });
        frame
    }

    fn draw(self, before: Option<Framed>) {
        let (lessons, set) = (self.page.lessons, self.page.lessons.set.get_untracked());
        let hook = lessons.open.get_untracked().zip(set);
        let hook = hook.and_then(|((lesson, step), set)| set.lessons[lesson].steps[step].point.clone());
        let (elements, framed) = browser::point_at(hook.as_deref(), before);
        self.observed.update_value(|observed| {
            observed.framed = framed;
            let Some((observer, _)) = &observed.observer else { return };
            // Observing an element reports it at once, so observe only new ones.
            observed.elements.iter().filter(|old| !elements.contains(old)).for_each(|old| observer.unobserve(old));
            elements.iter().filter(|new| !observed.elements.contains(new)).for_each(|new| observer.observe(new));
            observed.elements = elements;
        });
    }
}

fn strip(page: Page, set: &Arc<LessonSet>, (at, step): (usize, usize)) -> AnyView {
    let lesson = &set.lessons[at];
    let now = &lesson.steps[step];
    let last = step + 1 == lesson.steps.len();
    let title = NodeRef::<html::H3>::new();
    // Keyboard and screen reader users continue at the step's title.
    effect(move || {
        if let Some(title) = title.get() {
            drop(title.focus());
        }
    });
    let texts: Vec<&String> =
        now.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None }).collect();
    let side = |part: &Part| match part {
        Part::Text(_) => None,
        Part::Formula(key) => Some(formula(page, set, key, true)),
    };
    let side = now.parts.iter().filter_map(side).collect_view();
    let asked = now.question.as_ref().map(|asked| question(page, asked));
    let next_lesson = set.lessons.get(at + 1).map(|next| next.title.clone());
    let next_label = match (last, &next_lesson) {
        (false, _) => t!("Next").to_owned(),
        (true, Some(title)) => t!("Next lesson: {title}", title = title),
        (true, None) => t!("Finish").to_owned(),
    };
    let address = format!("?lesson={}.{}", lesson.key, step + 1);
    let link = last.then(|| view! { <p><a data-testid="lesson-link" href=address>{t!("Link to this state")}</a></p> });
    view! {
        <section class="lesson" aria-label=t!("Lesson") data-testid="lesson">
            <div class="lesson-head">
                <h2><span class="word">{t!("Lesson")}" "</span>{format!("{} · {}", at + 1, lesson.title)}</h2>
                <button type="button" class="quiet" data-testid="lesson-restore" on:click=on_click(move |_| LessonPlayer(page).restore_settings())>{t!("Restore my settings")}</button>
                <button type="button" class="quiet close" aria-label=t!("Close the lesson") title=t!("Close the lesson and restore your settings") on:click=on_click(move |_| LessonPlayer(page).close_lesson())>"×"</button>
            </div>
            <div class="lesson-body">
                <h3 tabindex="-1" node_ref=title>{now.title.clone()}</h3>
                <div class="lesson-text">{paragraphs(page, &texts)}{link}</div>
                {asked}
                <div class="lesson-side">{side}</div>
            </div>
            <div class="lesson-turn">
                <button type="button" data-testid="lesson-back" disabled={step == 0} on:click=on_click(move |_| LessonPlayer(page).turn(false))>{t!("Back")}</button>
                <span>{t!("{step} of {all}", step = step + 1, all = lesson.steps.len())}</span>
                <button type="button" class="primary" data-testid="lesson-next" on:click=on_click(move |_| LessonPlayer(page).turn(true))>{next_label}</button>
            </div>
        </section>
    }
    .into_any()
}
