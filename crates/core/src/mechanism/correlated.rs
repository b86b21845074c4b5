//! Noise correlated over the steps by the *banded square root* (BSR; Kalinin & Lampert 2024, arXiv
//! 2405.13763): each step subtracts part of earlier noise, so less accumulates in the parameters.
//!
//! ```text
//! c₀ = 1, c_j = c_{j−1}·(2j − 1)/(2j) for j < b; ‖c‖² = Σ c_j²
//! z̃_t = ‖c‖·z_t − Σ_{j=1}^{b−1} c_j·z̃_{t−j}
//! ```
//!
//! C is lower triangular and constant along its diagonals, with c_j/‖c‖ on the j-th below the main
//! one, and z̃ = C⁻¹z. Releasing X + C⁻¹Z is equivalent to releasing CX + Z, where one example's
//! row of X becomes a column of CX, of norm at most 1, over b steps. Under cyclic sampling
//! ([`CyclicPoisson`](crate::accounting::sampling::Sampling::CyclicPoisson)) an example's columns
//! do not overlap, and a cycle is one release of Gaussian noise of the same multiplier. If sums
//! depend on earlier releases, the proof needs rotationally invariant noise: Gaussian alone.
//!
//! The b − 1 remembered vectors are *secret*: they would reveal a release without noise. No file
//! holds them; a resumed run begins a new *sequence* without memory, with new groups and cycle.

use super::error::MechanismError;

/// Largest number of remembered values: 64 MiB of f32.
pub const MOST_REMEMBERED: usize = 1 << 24;

/// Coefficients of a correlation over at least two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// c_1 to c_{b−1}.
    past: Vec<f64>,
    /// ‖c‖.
    norm: f64,
}

impl Correlation {
    /// Builds the correlation over `bands` steps for `p` parameters; `None` (no correlation) for 1.
    ///
    /// # Errors
    /// [`MechanismError::Bands`] if `bands` is 0 or above [`most_bands`].
    pub fn new(bands: u32, p: usize) -> Result<Option<Self>, MechanismError> {
        let most = most_bands(p);
        if bands == 0 || bands > most {
            return Err(MechanismError::Bands { bands, most });
        }
        let mut c = 1.0;
        let past: Vec<f64> = (1..bands)
            .map(|j| {
                c *= f64::from(2 * j - 1) / f64::from(2 * j);
                c
            })
            .collect();
        let norm = past.iter().fold(1.0, |sum, c| sum + c * c).sqrt();
        Ok((bands > 1).then_some(Self { past, norm }))
    }

    /// Returns c_1 to c_{b−1}, the multiples of the previous steps' noise that are subtracted.
    #[must_use]
    pub fn past(&self) -> &[f64] {
        &self.past
    }

    /// Returns ‖c‖, by which fresh noise is multiplied.
    #[must_use]
    pub const fn norm(&self) -> f64 {
        self.norm
    }

    /// Bounds the largest ratio of a step's noise to fresh noise: 1.01·‖c‖·Σ|(C⁻¹)_k|.
    #[must_use]
    pub fn gain(&self) -> f64 {
        // The inverse's entries fall off geometrically; the 1 % covers the omitted ones.
        let steps = 64 * (self.past.len() + 1).min(256);
        let mut inverse: Vec<f64> = vec![1.0];
        for t in 1..steps {
            let taken = self.past.iter().zip(inverse.iter().rev()).map(|(c, d)| c * d).sum::<f64>();
            inverse.push(-taken);
            debug_assert_eq!(inverse.len(), t + 1);
        }
        1.01 * self.norm * inverse.iter().map(|d| d.abs()).sum::<f64>()
    }
}

/// Returns the largest number of bands for `p` parameters.
#[must_use]
pub fn most_bands(p: usize) -> u32 {
    u32::try_from(1 + MOST_REMEMBERED / p.max(1)).unwrap_or(u32::MAX)
}

/// A sequence of correlated noise and its memory.
#[derive(Clone, Debug)]
pub struct CorrelatedNoise {
    correlation: Correlation,
    /// Number of steps made in this sequence.
    position: u64,
    /// Noise of the last b − 1 steps; step t is in row t mod (b − 1).
    past: Vec<f32>,
    next: Vec<f64>,
}

impl CorrelatedNoise {
    /// Starts a sequence for `p` parameters.
    #[must_use]
    pub fn new(correlation: Correlation, p: usize) -> Self {
        let past = vec![0.0; p * correlation.past.len()];
        Self { correlation, position: 0, past, next: vec![0.0; p] }
    }

    /// Moves to step `position` of the sequence; 0 starts a new one.
    ///
    /// # Errors
    /// [`MechanismError::Sequence`] unless exactly `position` steps have been made.
    pub fn go_to(&mut self, position: u64) -> Result<(), MechanismError> {
        self.position = follows(self.position, position)?;
        Ok(())
    }

    /// Turns fresh independent noise into this step's noise, in place, and completes the step.
    ///
    /// # Panics
    /// When `noise` does not have one value per parameter.
    pub fn correlate(&mut self, noise: &mut [f32]) {
        let Self { correlation: Correlation { past: c, norm }, position, past, next } = self;
        let p = next.len();
        assert_eq!(noise.len(), p, "as much noise as there are parameters");
        next.iter_mut().zip(&*noise).for_each(|(next, &z)| *next = *norm * f64::from(z));
        let rows = c.len() as u64;
        let row = |step: u64| (step % rows) as usize * p;
        for (c, step) in c.iter().zip((0..*position).rev()) {
            let past = &past[row(step)..][..p];
            next.iter_mut().zip(past).for_each(|(next, &z)| *next -= c * f64::from(z));
        }
        noise.iter_mut().zip(&*next).for_each(|(noise, &next)| *noise = next as f32);
        past[row(*position)..][..p].copy_from_slice(noise);
        *position += 1;
    }
}

/// Returns the position after [`CorrelatedNoise::go_to`] for a caller that remembers `held` steps.
///
/// # Errors
/// [`MechanismError::Sequence`].
pub fn follows(held: u64, position: u64) -> Result<u64, MechanismError> {
    if position == 0 || position == held { Ok(position) } else { Err(MechanismError::Sequence { position, held }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accounting::noise::NoiseSpec, mechanism::noise::add_noise};

    const P: usize = 37;

    fn fresh(step: u64) -> Vec<f32> {
        let noise = NoiseSpec::Gaussian { sigma: 1.3 }.build().unwrap();
        let mut drawn = vec![0.0; P];
        add_noise(&[step as u32, 2, 3, 4, 5, 6, 7, 8], &*noise, &[0.0; P], &mut drawn);
        drawn
    }

    fn correlation(bands: u32) -> Correlation {
        Correlation::new(bands, P).unwrap().unwrap()
    }

    #[test]
    fn multiplying_by_c_recovers_the_fresh_noise() {
        for bands in [2, 3, 8, 64] {
            let correlation = correlation(bands);
            let mut sequence = CorrelatedNoise::new(correlation.clone(), P);
            let mut released: Vec<Vec<f32>> = Vec::new();
            for step in 0..300 {
                sequence.go_to(step).unwrap();
                let mut noise = fresh(step);
                sequence.correlate(&mut noise);
                released.push(noise);
                // (CZ̃)_t, by its definition.
                let c = std::iter::once(1.0).chain(correlation.past().iter().copied());
                let back: Vec<f64> = (0..P)
                    .map(|i| {
                        let terms = c.clone().zip(released.iter().rev()).map(|(c, z)| c * f64::from(z[i]));
                        terms.sum::<f64>() / correlation.norm()
                    })
                    .collect();
                for (back, drawn) in back.iter().zip(fresh(step)) {
                    assert!((back - f64::from(drawn)).abs() < 1e-5, "{bands} bands, step {step}: {back} {drawn}");
                }
            }
        }
    }

    #[test]
    fn coefficients_are_those_of_the_square_root() {
        let c = correlation(6);
        assert_eq!(c.past(), [0.5, 0.375, 0.3125, 0.2734375, 0.24609375]);
        let norm = (1.0_f64 + 0.25 + 0.140625 + 0.09765625 + 0.2734375_f64.powi(2) + 0.24609375_f64.powi(2)).sqrt();
        assert!((c.norm() - norm).abs() < 1e-15);
        // With as many bands as steps, C² is the prefix sum matrix of ones.
        let c = correlation(40);
        let all: Vec<f64> = std::iter::once(1.0).chain(c.past().iter().copied()).collect();
        for t in 0..40 {
            let square: f64 = (0..=t).map(|j| all[j] * all[t - j]).sum();
            assert!((square - 1.0).abs() < 1e-12, "{t}: {square}");
        }
    }

    /// Summed over steps, the noise is less than independent noise of equal cost without sampling.
    #[test]
    fn correlated_noise_sums_to_less() {
        let mut sequence = CorrelatedNoise::new(correlation(16), P);
        let (mut own, mut alone) = (vec![0.0_f64; P], vec![0.0_f64; P]);
        let (mut ours, mut theirs) = (0.0, 0.0);
        for step in 0..400 {
            let mut noise = fresh(step);
            alone.iter_mut().zip(&noise).for_each(|(sum, &z)| *sum += f64::from(z));
            sequence.correlate(&mut noise);
            own.iter_mut().zip(&noise).for_each(|(sum, &z)| *sum += f64::from(z));
            ours += own.iter().map(|z| z * z).sum::<f64>();
            theirs += alone.iter().map(|z| z * z).sum::<f64>();
        }
        assert!(ours < 0.3 * theirs, "{ours} {theirs}");
    }

    #[test]
    fn sequences_only_continue_or_restart() {
        let mut sequence = CorrelatedNoise::new(correlation(3), P);
        let run = |sequence: &mut CorrelatedNoise, position| {
            sequence.go_to(position)?;
            let mut noise = fresh(position);
            sequence.correlate(&mut noise);
            Ok::<_, MechanismError>(noise)
        };
        let first: Vec<_> = (0..5).map(|position| run(&mut sequence, position).unwrap()).collect();
        for wrong in [1, 4, 6, u64::MAX] {
            assert_eq!(run(&mut sequence, wrong), Err(MechanismError::Sequence { position: wrong, held: 5 }));
        }
        let again: Vec<_> = (0..5).map(|position| run(&mut sequence, position).unwrap()).collect();
        assert_eq!(first, again, "nothing is remembered of the sequence before");
    }

    #[test]
    fn bands_out_of_range_are_refused() {
        assert_eq!(Correlation::new(1, P).unwrap(), None);
        for (bands, p) in [(0, P), (MOST_REMEMBERED as u32 + 2, 1), (647, 26_010)] {
            assert!(matches!(Correlation::new(bands, p), Err(MechanismError::Bands { .. })), "{bands} of {p}");
        }
        assert!(Correlation::new(646, 26_010).is_ok() && Correlation::new(u32::MAX, 0).is_err());
    }

    #[test]
    fn no_noise_is_larger_than_the_gain_allows() {
        for bands in [2, 5, 64, 400] {
            let correlation = correlation(bands);
            let gain = correlation.gain();
            assert!(gain > correlation.norm() && gain < 8.0, "{bands}: {gain}");
            // Worst case: signs opposite to the inverse's.
            let mut inverse = vec![1.0_f64];
            for _ in 1..20_000 {
                let next = correlation.past().iter().zip(inverse.iter().rev()).map(|(c, d)| c * d).sum::<f64>();
                inverse.push(-next);
            }
            let worst = correlation.norm() * inverse.iter().map(|d| d.abs()).sum::<f64>();
            assert!(worst <= gain && gain < 1.1 * worst, "{bands}: {worst} {gain}");
        }
    }
}
