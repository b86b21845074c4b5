//! Keeps the address and the page's state in sync.

use leptos::prelude::*;

use crate::ui::{
    browser,
    link::{Link, Lock, Opening, encoding::pairs},
    settings::{Settings, Speed},
    size::closures::effect,
    state::{HandedInRun, LessonPlayer, Page},
};

/// Splits a query into the lesson step that it names and its other pairs.
fn lesson_apart(query: &str) -> (Option<String>, Vec<(String, String)>) {
    let (mut lesson, rest): (Vec<_>, Vec<_>) = pairs(query).into_iter().partition(|(key, _)| key == "lesson");
    (lesson.pop().map(|(_, name)| name), rest)
}

/// Keeps the address in sync with the settings, so that it can be shared at any time, and the page
/// with the address. Steps of lessons are entries of the history.
pub fn address(page: Page) {
    let shown = StoredValue::new(browser::query());
    browser::on_other_address(move || {
        let query = browser::query();
        let Some(before) = shown.try_update_value(|shown| std::mem::replace(shown, query.clone())) else { return };
        // Only the fragment may have changed.
        if before == query {
            return;
        }
        // If only the lesson's step differs, enter it: the visitor's earlier settings stay saved.
        let (lesson, rest) = lesson_apart(&query);
        let alone = LessonPlayer(page).is_staged() && lesson_apart(&before).1 == rest;
        match page.lessons.place_of(lesson.as_deref().filter(|_| alone)) {
            Some(place) => LessonPlayer(page).enter(place),
            None => page.visit(Opening::read(&query, false)),
        }
    });
    let mut first = true;
    effect(move || {
        let lesson = page.lessons.name();
        let (lab, query) = (page.lab.open.get(), page.lab.query.get());
        let (pay_once, pay_once_epsilon) = (page.pay_once.named(), page.pay_once.epsilon.get());
        let pay_once_noise = page.pay_once.mechanism.get();
        // An attack on the run opens the fold itself.
        let attacks = page.attacks.open.get() && page.settings.with(|settings| settings.canaries == 0);
        let own = page.own_training.linked();
        let mut link =
            Link { lesson, lab, query, own, attacks, pay_once, pay_once_noise, pay_once_epsilon, ..page.link() };
        // An open step determines its own settings; write only what else is set.
        if LessonPlayer(page).is_staged() {
            link.settings = Settings { digits: link.settings.digits, ..Settings::default() };
            link.speed = Speed::Max;
            link.pay_once = None;
            link.attacks = false;
        }
        // A task stays in the address; a submission stays while the settings are still its own.
        let task = page.task.with(|task| task.as_ref().map(Lock::write));
        let handed_in =
            page.submission.said.get().filter(|_| HandedInRun(page).is_submission()).map(|said| said.write());
        let parts = [Some(link.write()).filter(|link| !link.is_empty()), task, handed_in];
        // Leave the link unchanged until something changes.
        if std::mem::take(&mut first) {
            return;
        }
        let (named, _) = lesson_apart(&browser::query());
        let turned = page.lessons.place_of(named.as_deref()) != page.lessons.open.get_untracked();
        browser::set_query(&parts.into_iter().flatten().collect::<Vec<_>>().join("&"), turned);
        shown.set_value(browser::query());
    });
}
