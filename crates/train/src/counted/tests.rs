use std::time::Duration;

use futures_executor::block_on;

use super::*;
use crate::{
    accounting::{ledger::Ledger, rdp::epsilon_of},
    config::{Augmentation, SamplingPolicy},
    data::{Dataset, Shift, sharing::Sharing, synthetic},
    engine::{Engine, LocalSteps, Performance, StepInput, cpu::CpuEngine, reference, reference::ReferenceEngine},
    mechanism::{AdaptiveClip, LayerClip, PaidMetrics},
    model::Architecture,
    plan::Plan,
    projection,
    session::{Progress, Session},
};

const TRAIN: u32 = 300;

fn digits() -> Dataset {
    synthetic::digits(1, TRAIN as usize, 1).train
}

fn adaptive(quantile: f64, noise: f64) -> RunConfig {
    RunConfig { adaptive_clip: Some(AdaptiveClip { quantile, noise }), lot: 60, ..RunConfig::default() }
}

fn metrics(noise: f64) -> RunConfig {
    RunConfig { metrics: Some(PaidMetrics { noise }), lot: 60, ..RunConfig::default() }
}

fn both() -> RunConfig {
    RunConfig { adaptive_clip: adaptive(0.5, 0.05).adaptive_clip, ..metrics(0.1) }
}

fn on_cpu(plan: &Plan) -> CpuEngine {
    CpuEngine::new(plan.task.clone(), digits(), &plan.initial_parameters(), Performance::default()).unwrap()
}

/// Whatever is counted besides, ε is that of a plain clipping norm at the run's noise multiplier.
#[test]
fn counts_cost_what_a_plain_clip_costs() {
    let samplings = [
        SamplingPolicy::Poisson,
        SamplingPolicy::FixedSize,
        SamplingPolicy::Shuffled,
        SamplingPolicy::RandomAllocation,
    ];
    for sampling in samplings {
        for sigma in [0.8, 1.1, 3.0] {
            let plain =
                RunConfig { sampling, noise: Some(NoiseSpec::Gaussian { sigma }), lot: 256, ..RunConfig::default() };
            for (adaptive_clip, metrics) in [
                (adaptive(0.5, 0.05).adaptive_clip, None),
                (None, metrics(0.1).metrics),
                (both().adaptive_clip, both().metrics),
            ] {
                let config = RunConfig { adaptive_clip, metrics, ..plain.clone() };
                for steps in [1, 300] {
                    let [ours, theirs] =
                        [&config, &plain].map(|config| projection::planned(config, 60_000, steps).unwrap());
                    let [a, b] = [&ours, &theirs].map(|books| books.renyi(1e-5).unwrap().improved.epsilon);
                    assert!((a / b - 1.0).abs() < 1e-9, "{sampling:?}, {sigma}: {a} {b}");
                    if sampling == SamplingPolicy::Poisson {
                        let [a, b] = [&ours, &theirs].map(|books| books.tight(1e-5).unwrap().value);
                        assert!((a / b - 1.0).abs() < 1e-9, "{sigma}, tight: {a} {b}");
                    }
                    let release = &ours.ledger().releases()[0];
                    release.validate().unwrap();
                    assert_eq!(
                        release.parts.len(),
                        1 + usize::from(adaptive_clip.is_some()) + usize::from(metrics.is_some())
                    );
                    let read = Ledger::from_json(&ours.ledger().to_json()).unwrap();
                    assert_eq!(&read, ours.ledger());
                }
                // The gradient gets more noise than it would have alone.
                let noise = |config: &RunConfig| Plan::new(config.clone(), 60_000).unwrap().task.noise.unwrap().scale();
                assert!(noise(&config) > noise(&plain));
            }
        }
    }
}

/// A ledger whose parts do not add up to its claim is refused.
#[test]
fn a_ledger_of_other_parts_is_refused() {
    let release = Plan::new(both(), TRAIN).unwrap().priced.unwrap().0;
    release.validate().unwrap();
    type Change = fn(&mut crate::accounting::ledger::Release);
    let changes: [Change; 5] = [
        |release| release.parts[1].noise *= 0.9,
        |release| release.parts.truncate(2),
        |release| release.noise = Some(NoiseSpec::Laplace { scale: 1.1 }),
        |release| release.parts[0].clip = f64::NAN,
        |release| release.noise = None,
    ];
    for change in changes {
        let mut other = release.clone();
        change(&mut other);
        assert!(other.validate().is_err() && Ledger::new().register(other).is_err());
    }
}

/// Both engines count the same, on every model, with shifted copies and with shared vectors.
#[test]
fn the_cpu_engine_counts_as_the_reference_does() {
    let mut configs: Vec<RunConfig> = Architecture::ALL
        .into_iter()
        .filter(|model| *model != Architecture::CnnRelu)
        .map(|model| RunConfig { model, encoder: EncoderSpec::Clip { norm: 4.0 }, ..both() })
        .collect();
    configs.push(RunConfig { augmentation: Some(Augmentation { copies: 2, reach: 1 }), ..both() });
    configs.push(RunConfig { encoder: EncoderSpec::Layers(LayerClip::even(1.0)), ..metrics(0.1) });
    let sharing = Sharing::Users { users: 40, skew: 0.3, seed: 1 };
    configs.push(RunConfig { sharing: Sharing::MicroBatches { size: 4 }, ..adaptive(0.5, 0.5) });
    configs.push(RunConfig { sharing, local: LocalSteps { steps: 3, rate: 0.3 }, lot: 10, ..adaptive(0.5, 0.5) });
    for config in configs {
        let name = format!("{:?} {:?} {:?}", config.model, config.encoder, config.sharing);
        let plan = Plan::new(config, TRAIN).unwrap();
        let mut ours = on_cpu(&plan);
        let mut theirs = ReferenceEngine::new(&plan.task, digits(), plan.config.init_seed).unwrap();
        let moved = [Shift { right: 1, down: -1 }, Shift::NONE];
        let shifts = if plan.task.copies == 2 { &moved[..] } else { Shift::ALONE };
        for (step, lot) in [(0..plan.units()).step_by(3).collect::<Vec<_>>(), vec![]].into_iter().enumerate() {
            let input = StepInput { shifts, ..StepInput::alone(&lot, [step as u32 + 3; 8], 0.5) };
            block_on(ours.traced_step(input.clone())).unwrap();
            theirs.step_now(&input).unwrap();
            let [a, b] = [block_on(ours.released_counts()).unwrap(), block_on(theirs.released_counts()).unwrap()];
            assert_eq!(a, b, "{name}, step {step}");
            assert_eq!(
                (a.within.is_some(), a.answers.is_some()),
                (plan.config.adaptive_clip.is_some(), plan.config.metrics.is_some()),
                "{name}"
            );
        }
    }
}

/// Counts are exact plus noise of the paid deviation. False alarm: 6e-5 per variance.
#[test]
fn released_counts_are_exact_counts_plus_noise() {
    let plan = Plan::new(RunConfig { learning_rate: 1e-9, ..both() }, TRAIN).unwrap();
    let mut engine = on_cpu(&plan);
    let lot: Vec<u32> = (0..TRAIN).collect();
    let (data, parameters) = (digits(), plan.initial_parameters());
    let mut gradient = vec![0.0; parameters.len()];
    let [mut within, mut right] = [0.0; 2];
    for i in 0..TRAIN as usize {
        reference::mean_gradient(plan.config.model, &parameters, &data, i, Shift::ALONE, &mut gradient);
        let norm = gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
        within += if norm <= 1.0 { 0.5 } else { -0.5 };
        let input = reference::inputs(plan.config.model, data.image(i));
        let logits = crate::model::reference::logits(plan.config.model, &parameters, &input);
        let best = (0..10).fold(0, |best, class| if logits[class] > logits[best] { class } else { best });
        right += if best == usize::from(data.labels[i]) { 0.5 } else { -0.5 };
    }
    const STEPS: u32 = 500;
    let counting = plan.task.counting;
    assert_eq!((counting.within, counting.answers), (Some(3.0), Some(6.0)));
    let mut squares = [0.0; 3];
    let (mut steps, mut gradient_square) = (0.0, 0.0);
    for step in 0..STEPS {
        let trace = block_on(engine.traced_step(StepInput::alone(&lot, [step + 1; 8], 1e-9))).unwrap();
        let told = block_on(engine.released_counts()).unwrap();
        let answers = told.answers.unwrap();
        squares[0] += ((told.within.unwrap() - within) / 3.0).powi(2);
        squares[1] += ((answers.right - right) / 6.0).powi(2);
        let count = |digit: usize| data.labels.iter().filter(|label| usize::from(**label) == digit).count() as f64;
        squares[2] +=
            answers.digits.iter().enumerate().map(|(digit, told)| ((told - count(digit)) / 6.0).powi(2)).sum::<f64>()
                / 10.0;
        if step < 4 {
            steps += trace.noisy.len() as f64;
            gradient_square +=
                trace.noisy.iter().zip(&trace.encoded).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
        }
    }
    for (square, draws) in squares.into_iter().zip([500.0, 500.0, 5000.0]) {
        let square = square / f64::from(STEPS);
        assert!((square - 1.0).abs() < 4.0 * (2.0_f64 / draws).sqrt(), "{squares:?}");
    }
    // The gradient's: (z⁻² − (2σ_b)⁻² − (5/4)σ_m⁻²)^{−½}.
    let sigma = (1.1_f64.powi(-2) - 6.0_f64.powi(-2) - 1.25 / 36.0).powf(-0.5);
    let found = gradient_square / steps / sigma.powi(2);
    assert!((found - 1.0).abs() < 4.0 * (2.0 / steps).sqrt(), "{found}");
}

/// Returns the norms of all gradients at these parameters, ascending.
fn norms(plan: &Plan, parameters: &[f32]) -> Vec<f64> {
    let (data, mut gradient) = (digits(), vec![0.0; parameters.len()]);
    let mut norms: Vec<f64> = (0..TRAIN as usize)
        .map(|i| {
            reference::mean_gradient(plan.config.model, parameters, &data, i, Shift::ALONE, &mut gradient);
            gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt()
        })
        .collect();
    norms.sort_by(f64::total_cmp);
    norms
}

/// From far below and far above, the clipping norm reaches the wanted quantile of the norms within
/// 12 % (noise moves it by a hundredth a step, and the norms of drawn digits lie close together).
/// It clips the sum, and the update is in units of gradients.
#[test]
fn the_clip_comes_to_the_quantile_of_the_norms() {
    for (quantile, norm) in [(0.5, 0.1), (0.5, 60.0), (0.8, 0.5)] {
        let config = RunConfig {
            encoder: EncoderSpec::Clip { norm },
            learning_rate: 1e-6,
            replay: Some(5),
            ..adaptive(quantile, 0.05)
        };
        let plan = Plan::new(config, TRAIN).unwrap();
        let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
        for _ in 0..150 {
            block_on(session.step()).unwrap();
        }
        let norms = norms(&plan, &plan.initial_parameters());
        let wanted = norms[(quantile * f64::from(TRAIN)) as usize];
        let late = &session.clips()[110..];
        let clip = late.iter().map(|clip| f64::from(*clip).ln()).sum::<f64>() / late.len() as f64;
        assert!((clip.exp() / wanted - 1.0).abs() < 0.12, "{quantile}: {} {wanted}", clip.exp());
        assert_eq!((session.clips().len(), session.clips()[0]), (150, norm as f32));
        // The engine has this clipping norm, and noise in its units.
        let EncoderSpec::Clip { norm: last } = session.task().encoder else { panic!("no clip") };
        assert_eq!(last as f32, session.clips()[149]);
        let expected = plan.task.noise.as_ref().unwrap().scale() / norm * last;
        assert!((session.task().noise.as_ref().unwrap().scale() / expected - 1.0).abs() < 1e-12);
        let before = block_on(session.engine().state()).unwrap();
        let trace = block_on(session.traced_step()).unwrap();
        let after = block_on(session.engine().state()).unwrap();
        let lot = session.plan().task.expected_lot;
        for ((a, b), g) in after.parameters.iter().zip(&before.parameters).zip(&trace.denoised) {
            assert!((a - (b - 1e-6 * (g / lot))).abs() <= 1e-6 * b.abs().max(1e-3), "{a} {b} {g}");
        }
    }
}

/// A resumed run has its clipping norms and averages back and continues as if uninterrupted.
#[test]
fn an_interrupted_run_goes_on() {
    let config = RunConfig { replay: Some(9), ..both() };
    let plan = Plan::new(config, TRAIN).unwrap();
    let run = |session: &mut Session<CpuEngine>, steps| (0..steps).for_each(|_| block_on(session.step()).unwrap());
    let mut whole = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
    run(&mut whole, 12);
    let mut begun = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
    run(&mut begun, 5);
    let state = block_on(begun.engine().state()).unwrap();
    let mut resumed = Session::resume(plan.clone(), on_cpu(&plan), begun.progress()).unwrap();
    block_on(resumed.engine().set_state(&state)).unwrap();
    run(&mut resumed, 4);
    // Another engine, as after the loss of a device.
    let state = block_on(resumed.engine().state()).unwrap();
    let mut other = on_cpu(&plan);
    block_on(other.set_state(&state)).unwrap();
    resumed.replace_engine(other);
    run(&mut resumed, 3);
    assert_eq!(resumed.clips(), whole.clips());
    let [a, b] = [&mut resumed, &mut whole].map(|session| {
        let report = block_on(session.report(None)).unwrap();
        (block_on(session.engine().state()).unwrap(), report.counted)
    });
    assert_eq!(a, b);
    let answers = a.1.answers.unwrap();
    assert!(answers.steps == 12 && answers.error() > 0.03 && answers.error() < 0.12, "{answers:?}");
    // A run without an adaptive clipping norm drops the clipping norms of a file.
    let plain = Plan::new(RunConfig { lot: 60, ..RunConfig::default() }, TRAIN).unwrap();
    let mut session =
        Session::resume(plain.clone(), on_cpu(&plain), Progress { ledger: Some(Ledger::new()), ..whole.progress() })
            .unwrap();
    assert_eq!(block_on(session.report(None)).unwrap().counted, crate::report::ReleasedMetrics::default());
}

/// Each phase has its own noise, clipping norm and counts.
#[test]
fn phases_have_counts_of_their_own() {
    let config = RunConfig { phases: "3; 4 noise 2 lot 100".parse().unwrap(), steps: Some(7), ..both() };
    let plan = Plan::new(config.clone(), TRAIN).unwrap();
    let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
    let mut before = 1.0;
    for step in 0..7 {
        block_on(session.step()).unwrap();
        let own = Plan::new(RunConfig { phases: crate::phases::Phases::None, ..config.in_step(step) }, TRAIN).unwrap();
        let clip = f64::from(session.clips()[step as usize]);
        let noise = session.task().noise.as_ref().unwrap().scale();
        assert!((noise / (own.task.noise.unwrap().scale() * clip) - 1.0).abs() < 1e-6, "{step}");
        assert_eq!(session.task().counting, own.task.counting);
        assert!(step == 0 || clip != before);
        before = clip;
    }
    let whole = projection::planned(&config, TRAIN, 7).unwrap();
    assert_eq!(session.ledger(), Some(whole.ledger()));
    let renyi = epsilon_of(whole.ledger(), 1e-5).unwrap().improved.epsilon;
    let plain = RunConfig { adaptive_clip: None, metrics: None, ..config };
    let plain = projection::planned(&plain, TRAIN, 7).unwrap().renyi(1e-5).unwrap().improved.epsilon;
    assert!((renyi / plain - 1.0).abs() < 1e-9, "{renyi} {plain}");
}

#[test]
fn released_accuracy_matches_the_model() {
    let config =
        RunConfig { metrics: Some(PaidMetrics { noise: 0.1 }), lot: 150, replay: Some(2), ..RunConfig::default() };
    let plan = Plan::new(config, TRAIN).unwrap();
    let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
    for _ in 0..300 {
        block_on(session.step()).unwrap();
    }
    let train = digits();
    let accuracy = block_on(session.accuracy(&train)).unwrap();
    let told = block_on(session.report(None)).unwrap().counted.answers.unwrap();
    // Five standard errors, and 0.03 for the model's change over the steps.
    assert!((told.accuracy - accuracy).abs() < 5.0 * told.error() + 0.03, "{told:?} {accuracy}");
    assert!(told.error() < 0.035 && accuracy > 0.5, "{told:?} {accuracy}");
    let count = |digit: usize| train.labels.iter().filter(|label| usize::from(**label) == digit).count() as f64;
    for (digit, share) in told.digits.iter().enumerate() {
        assert!(
            (share - count(digit) / f64::from(TRAIN)).abs() < 5.0 * (told.noise + told.drawn).sqrt(),
            "{digit}: {share}"
        );
    }
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let refused = |config: RunConfig| {
        let (price, plan) = (projection::cost(&config, TRAIN, 1).unwrap_err(), Plan::new(config, TRAIN).unwrap_err());
        assert_eq!(price.to_string(), plan.to_string());
        (plan.field(), plan.to_string())
    };
    for quantile in [0.0, 1.0, -0.5, 2.0, f64::NAN] {
        let (field, sentence) = refused(adaptive(quantile, 0.05));
        assert!(field == "adaptive-clip.quantile" && sentence.contains("above 0 and below 1"), "{sentence}");
    }
    // 2σ_b > z: at 60, above 1.1/120.
    for noise in [0.0, -1.0, 1.1 / 120.0, f64::NAN, f64::INFINITY] {
        let (field, sentence) = refused(adaptive(0.5, noise));
        assert!(field == "adaptive-clip.noise" && sentence.contains("more than the noise scale allows"), "{sentence}");
        let (field, sentence) = refused(metrics(noise));
        assert!(field == "metrics.noise" && sentence.contains("more than the noise scale allows"), "{sentence}");
    }
    Plan::new(adaptive(0.5, 1.11 / 120.0), TRAIN).unwrap();
    // Together they leave less: each alone could be.
    let few = |config: RunConfig| RunConfig { lot: 4, ..config };
    Plan::new(few(metrics(0.35)), TRAIN).unwrap();
    Plan::new(few(adaptive(0.5, 0.2)), TRAIN).unwrap();
    let (field, _) = refused(RunConfig { metrics: metrics(0.35).metrics, ..few(adaptive(0.5, 0.2)) });
    assert_eq!(field, "metrics.noise");
    let envelope =
        EncoderSpec::Envelope { shape: crate::mechanism::EnvelopeShape::Gaussian, vectors: 2, pre_scale: 1.0, seed: 0 };
    for own in [adaptive(0.5, 0.05), metrics(0.1)] {
        for (config, word) in [
            (RunConfig { noise: Some(NoiseSpec::Laplace { scale: 2.0 }), ..own.clone() }, "Gaussian"),
            (RunConfig { noise: None, ..own.clone() }, "Gaussian"),
            (RunConfig { encoder: envelope.clone(), ..own.clone() }, "only if it is clipped"),
            (RunConfig { encoder: EncoderSpec::None, ..own.clone() }, "only if it is clipped"),
            (RunConfig { grid_bits: Some(10), ..own.clone() }, "leave out the grid"),
            (RunConfig { bands: 2, ..own.clone() }, "choose 1 band"),
            (RunConfig { phases: "2; 3 laplace".parse().unwrap(), steps: Some(5), ..own.clone() }, "Gaussian"),
        ] {
            let (_, sentence) = refused(config);
            assert!(sentence.contains(word), "{sentence}");
        }
    }
    let phases = RunConfig { phases: "2; 3 clip 0.5".parse().unwrap(), steps: Some(5), ..adaptive(0.5, 0.05) };
    assert!(refused(phases).1.contains("follows the gradients' norms"));
    let layers = RunConfig { encoder: EncoderSpec::Layers(LayerClip::even(1.0)), ..adaptive(0.5, 0.05) };
    assert!(refused(layers).1.contains("whole gradients"));
    let shared = RunConfig { sharing: Sharing::MicroBatches { size: 2 }, ..metrics(0.5) };
    assert!(refused(shared).1.contains("example by example"));
}

/// Older configurations read as before; counts survive a round trip.
#[test]
fn files_of_before_have_no_counts() {
    let read = |text: &str| serde_json::from_str::<RunConfig>(text).unwrap();
    assert_eq!(read("{}"), RunConfig::default());
    let some = read(r#"{"adaptive-clip":{"quantile":0.5},"metrics":{"noise":0.1},"lot":60}"#);
    assert_eq!(some, both());
    assert_eq!(read(&serde_json::to_string(&some).unwrap()), some);
    assert_eq!(postcard::from_bytes::<RunConfig>(&postcard::to_stdvec(&some).unwrap()).unwrap(), some);
    let progress = Progress {
        step: 0,
        ledger: None,
        training: Duration::ZERO,
        non_finite: 0,
        counted: Default::default(),
        clips: vec![],
    };
    let plan = Plan::new(RunConfig { replay: Some(1), ..both() }, TRAIN).unwrap();
    let session = Session::resume(plan.clone(), on_cpu(&plan), progress).unwrap();
    assert_eq!(session.progress().counted.clip, Some(1.0));
}
