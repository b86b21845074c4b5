//! A sweep's result in a sentence, from the numbers of its runs.

use super::numbers::Number;
use crate::{plot::format, ui::text::t};

/// A finished run of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Value of the swept number.
    pub value: f64,
    /// Accuracy on the test images.
    pub accuracy: f64,
    /// Upper bound on ε; `None`: no guarantee.
    pub epsilon: Option<f64>,
}

/// Accuracies closer than this are called equal: runs of the same settings may differ by as much.
const CHANCE: f64 = 0.005;
/// Two ε this close, relative to the larger, are called equal.
const SAME: f64 = 0.01;

/// Returns the verdict on `number`; `None` with fewer than two runs.
#[must_use]
pub fn verdict(number: Number, outcomes: &[Outcome]) -> Option<String> {
    let label = number.spec().label.get();
    let best = *outcomes.iter().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
    let worst = *outcomes.iter().min_by(|a, b| a.accuracy.total_cmp(&b.accuracy))?;
    let [first, .., last] = outcomes else { return None };
    let percent = |outcome: &Outcome| format::percent(outcome.accuracy);
    let value = |outcome: &Outcome| format::number(outcome.value);
    let epsilons: Option<Vec<f64>> = outcomes.iter().map(|outcome| outcome.epsilon).collect();
    let accuracy = if best.accuracy - worst.accuracy < CHANCE {
        t!(
            "{label} hardly affects accuracy here: {worst} to {best}",
            label = label,
            worst = percent(&worst),
            best = percent(&best)
        )
    } else {
        t!(
            "{label} {best} is best, {most}; {worst} is worst, {least}",
            label = label,
            best = value(&best),
            most = percent(&best),
            worst = value(&worst),
            least = percent(&worst)
        )
    };
    let privacy = match epsilons {
        None => t!("not every run has an ε").to_owned(),
        Some(all) => {
            let (least, most) = all.iter().fold((f64::INFINITY, 0f64), |(low, high), e| (low.min(*e), high.max(*e)));
            if most - least <= SAME * most {
                t!("ε is the same for all, at most {epsilon}", epsilon = format::epsilon(most))
            } else {
                let end = |outcome: &Outcome| outcome.epsilon.map_or_else(String::new, format::epsilon);
                t!(
                    "ε goes from {first} at {low} to {last} at {high}",
                    first = end(first),
                    low = value(first),
                    last = end(last),
                    high = value(last)
                )
            }
        }
    };
    let chance = t!("One run each: half a point of accuracy may be chance.");
    Some(format!("{accuracy}; {privacy}. {chance}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(of: &[(f64, f64, Option<f64>)]) -> Vec<Outcome> {
        of.iter().map(|&(value, accuracy, epsilon)| Outcome { value, accuracy, epsilon }).collect()
    }

    #[test]
    fn a_verdict_is_made_of_the_runs_own_numbers() {
        let rates = runs(&[(0.5, 0.80, Some(0.3)), (2.0, 0.88, Some(0.3)), (8.0, 0.85, Some(0.3))]);
        assert_eq!(
            verdict(Number::LearningRate, &rates).unwrap(),
            "Learning rate 2 is best, 88.0%; 0.5 is worst, 80.0%; ε is the same for all, at most 0.300. One run each: half a point of accuracy may be chance."
        );
        let noise = runs(&[(0.5, 0.901, Some(4.0)), (8.0, 0.899, Some(0.25))]);
        let said = verdict(Number::Scale, &noise).unwrap();
        assert!(said.contains("hardly affects accuracy here: 89.9% to 90.1%"), "{said}");
        assert!(said.contains("ε goes from 4.00 at 0.5 to 0.250 at 8"), "{said}");
        let open = runs(&[(1.0, 0.9, None), (2.0, 0.95, Some(1.0))]);
        assert!(verdict(Number::Lot, &open).unwrap().contains("not every run has an ε"));
    }

    #[test]
    fn one_run_has_no_verdict() {
        assert_eq!(verdict(Number::Lot, &[]), None);
        assert_eq!(verdict(Number::Lot, &runs(&[(1.0, 0.9, None)])), None);
    }
}
