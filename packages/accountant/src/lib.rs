//! The accountant's interface for JavaScript. Questions and answers are JSON; a question without a
//! safe answer is an error, never a smaller number. Users call it through `js/index.js`.

use hushgrad_accounting::{
    books,
    calibrate::{self, Method, Target},
    ledger::{Ledger, Release},
    noise::CustomDensity,
    pld::Pld,
    rdp::Orders,
    risk::{AttackBound, PrivacyCurve},
};
use serde::Deserialize;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

/// A calibration target.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Wanted {
    epsilon: f64,
    delta: f64,
    #[serde(default = "tight")]
    method: Method,
}

const fn tight() -> Method {
    Method::Tight
}

/// An answer, or an error as a sentence.
type Answer = Result<String, String>;

fn said(answer: Answer) -> Result<String, JsError> {
    answer.map_err(|sentence| JsError::new(&sentence))
}

fn sentence(error: impl ToString) -> String {
    error.to_string()
}

/// Computes all bounds of a ledger at `delta`, with their assumptions.
///
/// # Errors
/// A sentence: what is wrong with the ledger or δ, or why there is no bound.
#[wasm_bindgen]
pub fn account(ledger: &str, delta: f64) -> Result<String, JsError> {
    said(account_of(ledger, delta))
}

fn account_of(ledger: &str, delta: f64) -> Answer {
    let ledger = Ledger::from_json(ledger).map_err(sentence)?;
    let account = books::account(&ledger, delta).map_err(sentence)?;
    let mut whole = serde_json::to_value(&account).map_err(sentence)?;
    // Every bound holds, so the smallest does.
    let least =
        account.tight.as_ref().map_or(account.improved.epsilon, |tight| tight.value.min(account.improved.epsilon));
    whole["epsilon"] = json!(least);
    whole["text"] = json!(account.to_string());
    Ok(whole.to_string())
}

/// Bounds an attack on the releases of a ledger: the largest true-positive rate at this
/// false-positive rate, and the largest difference of the two rates (advantage).
///
/// # Errors
/// As [`account`]; a rate outside 0 to 1.
#[wasm_bindgen]
pub fn attack(ledger: &str, delta: f64, false_positive_rate: f64) -> Result<String, JsError> {
    said(attack_of(ledger, delta, false_positive_rate))
}

fn attack_of(ledger: &str, delta: f64, share: f64) -> Answer {
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("falsePositiveRate is {share}; it must be from 0 to 1"));
    }
    let ledger = Ledger::from_json(ledger).map_err(sentence)?;
    let account = books::account(&ledger, delta).map_err(sentence)?;
    let points = match account.tight {
        Some(tight) => Pld::of(&ledger).map_err(sentence)?.curve_about(tight.value, account.delta),
        None => vec![(account.improved.epsilon, account.delta)],
    };
    let curve = PrivacyCurve::new(points).map_err(sentence)?;
    Ok(json!({ "true-positive-rate": curve.best_true_positive_rate(share), "advantage": curve.advantage() })
        .to_string())
}

/// Finds the safe end of what a target allows: the least noise scale (`noise`), the most steps
/// (`steps`) or the largest Poisson rate (`rate`) of a release.
///
/// # Errors
/// As [`account`]; the reason why nothing reaches the target.
#[wasm_bindgen]
pub fn calibrate(sought: &str, release: &str, steps: f64, target: &str) -> Result<String, JsError> {
    said(calibrate_of(sought, release, steps, target))
}

fn calibrate_of(sought: &str, release: &str, steps: f64, target: &str) -> Answer {
    let release: Release = serde_json::from_str(release).map_err(|error| format!("the release: {error}"))?;
    release.validate().map_err(sentence)?;
    let wanted: Wanted = serde_json::from_str(target).map_err(|error| format!("the target: {error}"))?;
    let target = Target { epsilon: wanted.epsilon, delta: wanted.delta, method: wanted.method, orders: Orders::All };
    let count = || {
        let whole = steps.fract() == 0.0 && (1.0..=9e15).contains(&steps);
        // Whole and in range.
        whole.then_some(steps as u64).ok_or_else(|| format!("steps is {steps}; it must be a whole number above 0"))
    };
    let found = match sought {
        "noise" => calibrate::noise_scale(&release, count()?, &target).map(|found| (json!(found.value), found.epsilon)),
        "rate" => calibrate::rate(&release, count()?, &target).map(|found| (json!(found.value), found.epsilon)),
        "steps" => calibrate::steps(&release, &target).map(|found| (json!(found.value), found.epsilon)),
        other => return Err(format!("“{other}” is none of noise, steps, rate")),
    };
    let (value, epsilon): (Value, f64) = found.map_err(sentence)?;
    Ok(json!({ "value": value, "epsilon": epsilon }).to_string())
}

/// Parses and checks a density by formula, for the custom noise of a release.
///
/// # Errors
/// What is wrong with the formula.
#[wasm_bindgen]
pub fn density(formula: &str) -> Result<String, JsError> {
    said(density_of(formula))
}

fn density_of(formula: &str) -> Answer {
    let density = CustomDensity::from_formula(formula).map_err(sentence)?;
    serde_json::to_string(&density).map_err(sentence)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    const STEP: &str = r#"{"sampling":{"poisson":{"rate":0.004266666666666667}},"sensitivity":{"l2":{"norm":1}},"noise":{"gaussian":{"sigma":1.1}},"unit":"example"}"#;

    fn ledger() -> String {
        format!(
            r#"{{"format":"hushgrad-ledger","version":1,"releases":[{STEP}],"events":[{{"release":0,"count":3515}}]}}"#
        )
    }

    fn read(answer: Answer) -> Value {
        serde_json::from_str(&answer.unwrap()).unwrap()
    }

    /// The numbers of the crate's front page.
    #[test]
    fn answers_are_those_of_the_crate() {
        let account = read(account_of(&ledger(), 1e-5));
        let three = |value: &Value| format!("{:.3}", value.as_f64().unwrap());
        assert_eq!(
            (three(&account["classic"]["epsilon"]), three(&account["improved"]["epsilon"])),
            ("1.593".into(), "1.281".into())
        );
        assert_eq!(three(&account["epsilon"]), "1.134");
        assert_eq!(account["steps"], 3515);
        let found = read(calibrate_of("noise", STEP, 3515.0, r#"{"epsilon":1,"delta":1e-5}"#));
        assert!(found["epsilon"].as_f64().unwrap() <= 1.0);
        assert_eq!(format!("{:.2}", found["value"].as_f64().unwrap()), "1.19");
    }

    #[test]
    fn questions_without_a_safe_answer_are_errors() {
        let open = ledger().replace(r#"{"gaussian":{"sigma":1.1}}"#, "null");
        assert!(account_of(&open, 1e-5).unwrap_err().contains("no guarantee"));
        assert!(
            account_of("{}", 1e-5).is_err()
                && account_of(&ledger(), 0.0).is_err()
                && account_of(&ledger(), f64::NAN).is_err()
        );
        assert!(attack_of(&ledger(), 1e-5, 2.0).unwrap_err().contains("from 0 to 1"));
        assert!(
            calibrate_of("noise", STEP, 1.5, r#"{"epsilon":1,"delta":1e-5}"#).unwrap_err().contains("whole number")
        );
        assert!(calibrate_of("luck", STEP, 1.0, r#"{"epsilon":1,"delta":1e-5}"#).is_err());
        assert!(calibrate_of("noise", STEP, 1.0, r#"{"epsilon":1,"delta":1e-5,"methd":"tight"}"#).is_err());
        assert!(density_of("x").is_err() && density_of("1/cosh(x)").is_ok());
    }
}
