//! Attacks that people recognise: the fold that holds them.

use leptos::{html, prelude::*};

use super::{candidates::candidates, gradient::gradient, town::town};
use crate::ui::{
    size::closures::{bool_fn, effect, on_event, view_fn},
    state::{Page, Panel},
    text::t,
};

/// The fold. What is in it is there once it is opened.
pub fn panel(page: Page) -> AnyView {
    let attacks = page.attacks;
    let node = NodeRef::<html::Details>::new();
    if attacks.linked {
        effect(move || {
            if let Some(fold) = node.get() {
                page.appearance.show_panel(Panel::Results);
                set_timeout(move || fold.scroll_into_view(), std::time::Duration::from_millis(300));
            }
        });
    }
    let toggled = move |event: leptos::ev::Event| {
        attacks.open.set(event_target::<web_sys::HtmlDetailsElement>(&event).open());
    };
    let inside = view_fn(move || {
        attacks.open.get().then(|| view! { {town(page)}{candidates(page)}{gradient(page)} }.into_any())
    });
    view! {
        <details class="meaning" data-testid="attacks" node_ref=node open=bool_fn(move || attacks.open.get()) on:toggle=on_event(toggled)>
            <summary>{t!("Attacks that people know")}</summary>{inside}
        </details>
    }
    .into_any()
}
