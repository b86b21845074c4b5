//! The error, the notice, and undo after a deletion. They overlay the page without moving it;
//! `www/start.js` keeps them off the focused element.

use leptos::prelude::*;

use crate::ui::{
    size::closures::{bool_fn, on_click, text_fn, text_memo, view_fn},
    state::{Page, Threads},
    text::t,
};

/// The error, whose element always exists, and the notices.
pub fn messages(page: Page) -> impl IntoView {
    let error = text_memo(move || {
        page.messages.problems.with(|all| all.last().map_or_else(String::new, |(_, text)| text.clone()))
    });
    let dismiss = move |_| {
        if let Some(origin) = page.messages.problems.with_untracked(|all| all.last().map(|(origin, _)| *origin)) {
            page.messages.clear(origin);
        }
    };
    view! {
        <div class="messages">
            <div class="error" class:shown=bool_fn(move || !error.with(String::is_empty))>
                <p role="alert" data-testid="error">{text_fn(move || error.get())}</p>
                <button type="button" class="quiet" aria-label=t!("Dismiss the message") hidden=bool_fn(move || error.with(String::is_empty)) on:click=on_click(dismiss)>"×"</button>
            </div>
            {view_fn(move || page.messages.notice.get().map(|notice| view! {
                <div class="notice"><p role="status" data-testid="notice">{notice}</p>
                    <button type="button" class="quiet" aria-label=t!("Dismiss the notice") on:click=on_click(move |_| page.messages.notice.set(None))>"×"</button></div>
            }.into_any()))}
            {view_fn(move || (page.trainer.quiet.get() && (page.run.playing.get() || page.run.starting.get())).then(|| view! {
                <div class="notice" data-testid="quiet"><p role="status">{t!("The training thread has not answered for 10 seconds. A step may take that long on this machine, or the thread has crashed.")}</p>
                    <button type="button" on:click=on_click(move |_| Threads(page).lose_trainer(t!("it did not answer")))>{t!("Start again")}</button></div>
            }.into_any()))}
            {view_fn(move || page.runs.deleted.with(|deleted| deleted.as_ref().map(|(_, past)| past.name.clone())).map(|name| view! {
                <div class="notice" data-testid="undo"><p role="status">{t!("“{name}” was deleted. Its releases still count.", name = name)}</p>
                    <button type="button" on:click=on_click(move |_| page.runs.undelete())>{t!("Undo")}</button>
                    <button type="button" class="quiet" aria-label=t!("Dismiss the notice") on:click=on_click(move |_| page.runs.end_undo())>"×"</button></div>
            }.into_any()))}
        </div>
    }
    .into_any()
}
