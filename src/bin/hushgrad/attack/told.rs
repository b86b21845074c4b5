//! What scores told of candidates, in words and as JSON.

use hushgrad::{
    accounting::decimal::upper,
    attack::{membership::Told, roc::Roc},
};
use serde_json::{Value, json};

/// Rates of false positives at which true ones are said.
const RATES: [f64; 2] = [0.01, 0.1];
/// Points of a ROC in JSON.
const POINTS: u32 = 60;

/// Head of a table whose rows are [`row`]'s.
pub const HEAD: &str = "candidates         in/out      AUC              found at 1 %, 10 % false alarms   guessed right   ε at least (f-DP), 95 % each";

/// A row of a table.
pub fn row(name: &str, told: &Told) -> String {
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
        // From below: not one digit more than is shown.
        floor(told.epsilon),
        floor(told.epsilon_gaussian),
    )
}

fn floor(epsilon: f64) -> f64 {
    (100.0 * epsilon).floor() / 100.0
}

/// What a run costs.
pub fn cost(epsilon: Option<f64>, delta: f64, replayed: bool) -> String {
    match epsilon {
        Some(epsilon) => format!("the run costs ε ≤ {} at δ = {delta:e}, by tight accounting", upper(epsilon, 4)),
        None if replayed => {
            "the run was replayed from a known seed: no guarantee, and this is an example of the attack".to_owned()
        }
        None => "the run has no guarantee".to_owned(),
    }
}

/// All of it.
pub fn json(told: &Told) -> Value {
    let (members, others) = told.roc.candidates();
    json!({
        "in": members, "out": others, "auc": told.roc.auc(), "guesses": told.guesses, "right": told.right,
        "epsilon-at-least": told.epsilon, "epsilon-at-least-gaussian": told.epsilon_gaussian, "confidence": 0.95,
        "true-positive-rate": { "0": told.roc.true_positive_rate(0.0), "0.001": told.roc.true_positive_rate(0.001),
            "0.01": told.roc.true_positive_rate(0.01), "0.1": told.roc.true_positive_rate(0.1) },
        "roc": chart(&told.roc),
    })
}

/// Points for a chart on logarithmic axes.
pub fn chart(roc: &Roc) -> Value {
    json!(roc.chart(POINTS))
}
