//! The best attacker's score, with and without the ringed one: two bells, and this release as a dot.

use leptos::prelude::*;

use super::stations::Shown;
use crate::{
    plot::format,
    ui::{
        size::closures::{bool_fn, text_fn},
        text::t,
    },
};

/// Standard deviations drawn on each side of a bell, and the largest distance drawn between two.
const REACH: f64 = 3.5;
const FAR: f64 = 8.0;
/// Points of a bell.
const POINTS: u32 = 48;
/// Height of a bell, in units of the picture, of which a standard deviation is 10 wide.
const HEIGHT: f64 = 36.0;

/// The bells. Under Gaussian noise the score is the release minus all others, along what the one
/// adds, in standard deviations: normal, and apart by [`Contribution::separation`].
///
/// [`Contribution::separation`]: crate::worker::look::Contribution::separation
pub fn bells(shown: Shown, without: RwSignal<bool>) -> AnyView {
    let apart =
        move || shown.person(|person| person.separation(shown.scale.get()).min(FAR)).filter(|it| it.is_finite());
    let width = 10.0 * (2.0 * REACH + FAR);
    let bell = move |moved: bool| {
        text_fn(move || apart().map(|apart| path(if moved { apart } else { 0.0 }, apart)).unwrap_or_default())
    };
    let dot = move || {
        let (out, apart) = (without.get(), apart().unwrap_or_default());
        let score = shown.person(|person| person.scores[usize::from(out)]).unwrap_or_default();
        format::fixed(across(score + if out { 0.0 } else { apart }, apart), 1)
    };
    let label = move || match apart() {
        Some(apart) => t!(
            "The best attacker's score of this step: with the ringed one it is {apart} standard deviations higher on average",
            apart = format::decimals_of(apart, 1)
        ),
        None => String::new(),
    };
    view! {
        <figure class="bells" data-testid="bells" hidden=bool_fn(move || apart().is_none()) data-apart=text_fn(move || apart().map_or_else(String::new, format::exact))>
            <svg viewBox=format!("0 0 {} {}", format::exact(width), format::exact(HEIGHT + 6.0)) role="img" aria-label=text_fn(label)>
                <path class="out" d=bell(false)></path><path class="in" d=bell(true)></path>
                <circle class:in=bool_fn(move || !without.get()) cx=text_fn(dot) cy=format::exact(HEIGHT + 2.0) r="3.5"></circle>
            </svg>
            <figcaption><div>{t!("The attacker's score")}</div><span class="out">{t!("without it")}</span><span class="in">{t!("with it")}</span></figcaption>
        </figure>
    }
    .into_any()
}

/// Returns the place of a score within the picture, whose middle is between the bells.
fn across(score: f64, apart: f64) -> f64 {
    // `clamp` would bring in the code that formats its panic message.
    let score = score.max(-REACH);
    10.0 * (score.min(REACH + FAR) + REACH + 0.5 * (FAR - apart))
}

/// Returns the outline of a bell about `mean`.
fn path(mean: f64, apart: f64) -> String {
    let point = |i: u32| {
        let z = REACH * (2.0 * f64::from(i) / f64::from(POINTS) - 1.0);
        let y = HEIGHT * (1.0 - (-0.5 * z * z).exp());
        format!("{} {}", format::fixed(across(mean + z, apart), 1), format::fixed(y, 1))
    };
    format!("M{}Z", (0..=POINTS).map(point).collect::<Vec<_>>().join("L"))
}
