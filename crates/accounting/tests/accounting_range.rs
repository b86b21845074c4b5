//! The whole range of the accountants' inputs, at points spread over it: an answer or a typed
//! refusal, and never less for more steps or a smaller δ.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use hushgrad_accounting::{
    PrivacyError,
    calibrate::{self, Calibrated, Method, Target},
    envelope::{EnvelopeError, EnvelopeProfile},
    ledger::{PrivacyUnit, Release, Sensitivity},
    noise::{CustomDensity, NoiseSpec},
    pld::Pld,
    rdp::{Orders, RdpAccountant, RdpCurve},
    sampling::Sampling,
};

const STEPS: [u64; 4] = [1, 1000, 1_000_000_000, u64::MAX];
/// In descending order.
const DELTAS: [f64; 3] = [1.0 - 1e-9, 1e-5, 1e-300];

fn samplings() -> Vec<Sampling> {
    let mut all = [0.0, 1e-300, 1e-9, 0.01, 0.5, 1.0].map(|rate| Sampling::Poisson { rate }).to_vec();
    let fixed = [(1, 1), (60_000, 256), (60_000, 59_999), (u64::MAX, 1), (u64::MAX, u64::MAX)];
    all.extend(fixed.map(|(population, size)| Sampling::FixedSize { population, size }));
    all.extend([1, 10, u64::from(u32::MAX)].map(|batches| Sampling::Shuffled { batches }));
    all
}

fn envelope(vectors: &[Vec<f64>]) -> Sensitivity {
    let profile = EnvelopeProfile::from_vectors_f64(vectors.iter().map(Vec::as_slice)).unwrap();
    Sensitivity::Envelope { profile }
}

fn sensitivities() -> Vec<Sensitivity> {
    let mut all = [1e-100, 1e-3, 1.0, 30.0, 1e100].map(|norm| Sensitivity::L2 { norm }).to_vec();
    let spike = |coordinates: usize, top: f64| {
        let mut vector = vec![0.0; coordinates];
        vector[coordinates / 2] = top;
        vector
    };
    all.extend([
        envelope(&[spike(1, 1.0)]),
        envelope(&[spike(1000, 5.0)]),
        envelope(&[vec![1e-3; 10_000]]),
        // Negative zeros, subnormal numbers, and neighbours 90 orders of magnitude apart.
        envelope(&[vec![0.4, -0.0, 5e-324, 1e-310, -0.3, 1e-90]]),
        envelope(&[vec![9e99, 1e-100, 1.0]]),
        envelope(&[vec![2e-100, 1e-320]]),
        // Many distinct entries: spread, from huge to tiny, and in dissimilar vectors.
        envelope(&[(1..800).map(|i| 0.3 / f64::from(i).sqrt()).collect()]),
        envelope(&[(0..800).map(|i| 0.5f64.powi(i)).collect()]),
        envelope(&[(0..300).map(|i| 1e50 * 0.3f64.powi(i)).collect()]),
        envelope(&[
            (1..300).map(|i| 0.5 / f64::from(i)).collect(),
            (1..300).map(|i| 0.03 - 1e-6 * f64::from(i)).collect(),
            (1..300).map(|i| if i < 5 { 0.4 + 0.01 * f64::from(i) } else { 0.0 }).collect(),
        ]),
    ]);
    all
}

fn custom(points: &[(f64, f64)]) -> NoiseSpec {
    NoiseSpec::Custom { density: CustomDensity::from_points("range", points).unwrap(), scale: 1.0 }
}

fn noises() -> Vec<NoiseSpec> {
    let scale = 1.0;
    let mut all = vec![
        NoiseSpec::Gaussian { sigma: 1.0 },
        NoiseSpec::Laplace { scale },
        NoiseSpec::Cauchy { scale },
        NoiseSpec::VarianceGamma { scale },
        NoiseSpec::HyperbolicSecant { scale },
    ];
    all.extend([2.000_001, 3.0, 9.0, 1e5, 1e9].map(|nu| NoiseSpec::StudentT { nu, scale }));
    all.extend(
        [1.0, 1.000_001, 1.5, 2.0, 2.5, 8.0, 100.0].map(|exponent| NoiseSpec::GeneralizedGaussian { exponent, scale }),
    );
    all.extend(
        ["exp(-abs(x)^1.3)", "1/(1+x^4)", "sech(x)^3", "exp(-sqrt(1+100*x^2))"]
            .map(|formula| NoiseSpec::Custom { density: CustomDensity::from_formula(formula).unwrap(), scale }),
    );
    all.extend([
        custom(&[(0.0, 1.0), (1.0, 0.5)]),
        // As steep as f64 can express, a box, a narrow peak on a wide base, and a fine table.
        custom(&[(0.0, f64::MAX), (1.0, f64::MIN_POSITIVE)]),
        custom(&[(0.0, 1.0), (1.0, 1.0 - 1e-9), (1.000_001, 1e-4), (3.0, 1e-9)]),
        custom(&[(0.0, 1.0), (1e-9, 1e-3), (5.0, 1e-3), (50.0, 1e-12)]),
        custom(&(0..600).map(|i| 0.02 * f64::from(i)).map(|x| (x, (-x).exp() / (1.0 + x))).collect::<Vec<_>>()),
    ]);
    all
}

/// Number of points tested: 20, or the environment variable `HUSHGRAD_PLACES`.
fn wanted() -> usize {
    std::env::var("HUSHGRAD_PLACES").map_or(20, |text| text.parse().expect("HUSHGRAD_PLACES is a number of places"))
}

/// Points spread over a grid of `points`; neighbours differ in everything.
fn places(points: usize, wanted: usize) -> impl Iterator<Item = usize> {
    // A step near the grid's golden section meets each axis evenly.
    let step = (points as f64 * 0.618_033_988_749_895) as usize | 1;
    (0..wanted).map(move |i| i * step % points)
}

fn pick<'a, T>(items: &'a [T], place: &mut usize) -> &'a T {
    let item = &items[*place % items.len()];
    *place /= items.len();
    item
}

/// A release somewhere on the grid.
struct Grid {
    samplings: Vec<Sampling>,
    sensitivities: Vec<Sensitivity>,
    noises: Vec<NoiseSpec>,
}

const SCALES: [f64; 6] = [1.0, 1e-3, 1e3, 0.1, 1e-100, 1e100];
// A user's vector costs what a micro-batch's does (`tests/users.rs`).
const UNITS: [PrivacyUnit; 3] = [PrivacyUnit::Example, PrivacyUnit::ExampleInMicroBatch, PrivacyUnit::MicroBatch];

impl Grid {
    fn new() -> Self {
        Self { samplings: samplings(), sensitivities: sensitivities(), noises: noises() }
    }

    /// Epochs with secret batches.
    fn allocated() -> Self {
        let samplings = [2, 10, 1000, u64::from(u32::MAX)].map(|batches| Sampling::RandomAllocation { batches });
        Self { samplings: samplings.to_vec(), ..Self::new() }
    }

    fn points(&self) -> usize {
        self.samplings.len() * self.sensitivities.len() * self.noises.len() * SCALES.len() * UNITS.len()
    }

    fn release(&self, mut place: usize) -> Release {
        let noise = pick(&self.noises, &mut place).with_scale(*pick(&SCALES, &mut place));
        let unit = *pick(&UNITS, &mut place);
        let sampling = *pick(&self.samplings, &mut place);
        let sensitivity = pick(&self.sensitivities, &mut place).clone();
        Release { unit, ..Release::new(sampling, sensitivity, Some(noise)) }
    }
}

fn name(release: &Release) -> String {
    format!("{:?}, {:?}, {:?}, {:?}", release.sampling, release.unit, release.noise, release.sensitivity)
        .chars()
        .take(400)
        .collect()
}

/// ε by Rényi accounting, infinite without a finite bound.
fn renyi(curve: &RdpCurve, steps: u64, delta: f64, name: &str) -> f64 {
    let mut accountant = RdpAccountant::new();
    let id = accountant.add_curve(curve.clone()).unwrap();
    accountant.compose(id, steps);
    match accountant.epsilon(delta) {
        Ok(epsilon) => {
            let (classic, improved) = (epsilon.classic.epsilon, epsilon.improved.epsilon);
            assert!(improved >= 0.0 && improved <= classic * (1.0 + 1e-9), "{name} {steps} {delta}: {epsilon:?}");
            improved
        }
        Err(PrivacyError::Infinite) => f64::INFINITY,
        Err(error) => panic!("{name} {steps} {delta}: {error}"),
    }
}

/// A release's price is never less for more steps or a smaller δ; tight is never above Rényi.
fn check(release: &Release) {
    let name = name(release);
    let curve = RdpCurve::of(release).unwrap();
    assert!(curve.integer_orders().iter().all(|bound| *bound >= 0.0), "{name}");
    for order in [1.0, 1.5, 2.0, 3.7, 256.0, 257.0, 1e4, 1e6, f64::NAN, f64::INFINITY] {
        assert!(curve.at(order).is_none_or(|bound| bound >= 0.0), "{name}: order {order}");
    }
    let step = match Pld::for_release(release) {
        Ok(step) => Some(step),
        Err(PrivacyError::Unpriced(_)) => None,
        // With this noise, an envelope may take too long under any sampling.
        Err(PrivacyError::TooMuchWork { .. }) if matches!(release.sensitivity, Sensitivity::Envelope { .. }) => None,
        Err(error) => panic!("{name}: {error}"),
    };
    let mut fewer = vec![(0.0, 0.0); DELTAS.len()];
    for steps in STEPS {
        let mut larger_delta = (0.0, 0.0);
        for (&delta, fewer) in DELTAS.iter().zip(&mut fewer) {
            let improved = renyi(&curve, steps, delta, &name);
            let tight = step.as_ref().map(|step| step.compose(steps).epsilon(delta).unwrap().value);
            let said = (improved, tight.unwrap_or(0.0));
            assert!(said.1 >= 0.0 && said.1 <= improved, "{name} {steps} {delta}: {said:?}");
            for (least, what) in [(*fewer, "steps"), (larger_delta, "δ")] {
                let kept = said.0 >= least.0 * (1.0 - 1e-9) - 1e-12 && said.1 >= least.1 * (1.0 - 2e-3) - 1e-9;
                assert!(kept, "{name} {steps} {delta}: {said:?} after {least:?}, by {what}");
            }
            (*fewer, larger_delta) = (said, said);
        }
    }
    assert_eq!(renyi(&curve, 0, 1e-5, &name), 0.0, "{name}");
}

#[test]
fn every_release_has_a_price_or_a_reason() {
    for grid in [Grid::allocated(), Grid::new()] {
        places(grid.points(), wanted()).for_each(|place| check(&grid.release(place)));
    }
}

#[test]
fn every_calibration_has_an_answer_or_a_reason() {
    calibrations(&Grid::new());
    calibrations(&Grid::allocated());
}

fn calibrations(grid: &Grid) {
    // Next to the previous test's points.
    for place in places(grid.points(), wanted() / 4) {
        let release = &grid.release(place + 1);
        let name = name(release);
        for (epsilon, delta, method) in [(1.0, 1e-5, Method::Improved), (1e-6, 1e-300, Method::Classic)] {
            let target = Target { epsilon, delta, method, orders: Orders::Integers };
            let kept = |at: f64, value: f64| at <= epsilon && at >= 0.0 && value >= 0.0 && value.is_finite();
            let sound = |found: Result<Calibrated<f64>, PrivacyError>| match found {
                Ok(found) => assert!(kept(found.epsilon, found.value), "{name}, ε = {epsilon}: {found:?}"),
                Err(PrivacyError::Calibration(_) | PrivacyError::Noise(_)) => {}
                Err(error) => panic!("{name}, ε = {epsilon}: {error}"),
            };
            sound(calibrate::noise_scale(release, 1000, &target));
            sound(calibrate::rate(release, 1000, &target));
            sound(
                calibrate::steps(release, &target)
                    .map(|found| Calibrated { value: found.value as f64, epsilon: found.epsilon }),
            );
        }
    }
}

#[test]
fn impossible_questions_are_refused() {
    let release = Grid::new().release(0);
    let curve = RdpCurve::of(&release).unwrap();
    let mut accountant = RdpAccountant::new();
    let id = accountant.add_curve(curve).unwrap();
    accountant.compose(id, 10);
    let pld = Pld::for_release(&release).unwrap();
    for delta in [0.0, -1e-5, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for refused in [accountant.epsilon(delta).err(), pld.epsilon(delta).err()] {
            assert!(matches!(refused, Some(PrivacyError::Parameter { field: "delta", .. })), "{delta}: {refused:?}");
        }
        let target = Target { epsilon: 1.0, delta, method: Method::Improved, orders: Orders::All };
        assert!(calibrate::noise_scale(&release, 1, &target).is_err());
    }
    for epsilon in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        assert!(pld.delta(epsilon).is_err());
    }
    assert!(pld.delta(f64::INFINITY).is_ok_and(|delta| delta.value <= 1e-6));
    let not_finite = |vector, entry| EnvelopeError::NotFinite { vector, entry };
    let uneven = EnvelopeError::Uneven { vector: 1, coordinates: 2, expected: 1 };
    for (vectors, why) in [
        (vec![], EnvelopeError::NoVector),
        (vec![vec![]], EnvelopeError::NoCoordinates),
        (vec![vec![1.0], vec![1.0, 2.0]], uneven),
        (vec![vec![0.0, -0.0]], EnvelopeError::Zero),
        (vec![vec![5e-324]], EnvelopeError::Zero),
        (vec![vec![1e100]], not_finite(0, 0)),
        (vec![vec![1.0, 1.0], vec![1.0, f64::NAN]], not_finite(1, 1)),
    ] {
        let vectors: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
        assert_eq!(EnvelopeProfile::from_vectors_f64(vectors), Err(PrivacyError::Envelope(why)));
    }
}
