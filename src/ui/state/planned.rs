//! The questions to the accountant about settings, before Play.

use crate::{ui::settings::Settings, worker::accounts::Question};

/// Number of points of the tight curve.
const TIGHT: u64 = 12;
/// Epochs projected for a run without an end.
pub const OPEN_EPOCHS: u64 = 10;

/// Returns the number of steps to account for in advance, on `train` examples.
#[must_use]
pub fn planned_steps(settings: &Settings, train: u32) -> u64 {
    let all = settings.users.unwrap_or(train);
    let open = OPEN_EPOCHS * u64::from(all) / u64::from(settings.lot.max(1));
    settings.steps.unwrap_or(open).max(1)
}

/// Returns the question for their cost.
pub fn projection_question(settings: &Settings, train: u32) -> Question {
    Question::Projection { config: settings.config(), train, steps: planned_steps(settings, train) }
}

/// Returns the question for tight ε by step.
pub fn tight_question(settings: &Settings, train: u32) -> Question {
    let steps = planned_steps(settings, train);
    let mut at: Vec<u64> = (1..=TIGHT).map(|i| (steps * i * i / (TIGHT * TIGHT)).max(1)).collect();
    at.dedup();
    Question::Tight { config: settings.config(), train, steps: at }
}

/// Returns the question for how many members an attacker finds at most after all of them.
pub fn odds_question(settings: &Settings, train: u32) -> Question {
    Question::Odds { config: settings.config(), train, steps: planned_steps(settings, train) }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{
        ui::link,
        worker::{
            accounts::{Accounts, Answer, known},
            opening_prices::{PRICES, Prices},
        },
    };

    /// True if two answers have equal shapes and numbers, up to rounding on another processor.
    fn same(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => {
                let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
                (a - b).abs() <= 1e-9 * b.abs()
            }
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
            }
            _ => a == b,
        }
    }

    /// The shipped prices are the accountant's for what the page asks as it opens with MNIST.
    #[test]
    fn opening_prices_are_the_accountant_s() {
        let settings = link::read("").0.settings;
        let mut accounts = Accounts::default();
        let train = 60_000;
        let Answer::Projection(Ok(projection)) = accounts.compute(projection_question(&settings, train)) else {
            panic!("it has a price")
        };
        let Answer::Tight(Ok(tight)) = accounts.compute(tight_question(&settings, train)) else {
            panic!("it has a tight price")
        };
        let Answer::Odds(Ok((odds, _))) = accounts.compute(odds_question(&settings, train)) else {
            panic!("it has odds")
        };
        let computed = Prices { config: settings.config(), train, projection, tight, odds };
        if std::env::var_os("HUSHGRAD_WRITE").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/worker/opening_prices.postcard");
            std::fs::write(path, postcard::to_allocvec(&computed).unwrap()).unwrap();
        }
        let shipped: Prices = postcard::from_bytes(PRICES).unwrap();
        let [shipped, fresh] = [&shipped, &computed].map(|all| serde_json::to_value(all).unwrap());
        assert!(same(&shipped, &fresh), "HUSHGRAD_WRITE=1 cargo test opening_prices writes them anew:\n{fresh}");
        let questions = [projection_question, tight_question, odds_question];
        for question in questions.map(|question| question(&settings, train)) {
            assert!(known(&question).is_some(), "none is computed again");
        }
        let other = Settings { lot: settings.lot + 1, ..settings };
        assert_eq!(known(&projection_question(&other, train)), None, "of these settings alone");
    }
}
