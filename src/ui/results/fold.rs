//! A fold that a link may open and scroll into view.

use leptos::{html, prelude::*};

use crate::ui::{
    size::closures::{bool_fn, effect, on_event, view_fn},
    state::{Page, Panel},
};

/// The fold, with its id and summary; `inside` is built while it is open.
pub fn fold(
    page: Page,
    [id, summary]: [&'static str; 2],
    open: RwSignal<bool>,
    linked: bool,
    inside: fn(Page) -> AnyView,
) -> AnyView {
    let node = NodeRef::<html::Details>::new();
    if linked {
        effect(move || {
            if let Some(fold) = node.get() {
                page.appearance.show_panel(Panel::Results);
                set_timeout(move || fold.scroll_into_view(), std::time::Duration::from_millis(300));
            }
        });
    }
    let toggled = move |event: leptos::ev::Event| {
        open.set(event_target::<web_sys::HtmlDetailsElement>(&event).open());
    };
    let inside = view_fn(move || open.get().then(|| inside(page)));
    view! {
        <details class="meaning" id=id data-testid=id node_ref=node open=bool_fn(move || open.get()) on:toggle=on_event(toggled)>
            <summary>{summary}</summary>{inside}
        </details>
    }
    .into_any()
}
