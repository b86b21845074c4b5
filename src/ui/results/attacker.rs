//! Bounds on what any attacker can do.

use leptos::prelude::*;

use super::sentence::sentence;
use crate::{
    accounting::risk::{AttackBound, PrivacyCurve},
    plot::{
        drawing::{Drawing, FORBIDDEN, GHOST, Line, Range, Shape, Write},
        format,
    },
    ui::{
        size::closures::{bool_fn, on_event, text_fn},
        state::Page,
        text::t,
    },
};

/// Offered shares: of false alarms, and of prior belief.
const ALARMS: [f64; 4] = [0.001, 0.01, 0.05, 0.1];

const PRIORS: [f64; 4] = [0.01, 0.1, 0.5, 0.9];

/// Formats an offered share: `0.1%`, `5%`.
fn percents(share: f64) -> String {
    format::number(share * 100.0) + "%"
}

/// A choice within a sentence.
fn chosen(label: &'static str, shares: &'static [f64; 4], now: RwSignal<usize>) -> AnyView {
    let options = shares
        .iter()
        .enumerate()
        .map(|(at, share)| view! { <option selected=bool_fn(move || now.get() == at)>{percents(*share)}</option> })
        .collect_view();
    let choose = move |event| {
        let share = event_target_value(&event);
        now.set(shares.iter().position(|each| percents(*each) == share).unwrap_or_default());
    };
    view! { <select aria-label=label on:change=on_event(choose)>{options}</select> }.into_any()
}

/// What an attacker who sees everything released can find out at most, in sentences.
pub fn attacker(page: Page) -> AnyView {
    let attack = page.guarantee.attack;
    let (alarms, prior) = (RwSignal::new(2), RwSignal::new(2));
    let share = move |of: fn(&PrivacyCurve, f64, f64) -> f64| {
        // Rounded up, because it is shown as a bound.
        text_fn(move || match attack.get() {
            Some(attack) => format::percent_at_most(of(&attack, PRIORS[prior.get()], ALARMS[alarms.get()])),
            None => String::new(),
        })
    };
    let source = move || match page.spending.whole_curve().is_some() {
        true => t!("From the whole privacy curve, by tight accounting."),
        false => t!(
            "From ε and δ alone; while the run is paused, tight accounting gives the whole curve, if it supports this noise."
        ),
    };
    let found = view! { <strong data-testid="attack-found">{share(|attack, _, alarms| attack.best_true_positive_rate(alarms))}</strong> };
    let sure = view! { <strong data-testid="attack-sure">{share(|attack, prior, alarms| attack.posterior_if_flagged(prior, alarms))}</strong> };
    let advantage =
        view! { <strong data-testid="attack-advantage">{share(|attack, _, _| attack.advantage())}</strong> };
    let guessed = text_fn(move || percents(ALARMS[alarms.get()]));
    view! {
        <p>{t!("Suppose somebody sees everything that this training released, and guesses whether a certain image (or user, if ε is per user) was in the data.")}" "
            {sentence(
                t!("If they wrongly accuse {alarms} of those that were not, they find at most {found} of those that were; blind guessing finds {guessed}."),
                vec![
                    ("alarms", chosen(t!("False alarms"), &ALARMS, alarms)),
                    ("found", found.into_any()),
                    ("guessed", guessed.into_any()),
                ],
            )}</p>
        <p>{sentence(
                t!("Somebody who thought it {prior} likely can be at most {sure} sure after such a test says it was in."),
                vec![("prior", chosen(t!("Believed before"), &PRIORS, prior)), ("sure", sure.into_any())],
            )}" "
            {sentence(
                t!("The attacker's advantage (share found minus share of false alarms) is at most {advantage}."),
                vec![("advantage", advantage.into_any())],
            )}</p>
        <p class="small-label" data-testid="attack-source">{text_fn(source)}" "{t!("All of these are upper bounds: the truth may be less.")}</p>
    }
    .into_any()
}

/// Returns the chart of the largest true-positive rate of any attack, by false-positive rate.
pub fn allowed(attack: Option<PrivacyCurve>) -> Drawing {
    let share = |label, write| Range { low: 0.0, high: 1.0, logarithmic: false, label, write };
    let lines = attack.map(|attack| {
        let points =
            |of: &dyn Fn(f64) -> f64| (0..=100).map(|i| f64::from(i) / 100.0).map(|f| (f, of(f))).collect::<Vec<_>>();
        let found = points(&|f| attack.best_true_positive_rate(f));
        // The region above the curve.
        let region = [(1.0, 1.0), (0.0, 1.0)].into_iter().chain(found.iter().copied()).collect();
        vec![
            Line { class: FORBIDDEN, name: String::new(), points: region },
            Line { class: "line-epsilon", name: t!("members found, at most").to_owned(), points: found },
            Line { class: GHOST, name: t!("guessing").to_owned(), points: points(&|f| f) },
        ]
    });
    Drawing {
        lines: lines.unwrap_or_default(),
        x: share(t!("false alarms"), Write::Percent),
        y: share(t!("members found"), Write::PercentAtMost),
        shape: Shape::Lines,
        summary: t!("Largest share of members that any attack can find, by its share of false alarms.").to_owned(),
    }
}
