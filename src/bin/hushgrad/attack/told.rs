//! Formats attack results as text and as JSON.

use hushgrad::{
    accounting::decimal::upper,
    attack::{membership::MembershipResult, roc::Roc},
};
use serde_json::{Value, json};

/// False-positive rates at which true-positive rates are reported.
const RATES: [f64; 2] = [0.01, 0.1];
/// Points of a ROC curve in JSON.
const POINTS: u32 = 60;

/// Head of a table with rows from [`row`].
pub const HEAD: &str = "candidates         in/out      AUC              found at 1 %, 10 % false alarms   guessed right   ε at least (f-DP), 95 % each";

/// Formats a row of the table.
pub fn row(name: &str, told: &MembershipResult) -> String {
    let (members, others) = told.roc.candidates();
    let auc = told.roc.auc();
    let [first, second] = RATES.map(|rate| 100.0 * told.roc.true_positive_rate(rate));
    format!(
        "{name:<17}  {:<10}  {:.3} ± {:.3}    {first:>6.1} %, {second:>5.1} %                 {:>4} of {:<4}    {:.2} ({:.2})",
        format!("{members}/{others}"),
        auc.value,
        auc.standard_error,
        told.right,
        told.guesses,
        // Lower bounds, rounded down to the digits shown.
        floor(told.epsilon),
        floor(told.epsilon_gaussian),
    )
}

fn floor(epsilon: f64) -> f64 {
    (100.0 * epsilon).floor() / 100.0
}

/// States a run's ε.
pub fn cost(epsilon: Option<f64>, delta: f64, replayed: bool) -> String {
    match epsilon {
        Some(epsilon) => format!("the run costs ε ≤ {} at δ = {delta:e}, by tight accounting", upper(epsilon, 4)),
        None if replayed => {
            "the run was replayed from a known seed: no guarantee, and the attack is only an example".to_owned()
        }
        None => "the run has no guarantee".to_owned(),
    }
}

/// All results as JSON.
pub fn json(told: &MembershipResult) -> Value {
    let (members, others) = told.roc.candidates();
    json!({
        "in": members, "out": others, "auc": told.roc.auc(), "guesses": told.guesses, "right": told.right,
        "epsilon-at-least": told.epsilon, "epsilon-at-least-gaussian": told.epsilon_gaussian, "confidence": 0.95,
        "true-positive-rate": { "0": told.roc.true_positive_rate(0.0), "0.001": told.roc.true_positive_rate(0.001),
            "0.01": told.roc.true_positive_rate(0.01), "0.1": told.roc.true_positive_rate(0.1) },
        "roc": chart(&told.roc),
    })
}

/// Returns the points of a chart with logarithmic axes.
pub fn chart(roc: &Roc) -> Value {
    json!(roc.chart(POINTS))
}
