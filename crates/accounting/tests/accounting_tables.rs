//! Noise tables with very narrow steps: many equal coordinates give a lower bound on every price.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use hushgrad_accounting::{
    envelope::EnvelopeProfile,
    ledger::{PrivacyUnit, Release, Sensitivity},
    noise::{CustomDensity, NoiseSpec},
    rdp::RdpCurve,
    sampling::Sampling,
};

/// A step of e^{−|x|}: from `start` on, an additional fall of `fall` over `width`, in `pieces`.
#[derive(Clone, Copy, Debug)]
struct Step {
    start: f64,
    width: f64,
    fall: f64,
    pieces: u32,
}

/// The density e^{−|x|} with ascending steps.
fn stairs(steps: &[Step]) -> NoiseSpec {
    let (mut knots, mut logs, mut fallen) = (vec![0.0], vec![0.0], 0.0);
    for step in steps {
        for piece in 0..=step.pieces {
            let share = f64::from(piece) / f64::from(step.pieces);
            let x = step.start + step.width * share;
            knots.push(x);
            logs.push(-x - fallen - step.fall * share);
        }
        fallen += step.fall;
    }
    let end = knots.last().unwrap() + 1.0;
    knots.push(end);
    logs.push(-end - fallen);
    let table = serde_json::json!({ "source": "stairs", "knots": knots, "log-densities": logs });
    NoiseSpec::Custom { density: serde_json::from_value::<CustomDensity>(table).unwrap(), scale: 1.0 }
}

/// Lower bound on ln I_k(τ): ∫ z·e_k, e_k = r^k − 1 − k(r−1) ≥ 0, from a step's start to τ beyond
/// its end (distances from its start), by Simpson's rule between the bends of ln z and ln r. z ≥
/// e^{−x − falls}/2, as it is at most e^{−|x|} before normalisation.
fn least_log_moment(step: &Step, fallen: f64, k: f64, tau: f64) -> f64 {
    let log = |y: f64| -y - step.fall * (y / step.width).clamp(0.0, 1.0);
    let mut bends = [0.0, step.width, tau, step.width + tau];
    bends.sort_by(f64::total_cmp);
    let excess = |y: f64| {
        let ratio = log(y - tau) - log(y);
        let e = if k * ratio.abs() < 1e-4 {
            0.5 * k * (k - 1.0) * ratio * ratio
        } else {
            (k * ratio).exp_m1() - k * ratio.exp_m1()
        };
        log(y).exp() * e
    };
    let piece = |a: f64, b: f64| {
        let h = (b - a) / 400.0;
        (0..400)
            .map(|i| a + h * f64::from(i))
            .map(|y| h / 6.0 * (excess(y) + 4.0 * excess(y + 0.5 * h) + excess(y + h)))
            .sum::<f64>()
    };
    let sum: f64 = bends.windows(2).map(|ends| piece(ends[0], ends[1])).sum();
    (0.5 * (-step.start - fallen).exp() * sum).ln_1p()
}

/// A fixed sequence of numbers between 0 and 1.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Steps that were once missed, and similar ones.
fn all_stairs() -> Vec<Vec<Step>> {
    let one = |start, width, fall, pieces| vec![Step { start, width, fall, pieces }];
    let mut all = vec![
        one(16.0, 1e-8, 2.0, 211),
        one(14.0, 1e-7, 2.0, 211),
        one(8.5, 1e-5, 1.4, 200),
        one(6.1446, 3.153e-5, 3.2528, 1),
        vec![
            Step { start: 5.0, width: 1e-7, fall: 1.0, pieces: 150 },
            Step { start: 9.0, width: 1e-10, fall: 2.5, pieces: 5 },
        ],
    ];
    let mut next = numbers();
    all.extend((0..20).map(|_| {
        let start = 1.0 + 20.0 * next();
        let width = 10f64.powf(-9.0 + 8.0 * next());
        // Relative distances of knots must exceed 1e-12.
        let most = (width / start / 3e-12).min(300.0);
        one(start, width, 0.3 + 4.0 * next(), 1 + (most * next().powi(2)) as u32)
    }));
    all
}

/// Whatever the step, an L2 ball costs as much as its many-coordinate corners, and little more.
#[test]
fn no_step_is_too_narrow_for_an_l2_ball() {
    for (i, steps) in all_stairs().into_iter().enumerate() {
        let spec = stairs(&steps);
        let noise = spec.build().unwrap();
        let norm = [0.1, 0.308, 1.0, 0.01][i % 4];
        for unit in [PrivacyUnit::MicroBatch, PrivacyUnit::ExampleInMicroBatch] {
            let distance = if unit == PrivacyUnit::MicroBatch { norm } else { 2.0 * norm };
            let release = Release::new(Sampling::Poisson { rate: 1.0 }, Sensitivity::L2 { norm }, Some(spec.clone()));
            let curve = RdpCurve::of(&Release { unit, ..release }).unwrap();
            for order in [2u32, 3, 4, 7, 16, 40] {
                let k = f64::from(order);
                let price = curve.at(k).unwrap();
                let mut maximum = 0.5 * k * noise.fisher_information() * distance * distance;
                let mut fallen = 0.0;
                for step in &steps {
                    for place in -12..40 {
                        let tau = step.width * 1.3f64.powi(place);
                        if tau > distance {
                            continue;
                        }
                        let least = (distance / tau).powi(2) / (k - 1.0) * least_log_moment(step, fallen, k, tau);
                        assert!(
                            price >= least * 0.999,
                            "{step:?}, norm {norm}, {unit:?}, order {k}, τ = {tau}: {price} below {least}"
                        );
                        maximum = maximum.max((distance / tau).powi(2) / (k - 1.0) * noise.log_moment(order, tau));
                    }
                    fallen += step.fall;
                }
                for place in 0..120 {
                    let tau = distance * 0.7f64.powi(place);
                    maximum = maximum.max((distance / tau).powi(2) / (k - 1.0) * noise.log_moment(order, tau));
                }
                // Between these shifts there may be a little more; useless orders are refused.
                assert!(price >= maximum * (1.0 - 1e-9), "{steps:?}, order {k}: {price} below {maximum}");
                assert!(
                    price <= 1.05 * maximum || maximum > 1e5,
                    "{steps:?}, {unit:?}, order {k}: {price} far above {maximum}"
                );
            }
        }
    }
}

/// All entries' sums in one panel from 0, as a hand-written profile may have them.
fn in_one_panel(profile: &EnvelopeProfile, entries: &[f64]) -> EnvelopeProfile {
    let largest = profile.largest();
    let sums: Vec<f64> = (0..13)
        .map(|j| {
            let term = |entry: &f64| {
                entry * entry * (f64::from(j) * (2.0 * entry / largest - 1.0).clamp(-1.0, 1.0).acos()).cos()
            };
            entries.iter().map(term).sum()
        })
        .collect();
    let mut json = serde_json::to_value(profile).unwrap();
    json["squared-norm"] = sums[0].into();
    json["form"]["moments"]["octaves"] = 0.into();
    json["form"]["moments"]["vectors"] = serde_json::json!([sums]);
    serde_json::from_value(json).unwrap()
}

/// Many entries as small as a step, with larger ones or alone, never cost less than one by one.
#[test]
fn envelopes_are_not_cheaper_than_their_entries() {
    let spread =
        |top: f64, bottom: f64, n: u32| (0..n).map(move |i| top * (bottom / top).powf(f64::from(i) / f64::from(n)));
    let mut looked = 0;
    let mut check = |spec: &NoiseSpec, entries: &[f64], most: f64| {
        let noise = spec.build().unwrap();
        let built = EnvelopeProfile::from_vectors_f64([entries]).unwrap();
        let read = in_one_panel(&built, entries);
        let orders = [2u32, 3, 5, 16];
        let sums = orders.map(|k| entries.iter().map(|entry| noise.log_moment(k, *entry)).sum::<f64>());
        for (profile, most) in [(&built, most), (&read, f64::INFINITY)] {
            let bounds = profile.log_moment_sums(&*noise, 1.0, 15).swap_remove(0);
            for (k, sum) in orders.iter().zip(sums).filter(|(_, sum)| sum.is_finite()) {
                // Useless orders are refused; NaN becomes infinite before pricing.
                let bound = Some(bounds[*k as usize - 2]).filter(|bound| !bound.is_nan()).unwrap_or(f64::INFINITY);
                assert!(
                    bound >= sum && (bound <= most * sum || sum > 1e4),
                    "{spec:?}, largest {}, order {k}: {bound}, one by one {sum}",
                    built.largest()
                );
                looked += 1;
            }
        }
    };
    for steps in [all_stairs()[0].clone(), all_stairs()[2].clone(), all_stairs()[3].clone()] {
        let (spec, width) = (stairs(&steps), steps[0].width);
        let around: Vec<f64> = spread(10.0 * width, 0.1 * width, 1000).collect();
        check(&spec, &around, 1.2);
        let hidden: Vec<f64> = spread(2.0 * width, 0.9 * width, 3000).chain([0.1]).collect();
        check(&spec, &hidden, f64::INFINITY);
        let wide: Vec<f64> = spread(1e4 * width, 0.1 * width, 1000).collect();
        check(&spec, &wide, f64::INFINITY);
    }
    // Densities without steps, wide and narrow relative to the entries.
    let scale = 1.0;
    let smooth = [
        NoiseSpec::StudentT { nu: 2.1, scale },
        NoiseSpec::StudentT { nu: 1e6, scale },
        NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale },
        NoiseSpec::GeneralizedGaussian { exponent: 3.0, scale },
        NoiseSpec::VarianceGamma { scale },
        NoiseSpec::Laplace { scale },
        NoiseSpec::Cauchy { scale },
        NoiseSpec::HyperbolicSecant { scale },
    ];
    for (spec, largest) in smooth.iter().flat_map(|spec| [0.03, 1.0, 10.0, 300.0].map(|largest| (spec, largest))) {
        let entries: Vec<f64> =
            spread(largest, 1e-3 * largest, 300).chain(spread(1e-2 * largest, 1e-3 * largest, 1500)).collect();
        check(spec, &entries, if largest < 20.0 { 1.01 } else { f64::INFINITY });
    }
    assert!(looked > 200, "{looked}");
}

/// Densities without steps, nearly normal or not: no equal coordinates exceed the ball's price.
#[test]
fn smooth_noise_never_exceeds_the_price_of_its_ball() {
    let scale = 1.0;
    let mut specs: Vec<NoiseSpec> = [2.001, 9.0, 1e4, 1e6, 1e9].map(|nu| NoiseSpec::StudentT { nu, scale }).to_vec();
    specs.extend(
        [1.0, 1.000_1, 1.01, 1.5, 1.99, 2.01, 2.5, 8.0, 50.0]
            .map(|exponent| NoiseSpec::GeneralizedGaussian { exponent, scale }),
    );
    specs.extend([
        NoiseSpec::VarianceGamma { scale },
        NoiseSpec::Cauchy { scale },
        NoiseSpec::HyperbolicSecant { scale },
    ]);
    let mut compared = 0;
    for (spec, norm) in specs.iter().flat_map(|spec| [0.01, 0.3, 5.0].map(|norm| (spec, norm))) {
        let noise = spec.build().unwrap();
        let release = Release::new(Sampling::Poisson { rate: 1.0 }, Sensitivity::L2 { norm }, Some(spec.clone()));
        let prices = RdpCurve::of(&release).unwrap();
        for tau in (0..60).map(|i| norm * 0.8f64.powi(i)) {
            let mut moments = [0.0; 63];
            noise.log_moments(tau, &mut moments);
            for (k, moment) in (2..).map(f64::from).zip(moments).filter(|(_, moment)| moment.is_finite()) {
                let (price, least) = (prices.at(k).unwrap(), (norm / tau).powi(2) * moment / (k - 1.0));
                assert!(
                    price >= least * (1.0 - 1e-9),
                    "{spec:?}, norm {norm}, order {k}, τ = {tau}: {price} below {least}"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 50_000, "{compared}");
}
