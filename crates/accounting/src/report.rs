//! A ledger's cost in words, with every assumption; made by [`crate::books::account`].

use std::fmt;

use hushgrad_message::{Message, ToMessage, message, word};
use serde::Serialize;

use super::{
    decimal::{upper, upper_power},
    ledger::{Held, HiddenSteps, Ledger, Part, Release, Sensitivity},
    noise::NoiseSpec,
    numeric::six_digits,
    pld::Tight,
    rdp::Bound,
    rounding::RoundingCost,
    sampling::NeighbouringRelation,
};

/// Upper bounds on the privacy loss of a ledger, with their assumptions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Account {
    /// δ at which every ε here holds.
    pub delta: f64,
    /// Rényi accounting, classic conversion.
    pub classic: Bound,
    /// Rényi accounting, improved conversion.
    pub improved: Bound,
    /// Tight accounting, at most `improved`; `None` without a price, or above 64 kinds of release.
    pub tight: Option<Tight>,
    /// The part of ε and δ due to inexact noise; `None` if no release is on a grid.
    pub rounding: Option<RoundingCost>,
    /// Total number of releases.
    pub steps: u64,
    /// The assumptions, one phrase each.
    pub assumptions: Vec<Message>,
}

/// All assumptions behind ε, one phrase each: mechanism, sampling, neighbours and unit of each kind
/// of release that happened, then the general ones.
#[must_use]
pub fn assumptions(ledger: &Ledger) -> Vec<Message> {
    let mut phrases = Vec::new();
    let all = ledger.steps();
    for (release, steps) in ledger.releases().iter().zip(steps_by_kind(ledger)) {
        if steps == 0 {
            continue;
        }
        if steps < all {
            phrases.push(message!("{steps} of the steps:"));
        }
        phrases.push(mechanism(release));
        phrases.extend(release.parts.iter().map(Part::to_message));
        if let Some(grid) = release.grid {
            phrases.push(message!(
                "gradients, sums and noise rounded to the grid 2^{}: leakage by low bits of floating-point noise is counted",
                grid.exponent
            ));
        }
        phrases.push(release.sampling.to_message());
        phrases.push(message!("neighbours: {}", release.neighbours()));
        phrases.push(message!("protected unit: {}", release.unit));
        if !matches!(release.noise, Some(NoiseSpec::Gaussian { .. }) | None) {
            phrases.push(
                word!("Rényi accounting of this noise: the quadrature and series error is estimated on the safe side and added").into(),
            );
        }
    }
    // Add-or-remove-one neighbours differ in it, and rates, reports and files reveal it.
    let counted =
        |(release, steps): (&Release, u64)| steps > 0 && release.neighbours() == NeighbouringRelation::AddOrRemoveOne;
    if ledger.releases().iter().zip(steps_by_kind(ledger)).any(counted) {
        phrases.push(word!("the number of training examples is public: ε does not cover what it reveals").into());
    }
    phrases.push(word!("every step that ran was released (Theorem 1 of Nasr et al. 2020)").into());
    // If the stopping time depends on releases, the (ε, δ) of the steps so far is no guarantee:
    // fully adaptive composition costs more (Whitehouse et al. 2023).
    phrases.push(
        word!("when to stop and what to change on the way was decided before the first release: after seeing releases, only the ε of all planned steps holds")
            .into(),
    );
    let off_grid = |(release, steps): (&Release, u64)| steps > 0 && release.grid.is_none();
    if all == 0 || ledger.releases().iter().zip(steps_by_kind(ledger)).any(off_grid) {
        phrases.push(
            word!("noise treated as real numbers: leakage by low bits of floating-point noise is not counted").into(),
        );
    }
    phrases.push(word!("an upper bound: it covers an attacker who sees every noisy step").into());
    phrases
}

fn steps_by_kind(ledger: &Ledger) -> Vec<u64> {
    let mut steps = vec![0u64; ledger.releases().len()];
    for event in ledger.events() {
        if let Some(steps) = steps.get_mut(event.release as usize) {
            *steps = steps.saturating_add(event.count);
        }
    }
    steps
}

fn mechanism(release: &Release) -> Message {
    if let Some(HiddenSteps { setting, steps }) = &release.hidden {
        return message!(
            "{steps} steps of noisy gradient descent on all {} examples, whose models were not shown: only the last one is released (Chourasia et al. 2021); loss {}-strongly convex and {}-smooth, step size {}, noise of σ {}, gradient sums at most {} apart",
            setting.examples,
            six_digits(setting.strong_convexity),
            six_digits(setting.smoothness),
            six_digits(setting.step_size),
            six_digits(setting.noise),
            six_digits(setting.sensitivity)
        );
    }
    if let (false, Some(noise)) = (release.parts.is_empty(), &release.noise) {
        return message!(
            "several vectors per example, scaled by their bounds, counted as one of L2 norm 1; {} on every coordinate of the sum",
            describe(noise)
        );
    }
    let bound = match &release.sensitivity {
        Sensitivity::L2 { norm } => message!("each gradient clipped to L2 norm {}", six_digits(*norm)),
        Sensitivity::Envelope { profile } => message!(
            "each gradient clamped into one of {} envelopes over {} parameters, largest norm {}",
            profile.len(),
            profile.dimension(),
            six_digits(profile.norm())
        ),
        Sensitivity::Unbounded => word!("gradients without a bound").into(),
        Sensitivity::Pair(pair) => return pair.to_message(),
    };
    match &release.noise {
        Some(noise) => message!("{bound}; {} on every coordinate of the sum", describe(noise)),
        None => bound,
    }
}

/// Describes a noise and its parameters in words.
#[must_use]
pub fn describe(noise: &NoiseSpec) -> Message {
    let scale = six_digits(noise.scale());
    match noise {
        NoiseSpec::Gaussian { .. } => message!("Gaussian noise of σ {scale}"),
        NoiseSpec::StudentT { nu, .. } => message!("Student-t noise of scale {scale}, ν {}", six_digits(*nu)),
        NoiseSpec::GeneralizedGaussian { exponent, .. } => {
            message!("generalised Gaussian noise of scale {scale}, exponent {}", six_digits(*exponent))
        }
        NoiseSpec::Custom { density, .. } => message!("noise of scale {scale} and density {:?}", density.source()),
        other => message!("{} noise of scale {scale}", other.family()),
    }
}

impl ToMessage for Part {
    fn to_message(&self) -> Message {
        let [bound, noise, sigma] = [self.clip, self.noise, self.noise / self.clip].map(six_digits);
        match self.holds {
            Held::Gradient => message!("including the clipped gradient, with noise of σ {sigma} by itself"),
            Held::Layers(layers) => {
                let numbers: Vec<String> = layers.numbers().map(|number| number.to_string()).collect();
                let layers = numbers.join(", ");
                message!("layers {layers} of the gradient: clipped to L2 norm {bound}, noise of σ {noise}")
            }
            Held::NormWithinClip => {
                message!("including whether the gradient is within the clip, with noise of σ {sigma} by itself")
            }
            Held::AnswerAndClass => message!("including answer and class, with noise of σ {sigma} by itself"),
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { classic, improved, steps, .. } = self;
        let counted = if *steps == 1 { "step" } else { "steps" };
        writeln!(f, "(ε, δ)-differential privacy of {steps} {counted}, upper bounds at δ = {:e}:", self.delta)?;
        if let Some(tight) = self.tight {
            writeln!(f, "  ε ≤ {}  {}", upper(tight.value, 6), tight.in_words())?;
        }
        for (bound, conversion) in
            [(improved, "improved conversion (Canonne et al. 2020)"), (classic, "classic conversion (Mironov 2017)")]
        {
            let (epsilon, order) = (bound.epsilon, six_digits(bound.order));
            if epsilon.is_finite() {
                writeln!(f, "  ε ≤ {}  Rényi order {order}, {conversion}", upper(epsilon, 6))?;
            }
        }
        if let Some(RoundingCost { loss, total_variation }) = self.rounding {
            writeln!(
                f,
                "  of which {} for noise that is not exactly its law, and as much of δ as a distance of {} costs",
                upper(loss, 6),
                upper_power(total_variation, 1)
            )?;
        }
        for assumption in &self.assumptions {
            writeln!(f, "  · {assumption}")?;
        }
        write!(f, "Holds if sampling and noise came from an unpredictable source.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{books::account, dp_sgd, ledger::Ledger, pld::MOST_KINDS};

    #[test]
    fn the_account_states_its_assumptions() {
        let mut ledger = Ledger::of([(dp_sgd::step(1.1, 256.0 / 60_000.0), 14_062)]).unwrap();
        let account = account(&ledger, 1e-5).unwrap();
        let text = account.to_string();
        for part in [
            "δ = 1e-5",
            "3.008",
            "2.596",
            "2.38",
            "order",
            "add or remove one",
            "the number of training examples is public",
            "Poisson",
            "14062",
            "σ 1.1",
            "0.00426667",
            "upper bound",
            "floating-point",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        assert!(account.tight.unwrap().value <= account.improved.epsilon);
        assert!(!text.contains("estimated"), "Gaussian noise has closed forms: {text}");
        let noise = Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 });
        let other = ledger.register(Release { noise, ..ledger.releases()[0].clone() }).unwrap();
        let estimated =
            |ledger: &Ledger| assumptions(ledger).iter().any(|phrase| phrase.to_string().contains("estimated"));
        assert!(!estimated(&ledger), "it did not happen");
        ledger.record(other);
        assert!(estimated(&ledger));
        assert!(serde_json::to_string(&account).unwrap().contains("\"steps\":14062"));
    }

    #[test]
    fn a_bound_that_is_not_convolved_is_not_called_tight() {
        let after =
            |sigma, steps| account(&Ledger::of([(dp_sgd::step(sigma, 1.0 / 240.0), steps)]).unwrap(), 1e-5).unwrap();
        let (few, many) = (after(1.1, 1000).to_string(), after(0.1, 14_400).to_string());
        assert!(few.contains("tight accounting: losses convolved") && !few.contains("not tight"), "{few}");
        assert!(many.contains("not tight") && !many.contains("tight accounting"), "{many}");
    }

    #[test]
    fn very_many_kinds_of_release_are_not_accounted_for_tightly() {
        let kinds = (0..=MOST_KINDS).map(|i| (dp_sgd::step(5.0 + 0.1 * i as f64, 0.01), 1));
        let ledger = Ledger::of(kinds).unwrap();
        let account = account(&ledger, 1e-5).unwrap();
        assert!(account.tight.is_none() && account.improved.epsilon > 0.0);
        assert!(account.to_string().contains("no tight accounting: 65 kinds of release"), "{account}");
    }
}
