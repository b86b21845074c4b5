//! What an attacker can do at most.

use leptos::prelude::*;

use crate::{
    accounting::risk::{AttackBound, PrivacyCurve},
    plot::{
        drawing::{Drawing, GHOST, Line, Range, Write},
        format,
        series::Point,
    },
    ui::size::closures::{bool_fn, on_event, text_fn},
};

/// Shares to choose from: of false alarms, and of what somebody believed before.
const ALARMS: [(&str, f64); 4] = [("0.1%", 0.001), ("1%", 0.01), ("5%", 0.05), ("10%", 0.1)];

const PRIORS: [(&str, f64); 4] = [("1%", 0.01), ("10%", 0.1), ("50%", 0.5), ("90%", 0.9)];

/// A choice in the midst of a sentence.
fn chosen(label: &'static str, shares: &'static [(&'static str, f64); 4], now: RwSignal<usize>) -> AnyView {
    let options = shares
        .iter()
        .enumerate()
        .map(|(at, (share, _))| view! { <option selected=bool_fn(move || now.get() == at)>{*share}</option> })
        .collect_view();
    let choose = move |event| {
        let share = event_target_value(&event);
        now.set(shares.iter().position(|(each, _)| *each == share).unwrap_or_default());
    };
    view! { <select aria-label=label on:change=on_event(choose)>{options}</select> }.into_any()
}

/// What somebody who sees all that was released can find out at most, in sentences.
pub fn attacker(attack: Memo<Option<PrivacyCurve>>, whole: Memo<Option<Vec<Point>>>) -> AnyView {
    let (alarms, prior) = (RwSignal::new(2), RwSignal::new(2));
    let share = move |of: fn(&PrivacyCurve, f64, f64) -> f64| {
        // Rounded up: what is shown is a bound, too.
        text_fn(move || match attack.get() {
            Some(attack) => format::percent_at_most(of(&attack, PRIORS[prior.get()].1, ALARMS[alarms.get()].1)),
            None => String::new(),
        })
    };
    let source = move || match whole.with(Option::is_some) {
        true => "By the whole privacy curve, from tight accounting. ",
        false => "By ε and δ alone; while the run stands still, tight accounting knows the whole curve. ",
    };
    view! {
        <p>"Suppose somebody sees everything that this training released, and guesses whether a certain image was in the data. \
            If they accept being wrong about "{chosen("False alarms", &ALARMS, alarms)}" of the images that were not, they find at most "
            <strong data-testid="attack-found">{share(|attack, _, alarms| attack.best_true_positive_rate(alarms))}</strong>
            " of those that were; blind guessing finds "{text_fn(move || ALARMS[alarms.get()].0)}"."</p>
        <p>"Told by such a test that it was in, somebody who thought that "{chosen("Believed before", &PRIORS, prior)}" likely may then be "
            <strong data-testid="attack-sure">{share(|attack, prior, alarms| attack.posterior_if_flagged(prior, alarms))}</strong>
            " sure of it. Their advantage, which is what they find beyond their false alarms, is nowhere more than "
            <strong data-testid="attack-advantage">{share(|attack, _, _| attack.advantage())}</strong>"."</p>
        <p class="small-label" data-testid="attack-source">{text_fn(source)}"All of it is an upper bound: the truth may be less."</p>
    }
    .into_any()
}

/// True-positive against false-positive rate: the curve that no attack lies above.
pub fn allowed(attack: Option<PrivacyCurve>) -> Drawing {
    let share = |label, write| Range { low: 0.0, high: 1.0, logarithmic: false, label, write };
    let lines = attack.map(|attack| {
        let points =
            |of: &dyn Fn(f64) -> f64| (0..=100).map(|i| f64::from(i) / 100.0).map(|f| (f, of(f))).collect::<Vec<_>>();
        let found = points(&|f| attack.best_true_positive_rate(f));
        vec![
            Line { class: "line-epsilon", name: "members found, at most".to_owned(), points: found },
            Line { class: GHOST, name: "guessing".to_owned(), points: points(&|f| f) },
        ]
    });
    Drawing {
        lines: lines.unwrap_or_default(),
        x: share("false alarms", Write::Percent),
        y: share("members found", Write::PercentAtMost),
        scatter: false,
        summary: "Largest share of members that any attack finds, by its share of false alarms.".to_owned(),
    }
}
