//! What an example tells beside its gradient: whether that is within the clip, whether the model reads the example right, and which digit it is. A step
//! releases the counts of its lot with noise of their own, as groups of one query (McMahan, Andrew, Erlingsson, Chien, Mironov, Papernot & Kairouz 2018).
//!
//! An example adds ±½ for its norm (Andrew, Thakkar, McMahan & Ramaswamy 2021), and the vector of ±½ for the answer and 1 for its digit, of norm √(5/4). With
//! noise σ_g on a group of norm C_g the whole has the noise multiplier z = (z_Δ⁻² + Σ C_g²/σ_g²)^{−½} ([`Groups`](crate::accounting::groups::Groups)), where
//! z_Δ is that of the gradient, in units of its clip. A run states z, and [`Counting::of_gradient`] is what the gradient gets. An example whose gradient is
//! not finite adds to no group.

use serde::{Deserialize, Serialize};

use super::noise::chacha20_block;
use crate::accounting::{
    groups::Group,
    noise::{NoiseError, NoiseSpec},
};

const CLASSES: usize = crate::data::idx::CLASSES as usize;

/// Nonce of the counts' noise: "coun". The key is the step's.
const NONCE: [u32; 3] = [0x636f_756e, 0, 0];

/// Standard deviations of the noise on each coordinate of the groups that a step releases; `None`: the group is not released.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counting {
    /// Of the number of norms within the clip.
    pub within: Option<f64>,
    /// Of the number of right answers, and of the ten digits' numbers.
    pub answers: Option<f64>,
}

/// Exact counts of a lot. They look at private data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Norms within the clip, less the others.
    within: i64,
    /// Right answers, less the others.
    right: i64,
    digits: [i64; CLASSES],
}

/// What a step released beside the noisy sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// Σ ±½, noisy.
    pub within: Option<f64>,
    /// Where answers and digits are released.
    pub answers: Option<Answers>,
}

/// Noisy sums over a lot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answers {
    /// Σ ±½.
    pub right: f64,
    /// How many there are of each.
    pub digits: [f64; CLASSES],
}

/// A clip that follows a quantile of the norms (Andrew et al. 2021).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AdaptiveClip {
    /// γ: the share of norms that are to be within the clip, in (0, 1).
    pub quantile: f64,
    /// σ_b as a share of the lot, above 0.
    #[serde(default = "AdaptiveClip::noise")]
    pub noise: f64,
}

/// The accuracy on private examples and their digits, released with each step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PaidMetrics {
    /// Standard deviation of the noise on each count, as a share of the lot, above 0.
    pub noise: f64,
}

/// An average of what recent steps told, by public weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Estimate {
    /// Steps that told something.
    pub steps: u64,
    /// Accuracy on the private examples. Noise may carry it out of [0, 1].
    pub accuracy: f64,
    /// Shares of the digits.
    pub digits: [f64; CLASSES],
    /// Variance of each of these by the noise.
    pub noise: f64,
    /// Variance of the accuracy by which examples were drawn.
    pub drawn: f64,
}

impl Counting {
    /// Bounds C_g and noise σ_g of the groups beside the gradient.
    pub fn groups(self) -> impl Iterator<Item = (Group, f64)> {
        let within = self.within.map(|noise| (Group::new("norms", 1, 0.5), noise));
        let answers = self.answers.map(|noise| (Group::new("answers", 1 + CLASSES as u64, 1.25_f64.sqrt()), noise));
        within.into_iter().chain(answers)
    }

    /// Whether a step releases nothing but its sum.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// z_Δ: the gradient's noise multiplier where that of the whole release is `z`. `None` where the groups alone cost as much.
    #[must_use]
    pub fn of_gradient(self, z: f64) -> Option<f64> {
        if self.is_none() {
            return Some(z);
        }
        let spent: f64 = self.groups().map(|(group, noise)| (group.clip / noise).powi(2)).sum();
        let left = z.powi(-2) - spent;
        (left > 0.0).then(|| left.sqrt().recip())
    }

    /// The noise multiplier of the whole release where the gradient's is `z`: the inverse of [`Counting::of_gradient`].
    #[must_use]
    pub fn of_release(self, z: f64) -> f64 {
        let spent: f64 = self.groups().map(|(group, noise)| (group.clip / noise).powi(2)).sum();
        (z.powi(-2) + spent).sqrt().recip()
    }
}

impl Counts {
    /// Those that an engine has added up by itself: norms within the clip less the others, right answers less the others, and the digits.
    #[must_use]
    pub const fn of(within: i64, right: i64, digits: [i64; CLASSES]) -> Self {
        Self { within, right, digits }
    }

    /// Takes in an example.
    ///
    /// # Panics
    /// When `digit` is none.
    pub fn add(&mut self, within: bool, right: bool, digit: u8) {
        let sign = |yes: bool| if yes { 1 } else { -1 };
        self.within += sign(within);
        self.right += sign(right);
        // What is no digit is asked about by nobody.
        if let Some(count) = self.digits.get_mut(usize::from(digit)) {
            *count += 1;
        }
    }

    /// Takes in so many canaries of an audit, which are longer than any clip and have no digit.
    pub const fn add_canaries(&mut self, drawn: usize) {
        self.within -= drawn as i64;
    }

    /// Σ ±½ for the norms, exactly.
    #[must_use]
    pub const fn within(&self) -> f64 {
        0.5 * self.within as f64
    }

    /// Takes in what was counted elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.within += other.within;
        self.right += other.right;
        self.digits.iter_mut().zip(other.digits).for_each(|(own, other)| *own += other);
    }

    /// The counts that are to be released, with noise under the step's key.
    ///
    /// # Errors
    /// A standard deviation that is none.
    pub fn release(&self, counting: Counting, key: &[u32; 8]) -> Result<Told, NoiseError> {
        let halved = |count: i64| 0.5 * count as f64;
        // The first number is the norms', the next are the answers' and the digits'.
        let noisy = |place: u32, sigma: f64, count: f64| {
            let block = chacha20_block(key, place / 4, &NONCE);
            let (words, _) = block.as_chunks::<4>();
            let drawn = NoiseSpec::Gaussian { sigma }.build()?.draw(words[place as usize % 4]);
            let grain = grain(sigma);
            Ok::<f64, NoiseError>(count + (drawn / grain).round() * grain)
        };
        let within = counting.within.map(|sigma| noisy(0, sigma, halved(self.within))).transpose()?;
        let mut told = Told { within, answers: None };
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

/// What noise is rounded to before it is added: a power of two, far below its standard deviation, and a part of ½. Counts are multiples of ½, so the last digits of what is
/// released are the noise's alone, whatever a floating-point sum would have made of both (Mironov 2012).
fn grain(sigma: f64) -> f64 {
    (sigma.log2().floor() - 20.0).min(-1.0).exp2()
}

impl AdaptiveClip {
    /// η_C.
    pub const RATE: f64 = 0.2;
    /// What a clip may become.
    pub const LEAST: f64 = 1e-9;
    /// As well.
    pub const MOST: f64 = 1e6;

    /// σ_b, where none is named.
    #[must_use]
    pub const fn noise() -> f64 {
        0.05
    }

    /// The clip after a step that told `within` of a lot of this expected size.
    #[must_use]
    pub fn next(self, clip: f64, within: f64, lot: f64) -> f64 {
        let share = 0.5 + within / lot;
        (clip * (-Self::RATE * (share - self.quantile)).exp()).clamp(Self::LEAST, Self::MOST)
    }
}

impl PaidMetrics {
    /// The noise where none is named.
    pub const NOISE: f64 = 0.05;
}

impl Estimate {
    /// What the average keeps of the steps before: as an average of iterates over the last ninth of the steps, 100 at most.
    fn keeps(steps: u64) -> f64 {
        let steps = steps as f64;
        if steps == 0.0 { 0.0 } else { ((1.0 + steps) / (10.0 + steps)).min(0.99) }
    }

    /// Takes in what a step told of a lot of this expected size, drawn from so many examples, under noise of this standard deviation.
    pub fn add(&mut self, answers: &Answers, noise: f64, lot: f64, examples: f64) {
        let keeps = Self::keeps(self.steps);
        let mean = |old: &mut f64, new: f64| *old = keeps * *old + (1.0 - keeps) * new;
        let variance = |old: &mut f64, new: f64| *old = keeps * keeps * *old + (1.0 - keeps).powi(2) * new;
        mean(&mut self.accuracy, 0.5 + answers.right / lot);
        self.digits.iter_mut().zip(answers.digits).for_each(|(own, count)| mean(own, count / lot));
        variance(&mut self.noise, (noise / lot).powi(2));
        // (±½)² is ¼ whatever the answer: of independent coins this is exact, of other draws it is more than there is.
        variance(&mut self.drawn, 0.25 * (1.0 - lot / examples).max(0.0) / lot);
        self.steps += 1;
    }

    /// Standard error of the accuracy: of its noise, and of which examples were drawn.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.noise + self.drawn).sqrt()
    }

    /// Whether a run can have told this.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let numbers = [self.accuracy, self.noise, self.drawn];
        numbers.iter().chain(&self.digits).all(|number| number.is_finite()) && self.noise >= 0.0 && self.drawn >= 0.0
    }
}

#[cfg(test)]
mod tests;
