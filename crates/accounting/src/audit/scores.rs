//! Evidence about a canary's coin, from what each step released.

use super::AuditError;
use crate::{numeric::log_sum_exp, sampling::Sampling};

/// Scores what steps released along a canary's direction.
///
/// A canary's gradient has a direction of its own and exceeds the clipping norm, so it adds the
/// bound or, left out, nothing. An auditor who knows all other examples subtracts their sum; the
/// rest along the direction, over the bound, is x: noise, plus 1 in steps that drew an included
/// canary. No test of x beats the likelihood ratio (Neyman & Pearson 1933).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scorer {
    sampling: Sampling,
}

/// The evidence about one canary's coin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// From complete epochs, or from all steps if they draw independently.
    closed: f64,
    /// ln Σ of the open epoch's ratios, and their number.
    open: f64,
    steps: u64,
}

impl Scorer {
    /// A scorer for steps with this sampling.
    ///
    /// # Errors
    /// [`AuditError::Unscored`] for cyclic sampling, whose noise may be correlated.
    pub const fn new(sampling: Sampling) -> Result<Self, AuditError> {
        match sampling {
            Sampling::CyclicPoisson { .. } => Err(AuditError::Unscored(sampling)),
            _ => Ok(Self { sampling }),
        }
    }

    /// Adds a step's evidence: `ratio(s)` is ln z(x − s)/z(x), the log-likelihood ratio of drawn to
    /// not drawn for the canary (s = 1) or its negative (s = −1), summed over coordinates.
    ///
    /// *Poisson*: ln(1 − q + q·z(x − 1)/z(x)). *Fixed size*, where a canary that is not +C is −C:
    /// that minus the same of z(x + 1)/z(x). *Partitions*: ln of the mean of an epoch's ratios.
    pub fn take(self, score: &mut Score, ratio: impl Fn(f64) -> f64) {
        match self.sampling {
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } => {
                score.closed += mixed(rate, ratio(1.0))
            }
            Sampling::FixedSize { population, size } => {
                let rate = size as f64 / population as f64;
                score.closed += mixed(rate, ratio(1.0)) - mixed(rate, ratio(-1.0));
            }
            Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches } => {
                let ratio = ratio(1.0);
                score.open = if score.steps == 0 { ratio } else { log_sum_exp(&[score.open, ratio]) };
                score.steps += 1;
                if score.steps >= batches {
                    score.closed += score.open - (batches as f64).ln();
                    (score.open, score.steps) = (0.0, 0);
                }
            }
        }
    }

    /// As [`Scorer::take`] for many canaries with Gaussian noise, one coordinate each: `seen` is
    /// the rest there, `added` the canary's contribution. `factors`, initially 1, hold products of
    /// ratios; ln of a factor, moved to the score once far from 1, adds to the canary's evidence.
    /// Returns `false`, doing nothing, unless steps draw independently and σ⁻² is finite.
    #[inline(always)]
    pub fn take_gaussian(
        self,
        (scores, factors): (&mut [Score], &mut [f64]),
        seen: &[f32],
        added: &[f32],
        sigma: f64,
    ) -> bool {
        let (rate, replaced) = match self.sampling {
            Sampling::Poisson { rate } => (rate, false),
            Sampling::FixedSize { population, size } => (size as f64 / population as f64, true),
            _ => return false,
        };
        let precision = sigma.powi(-2);
        if !precision.is_finite() {
            return false;
        }
        let blocks = scores.chunks_mut(BLOCK).zip(factors.chunks_mut(BLOCK));
        for ((scores, factors), (seen, added)) in blocks.zip(seen.chunks(BLOCK).zip(added.chunks(BLOCK))) {
            // ln z(x − s·e)/z(x) = s·a − b.
            let (mut along, mut half) = ([0.0; BLOCK], [0.0; BLOCK]);
            let mut near = true;
            for (((along, half), &x), &e) in along.iter_mut().zip(&mut half).zip(seen).zip(added) {
                let (e, scaled) = (f64::from(e), f64::from(e) * precision);
                *along = f64::from(x) * scaled;
                *half = 0.5 * e * scaled;
                near &= along.abs() + *half <= NEAR;
            }
            if !near {
                for ((score, along), half) in scores.iter_mut().zip(along).zip(half) {
                    let ratio = |side: f64| {
                        let ratio = side * along - half;
                        if ratio.is_nan() { 0.0 } else { ratio }
                    };
                    self.take(score, ratio);
                }
                continue;
            }
            // Two loops, as the compiler vectorises each.
            let mixed = |d: f64| 1.0 - rate + rate * exp(d);
            let each = factors.iter_mut().zip(&along).zip(&half);
            if replaced {
                each.for_each(|((factor, along), half)| *factor *= mixed(along - half) / mixed(-along - half));
            } else {
                each.for_each(|((factor, along), half)| *factor *= mixed(along - half));
            }
            let within = factors.iter().fold(true, |within, &factor| within & (factor > FAR.recip()) & (factor < FAR));
            if !within {
                scores.iter_mut().zip(factors).for_each(|(score, factor)| settle(score, factor));
            }
        }
        true
    }

    /// ln of the likelihood ratio of everything released, with the canary against without it.
    #[must_use]
    pub fn value(self, score: &Score) -> f64 {
        match self.sampling {
            // The canary may be in a batch still to come.
            Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches } if score.steps > 0 => {
                let left = ((batches - score.steps) as f64).ln();
                score.closed + log_sum_exp(&[score.open, left]) - (batches as f64).ln()
            }
            _ => score.closed,
        }
    }
}

/// Canaries scored together, so that their data stay in cache.
const BLOCK: usize = 128;
/// Largest |ln| of a step's ratio, and largest factor, whose products stay finite.
const NEAR: f64 = 100.0;
const FAR: f64 = 1e150;

#[inline(always)]
fn settle(score: &mut Score, factor: &mut f64) {
    if *factor != 1.0 {
        score.closed += factor.ln();
        *factor = 1.0;
    }
}

/// eˣ for |x| ≤ [`NEAR`] to a relative error below 1e-9: the nearest power of two times a
/// polynomial of the rest, without branches, so that the compiler vectorises it.
#[inline(always)]
fn exp(x: f64) -> f64 {
    // 1.5·2^52: adding it leaves a rounded integer in the last bits.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let shifted = x * core::f64::consts::LOG2_E + WHOLE;
    let rest = x - (shifted - WHOLE) * core::f64::consts::LN_2;
    let mut sum = 1.0 / 40_320.0;
    for inverse in [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * rest + inverse;
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// ln(1 − q + q·eᵈ).
fn mixed(rate: f64, d: f64) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    if d < -1.0 {
        return (1.0 - rate + rate * d.exp()).ln();
    }
    if d < 30.0 {
        return (rate * d.exp_m1()).ln_1p();
    }
    // Beyond, eᵈ may overflow.
    d + (rate + (1.0 - rate) * (-d).exp()).ln()
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::{
        audit::Guesses,
        books::Books,
        ledger::{Ledger, Release, Sensitivity},
        noise::NoiseSpec,
        numeric::unit_from_words,
    };

    #[test]
    fn mixtures_match_direct_evaluation_without_overflow() {
        for rate in [0.0, 1e-3, 0.5, 1.0] {
            for d in [-40.0, -1.0, 0.0, 1e-9, 3.0, 29.0, 31.0, 200.0_f64] {
                let plain = (1.0 - rate + rate * d.exp()).ln();
                assert!((mixed(rate, d) - plain).abs() < 1e-9 * plain.abs().max(1e-6), "{rate} {d}");
            }
            assert!(mixed(rate, 5000.0).is_finite());
        }
        assert!((mixed(1e-3, 5000.0) - (5000.0 + 1e-3_f64.ln())).abs() < 1e-9);
    }

    #[test]
    fn exp_matches_the_standard_library() {
        for k in -100_000..=100_000 {
            let x = f64::from(k) * 1e-3;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-9, "{x}");
        }
    }

    /// Also where so little noise makes ratios infinite, and where no evidence is left.
    #[test]
    fn batched_scores_equal_individual_scores() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        const CANARIES: usize = 300;
        for sampling in [
            Sampling::Poisson { rate: 0.01 },
            Sampling::Poisson { rate: 1.0 },
            Sampling::FixedSize { population: 1000, size: 300 },
        ] {
            for (sigma, length) in [(1.0, 1.0), (0.02, 1.0), (1e-3, 1.0), (3.0, 0.2), (1.0, 0.0)] {
                let noise = NoiseSpec::Gaussian { sigma }.build().unwrap();
                let scorer = Scorer::new(sampling).unwrap();
                let (mut one, mut all) = (vec![Score::default(); CANARIES], vec![Score::default(); CANARIES]);
                let mut factors = vec![1.0; CANARIES];
                let added: Vec<f32> = (0..CANARIES).map(|k| if k % 3 == 0 { -length } else { length }).collect();
                for _ in 0..400 {
                    let seen: Vec<f32> = added
                        .iter()
                        .map(|&e| (noise.sample(&mut rng) as f32) + if rng.next_u32() % 5 == 0 { e } else { 0.0 })
                        .collect();
                    for (score, (&x, &e)) in one.iter_mut().zip(seen.iter().zip(&added)) {
                        scorer.take(score, |side| {
                            let ratio = noise.log_ratio(x.into(), side * f64::from(e));
                            if ratio.is_nan() { 0.0 } else { ratio }
                        });
                    }
                    assert!(scorer.take_gaussian((&mut all, &mut factors), &seen, &added, sigma));
                }
                for (one, (all, factor)) in one.iter().zip(all.iter().zip(&factors)) {
                    let (one, all) = (scorer.value(one), scorer.value(all) + factor.ln());
                    let near = (one - all).abs() <= 1e-6 * (1.0 + one.abs());
                    assert!(near || one == all, "{sampling}, σ {sigma}, {length}: {one} {all}");
                }
            }
        }
        let partition = Scorer::new(Sampling::RandomAllocation { batches: 4 }).unwrap();
        assert!(!partition.take_gaussian((&mut [], &mut []), &[], &[], 1.0));
        let poisson = Scorer::new(Sampling::Poisson { rate: 0.1 }).unwrap();
        assert!(!poisson.take_gaussian((&mut [], &mut []), &[], &[], 1e-200), "a density that no number holds");
    }

    /// In an open epoch, the canary may be in a batch that never came.
    #[test]
    fn epoch_score_is_the_mean_ratio_with_missing_batches_as_one() {
        let noise = NoiseSpec::Gaussian { sigma: 0.8 }.build().unwrap();
        let scorer = Scorer::new(Sampling::RandomAllocation { batches: 4 }).unwrap();
        let (mut score, seen) = (Score::default(), [0.3, -1.0, 2.0, 0.1]);
        let ratio = |x: f64| ((2.0 * x - 1.0) / (2.0 * 0.64)).exp();
        for (count, &x) in (1..).zip(&seen) {
            scorer.take(&mut score, |side| noise.log_ratio(x, side));
            let sum: f64 = seen[..count].iter().map(|&x| ratio(x)).sum();
            let expected = ((sum + (4 - count) as f64) / 4.0).ln();
            assert!((scorer.value(&score) - expected).abs() < 1e-12, "{count}");
        }
        scorer.take(&mut score, |side| noise.log_ratio(0.5, side));
        assert!(
            (scorer.value(&score) - (seen.map(ratio).iter().sum::<f64>() / 4.0).ln() - ((ratio(0.5) + 3.0) / 4.0).ln())
                .abs()
                < 1e-12
        );
        let cyclic = Sampling::CyclicPoisson { rate: 0.1, groups: 4 };
        assert!(matches!(Scorer::new(cyclic), Err(AuditError::Unscored(_))));
    }

    /// Guesses "in" for the most confident twentieth of canaries, at `share` of the claimed noise.
    fn audited(seed: u64, sampling: Sampling, noise: &NoiseSpec, share: f64, steps: u32) -> Guesses {
        const CANARIES: u32 = 4000;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let claimed = noise.build().unwrap();
        let scorer = Scorer::new(sampling).unwrap();
        let mut found: Vec<(f64, bool)> = (0..CANARIES)
            .map(|_| {
                let is_in = rng.next_u32() % 2 == 0;
                let (mut score, mut batch) = (Score::default(), 0);
                for step in 0..steps {
                    let drawn = match sampling {
                        Sampling::Poisson { rate } => unit_from_words(rng.next_u32(), rng.next_u32()) < rate,
                        Sampling::RandomAllocation { batches } | Sampling::Shuffled { batches } => {
                            if u64::from(step) % batches == 0 {
                                batch = rng.next_u64() % batches;
                            }
                            u64::from(step) % batches == batch
                        }
                        other => panic!("{other}"),
                    };
                    let x = share * claimed.sample(&mut rng) + f64::from(u8::from(is_in && drawn));
                    scorer.take(&mut score, |side| claimed.log_ratio(x, side));
                }
                (scorer.value(&score), is_in)
            })
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let made = CANARIES / 20;
        let right = found[..made as usize].iter().filter(|(_, is_in)| *is_in).count() as u32;
        Guesses::new(CANARIES, made, right).unwrap()
    }

    fn claim(sampling: Sampling, noise: &NoiseSpec, steps: u32, delta: f64) -> f64 {
        let release = Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(noise.clone()));
        let ledger = Ledger::of([(release, steps.into())]).unwrap();
        Books::of(ledger).unwrap().tight(delta).unwrap().value
    }

    /// Honest runs are refuted as rarely as stated, and nearly all runs with half the noise are.
    #[test]
    fn halved_noise_is_refuted_and_honest_noise_is_not() {
        const RUNS: u64 = 24;
        let delta = 1e-5;
        for (sampling, sigma, steps) in
            [(Sampling::Poisson { rate: 0.03 }, 1.0, 300), (Sampling::RandomAllocation { batches: 30 }, 0.8, 300)]
        {
            let noise = NoiseSpec::Gaussian { sigma };
            let epsilon = claim(sampling, &noise, steps, delta);
            let above = |share: f64| {
                let bound = |seed| {
                    let guesses = audited(seed, sampling, &noise, share, steps);
                    let mu = guesses.mu(0.05).unwrap();
                    [
                        guesses.epsilon(0.05, delta).unwrap(),
                        if mu > 0.0 { crate::normal::epsilon_gaussian(mu, delta) } else { 0.0 },
                    ]
                };
                let bounds: Vec<[f64; 2]> = (0..RUNS).map(bound).collect();
                let mean = |k: usize| bounds.iter().map(|bound| bound[k]).sum::<f64>() / RUNS as f64;
                println!("{sampling}: claimed {epsilon:.3}, share {share}: {:.3} {:.3}", mean(0), mean(1));
                [0, 1].map(|k| bounds.iter().filter(|bound| bound[k] > epsilon).count())
            };
            // 1.2 of 24 are expected at most; 7 or more have a probability below 2e-4.
            assert!(above(1.0).iter().all(|&count| count < 7), "{sampling}");
            let [_, caught] = above(0.5);
            assert!(caught * 10 >= 9 * RUNS as usize, "{sampling}: {caught} of {RUNS}");
        }
    }
}
