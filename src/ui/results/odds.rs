//! The attacker's odds in images of a hundred, as pictures and words (Nanayakkara et al. 2023).

use leptos::prelude::*;

use super::sentence::sentence;
use crate::{
    plot::format,
    train::label::ACCUSED,
    ui::{
        settings::Settings,
        size::closures::{bool_fn, text_fn},
        state::{Figures, Odds, Page},
        text::t,
    },
};

/// Circles in a row, and distance between neighbours.
const ROW: u32 = 10;
const UNIT: u32 = 10;

/// The odds from what was released or, before the first step, from what is planned.
pub fn odds(page: Page) -> AnyView {
    let now = Memo::new(move |_| Figures(page).odds());
    let found = move || now.get().of_a_hundred();
    let number = move || found().map_or_else(|| "–".to_owned(), |found| found.to_string());
    let lead = move || match now.get() {
        Odds::Planned(_) if page.knob.is_dragged() => t!("With this noise, after all planned steps:"),
        Odds::Unbounded => t!("Nothing bounds what an attacker finds here."),
        Odds::Unknown => t!("What can an attacker find? Computing…"),
        Odds::Recorded(_) => t!("With everything the recorded run released:"),
        Odds::Planned(_) => t!("After all planned steps:"),
        Odds::Released(_) => t!("With everything released so far:"),
    };
    // Of what the dots show.
    let epsilon = move || {
        let epsilon = match now.get() {
            Odds::Planned(_) => page.planned_epsilon(),
            Odds::Released(_) => page.guarantee.epsilon(),
            _ => None,
        };
        epsilon
            .map_or_else(String::new, |epsilon| t!("In one number: ε ≤ {epsilon}", epsilon = format::epsilon(epsilon)))
    };
    let whole = move || page.settings.with(Settings::whole);
    let heading = move || match whole() {
        Some("users") => t!("Was this user in?"),
        Some(_) => t!("Was this micro-batch in?"),
        None => t!("Was this image in?"),
    };
    let strong = view! { <strong data-testid="odds-found">{text_fn(number)}</strong> };
    view! {
        <section class="odds" data-testid="odds" aria-label=t!("Odds")>
            <h2>{text_fn(heading)}</h2>
            <p class="odds-lead">{text_fn(lead)}</p>
            <p class="odds-lead" data-testid="odds-whole" hidden=bool_fn(move || whole().is_none())>{t!("Here an “image” is all images of one user, or of one micro-batch, together; for a single image ε is larger.")}</p>
            {grids(Box::new(found), strong.into_any())}
            <p class="odds-lead" data-testid="odds-epsilon">{text_fn(epsilon)}</p>
        </section>
    }
    .into_any()
}

/// Returns the two hundreds of images, with a sentence each; `strong` is `found` in words.
pub fn grids(found: Box<dyn Fn() -> Option<u32> + Send + Sync>, strong: AnyView) -> AnyView {
    let found = Memo::new(move |_| found());
    let grid = move |people: Box<dyn Fn() -> u32 + Send + Sync>, class: &'static str| {
        view! { <svg class=format!("people {class}") viewBox="0 0 100 100" aria-hidden="true" inner_html=text_fn(move || dots(people()))></svg> }.into_any()
    };
    view! {
        <div class="odds-grids" class:unknown=bool_fn(move || found.get().is_none())>
            <div>{grid(Box::new(|| ACCUSED), "wrong")}<p>{sentence(&t!("Of 100 *not in*, the attacker accuses *{accused}*.", accused = ACCUSED), vec![])}</p></div>
            <div>{grid(Box::new(move || found.get().unwrap_or(ACCUSED)), "right")}<p>{sentence(t!("Of 100 that *were in*, at most {found}; guessing finds 5."), vec![("found", strong)])}</p></div>
        </div>
    }
    .into_any()
}

/// Returns SVG of a hundred images, the first `accused` of which are filled.
pub(super) fn dots(accused: u32) -> String {
    (0..100)
        .map(|i| {
            let (x, y) = (i % ROW * UNIT + UNIT / 2, i / ROW * UNIT + UNIT / 2);
            let class = if i < accused { " class=\"accused\"" } else { "" };
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3.6\"{class}/>")
        })
        .collect()
}
