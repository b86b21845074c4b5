//! The fold of attacks: on the current run, and well-known ones.

use leptos::prelude::*;

use super::{attack, candidates::candidates, fold::fold, town::town};
use crate::ui::{state::Page, text::t};

/// The fold. Its contents are built once it is opened.
pub fn panel(page: Page) -> AnyView {
    let attacks = page.attacks;
    attack::watch(page);
    fold(page, ["attacks", t!("Attacks")], attacks.open, attacks.linked, |page| {
        view! { {attack::attack(page)}{town(page)}{candidates(page)} }.into_any()
    })
}
