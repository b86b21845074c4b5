//! What a ledger costs, with every assumption beside the number: what `hushgrad account LEDGER` prints.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    error::PrivacyError,
    ledger::{Ledger, Sensitivity},
    noise::NoiseSpec,
    pld::{Pld, Rigor, Tight},
    rdp::{Accountant, Epsilon},
    sampling::Neighbours,
};

/// An upper bound on what the releases of a ledger give away, and what it assumes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Account {
    pub delta: f64,
    /// Rényi accounting, both conversions.
    pub epsilon: Epsilon,
    /// Tight accounting, where it has a price for these releases; never above the improved conversion.
    pub tight: Option<Tight>,
    /// Releases in all.
    pub steps: u64,
    pub neighbours: Neighbours,
    pub mechanisms: Vec<Mechanism>,
}

/// One kind of release in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Mechanism {
    pub steps: u64,
    pub sampling: String,
    pub bound: String,
    pub noise: String,
    pub unit: String,
}

/// Accounts for a ledger.
///
/// # Errors
/// As [`super::rdp::epsilon_of`]; a ledger without releases gives ε = 0.
pub fn account(ledger: &Ledger, delta: f64) -> Result<Account, PrivacyError> {
    let accountant = Accountant::of(ledger)?;
    let epsilon = accountant.epsilon(delta)?;
    let tight = match Pld::of(ledger).and_then(|pld| pld.epsilon(delta)) {
        Ok(tight) => Some(tight),
        Err(PrivacyError::Unpriced(_)) => None,
        Err(other) => return Err(other),
    };
    let mut mechanisms = Vec::new();
    let mut neighbours = Neighbours::AddOrRemoveOne;
    for (index, release) in ledger.releases().iter().enumerate() {
        let mine = ledger.events().iter().filter(|e| e.release as usize == index);
        let steps = mine.fold(0u64, |sum, e| sum.saturating_add(e.count));
        if steps == 0 {
            continue;
        }
        neighbours = release.sampling.neighbours();
        mechanisms.push(Mechanism {
            steps,
            sampling: release.sampling.describe(),
            bound: match &release.sensitivity {
                Sensitivity::L2 { norm } => format!("L2 norm at most {norm}"),
                Sensitivity::Envelope { profile } => format!(
                    "envelope of {} vectors with {} coordinates, largest norm {:.6}",
                    profile.len(),
                    profile.dimension(),
                    profile.norm()
                ),
                Sensitivity::Unbounded => "none".to_owned(),
            },
            noise: release.noise.as_ref().map_or_else(|| "none".to_owned(), describe),
            unit: release.unit.name().to_owned(),
        });
    }
    Ok(Account { delta, epsilon, tight, steps: accountant.steps(), neighbours, mechanisms })
}

/// A noise in words, with its parameters.
#[must_use]
pub fn describe(noise: &NoiseSpec) -> String {
    match noise {
        NoiseSpec::Gaussian { sigma } => format!("Gaussian, σ = {sigma}"),
        NoiseSpec::StudentT { nu, scale } => format!("Student-t, ν = {nu}, scale {scale}"),
        NoiseSpec::GeneralizedGaussian { exponent, scale } => {
            format!("generalised Gaussian, exponent {exponent}, scale {scale}")
        }
        NoiseSpec::Custom { density, scale } => format!("custom density {:?}, scale {scale}", density.source()),
        other => format!("{}, scale {}", other.family(), other.scale()),
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Epsilon { classic, improved } = self.epsilon;
        writeln!(f, "(ε, δ)-differential privacy, upper bounds at δ = {}:", self.delta)?;
        writeln!(
            f,
            "  ε ≤ {:.6}  improved conversion (Canonne et al. 2020), Rényi order {}",
            improved.epsilon, improved.order
        )?;
        writeln!(f, "  ε ≤ {:.6}  classic conversion (Mironov 2017), Rényi order {}", classic.epsilon, classic.order)?;
        if let Some(Tight { value, rigor, .. }) = self.tight {
            let how = match rigor {
                Rigor::Proven => "proven".to_owned(),
                Rigor::Numerical(step) => format!("numerical: {step}"),
            };
            writeln!(f, "  ε ≤ {value:.6}  privacy loss distributions ({how})")?;
        }
        writeln!(f, "neighbours: {}", self.neighbours.name())?;
        writeln!(f, "releases: {}", self.steps)?;
        for m in &self.mechanisms {
            writeln!(f, "  {} × {}; {}; noise: {}; protects {}", m.steps, m.sampling, m.bound, m.noise, m.unit)?;
        }
        write!(f, "Holds for anyone who sees every update, if sampling and noise came from an unpredictable source.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{ledger::Release, sampling::Sampling};

    #[test]
    fn the_account_states_its_assumptions() {
        let mut ledger = Ledger::new();
        let release = Release::new(
            Sampling::Poisson { rate: 256.0 / 60_000.0 },
            Sensitivity::L2 { norm: 1.0 },
            Some(NoiseSpec::Gaussian { sigma: 1.1 }),
        );
        let id = ledger.register(release).unwrap();
        ledger.record_many(id, 14_062);
        let account = account(&ledger, 1e-5).unwrap();
        let text = account.to_string();
        for part in [
            "δ = 0.00001",
            "3.008",
            "2.596",
            "2.38",
            "order",
            "add or remove one",
            "Poisson",
            "14062",
            "σ = 1.1",
            "upper bound",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(account.tight.unwrap().value <= account.epsilon.improved.epsilon);
        assert!(serde_json::to_string(&account).unwrap().contains("\"steps\":14062"));
    }
}
