//! The address says what is set.

use leptos::prelude::*;

use crate::ui::{browser, link::Link, size::closures::effect, state::Page};

/// The address follows the settings, so that it can be shared at any moment.
pub fn address(page: Page) {
    let mut first = true;
    effect(move || {
        let lesson = page.lessons.name();
        let (lab, query) = (page.lab.open.get(), page.lab.query.get());
        let link = Link { lesson, lab, query, ..page.link() };
        // A link stays as it came until something is changed.
        if std::mem::take(&mut first) {
            return;
        }
        browser::set_query(&link.write());
    });
}
