use super::*;
use crate::{
    envelope::EnvelopeProfile,
    noise::NoiseSpec,
    risk::{AttackBound, EpsilonDelta, PrivacyCurve},
};

const RATE: f64 = 256.0 / 60_000.0;

fn epsilon(sigma: f64, rate: f64, steps: u64, delta: f64) -> Tight {
    Pld::sampled_gaussian(sigma, rate).unwrap().compose(steps).epsilon(delta).unwrap()
}

/// Enclosures by another implementation: pessimistic from above, tangents of the curve from below.
#[test]
fn known_cases() {
    for (q, sigma, steps, delta, lower, best) in [
        (RATE, 0.7, 14_062, 1e-5, 6.539_039_012_886_586, 6.539_093_717_742_827),
        (RATE, 1.1, 14_062, 1e-5, 2.381_593_715_554_361_6, 2.381_596_906_123_018_4),
        (0.01, 1.0, 1000, 1e-6, 2.124_514_935_321_244, 2.124_515_160_532_771),
        (0.1, 3.0, 200, 1e-5, 2.003_651_658_710_371, 2.003_651_713_548_274),
        (0.02, 0.9, 10, 1e-5, 1.073_171_846_708_573_4, 1.073_171_848_164_318_7),
        (0.005, 2.0, 20_000, 1e-7, 1.851_843_908_750_356_2, 1.851_851_791_262_159_7),
    ] {
        let found = epsilon(sigma, q, steps, delta);
        assert!(found.value >= lower && found.value <= best * (1.0 + 1e-4), "{sigma} {q} {steps}: {found:?}");
        assert_eq!((found.method, found.rigor), (Method::Convolution, Rigor::Proven));
        assert!(found.least <= best && found.least >= 0.99 * lower && found.is_tight(), "{found:?}");
        let back = Pld::sampled_gaussian(sigma, q).unwrap().compose(steps).delta(found.value).unwrap();
        assert!((back.value / delta - 1.0).abs() < 5e-3, "{back:?}");
    }
}

/// The gap holds the exact curve, and what a far finer grid finds.
#[test]
fn the_true_epsilon_is_within_the_gap() {
    for mu in [0.1, 0.5, 1.0, 3.0, 6.0] {
        for log_delta in [-9.0, -14.0, -30.0, -80.0] {
            let question = solve::Question::Epsilon { log_delta };
            for (share, count) in [(1.0, 1), (0.1, 100)] {
                let pair = SampledPair::of(&Unsampled::gaussian(mu * share), 1.0);
                let found = solve::answer(&[(pair, count)], question, TOLERANCE, &Work::new(QUESTION));
                let exact = normal::epsilon_gaussian(mu, f64::exp(log_delta));
                assert!(found.value >= exact && found.least <= exact, "{mu} {log_delta} {count}: {found:?} {exact}");
                assert!(
                    exact < 0.3 || log_delta < -40.0 || found.least > 0.98 * exact,
                    "{mu} {log_delta} {count}: {found:?}"
                );
            }
        }
    }
    for (sigma, rate, steps, delta) in [
        (1.1, RATE, 3516, 1e-5),
        (0.8, 0.01, 1000, 1e-5),
        (2.0, 0.1, 500, 1e-6),
        (1.0, 0.5, 10, 1e-5),
        (4.0, 0.02, 100_000, 1e-6),
        (0.6, 0.001, 200, 1e-5),
        (1.0, 0.01, 1, 1e-5),
        (3.0, 0.3, 3, 1e-12),
    ] {
        let pld = Pld::sampled_gaussian(sigma, rate).unwrap().compose(steps);
        let (usual, fine) = (pld.epsilon(delta).unwrap(), pld.with_tolerance(1e-6).epsilon(delta).unwrap());
        assert!(usual.least <= fine.value && fine.least <= usual.value, "{usual:?} {fine:?}");
        assert!(usual.value - usual.least < 0.02 * usual.value && fine.least >= usual.least, "{usual:?} {fine:?}");
    }
    // Where losses are themselves bounds, nothing is claimed.
    let noise = NoiseSpec::Laplace { scale: 2.0 };
    let found = Pld::for_release(&release(noise, &[&[0.5, 0.3]], 0.1)).unwrap().compose(10).epsilon(1e-5).unwrap();
    assert!(found.least == 0.0 && !found.is_tight() && found.in_words().contains("not known"), "{found:?}");
}

#[test]
fn long_compositions_agree_with_their_limit() {
    // For large T at fixed q√T: a Gaussian mechanism's loss with μ = q√(T(e^{1/σ²} − 1)).
    for (rate, steps) in [(1e-4, 100_000_000), (1e-5, 1_000_000_000)] {
        let sigma: f64 = 2.0;
        let mu = rate * (steps as f64 * (1.0 / (sigma * sigma)).exp_m1()).sqrt();
        let limit = normal::epsilon_gaussian(mu, 1e-5);
        let found = epsilon(sigma, rate, steps, 1e-5);
        assert!(found.value > 0.99 * limit && found.value < 1.02 * limit, "{found:?} {limit}");
        assert_eq!(found.method, Method::Convolution);
    }
}

#[test]
fn nothing_panics_or_hangs() {
    for rate in [0.0, 1e-9, 1e-4, 0.5, 1.0] {
        for sigma in [1e-3, 0.3, 5.0, 1e3] {
            for steps in [1, 1_000_000_000] {
                for delta in [1e-300, 1e-5, 0.9] {
                    let found = epsilon(sigma, rate, steps, delta);
                    assert!(found.value >= 0.0, "{rate} {sigma} {steps} {delta:e}: {found:?}");
                }
            }
        }
    }
}

fn release(noise: NoiseSpec, vectors: &[&[f64]], rate: f64) -> Release {
    let profile = EnvelopeProfile::from_vectors_f64(vectors.iter().copied()).unwrap();
    Release::new(Sampling::Poisson { rate }, Sensitivity::Envelope { profile }, Some(noise))
}

/// Half-normal quantiles, norm 1.
fn spread(coordinates: usize) -> Vec<f64> {
    let n = 2.0 * coordinates as f64;
    let raw: Vec<f64> = (0..coordinates).map(|i| normal::quantile(0.5 + (i as f64 + 0.5) / n)).collect();
    let norm = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
    raw.iter().map(|x| x / norm).collect()
}

#[test]
fn spread_noise_acts_like_gaussian_noise_of_the_same_information() {
    let psi = spread(26_010);
    let step = Pld::for_release(&release(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }, &[&psi], RATE)).unwrap();
    let found = step.compose(14_062).epsilon(1e-5).unwrap();
    // σ_eff = 1/√J = s·√((ν+3)/(ν+1)).
    let gaussian = epsilon(1.2_f64.sqrt(), RATE, 14_062, 1e-5);
    // Larger by the rounding up of dominating vectors.
    assert!(
        found.value > gaussian.value * (1.0 - 3e-4) && found.value < gaussian.value * 1.02,
        "{found:?} {gaussian:?}"
    );
    assert_eq!((found.method, found.rigor), (Method::Convolution, Rigor::Proven));
}

/// A typical training: the proven bound holds for every vector, and is below Rényi's.
#[test]
fn many_random_vectors_have_a_proven_bound() {
    use rand::rand_core::{Rng, SeedableRng};
    let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(5);
    let draw = |_| {
        let mut row: Vec<f64> = (0..2000)
            .map(|_| normal::quantile(1.0 - 0.5 * (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0))
            .collect();
        row.sort_by(|a, b| b.total_cmp(a));
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        row.iter().map(|x| x / norm).collect()
    };
    let rows: Vec<Vec<f64>> = (0..30).map(draw).collect();
    let vectors: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let noise = NoiseSpec::StudentT { nu: 9.0, scale: 1.0 };
    let all = release(noise.clone(), &vectors, RATE);
    let found = Pld::for_release(&all).unwrap().compose(14_062).epsilon(1e-5).unwrap();
    assert_eq!((found.method, found.rigor), (Method::Convolution, Rigor::Proven));
    let one = Pld::for_release(&release(noise, &vectors[..1], RATE)).unwrap().compose(14_062).epsilon(1e-5).unwrap();
    assert!(found.value >= one.value, "{found:?} {one:?}");
    let mut renyi = RdpAccountant::new();
    let curve = renyi.add_curve(RdpCurve::of(&all).unwrap()).unwrap();
    renyi.compose(curve, 14_062);
    assert!(found.value < renyi.epsilon(1e-5).unwrap().improved.epsilon);
}

/// Spread over many coordinates, each family is near its Gaussian limit, and below Rényi.
#[test]
fn every_family_has_its_limit() {
    let psi = spread(3000);
    for noise in [
        NoiseSpec::Laplace { scale: 1.1 },
        NoiseSpec::Cauchy { scale: 0.8 },
        NoiseSpec::VarianceGamma { scale: 0.6 },
        NoiseSpec::HyperbolicSecant { scale: 1.2 },
        NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 1.5 },
    ] {
        let sigma = noise.build().unwrap().fisher_information().sqrt().recip();
        let gaussian = epsilon(sigma, 0.01, 1000, 1e-5).value;
        let pld = Pld::for_release(&release(noise.clone(), &[&psi], 0.01)).unwrap();
        let found = pld.compose(1000).epsilon(1e-5).unwrap();
        assert_eq!(found.method, Method::Convolution, "{noise:?}");
        assert!((found.value / gaussian - 1.0).abs() < 0.02, "{noise:?}: {found:?} {gaussian}");
    }
}

/// One coordinate, one step: δ(ε) = ∫(z(x−τ) − e^ε z(x))₊ dx by brute force.
#[test]
fn one_coordinate_matches_brute_force() {
    for (noise, tau) in
        [(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }, 1.0), (NoiseSpec::StudentT { nu: 3.0, scale: 0.5 }, 2.0)]
    {
        let pld = Pld::for_release(&release(noise.clone(), &[&[tau]], 1.0)).unwrap();
        assert_eq!(pld.rigor(), Rigor::Proven, "{noise:?}");
        let z = noise.build().unwrap();
        for epsilon in [0.0_f64, 0.3, 0.9, 1.4] {
            let h: f64 = 1e-3;
            let want: f64 = (-60_000..60_000)
                .map(|i| (f64::from(i) + 0.5) * h)
                .map(|x| (z.density(x - tau) - epsilon.exp() * z.density(x)).max(0.0) * h)
                .sum();
            let got = pld.delta(epsilon).unwrap();
            if epsilon == 0.0 {
                // The total variation distance is known.
                let variation = 1.0 - 2.0 * z.survival(0.5 * tau);
                assert!(got.value >= variation * (1.0 - 1e-9) && got.value <= variation * (1.0 + 1e-6), "{noise:?}");
            }
            assert!(
                got.value >= want - 1e-7 && got.value <= want * 1.001 + 2e-6,
                "{noise:?} {epsilon}: {got:?} {want}"
            );
        }
    }
}

/// The convolution, even where a closed form exists, is never below the exact curve, and close.
#[test]
fn never_below_the_gaussian_curve() {
    for (mu, steps) in [(1.0, 1), (0.3, 7), (0.05, 900), (2.0, 3)] {
        for delta in [1e-2, 1e-5, 1e-12, 1e-40] {
            let source = SampledPair::of(&Unsampled::gaussian(mu), 1.0);
            let question = Question::Epsilon { log_delta: f64::ln(delta) };
            let found = solve::answer(&[(source, steps)], question, 1e-4, &Work::new(QUESTION));
            let exact = normal::epsilon_gaussian(mu * (steps as f64).sqrt(), delta);
            assert!(found.value >= exact, "{mu} {steps} {delta}: {found:?} below {exact}");
            assert!(found.convolved && found.value <= exact * (1.0 + 5e-4), "{mu} {steps} {delta}: {found:?} {exact}");
        }
    }
}

#[test]
fn a_closed_form_is_used_where_there_is_one() {
    let pld = Pld::sampled_gaussian(4.0, 1.0).unwrap().compose(60);
    let found = pld.epsilon(1e-5).unwrap();
    assert_eq!((found.method, found.rigor), (Method::ClosedForm, Rigor::Proven));
    assert!((found.value / 9.608_352_398_133_775 - 1.0).abs() < 1e-10);
    assert!((pld.delta(found.value).unwrap().value / 1e-5 - 1.0).abs() < 1e-9);
}

#[test]
fn monotone_and_below_renyi() {
    let base = epsilon(1.0, 0.01, 500, 1e-5).value;
    assert!(epsilon(1.0, 0.01, 501, 1e-5).value >= base);
    assert!(epsilon(1.0, 0.0101, 500, 1e-5).value > base);
    assert!(epsilon(0.99, 0.01, 500, 1e-5).value > base);
    assert!(epsilon(1.0, 0.01, 500, 9e-6).value > base);
    for (sigma, rate, steps, delta) in [(1.0, 0.01, 500, 1e-5), (5.0, 0.5, 30, 1e-9), (0.6, 1e-3, 4000, 1e-6)] {
        let release = Pld::sampled_gaussian(sigma, rate).unwrap();
        let mut renyi = RdpAccountant::new();
        let curve = renyi.add_curve(RdpCurve::sampled_gaussian(sigma, rate).unwrap()).unwrap();
        renyi.compose(curve, steps);
        let tight = release.compose(steps).epsilon(delta).unwrap();
        assert!(tight.method == Method::Convolution);
        assert!(tight.value < renyi.epsilon(delta).unwrap().improved.epsilon, "{sigma} {rate}: {tight:?}");
    }
}

#[test]
fn counts_compositions_and_sums_agree() {
    let one = Pld::sampled_gaussian(1.5, 0.02).unwrap();
    let whole = one.compose(300).epsilon(1e-6).unwrap();
    let parts = one.compose(100).and(&one.compose(150)).unwrap().and(&one.compose(50)).unwrap();
    assert_eq!(parts.epsilon(1e-6).unwrap(), whole);
    assert_eq!(one.compose(30).compose(10).epsilon(1e-6).unwrap(), whole);
    // Two releases: more than either, no more than Rényi's sum, in any order.
    let other = Pld::sampled_gaussian(2.0, 0.05).unwrap().compose(40);
    let both = one.compose(300).and(&other).unwrap();
    let reverse = other.and(&one.compose(300)).unwrap();
    let (a, b) = (both.epsilon(1e-6).unwrap().value, reverse.epsilon(1e-6).unwrap().value);
    assert!((a / b - 1.0).abs() < 1e-9 && a > whole.value && a > other.epsilon(1e-6).unwrap().value, "{a} {b}");
    assert_eq!(one.compose(0).epsilon(1e-6).unwrap().value, 0.0);
    let fixed = Release::new(
        Sampling::FixedSize { population: 1000, size: 10 },
        Sensitivity::L2 { norm: 1.0 },
        Some(NoiseSpec::Gaussian { sigma: 2.0 }),
    );
    assert_eq!(one.and(&Pld::for_release(&fixed).unwrap()).unwrap_err(), PrivacyError::MixedNeighbours);
}

/// Two steps by brute force: δ(ε) of the product of two sampled pairs on a fine grid of outputs.
#[test]
fn two_steps_match_brute_force() {
    let (sigma, rate) = (0.8_f64, 0.3_f64);
    let pld = Pld::sampled_gaussian(sigma, rate).unwrap().compose(2);
    let h = 0.01;
    let grid: Vec<(f64, f64)> = (-700..900)
        .map(|i| f64::from(i) * h)
        .map(|x| {
            let z = |y: f64| (-0.5 * (y / sigma).powi(2)).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt());
            ((1.0 - rate) * z(x) + rate * z(x - 1.0), z(x))
        })
        .collect();
    for epsilon in [0.0_f64, 0.5, 1.5, 3.0] {
        let mut remove = 0.0;
        let mut add = 0.0;
        for (p1, q1) in &grid {
            for (p2, q2) in &grid {
                remove += (p1 * p2 - epsilon.exp() * q1 * q2).max(0.0);
                add += (q1 * q2 - epsilon.exp() * p1 * p2).max(0.0);
            }
        }
        let want = f64::max(remove, add) * h * h;
        let got = pld.delta(epsilon).unwrap().value;
        assert!(got >= want * (1.0 - 1e-4) && got <= want * 1.001 + 1e-12, "{epsilon}: {got} {want}");
    }
}

#[test]
fn fixed_size_lies_between_poisson_and_renyi() {
    let release =
        |sampling, norm| Release::new(sampling, Sensitivity::L2 { norm }, Some(NoiseSpec::Gaussian { sigma: 2.0 }));
    let fixed = release(Sampling::FixedSize { population: 1000, size: 10 }, 1.0);
    let mut renyi = RdpAccountant::new();
    let curve = renyi.add_curve(RdpCurve::of(&fixed).unwrap()).unwrap();
    renyi.compose(curve, 1000);
    let fixed = Pld::for_release(&fixed).unwrap().compose(1000).epsilon(1e-5).unwrap();
    // The same shift of the mean; the one curve joins the worse halves of both directions.
    let poisson = Pld::for_release(&release(Sampling::Poisson { rate: 0.01 }, 2.0)).unwrap();
    let poisson = poisson.compose(1000).epsilon(1e-5).unwrap();
    assert!(fixed.value >= poisson.value && fixed.value < 1.5 * poisson.value, "{fixed:?} {poisson:?}");
    assert!(fixed.value < renyi.epsilon(1e-5).unwrap().improved.epsilon);
}

#[test]
fn a_shuffled_epoch_is_one_release_wherever_it_begins() {
    let release = |sigma: f64| {
        Pld::for_release(&Release::new(
            Sampling::Shuffled { batches: 10 },
            Sensitivity::L2 { norm: 1.0 },
            Some(NoiseSpec::Gaussian { sigma }),
        ))
        .unwrap()
    };
    let exact = |squares: f64| normal::epsilon_gaussian(squares.sqrt(), 1e-5);
    let close = |pld: Pld, squares: f64| {
        let got = pld.epsilon(1e-5).unwrap().value;
        assert!((got / exact(squares) - 1.0).abs() < 1e-12, "{got} {}", exact(squares));
    };
    close(release(4.0).compose(600), 60.0 / 16.0);
    close(release(4.0).compose(1), 1.0 / 16.0);
    close(release(4.0).compose(11), 2.0 / 16.0);
    // Five steps of one noise, then ten of another: an example may join a batch of either noise in
    // the first epoch, and of the second in the next.
    close(release(2.0).compose(5).and(&release(4.0).compose(10)).unwrap(), 1.0 / 4.0 + 1.0 / 16.0);
    close(release(4.0).compose(5).and(&release(2.0).compose(10)).unwrap(), 2.0 / 4.0);
    // Releases of another policy in between do not end an epoch.
    let other = Pld::sampled_gaussian(3.0, 1.0).unwrap();
    let interleaved = release(4.0).compose(5).and(&other).unwrap().and(&release(2.0).compose(10)).unwrap();
    close(interleaved, 2.0 / 4.0 + 1.0 / 9.0);
    // Repeated as a whole, not part by part.
    close(release(4.0).compose(5).and(&release(2.0).compose(5)).unwrap().compose(100), 100.0 / 4.0);
}

/// Non-Gaussian noise: convolution and Rényi accounting both cover the releases of one example.
#[test]
fn repeated_shuffled_stretches_hold_by_either_accountant() {
    let step = |sampling, scale| {
        let profile = EnvelopeProfile::from_vectors_f64([[1.0].as_slice()]).unwrap();
        let noise = Some(NoiseSpec::Laplace { scale });
        Pld::for_release(&Release::new(sampling, Sensitivity::Envelope { profile }, noise)).unwrap()
    };
    let shuffled = Sampling::Shuffled { batches: 10 };
    let epoch = step(shuffled, 40.0).compose(5).and(&step(shuffled, 8.0).compose(5)).unwrap();
    let pld = epoch.compose(100);
    // An example that is in a batch of the second noise in every epoch.
    let met = step(Sampling::Poisson { rate: 1.0 }, 8.0).compose(100);
    for delta in [1e-3, 1e-6] {
        let (found, least) = (pld.epsilon(delta).unwrap(), met.epsilon(delta).unwrap());
        assert!(found.value >= least.value * (1.0 - 1e-3), "{found:?} {least:?}");
        assert!(found.value <= least.value * 1.2, "{found:?} {least:?}");
        let renyi = pld.renyi().unwrap().epsilon(delta).unwrap().improved.epsilon;
        assert!(renyi >= least.value * (1.0 - 1e-3), "{renyi} {least:?}");
    }
}

#[test]
fn counts_out_of_range_have_no_bound() {
    let shuffled = |sigma| {
        let noise = Some(NoiseSpec::Gaussian { sigma });
        Pld::for_release(&Release::new(Sampling::Shuffled { batches: 10 }, Sensitivity::L2 { norm: 1.0 }, noise))
            .unwrap()
    };
    let endless = shuffled(1e9).compose(u64::MAX).compose(3);
    for pld in
        [shuffled(2e9).compose(5).and(&endless).unwrap(), Pld::sampled_gaussian(1e9, 1e-3).unwrap().compose(u64::MAX)]
    {
        assert_eq!(pld.epsilon(1e-5).unwrap().value, f64::INFINITY);
        assert_eq!(pld.delta(1.0).unwrap().value, 1.0);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 60, ..Default::default() })]

    /// Shuffled and unsampled releases in any order, with repeated stretches: never below the exact
    /// Gaussian mechanism that an example can meet, and equal to it without repetitions.
    #[test]
    fn shuffled_runs_in_any_order(
        parts in proptest::collection::vec((proptest::collection::vec((0usize..4, 1u64..8), 1..4), 1u64..4), 1..4),
    ) {
        let kinds = [(4, 5.0), (4, 3.0), (3, 4.0), (1, 6.0)];
        let steps: Vec<Pld> = kinds
            .iter()
            .map(|&(batches, sigma)| {
                let noise = Some(NoiseSpec::Gaussian { sigma });
                let sampling = if batches == 1 { Sampling::Poisson { rate: 1.0 } } else { Sampling::Shuffled { batches } };
                Pld::for_release(&Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, noise)).unwrap()
            })
            .collect();
        let mut whole = steps[0].compose(0);
        let mut met: Vec<usize> = Vec::new();
        let repeats = parts.iter().any(|(runs, times)| runs.len() > 1 && *times > 1);
        for (runs, times) in parts {
            let mut part = steps[0].compose(0);
            let mut written = Vec::new();
            for (kind, count) in runs {
                part = part.and(&steps[kind].compose(count)).unwrap();
                written.extend(std::iter::repeat_n(kind, count as usize));
            }
            whole = whole.and(&part.compose(times)).unwrap();
            met.extend(written.repeat(times as usize));
        }
        let mut squares = 0.0;
        for batches in [4, 3, 1] {
            let mine: Vec<f64> =
                met.iter().filter(|kind| kinds[**kind].0 == batches).map(|kind| kinds[*kind].1.powi(-2)).collect();
            squares += mine.chunks(batches as usize).map(|epoch| epoch.iter().copied().fold(0.0, f64::max)).sum::<f64>();
        }
        let exact = normal::epsilon_gaussian(f64::sqrt(squares), 1e-5);
        let found = whole.epsilon(1e-5).unwrap().value;
        let renyi = whole.renyi().unwrap().epsilon(1e-5).unwrap().improved.epsilon;
        proptest::prop_assert!(found >= exact * (1.0 - 1e-12) && renyi >= exact, "{} {} {}", found, renyi, exact);
        proptest::prop_assert!(repeats || found <= exact * (1.0 + 1e-12), "{} {}", found, exact);
    }
}

fn density(x: f64, sigma: f64) -> f64 {
    (-0.5 * (x / sigma).powi(2)).exp() / (sigma * std::f64::consts::TAU.sqrt())
}

/// An example inside a sampled micro-batch, M = (1−q)Z + q(Z + v) against (1−q)Z + q(Z + v′): its
/// loss falls below ln(1−q), which a second release reveals. By brute force over both outputs.
#[test]
fn an_exchanged_vector_is_covered_at_negative_losses_too() {
    let release = |rate, sigma| {
        let noise = Some(NoiseSpec::Gaussian { sigma });
        let mut release = Release::new(Sampling::Poisson { rate }, Sensitivity::L2 { norm: 1.0 }, noise);
        release.unit = crate::ledger::PrivacyUnit::ExampleInMicroBatch;
        Pld::for_release(&release).unwrap()
    };
    let pld = release(0.09, 0.15).and(&release(1.0, 2.0)).unwrap();
    // (cell's M, M′) with v = 1 and v′ = −1.
    let grid = |rate: f64, sigma: f64, reach: f64, cells: i32| -> Vec<(f64, f64)> {
        let h = 2.0 * reach / f64::from(cells);
        let at = |x: f64, v: f64| h * ((1.0 - rate) * density(x, sigma) + rate * density(x - v, sigma));
        (0..cells).map(|i| (f64::from(i) + 0.5) * h - reach).map(|x| (at(x, 1.0), at(x, -1.0))).collect()
    };
    let (first, second) = (grid(0.09, 0.15, 2.5, 800), grid(1.0, 2.0, 18.0, 360));
    let brute = |epsilon: f64| {
        let mut sums = [0.0_f64; 4];
        for (a, b) in &first {
            for (c, d) in &second {
                let factor = epsilon.exp();
                for (sum, (p, q)) in
                    sums.iter_mut().zip([(a * c, b * d), (b * d, a * c), (a * d, b * c), (b * c, a * d)])
                {
                    *sum += (p - factor * q).max(0.0);
                }
            }
        }
        sums.into_iter().fold(0.0, f64::max)
    };
    assert!(brute(2.25) > 0.1, "{}", brute(2.25));
    let found = pld.epsilon(0.1).unwrap();
    assert!(found.value >= 2.258 && found.rigor == Rigor::Proven, "{found:?}");
    for epsilon in [0.0, 0.4, 1.0, 1.8, 2.25, found.value, 3.0, 5.0] {
        let (bound, truth) = (pld.delta(epsilon).unwrap().value, brute(epsilon));
        assert!(bound >= truth * (1.0 - 1e-3), "{epsilon}: {bound} {truth}");
    }
}

/// Two of four without replacement, one of the four replaced: one and two releases by brute force.
#[test]
fn fixed_size_matches_brute_force() {
    let sigma = 0.9;
    let noise = Some(NoiseSpec::Gaussian { sigma });
    let sampling = Sampling::FixedSize { population: 4, size: 2 };
    let one = Pld::for_release(&Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, noise)).unwrap();
    let h = 0.04;
    let mixture = |values: [f64; 4]| -> Vec<f64> {
        let sums: Vec<f64> = (0..4).flat_map(|i| (0..i).map(move |j| values[i] + values[j])).collect();
        (-200..=200).map(|i| h * sums.iter().map(|s| density(f64::from(i) * h - s, sigma)).sum::<f64>() / 6.0).collect()
    };
    for rest in [[-1.0, -1.0, -1.0], [1.0, -1.0, 0.0], [0.0, 0.0, 0.0]] {
        let [p, q] = [1.0, -1.0].map(|own| mixture([own, rest[0], rest[1], rest[2]]));
        for epsilon in [0.0_f64, 0.3, 1.0, 2.0, 4.0] {
            let factor = epsilon.exp();
            let single = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| (p - factor * q).max(0.0)).sum::<f64>();
            let double = |p: &[f64], q: &[f64]| {
                let rows = p.iter().zip(q);
                rows.map(|(a, b)| p.iter().zip(q).map(|(c, d)| (a * c - factor * b * d).max(0.0)).sum::<f64>())
                    .sum::<f64>()
            };
            for (pld, truth) in
                [(&one, single(&p, &q).max(single(&q, &p))), (&one.compose(2), double(&p, &q).max(double(&q, &p)))]
            {
                let bound = pld.delta(epsilon).unwrap().value;
                assert!(bound >= truth * (1.0 - 1e-3), "{rest:?} {epsilon}: {bound} {truth}");
            }
        }
    }
}

#[test]
fn releases_without_guarantee_are_refused() {
    let poisson = Sampling::Poisson { rate: 0.1 };
    let l2 = Sensitivity::L2 { norm: 1.0 };
    let refuse = |release: Release| Pld::for_release(&release).unwrap_err();
    assert_eq!(refuse(Release::new(poisson, l2.clone(), None)), PrivacyError::NoNoise);
    let gaussian = Some(NoiseSpec::Gaussian { sigma: 1.0 });
    assert_eq!(refuse(Release::new(poisson, Sensitivity::Unbounded, gaussian)), PrivacyError::NoBound);
    let student = Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 });
    assert!(matches!(refuse(Release::new(poisson, l2, student)), PrivacyError::Unpriced(_)));
    let profile = EnvelopeProfile::from_vectors_f64([[0.6, 0.8].as_slice()]).unwrap();
    let replaced = Sampling::FixedSize { population: 100, size: 5 };
    let student = Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 });
    assert!(matches!(
        refuse(Release::new(replaced, Sensitivity::Envelope { profile }, student)),
        PrivacyError::Unpriced(_)
    ));
    let one = Pld::sampled_gaussian(1.0, 0.1).unwrap();
    for delta in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(one.epsilon(delta).is_err());
    }
    assert!(one.delta(-0.1).is_err() && one.delta(f64::NAN).is_err());
    assert_eq!(one.epsilon(1.0).unwrap().value, 0.0);
}

fn fixed_size(population: u64, size: u64, norm: f64, sigma: f64) -> Release {
    let noise = Some(NoiseSpec::Gaussian { sigma });
    Release::new(Sampling::FixedSize { population, size }, Sensitivity::L2 { norm }, noise)
}

fn in_micro_batches(rate: f64, norm: f64, sigma: f64) -> Release {
    let noise = Some(NoiseSpec::Gaussian { sigma });
    let release = Release::new(Sampling::Poisson { rate }, Sensitivity::L2 { norm }, noise);
    Release { unit: super::super::ledger::PrivacyUnit::ExampleInMicroBatch, ..release }
}

/// Fully distinguishable pairs have only infinite mass, and use few points on a common grid.
#[test]
fn almost_no_noise_has_an_answer() {
    for release in [
        fixed_size(100, 50, 1e6, 1.0),
        fixed_size(60_000, 256, 1.0, 1e-6),
        fixed_size(60_000, 60_000, 1.0, 1e-9),
        in_micro_batches(0.5, 1e6, 1.0),
        in_micro_batches(0.0032, 9e18, 1.1),
        in_micro_batches(1.0, 1e30, 1.0),
    ] {
        let one = Pld::for_release(&release).unwrap();
        for (delta, steps) in [(1e-5, 1), (1e-12, 1), (0.3, 1000), (1e-300, 1_000_000_000)] {
            let pld = one.compose(steps);
            let renyi = pld.renyi().unwrap().epsilon(delta).map_or(f64::INFINITY, |found| found.improved.epsilon);
            let found = pld.epsilon(delta).unwrap();
            assert!(
                found.value <= renyi && (found.value > 100.0 || delta > 0.25),
                "{release:?} {delta} {steps}: {found:?}"
            );
        }
        let rate = release.sampling.rate();
        let delta = one.delta(1.0).unwrap().value;
        assert!(delta >= rate * (1.0 - 1e-12) && delta <= rate * (1.0 + 1e-6), "{release:?}: {delta}");
    }
    // Norms a billion times apart, on one grid.
    let both = |unit: fn(f64) -> Release| {
        let [one, other] = [1.0, 1e-9].map(|norm| Pld::for_release(&unit(norm)).unwrap());
        (one.compose(10), one.compose(10).and(&other.compose(1000)).unwrap())
    };
    for unit in [|norm| in_micro_batches(0.0032, norm, 1.1), |norm| fixed_size(60_000, 256, norm, 1.1)] {
        let (alone, together) = both(unit);
        let [alone, together] = [alone, together].map(|pld| pld.epsilon(1e-5).unwrap().value);
        assert!(together >= alone * (1.0 - 1e-4) && together <= alone * 1.02, "{alone} {together}");
    }
}

/// Nearly all examples in every lot, with little to see: the loss could be as low as ln(1 − q), but
/// never is. Compared with the limit of Gaussian noise alone.
#[test]
fn unreachable_low_losses_take_no_grid() {
    let release = fixed_size(33_208_116, 31_175_094, 3.375e-5, 593.43);
    let mu = 2.0 * 3.375e-5 / 593.43 * release.sampling.rate();
    for (delta, steps) in [(1e-12, 2), (1e-280, 2), (1e-12, 1_000_000), (1e-5, 2_000_000_000)] {
        let found = Pld::for_release(&release).unwrap().compose(steps).epsilon(delta).unwrap();
        let limit = normal::epsilon_gaussian(mu * (steps as f64).sqrt(), delta);
        assert!(
            found.value >= limit * (1.0 - 1e-4) && found.value <= limit * 1.01,
            "{delta} {steps}: {found:?} {limit}"
        );
        assert_eq!(found.method, Method::Convolution);
    }
}

/// Values that underflow stay positive.
#[test]
fn values_below_the_smallest_f64_stay_positive() {
    for (rate, delta) in [(1e-200, 1e-210), (1e-300, 1e-305), (1e-9, 1e-300), (1e-160, 1e-170)] {
        let found = epsilon(1.0, rate, 1, delta).value;
        let (at, inside) = (delta / rate, |l: f64| (rate * l.exp_m1()).ln_1p());
        let known = inside(normal::epsilon_gaussian(1.0, at));
        assert!(found > 0.0 && found >= known * (1.0 - 1e-9), "{rate:e} {delta:e}: {found:e} {known:e}");
        let renyi = Pld::sampled_gaussian(1.0, rate).unwrap().renyi().unwrap().epsilon(delta).unwrap();
        assert!(renyi.improved.epsilon >= known && renyi.improved.epsilon > 0.0, "{renyi:?} {known:e}");
    }
    // At rate 0 no example is ever sampled, and ε is 0.
    assert_eq!(epsilon(1.0, 0.0, 1000, 1e-300).value, 0.0);
    assert_eq!(Pld::sampled_gaussian(1.0, 0.0).unwrap().renyi().unwrap().epsilon(1e-300).unwrap().classic.epsilon, 0.0);
    // The total variation distance stays positive, too.
    let faint = Pld::sampled_gaussian(1e100, 1e-300).unwrap();
    assert!(faint.delta(0.0).unwrap().value > 0.0 && faint.epsilon(5e-324).unwrap().value > 0.0);
}

/// Counts so large that rounding errors times them are not small.
#[test]
fn rounding_grows_with_the_count_and_is_counted() {
    for (count, delta) in
        [(1u64 << 34, 1e-5), (10u64.pow(13), 1e-5), (10u64.pow(13), 1e-100), (1 << 53, 1e-5), (1 << 53, 0.3)]
    {
        for spread in [0.3, 3.0] {
            let mu = spread / (count as f64).sqrt();
            let source = SampledPair::of(&Unsampled::gaussian(mu), 1.0);
            let question = Question::Epsilon { log_delta: f64::ln(delta) };
            let found = solve::answer(&[(source.clone(), count)], question, 1e-4, &Work::new(20.0 * QUESTION));
            let exact = normal::epsilon_gaussian(spread, delta);
            assert!(found.value >= exact * (1.0 - 1e-11), "{count} {delta}: {found:?} below {exact}");
            let question = Question::Delta { epsilon: exact };
            let found = solve::answer(&[(source, count)], question, 1e-4, &Work::new(20.0 * QUESTION));
            assert!(found.value >= delta * (1.0 - 1e-9), "{count} {delta}: {found:?}");
        }
    }
}

/// Too many kinds of release are refused, and the error gives the limit.
#[test]
fn too_many_kinds_are_refused_by_name() {
    let kinds = |count: u32| -> Result<Pld, PrivacyError> {
        let step = |i: u32| Pld::sampled_gaussian(2.0 + f64::from(i), 0.01);
        (1..count).try_fold(step(0)?, |all, i| all.and(&step(i)?))
    };
    assert!(kinds(64).is_ok());
    assert_eq!(kinds(65).unwrap_err(), PrivacyError::TooManyKinds { kinds: 65, most: 64, whom: "tight accounting" });
}

/// Work is counted, not timed: without enough, Chernoff's bound stands, or the trivial one.
#[test]
fn answers_with_less_work_are_no_smaller() {
    let sources: Vec<(SampledPair, u64)> = [(0.8, 0.01, 900), (1.7, 0.3, 7), (0.02, 1.0, 5)]
        .map(|(mu, rate, count): (f64, f64, u64)| (SampledPair::of(&Unsampled::gaussian(mu), rate), count))
        .into();
    for question in [Question::Epsilon { log_delta: 1e-6f64.ln() }, Question::Delta { epsilon: 2.0 }] {
        let ask = |budget: f64| solve::answer(&sources, question, 1e-4, &Work::new(budget)).value;
        let best = ask(QUESTION);
        let mut answers = Vec::new();
        for budget in [0.0, 1e4, 1e6, 3e6, 1e7, 3e7, 1e8] {
            let value = ask(budget);
            assert!(value >= best * (1.0 - 1e-3), "{question:?}, {budget:e}: {value} {best}");
            assert_eq!(value, ask(budget));
            answers.push(value);
        }
        assert_eq!(answers[0], question.no_answer());
    }
}

/// A shift of 6e-8 noise scales at rate 1e-212 (found by fuzzing): the search for λ counts as work.
#[test]
fn a_curve_of_tiny_losses_keeps_to_its_work() {
    let release = Release {
        unit: crate::ledger::PrivacyUnit::ExampleInMicroBatch,
        ..Release::new(
            Sampling::Poisson { rate: 8.849_089_830_198_208e-213 },
            Sensitivity::L2 { norm: 0.000_044_432_392_870_614_626 },
            Some(NoiseSpec::Gaussian { sigma: 737.324_225_139_258_4 }),
        )
    };
    let pld = Pld::for_release(&release).unwrap().compose(2);
    let delta = 6.852_383_503_663_734e-268;
    let found = pld.epsilon(delta).unwrap();
    let curve = pld.curve_about(found.value, delta);
    assert!(curve.windows(2).skip(1).all(|pair| pair[0].1 >= pair[1].1), "{curve:?}");
}

/// No single ε bounds an attack better than the curve, even between the curve's points.
#[test]
fn no_line_is_better_than_the_curve() {
    for (sigma, rate, steps) in [(1.0, 0.01, 1), (0.8, 0.01, 500), (0.6, 0.05, 20), (4.0, 1.0, 10)] {
        let pld = Pld::sampled_gaussian(sigma, rate).unwrap().compose(steps);
        let found = pld.epsilon(1e-5).unwrap().value;
        let curve = PrivacyCurve::new(pld.curve_about(found, 1e-5)).unwrap();
        for i in 0..=40 {
            let epsilon = 2.0 * found * f64::from(i) / 40.0;
            let line = EpsilonDelta::new(epsilon, pld.delta(epsilon).unwrap().value).unwrap();
            for rate in [1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5] {
                let (ours, theirs) = (curve.best_true_positive_rate(rate), line.best_true_positive_rate(rate));
                assert!(ours <= 1.001 * theirs, "σ {sigma}, q {rate}, {steps} steps, ε {epsilon}: {ours} > {theirs}");
            }
        }
    }
}

/// The pair of any vector inside the envelope is no worse than the envelope's.
#[test]
fn the_envelope_dominates_vectors_inside_it() {
    let noise = NoiseSpec::StudentT { nu: 4.0, scale: 0.7 };
    let curve = |psi: &[f64], epsilon: f64| {
        let release = release(noise.clone(), &[psi], 1.0);
        Pld::for_release(&release).unwrap().delta(epsilon).unwrap().value
    };
    for epsilon in [0.1, 0.8, 2.0] {
        let whole = curve(&[0.9, 0.4, 0.2], epsilon);
        for inside in [[0.9, 0.4, 0.1], [0.85, 0.4, 0.2], [0.5, 0.3, 0.2], [0.9, 0.05, 0.0]] {
            assert!(curve(&inside, epsilon) <= whole * (1.0 + 1e-4), "{inside:?} at {epsilon}");
        }
    }
}

/// With several ψ the curve is the pointwise maximum, which no single ψ attains everywhere.
#[test]
fn several_vectors_take_the_larger_curve_at_every_point() {
    let noise = NoiseSpec::StudentT { nu: 3.0, scale: 0.6 };
    let (one, many) = ([1.15, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.0 / 3.0; 9]);
    let pld = |vectors: &[&[f64]]| Pld::for_release(&release(noise.clone(), vectors, 1.0)).unwrap();
    let (a, b, both) = (pld(&[&one]), pld(&[&many]), pld(&[&one, &many]));
    let mut leads = [0, 0];
    for epsilon in (0..40).map(|i| 0.1 * f64::from(i)) {
        let [a, b, both] = [&a, &b, &both].map(|pld| pld.delta(epsilon).unwrap().value);
        leads[usize::from(b > a)] += 1;
        assert!(both >= a.max(b) * (1.0 - 1e-3), "{epsilon}: {both} {a} {b}");
        assert!(both <= a.max(b) * 1.01 + 1e-9, "{epsilon}: {both} {a} {b}");
    }
    assert!(leads[0] > 2 && leads[1] > 2, "the curves should cross: {leads:?}");
}

/// Negligible entries, each on a grid as fine as itself, cost almost nothing, and no memory.
#[test]
fn negligible_entries_cost_almost_nothing() {
    for noise in [NoiseSpec::StudentT { nu: 4.0, scale: 1.0 }, NoiseSpec::Laplace { scale: 1.0 }] {
        let epsilon = |vector: &[f64]| {
            let step = Pld::for_release(&release(noise.clone(), &[vector], 0.1)).unwrap();
            step.compose(100).epsilon(1e-5).unwrap().value
        };
        let bare = epsilon(&[0.4, 0.3, 0.0, 0.0, 0.0]);
        for tiny in [1e-12, 1e-30, 1e-90] {
            let whole = epsilon(&[0.4, 0.3, 3.0 * tiny, 2.0 * tiny, 2.0 * tiny]);
            assert!(whole >= bare * (1.0 - 2e-3) && whole <= bare * 1.02, "{noise:?} {tiny}: {whole} {bare}");
        }
    }
}
