//! The fold of well-known attacks.

use leptos::prelude::*;

use super::{candidates::candidates, fold::fold, gradient::gradient, town::town};
use crate::ui::{state::Page, text::t};

/// The fold. Its contents are built once it is opened.
pub fn panel(page: Page) -> AnyView {
    let attacks = page.attacks;
    fold(page, ["attacks", t!("Known attacks")], attacks.open, attacks.linked, |page| {
        view! { {town(page)}{candidates(page)}{gradient(page)} }.into_any()
    })
}
