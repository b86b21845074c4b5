//! The price of a training, with every bound and assumption: `cargo run -p hushgrad-accounting
//! --example account_a_run [-- NOISE_MULTIPLIER LOT EXAMPLES STEPS]`.

use std::{error::Error, str::FromStr};

use hushgrad_accounting::{
    books::Books,
    decimal::{upper, upper_percent},
    dp_sgd,
    ledger::Ledger,
    risk::{AttackBound, PrivacyCurve},
};

const DELTA: f64 = 1e-5;

fn main() -> Result<(), Box<dyn Error>> {
    let (sigma, lot, examples) = (argument(1, 1.1)?, argument(2, 256.0)?, argument(3, 60_000.0)?);
    let steps: u64 = argument(4, 3515)?;

    let ledger = Ledger::of([(dp_sgd::step(sigma, lot / examples), steps)])?;

    let books = Books::of(ledger)?;
    let account = books.account(DELTA)?;
    println!("{account}");

    println!("\nε at δ:");
    for delta in [1e-3, DELTA, 1e-7] {
        println!("  {:>8}  {delta:.1e}", upper(books.tight(delta)?.value, 3));
    }
    // The whole curve bounds an attacker better than one of its points.
    let epsilon = books.tight(DELTA)?.value;
    let curve = PrivacyCurve::new(books.curve_about(epsilon, DELTA)?)?;
    let found = upper_percent(curve.best_true_positive_rate(0.01), 1);
    println!("\nThe best attack that takes 1 % of strangers for members finds at most {found} % of the members.");
    Ok(())
}

/// Parses the argument at `place`, or returns `default`.
fn argument<T: FromStr>(place: usize, default: T) -> Result<T, T::Err> {
    std::env::args().nth(place).map_or(Ok(default), |text| text.parse())
}
