//! Property suite for all engines, in any package: each must compute what the reference does.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use hushgrad::{
    accounting::{
        groups::{Clipping, NoiseStrategy},
        noise::{CustomDensity, NoiseSpec},
    },
    data::{Dataset, Shift, sharing::Sharing},
    engine::{
        Engine, EngineError, LocalSteps, Metrics, Performance, Reading, StepInput, StepTrace, Task, Unsupported,
        cpu::CpuEngine,
        reading,
        reference::{ReferenceEngine, pixels},
    },
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape, LayerClip, State, denoise::Distance, envelope::Envelope},
    model::{Architecture, PIXELS, initial_parameters},
};
use pollster::block_on;

pub use hushgrad_testkit::rows;

pub const SEED: u64 = 5;
pub const EXAMPLES: usize = 80;

/// Blots of different size, place and darkness, labelled in turn; example 0 is blank.
pub fn examples() -> Dataset {
    let images = (0..EXAMPLES).flat_map(|example| {
        let e = example as f32;
        let (cy, cx) = (13.0 + 4.0 * (e * 1.7).sin(), 14.0 + 4.0 * (e * 2.3).cos());
        let (h, w) = (12.0 + 9.0 * (e * 0.9).sin(), 14.0 + 11.0 * (e * 1.1).cos());
        (0..PIXELS).map(move |i| {
            let (y, x) = ((i / 28) as f32 - cy, (i % 28) as f32 - cx);
            let ink = (-(y * y / h + x * x / w) / 2.0).exp() * (1.0 + 0.6 * (x * 0.9 + e).sin() * (y * 0.7).cos());
            if example == 0 || ink < 0.05 { 0 } else { (255.0 * ink.min(1.0)) as u8 }
        })
    });
    let labels = (0..EXAMPLES).map(|i| (i % 10) as u8);
    Dataset::new("blots", images.collect::<Vec<_>>(), labels.collect::<Vec<_>>())
}

pub fn encoders() -> Vec<EncoderSpec> {
    let envelope = |shape, vectors, pre_scale| EncoderSpec::Envelope { shape, vectors, pre_scale, seed: 3 };
    vec![
        EncoderSpec::None,
        // Some gradients are longer than the first, all are longer than the second.
        EncoderSpec::Clip { norm: 3.0 },
        EncoderSpec::Clip { norm: 0.1 },
        envelope(EnvelopeShape::Gaussian, 1, 1.0),
        envelope(EnvelopeShape::Sparse, 1, 0.25),
        envelope(EnvelopeShape::Mixed, 7, 1.0),
        layers(Clipping::Separate, NoiseStrategy::Proportional, &[0.4]),
        layers(Clipping::Joint, NoiseStrategy::DimensionAdjusted, &[3.0]),
    ]
}

pub fn layers(clipping: Clipping, strategy: NoiseStrategy, norms: &[f64]) -> EncoderSpec {
    EncoderSpec::Layers(LayerClip { norms: norms.to_vec(), clipping, strategy, ..LayerClip::even(1.0) })
}

/// Two groups, of the first and last layer and of the others, whose noise is larger.
fn grouped(model: Architecture, norms: &[f64]) -> EncoderSpec {
    let layers = model.lengths().len();
    let groups: Vec<u8> = (1..=layers).map(|layer| if layer == 1 || layer == layers { 1 } else { 2 }).collect();
    let count = groups.iter().copied().max().unwrap_or(1).into();
    let norms = if norms.len() == 1 { norms } else { &norms[..count] };
    let noises = vec![1.0, 3.0][..count].to_vec();
    EncoderSpec::Layers(LayerClip { norms: norms.to_vec(), groups, noises, ..LayerClip::even(1.0) })
}

pub fn noises() -> Vec<Option<NoiseSpec>> {
    vec![
        None,
        Some(NoiseSpec::Gaussian { sigma: 0.7 }),
        Some(NoiseSpec::StudentT { nu: 9.0, scale: 0.5 }),
        Some(NoiseSpec::Laplace { scale: 0.4 }),
        Some(NoiseSpec::Cauchy { scale: 0.02 }),
        Some(NoiseSpec::VarianceGamma { scale: 0.3 }),
        Some(NoiseSpec::HyperbolicSecant { scale: 0.6 }),
        Some(NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 0.5 }),
        Some(NoiseSpec::Custom { density: CustomDensity::from_formula("1 / (1 + x^4)").unwrap(), scale: 0.4 }),
    ]
}

pub fn task(model: Architecture, encoder: EncoderSpec, noise: Option<NoiseSpec>) -> Task {
    let envelope = match encoder {
        EncoderSpec::Envelope { shape, vectors, seed, .. } => Some(envelope(shape, vectors, model.parameters(), seed)),
        _ => None,
    };
    Task {
        model,
        encoder,
        envelope,
        noise,
        grid: None,
        bands: 1,
        denoiser: Denoiser::None,
        expected_lot: 4.0,
        momentum: 0.0,
        averaging: false,
        copies: 1,
        sharing: Sharing::Alone,
        local: LocalSteps::MEAN,
        counting: Default::default(),
        canaries: None,
    }
}

/// An envelope, drawn once.
fn envelope(shape: EnvelopeShape, vectors: u32, parameters: usize, seed: u64) -> Arc<Envelope> {
    type Drawn = ((EnvelopeShape, u32, usize, u64), Arc<Envelope>);
    static DRAWN: Mutex<Vec<Drawn>> = Mutex::new(Vec::new());
    let key = (shape, vectors, parameters, seed);
    let mut drawn = DRAWN.lock().unwrap();
    if let Some((_, envelope)) = drawn.iter().find(|(known, _)| *known == key) {
        return Arc::clone(envelope);
    }
    let envelope = Arc::new(Envelope::draw(shape, vectors, parameters, seed).unwrap());
    drawn.push((key, Arc::clone(&envelope)));
    envelope
}

pub fn clip(model: Architecture) -> Task {
    task(model, EncoderSpec::Clip { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 0.1 }))
}

pub fn input(lot: &[u32], step: u32) -> StepInput<'_> {
    StepInput { average_keeps: 0.75, ..StepInput::alone(lot, [step, 2, 3, 4, 5, 6, 7, 8], 0.25) }
}

/// All intermediate sums of a step agree, up to f32.
pub fn assert_same_trace(what: &str, ours: &StepTrace, theirs: &StepTrace) {
    for (name, ours, theirs) in [
        ("raw", &ours.raw, &theirs.raw),
        ("encoded", &ours.encoded, &theirs.encoded),
        ("noisy", &ours.noisy, &theirs.noisy),
        ("denoised", &ours.denoised, &theirs.denoised),
    ] {
        let difference = relative_difference(ours, theirs);
        assert!(difference < 2e-4, "{what}, {name}: {difference:.2e}");
    }
}

/// ‖a − b‖/‖b‖; 0 for equal vectors, also of zeros.
pub fn relative_difference(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let difference = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    if difference == 0.0 { 0.0 } else { difference / norm(&mut b.iter().map(|&b| f64::from(b))) }
}

/// Sums of clipped gradients that must be exact are whole steps of the task's grid, in both
/// engines. Over `examples` examples they differ by whole steps, and only where an f32 gradient is
/// so near the middle of two steps that it is rounded to the other: at less than one coordinate in
/// 10,000, in 2,500 if small layers have their own bound and so coordinates of more steps, or in 33
/// if examples share a vector. (A sum not rounded, or rounded after summation, is off at nearly
/// all.)
pub fn assert_same_steps(task: &Task, ours: &[f32], theirs: &[f32], examples: usize) {
    let Some(grid) = task.sum_grid().filter(|_| task.encoder.clips()) else { return };
    let what = format!("{:?}, {:?}", task.model, task.encoder);
    let steps = |values: &[f32]| -> Vec<f64> {
        values
            .iter()
            .map(|&v| f64::from(v) / f64::from(grid.step()))
            .inspect(|v| assert!(v.fract() == 0.0, "{what}: {v} steps"))
            .collect()
    };
    let mut pairs: Vec<_> = steps(ours).into_iter().zip(steps(theirs)).collect();
    // Weights of equal inputs have equal gradients, rounded alike: they count once.
    pairs.dedup();
    let apart: f64 = pairs.iter().map(|(a, b)| (a - b).abs()).sum();
    let share = match task.encoder {
        EncoderSpec::Layers(_) => 4e-4,
        // A vector that sums several gradients in f32 is not exact in its last digits.
        _ if task.sharing.is_shared() => 0.03,
        _ => 1e-4,
    };
    let most = share * (examples * ours.len()) as f64;
    assert!(apart <= most, "{what}: {apart} steps apart, of at most {most}");
}

pub fn minus(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

pub fn parameters(engine: &mut impl Engine) -> Vec<f32> {
    block_on(engine.state()).unwrap().parameters
}

pub fn metrics(engine: &mut impl Engine) -> Metrics {
    block_on(engine.metrics()).unwrap()
}

pub fn step(engine: &mut impl Engine, lot: &[u32], number: u32) {
    block_on(engine.step(input(lot, number))).unwrap();
}

pub fn traced(engine: &mut impl Engine, lot: &[u32], number: u32) -> StepTrace {
    block_on(engine.traced_step(input(lot, number))).unwrap()
}

/// An engine and the reference, at the same parameters.
pub fn pair<E: Engine>(make: Make<E>, task: &Task) -> (E, ReferenceEngine) {
    let start = initial_parameters(task.model, SEED);
    let data = if task.model == Architecture::Scattering { known_examples() } else { examples() };
    let engine = make(task.clone(), data, &start, Performance::default()).unwrap();
    (engine, ReferenceEngine::new(task, examples(), SEED).unwrap())
}

/// [`examples`] with known features: a device's own now and then differ by one step.
pub fn known_examples() -> Dataset {
    static KNOWN: OnceLock<Dataset> = OnceLock::new();
    let known = || {
        let data = examples();
        let task = clip(Architecture::Scattering);
        let start = initial_parameters(task.model, SEED);
        let mut engine = CpuEngine::new(task, data.clone(), &start, Performance::default()).unwrap();
        assert_eq!(block_on(engine.prepare(EXAMPLES)).unwrap(), 0);
        data
    };
    KNOWN.get_or_init(known).clone()
}

/// The models that an engine supports: all named ones or, if it refuses those, some built ones.
/// Tries only one, as each makes a device compile its kernels.
pub fn models<E: Engine>(make: Make<E>) -> Vec<Architecture> {
    let model = Architecture::Linear;
    let named = make(clip(model), examples(), &initial_parameters(model, SEED), Performance::default());
    if named.is_ok() { Architecture::ALL.to_vec() } else { BUILT.map(built).to_vec() }
}

pub fn every_named_model_is_taken<E: Engine>(make: Make<E>) {
    assert_eq!(models(make), Architecture::ALL);
    Architecture::ALL.iter().for_each(|&model| drop(pair(make, &clip(model))));
}

/// Built networks: with every kind of layer, with more layers than the named models, and one whose
/// first unit a single pixel activates. At most one group norm: a blank image has the same value
/// everywhere, and each norm multiplies by 300 what rounding leaves of its variance.
pub const BUILT: [&str; 3] = [
    "conv 5 5x5/3 same, elu, conv 12 3x3 pad 1, groupnorm 3, tanh, avgpool 2, batchnorm, maxpool 3/1, dense 120, tanh, dense 60, relu, dense 10",
    "maxpool 2, dense 99, tempered 1.58 3 0.71, dense 10",
    "dense 20, relu, dense 10",
];

pub fn built(list: &str) -> Architecture {
    Architecture::Built(list.parse().unwrap())
}

/// Makes the engine under test.
pub type Make<E> = fn(Task, Dataset, &[f32], Performance) -> Result<E, EngineError>;

/// One step from the same state moves the parameters alike: the *update* agrees within 1e-4, not
/// only the parameters.
///
/// A Kolmogorov–Smirnov distance is that of the engine's own noisy sum, within 3e-7. From the
/// reference's it differs by as much as noisy sums differ in units of the noise, which may be more
/// than 1e-4 of a small distance; so updates are compared up to their factors.
pub fn assert_same_step<E: Engine>(make: Make<E>, task: &Task, lot: &[u32]) {
    let (mut engine, mut reference) = pair(make, task);
    let start = initial_parameters(task.model, SEED);
    let noisy = match task.denoiser {
        Denoiser::KolmogorovSmirnov => traced(&mut engine, lot, 1).noisy,
        _ => {
            step(&mut engine, lot, 1);
            vec![]
        }
    };
    step(&mut reference, lot, 1);
    let what = format!("{:?}, {:?}, {:?}, {:?}, {lot:?}", task.model, task.encoder, task.noise, task.denoiser);
    let (ours, theirs) = (metrics(&mut engine), metrics(&mut reference));
    assert_eq!(ours.non_finite, theirs.non_finite, "{what}");
    if let (Denoiser::KolmogorovSmirnov, Some(noise)) = (task.denoiser, &task.noise) {
        let noise = noise.build().unwrap();
        let exact = Distance::KolmogorovSmirnov.of(&noisy, |x| noise.cdf(x));
        let error = (f64::from(ours.denoise_factor) - exact).abs();
        assert!(error < 3e-7, "{what}: the distance is {exact}, not {}", ours.denoise_factor);
    } else {
        assert_eq!(ours.denoise_factor, theirs.denoise_factor, "{what}");
    }
    let update = |parameters: &[f32], factor: f32| -> Vec<f32> {
        minus(parameters, &start).iter().map(|change| change / factor).collect()
    };
    let ours = update(&parameters(&mut engine), ours.denoise_factor);
    let theirs = update(&parameters(&mut reference), theirs.denoise_factor);
    let difference = relative_difference(&ours, &theirs);
    assert!(difference < 1e-4, "{what}: updates differ by {difference:.2e}");
}

/// All pairs of models, encoders and lots, without noise and with each noise, denoised or not.
pub fn every_combination_takes_the_same_step<E: Engine>(make: Make<E>) {
    let (models, encoders, noises) = (models(make), encoders(), noises());
    let all: Vec<u32> = (0..EXAMPLES as u32).collect();
    // The blank image alone: only biases may have a gradient.
    let lots = [&[0, 17, 42], &all[..0], &all[..1], &all[..16], &all[..33], &all];
    let [m, e, l] = [models.len(), encoders.len(), lots.len()];
    let (silent, noisy) = (rows([m, e, l]), rows([m, e, l, noises.len() - 1, 2]));
    let silent = silent.into_iter().map(|[model, encoder, lot]| [model, encoder, lot, 0, 0]);
    let noisy =
        noisy.into_iter().map(|[model, encoder, lot, noise, denoised]| [model, encoder, lot, 1 + noise, denoised]);
    for [model, encoder, lot, noise, denoised] in silent.chain(noisy) {
        let denoiser = [Denoiser::None, Denoiser::KolmogorovSmirnov][denoised];
        let task = Task { denoiser, ..task(models[model], encoders[encoder].clone(), noises[noise].clone()) };
        assert_same_step(make, &task, lots[lot]);
    }
}

pub fn several_steps_stay_together<E: Engine>(make: Make<E>) {
    for model in models(make) {
        for encoder in encoders() {
            let mut task = task(model, encoder, Some(NoiseSpec::StudentT { nu: 9.0, scale: 0.05 }));
            task.momentum = 0.9;
            task.averaging = true;
            let (mut engine, mut reference) = pair(make, &task);
            for (number, lot) in (1..).zip([&[1, 2, 3][..], &[], &[7, 20, 21, 22], &[2, 60]]) {
                step(&mut engine, lot, number);
                step(&mut reference, lot, number);
            }
            let (ours, theirs) = (block_on(engine.state()).unwrap(), block_on(reference.state()).unwrap());
            let difference = relative_difference(&ours.parameters, &theirs.parameters);
            assert!(difference < 1e-4, "{model:?}, {:?}: parameters differ by {difference:.2e}", task.encoder);
            let difference = relative_difference(&ours.momentum, &theirs.momentum);
            assert!(difference < 1e-3, "{model:?}, {:?}: momenta differ by {difference:.2e}", task.encoder);
            let difference = relative_difference(ours.read_with(), theirs.read_with());
            assert!(difference < 1e-4, "{model:?}, {:?}: means differ by {difference:.2e}", task.encoder);
            assert!(
                relative_difference(ours.read_with(), &ours.parameters) > 1e-3,
                "{model:?}: a mean is not the last"
            );
        }
    }
}

/// True if the engine refuses distances that are sums over sorted values; another refusal panics.
pub fn refuses_summed_distances<E: Engine>(make: Make<E>) -> bool {
    let model = models(make)[0];
    let task = Task { denoiser: Denoiser::Wasserstein, ..clip(model) };
    match make(task, examples(), &initial_parameters(model, SEED), Performance::default()) {
        Ok(_) => false,
        Err(EngineError::Unsupported(Unsupported::DistanceOnGpu)) => true,
        Err(other) => panic!("{other}"),
    }
}

/// The distances that are sums, if the engine computes them.
fn summed<E: Engine>(make: Make<E>) -> Vec<Denoiser> {
    if refuses_summed_distances(make) { vec![] } else { vec![Denoiser::CramerVonMises, Denoiser::Wasserstein] }
}

/// Every denoiser but the distances: combinations cover Kolmogorov–Smirnov's.
pub fn denoisers(model: Architecture) -> Vec<Denoiser> {
    let mut all = vec![
        Denoiser::JamesStein,
        Denoiser::Linear,
        Denoiser::SoftThreshold,
        Denoiser::LowPass { keeps: 0.8 },
        Denoiser::Kalman { gain: 0.3 },
    ];
    if model.planes().is_some() {
        all.extend([0.5, 30.0].map(|strength| Denoiser::LaplacianSmoothing { strength }));
    }
    all
}

pub fn denoisers_do_the_same<E: Engine>(make: Make<E>) {
    for model in models(make) {
        for denoiser in denoisers(model).into_iter().chain(summed(make)) {
            // So little noise that no sum is denoised to zero.
            let noise = Some(NoiseSpec::Gaussian { sigma: 0.01 });
            let task = Task { denoiser, ..task(model, EncoderSpec::Clip { norm: 1.0 }, noise) };
            let what = format!("{model:?}, {denoiser:?}");
            let (mut engine, mut reference) = pair(make, &task);
            for (number, lot) in (1..).zip([&[1, 2, 3][..], &[7, 20, 21, 22], &[2, 60]]) {
                let (ours, theirs) = (traced(&mut engine, lot, number), traced(&mut reference, lot, number));
                assert_same_trace(&what, &ours, &theirs);
                let changed = !task.filter().is_average();
                assert_eq!(ours.denoised != ours.noisy, changed, "{what}");
                assert!(ours.denoised.iter().any(|&v| v != 0.0), "{what}");
                let (ours, theirs) = (metrics(&mut engine), metrics(&mut reference));
                assert!((ours.denoise_factor - theirs.denoise_factor).abs() < 1e-5, "{what}: {ours:?}, {theirs:?}");
                assert_eq!(ours.denoise_factor < 1.0, denoiser.is_factor(), "{what}");
            }
            let (ours, theirs) = (block_on(engine.state()).unwrap(), block_on(reference.state()).unwrap());
            assert_eq!(ours.average.is_some(), task.filter().looks_ahead(), "{what}");
            for (of, ours, theirs) in [
                ("parameters", &ours.parameters[..], &theirs.parameters[..]),
                ("momenta", &ours.momentum, &theirs.momentum),
                ("parameters to read with", ours.read_with(), theirs.read_with()),
            ] {
                let difference = relative_difference(ours, theirs);
                assert!(difference < 2e-4, "{what}: {of} differ by {difference:.2e}");
            }
            // It continues from its state, with the filter's memory.
            let (mut again, _) = pair(make, &task);
            block_on(again.set_state(&ours)).unwrap();
            step(&mut again, &[5, 6], 9);
            step(&mut engine, &[5, 6], 9);
            assert_eq!(block_on(again.state()).unwrap(), block_on(engine.state()).unwrap(), "{what}");
        }
    }
}

/// Correlated noise over more steps than remembered, into another sequence, traced or not; one
/// band: none.
pub fn correlated_noise_is_the_references<E: Engine>(make: Make<E>) {
    for model in models(make) {
        for (bands, denoiser) in [(2, Denoiser::None), (4, Denoiser::LowPass { keeps: 0.5 }), (7, Denoiser::None)] {
            let banded = Task { bands, denoiser, averaging: true, ..clip(model) };
            let (mut engine, mut reference) = pair(make, &banded);
            let what = format!("{model:?}, {bands} bands");
            for (number, position) in (1..).zip((0..9).chain(0..3)) {
                let lot = [number, 11, 33];
                let at = |lot| StepInput { position, ..input(lot, number) };
                let theirs = block_on(reference.traced_step(at(&lot))).unwrap();
                if number % 4 == 2 {
                    block_on(engine.step(at(&lot))).unwrap();
                } else {
                    let ours = block_on(engine.traced_step(at(&lot))).unwrap();
                    assert_same_trace(&format!("{what}, step {number}"), &ours, &theirs);
                    let noise = [&ours, &theirs].map(|trace| minus(&trace.noisy, &trace.encoded));
                    let difference = relative_difference(&noise[0], &noise[1]);
                    assert!(difference < 2e-4, "{what}, step {number}: noise differs by {difference:.2e}");
                }
            }
            let (ours, theirs) = (parameters(&mut engine), parameters(&mut reference));
            assert!(relative_difference(&ours, &theirs) < 1e-4, "{what}");
            // A position that does not follow the last step is refused.
            for position in [2, 4, u64::MAX] {
                let refused = block_on(engine.step(StepInput { position, ..input(&[1], 20) })).unwrap_err();
                assert!(refused.to_string().contains("begin a new one"), "{refused}");
            }
            block_on(engine.step(StepInput { position: 3, ..input(&[1], 20) })).unwrap();
        }
        // With one band the position does not matter, bit for bit.
        let [mut here, mut there] = [(); 2].map(|()| pair(make, &Task { bands: 1, ..clip(model) }).0);
        for number in 1..4 {
            step(&mut here, &[5, 6, 7], number);
            block_on(there.step(StepInput { position: 100, ..input(&[5, 6, 7], number) })).unwrap();
        }
        assert_eq!(block_on(here.state()).unwrap(), block_on(there.state()).unwrap());
    }
}

pub fn what_correlated_noise_does_not_go_with_is_refused<E: Engine>(make: Make<E>) {
    let model = models(make)[0];
    let start = initial_parameters(model, SEED);
    let banded = Task { bands: 3, ..clip(model) };
    let envelope = task(model, encoders().remove(3), banded.noise.clone());
    for refused in [
        Task { bands: 0, ..banded.clone() },
        Task { bands: u32::MAX, ..banded.clone() },
        Task { bands: 3, ..envelope },
        Task { encoder: EncoderSpec::None, ..banded.clone() },
        Task { noise: None, ..banded.clone() },
        Task { noise: Some(NoiseSpec::Laplace { scale: 1.0 }), ..banded.clone() },
        Task { denoiser: Denoiser::KolmogorovSmirnov, ..banded.clone() },
        Task { denoiser: Denoiser::JamesStein, ..banded.clone() },
    ] {
        assert!(make(refused.clone(), examples(), &start, Performance::default()).is_err(), "{refused:?}");
    }
    assert!(make(banded, examples(), &start, Performance::default()).is_ok());
}

pub fn a_traced_step_is_a_step<E: Engine>(make: Make<E>) {
    for model in models(make) {
        for encoder in encoders() {
            let mut task = task(model, encoder, Some(NoiseSpec::Gaussian { sigma: 0.3 }));
            task.denoiser = Denoiser::KolmogorovSmirnov;
            task.momentum = 0.5;
            let (mut engine, mut reference) = pair(make, &task);
            let (mut untraced, _) = pair(make, &task);
            for number in 1..3 {
                let lot = [number, 11, 33, 44, 77];
                let (ours, theirs) = (traced(&mut engine, &lot, number), traced(&mut reference, &lot, number));
                step(&mut untraced, &lot, number);
                assert_same_trace(&format!("{model:?}, {:?}", task.encoder), &ours, &theirs);
                // One different step in the first update changes all gradients of the second.
                if number == 1 {
                    assert_same_steps(&task, &ours.encoded, &theirs.encoded, lot.len());
                }
            }
            assert_eq!(block_on(engine.state()).unwrap(), block_on(untraced.state()).unwrap());
            assert_eq!(metrics(&mut engine), metrics(&mut untraced));
        }
    }
}

/// Parameters that make the gradient of an image with its first pixel lit non-finite, and keep it
/// finite for a blank corner: a hidden unit that only that pixel activates, and too large a weight
/// after it. (The linear model: a sum that overflows both ways in f32.)
pub fn breaking_parameters(model: Architecture) -> Vec<f32> {
    let mut parameters = initial_parameters(model, SEED);
    let layers = model.layers();
    let last = layers[layers.len() - 1];
    match model {
        Architecture::Linear => {
            parameters[..2].fill(f32::MAX);
            return parameters;
        }
        // Their hidden unit reads the pixel itself.
        Architecture::Scattering | Architecture::Mlp | Architecture::Built(_) => {}
        Architecture::CnnTanh | Architecture::CnnRelu => {
            // Channel 0 of both convolutions passes on a single tap: conv1's sees the first pixel
            // from its first position.
            for (layer, tap) in [(layers[0], 3 * 8 + 3), (layers[1], 0)] {
                parameters[layer.offset..][..layer.fan_in].fill(0.0);
                parameters[layer.offset + tap] = 1.0;
            }
        }
    }
    let hidden = layers[layers.len() - 2];
    parameters[hidden.offset..][..hidden.fan_in].fill(0.0);
    let passed = if model == Architecture::CnnTanh { 1f32.tanh().tanh() } else { 1.0 };
    parameters[hidden.offset] = 101.0 / passed;
    parameters[hidden.biases().start] = -100.0;
    // Class 3, which is not the label.
    parameters[last.offset + 3 * last.fan_in] = 1e30;
    parameters
}

/// Whether [`breaking_parameters`] break one image alone: not if inputs are features, which depend
/// on the whole image, nor if a network begins with a convolution or a pool.
pub fn breaks(model: &Architecture) -> bool {
    *model != Architecture::Scattering && (model.is_named() || *model == built(BUILT[2]))
}

pub fn one_broken_example_counts_and_adds_nothing<E: Engine>(make: Make<E>) {
    let mut data = examples();
    let mut images = data.images.to_vec();
    for (k, image) in images.chunks_exact_mut(PIXELS).enumerate() {
        for y in 0..8 {
            image[y * 28..][..8].fill(0);
        }
        image[..2].fill(if k == 9 { 255 } else { 0 });
    }
    data.images = images.into();
    let (lot, others) = ([2, 5, 9, 30, 31], [2, 5, 30, 31]);
    for model in models(make).into_iter().filter(breaks) {
        let start = breaking_parameters(model);
        for encoder in [EncoderSpec::None, EncoderSpec::Clip { norm: 1.0 }, encoders().remove(3)] {
            let task = task(model, encoder, None);
            let mut with = make(task.clone(), data.clone(), &start, Performance::default()).unwrap();
            let mut without = make(task.clone(), data.clone(), &start, Performance::default()).unwrap();
            let trace = traced(&mut with, &lot, 1);
            let expected = traced(&mut without, &others, 1);
            assert_eq!(metrics(&mut with).non_finite, 1, "{model:?}, {:?}", task.encoder);
            assert_eq!(metrics(&mut without).non_finite, 0, "{model:?}, {:?}", task.encoder);
            assert!(expected.encoded.iter().any(|&v| v != 0.0));
            assert!(relative_difference(&trace.raw, &expected.raw) < 1e-5);
            assert!(relative_difference(&trace.encoded, &expected.encoded) < 1e-5);
            assert_eq!(parameters(&mut with).len(), start.len());
        }
    }
}

/// A NaN parameter breaks every example: only noise is released.
pub fn broken_parameters_release_noise_alone<E: Engine>(make: Make<E>) {
    for model in models(make) {
        for encoder in encoders() {
            let task = task(model, encoder, Some(NoiseSpec::Laplace { scale: 1.0 }));
            let mut start = initial_parameters(model, SEED);
            let last = start.len() - 1;
            start[last] = f32::NAN;
            let mut engine = make(task.clone(), examples(), &start, Performance::default()).unwrap();
            let trace = traced(&mut engine, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17], 1);
            assert_eq!(metrics(&mut engine).non_finite, 17, "{model:?}, {:?}", task.encoder);
            assert!(trace.encoded.iter().chain(&trace.raw).all(|&v| v == 0.0));
            let mut empty = make(task, examples(), &start, Performance::default()).unwrap();
            assert_eq!(traced(&mut empty, &[], 1).noisy, trace.noisy);
            assert!(trace.noisy.iter().all(|v| v.is_finite()));
        }
    }
}

pub fn performance_flags_change_nothing<E: Engine>(make: Make<E>) {
    let lot: Vec<u32> = (0..EXAMPLES as u32).collect();
    let (models, encoders) = (models(make), [EncoderSpec::Clip { norm: 1.0 }, encoders().remove(5)]);
    let settings = [(2, None), (3, Some(8)), (2, Some(32)), (1, Some(1))];
    let moved = |model: usize, encoder: usize, (threads, chunk)| {
        let (model, noise) = (models[model], Some(NoiseSpec::StudentT { nu: 5.0, scale: 0.1 }));
        let task = Task { denoiser: Denoiser::KolmogorovSmirnov, ..task(model, encoders[encoder].clone(), noise) };
        let performance = Performance { chunk, threads: Some(threads) };
        let mut engine = make(task, examples(), &initial_parameters(model, SEED), performance).unwrap();
        step(&mut engine, &lot, 1);
        step(&mut engine, &lot[3..50], 2);
        parameters(&mut engine)
    };
    let mut plain = BTreeMap::new();
    for [model, encoder, setting] in rows([models.len(), encoders.len(), settings.len()]) {
        let plain = plain.entry((model, encoder)).or_insert_with(|| moved(model, encoder, (1, None)));
        let difference = relative_difference(&moved(model, encoder, settings[setting]), plain);
        assert!(difference < 1e-6, "{:?}, {:?}, {:?}", models[model], encoders[encoder], settings[setting]);
    }
}

pub fn predictions_equal_the_references<E: Engine>(make: Make<E>) {
    let data = known_examples();
    for model in models(make) {
        let (mut engine, mut reference) = pair(make, &clip(model));
        let (ours, theirs) = (block_on(engine.scores(&data)).unwrap(), block_on(reference.scores(&data)).unwrap());
        assert_eq!(ours.len(), EXAMPLES);
        assert!(relative_difference(ours.values(), theirs.values()) < 1e-5, "{model:?}");
        assert!(block_on(engine.scores(&data.slice(0..0))).unwrap().is_empty());
        for reading in [Reading::Once, Reading::TestTimeAugmentation] {
            let ours = block_on(reading::digits(&mut engine, &data, reading)).unwrap();
            assert_eq!(ours, block_on(reading::digits(&mut reference, &data, reading)).unwrap(), "{model:?}");
        }
        for example in [0, 1, 50] {
            let image = hushgrad::engine::reference::pixels(data.image(example));
            let (ours, theirs) =
                (block_on(engine.predict(&image)).unwrap(), block_on(reference.predict(&image)).unwrap());
            assert!(relative_difference(&ours, &theirs) < 1e-5, "{model:?}: {ours:?} against {theirs:?}");
            assert!((ours.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}

/// Copies of an image that lose none, half and all of it.
pub const SHIFTS: [Shift; 3] =
    [Shift { right: -1, down: 2 }, Shift { right: 9, down: 0 }, Shift { right: 28, down: 0 }];

/// Traces one step over these copies of each example, of an engine and of the reference.
pub fn traced_pair<E: Engine>(make: Make<E>, task: &Task, lot: &[u32], shifts: &[Shift]) -> [StepTrace; 2] {
    let (mut engine, mut reference) = pair(make, &Task { copies: shifts.len() as u32, ..task.clone() });
    let input = || StepInput { shifts, ..input(lot, 1) };
    [block_on(engine.traced_step(input())).unwrap(), block_on(reference.traced_step(input())).unwrap()]
}

pub fn copies_are_averaged_before_they_are_encoded<E: Engine>(make: Make<E>) {
    let lot: Vec<u32> = (0..37).collect();
    for model in models(make) {
        for encoder in encoders() {
            let task = task(model, encoder, Some(NoiseSpec::Gaussian { sigma: 0.3 }));
            let [ours, theirs] = traced_pair(make, &task, &lot, &SHIFTS);
            for (name, ours, theirs) in [
                ("raw", &ours.raw, &theirs.raw),
                ("encoded", &ours.encoded, &theirs.encoded),
                ("noisy", &ours.noisy, &theirs.noisy),
            ] {
                let difference = relative_difference(ours, theirs);
                assert!(difference < 1e-4, "{model:?}, {:?}, {name}: {difference:.2e}", task.encoder);
            }
            assert_same_steps(&task, &ours.encoded, &theirs.encoded, lot.len());
            assert!(relative_difference(&ours.raw, &theirs.raw) < 1e-5, "{model:?}");
        }
        // The first copy alone gives another result; a copy twice gives that copy's.
        let whole = task(model, EncoderSpec::Clip { norm: 3.0 }, None);
        let [[first, _], [twice, _], [all, _]] =
            [&SHIFTS[..1], &[SHIFTS[0]; 2], &SHIFTS].map(|shifts| traced_pair(make, &whole, &lot, shifts));
        assert!(relative_difference(&first.raw, &all.raw) > 0.1, "{model:?}");
        let difference = relative_difference(&twice.encoded, &first.encoded);
        assert!(difference < 1e-4, "{model:?}: {difference:.2e}");
        assert_same_steps(&whole, &twice.encoded, &first.encoded, lot.len());
        // One example's share of the sum is within the clip, though its copies' sum is not.
        let clipped = task(model, EncoderSpec::Clip { norm: 0.1 }, None);
        let [one, _] = traced_pair(make, &clipped, &[7], &SHIFTS);
        let norm = one.encoded.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
        assert!(norm <= 0.1 && norm > 0.0999, "{model:?}: {norm}");
    }
}

/// An example with a broken copy counts once, and none of its copies adds anything.
pub fn one_broken_copy_breaks_its_example<E: Engine>(make: Make<E>) {
    let mut data = examples();
    let mut images = data.images.to_vec();
    for (k, image) in images.chunks_exact_mut(PIXELS).enumerate() {
        for y in 0..9 {
            image[y * 28..][..9].fill(0);
        }
        image[..2].fill(if k == 9 { 255 } else { 0 });
    }
    data.images = images.into();
    // Moved down by one, the lit pixels are where no weight reads them.
    let shifts = [Shift { right: 0, down: 1 }, Shift::NONE, Shift { right: 0, down: 1 }];
    for model in models(make).into_iter().filter(|&model| model != Architecture::Scattering) {
        let start = breaking_parameters(model);
        for encoder in [EncoderSpec::None, EncoderSpec::Clip { norm: 1.0 }, encoders().remove(3)] {
            let task = Task { copies: shifts.len() as u32, ..task(model, encoder, None) };
            let step = |lot: &[u32]| {
                let mut engine = make(task.clone(), data.clone(), &start, Performance::default()).unwrap();
                let trace = block_on(engine.traced_step(StepInput { shifts: &shifts, ..input(lot, 1) })).unwrap();
                (trace, metrics(&mut engine).non_finite)
            };
            let (with, without) = (step(&[2, 5, 9, 30, 31]), step(&[2, 5, 30, 31]));
            assert_eq!((with.1, without.1), (1, 0), "{model:?}, {:?}", task.encoder);
            assert!(without.0.encoded.iter().any(|&v| v != 0.0));
            assert!(relative_difference(&with.0.raw, &without.0.raw) < 1e-5, "{model:?}, {:?}", task.encoder);
            assert!(relative_difference(&with.0.encoded, &without.0.encoded) < 1e-5, "{model:?}, {:?}", task.encoder);
        }
    }
}

pub fn copies_that_were_not_planned_are_refused<E: Engine>(make: Make<E>) {
    let (mut engine, _) = pair(make, &clip(Architecture::Linear));
    let before = block_on(engine.state()).unwrap();
    for shifts in [&[][..], &SHIFTS] {
        assert!(block_on(engine.step(StepInput { shifts, ..input(&[3], 1) })).is_err());
    }
    assert_eq!(block_on(engine.state()).unwrap(), before);
}

/// The labels must be learnable, or the comparisons above compare noise.
pub fn training_learns<E: Engine>(make: Make<E>) {
    let data = examples();
    let lot: Vec<u32> = (0..EXAMPLES as u32).collect();
    for model in models(make) {
        let mut task = task(model, EncoderSpec::None, None);
        task.expected_lot = EXAMPLES as f32;
        task.momentum = 0.9;
        let (mut engine, _) = pair(make, &task);
        let before = block_on(reading::count_correct(&mut engine, &data, Reading::Once)).unwrap();
        let learns = (0..10).any(|_| {
            (0..15).for_each(|_| block_on(engine.step(StepInput::alone(&lot, [0; 8], 0.05))).unwrap());
            let after = block_on(reading::count_correct(&mut engine, &data, Reading::Once)).unwrap();
            after > before + EXAMPLES as u32 / 3
        });
        assert!(learns, "{model:?}: {before} of {EXAMPLES} before, and hardly more after 150 steps");
    }
}

pub fn state_is_kept_and_replaced<E: Engine>(make: Make<E>) {
    for model in models(make) {
        let mut task = clip(model);
        task.momentum = 0.9;
        task.averaging = true;
        let (mut engine, _) = pair(make, &task);
        let start = block_on(engine.state()).unwrap();
        assert_eq!(start, State::start(initial_parameters(model, SEED), true));
        step(&mut engine, &[1, 2], 1);
        let saved = block_on(engine.state()).unwrap();
        step(&mut engine, &[3], 2);
        let after = block_on(engine.state()).unwrap();
        assert_ne!(saved, after);
        block_on(engine.set_state(&saved)).unwrap();
        assert_eq!(block_on(engine.state()).unwrap(), saved);
        step(&mut engine, &[3], 2);
        assert_eq!(block_on(engine.state()).unwrap(), after);
        // From a run that kept no mean: the mean starts at the parameters.
        let alone = State { average: None, ..saved.clone() };
        block_on(engine.set_state(&alone)).unwrap();
        let taken_up = block_on(engine.state()).unwrap();
        assert_eq!(taken_up, State { average: Some(saved.parameters.clone()), ..saved.clone() });
        task.averaging = false;
        let (mut engine, _) = pair(make, &task);
        block_on(engine.set_state(&saved)).unwrap();
        assert_eq!(block_on(engine.state()).unwrap(), alone);
    }
}

/// Layer clips of any norms, separate, joint or by groups, with either noise strategy: steps are the
/// reference's, each group stays within its norm in units of its noise, all together within the
/// accounted one, and the update is in units of gradients again.
pub fn layers_keep_their_norms<E: Engine>(make: Make<E>) {
    let models = models(make);
    for [model, clipping, strategy, norms] in rows([models.len(), 3, 2, 3]) {
        let model = models[model];
        let clipping = [Some(Clipping::Separate), Some(Clipping::Joint), None][clipping];
        let strategy = [NoiseStrategy::Proportional, NoiseStrategy::DimensionAdjusted][strategy];
        let own: Vec<f64> = (0..model.lengths().len()).map(|layer| 0.02 * 7f64.powi(layer as i32)).collect();
        let norms = [&own[..], &[0.3], &[30.0]][norms];
        let noise = Some(NoiseSpec::Gaussian { sigma: 1e-3 });
        let encoder = clipping.map_or_else(|| grouped(model, norms), |clipping| layers(clipping, strategy, norms));
        let task = Task { momentum: 0.5, ..task(model, encoder, noise) };
        // Without the grid of exact sums, whose steps are large for a small layer's bound; steps on
        // it are compared below.
        assert_same_step(make, &Task { noise: None, ..task.clone() }, &[0, 3, 17, 42]);
        // Each from the start: noise in units of long norms leads far away from it.
        let both = |lot: &[u32]| {
            let (mut engine, mut reference) = pair(make, &task);
            (traced(&mut engine, lot, 1), traced(&mut reference, lot, 1))
        };
        let prepared = task.layers().unwrap().unwrap();
        let lot = [3, 8, 20, 21];
        let (ours, theirs) = both(&lot);
        assert_same_steps(&task, &ours.encoded, &theirs.encoded, lot.len());
        for example in [3, 8] {
            let (ours, theirs) = both(&[example]);
            // Coordinates are few grid steps: steps tell rounding from a fault, length does not.
            assert_same_steps(&task, &ours.encoded, &theirs.encoded, 1);
            let added = |trace: &StepTrace| minus(&trace.noisy, &trace.encoded);
            for (name, ours, theirs) in [("raw", &ours.raw, &theirs.raw), ("noise", &added(&ours), &added(&theirs))] {
                let difference = relative_difference(ours, theirs);
                assert!(difference < 2e-4, "{model:?} {:?}, {name}: {difference:.2e}", task.encoder);
            }
            let encoded: Vec<f64> = ours.encoded.iter().map(|&v| v.into()).collect();
            assert!(prepared.inside(&encoded), "{model:?} {:?}", task.encoder);
            let square: f64 = encoded.iter().map(|v| v * v).sum();
            assert!(square <= 1.0, "{square}");
            // If all gradients exceed separate clips, the vector is about as long as its bound.
            let all = clipping == Some(Clipping::Separate) && norms == [0.3];
            assert!(!all || square > 0.2, "{model:?} {square}");
        }
    }
    for model in models {
        // One joint norm, clipped by one factor, does what a single clip does.
        let noise = Some(NoiseSpec::Gaussian { sigma: 0.5 });
        let whole = task(model, EncoderSpec::Clip { norm: 0.25 }, noise.clone().map(|noise| noise.with_scale(0.125)));
        let joint = task(model, layers(Clipping::Joint, NoiseStrategy::Proportional, &[0.25]), noise);
        let (mut one, mut other) = (pair(make, &whole).0, pair(make, &joint).0);
        step(&mut one, &[1, 5, 9], 1);
        step(&mut other, &[1, 5, 9], 1);
        let start = initial_parameters(model, SEED);
        let moved = |engine: &mut E| minus(&parameters(engine), &start);
        assert!(relative_difference(&moved(&mut one), &moved(&mut other)) < 1e-3, "{model:?}");
        // Invalid norms, and too few or too many.
        let data = if model == Architecture::Scattering { known_examples() } else { examples() };
        let many = vec![1.0; model.lengths().len() + 1];
        for norms in [&[][..], &[0.0], &[-1.0], &[f64::NAN], &[f64::INFINITY], &many] {
            let noise = Some(NoiseSpec::Gaussian { sigma: 1.0 });
            let task = task(model, layers(Clipping::Separate, NoiseStrategy::Proportional, norms), noise);
            assert!(make(task, data.clone(), &start, Performance::default()).is_err(), "{norms:?}");
        }
    }
}

/// With other noise, norm or lot, steps are those of an engine made for it, and the state stays.
pub fn a_task_that_changes_is_the_next_one<E: Engine>(make: Make<E>) {
    for model in models(make) {
        let clipped = |norm: f64, noise| Task { momentum: 0.5, ..task(model, EncoderSpec::Clip { norm }, noise) };
        let envelope = |noise| {
            task(
                model,
                EncoderSpec::Envelope { shape: EnvelopeShape::Mixed, vectors: 3, pre_scale: 1.0, seed: 3 },
                noise,
            )
        };
        let mut ways: Vec<(Task, Vec<Task>)> = Vec::new();
        let all: Vec<_> = noises().into_iter().flatten().map(Some).collect();
        let first = clipped(3.0, all[0].clone());
        ways.push((first, all.iter().map(|noise| Task { expected_lot: 7.0, ..clipped(0.2, noise.clone()) }).collect()));
        let first = Task { denoiser: Denoiser::KolmogorovSmirnov, ..envelope(all[2].clone()) };
        let psi = first.envelope.clone();
        let next = |noise: &Option<NoiseSpec>| Task { noise: noise.clone(), envelope: psi.clone(), ..first.clone() };
        ways.push((first.clone(), all.iter().rev().take(3).map(next).collect()));
        let layered = |norm: f64, noise: &Option<NoiseSpec>| {
            task(model, layers(Clipping::Separate, NoiseStrategy::Proportional, &[norm]), noise.clone())
        };
        ways.push((layered(3.0, &all[0]), all.iter().take(3).map(|noise| layered(0.2, noise)).collect()));
        for (first, tasks) in ways {
            let (mut engine, _) = pair(make, &first);
            step(&mut engine, &[1, 2, 30], 1);
            for (number, next) in (2..).zip(&tasks) {
                let state = block_on(engine.state()).unwrap();
                block_on(engine.set_task(next)).unwrap();
                assert_eq!(block_on(engine.state()).unwrap(), state);
                let (mut fresh, mut plain) = pair(make, next);
                block_on(fresh.set_state(&state)).unwrap();
                block_on(plain.set_state(&state)).unwrap();
                let lot = [0, 3, number, 40];
                step(&mut engine, &lot, number);
                step(&mut fresh, &lot, number);
                step(&mut plain, &lot, number);
                let found = block_on(engine.state()).unwrap();
                assert_eq!(found, block_on(fresh.state()).unwrap(), "{next:?}");
                let difference = relative_difference(&found.parameters, &block_on(plain.state()).unwrap().parameters);
                assert!(difference < 1e-4, "{difference} after {next:?}");
            }
            // Any other difference is refused, and nothing changes.
            let last = tasks.last().unwrap();
            let state = block_on(engine.state()).unwrap();
            for other in [
                Task { noise: None, denoiser: Denoiser::None, ..last.clone() },
                Task { averaging: !last.averaging, ..last.clone() },
                Task { copies: 3, ..last.clone() },
                Task { encoder: EncoderSpec::None, envelope: None, ..last.clone() },
                Task { momentum: 0.25, ..last.clone() },
            ] {
                assert!(block_on(engine.set_task(&other)).is_err(), "{other:?}");
            }
            assert_eq!(block_on(engine.state()).unwrap(), state);
        }
    }
}

pub fn images_are_read_with_the_mean<E: Engine>(make: Make<E>) {
    for model in models(make) {
        let mut task = clip(model);
        task.averaging = true;
        let (mut engine, _) = pair(make, &task);
        for number in 1..4 {
            step(&mut engine, &[number, 9, 50], number);
        }
        let state = block_on(engine.state()).unwrap();
        task.averaging = false;
        let reads = [state.read_with(), &state.parameters].map(|parameters| {
            let (mut other, _) = pair(make, &task);
            block_on(other.set_state(&State::start(parameters.to_vec(), false))).unwrap();
            let image = pixels(examples().image(7));
            (block_on(other.scores(&examples())).unwrap(), block_on(other.predict(&image)).unwrap())
        });
        let image = pixels(examples().image(7));
        let read = (block_on(engine.scores(&examples())).unwrap(), block_on(engine.predict(&image)).unwrap());
        assert_eq!(read, reads[0], "{model:?}");
        assert!(read.0 != reads[1].0 && read.1 != reads[1].1, "{model:?}");
    }
}

pub fn what_does_not_fit_is_refused<E: Engine>(make: Make<E>) {
    let model = Architecture::Linear;
    let start = initial_parameters(model, SEED);
    let summed = summed(make);
    let make = |task: Task, data: Dataset, start: &[f32]| make(task, data, start, Performance::default());
    assert!(make(clip(model), examples(), &start[1..]).is_err());
    let mut labels = examples();
    labels.labels = labels.labels.iter().map(|&label| label + 1).collect();
    assert!(make(clip(model), labels, &start).is_err());
    let mut envelope = task(model, encoders().remove(3), None);
    envelope.envelope = None;
    assert!(make(envelope.clone(), examples(), &start).is_err());
    envelope.envelope = Some(Arc::new(Envelope::draw(EnvelopeShape::Gaussian, 1, 7, 3).unwrap()));
    assert!(make(envelope, examples(), &start).is_err());
    let own = [Denoiser::KolmogorovSmirnov, Denoiser::JamesStein, Denoiser::Linear, Denoiser::SoftThreshold];
    for denoiser in own.into_iter().chain(summed) {
        assert!(make(Task { noise: None, denoiser, ..clip(model) }, examples(), &start).is_err(), "{denoiser:?}");
        let noise = Some(NoiseSpec::Cauchy { scale: 1.0 });
        let compares = denoiser.distance().is_some();
        let made = make(Task { noise, denoiser, ..clip(model) }, examples(), &start);
        assert_eq!(made.is_ok(), compares, "{denoiser:?} without a standard deviation");
    }
    for kept in [1.0, -0.5, f64::NAN, f64::INFINITY] {
        for denoiser in [Denoiser::LowPass { keeps: kept }, Denoiser::Kalman { gain: 1.0 - kept }] {
            assert!(make(Task { denoiser, ..clip(model) }, examples(), &start).is_err(), "{denoiser:?}");
        }
    }
    for strength in [0.0, -1.0, 1001.0, f64::NAN] {
        let denoiser = Denoiser::LaplacianSmoothing { strength };
        assert!(make(Task { denoiser, ..clip(model) }, examples(), &start).is_err(), "{denoiser:?}");
    }
    let kalman = Task { denoiser: Denoiser::Kalman { gain: 0.5 }, ..clip(model) };
    assert!(make(Task { momentum: 0.5, ..kalman.clone() }, examples(), &start).is_err());
    assert!(make(Task { averaging: true, ..kalman }, examples(), &start).is_err());
    assert!(make(task(model, EncoderSpec::Clip { norm: -1.0 }, None), examples(), &start).is_err());
    assert!(
        make(task(model, EncoderSpec::None, Some(NoiseSpec::Gaussian { sigma: 0.0 })), examples(), &start).is_err()
    );

    let mut engine = make(clip(model), examples(), &start).unwrap();
    let before = block_on(engine.state()).unwrap();
    assert!(block_on(engine.step(input(&[3, EXAMPLES as u32], 1))).is_err());
    assert!(block_on(engine.predict(&[0.0; 3])).is_err());
    let fits = State::start(start.clone(), true);
    for state in [
        State { parameters: start[1..].to_vec(), ..fits.clone() },
        State { momentum: start[1..].to_vec(), ..fits.clone() },
        State { average: Some(start[1..].to_vec()), ..fits },
    ] {
        assert!(block_on(engine.set_state(&state)).is_err());
    }
    assert_eq!(block_on(engine.state()).unwrap(), before, "a refused call changes nothing");
}

/// Runs the suite, or the named properties of it, as tests of one engine.
macro_rules! suite {
    ($engine:ident, $make:expr, $present:expr; $($property:ident)*) => {
        mod $engine {
            $(#[test]
            fn $property() {
                if $present() {
                    $crate::suite::$property($make);
                }
            })*
        }
    };
    ($engine:ident, $make:expr, $present:expr) => {
        suite!($engine, $make, $present;
            every_combination_takes_the_same_step
            several_steps_stay_together
            layers_keep_their_norms
            denoisers_do_the_same
            correlated_noise_is_the_references
            what_correlated_noise_does_not_go_with_is_refused
            a_traced_step_is_a_step
            one_broken_example_counts_and_adds_nothing
            broken_parameters_release_noise_alone
            performance_flags_change_nothing
            predictions_equal_the_references
            training_learns
            state_is_kept_and_replaced
            a_task_that_changes_is_the_next_one
            images_are_read_with_the_mean
            what_does_not_fit_is_refused
            copies_that_were_not_planned_are_refused);
    };
}

pub(crate) use suite;
