//! `hushgrad account`: a ledger's ε, and what it allows an attacker.

use std::error::Error;

use hushgrad::accounting::{
    books::{Books, of_one_example},
    decimal::{upper, upper_percent},
    gdp::CUT_OFF,
    ledger::Ledger,
    pld::Pld,
    report::Account,
    risk::{AttackBound, PrivacyCurve},
    selection::{self, Choice},
};
use serde_json::json;

use super::{described::Described, out::say};

#[derive(clap::Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// Also bound the best attack's true-positive rate at this false-positive rate, from the whole
    /// privacy curve
    #[arg(long, value_name = "SHARE", value_parser = share)]
    false_alarms: Option<f64>,
    /// Also price releasing only the best of this many such runs on average, their number being
    /// drawn at random beforehand
    #[arg(long, value_name = "RUNS", value_parser = runs)]
    best_of: Option<f64>,
    /// One line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    training: Described,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("it must be from 0 to 1".to_owned()) }
}

fn runs(text: &str) -> Result<f64, String> {
    let runs: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1.0..=1e9).contains(&runs) { Ok(runs) } else { Err("it must be from 1 to 1e9".to_owned()) }
}

/// Computes ε of a ledger, or of a training that options describe, by every accountant.
///
/// # Errors
/// If the ledger or the options cannot be read, are impossible, or have no bound.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let ledger = arguments.training.ledger()?;
    let books = Books::of(ledger.clone())?;
    let mut account = books.account(arguments.delta)?;
    account.assumptions.extend(of_one_example(&ledger, arguments.delta));
    let gaussian = match account.tight {
        Some(_) => books.gaussian(CUT_OFF)?,
        None => None,
    };
    let concentrated = books.concentrated(arguments.delta)?;
    let choice = match arguments.best_of {
        Some(runs) => Some(selection::best_of(std::slice::from_ref(&ledger), runs, arguments.delta)?),
        None => None,
    };
    let attack = match arguments.false_alarms {
        Some(share) => Some((share, curve(&ledger, &account)?)),
        None => None,
    };
    let said = if arguments.json {
        let mut whole = serde_json::to_value(&account)?;
        whole["gaussian"] = json!(gaussian);
        whole["concentrated"] = json!(concentrated);
        if choice.is_some() {
            whole["best-of"] = json!(choice);
        }
        if let Some((share, curve)) = &attack {
            whole["attack"] = json!({
                "false-alarms": share, "recognised": curve.best_true_positive_rate(*share), "advantage": curve.advantage(),
            });
        }
        whole.to_string()
    } else {
        let attack = attack.map_or_else(String::new, |(share, curve)| {
            format!(
                "\nAn attacker who wrongly accuses {} % of outsiders recognises at most {} % of members; no attack's true- and false-positive rates differ by more than {} %.",
                100.0 * share,
                upper_percent(curve.best_true_positive_rate(share), 3),
                upper_percent(curve.advantage(), 3)
            )
        });
        let gaussian = gaussian.map_or_else(String::new, |fit| {
            format!("\nμ ≤ {}: {} (Gaussian differential privacy).", upper(fit.mu, 6), fit.in_words(6))
        });
        let choice = choice.map_or_else(String::new, |Choice { epsilon, draw, mean }| {
            format!(
                "\nε ≤ {} for the best of {mean} such runs on average, if only it is released and their number is drawn beforehand from the {} distribution (Papernot and Steinke 2022).",
                upper(epsilon, 6),
                draw.name()
            )
        });
        let concentrated = concentrated.map_or_else(String::new, |bound| format!("\n{}.", bound.in_words()));
        format!("{account}{gaussian}{concentrated}{attack}{choice}")
    };
    say(&said)
}

/// (ε, δ) and, if tight accounting applies, further points of the privacy curve; all hold at once.
fn curve(ledger: &Ledger, account: &Account) -> Result<PrivacyCurve, Box<dyn Error>> {
    let points = match account.tight {
        Some(tight) => Pld::of(ledger)?.curve_about(tight.value, account.delta),
        None => vec![(account.improved.epsilon, account.delta)],
    };
    Ok(PrivacyCurve::new(points)?)
}
