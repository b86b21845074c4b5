//! Vector groups: layers or metrics of one sample, each with its own clip and noise.
//!
//! McMahan, Andrew, Erlingsson, Chien, Mironov, Papernot & Kairouz 2018, "A general approach to
//! adding differential privacy to iterative training procedures". An example adds one vector to
//! each of G groups; group g is clipped to norm C_g and gets Gaussian noise of standard deviation
//! σ_g. Divided by σ_g, the concatenation moves by at most √(ΣC_g²/σ_g²) in L2 and has unit noise:
//! exactly one Gaussian query with noise multiplier z = (Σ C_g²/σ_g²)^{−1/2}.
//!
//! A metric that is a sum over the sample (correct predictions, class counts) is one more group,
//! released with the step, on training data, and paid for.

use serde::{Deserialize, Serialize};

use super::{
    error::{PrivacyError, require},
    ledger::{Release, Sensitivity},
    noise::NoiseSpec,
    sampling::Sampling,
};

/// One group of an example's coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name, for messages.
    pub name: String,
    /// d_g: number of coordinates.
    pub dimension: u64,
    /// C_g: bound on the L2 norm of one example's vector.
    pub clip: f64,
}

/// A group with its noise.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyGroup {
    /// The group.
    pub group: Group,
    /// σ_g: standard deviation of the noise on each coordinate of the sum.
    pub noise: f64,
}

/// How a noise multiplier is divided among groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseStrategy {
    /// σ_g = z·C_g·√G: every group spends the same privacy.
    #[default]
    Proportional,
    /// σ_g ∝ C_g/√d_g: every group's noise, of norm σ_g·√d_g, is equally large relative to C_g.
    DimensionAdjusted,
}

/// How the groups are clipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clipping {
    /// Each group to its own C_g.
    #[default]
    Separate,
    /// Each vector divided by C_g, the concatenation clipped to norm 1, and scaled back.
    Joint,
}

/// The noisy groups of one release.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    groups: Vec<NoisyGroup>,
    clipping: Clipping,
}

impl Group {
    /// `dimension` ≥ 1 coordinates, clipped to L2 norm `clip` > 0; [`Groups::new`] checks both.
    pub fn new(name: impl Into<String>, dimension: u64, clip: f64) -> Self {
        Self { name: name.into(), dimension, clip }
    }

    /// The number of correct predictions in the sample: one coordinate, 0 or 1 per example. With
    /// noise, a private estimate of the *training* accuracy.
    #[must_use]
    pub fn correct_answers() -> Self {
        Self::new("correct answers", 1, 1.0)
    }

    /// The number of examples of each class in the sample: an example adds one unit vector.
    #[must_use]
    pub fn class_counts(classes: u64) -> Self {
        Self::new("class counts", classes, 1.0)
    }

    fn check(&self) -> Result<(), PrivacyError> {
        require(self.dimension >= 1, "group.dimension", self.dimension as f64, "at least 1")?;
        require((1e-100..=1e100).contains(&self.clip), "group.clip", self.clip, "finite and above 0")
    }
}

impl Groups {
    /// Groups with the given noise.
    ///
    /// # Errors
    /// No group; a dimension of 0; a clip or noise that is not positive and finite.
    pub fn new(groups: Vec<NoisyGroup>, clipping: Clipping) -> Result<Self, PrivacyError> {
        require(!groups.is_empty(), "groups", 0.0, "at least one group")?;
        for NoisyGroup { group, noise } in &groups {
            group.check()?;
            require((1e-100..=1e100).contains(noise), "group.noise", *noise, "finite and above 0")?;
        }
        Ok(Self { groups, clipping })
    }

    /// Gives `groups` noise such that together they cost one query with `noise_multiplier`.
    ///
    /// # Errors
    /// As [`Groups::new`]; a noise multiplier that is not positive and finite.
    pub fn with_multiplier(
        groups: Vec<Group>,
        noise_multiplier: f64,
        strategy: NoiseStrategy,
        clipping: Clipping,
    ) -> Result<Self, PrivacyError> {
        let in_range = (1e-50..=1e50).contains(&noise_multiplier);
        require(in_range, "noise_multiplier", noise_multiplier, "finite and above 0")?;
        for group in &groups {
            group.check()?;
        }
        let count = groups.len() as f64;
        let coordinates: f64 = groups.iter().map(|group| group.dimension as f64).sum();
        let noisy = groups
            .into_iter()
            .map(|group| {
                let noise = match (strategy, clipping) {
                    // The scaled vectors share norm 1: the largest C_g²/σ_g² counts, not the sum.
                    (NoiseStrategy::Proportional, Clipping::Joint) => noise_multiplier * group.clip,
                    (NoiseStrategy::Proportional, Clipping::Separate) => noise_multiplier * group.clip * count.sqrt(),
                    // Σ C_g²/σ_g² = Σ d_g/κ² with σ_g = κ·C_g/√d_g: κ = z·√(Σ d_g).
                    (NoiseStrategy::DimensionAdjusted, Clipping::Separate) => {
                        noise_multiplier * group.clip * (coordinates / group.dimension as f64).sqrt()
                    }
                    // The largest C_g/σ_g = √d_g/κ decides: κ = z·√(max d_g), corrected below.
                    (NoiseStrategy::DimensionAdjusted, Clipping::Joint) => {
                        noise_multiplier * group.clip / (group.dimension as f64).sqrt()
                    }
                };
                NoisyGroup { group, noise }
            })
            .collect();
        Ok(Self::new(noisy, clipping)?.scaled_to(noise_multiplier))
    }

    /// Scales all noise by one factor, such that the groups together cost one query with
    /// `noise_multiplier` > 0. Only the ratios of their noise matter.
    #[must_use]
    pub fn scaled_to(mut self, noise_multiplier: f64) -> Self {
        let factor = noise_multiplier / self.noise_multiplier();
        self.groups.iter_mut().for_each(|group| group.noise *= factor);
        self
    }

    /// z of the equivalent Gaussian query: (Σ C_g²/σ_g²)^{−1/2} for separate clips. With a joint
    /// clip, group g has norm C_g·u_g with Σu_g² ≤ 1; the worst case is one group: min σ_g/C_g.
    #[must_use]
    pub fn noise_multiplier(&self) -> f64 {
        let ratios = self.groups.iter().map(|NoisyGroup { group, noise }| group.clip / noise);
        match self.clipping {
            Clipping::Separate => ratios.map(|r| r * r).sum::<f64>().sqrt().recip(),
            Clipping::Joint => ratios.fold(0.0, f64::max).recip(),
        }
    }

    /// The equivalent Gaussian query, for a ledger: norm 1, noise [`Groups::noise_multiplier`].
    #[must_use]
    pub fn release(&self, sampling: Sampling) -> Release {
        let noise = NoiseSpec::Gaussian { sigma: self.noise_multiplier() };
        Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(noise))
    }

    /// The groups, in the given order.
    #[must_use]
    pub fn groups(&self) -> &[NoisyGroup] {
        &self.groups
    }

    /// Adds a group to this release. The others keep their noise, so the whole costs more.
    ///
    /// # Errors
    /// As [`Groups::new`].
    pub fn and(mut self, group: Group, noise: f64) -> Result<Self, PrivacyError> {
        self.groups.push(NoisyGroup { group, noise });
        Self::new(self.groups, self.clipping)
    }

    /// Clips one example's vectors in place, in the groups' order. Non-finite vectors become zero.
    ///
    /// # Errors
    /// A wrong number of vectors, or a vector of the wrong length.
    pub fn clip(&self, parts: &mut [&mut [f32]]) -> Result<(), PrivacyError> {
        let expected = self.groups.len() as f64;
        require(parts.len() == self.groups.len(), "parts", parts.len() as f64, "as many as there are groups")?;
        debug_assert!(expected >= 1.0);
        for (part, NoisyGroup { group, .. }) in parts.iter().zip(&self.groups) {
            let length = part.len() as u64;
            require(length == group.dimension, "part.len", length as f64, "the dimension of its group")?;
        }
        let norms: Vec<f64> = parts
            .iter()
            .zip(&self.groups)
            .map(|(part, NoisyGroup { group, .. })| {
                part.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt() / group.clip
            })
            .collect();
        let joint = norms.iter().map(|n| n * n).sum::<f64>().sqrt();
        for (part, norm) in parts.iter_mut().zip(norms) {
            let norm = if self.clipping == Clipping::Joint { joint } else { norm };
            if !norm.is_finite() {
                part.fill(0.0);
            } else if norm > 1.0 - CLIP_MARGIN {
                // Rounding each coordinate to f32 must not leave the ball.
                let factor = ((1.0 - CLIP_MARGIN) / norm) as f32;
                part.iter_mut().for_each(|x| *x *= factor);
            }
        }
        Ok(())
    }
}

/// Clipping aims below its bound by this fraction: more than any engine's relative f32 error of
/// norm, factor and products. A squared norm of terms with up to 1,000 roundings leaves half of it.
pub const CLIP_MARGIN: f64 = 1.0 / 16_384.0;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        books::account,
        ledger::{Held, Ledger, Part},
        normal,
    };

    fn layers() -> Vec<Group> {
        vec![Group::new("convolution", 1040, 0.5), Group::new("dense", 24_960, 1.0), Group::correct_answers()]
    }

    #[test]
    fn the_paper_s_strategies() {
        for strategy in [NoiseStrategy::Proportional, NoiseStrategy::DimensionAdjusted] {
            for clipping in [Clipping::Separate, Clipping::Joint] {
                let groups = Groups::with_multiplier(layers(), 1.1, strategy, clipping).unwrap();
                assert!((groups.noise_multiplier() - 1.1).abs() < 1e-12, "{strategy:?} {clipping:?}");
            }
        }
        let proportional =
            Groups::with_multiplier(layers(), 1.1, NoiseStrategy::Proportional, Clipping::Separate).unwrap();
        assert!((proportional.groups()[0].noise - 1.1 * 0.5 * 3.0_f64.sqrt()).abs() < 1e-12);
        let adjusted =
            Groups::with_multiplier(layers(), 1.1, NoiseStrategy::DimensionAdjusted, Clipping::Separate).unwrap();
        let relative = |i: usize| {
            let NoisyGroup { group, noise } = &adjusted.groups()[i];
            noise * (group.dimension as f64).sqrt() / group.clip
        };
        assert!((relative(0) - relative(1)).abs() < 1e-9 && (relative(0) - relative(2)).abs() < 1e-9);
    }

    #[test]
    fn a_metric_is_one_more_group_and_is_paid_for() {
        let gradient = vec![NoisyGroup { group: Group::new("gradient", 26_010, 1.0), noise: 1.1 }];
        let alone = Groups::new(gradient, Clipping::Separate).unwrap();
        let both = alone.clone().and(Group::correct_answers(), 20.0).unwrap();
        assert!((alone.noise_multiplier() - 1.1).abs() < 1e-15);
        let want = (1.0 / 1.21 + 1.0 / 400.0_f64).sqrt().recip();
        assert!((both.noise_multiplier() - want).abs() < 1e-15 && want < 1.1);
        assert!(alone.clone().and(Group::correct_answers(), 0.0).is_err());
        assert!(alone.and(Group::class_counts(0), 1.0).is_err());
        assert!(Groups::new(Vec::new(), Clipping::Joint).is_err());
    }

    /// Two groups cost exactly what their unsampled composition costs.
    #[test]
    fn groups_are_accounted_for_as_one_query() {
        let noisy = |group, noise| NoisyGroup { group, noise };
        let groups = vec![noisy(Group::new("gradient", 26_010, 0.5), 0.6), noisy(Group::correct_answers(), 20.0)];
        let groups = Groups::new(groups, Clipping::Separate).unwrap();
        let ledger = Ledger::of([(groups.release(Sampling::Poisson { rate: 1.0 }), 3)]).unwrap();
        let exact = normal::epsilon_gaussian((3.0 * ((0.5 / 0.6f64).powi(2) + 0.05f64.powi(2))).sqrt(), 1e-5);
        let found = account(&ledger, 1e-5).unwrap().tight.unwrap().value;
        assert!((found / exact - 1.0).abs() < 1e-9, "{found} {exact}");
    }

    /// A ledger may state a scale slightly above that of its parts; the parts are priced.
    #[test]
    fn a_scale_above_that_of_the_parts_is_not_priced() {
        let parts = [1.2, 20.0].map(|noise| Part { holds: Held::Gradient, clip: 1.0, noise });
        let spent = parts.iter().map(|part| (part.clip / part.noise).powi(2)).sum::<f64>().sqrt();
        let of = |sigma: f64| {
            let noise = Some(NoiseSpec::Gaussian { sigma });
            let whole = Release::new(Sampling::Poisson { rate: 1.0 }, Sensitivity::L2 { norm: 1.0 }, noise);
            let ledger = Ledger::of([(Release { parts: parts.to_vec(), ..whole }, 1)]).unwrap();
            let priced = account(&ledger, 1e-5).unwrap();
            (priced.tight.unwrap().value, priced.improved.epsilon)
        };
        let (honest, forged) = (of(spent.recip()), of(spent.recip() * (1.0 + 9e-10)));
        assert!(forged.0 >= honest.0 && forged.1 >= honest.1, "{forged:?} {honest:?}");
        assert!(forged.0 >= normal::epsilon_gaussian(spent, 1e-5));
    }

    proptest! {
        /// Clipped vectors, divided by the noise, move by at most 1/z.
        #[test]
        fn clipped_parts_stay_within_the_equivalent_query(
            parts in prop::collection::vec(prop::collection::vec(-1e3_f32..1e3, 4), 3),
            noises in prop::collection::vec(0.1_f64..10.0, 3), clips in prop::collection::vec(0.01_f64..10.0, 3), joint: bool,
        ) {
            let clipping = if joint { Clipping::Joint } else { Clipping::Separate };
            let groups = clips.iter().zip(&noises)
                .map(|(clip, noise)| NoisyGroup { group: Group::new("g", 4, *clip), noise: *noise }).collect();
            let groups = Groups::new(groups, clipping).unwrap();
            let mut parts = parts;
            let mut slices: Vec<&mut [f32]> = parts.iter_mut().map(Vec::as_mut_slice).collect();
            groups.clip(&mut slices).unwrap();
            let moved: f64 = parts.iter().zip(&noises)
                .map(|(part, noise)| part.iter().map(|x| (f64::from(*x) / noise).powi(2)).sum::<f64>()).sum::<f64>().sqrt();
            prop_assert!(moved <= 1.0 / groups.noise_multiplier(), "{moved} {}", 1.0 / groups.noise_multiplier());
        }
    }

    #[test]
    fn non_finite_parts_become_zero() {
        let groups = vec![NoisyGroup { group: Group::new("g", 2, 1.0), noise: 1.0 }];
        let groups = Groups::new(groups, Clipping::Separate).unwrap();
        let mut broken = [f32::NAN, 1.0];
        groups.clip(&mut [&mut broken]).unwrap();
        assert_eq!(broken, [0.0, 0.0]);
        assert!(groups.clip(&mut [&mut [1.0]]).is_err() && groups.clip(&mut []).is_err());
    }
}
