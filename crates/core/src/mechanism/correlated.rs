//! Noise that is correlated over the steps, by the *banded square root* (BSR; Kalinin & Lampert 2024, arXiv 2405.13763): a step's noise takes back part of
//! the noise of the steps before, so that what adds up in the parameters is less.
//!
//! ```text
//! c₀ = 1, c_j = c_{j−1}·(2j − 1)/(2j) for j < b; ‖c‖² = Σ c_j²
//! z̃_t = ‖c‖·z_t − Σ_{j=1}^{b−1} c_j·z̃_{t−j}
//! ```
//!
//! C is lower triangular, constant along its diagonals, c_j/‖c‖ on the j-th below the main one, and z̃ = C⁻¹z. What is released, X + C⁻¹Z, tells what CX + Z does; one example's row of X makes a column of
//! CX, of norm 1 at most, over b steps. Under cyclic sampling ([`Sampling::CyclicPoisson`](crate::accounting::sampling::Sampling::CyclicPoisson)) an example's
//! columns do not overlap, and a cycle is one release of Gaussian noise of the same multiplier. The proof for sums that depend on earlier releases rests on noise that looks alike in all directions: Gaussian alone.
//!
//! The memory is b − 1 vectors. It is *secret*: with it a release without noise could be had. It is in no file, and a run that goes on from one begins a new *sequence*: nothing
//! remembered, other groups, and a cycle of its own in the books.

use super::error::MechanismError;

/// Most numbers that are remembered: 64 MiB of f32.
pub const MOST_REMEMBERED: usize = 1 << 24;

/// The coefficients of a correlation over at least two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// c_1 to c_{b−1}.
    past: Vec<f64>,
    /// ‖c‖.
    norm: f64,
}

impl Correlation {
    /// Over `bands` steps for `p` parameters; `None` for one: each step's noise is its own.
    ///
    /// # Errors
    /// [`MechanismError::Bands`] for none, and for more than memory is meant for.
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

    /// c_1 to c_{b−1}: what is taken back of the noise of so many steps before.
    #[must_use]
    pub fn past(&self) -> &[f64] {
        &self.past
    }

    /// ‖c‖, by which fresh noise is multiplied.
    #[must_use]
    pub const fn norm(&self) -> f64 {
        self.norm
    }

    /// How many times larger than the largest fresh noise that of a step can be: ‖c‖·Σ|(C⁻¹)_k|, a little rounded up.
    #[must_use]
    pub fn gain(&self) -> f64 {
        // The inverse's entries fall off geometrically: what is left out after so many is less than what is added.
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

/// Most bands for `p` parameters.
#[must_use]
pub fn most_bands(p: usize) -> u32 {
    u32::try_from(1 + MOST_REMEMBERED / p.max(1)).unwrap_or(u32::MAX)
}

/// A sequence of correlated noise, with the noise of its last steps.
#[derive(Clone, Debug)]
pub struct CorrelatedNoise {
    correlation: Correlation,
    /// Steps of the sequence so far.
    position: u64,
    /// The noise of the last b − 1 steps, each in the row of its number modulo b − 1.
    past: Vec<f32>,
    next: Vec<f64>,
}

impl CorrelatedNoise {
    /// At the beginning of a sequence, for `p` parameters.
    #[must_use]
    pub fn new(correlation: Correlation, p: usize) -> Self {
        let past = vec![0.0; p * correlation.past.len()];
        Self { correlation, position: 0, past, next: vec![0.0; p] }
    }

    /// What is needed for step `position` of a sequence is there. 0 begins one.
    ///
    /// # Errors
    /// [`MechanismError::Sequence`] where other steps came before.
    pub fn go_to(&mut self, position: u64) -> Result<(), MechanismError> {
        self.position = follows(self.position, position)?;
        Ok(())
    }

    /// noise ← the step's noise, of fresh independent noise. The step is over.
    ///
    /// # Panics
    /// When there is not one number for each parameter.
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

/// The position after [`CorrelatedNoise::go_to`], for who remembers `held` steps.
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
    fn c_times_the_noise_is_what_was_drawn() {
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
        // As many bands as steps: C² is the sum over the steps before, all ones.
        let c = correlation(40);
        let all: Vec<f64> = std::iter::once(1.0).chain(c.past().iter().copied()).collect();
        for t in 0..40 {
            let square: f64 = (0..=t).map(|j| all[j] * all[t - j]).sum();
            assert!((square - 1.0).abs() < 1e-12, "{t}: {square}");
        }
    }

    /// What it is for: sums over the steps have less noise than those of independent noise of the same price for a sequence that is not sampled.
    #[test]
    fn noise_that_adds_up_is_less() {
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
    fn a_sequence_goes_on_or_begins_and_does_nothing_else() {
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
    fn bands_have_a_range() {
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
            // The worst signs: those of the inverse, the other way round.
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
