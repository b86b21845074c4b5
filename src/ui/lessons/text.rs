//! A step's paragraphs. Those with numbers wait until the page shows the run they describe.

use leptos::prelude::*;

use crate::ui::{
    size::closures::{bool_fn, bool_memo, on_click, text_fn, view_fn},
    state::{
        Figures, LessonPlayer, LessonProgress, Page,
        lesson_text::{emphasis, fill, names},
    },
    text::t,
};

/// Builds a text with its numbers and emphasis.
pub fn filled(page: Page, text: &str) -> AnyView {
    let piece = |(strong, piece): (bool, &str)| {
        let piece = piece.to_owned();
        let text = text_fn(move || fill(&piece, |name| Figures(page).value_of(name)));
        if strong { view! { <em>{text}</em> }.into_any() } else { text.into_any() }
    };
    emphasis(text).into_iter().map(piece).collect_view().into_any()
}

/// True if a text may be shown: one with numbers only once the page shows the run it describes.
pub fn is_true(page: Page, text: &str) -> bool {
    let says = || {
        LessonPlayer(page).standing() == LessonProgress::Ready
            && names(text).all(|name| Figures(page).value_of(name).is_some())
    };
    !text.contains('{') || says()
}

/// Builds the paragraphs, with a sentence in place of those whose numbers are not ready.
pub fn paragraphs(page: Page, texts: &[&String]) -> AnyView {
    let standing = Memo::new(move |_| LessonPlayer(page).standing());
    let all: Vec<String> = texts.iter().map(|text| (*text).clone()).collect();
    let waits = bool_memo(move || !all.iter().all(|text| is_true(page, text)));
    let paragraph = |text: &&String| {
        let (asked, text) = ((*text).clone(), (*text).clone());
        let shown = bool_memo(move || is_true(page, &asked));
        // Remove untrue paragraphs instead of hiding them.
        view_fn(move || shown.get().then(|| view! { <p>{filled(page, &text)}</p> }.into_any()))
    };
    let other = bool_memo(move || standing.get() == LessonProgress::Other);
    let sentence = move || match standing.get() {
        LessonProgress::Ready => t!("The numbers here are still being computed.").to_owned(),
        LessonProgress::Coming(sentence) => format!("{sentence} {}", t!("Then numbers appear here.")),
        LessonProgress::Other => t!("The settings differ from this step's.").to_owned(),
        LessonProgress::Impossible(sentence) => sentence.to_owned(),
    };
    view! {
        {texts.iter().map(paragraph).collect_view()}
        <p class="lesson-wait" data-testid="lesson-wait" hidden=bool_fn(move || !waits.get() && !other.get())>{text_fn(sentence)}" "
            {view_fn(move || other.get().then(|| view! {
                <button type="button" data-testid="lesson-again" on:click=on_click(move |_| LessonPlayer(page).stage_again())>{t!("Use this step's settings")}</button>
            }.into_any()))}</p>
    }
    .into_any()
}
