//! A label as headed lines.

use super::facts::{ACCUSED, Bounds, PrivacyLabel, StepsCounted};
use crate::accounting::decimal::upper;

/// Decimals of an ε.
const DECIMALS: usize = 3;

/// A heading, and names with values under it.
pub type Section = (&'static str, Vec<(String, String)>);

pub fn headline(label: &PrivacyLabel) -> String {
    match &label.bounds {
        Ok(bounds) => format!("ε ≤ {} at δ = {:e}", upper(bounds.epsilon(), DECIMALS), label.delta),
        Err(_) => "No guarantee".to_owned(),
    }
}

/// Returns what it means for people.
pub fn odds(label: &PrivacyLabel) -> String {
    match &label.bounds {
        Ok(bounds) => format!(
            "Somebody who sees everything that was released guesses whose example was in the data. Of 100 people whose example was not in, they accuse {ACCUSED}; of 100 whose example was, at most {}.",
            bounds.found
        ),
        Err(reason) => format!("{}. No number would be honest here.", sentence_start(reason)),
    }
}

pub fn sections(label: &PrivacyLabel) -> Vec<Section> {
    let own =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut all: Vec<Section> = vec![];
    if !label.about.is_empty() {
        all.push((
            "The training",
            label.about.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        ));
    }
    let releases = label.releases.to_string();
    all.push((
        "What is protected",
        own(&[
            ("Protected unit", &label.unit),
            ("Neighbouring data sets", &label.neighbours),
            ("Sampling", &label.sampling),
            ("Releases counted", &releases),
        ]),
    ));
    if let Ok(bounds) = &label.bounds {
        all.push(("How much", how_much(label, bounds)));
    }
    all.push(("Tuning, and other runs", vec![("Together".to_owned(), label.tuning.clone())]));
    all
}

fn how_much(label: &PrivacyLabel, bounds: &Bounds) -> Vec<(String, String)> {
    let renyi = |name: &str, found: crate::report::OrderedEpsilon| {
        (format!("ε ≤ {}", upper(found.epsilon, DECIMALS)), format!("Rényi accounting, order {}, {name}", found.order))
    };
    let steps = label.releases;
    let holds = match label.counted {
        StepsCounted::Planned { .. } => {
            format!(
                "Planned steps, all {steps}: it holds whenever the training stopped, if they were planned before it began."
            )
        }
        StepsCounted::Ran => format!(
            "Steps that ran: {steps}. It holds if nobody decided when to stop by what the releases showed. It is not known how many were planned."
        ),
    };
    let mut rows = vec![("Counted".to_owned(), holds), ("δ".to_owned(), format!("{:e}", label.delta))];
    rows.extend(bounds.tight.iter().map(|(epsilon, how)| (format!("ε ≤ {}", upper(*epsilon, DECIMALS)), how.clone())));
    rows.push(renyi("conversion of Canonne, Kamath and Steinke 2020", bounds.improved));
    rows.push(renyi("conversion of Mironov 2017", bounds.classic));
    rows.extend(bounds.gaussian.map(|fit| {
        let what = format!("Gaussian differential privacy (Dong, Roth and Su 2022): {}", fit.in_words(DECIMALS));
        (format!("μ ≤ {}", upper(fit.mu, DECIMALS)), what)
    }));
    if let StepsCounted::Planned { ran, so_far } = label.counted
        && ran < steps
    {
        let what =
            format!("Steps that ran: {ran}. It holds if nobody decided when to stop by what the releases showed.");
        rows.push((format!("ε ≤ {} so far", upper(so_far, DECIMALS)), what));
    }
    rows
}

/// Capitalizes the phrase and drops its full stop.
fn sentence_start(phrase: &str) -> String {
    let mut chars = phrase.trim_end_matches('.').chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
