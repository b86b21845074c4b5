//! Properties of every accountant: monotone, additive, above the truth, total on its inputs.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use hushgrad_accounting::{
    PrivacyError,
    books::account,
    calibrate::{self, Method, Target},
    envelope::EnvelopeProfile,
    ledger::{Ledger, PrivacyUnit, Release, Sensitivity},
    noise::{CustomDensity, NoiseSpec},
    normal,
    pld::Pld,
    rdp::{Orders, RdpAccountant, RdpCurve, epsilon_of},
    rounding::Grid,
    sampling::Sampling,
    search::{Criterion, families, search},
};
use proptest::prelude::*;
use rand::rand_core::SeedableRng;
use rand_chacha::ChaCha20Rng;

fn gaussian(rate: f64, sigma: f64) -> Release {
    Release::new(Sampling::Poisson { rate }, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }))
}

/// (classic, improved), infinite without a finite bound.
fn epsilon(release: &Release, steps: u64, delta: f64) -> (f64, f64) {
    let ledger = Ledger::of([(release.clone(), steps)]).expect("a possible release");
    match epsilon_of(&ledger, delta) {
        Ok(e) => (e.classic.epsilon, e.improved.epsilon),
        Err(PrivacyError::Infinite) => (f64::INFINITY, f64::INFINITY),
        Err(e) => panic!("{e}"),
    }
}

/// The families that a search covers, and a user-supplied density.
fn every_family() -> Vec<NoiseSpec> {
    let density = CustomDensity::from_formula("exp(-abs(x)^1.3)").expect("a possible density");
    families().into_iter().chain([NoiseSpec::Custom { density, scale: 1.0 }]).collect()
}

fn psi(values: &[f64]) -> Sensitivity {
    Sensitivity::Envelope { profile: EnvelopeProfile::from_vectors_f64([values]).expect("a possible envelope") }
}

fn not_above(small: (f64, f64), large: (f64, f64)) -> bool {
    small.0 <= large.0 * (1.0 + 1e-9) + 1e-12 && small.1 <= large.1 * (1.0 + 1e-9) + 1e-12
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// More steps, a higher rate, less noise or a smaller δ never give a smaller ε.
    #[test]
    fn epsilon_is_monotone(
        rate in 1e-4f64..0.9, sigma in 0.4f64..20.0, steps in 1u64..100_000, ln_delta in -40f64..-2.0, more in 1.01f64..3.0,
    ) {
        let delta = ln_delta.exp();
        let base = epsilon(&gaussian(rate, sigma), steps, delta);
        prop_assert!(not_above(base, epsilon(&gaussian(rate, sigma), (steps as f64 * more).ceil() as u64, delta)));
        prop_assert!(not_above(base, epsilon(&gaussian((rate * more).min(1.0), sigma), steps, delta)));
        prop_assert!(not_above(base, epsilon(&gaussian(rate, sigma / more), steps, delta)));
        prop_assert!(not_above(base, epsilon(&gaussian(rate, sigma), steps, delta / more)));
        prop_assert!(base.1 <= base.0 * (1.0 + 1e-9));
    }

    /// Without sampling, the exact curve is that of the Gaussian mechanism.
    #[test]
    fn epsilon_is_above_the_truth(sigma in 0.3f64..30.0, steps in 1u64..1000, ln_delta in -40f64..-2.0) {
        let delta = ln_delta.exp();
        let truth = normal::epsilon_gaussian((steps as f64).sqrt() / sigma, delta);
        let (classic, improved) = epsilon(&gaussian(1.0, sigma), steps, delta);
        prop_assert!(improved >= truth && classic >= truth, "{improved} {truth}");
        prop_assert!(improved <= 1.6 * truth + 0.5, "{improved} {truth}");
    }

    /// Steps recorded one by one, in runs, or on two equal curves have the same sum.
    #[test]
    fn composition_adds(rate in 1e-3f64..0.2, sigma in 0.6f64..5.0, a in 1u64..50, b in 1u64..50) {
        let curve = RdpCurve::of(&gaussian(rate, sigma)).unwrap();
        let mut one_by_one = RdpAccountant::new();
        let id = one_by_one.add_curve(curve.clone()).unwrap();
        for _ in 0..a + b {
            one_by_one.compose(id, 1);
        }
        let mut two = RdpAccountant::new();
        let (first, second) = (two.add_curve(curve.clone()).unwrap(), two.add_curve(curve.clone()).unwrap());
        two.compose(first, a);
        two.compose(second, b);
        let (x, y) = (one_by_one.epsilon(1e-5).unwrap(), two.epsilon(1e-5).unwrap());
        prop_assert!((x.improved.epsilon - y.improved.epsilon).abs() <= 1e-12 * x.improved.epsilon);
        prop_assert_eq!(one_by_one.steps(), a + b);
        let total = one_by_one.rdp(7.0).unwrap();
        prop_assert!((total / (curve.at(7.0).unwrap() * (a + b) as f64) - 1.0).abs() < 1e-12);
    }

    /// A vector inside any permutation of the envelope costs no more than the envelope.
    #[test]
    fn envelope_covers_what_is_inside(seed in 0u64..1000, family in 0usize..9, size in 1usize..12) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut uniform = || (f64::from(rand::rand_core::Rng::next_u32(&mut rng)) + 0.5) / 4_294_967_296.0;
        let envelope: Vec<f64> = (0..size).map(|_| uniform() * 0.8).collect();
        let mut inside: Vec<f64> = envelope.iter().map(|e| e * (2.0 * uniform() - 1.0)).collect();
        inside.rotate_left(seed as usize % size);
        let curve = |values: &[f64]| {
            let release = Release::new(Sampling::Poisson { rate: 0.02 }, psi(values), Some(families()[family].clone()));
            RdpCurve::of(&release).unwrap()
        };
        let (outer, inner) = (curve(&envelope), curve(&inside));
        for (o, i) in outer.integer_orders().iter().zip(inner.integer_orders()) {
            prop_assert!(*i <= o * (1.0 + 1e-9), "{i} {o}");
        }
        // The ball of the same norm covers both, as does the doubled envelope.
        let norm = envelope.iter().map(|e| e * e).sum::<f64>().sqrt();
        let sampling = Sampling::Poisson { rate: 0.02 };
        let noise = Some(families()[family].clone());
        let ball = RdpCurve::of(&Release::new(sampling, Sensitivity::L2 { norm }, noise.clone())).unwrap();
        let mut micro = Release::new(sampling, psi(&envelope), noise);
        micro.unit = PrivacyUnit::ExampleInMicroBatch;
        let doubled = RdpCurve::of(&micro).unwrap();
        for ((o, b), d) in outer.integer_orders().iter().zip(ball.integer_orders()).zip(doubled.integer_orders()) {
            // The profile's norm is rounded up by 4e-12, which ln I_k at large k multiplies.
            prop_assert!(*o <= b * (1.0 + 1e-8) && *o <= d * (1.0 + 1e-8), "{o} {b} {d}");
        }
    }

    /// A ledger survives its JSON; other text is refused without a panic.
    #[test]
    fn ledgers_round_trip(rate in 0f64..=1.0, sigma in 0.01f64..100.0, count in 1u64..1u64 << 50, junk in ".{0,200}") {
        let ledger = Ledger::of([(gaussian(rate, sigma), count)]).unwrap();
        prop_assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap(), ledger);
        prop_assert!(Ledger::from_json(&junk).is_err());
    }
}

/// ln I_k(τ) = ln ∫ z(x)·(z(x−τ)/z(x))^k dx by a plain trapezoidal rule on a fine, wide grid.
fn ln_moment(spec: &NoiseSpec, k: f64, tau: f64) -> f64 {
    let noise = spec.build().unwrap();
    // The integrand peaks where r^k does: beyond τ, about k·τ away.
    let reach = 30.0 * spec.scale() + 4.0 * k * tau;
    let step = 0.002 * spec.scale().min(1.0);
    let count = (2.0 * reach / step) as i64;
    let logs = || {
        (0..=count).map(|i| {
            let x = -reach + i as f64 * step;
            k * noise.log_density(x - tau) - (k - 1.0) * noise.log_density(x)
        })
    };
    let top = logs().fold(f64::NEG_INFINITY, f64::max);
    top + (logs().map(|l| (l - top).exp()).sum::<f64>() * step).ln()
}

/// Orders that quadrature cannot resolve are infinite or above the truth, never cheap: for light
/// tails, under envelopes of many distinct entries and under an L2 norm.
#[test]
fn unresolved_orders_are_never_cheap() {
    let spread: Vec<f64> = (1..200).map(|i| 0.2 / f64::from(i).sqrt()).collect();
    let flat: Vec<f64> = (1..=300).map(|i| 0.03 * f64::from(i) / 300.0).collect();
    for (exponent, scale) in [(2.5, 1.0), (4.0, 1.0), (8.0, 3.0), (8.0, 0.5), (20.0, 2.0)] {
        let spec = NoiseSpec::GeneralizedGaussian { exponent, scale };
        for (name, sensitivity, largest) in
            [("spread", psi(&spread), 0.2), ("flat", psi(&flat), 0.03), ("L2", Sensitivity::L2 { norm: 0.5 }, 0.5)]
        {
            let release = |rate| Release::new(Sampling::Poisson { rate }, sensitivity.clone(), Some(spec.clone()));
            let (whole, sampled) = (RdpCurve::of(&release(1.0)).unwrap(), RdpCurve::of(&release(0.01)).unwrap());
            for order in [2.0, 3.0, 16.0, 64.0, 200.0, 256.0] {
                // The largest coordinate alone.
                let least = ln_moment(&spec, order, largest) / (order - 1.0);
                let bound = whole.at(order).unwrap();
                assert!(bound >= least * (1.0 - 1e-6), "{spec:?}, {name}, order {order}: {bound} below {least}");
                // Sampled, at least the last term of Lemma 4's sum remains.
                let least = least + order * 0.01f64.ln() / (order - 1.0);
                let bound = sampled.at(order).unwrap();
                assert!(bound >= least - 1e-9 && bound > 0.0, "{spec:?}, {name}, sampled, order {order}: {bound}");
            }
            // Ten thousand steps of a mechanism with any effect are not free.
            let (classic, improved) = epsilon(&release(0.01), 10_000, 1e-5);
            let once = epsilon(&release(0.01), 100, 1e-5);
            assert!(improved > 0.05 && improved >= once.1 && classic >= improved, "{spec:?}, {name}: {improved}");
        }
    }
}

/// Rényi divergence of the sampled mechanism in one coordinate by brute force, both directions.
#[test]
fn curves_are_above_brute_force() {
    for spec in families().into_iter().chain([NoiseSpec::GeneralizedGaussian { exponent: 2.5, scale: 1.3 }]) {
        let noise = spec.build().unwrap();
        for (rate, shift) in [(0.01f64, 0.3), (0.3, 0.9), (1.0, 0.7)] {
            let release = Release::new(Sampling::Poisson { rate }, psi(&[shift]), Some(spec.clone()));
            let curve = RdpCurve::of(&release).unwrap();
            for order in [2.0, 3.0, 6.0] {
                // Heavy tails need a wide grid: x = 2·sinh(u) covers ±1e6 with 200,000 points.
                let (mut forward, mut backward) = (0.0, 0.0);
                let step = 1.4e-4;
                for j in -100_000..=100_000 {
                    let u = f64::from(j) * step;
                    let (x, weight) = (2.0 * u.sinh() + 0.5 * shift, 2.0 * u.cosh() * step);
                    let (base, ratio) = (noise.log_density(x), noise.log_ratio(x, shift));
                    let mixture =
                        if ratio > 600.0 || rate == 1.0 { ratio + rate.ln() } else { (rate * ratio.exp_m1()).ln_1p() };
                    if base > -1e6 {
                        forward += weight * (base + order * mixture).exp();
                        backward += weight * (base + (1.0 - order) * mixture).exp();
                    }
                }
                let bound = curve.at(order).unwrap();
                for (name, sum) in [("D(M‖Z)", forward), ("D(Z‖M)", backward)] {
                    let brute = f64::ln(sum) / (order - 1.0);
                    assert!(
                        brute <= bound + 2e-6 * (1.0 + bound),
                        "{name}, {spec:?}, q {rate}, order {order}: {brute} {bound}"
                    );
                }
                let brute = f64::ln(forward) / (order - 1.0);
                assert!(brute >= bound - 2e-4 * (1.0 + bound), "{spec:?}, q {rate}, order {order}: {brute} {bound}");
            }
        }
    }
}

/// Rényi divergences of two densities, both ways. `points` lists ln of a third one's mass in a
/// cell, and ln of the first's and of the second's ratio to it.
fn renyi(points: &[(f64, f64, f64)], order: f64) -> [f64; 2] {
    let one = |p: fn(&(f64, f64, f64)) -> (f64, f64)| {
        let sum: f64 = points
            .iter()
            .map(|point| {
                let (first, second) = p(point);
                (point.0 + order * first + (1.0 - order) * second).exp()
            })
            .sum();
        sum.ln() / (order - 1.0)
    };
    [one(|p| (p.1, p.2)), one(|p| (p.2, p.1))]
}

/// Cell centres and widths, far into heavy tails.
fn far_grid(cells: i32, reach: f64) -> impl Iterator<Item = (f64, f64)> {
    let step = 2.0 * reach / f64::from(cells);
    (0..cells).map(move |j| (f64::from(j) + 0.5) * step - reach).map(move |u| (2.0 * u.sinh(), 2.0 * u.cosh() * step))
}

/// ln((1−q) + q·e^r).
fn mixed(rate: f64, ratio: f64) -> f64 {
    if ratio > 600.0 || rate == 1.0 { ratio + rate.ln() } else { (rate * ratio.exp_m1()).ln_1p() }
}

/// Tight accounting by brute force: the δ at its ε, either way, is at most the given δ, and close.
#[test]
fn tight_bounds_are_above_brute_force_and_near_it() {
    for spec in every_family() {
        let noise = spec.build().unwrap();
        for rate in [0.02, 0.2, 1.0] {
            let release = Release::new(Sampling::Poisson { rate }, psi(&[0.9]), Some(spec.clone()));
            let pld = Pld::for_release(&release).unwrap();
            // (mass without the example, mass with it) per cell.
            let cells: Vec<(f64, f64)> = far_grid(100_000, 14.0)
                .map(|(x, width)| (noise.log_density(x) + width.ln(), mixed(rate, noise.log_ratio(x, 0.9))))
                .map(|(base, ratio)| (base.exp(), (base + ratio).exp()))
                .collect();
            for delta in [1e-2, 1e-4] {
                let epsilon = pld.epsilon(delta).unwrap().value;
                let factor = epsilon.exp();
                let remove: f64 = cells.iter().map(|(without, with)| (with - factor * without).max(0.0)).sum();
                let add: f64 = cells.iter().map(|(without, with)| (without - factor * with).max(0.0)).sum();
                let truth = remove.max(add);
                assert!(truth <= delta * (1.0 + 2e-3), "{spec:?} {rate} {delta}: {truth}");
                assert!(epsilon == 0.0 || truth >= 0.9 * delta, "{spec:?} {rate} {delta}: {truth}");
            }
        }
    }
}

/// An example inside a Poisson-sampled micro-batch: one vector against another, neither the rest of
/// the mixture. By brute force in one coordinate, and in two with different large entries.
#[test]
fn exchanged_vectors_are_above_brute_force() {
    let in_micro_batch = |rate, values: &[f64], spec: &NoiseSpec| {
        let mut release = Release::new(Sampling::Poisson { rate }, psi(values), Some(spec.clone()));
        release.unit = PrivacyUnit::ExampleInMicroBatch;
        RdpCurve::of(&release).unwrap()
    };
    for spec in families() {
        let noise = spec.build().unwrap();
        for rate in [0.01, 0.3, 1.0] {
            let curve = in_micro_batch(rate, &[0.9], &spec);
            for (v, other) in [(0.9, -0.9), (0.9, 0.0), (0.9, 0.7), (-0.2, 0.3)] {
                let points: Vec<(f64, f64, f64)> = far_grid(40_000, 14.0)
                    .map(|(x, width)| {
                        let ratio = |v: f64| mixed(rate, noise.log_ratio(if v < 0.0 { -x } else { x }, v.abs()));
                        (noise.log_density(x) + width.ln(), ratio(v), ratio(other))
                    })
                    .filter(|point| point.0 > -700.0)
                    .collect();
                for order in [2.0, 3.0, 6.0] {
                    let bound = curve.at(order).unwrap();
                    for truth in renyi(&points, order) {
                        assert!(
                            truth <= bound + 1e-5 * (1.0 + bound),
                            "{spec:?} {rate} {v} {other} {order}: {truth} {bound}"
                        );
                    }
                }
            }
        }
    }
    for spec in [
        NoiseSpec::Gaussian { sigma: 0.8 },
        NoiseSpec::Laplace { scale: 0.7 },
        NoiseSpec::StudentT { nu: 4.0, scale: 0.7 },
    ] {
        let noise = spec.build().unwrap();
        let axis: Vec<(f64, f64)> = far_grid(500, 5.0).collect();
        for rate in [0.02, 0.4] {
            let curve = in_micro_batch(rate, &[0.8, 0.3], &spec);
            for (v, other) in [([0.8, 0.3], [-0.3, -0.8]), ([0.8, 0.3], [-0.8, -0.3]), ([0.8, 0.0], [0.0, 0.8])] {
                let ratio = |x: f64, v: f64| noise.log_ratio(if v < 0.0 { -x } else { x }, v.abs());
                let mut points = Vec::with_capacity(axis.len() * axis.len());
                for &(x, dx) in &axis {
                    for &(y, dy) in &axis {
                        let base = noise.log_density(x) + noise.log_density(y) + (dx * dy).ln();
                        if base > -700.0 {
                            let [first, second] =
                                [v, other].map(|v: [f64; 2]| mixed(rate, ratio(x, v[0]) + ratio(y, v[1])));
                            points.push((base, first, second));
                        }
                    }
                }
                for order in [2.0, 4.0] {
                    let bound = curve.at(order).unwrap();
                    for truth in renyi(&points, order) {
                        assert!(
                            truth <= bound + 1e-3 * (1.0 + bound),
                            "{spec:?} {rate} {v:?} {other:?} {order}: {truth} {bound}"
                        );
                    }
                }
            }
        }
    }
    // Fractional and large orders, for the Gaussian.
    let mut release = gaussian(0.1, 1.0);
    release.unit = PrivacyUnit::ExampleInMicroBatch;
    let curve = RdpCurve::of(&release).unwrap();
    // Cheaper than a vector of twice the length.
    let wide = RdpCurve::of(&gaussian(0.1, 0.5)).unwrap();
    let points: Vec<(f64, f64, f64)> = (-20_000..20_000)
        .map(|j| (f64::from(j) + 0.5) * 1e-3)
        .map(|x| {
            (-0.5 * x * x - 0.5 * std::f64::consts::TAU.ln() + 1e-3f64.ln(), mixed(0.1, x - 0.5), mixed(0.1, -x - 0.5))
        })
        .collect();
    for order in [1.1, 1.5, 2.5, 7.3, 12.0] {
        let bound = curve.at(order).unwrap();
        let truth = renyi(&points, order).into_iter().fold(0.0, f64::max);
        assert!(
            truth > 0.0 && (bound - truth).abs() <= 1e-6 * truth && (order < 2.0 || bound < wide.at(order).unwrap()),
            "{order}: {truth} {bound}"
        );
    }
    assert!(curve.at(300.0).unwrap() <= 2.0 * 300.0 && curve.at(40_000.0).is_some());
}

/// One of three, or two of four, without replacement, one example exchanged: by brute force.
#[test]
fn sampling_without_replacement_is_above_brute_force() {
    for spec in families() {
        let noise = spec.build().unwrap();
        for (population, size, own, rest) in [
            (3, 1, [0.8, -0.8], vec![-0.8, -0.8]),
            (3, 1, [0.8, -0.8], vec![0.0, 0.0]),
            (3, 1, [0.8, -0.8], vec![0.8, -0.8]),
            (4, 2, [0.8, -0.8], vec![-0.8, 0.8, 0.0]),
            (4, 2, [0.8, 0.1], vec![0.1, -0.3, 0.8]),
        ] {
            let release = Release::new(Sampling::FixedSize { population, size }, psi(&[0.8]), Some(spec.clone()));
            let curve = RdpCurve::of(&release).unwrap();
            let sums = own.map(|own| -> Vec<f64> {
                let all: Vec<f64> = rest.iter().copied().chain([own]).collect();
                if size == 1 {
                    all
                } else {
                    (0..4).flat_map(|i| (0..i).map(|j| all[i] + all[j]).collect::<Vec<_>>()).collect()
                }
            });
            let points: Vec<(f64, f64, f64)> = far_grid(20_000, 13.0)
                .map(|(x, width)| {
                    let ratio = |sums: &[f64]| {
                        let logs: Vec<f64> =
                            sums.iter().map(|s| noise.log_ratio(if *s < 0.0 { -x } else { x }, s.abs())).collect();
                        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        top + (logs.iter().map(|l| (l - top).exp()).sum::<f64>() / sums.len() as f64).ln()
                    };
                    (noise.log_density(x) + width.ln(), ratio(&sums[0]), ratio(&sums[1]))
                })
                .filter(|point| point.0 > -700.0)
                .collect();
            for order in [2.0, 3.0, 5.0] {
                let bound = curve.at(order).unwrap();
                for truth in renyi(&points, order) {
                    assert!(
                        truth <= bound + 1e-5 * (1.0 + bound),
                        "{spec:?} {size} of {population} {rest:?} {order}: {truth} {bound}"
                    );
                }
            }
        }
    }
}

/// Exchanging one vector of the envelope for another costs no more than either at each k, but a
/// minimum of bounds is not convex in ln I_k. Half the entries of one with half of the other have
/// the mean of their ln I_k, and must not cost more than both together.
#[test]
fn exchanged_envelope_vectors_cost_no_more_than_both() {
    let few: [f64; 40] = std::array::from_fn(|i| if i < 2 { 0.2 } else { 0.0 });
    let many = [0.03; 40];
    let mean: [f64; 40] = std::array::from_fn(|i| {
        if i == 0 {
            0.2
        } else if i <= 20 {
            0.03
        } else {
            0.0
        }
    });
    let curve = |vectors: &[&[f64]]| {
        let profile = EnvelopeProfile::from_vectors_f64(vectors.iter().copied()).unwrap();
        let sampling = Sampling::FixedSize { population: 100, size: 55 };
        let noise = Some(NoiseSpec::Laplace { scale: 1.0 });
        RdpCurve::of(&Release::new(sampling, Sensitivity::Envelope { profile }, noise)).unwrap()
    };
    let (both, mean) = (curve(&[&few, &many]), curve(&[&mean]));
    for (order, (bound, exchanged)) in (2..).zip(both.integer_orders().iter().zip(mean.integer_orders())) {
        assert!(*exchanged <= bound * (1.0 + 1e-9), "order {order}: {exchanged} above {bound}");
    }
}

/// Under both accountants, more steps, a higher rate or less noise never cost less for any family
/// (tight accounting up to its grid's accuracy).
#[test]
fn every_family_is_monotone() {
    let entries: Vec<f64> = (1..40).map(|i| 0.5 / f64::from(i)).collect();
    let sensitivity = psi(&entries);
    for family in every_family() {
        let price = |rate: f64, scale: f64, steps: u64| {
            let noise = Some(family.with_scale(scale));
            let release = Release::new(Sampling::Poisson { rate }, sensitivity.clone(), noise);
            let tight = Pld::for_release(&release).unwrap().compose(steps).epsilon(1e-5).unwrap().value;
            (epsilon(&release, steps, 1e-5), tight)
        };
        let base = price(0.02, 0.8, 200);
        let max_or_infinite = [
            ("steps", price(0.02, 0.8, 201)),
            ("steps", price(0.02, 0.8, 400)),
            ("rate", price(0.021, 0.8, 200)),
            ("rate", price(0.5, 0.8, 200)),
            ("scale", price(0.02, 0.78, 200)),
            ("scale", price(0.02, 0.3, 200)),
        ];
        for (what, other) in max_or_infinite {
            assert!(not_above(base.0, other.0), "{family:?}, {what}: {base:?} {other:?}");
            assert!(base.1 <= other.1 * (1.0 + 1e-3), "{family:?}, {what}: {base:?} {other:?}");
        }
    }
}

/// Nothing panics, hangs or returns NaN.
#[test]
fn every_input_has_an_answer() {
    let mut answered = 0;
    for rate in [0.0, 1e-9, 1e-5, 0.01, 0.5, 1.0] {
        for scale in [1e-3, 0.1, 1.0, 30.0, 1e3] {
            let curve = RdpCurve::of(&gaussian(rate, scale)).unwrap();
            for steps in [0, 1, 1000, 1_000_000_000] {
                for delta in [1e-300, 1e-5, 0.5, 1.0 - 1e-9, 1.0] {
                    let mut accountant = RdpAccountant::new();
                    let id = accountant.add_curve(curve.clone()).unwrap();
                    accountant.compose(id, steps);
                    match accountant.epsilon(delta) {
                        Ok(e) => assert!(e.classic.epsilon >= 0.0 && e.improved.epsilon >= 0.0),
                        Err(e) => assert!(delta == 1.0 || e == PrivacyError::Infinite, "{e}"),
                    }
                    answered += 1;
                }
            }
        }
    }
    assert_eq!(answered, 6 * 5 * 4 * 5);
    for family in families() {
        for scale in [1e-3, 1.0, 1e3] {
            let noise = family.with_scale(scale);
            for sensitivity in [psi(&[1.0]), psi(&vec![1e-3; 1_000_000])] {
                let release = Release::new(Sampling::Poisson { rate: 0.01 }, sensitivity, Some(noise.clone()));
                let curve = RdpCurve::of(&release).unwrap();
                assert!(curve.integer_orders().iter().all(|r| *r >= 0.0), "{noise:?}");
            }
        }
    }
    for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(RdpCurve::of(&gaussian(bad, 1.0)).is_err());
        assert!(RdpCurve::of(&gaussian(0.1, -bad.abs())).is_err());
    }
}

#[test]
fn the_whole_range_has_answers() {
    let spread: Vec<f64> = (1..2000).map(|i| 0.1 / f64::from(i).sqrt()).collect();
    for family in families() {
        for sensitivity in [psi(&[1.0]), psi(&spread)] {
            for (rate, scale) in [(0.0, 1.0), (1e-9, 1e-3), (1e-3, 0.5), (1.0, 1e3)] {
                let release =
                    Release::new(Sampling::Poisson { rate }, sensitivity.clone(), Some(family.with_scale(scale)));
                let step = Pld::for_release(&release).map_err(|e| e.to_string());
                let curve = RdpCurve::of(&release).unwrap();
                for (steps, delta) in [(1, 1e-300), (1, 1.0), (1000, 1e-5), (1_000_000_000, 1e-12)] {
                    let mut accountant = RdpAccountant::new();
                    let id = accountant.add_curve(curve.clone()).unwrap();
                    accountant.compose(id, steps);
                    let renyi = accountant.epsilon(delta).map_or(f64::INFINITY, |e| e.improved.epsilon);
                    if let Ok(step) = &step {
                        let tight = step.compose(steps).epsilon(delta).expect("a possible δ").value;
                        assert!(tight >= 0.0 && tight <= renyi, "{release:?} {steps} {delta}: {tight} {renyi}");
                    }
                    assert!(renyi >= 0.0, "{release:?} {steps} {delta}");
                }
            }
        }
    }
}

#[test]
fn ten_million_coordinates() {
    let entries: Vec<f32> = (0..10_000_000u32).map(|i| 3e-4 / (1.0 + i as f32 * 1e-6)).collect();
    let profile = EnvelopeProfile::from_vectors([entries.as_slice()]).unwrap();
    let exact = entries.iter().map(|e| f64::from(*e).powi(2)).sum::<f64>().sqrt();
    assert!((profile.norm() / exact - 1.0).abs() < 1e-11, "{} {exact}", profile.norm());
    let json = serde_json::to_string(&profile).unwrap();
    assert!(json.len() < 100_000 && serde_json::from_str::<EnvelopeProfile>(&json).unwrap() == profile);
    let noise = NoiseSpec::StudentT { nu: 5.0, scale: 1.0 };
    let release = Release::new(Sampling::Poisson { rate: 0.01 }, Sensitivity::Envelope { profile }, Some(noise));
    let improved = epsilon(&release, 1000, 1e-5).1;
    let tight = Pld::for_release(&release).unwrap().compose(1000).epsilon(1e-5).unwrap().value;
    // Many small entries act like Gaussian noise of equal Fisher information: σ² = (ν+3)/(ν+1).
    let normal = epsilon(&gaussian(0.01, f64::sqrt(8.0 / 6.0) / exact), 1000, 1e-5).1;
    assert!((improved / normal - 1.0).abs() < 5e-3 && tight < improved, "{tight} {improved} {normal}");
}

#[test]
fn calibration_returns_the_safe_end() {
    let orders = Orders::All;
    let target = Target { epsilon: 2.0, delta: 1e-5, method: Method::Improved, orders };
    for noise in families() {
        let envelope: Vec<f64> = (1..200).map(|i| 0.2 / f64::from(i).sqrt()).collect();
        let release = Release::new(Sampling::Poisson { rate: 0.01 }, psi(&envelope), Some(noise));
        let found = calibrate::noise_scale(&release, 1000, &target).unwrap();
        assert!(found.epsilon <= 2.0 && found.epsilon > 1.99, "{found:?}");
    }
    // Tight accounting needs less noise.
    let tight = Target { method: Method::Tight, ..target };
    for (sensitivity, noise) in [
        (Sensitivity::L2 { norm: 1.0 }, NoiseSpec::Gaussian { sigma: 1.0 }),
        (psi(&[0.8, 0.6]), NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
    ] {
        let release = Release::new(Sampling::Poisson { rate: 0.01 }, sensitivity, Some(noise));
        let found = calibrate::noise_scale(&release, 1000, &tight).unwrap();
        let renyi = calibrate::noise_scale(&release, 1000, &target).unwrap();
        assert!(found.epsilon <= 2.0 && found.epsilon > 1.98, "{found:?}");
        assert!(found.value < renyi.value, "{found:?} {renyi:?}");
    }
    let release = gaussian(0.01, 1.0);
    let steps = calibrate::steps(&release, &tight).unwrap();
    assert!(steps.epsilon <= 2.0 && steps.value > calibrate::steps(&release, &target).unwrap().value);
    let steps = calibrate::steps(&release, &target).unwrap();
    assert!(epsilon(&release, steps.value, 1e-5).1 <= 2.0 && epsilon(&release, steps.value + 1, 1e-5).1 > 2.0);
    let rate = calibrate::rate(&release, 1000, &target).unwrap();
    assert!(rate.epsilon <= 2.0 && epsilon(&gaussian(rate.value * 1.001, 1.0), 1000, 1e-5).1 > 2.0);
    // Impossible targets are refused with a reason.
    let hopeless = Target { epsilon: 1e-3, delta: 1e-300, method: Method::Classic, orders: Orders::Integers };
    let reason = calibrate::noise_scale(&release, 1, &hopeless).unwrap_err().to_string();
    assert!(reason.contains("no noise scale") && reason.contains("conversion to δ = 1e-300 alone"), "{reason}");
    let one_is_too_much = Target { epsilon: 0.1, ..target };
    assert!(calibrate::steps(&gaussian(1.0, 0.5), &one_is_too_much).unwrap_err().to_string().contains("one step"));
}

/// Calibrated steps and rates keep the target; one more step, or a little more, does not.
#[test]
fn steps_and_rates_are_calibrated_for_every_family() {
    let envelope: Vec<f64> = (1..200).map(|i| 0.2 / f64::from(i).sqrt()).collect();
    let target = Target { epsilon: 2.0, delta: 1e-5, method: Method::Improved, orders: Orders::All };
    let tight = Target { method: Method::Tight, ..target };
    for family in every_family() {
        let noise = Some(family.with_scale(0.8));
        let at = |rate: f64| Release::new(Sampling::Poisson { rate }, psi(&envelope), noise.clone());
        let release = at(0.01);
        let improved = |release: &Release, steps: u64| epsilon(release, steps, 1e-5).1;
        let steps = calibrate::steps(&release, &target).unwrap();
        assert!(steps.epsilon <= 2.0 && improved(&release, steps.value) <= 2.0, "{family:?}: {steps:?}");
        assert!(improved(&release, steps.value + 1) > 2.0, "{family:?}: {steps:?}");
        let rate = calibrate::rate(&release, 500, &target).unwrap();
        assert!(rate.epsilon <= 2.0 && improved(&at(rate.value), 500) <= 2.0, "{family:?}: {rate:?}");
        assert!(rate.value == 1.0 || improved(&at((rate.value * 1.001).min(1.0)), 500) > 2.0, "{family:?}: {rate:?}");
        // Tight accounting allows more.
        let price = |release: &Release, steps: u64| {
            Pld::for_release(release).unwrap().compose(steps).epsilon(1e-5).unwrap().value
        };
        let more = calibrate::steps(&release, &tight).unwrap();
        assert!(more.value > steps.value && more.epsilon <= 2.0, "{family:?}: {more:?} {steps:?}");
        assert!(price(&release, more.value) <= 2.0 && price(&release, more.value + 1) > 2.0, "{family:?}: {more:?}");
        let larger = calibrate::rate(&release, 500, &tight).unwrap();
        assert!(larger.value >= rate.value && price(&at(larger.value), 500) <= 2.0, "{family:?}: {larger:?} {rate:?}");
    }
}

#[test]
fn noise_search_ranks_by_the_criterion() {
    let target = Target { epsilon: 3.0, delta: 1e-5, method: Method::Improved, orders: Orders::Integers };
    let spread = Release::new(Sampling::Poisson { rate: 0.01 }, psi(&vec![0.02; 2500]), None);
    let ranking = search(&spread, 1000, &target, Criterion::RootMeanSquare, &families()).unwrap();
    assert!(ranking.refused.is_empty(), "{:?}", ranking.refused);
    // At equal Fisher information, the normal distribution has the least variance.
    assert!(matches!(ranking.found[0].noise, NoiseSpec::Gaussian { .. }), "{:?}", ranking.found[0]);
    assert!(ranking.found.windows(2).all(|w| w[0].error <= w[1].error));
    assert!(ranking.found.last().unwrap().standard_deviation.is_infinite());
}

#[test]
fn samplers_match_their_policies() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let mut lot = Vec::new();
    // Poisson: counts of 500 examples over 4000 draws, within 6 σ (false alarm below 1e-6 in all).
    let policy = Sampling::Poisson { rate: 0.037 };
    let mut sampler = policy.sampler(500).unwrap();
    let mut counts = vec![0u32; 500];
    let mut pairs = 0u32;
    for _ in 0..4000 {
        sampler.draw(&mut rng, &mut lot);
        assert!(lot.windows(2).all(|w| w[0] < w[1]));
        lot.iter().for_each(|&i| counts[i as usize] += 1);
        pairs += u32::from(lot.contains(&3) && lot.contains(&4));
    }
    let (mean, spread) = (4000.0 * 0.037, f64::sqrt(4000.0 * 0.037 * 0.963));
    assert!(counts.iter().all(|&c| (f64::from(c) - mean).abs() < 6.0 * spread));
    assert!((f64::from(pairs) - 4000.0 * 0.037 * 0.037).abs() < 6.0 * f64::sqrt(4000.0 * 0.037 * 0.037));
    for (rate, size) in [(0.0, 0), (1.0, 500)] {
        Sampling::Poisson { rate }.sample(500, &mut rng, &mut lot).unwrap();
        assert_eq!(lot.len(), size);
    }
    // Fixed size: always that many, each example equally often.
    let mut sampler = Sampling::FixedSize { population: 60, size: 7 }.sampler(60).unwrap();
    let mut counts = vec![0u32; 60];
    for _ in 0..4000 {
        sampler.draw(&mut rng, &mut lot);
        assert!(lot.len() == 7 && lot.windows(2).all(|w| w[0] < w[1]));
        lot.iter().for_each(|&i| counts[i as usize] += 1);
    }
    let (mean, spread) = (4000.0 * 7.0 / 60.0, f64::sqrt(4000.0 * 7.0 / 60.0 * 53.0 / 60.0));
    assert!(counts.iter().all(|&c| (f64::from(c) - mean).abs() < 6.0 * spread));
    assert!(Sampling::FixedSize { population: 60, size: 7 }.sampler(61).is_err());
    // Shuffled: each epoch is a new partition; sizes are binomial (within 6 σ again).
    let mut sampler = Sampling::Shuffled { batches: 4 }.sampler(103).unwrap();
    let mut epochs = Vec::new();
    for _ in 0..2 {
        let mut seen = Vec::new();
        for _ in 0..4 {
            sampler.draw(&mut rng, &mut lot);
            assert!(
                (lot.len() as f64 - 25.75).abs() < 6.0 * f64::sqrt(103.0 * 0.25 * 0.75)
                    && lot.windows(2).all(|w| w[0] < w[1])
            );
            seen.extend_from_slice(&lot);
        }
        epochs.push(seen.clone());
        seen.sort_unstable();
        assert_eq!(seen, (0..103).collect::<Vec<_>>());
    }
    assert_ne!(epochs[0], epochs[1]);
    // Every example is in every batch equally often, independently of others.
    let mut sampler = Sampling::Shuffled { batches: 3 }.sampler(2).unwrap();
    let mut counts = [0u32; 9];
    for _ in 0..9000 {
        let mut batch_of = [0, 0];
        for batch in 0..3 {
            sampler.draw(&mut rng, &mut lot);
            lot.iter().for_each(|&i| batch_of[i as usize] = batch);
        }
        counts[batch_of[0] * 3 + batch_of[1]] += 1;
    }
    assert!(
        counts.iter().all(|&c| (f64::from(c) - 1000.0).abs() < 6.0 * f64::sqrt(9000.0 / 9.0 * 8.0 / 9.0)),
        "{counts:?}"
    );
    for batches in [0, 1 << 32] {
        assert!(Sampling::Shuffled { batches }.sampler(10).is_err());
    }
}

/// A given sequence of words, to enumerate all draws of a sampler.
struct Words(Vec<u32>);

impl rand::rand_core::TryRng for Words {
    type Error = core::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.0.pop().expect("as many words as examples"))
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        unreachable!("an example takes one word")
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        unreachable!("an example takes one word")
    }
}

/// Neighbours with one example more or less, under the actual sampler: one epoch of two batches by
/// brute force over its draws and outputs. Batches of fixed sizes would give δ(5) ≥ 9e-3.
#[test]
fn an_epoch_costs_no_more_than_its_price() {
    for policy in [Sampling::Shuffled { batches: 2 }, Sampling::RandomAllocation { batches: 2 }] {
        costs_no_more_than_its_price(policy);
    }
}

fn costs_no_more_than_its_price(policy: Sampling) {
    let release = Release::new(policy, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 1.0 }));
    let pld = Pld::for_release(&release).unwrap().compose(2);
    let curve = RdpCurve::of(&release).unwrap();
    // The batches' sums in all equally likely cases: a word's first bit picks one of two batches.
    let sums = |values: &[f64]| -> Vec<[f64; 2]> {
        (0..1u32 << values.len())
            .map(|case| {
                let mut words = Words((0..values.len()).map(|i| (case >> i & 1) << 31).collect());
                let mut sampler = policy.sampler(values.len() as u64).unwrap();
                let mut lot = Vec::new();
                let sums = [(); 2].map(|()| {
                    sampler.draw(&mut words, &mut lot);
                    lot.iter().map(|&i| values[i as usize]).sum()
                });
                assert!(words.0.is_empty());
                sums
            })
            .collect()
    };
    const CELL: f64 = 0.06;
    let axis: Vec<f64> = (-170..170).map(|i| (f64::from(i) + 0.5) * CELL).collect();
    let output = |values: &[f64]| -> Vec<f64> {
        let sums = sums(values);
        let bell = |x: f64| CELL * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let one = |s: f64| -> Vec<f64> { axis.iter().map(|x| bell(x - s)).collect() };
        let products: Vec<[Vec<f64>; 2]> = sums.iter().map(|s| s.map(one)).collect();
        let mut mass = Vec::with_capacity(axis.len() * axis.len());
        for i in 0..axis.len() {
            for j in 0..axis.len() {
                mass.push(products.iter().map(|[a, b]| a[i] * b[j]).sum::<f64>() / sums.len() as f64);
            }
        }
        mass
    };
    for (with, out) in [([-1.0, 1.0, 1.0], 0), ([1.0, -1.0, 0.5], 1), ([1.0, 1.0, 1.0], 2)] {
        let mut without = with.to_vec();
        without.remove(out);
        let (p, q) = (output(&with), output(&without));
        for epsilon in [0.0_f64, 0.5, 1.0, 2.0, 5.0] {
            let delta =
                |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum::<f64>();
            let (truth, bound) = (delta(&p, &q).max(delta(&q, &p)), pld.delta(epsilon).unwrap().value);
            assert!(truth <= bound * (1.0 + 1e-3), "{with:?} {epsilon}: {truth} {bound}");
            // Close to the worst neighbours: one example alone, and none.
            let worst = matches!(policy, Sampling::RandomAllocation { .. }) && with == [1.0, 1.0, 1.0];
            assert!(!worst || bound <= 100.0 * truth + 1e-6, "{with:?} {epsilon}: {truth} {bound}");
        }
        let points: Vec<(f64, f64, f64)> = p.iter().zip(&q).map(|(p, q)| (0.0, p.ln(), q.ln())).collect();
        for order in [2.0, 4.0] {
            let bound = curve.at(order).unwrap();
            assert!(renyi(&points, order).into_iter().all(|truth| truth <= bound * (1.0 + 1e-3)), "{with:?} {order}");
        }
    }
    // Among many examples, the lots of the others do not change.
    let lots = |population| -> Vec<Vec<u32>> {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let mut sampler = Sampling::Shuffled { batches: 4 }.sampler(population).unwrap();
        let mut lot = Vec::new();
        (0..4)
            .map(|_| {
                sampler.draw(&mut rng, &mut lot);
                lot.iter().copied().filter(|i| *i != 102).collect()
            })
            .collect()
    };
    assert_eq!(lots(103), lots(102));
}

#[test]
fn shuffled_epochs_cost_their_most_expensive_batch() {
    let policy = Sampling::Shuffled { batches: 10 };
    let release = |sigma| Release::new(policy, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }));
    let mut ledger = Ledger::new();
    let (quiet, loud) = (ledger.register(release(4.0)).unwrap(), ledger.register(release(2.0)).unwrap());
    let rdp = |ledger: &Ledger| RdpAccountant::of(ledger).unwrap().rdp(2.0).unwrap();
    ledger.record_many(quiet, 25);
    assert!((rdp(&ledger) - 3.0 / 16.0).abs() < 1e-15);
    // The open epoch gets a worse batch, and costs what that batch does.
    ledger.record_many(loud, 1);
    assert!((rdp(&ledger) - (2.0 / 16.0 + 1.0 / 4.0)).abs() < 1e-15);
    ledger.record_many(quiet, 4);
    assert!((rdp(&ledger) - (2.0 / 16.0 + 1.0 / 4.0)).abs() < 1e-15);
    ledger.record_many(quiet, 1);
    assert!((rdp(&ledger) - (3.0 / 16.0 + 1.0 / 4.0)).abs() < 1e-15);
}

/// Draws of another sampler belong to the next epoch; an abandoned epoch's cost stays.
#[test]
fn a_sampler_that_is_given_up_leaves_no_epoch_open() {
    let release = |batches, sigma| {
        let noise = Some(NoiseSpec::Gaussian { sigma });
        Release::new(Sampling::Shuffled { batches }, Sensitivity::L2 { norm: 1.0 }, noise)
    };
    let mut ledger = Ledger::new();
    let [quiet, loud, other] =
        [release(10, 4.0), release(10, 2.0), release(3, 1.0)].map(|release| ledger.register(release).unwrap());
    let rdp = |ledger: &Ledger| RdpAccountant::of(ledger).unwrap().rdp(2.0).unwrap();
    for (id, count) in [(quiet, 12), (loud, 1), (other, 1), (quiet, 2)] {
        ledger.record_many(id, count);
    }
    let before = (rdp(&ledger), ledger.steps());
    for batches in [5, 10] {
        ledger.charge_open_epoch(Sampling::Shuffled { batches });
        ledger.charge_open_epoch(Sampling::Poisson { rate: 0.1 });
        assert_eq!((rdp(&ledger), ledger.steps()), (before.0, before.1 + if batches == 10 { 5 } else { 0 }));
    }
    ledger.record(quiet);
    assert!((rdp(&ledger) - before.0 - 1.0 / 16.0).abs() < 1e-15, "a third epoch has begun");
    ledger.charge_open_epoch(Sampling::Shuffled { batches: 3 });
    ledger.record(other);
    assert!((rdp(&ledger) - before.0 - 1.0 / 16.0 - 1.0).abs() < 1e-15, "{}", rdp(&ledger));
    ledger.validate().unwrap();
}

#[test]
fn noise_on_a_grid_is_charged_for_its_inexactness() {
    let on_grid =
        |exponent| Release { grid: Some(Grid { exponent, coordinates: 7850 }), ..gaussian(256.0 / 60_000.0, 1.1) };
    let ledger = |releases: &[(Release, u64)]| Ledger::of(releases.iter().cloned()).unwrap();
    let exact = |delta| {
        epsilon_of(&ledger(&[(on_grid(-10), 1000)].map(|(r, n)| (Release { grid: None, ..r }, n))), delta)
            .unwrap()
            .improved
            .epsilon
    };
    let mut last = exact(1e-5);
    for exponent in [-6, -10, -12] {
        let ledger = ledger(&[(on_grid(exponent), 1000)]);
        let epsilon = epsilon_of(&ledger, 1e-5).unwrap().improved.epsilon;
        let accountant = RdpAccountant::of(&ledger).unwrap();
        let cost = accountant.rounding(1e-5).unwrap().unwrap();
        assert!(epsilon > last && epsilon < exact(0.5e-5) + cost.loss && epsilon >= exact(1e-5) + cost.loss);
        assert!(cost.loss > 0.0 && cost.loss < 0.1 && cost.total_variation < 1e-6, "{cost:?}");
        assert_eq!(accountant.rdp(2.0), None, "no divergence of the exact mechanism's order bounds what runs");
        last = epsilon;
        // The ledger keeps its grids; tight accounting has no price for them.
        let more = Ledger::from_json(&ledger.to_json()).unwrap();
        assert_eq!(more, ledger);
        assert!(matches!(Pld::of(&ledger), Err(PrivacyError::Unpriced(_))));
        assert!(account(&ledger, 1e-5).unwrap().tight.is_none());
    }
    // The costs of several kinds add up; a kind without releases costs nothing.
    let cost = |kinds: &[(Release, u64)]| RdpAccountant::of(&ledger(kinds)).unwrap().rounding(1e-5).unwrap();
    let (coarse, fine) = (cost(&[(on_grid(-8), 300)]).unwrap().loss, cost(&[(on_grid(-12), 500)]).unwrap().loss);
    let both = cost(&[(on_grid(-8), 300), (gaussian(0.01, 1.0), 9), (on_grid(-12), 500)]).unwrap().loss;
    assert!((both / (coarse + fine) - 1.0).abs() < 0.05, "{both} {coarse} {fine}");
    assert_eq!(cost(&[(on_grid(-8), 0), (gaussian(0.01, 1.0), 9)]), None);
    let endless = ledger(&[(on_grid(-12), 1 << 40)]);
    assert!(matches!(epsilon_of(&endless, 1e-5), Err(PrivacyError::Inexact | PrivacyError::Infinite)));
    let many = ledger(&[(Release { sampling: Sampling::Poisson { rate: 1e-6 }, ..on_grid(-12) }, 1 << 30)]);
    assert_eq!(epsilon_of(&many, 1e-5).unwrap_err(), PrivacyError::Inexact);

    // A grid is stored in full, or refused.
    let kept = ledger(&[(on_grid(-10), 1)]).to_json();
    assert!(
        !ledger(&[(gaussian(0.01, 1.0), 1)]).to_json().contains("grid"),
        "older programs read what needs no newer one"
    );
    for (from, to) in [
        ("\"exponent\": -10", "\"exponent\": -301"),
        ("\"coordinates\": 7850", "\"coordinates\": 0"),
        ("\"coordinates\": 7850", "\"coordinates\": 4294967297"),
        ("\"coordinates\": 7850", "\"more\": 7850"),
    ] {
        assert!(kept.contains(from) && Ledger::from_json(&kept.replace(from, to)).is_err(), "{to}");
    }
    let fits = |coordinates| Release {
        sensitivity: psi(&[0.5; 4]),
        grid: Some(Grid { exponent: -10, coordinates }),
        ..on_grid(-10)
    };
    assert!(RdpCurve::of(&fits(4)).is_ok() && RdpCurve::of(&fits(5)).is_err());
    for noise in families() {
        let priced = RdpCurve::of(&Release { noise: Some(noise.clone()), ..on_grid(-10) });
        let known = noise.build().unwrap().sampler_accuracy().is_some();
        assert!(priced.is_ok() == known && matches!(priced, Ok(_) | Err(PrivacyError::Unpriced(_))), "{noise:?}");
    }
}

/// An epoch outlasts other releases: after five batches, another release and ten worse batches, an
/// example may be in a worse one twice.
#[test]
fn an_epoch_outlasts_other_policies() {
    let release =
        |sampling, sigma| Release::new(sampling, Sensitivity::L2 { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma }));
    let shuffled = |batches, sigma| release(Sampling::Shuffled { batches }, sigma);
    for other in [gaussian(0.01, 1.0), shuffled(3, 8.0)] {
        let mut ledger = Ledger::new();
        let [quiet, loud, between] =
            [shuffled(10, 4.0), shuffled(10, 2.0), other.clone()].map(|release| ledger.register(release).unwrap());
        let own = RdpCurve::of(&other).unwrap().at(2.0).unwrap();
        // Each Poisson release is paid for, but only one epoch of the other partition.
        let others = |n: f64| if matches!(other.sampling, Sampling::Poisson { .. }) { n * own } else { own };
        // Five more end the second epoch at no extra cost.
        for (n, events) in [(1.0, [(quiet, 5), (between, 1), (loud, 10)].as_slice()), (2.0, &[(between, 1), (loud, 5)])]
        {
            for &(id, count) in events {
                ledger.record_many(id, count);
            }
            let total = RdpAccountant::of(&ledger).unwrap().rdp(2.0).unwrap();
            assert!((total - others(n) - 2.0 / 4.0).abs() < 1e-14, "{total}");
            let tight = Pld::of(&ledger).unwrap().epsilon(1e-5).unwrap().value;
            assert!(tight >= normal::epsilon_gaussian(f64::sqrt(2.0 / 4.0), 1e-5));
            assert!(tight <= epsilon_of(&ledger, 1e-5).unwrap().improved.epsilon);
        }
    }
}

/// One release of Student-t noise under an envelope, as editable JSON.
fn with_envelope(vectors: &[Vec<f64>]) -> serde_json::Value {
    let profile = EnvelopeProfile::from_vectors_f64(vectors.iter().map(Vec::as_slice)).unwrap();
    let noise = NoiseSpec::StudentT { nu: 3.0, scale: 0.3 };
    let release = Release::new(Sampling::Poisson { rate: 0.02 }, Sensitivity::Envelope { profile }, Some(noise));
    let ledger = Ledger::of([(release, 100)]).unwrap();
    serde_json::from_str(&ledger.to_json()).unwrap()
}

/// Sums that no entries have would lower ε: S_1 = S_2 = −S_0 puts entries both at an octave's end
/// and in its middle.
#[test]
fn an_envelope_that_no_vectors_have_is_refused() {
    let vectors: Vec<Vec<f64>> =
        (1..4).map(|v| (1..300).map(|i| 0.1 * f64::from(v) / f64::from(i)).collect()).collect();
    let good = with_envelope(&vectors);
    assert!(Ledger::from_json(&good.to_string()).is_ok());
    for panel in 0..6 {
        let mut bad = good.clone();
        let envelope = &mut bad["releases"][0]["sensitivity"]["envelope"]["profile"]["form"]["moments"];
        for vector in envelope["vectors"].as_array_mut().unwrap() {
            let negative = -vector[13 * panel].as_f64().unwrap();
            vector[13 * panel + 1] = negative.into();
            vector[13 * panel + 2] = negative.into();
        }
        let error = Ledger::from_json(&bad.to_string()).unwrap_err().to_string();
        assert!(error.contains("sums that no entries can have"), "panel {panel}: {error}");
    }
}

/// Two thousand one-entry vectors are a small file but would take hours of unions; refused.
#[test]
fn envelopes_of_too_many_lists_are_refused() {
    let mut many = with_envelope(&[vec![0.6, 0.8]]);
    let form = &mut many["releases"][0]["sensitivity"]["envelope"]["profile"]["form"]["exact"];
    form["vectors"] = (1..2000).map(|i| serde_json::json!([[0.8 / f64::from(i), 1]])).collect();
    let error = Ledger::from_json(&many.to_string()).unwrap_err().to_string();
    assert!(error.contains("the limit is 96"), "{error}");
    // The largest allowed number is accounted for.
    let vectors: Vec<Vec<f64>> = (1..=96).map(|i| vec![0.8 / f64::from(i)]).collect();
    let most = Ledger::from_json(&with_envelope(&vectors).to_string()).unwrap();
    assert!(account(&most, 1e-5).unwrap().tight.is_some());
}

/// A metric released beside every gradient makes each an event; quadratic work would not finish.
#[test]
fn a_ledger_of_very_many_events_is_accounted_for() {
    let mut ledger = Ledger::new();
    let ids = [1.1, 20.0].map(|sigma| ledger.register(gaussian(0.004, sigma)).unwrap());
    for _ in 0..1_000_000 {
        ids.iter().for_each(|id| ledger.record(*id));
    }
    assert_eq!(ledger.events().len(), 2_000_000);
    assert_eq!(account(&ledger, 1e-5).unwrap().steps, 2_000_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// A ledger with one edited number is refused or priced without a panic, and round-trips.
    #[test]
    fn edited_ledgers_are_refused_or_have_a_price(
        exact in any::<bool>(), place in 0usize..10_000, factor in prop_oneof![-2.0f64..2.0, 0.999_9f64..1.000_1, Just(0.0), Just(1e300)],
    ) {
        let vectors: Vec<Vec<f64>> = if exact {
            vec![vec![0.6, 0.3, 0.3], vec![0.5, 0.4, 0.1]]
        } else {
            (1..4).map(|v| (1..300).map(|i| 0.1 * f64::from(v) / f64::from(i)).collect()).collect()
        };
        let mut json = with_envelope(&vectors);
        let mut numbers = 0;
        each_number(&mut json, &mut |_| numbers += 1);
        let (chosen, mut at) = (place % numbers, 0);
        each_number(&mut json, &mut |number| {
            if at == chosen {
                let edited = number.as_f64().unwrap() * factor;
                let whole = number.is_u64() && edited >= 0.0;
                *number = if whole { (edited as u64).into() } else { edited.into() };
            }
            at += 1;
        });
        if let Ok(ledger) = Ledger::from_json(&json.to_string()) {
            prop_assert_eq!(&Ledger::from_json(&ledger.to_json()).unwrap(), &ledger);
            if let Ok(account) = account(&ledger, 1e-5) {
                prop_assert!(account.classic.epsilon >= 0.0 && account.improved.epsilon >= 0.0);
                prop_assert!(account.tight.is_none_or(|tight| tight.value >= 0.0 && tight.value <= account.improved.epsilon));
            }
        }
    }
}

/// Calls `seen` for every number of a document, in order.
fn each_number(json: &mut serde_json::Value, seen: &mut dyn FnMut(&mut serde_json::Value)) {
    match json {
        serde_json::Value::Number(_) => seen(json),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| each_number(item, seen)),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(|field| each_number(field, seen)),
        _ => {}
    }
}

#[test]
fn impossible_ledgers_are_refused_with_the_place() {
    let mut ledger = Ledger::of([(gaussian(0.01, 1.0), 5)]).unwrap();
    let good = ledger.to_json();
    assert!(Ledger::from_json(&good).is_ok());
    for (from, to, place) in [
        ("\"rate\": 0.01", "\"rate\": 1.5", "sampling.rate"),
        ("\"rate\": 0.01", "\"rate\": -0.5", "releases[0]"),
        ("\"sigma\": 1.0", "\"sigma\": 0.0", "sigma"),
        ("\"norm\": 1.0", "\"norm\": -1.0", "sensitivity.norm"),
        ("\"count\": 5", "\"count\": 0", "events[0].count"),
        ("\"count\": 5", "\"count\": 18446744073709551615", "events[0].count"),
        ("\"count\": 5", "\"count\": -5", "line"),
        ("\"release\": 0", "\"release\": 3", "events[0].release"),
        ("\"version\": 1", "\"version\": 2", "version"),
        ("hushgrad-ledger", "other-ledger", "format"),
        ("\"count\": 5", "\"count\": 5, \"discount\": 2", "discount"),
        ("\"rate\": 0.01", "\"rate\": 0.01, \"discount\": 2", "discount"),
        ("\"sigma\": 1.0", "\"sigma\": 1.0, \"discount\": 2", "discount"),
        // The protected unit is part of the price: there is no default.
        (",\n      \"unit\": \"example\"", "", "unit"),
    ] {
        assert!(good.contains(from), "{good}");
        let error = Ledger::from_json(&good.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(place), "{from} → {to}: {error}");
    }
    let mixed = Release::new(
        Sampling::FixedSize { population: 100, size: 10 },
        Sensitivity::L2 { norm: 1.0 },
        Some(NoiseSpec::Gaussian { sigma: 1.0 }),
    );
    let other = ledger.register(mixed).unwrap();
    ledger.record(other);
    assert_eq!(epsilon_of(&ledger, 1e-5), Err(PrivacyError::MixedNeighbours));
}

/// A micro-batch's guarantee says nothing of an example elsewhere: their sum is nobody's ε.
#[test]
fn different_privacy_units_are_not_added_up() {
    let of = |unit| Release { unit, ..gaussian(0.01, 1.0) };
    let both = |first, second| Ledger::of([(of(first), 100), (of(second), 100)]).unwrap();
    for unit in [PrivacyUnit::Example, PrivacyUnit::ExampleInMicroBatch] {
        for ledger in [both(unit, PrivacyUnit::MicroBatch), both(PrivacyUnit::MicroBatch, unit)] {
            assert_eq!(epsilon_of(&ledger, 1e-5), Err(PrivacyError::MixedUnits));
            assert_eq!(Pld::of(&ledger).unwrap_err(), PrivacyError::MixedUnits);
        }
    }
    // An example is the same unit in a micro-batch or alone.
    assert!(account(&both(PrivacyUnit::Example, PrivacyUnit::ExampleInMicroBatch), 1e-5).is_ok());
}
