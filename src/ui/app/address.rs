//! The address says what is set.

use leptos::prelude::*;

use crate::ui::{
    browser,
    link::Link,
    settings::{Settings, Speed},
    size::closures::effect,
    state::Page,
};

/// The address follows the settings, so that it can be shared at any moment.
pub fn address(page: Page) {
    let mut first = true;
    effect(move || {
        let lesson = page.lessons.name();
        let (lab, query) = (page.lab.open.get(), page.lab.query.get());
        let mut link = Link { lesson, lab, query, ..page.link() };
        // An open step takes its own settings; the address names only what else is set.
        if page.is_staged() {
            link.settings = Settings { digits: link.settings.digits, ..Settings::default() };
            link.speed = Speed::Max;
        }
        // A link stays as it came until something is changed.
        if std::mem::take(&mut first) {
            return;
        }
        browser::set_query(&link.write());
    });
}
