//! Noisy counts released with a step: whether each gradient is within the clip, whether the model
//! is right, and the digit. With the gradient, they are the groups of one query (McMahan, Andrew,
//! Erlingsson, Chien, Mironov, Papernot & Kairouz 2018).
//!
//! An example adds ±½ for its norm (Andrew, Thakkar, McMahan & Ramaswamy 2021), and a vector of ±½
//! for the answer and 1 for its digit, of norm √(5/4). With noise σ_g on a group of norm C_g, the
//! whole has noise multiplier z = (z_Δ⁻² + Σ C_g²/σ_g²)^{−½}
//! ([`Groups`](crate::accounting::groups::Groups)), with the gradient's z_Δ in units of its clip. A
//! run fixes z; [`Counting::of_gradient`] gives z_Δ. A non-finite gradient adds to no group.

use serde::{Deserialize, Serialize};

use super::noise::chacha20_block;
use crate::accounting::{
    groups::Group,
    noise::{NoiseError, NoiseSpec},
};

const CLASSES: usize = crate::data::idx::CLASSES as usize;

/// Nonce of the counts' noise: "coun". The key is the step's.
const NONCE: [u32; 3] = [0x636f_756e, 0, 0];

/// Standard deviations of the noise on each released group's coordinates; `None` if not released.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counting {
    /// For the count of norms within the clip.
    pub within: Option<f64>,
    /// For the count of right answers and the counts of the ten digits.
    pub answers: Option<f64>,
}

/// Exact counts of a lot, which are private data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Norms within the clip minus the others.
    within: i64,
    /// Right answers minus the others.
    right: i64,
    digits: [i64; CLASSES],
}

/// Values released along with the noisy sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReleasedCounts {
    /// Σ ±½, noisy.
    pub within: Option<f64>,
    /// Answers and digits, if released.
    pub answers: Option<Answers>,
}

/// Noisy counts over a lot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answers {
    /// Σ ±½.
    pub right: f64,
    /// Number of examples of each digit.
    pub digits: [f64; CLASSES],
}

/// A clip that follows a quantile of the gradient norms (Andrew et al. 2021).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AdaptiveClip {
    /// γ: target fraction of norms within the clip, in (0, 1).
    pub quantile: f64,
    /// σ_b as a fraction of the lot, above 0.
    #[serde(default = "AdaptiveClip::noise")]
    pub noise: f64,
}

/// Accuracy and digit counts of the private examples, released with each step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PaidMetrics {
    /// Standard deviation of the noise on each count, as a fraction of the lot, above 0.
    pub noise: f64,
}

/// An average of the answers released in recent steps, with public weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Estimate {
    /// Number of steps averaged.
    pub steps: u64,
    /// Accuracy on the private examples; noise may move it outside [0, 1].
    pub accuracy: f64,
    /// Fraction of each digit.
    pub digits: [f64; CLASSES],
    /// Variance of each estimate due to noise.
    pub noise: f64,
    /// Variance of the accuracy due to sampling.
    pub drawn: f64,
}

impl Counting {
    /// Returns the bounds C_g and noise σ_g of the groups other than the gradient.
    pub fn groups(self) -> impl Iterator<Item = (Group, f64)> {
        let within = self.within.map(|noise| (Group::new("norms", 1, 0.5), noise));
        let answers = self.answers.map(|noise| (Group::new("answers", 1 + CLASSES as u64, 1.25_f64.sqrt()), noise));
        within.into_iter().chain(answers)
    }

    /// True if a step releases only its sum.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Returns the gradient's z_Δ for a release of multiplier `z`; `None` if the counts use it up.
    #[must_use]
    pub fn of_gradient(self, z: f64) -> Option<f64> {
        if self.is_none() {
            return Some(z);
        }
        let spent: f64 = self.groups().map(|(group, noise)| (group.clip / noise).powi(2)).sum();
        let left = z.powi(-2) - spent;
        (left > 0.0).then(|| left.sqrt().recip())
    }

    /// Returns the noise multiplier of the release for the gradient's `z`: inverts `of_gradient`.
    #[must_use]
    pub fn of_release(self, z: f64) -> f64 {
        let spent: f64 = self.groups().map(|(group, noise)| (group.clip / noise).powi(2)).sum();
        (z.powi(-2) + spent).sqrt().recip()
    }
}

impl Counts {
    /// Builds counts summed by an engine: yes minus no for norms and answers, and the digits.
    #[must_use]
    pub const fn of(within: i64, right: i64, digits: [i64; CLASSES]) -> Self {
        Self { within, right, digits }
    }

    /// Adds one example. A `digit` out of range is not counted.
    pub fn add(&mut self, within: bool, right: bool, digit: u8) {
        let sign = |yes: bool| if yes { 1 } else { -1 };
        self.within += sign(within);
        self.right += sign(right);
        if let Some(count) = self.digits.get_mut(usize::from(digit)) {
            *count += 1;
        }
    }

    /// Adds `drawn` audit canaries, which exceed any clip and have no digit.
    pub const fn add_canaries(&mut self, drawn: usize) {
        self.within -= drawn as i64;
    }

    /// Returns Σ ±½ for the norms, without noise.
    #[must_use]
    pub const fn within(&self) -> f64 {
        0.5 * self.within as f64
    }

    /// Adds counts made elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.within += other.within;
        self.right += other.right;
        self.digits.iter_mut().zip(other.digits).for_each(|(own, other)| *own += other);
    }

    /// Adds noise under the step's key to the counts that `counting` releases.
    ///
    /// # Errors
    /// When a standard deviation is invalid.
    pub fn release(&self, counting: Counting, key: &[u32; 8]) -> Result<ReleasedCounts, NoiseError> {
        let halved = |count: i64| 0.5 * count as f64;
        // Place 0 is the norms, 1 the answers, then the digits.
        let noisy = |place: u32, sigma: f64, count: f64| {
            let block = chacha20_block(key, place / 4, &NONCE);
            let (words, _) = block.as_chunks::<4>();
            let drawn = NoiseSpec::Gaussian { sigma }.build()?.draw(words[place as usize % 4]);
            let grain = grain(sigma);
            Ok::<f64, NoiseError>(count + (drawn / grain).round() * grain)
        };
        let within = counting.within.map(|sigma| noisy(0, sigma, halved(self.within))).transpose()?;
        let mut told = ReleasedCounts { within, answers: None };
        if let Some(sigma) = counting.answers {
            let mut answers = Answers { right: noisy(1, sigma, halved(self.right))?, digits: [0.0; CLASSES] };
            for ((place, digit), &count) in (2..).zip(&mut answers.digits).zip(&self.digits) {
                *digit = noisy(place, sigma, count as f64)?;
            }
            told.answers = Some(answers);
        }
        Ok(told)
    }
}

/// Returns the rounding step of the noise: a power of two far below its standard deviation that
/// divides ½. Counts are multiples of ½, so low bits reveal the noise alone (Mironov 2012).
fn grain(sigma: f64) -> f64 {
    (sigma.log2().floor() - 20.0).min(-1.0).exp2()
}

impl AdaptiveClip {
    /// η_C.
    pub const RATE: f64 = 0.2;
    /// Smallest clip.
    pub const LEAST: f64 = 1e-9;
    /// Largest clip.
    pub const MOST: f64 = 1e6;

    /// Default of σ_b as a fraction of the lot.
    #[must_use]
    pub const fn noise() -> f64 {
        0.05
    }

    /// Returns the clip after a step that released `within`, with expected lot size `lot`.
    #[must_use]
    pub fn next(self, clip: f64, within: f64, lot: f64) -> f64 {
        let share = 0.5 + within / lot;
        (clip * (-Self::RATE * (share - self.quantile)).exp()).clamp(Self::LEAST, Self::MOST)
    }
}

impl PaidMetrics {
    /// Default noise.
    pub const NOISE: f64 = 0.05;
}

impl Estimate {
    /// Returns the weight of earlier steps, to average the last ninth of all steps, at most 100.
    fn keeps(steps: u64) -> f64 {
        let steps = steps as f64;
        if steps == 0.0 { 0.0 } else { ((1.0 + steps) / (10.0 + steps)).min(0.99) }
    }

    /// Adds answers with noise `noise`, for expected lot size `lot` and population `examples`.
    pub fn add(&mut self, answers: &Answers, noise: f64, lot: f64, examples: f64) {
        let keeps = Self::keeps(self.steps);
        let mean = |old: &mut f64, new: f64| *old = keeps * *old + (1.0 - keeps) * new;
        let variance = |old: &mut f64, new: f64| *old = keeps * keeps * *old + (1.0 - keeps).powi(2) * new;
        mean(&mut self.accuracy, 0.5 + answers.right / lot);
        self.digits.iter_mut().zip(answers.digits).for_each(|(own, count)| mean(own, count / lot));
        variance(&mut self.noise, (noise / lot).powi(2));
        // (±½)² is ¼: exact for independent sampling, an upper bound otherwise.
        variance(&mut self.drawn, 0.25 * (1.0 - lot / examples).max(0.0) / lot);
        self.steps += 1;
    }

    /// Returns the standard error of the accuracy, due to noise and sampling.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.noise + self.drawn).sqrt()
    }

    /// True if a run can have produced this.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let numbers = [self.accuracy, self.noise, self.drawn];
        numbers.iter().chain(&self.digits).all(|number| number.is_finite()) && self.noise >= 0.0 && self.drawn >= 0.0
    }
}

#[cfg(test)]
mod tests;
