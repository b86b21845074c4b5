//! Properties of encoders, noise and denoisers, on every input that proptest finds.

use std::sync::Arc;

use hushgrad::accounting::noise::NoiseSpec;
use hushgrad::mechanism::{
    Algorithm, Denoiser, Encoder, EncoderSpec, EnvelopeShape, State,
    denoise::{self, Distance, Planes},
    encode::{bucket, bucket_bounds, first_bucket, histogram},
    envelope::Envelope,
    noise::{add_noise, noise_at},
};
use proptest::prelude::*;

const KEY: [u32; 8] = [0x0123, 0x4567, 0x89ab, 0xcdef, 0x1032, 0x5476, 0x98ba, 0xdcfe];

/// Finite f32 of moderate size, the ends of the range, and values that many coordinates share.
fn entry() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => (-20.0_f32..3.0, any::<bool>()).prop_map(|(e, negative)| if negative { -e.exp2() } else { e.exp2() }),
        2 => prop_oneof![Just(0.0_f32), Just(-0.0), Just(0.25), Just(-0.25), Just(0.25_f32.next_up())],
        1 => -f32::MIN_POSITIVE..f32::MIN_POSITIVE,
        1 => prop_oneof![Just(1e15_f32), Just(-1e18), Just(f32::from_bits(1)), Just(3.999_999_8), Just(4.0)],
    ]
}

fn gradient() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(entry(), 1..300)
}

fn shape() -> impl Strategy<Value = EnvelopeShape> {
    prop_oneof![
        Just(EnvelopeShape::Gaussian),
        Just(EnvelopeShape::HeavyTailed),
        Just(EnvelopeShape::Sparse),
        Just(EnvelopeShape::Mixed),
    ]
}

fn norm(values: impl IntoIterator<Item = f32>) -> f64 {
    values.into_iter().map(|v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}

fn sorted_magnitudes(values: &[f32]) -> Vec<f32> {
    let mut magnitudes: Vec<f32> = values.iter().map(|v| v.abs()).collect();
    magnitudes.sort_unstable_by(|a, b| b.total_cmp(a));
    magnitudes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The premise of the guarantee: some permutation of one ψ bounds the encoded gradient, in f32,
    /// exactly. (If any permutation does, the sorted one does.)
    #[test]
    fn encoded_gradients_are_inside_the_envelope(
        gradient in gradient(), shape in shape(), n in 1_u32..6, seed in 0_u64..4, pre_scale in 0.01_f64..100.0,
    ) {
        let envelope = Arc::new(Envelope::draw(shape, n, gradient.len(), seed).unwrap());
        let spec = EncoderSpec::Envelope { shape, vectors: n, pre_scale, seed };
        let encoder = Encoder::with_envelope(&spec, Arc::clone(&envelope), gradient.len()).unwrap();
        let mut encoded = gradient.clone();
        prop_assert!(encoder.encode(&mut encoded));
        let magnitudes = sorted_magnitudes(&encoded);
        let inside = |i: usize| magnitudes.iter().zip(envelope.vector(i)).all(|(m, bound)| m <= bound);
        prop_assert!((0..n as usize).any(inside));
        for (&e, &g) in encoded.iter().zip(&gradient) {
            let h = pre_scale as f32 * g;
            prop_assert!(e.abs() <= h.abs() && (e == 0.0 || e.signum() == h.signum()));
        }
    }

    /// A gradient inside the ball, by clipping's margin, is unchanged.
    #[test]
    fn gradients_inside_the_ball_are_unchanged(gradient in prop::collection::vec(-1e3_f32..1e3, 1..300)) {
        let norm = norm(gradient.iter().copied()) * (1.0 + 1.0 / 8192.0) + 1e-9;
        let encoder = Encoder::new(&EncoderSpec::Clip { norm }, gradient.len()).unwrap();
        let mut clipped = gradient.clone();
        prop_assert!(encoder.encode(&mut clipped));
        prop_assert_eq!(&clipped, &gradient);
    }

    /// ‖clip(g)‖ ≤ C, and no shorter than C(1 − 2^−13) where ‖g‖ > C.
    #[test]
    fn clipped_gradients_are_inside_the_ball(gradient in gradient(), bound in prop_oneof![Just(1.0), 1e-9_f64..1e3, Just(1e9)]) {
        let length = norm(gradient.iter().copied());
        let mut clipped = gradient.clone();
        let encoder = Encoder::new(&EncoderSpec::Clip { norm: bound }, gradient.len()).unwrap();
        prop_assert!(encoder.encode(&mut clipped));
        let clipped_length = norm(clipped.iter().copied());
        prop_assert!(clipped_length <= bound, "{} > {}", clipped_length, bound);
        if length > bound {
            prop_assert!(clipped_length >= bound * (1.0 - 1.0 / 8192.0), "{} < {}", clipped_length, bound);
        }
    }

    /// A bucketed rank is off by less than the number of coordinates within a factor 1 + 2^−9 of
    /// the magnitude, and never gives a coordinate a larger bound than a full sort allows.
    #[test]
    fn bucketed_ranks_are_near_sorted_ranks(gradient in prop::collection::vec(-3.9_f32..3.9, 1..300)) {
        let p = gradient.len();
        // A ψ that shows which rank was used.
        let psi: Vec<f32> = (0..p).map(|rank| (p - rank) as f32).collect();
        let bounds = bucket_bounds(&histogram(&gradient, first_bucket(1.0)), &psi);
        let magnitudes = sorted_magnitudes(&gradient);
        for g in &gradient {
            let m = g.abs();
            prop_assume!(m > 2f32.powi(-30));
            let used = p - bounds[bucket(m, first_bucket(1.0))] as usize;
            // Ranks that a sort may give to this magnitude: several if others equal it.
            let first = magnitudes.partition_point(|&other| other > m);
            let last = magnitudes.partition_point(|&other| other >= m) - 1;
            let factor = 1.0 + 1.0 / 512.0;
            let near = magnitudes.iter().filter(|&&other| other * factor > m && other < m * factor).count();
            prop_assert!(used >= last && used - first < near, "{} uses rank {}, sorted {}..={}, near {}", m, used, first, last, near);
        }
    }

    /// One broken coordinate makes its example zero.
    #[test]
    fn broken_gradients_become_zero(
        gradient in gradient(), at in any::<prop::sample::Index>(),
        broken in prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), Just(1e30_f32), Just(f32::MAX)],
    ) {
        let p = gradient.len();
        let envelope = EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 2, pre_scale: 1.0, seed: 0 };
        for spec in [EncoderSpec::None, EncoderSpec::Clip { norm: 1.0 }, envelope] {
            let mut encoded = gradient.clone();
            encoded[at.index(p)] = broken;
            prop_assert!(!Encoder::new(&spec, p).unwrap().encode(&mut encoded));
            prop_assert!(encoded.iter().all(|&e| e == 0.0));
        }
    }

    /// Compares with the definition: at each value, counts of values below and not above it.
    #[test]
    fn kolmogorov_smirnov_is_its_definition(values in prop::collection::vec(prop_oneof![-3.0_f32..3.0, Just(0.5), Just(-0.5)], 1..200)) {
        let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
        let n = values.len() as f64;
        let slow = values.iter().map(|&x| {
            let share = |matches: &dyn Fn(f32) -> bool| values.iter().filter(|&&v| matches(v)).count() as f64 / n;
            let f = logistic(f64::from(x));
            (share(&|v| v <= x) - f).abs().max((share(&|v| v < x) - f).abs())
        }).fold(0.0, f64::max);
        let fast = Distance::KolmogorovSmirnov.of(&values, logistic);
        prop_assert!((slow - fast).abs() < 1e-14, "{} by definition, {}", slow, fast);
    }

    /// Adding one example moves the encoded sum by at most the accounted sensitivity.
    #[test]
    fn one_example_moves_the_sum_by_at_most_its_bound(
        gradients in prop::collection::vec(prop::collection::vec(prop_oneof![entry(), Just(f32::NAN)], 40), 1..12),
        removed in any::<prop::sample::Index>(), clip in any::<bool>(),
    ) {
        let (spec, bound) = if clip {
            (EncoderSpec::Clip { norm: 0.5 }, 0.5)
        } else {
            (EncoderSpec::Envelope { shape: EnvelopeShape::Mixed, vectors: 3, pre_scale: 2.0, seed: 1 }, 1.0)
        };
        let algorithm = Algorithm::new(Encoder::new(&spec, 40).unwrap(), None, Denoiser::None, 4.0, 0.0).unwrap();
        let sum = |lot: &[u32]| {
            let mut state = State::start(vec![0.0; 40], false);
            let gradient = |i: u32, _: &[f32], out: &mut [f32]| out.copy_from_slice(&gradients[i as usize]);
            algorithm.step(&mut state, lot, gradient, &KEY, 1.0, 0.0).encoded
        };
        let all: Vec<u32> = (0..gradients.len() as u32).collect();
        let mut others = all.clone();
        others.remove(removed.index(all.len()));
        let difference = norm(sum(&all).iter().zip(sum(&others)).map(|(a, b)| a - b));
        // The trace rounds sums of up to 12 entries of up to 1 to f32.
        prop_assert!(difference <= bound + 40_f64.sqrt() * 12.0 * f64::from(f32::EPSILON), "{} > {}", difference, bound);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// With noise this is exact: neighbours' sums differ by what one example alone adds, which is
    /// inside its bound.
    #[test]
    fn with_noise_one_example_moves_the_sum_by_its_encoded_gradient(
        gradients in prop::collection::vec(prop::collection::vec(prop_oneof![entry(), Just(f32::NAN)], 40), 1..12),
        removed in any::<prop::sample::Index>(), clip in prop_oneof![Just(None), (0.01_f64..3.0).prop_map(Some)],
    ) {
        let spec = match clip {
            Some(norm) => EncoderSpec::Clip { norm },
            None => EncoderSpec::Envelope { shape: EnvelopeShape::Mixed, vectors: 3, pre_scale: 2.0, seed: 1 },
        };
        let noise = NoiseSpec::Gaussian { sigma: 1.0 };
        let algorithm = Algorithm::new(Encoder::new(&spec, 40).unwrap(), Some(&noise), Denoiser::None, 4.0, 0.0).unwrap();
        let sum = |lot: &[u32]| {
            let mut state = State::start(vec![0.0; 40], false);
            let gradient = |i: u32, _: &[f32], out: &mut [f32]| out.copy_from_slice(&gradients[i as usize]);
            algorithm.step(&mut state, lot, gradient, &KEY, 1.0, 0.0).encoded
        };
        let all: Vec<u32> = (0..gradients.len() as u32).collect();
        let mut others = all.clone();
        let removed = others.remove(removed.index(all.len()));
        let alone = sum(&[removed]);
        // Sums of a few examples are multiples of a step that f32 represents.
        let difference: Vec<f32> = sum(&all).iter().zip(sum(&others)).map(|(a, b)| a - b).collect();
        prop_assert_eq!(&difference, &alone);
        prop_assert!(norm(alone.iter().copied()) <= clip.unwrap_or(1.0));
        if clip.is_none() {
            let envelope = Envelope::draw(EnvelopeShape::Mixed, 3, 40, 1).unwrap();
            let magnitudes = sorted_magnitudes(&alone);
            let inside = |i: usize| magnitudes.iter().zip(envelope.vector(i)).all(|(m, bound)| m <= bound);
            prop_assert!((0..3).any(inside));
        }
    }
}

/// Cubes of normals, about as uneven as a CNN's gradient: the encoded gradient is nearly the same
/// by buckets and by a full sort.
#[test]
fn buckets_hardly_change_a_large_gradient() {
    let p = 26_010;
    let normal = NoiseSpec::Gaussian { sigma: 1.0 }.build().unwrap();
    let gradient: Vec<f32> = (0..p).map(|i| noise_at(&KEY, i, &*normal).powi(3) as f32 * 0.004).collect();
    let envelope = Envelope::draw(EnvelopeShape::Gaussian, 1, p as usize, 0).unwrap();
    let mut order: Vec<usize> = (0..gradient.len()).collect();
    order.sort_by(|&a, &b| gradient[b].abs().total_cmp(&gradient[a].abs()));
    let mut sorted = vec![0.0; gradient.len()];
    for (&i, &bound) in order.iter().zip(envelope.vector(0)) {
        sorted[i] = gradient[i].clamp(-bound, bound);
    }
    let mut encoded = gradient;
    let encoder = Encoder::Envelope { envelope: Arc::new(envelope), pre_scale: 1.0 };
    assert!(encoder.encode(&mut encoded));
    let difference = norm(encoded.iter().zip(&sorted).map(|(a, b)| a - b)) / norm(sorted.iter().copied());
    println!("relative difference of bucketed and sorted encoding: {difference:.2e}");
    assert!(difference < 2e-3);
}

/// Each family, at scales other than 1.
fn families() -> Vec<NoiseSpec> {
    vec![
        NoiseSpec::Gaussian { sigma: 1.1 },
        NoiseSpec::StudentT { nu: 9.0, scale: 1.2 },
        NoiseSpec::StudentT { nu: 2.1, scale: 0.3 },
        NoiseSpec::Laplace { scale: 0.8 },
        NoiseSpec::Cauchy { scale: 0.7 },
        NoiseSpec::VarianceGamma { scale: 0.6 },
        NoiseSpec::HyperbolicSecant { scale: 1.3 },
        NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 0.9 },
        NoiseSpec::GeneralizedGaussian { exponent: 6.0, scale: 2.0 },
    ]
}

/// P(X ≤ x) from textbooks and statrs, independent of the code under test.
fn distribution_function(spec: &NoiseSpec, x: f64) -> f64 {
    use core::f64::consts::PI;
    use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
    let symmetric = |upper_tail: f64| if x < 0.0 { upper_tail } else { 1.0 - upper_tail };
    let m = x.abs();
    match *spec {
        NoiseSpec::Gaussian { sigma } => Normal::new(0.0, sigma).expect("a positive σ").cdf(x),
        NoiseSpec::StudentT { nu, scale } => StudentsT::new(0.0, scale, nu).expect("positive parameters").cdf(x),
        NoiseSpec::Laplace { scale } => symmetric(0.5 * (-m / scale).exp()),
        NoiseSpec::Cauchy { scale } => 0.5 + (x / scale).atan() / PI,
        // ∫ of (1 + t)e^{−t}/4 from m/c.
        NoiseSpec::VarianceGamma { scale } => symmetric(0.25 * (2.0 + m / scale) * (-m / scale).exp()),
        NoiseSpec::HyperbolicSecant { scale } => 2.0 / PI * (PI * x / (2.0 * scale)).exp().atan(),
        NoiseSpec::GeneralizedGaussian { exponent, scale } if m > 0.0 => {
            symmetric(0.5 * statrs::function::gamma::gamma_ur(1.0 / exponent, (m / scale).powf(exponent)))
        }
        // The middle of the generalised Gaussian.
        _ => 0.5,
    }
}

/// Two-sided KS tests with 100,000 draws each, at a false-alarm rate of 1e-6 per family (Massart's
/// constant: √(ln(2/1e-6)/2)).
#[test]
fn noise_follows_its_distribution() {
    const DRAWS: usize = 100_000;
    let threshold = (2e6_f64.ln() / 2.0).sqrt() / (DRAWS as f64).sqrt();
    for (n, spec) in (0..).zip(families()) {
        let noise = spec.build().unwrap();
        let mut draws = vec![0.0; DRAWS];
        let mut key = KEY;
        key[0] = n;
        add_noise(&key, &*noise, &vec![0.0; DRAWS], &mut draws);
        let distance = Distance::KolmogorovSmirnov.of(&draws, |x| distribution_function(&spec, x));
        println!("{spec:?}: KS distance {distance:.5}, threshold {threshold:.5}");
        assert!(distance < threshold, "{spec:?}: {distance}");
        // KS says little about tails: counts beyond up to one in a thousand on either side must be
        // within 5 standard deviations.
        for tail in [0.0005, 0.001] {
            let edge = noise.survival_quantile(tail);
            let expected = tail * DRAWS as f64;
            for side in [-1.0, 1.0] {
                let beyond = draws.iter().filter(|&&z| side * f64::from(z) > edge).count() as f64;
                assert!((beyond - expected).abs() < 5.0 * expected.sqrt(), "{spec:?}: {beyond} beyond {}", side * edge);
            }
        }
    }
}

/// The denoiser and the accountant use the textbooks' distribution.
#[test]
fn distribution_functions_agree() {
    for spec in families() {
        let noise = spec.build().unwrap();
        for i in -400..=400 {
            let x = f64::from(i) * 0.05;
            let (ours, textbook) = (noise.cdf(x), distribution_function(&spec, x));
            assert!((ours - textbook).abs() < 1e-10, "{spec:?} at {x}: {ours} against {textbook}");
        }
    }
}

/// The engines' contract, to the letter: which words give which draw.
#[test]
fn draws_follow_the_contract() {
    use core::f64::consts::{PI, TAU};
    let contract = |spec: &NoiseSpec, [w0, w1, w2, w3]: [u32; 4]| {
        let u1 = ((f64::from(w0) * 2f64.powi(32) + f64::from(w1)) + 0.5) * 2f64.powi(-64);
        let u2 = (f64::from(w2) + 0.5) * 2f64.powi(-32);
        // In f64 an angle uses both words; in f32, engines may omit what they cannot represent.
        let angle = TAU * (((f64::from(w2) * 2f64.powi(32) + f64::from(w3)) + 0.5) * 2f64.powi(-64));
        let sign = |word: u32, bit: u32| if word >> bit & 1 == 1 { -1.0 } else { 1.0 };
        match *spec {
            NoiseSpec::Gaussian { sigma } => sigma * (-2.0 * u1.ln()).sqrt() * angle.cos(),
            NoiseSpec::StudentT { nu, scale } => scale * (nu * (u1.powf(-2.0 / nu) - 1.0)).sqrt() * angle.cos(),
            NoiseSpec::Laplace { scale } => sign(w2, 31) * -scale * u1.ln(),
            NoiseSpec::Cauchy { scale } => sign(w2, 31) * scale / (PI * u1 / 2.0).tan(),
            NoiseSpec::HyperbolicSecant { scale } => sign(w2, 31) * -(2.0 * scale / PI) * (PI * u1 / 4.0).tan().ln(),
            NoiseSpec::VarianceGamma { scale } => -scale * (sign(w3, 31) * u1.ln() + sign(w3, 30) * u2.ln()),
            _ => {
                let NoiseSpec::GeneralizedGaussian { exponent, scale } = *spec else {
                    panic!("the contract's words for {spec:?} are not written here");
                };
                // u1 is the probability of a larger magnitude, inverted by bisection.
                let (mut low, mut high) = (0.0, 64.0);
                for _ in 0..200 {
                    let middle = f64::midpoint(low, high);
                    let larger = statrs::function::gamma::gamma_ur(1.0 / exponent, middle);
                    if larger > u1 { low = middle } else { high = middle }
                }
                sign(w2, 31) * scale * f64::powf(high, 1.0 / exponent)
            }
        }
    };
    for spec in families() {
        let noise = spec.build().unwrap();
        for i in 0..200 {
            let words = hushgrad::mechanism::noise::words_at(&KEY, i);
            let (ours, theirs) = (noise.draw(words), contract(&spec, words));
            assert!(
                (ours - theirs).abs() < 1e-9 * (theirs.abs() + 1e-3),
                "{spec:?} {words:?}: {ours} against {theirs}"
            );
        }
    }
}

/// The ends of the words' range, where logarithms and tangents break first.
#[test]
fn extreme_words_make_finite_noise() {
    for spec in families() {
        let noise = spec.build().unwrap();
        for bits in 0..16_u32 {
            let words = core::array::from_fn(|w| if bits >> w & 1 == 1 { u32::MAX } else { 0 });
            assert!(noise.draw(words).is_finite(), "{spec:?} {words:?}");
        }
    }
}

#[test]
fn an_empty_lot_releases_noise_alone() {
    let spec = NoiseSpec::Gaussian { sigma: 2.0 };
    let encoder = Encoder::new(&EncoderSpec::Clip { norm: 1.0 }, 100).unwrap();
    let algorithm = Algorithm::new(encoder, Some(&spec), Denoiser::KolmogorovSmirnov, 10.0, 0.5).unwrap();
    let mut state = State { momentum: vec![0.5; 100], ..State::start(vec![0.25; 100], true) };
    let trace = algorithm.step(&mut state, &[], |_, _, _| unreachable!("no examples"), &KEY, 0.1, 0.75);
    let noise = spec.build().unwrap();
    assert_eq!((&trace.raw, &trace.encoded), (&vec![0.0; 100], &vec![0.0; 100]));
    for i in 0..100 {
        let z = noise_at(&KEY, i as u32, &*noise) as f32;
        assert_eq!(trace.noisy[i], z);
        assert_eq!(trace.denoised[i], (trace.denoise_factor * f64::from(z)) as f32);
        let momentum = 0.5 * 0.5 + trace.denoised[i] / 10.0;
        assert_eq!((state.momentum[i], state.parameters[i]), (momentum, 0.25 - 0.1 * momentum));
        // Three quarters of the old mean.
        let average = 0.75 * 0.25 + 0.25 * state.parameters[i];
        assert!((state.read_with()[i] - average).abs() < 1e-7, "{} {average}", state.read_with()[i]);
    }
    assert!(trace.denoise_factor > 0.0 && trace.denoise_factor < 0.28);
}

#[test]
fn a_broken_example_is_as_good_as_absent() {
    let gradients = [[3.0, -4.0], [f32::NAN, 1.0], [0.3, 0.1]];
    let encoder = Encoder::new(&EncoderSpec::Clip { norm: 1.0 }, 2).unwrap();
    let algorithm =
        Algorithm::new(encoder, Some(&NoiseSpec::Laplace { scale: 1.0 }), Denoiser::None, 2.0, 0.0).unwrap();
    let run = |lot: &[u32]| {
        let mut state = State::start(vec![0.0; 2], true);
        let gradient = |i: u32, _: &[f32], out: &mut [f32]| out.copy_from_slice(&gradients[i as usize]);
        let trace = algorithm.step(&mut state, lot, gradient, &KEY, 1.0, 0.5);
        (trace.non_finite, trace.noisy, state)
    };
    let (with, without) = (run(&[0, 1, 2]), run(&[0, 2]));
    assert_eq!((with.0, without.0), (1, 0));
    assert_eq!((with.1, with.2), (without.1, without.2));
}

#[test]
fn a_denoiser_without_noise_is_refused() {
    assert!(Algorithm::new(Encoder::None, None, Denoiser::KolmogorovSmirnov, 1.0, 0.0).is_err());
    let bad = NoiseSpec::Gaussian { sigma: -1.0 };
    assert!(Algorithm::new(Encoder::None, Some(&bad), Denoiser::None, 1.0, 0.0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A denoiser makes a sum no longer, and nothing non-finite; what it does not touch stays.
    #[test]
    fn denoised_sums_are_no_longer(
        values in prop::collection::vec(-1e6_f32..1e6, 70..120), sigma in 1e-3_f64..1e6, strength in 1e-3_f64..1000.0,
    ) {
        let noise = NoiseSpec::Gaussian { sigma };
        let planes = Planes { offset: 2, count: 4, side: 4 };
        for denoiser in [
            Denoiser::KolmogorovSmirnov,
            Denoiser::CramerVonMises,
            Denoiser::Wasserstein,
            Denoiser::JamesStein,
            Denoiser::Linear,
            Denoiser::SoftThreshold,
            Denoiser::LaplacianSmoothing { strength },
        ] {
            let prepared = denoise::prepared(denoiser, Some(&noise), Some(planes), 0.0).unwrap().unwrap();
            let mut denoised = values.clone();
            let factor = prepared.denoise(&mut denoised);
            prop_assert!((0.0..=1.0).contains(&factor), "{denoiser:?}: {factor}");
            prop_assert!(denoised.iter().all(|v| v.is_finite()), "{denoiser:?}");
            let (before, after) = (norm(values.iter().copied()), norm(denoised.iter().copied()));
            prop_assert!(after <= before * (1.0 + 1e-5), "{denoiser:?}: {before}, then {after}");
            if denoiser.is_factor() {
                let scaled = |(a, b): (&f32, &f32)| (f64::from(*a) - factor * f64::from(*b)).abs() <= 1e-6 * f64::from(b.abs());
                prop_assert!(denoised.iter().zip(&values).all(scaled), "{denoiser:?}");
            } else {
                prop_assert_eq!(factor, 1.0);
            }
            if let Denoiser::LaplacianSmoothing { .. } = denoiser {
                prop_assert_eq!(&denoised[..2], &values[..2]);
                prop_assert_eq!(&denoised[66..], &values[66..]);
                for (plane, was) in denoised[2..66].chunks(16).zip(values[2..66].chunks(16)) {
                    let mean = |of: &[f32]| of.iter().map(|&v| f64::from(v)).sum::<f64>() / 16.0;
                    prop_assert!((mean(plane) - mean(was)).abs() < 1.0, "smoothing keeps a plane's mean");
                }
            }
        }
    }
}

/// DiSK with one gradient: it is taken at θ + γ(θ − θ before), and θ is read.
#[test]
fn a_kalman_filter_takes_gradients_ahead_of_the_parameters() {
    let (gain, rate) = (0.25_f64, 0.1_f64);
    let algorithm = Algorithm::new(Encoder::None, None, Denoiser::Kalman { gain }, 1.0, 0.0).unwrap();
    let mut state = State::start(vec![1.0], true);
    let (mut theta, mut before, mut filtered) = (1.0_f64, 1.0_f64, 0.0_f64);
    for step in 0..20 {
        let ahead = theta + (1.0 - gain) / gain * (theta - before);
        assert!((f64::from(state.parameters[0]) - ahead).abs() < 1e-5, "step {step}");
        // The gradient of θ².
        let gradient = |_: u32, at: &[f32], out: &mut [f32]| out[0] = 2.0 * at[0];
        algorithm.step(&mut state, &[0], gradient, &KEY, rate as f32, 0.75);
        filtered = (1.0 - gain) * filtered + gain * 2.0 * ahead;
        (before, theta) = (theta, theta - rate * filtered);
        assert!((f64::from(state.read_with()[0]) - theta).abs() < 1e-5, "step {step}");
    }
    // A gain of one is no filter.
    let plain = Algorithm::new(Encoder::None, None, Denoiser::None, 1.0, 0.0).unwrap();
    let whole = Algorithm::new(Encoder::None, None, Denoiser::Kalman { gain: 1.0 }, 1.0, 0.0).unwrap();
    let run = |algorithm: &Algorithm| {
        let mut state = State::start(vec![1.0], false);
        for _ in 0..5 {
            algorithm.step(&mut state, &[0], |_, at, out| out[0] = 2.0 * at[0], &KEY, 0.1, 0.0);
        }
        state
    };
    assert_eq!(run(&plain), run(&whole));
}
