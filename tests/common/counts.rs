//! Properties of engines that release counts with their steps.

use hushgrad::{
    accounting::{
        groups::{Clipping, NoiseStrategy},
        noise::NoiseSpec,
    },
    data::{Shift, sharing::Sharing},
    engine::{
        Engine, LocalSteps, Performance, Task,
        reference::{self, ReferenceEngine},
    },
    mechanism::{
        EncoderSpec, State,
        counts::{Counting, ReleasedCounts},
    },
    model::{Architecture, PIXELS, initial_parameters},
};
use pollster::block_on;

use super::suite::*;

const BOTH: Counting = Counting { within: Some(0.5), answers: Some(0.7) };
const NORMS: Counting = Counting { within: Some(0.5), answers: None };
const ANSWERS: Counting = Counting { within: None, answers: Some(0.7) };

fn told(engine: &mut impl Engine) -> ReleasedCounts {
    block_on(engine.released_counts()).unwrap()
}

/// The median norm of some gradients: half of them are within it.
fn middle(model: Architecture, start: &[f32]) -> f64 {
    let (data, mut gradient) = (examples(), vec![0.0; start.len()]);
    let norm = |example| {
        reference::mean_gradient(model, start, &data, example, Shift::ALONE, &mut gradient);
        gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt()
    };
    let mut norms: Vec<f64> = (0..20).map(norm).collect();
    norms.sort_by(f64::total_cmp);
    // Between two norms.
    0.5 * (norms[9] + norms[10])
}

/// Tasks that count: with one clip or one per layer, of single examples or of shared vectors.
fn tasks(model: Architecture, norm: f64) -> Vec<Task> {
    let clipped = |norm: f64, counting| {
        let noise = Some(NoiseSpec::Gaussian { sigma: 0.1 });
        Task { counting, ..task(model, EncoderSpec::Clip { norm }, noise) }
    };
    let layered = layers(Clipping::Separate, NoiseStrategy::Proportional, &[0.4]);
    let users = Sharing::Users { users: 12, skew: 0.3, seed: 1 };
    let local = LocalSteps { steps: 1, rate: 0.3 };
    vec![
        clipped(norm, BOTH),
        Task { noise: None, ..clipped(norm, NORMS) },
        Task { encoder: layered, ..clipped(1.0, ANSWERS) },
        Task { sharing: Sharing::MicroBatches { size: 4 }, ..clipped(0.6 * norm, NORMS) },
        Task { sharing: users, local, ..clipped(0.2 * norm, NORMS) },
    ]
}

/// Released counts equal the reference's to the last bit, so the exact counts are the same: in
/// chunks of any size, for any lot, whatever the step before counted.
pub fn counts_are_the_references<E: Engine>(make: Make<E>) {
    for model in models(make) {
        let start = initial_parameters(model, SEED);
        let data = if model == Architecture::Scattering { known_examples() } else { examples() };
        for (place, task) in tasks(model, middle(model, &start)).into_iter().enumerate() {
            let what = format!("{model:?}, {:?}, {:?}, {:?}", task.encoder, task.sharing, task.counting);
            let units: Vec<u32> = (0..task.sharing.units(EXAMPLES as u32)).collect();
            let lots = [&units[..], &[], &units[1..units.len() / 2]];
            let mut reference = ReferenceEngine::new(&task, data.clone(), SEED).unwrap();
            // Each step starts anew, so that no gradient crosses the clip in f32.
            let again = State::start(start.clone(), false);
            let of_reference = |(number, lot): (u32, &&[u32])| {
                block_on(reference.set_state(&again)).unwrap();
                step(&mut reference, lot, number);
                told(&mut reference)
            };
            let expected: Vec<ReleasedCounts> = (1..).zip(&lots).map(of_reference).collect();
            let chunks = [Some(7), None, Some(1), Some(64)];
            for &chunk in &chunks[..if place == 0 { 4 } else { 1 }] {
                let performance = Performance { chunk, threads: Some(2) };
                let mut engine = make(task.clone(), data.clone(), &start, performance).unwrap();
                assert_eq!(told(&mut engine), ReleasedCounts::default(), "{what}: before a step nothing is told");
                for ((number, lot), expected) in (1..).zip(lots).zip(&expected) {
                    block_on(engine.set_state(&again)).unwrap();
                    if number == 1 {
                        drop(traced(&mut engine, lot, number))
                    } else {
                        step(&mut engine, lot, number)
                    }
                    assert_eq!(told(&mut engine), *expected, "{what}, chunks of {chunk:?}, step {number}");
                }
                // Other calls count nothing.
                block_on(engine.scores(&data)).unwrap();
                block_on(engine.predict(&[0.5; PIXELS])).unwrap();
                assert_eq!(told(&mut engine), expected[2], "{what}, once more");
            }
            if let Some(all) = expected[0].within.filter(|_| place == 0) {
                assert!(all.abs() < 0.4 * units.len() as f64, "{what}: some are within the clip, some are not: {all}");
            }
            if let Some(answers) = expected[0].answers {
                let count: f64 = answers.digits.iter().sum();
                assert!((count - EXAMPLES as f64).abs() < 20.0, "{what}: {count} digits");
            }
        }
    }
}

/// Steps may have another clip and noise: counts and step are those of an engine made for them.
pub fn counts_follow_the_clip<E: Engine>(make: Make<E>) {
    for model in models(make) {
        let first = Task { counting: BOTH, ..clip(model) };
        let (mut engine, mut reference) = pair(make, &first);
        let lot: Vec<u32> = (0..EXAMPLES as u32).collect();
        let mut last = None;
        for (number, norm) in (1..).zip([1.0, 6.0, 0.02, 3.0, 3.1, 40.0]) {
            let counting = Counting { within: Some(0.5 * f64::from(number)), ..BOTH };
            let next = Task { counting, ..first.with_clip(norm) };
            block_on(engine.set_task(&next)).unwrap();
            block_on(reference.set_task(&next)).unwrap();
            let start = State::start(initial_parameters(model, SEED), false);
            block_on(engine.set_state(&start)).unwrap();
            block_on(reference.set_state(&start)).unwrap();
            // The last step's counts can be read until the next step.
            if let Some(last) = last {
                assert_eq!(told(&mut engine), last, "{model:?}, before a step at {norm}");
            }
            step(&mut engine, &lot, number);
            step(&mut reference, &lot, number);
            assert_eq!(told(&mut engine), told(&mut reference), "{model:?}, clip {norm}");
            last = Some(told(&mut engine));
            let moved = [parameters(&mut engine), parameters(&mut reference)].map(|p| minus(&p, &start.parameters));
            assert!(relative_difference(&moved[0], &moved[1]) < 1e-4, "{model:?}, clip {norm}");
        }
        // Counting something else makes another kind of task.
        for counting in [NORMS, ANSWERS, Counting::default()] {
            assert!(block_on(engine.set_task(&Task { counting, ..first.clone() })).is_err(), "{counting:?}");
        }
    }
}

/// An example with a non-finite gradient adds to no count, alone or with the rest of its unit.
pub fn what_is_not_finite_is_not_counted<E: Engine>(make: Make<E>) {
    let mut data = examples();
    let mut images = data.images.to_vec();
    for (k, image) in images.chunks_exact_mut(PIXELS).enumerate() {
        for y in 0..8 {
            image[y * 28..][..8].fill(0);
        }
        image[..2].fill(if k == 9 { 255 } else { 0 });
    }
    data.images = images.into();
    for model in models(make) {
        let one = [(Task { counting: BOTH, ..clip(model) }, vec![2, 5, 9, 30, 31], vec![2, 5, 30, 31])];
        for (task, with, without) in one.iter().filter(|_| breaks(&model)) {
            let start = breaking_parameters(model);
            let [with, without] = [with, without].map(|lot| {
                let mut engine = make(task.clone(), data.clone(), &start, Performance::default()).unwrap();
                step(&mut engine, lot, 1);
                (told(&mut engine), metrics(&mut engine).non_finite)
            });
            assert_eq!((with.1, without.1), (1, 0), "{model:?}");
            assert_eq!(with.0, without.0, "{model:?}");
        }
        // If all are broken, only noise is released.
        let shared = Sharing::MicroBatches { size: 4 };
        for (counting, sharing) in [(BOTH, Sharing::Alone), (NORMS, shared)] {
            let task = Task { counting, sharing, ..clip(model) };
            let broken = vec![f32::NAN; model.parameters()];
            let [all, none] = [&[1, 2, 3, 5, 8][..], &[]].map(|lot| {
                let mut engine = make(task.clone(), examples(), &broken, Performance::default()).unwrap();
                step(&mut engine, lot, 1);
                told(&mut engine)
            });
            assert_eq!(all, none, "{model:?}, {sharing:?}");
        }
    }
}
