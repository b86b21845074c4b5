//! What an attacker can find out, in images of a hundred: odds as pictures and words (Nanayakkara et al. 2023).

use leptos::prelude::*;

use super::sentence::sentence;
use crate::{
    accounting::risk::{AttackBound, PrivacyCurve},
    plot::format,
    train::label::{ACCUSED, of_a_hundred},
    ui::{
        settings::Settings,
        size::closures::{bool_fn, text_fn},
        state::{Page, recorded::Column},
        text::t,
    },
};

/// Circles in a row, and units from one to the next.
const ROW: u32 = 10;
const UNIT: u32 = 10;

/// What the odds are of.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// What was released so far.
    Released,
    /// What is planned, before there is anything.
    Planned,
    /// The recorded run, before it is known what the planned one will cost: the digits may be others, or fewer.
    Recorded,
    /// Nothing is known yet, or nothing is bounded.
    Nothing,
}

/// Images of a hundred in the data that any attacker finds at most who accuses so many of a hundred that were not in it.
fn found(curve: &PrivacyCurve) -> u32 {
    of_a_hundred(curve.best_true_positive_rate(f64::from(ACCUSED) / 100.0))
}

/// The odds: of what was released, by `attack`; before there is anything, of what is planned.
pub fn odds(page: Page, attack: Memo<Option<PrivacyCurve>>) -> AnyView {
    let unbounded = Memo::new(move |_| page.settings.with(Settings::no_guarantee).is_some());
    let planned = move || {
        let delta = page.settings.with(|settings| settings.delta);
        let (of, epsilon) = match page.cost.end() {
            Some(epsilon) => (Of::Planned, epsilon),
            None => (Of::Recorded, page.recorded()?.curve(Column::Tight).last()?.1),
        };
        Some((of, Some(found(&PrivacyCurve::new([(format::shown(epsilon), delta)]).ok()?))))
    };
    let stepped = move || page.run.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0));
    let now = Memo::new(move |_| {
        if unbounded.get() {
            return (Of::Nothing, Some(100));
        }
        if stepped() {
            return match attack.get() {
                Some(curve) => (Of::Released, Some(found(&curve))),
                None => (Of::Nothing, Some(100)),
            };
        }
        planned().unwrap_or((Of::Nothing, None))
    });
    let number = move || now.get().1.map_or_else(|| "–".to_owned(), |found| found.to_string());
    let lead = move || match now.get() {
        (Of::Nothing, Some(_)) => t!("Nothing bounds what an attacker finds here."),
        (Of::Nothing, None) => t!("What may an attacker find? It is being computed."),
        (Of::Recorded, _) => t!("With everything released of the recorded run:"),
        (Of::Planned, _) => t!("When the planned steps are done and all of them are released:"),
        (Of::Released, _) => t!("With everything released so far:"),
    };
    let whole = move || page.settings.with(Settings::whole);
    let heading = move || match whole() {
        Some("users") => t!("Was this user in?"),
        Some(_) => t!("Was this micro-batch in?"),
        None => t!("Was this image in?"),
    };
    let grid = move |people: Box<dyn Fn() -> u32 + Send + Sync>, class: &'static str| {
        view! { <svg class=format!("people {class}") viewBox="0 0 100 100" aria-hidden="true" inner_html=text_fn(move || dots(people()))></svg> }.into_any()
    };
    let found = view! { <strong data-testid="odds-found">{text_fn(number)}</strong> };
    view! {
        <section class="odds" data-testid="odds" aria-label=t!("Odds")>
            <h2>{text_fn(heading)}</h2>
            <p class="odds-lead">{text_fn(lead)}</p>
            <p class="odds-lead" data-testid="odds-whole" hidden=bool_fn(move || whole().is_none())>{t!("“Images” are here all images of one user, or of one micro-batch, together: of a single image ε is larger.")}</p>
            <div class="odds-grids" class:unknown=bool_fn(move || now.get().1.is_none())>
                <div>{grid(Box::new(|| ACCUSED), "wrong")}<p>{sentence(&t!("Of 100 images that were *not in*, the attacker accuses *{accused}*.", accused = ACCUSED), vec![])}</p></div>
                <div>{grid(Box::new(move || now.get().1.unwrap_or(ACCUSED)), "right")}<p>{sentence(t!("Of 100 that *were in*, at most {found}. Guessing finds 5."), vec![("found", found.into_any())])}</p></div>
            </div>
        </section>
    }
    .into_any()
}

/// A hundred images, the first `accused` of whom are filled.
pub(super) fn dots(accused: u32) -> String {
    (0..100)
        .map(|i| {
            let (x, y) = (i % ROW * UNIT + UNIT / 2, i / ROW * UNIT + UNIT / 2);
            let class = if i < accused { " class=\"accused\"" } else { "" };
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3.6\"{class}/>")
        })
        .collect()
}
