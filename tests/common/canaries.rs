//! Properties of engines that add canaries of an audit.

use std::sync::Arc;

use hushgrad::{
    accounting::{noise::NoiseSpec, rounding::GridRounding},
    data::sharing::Sharing,
    engine::{Engine, LocalSteps, Performance, StepInput, Task},
    mechanism::{
        AdaptiveClip, EncoderSpec,
        canaries::{Canaries, DrawnCanary, Witness},
        counts::Counting,
    },
    model::{Architecture, initial_parameters},
};
use pollster::block_on;

use super::suite::*;

/// Some of ten canaries; a turned one has the opposite gradient.
const DRAWN: [DrawnCanary; 4] = [
    DrawnCanary { canary: 0, turned: false },
    DrawnCanary { canary: 3, turned: true },
    DrawnCanary { canary: 8, turned: false },
    DrawnCanary { canary: 9, turned: true },
];

/// Adds ten canaries to a task.
pub fn with_canaries(task: Task) -> Task {
    let p = task.model.parameters();
    let canaries = Canaries::draw(10, &task.encoder, task.envelope.as_deref(), p, 9).unwrap();
    Task { canaries: Some(Arc::new(canaries)), ..task }
}

/// The tasks to test: every encoder, with and without noise, on a grid, of units, with momentum.
fn audited() -> Vec<Task> {
    let gaussian = NoiseSpec::Gaussian { sigma: 0.7 };
    let grid = GridRounding::below(&*gaussian.build().unwrap(), 16).unwrap();
    let mut tasks = Vec::new();
    for encoder in encoders() {
        for noise in [Some(gaussian.clone()), Some(NoiseSpec::Laplace { scale: 0.4 }), None] {
            tasks.push(task(Architecture::Linear, encoder.clone(), noise));
        }
        let on_grid = Task { grid: Some(grid), ..task(Architecture::Linear, encoder.clone(), Some(gaussian.clone())) };
        // Only a single clip and an envelope have a grid.
        if matches!(encoder, EncoderSpec::Clip { .. } | EncoderSpec::Envelope { .. }) {
            tasks.push(on_grid);
        }
    }
    tasks.extend(Architecture::ALL.map(clip));
    tasks.push(clip(built(BUILT[1])));
    tasks.push(task(built(BUILT[0]), encoders().remove(6), Some(gaussian)));
    let local = LocalSteps { steps: 1, rate: 0.3 };
    tasks.push(Task { sharing: Sharing::Users { users: 12, skew: 0.3, seed: 1 }, local, ..clip(Architecture::Linear) });
    tasks.push(Task { momentum: 0.9, averaging: true, copies: 1, ..clip(Architecture::Mlp) });
    // Counted norms under a clip that follows them; the canaries are longer than any such clip.
    let longest = with_canaries(task(Architecture::Linear, EncoderSpec::Clip { norm: AdaptiveClip::MOST }, None));
    let counting = Counting { within: Some(1.0), answers: None };
    let followed = Task { counting, canaries: longest.canaries, ..clip(Architecture::Linear) };
    let mut tasks: Vec<Task> = tasks.into_iter().map(with_canaries).collect();
    tasks.extend([Task { encoder: EncoderSpec::Clip { norm: 1e-3 }, ..followed.clone() }, followed]);
    tasks
}

/// The tasks that an engine supports: all but refused sums on a grid, which another test checks.
fn audited_by<E: Engine>(make: Make<E>) -> Vec<Task> {
    let takes = |task: &Task| {
        let start = initial_parameters(task.model, SEED);
        task.grid.is_none() || make(task.clone(), examples(), &start, Performance::default()).is_ok()
    };
    audited().into_iter().filter(takes).collect()
}

fn seen(engine: &mut impl Engine) -> Witness {
    block_on(engine.witness()).unwrap()
}

/// A step with canaries, with and without examples, traced or not, is the reference's, and so is an
/// auditor's view of it, which can be taken once.
pub fn canaries_take_the_same_step<E: Engine>(make: Make<E>) {
    for task in audited_by(make) {
        let what = format!("{:?}, {:?}, {:?}, grid {:?}", task.model, task.encoder, task.noise, task.grid);
        let most = if matches!(task.encoder, EncoderSpec::Envelope { .. }) { 1e-3 } else { 2e-4 };
        let (mut ours, mut theirs) = pair(make, &task);
        for (number, lot, canaries) in [(1, &[1, 4, 7][..], &DRAWN[..]), (2, &[], &DRAWN[..]), (3, &[2, 5], &[])] {
            let input = || StepInput { canaries, ..input(lot, number) };
            let (one, other) =
                (block_on(ours.traced_step(input())).unwrap(), block_on(theirs.traced_step(input())).unwrap());
            for (name, one, other) in [
                ("raw", &one.raw, &other.raw),
                ("encoded", &one.encoded, &other.encoded),
                ("noisy", &one.noisy, &other.noisy),
            ] {
                let difference = relative_difference(one, other);
                assert!(difference < most, "{what}, {name} of {number}: {difference:.2e}");
            }
            let (one, other) = (seen(&mut ours), seen(&mut theirs));
            assert_eq!(one.released.len(), task.canaries.as_ref().unwrap().coordinates().len(), "{what}");
            assert!(relative_difference(&one.released, &other.released) < most, "{what}");
            let narrow = |examples: &[f64]| examples.iter().map(|&x| x as f32).collect::<Vec<_>>();
            assert!(relative_difference(&narrow(&one.examples), &narrow(&other.examples)) < most, "{what}");
            assert_eq!(one.within, other.within, "{what}");
            // Each added canary is longer than the clip.
            let told =
                [block_on(ours.released_counts()).unwrap().within, block_on(theirs.released_counts()).unwrap().within];
            assert_eq!(told[0], told[1], "{what}");
            assert_eq!(seen(&mut ours), Witness::default(), "{what}: asked for twice");
        }
        let (mut traced, mut plain) = (pair(make, &task).0, pair(make, &task).0);
        let input = || StepInput { canaries: &DRAWN, ..input(&[1, 4], 5) };
        block_on(traced.traced_step(input())).unwrap();
        block_on(plain.step(input())).unwrap();
        assert_eq!(parameters(&mut traced), parameters(&mut plain), "{what}");
        assert_eq!(seen(&mut traced), seen(&mut plain), "{what}");
    }
}

/// At the canaries' coordinates, the released sum less the examples' part is the noise of the
/// step's key plus the encoded canaries, up to the rounding of the sums.
pub fn an_auditor_sees_noise_and_canaries<E: Engine>(make: Make<E>) {
    for task in audited_by(make) {
        let what = format!("{:?}, {:?}, {:?}, grid {:?}", task.model, task.encoder, task.noise, task.grid);
        let (mut engine, mut alone) = (pair(make, &task).0, pair(make, &task).0);
        let canaries = task.canaries.clone().unwrap();
        // A step that drew nothing releases noise alone.
        block_on(alone.step(StepInput { canaries: &[], ..input(&[], 1) })).unwrap();
        let noise = seen(&mut alone);
        assert!(noise.examples.iter().all(|&x| x == 0.0), "{what}");
        assert_eq!(noise.released.iter().any(|&x| x != 0.0), task.noise.is_some(), "{what}");
        let lot: &[u32] = &[1, 4, 7, 9];
        block_on(engine.step(StepInput { canaries: &DRAWN, ..input(lot, 1) })).unwrap();
        let Witness { released, examples, .. } = seen(&mut engine);
        let encoder = task.prepared_encoder(task.model.parameters()).unwrap();
        let encoded = canaries.encoded(&encoder, task.sum_grid(), &task.model.lengths());
        // A canary's coordinate is rounded to the grid of the sums, and the released value to f32.
        let step = task.sum_grid().map_or(0.0, |grid| grid.step().into());
        let spacing = task.grid.map_or(0.0, |grid| grid.spacing());
        let mut added = 0;
        for (place, (&released, &examples)) in released.iter().zip(&examples).enumerate() {
            let drawn = DRAWN.iter().find(|drawn| drawn.canary as usize == place / canaries.each());
            let own = match drawn.filter(|_| place < encoded.len()) {
                Some(drawn) if drawn.turned => -f64::from(encoded[place]),
                Some(_) => f64::from(encoded[place]),
                None => 0.0,
            };
            added += u32::from(own != 0.0);
            let left = f64::from(released) - examples - f64::from(noise.released[place]);
            let size = f64::from(released.abs()) + examples.abs() + own.abs() + f64::from(noise.released[place].abs());
            let most = size * f64::from(f32::EPSILON) + 4.0 * step + 2.0 * spacing + 2e-5 * own.abs();
            assert!((left - own).abs() <= most, "{what} at {place}: {left} of {own}");
        }
        assert_eq!(added as usize, DRAWN.len() * canaries.each(), "{what}");
    }
}

/// An unknown canary, or a canary in a task without any, is refused, and changes nothing.
pub fn canaries_that_are_not_there_are_refused<E: Engine>(make: Make<E>) {
    let beyond = [DrawnCanary { canary: 10, turned: false }];
    for (task, canaries) in
        [(with_canaries(clip(Architecture::Linear)), &beyond[..]), (clip(Architecture::Linear), &DRAWN[..1])]
    {
        let (mut engine, _) = pair(make, &task);
        let before = block_on(engine.state()).unwrap();
        let refused = block_on(engine.step(StepInput { canaries, ..input(&[1], 1) })).unwrap_err();
        assert!(refused.to_string().contains("canary"), "{refused}");
        assert!(block_on(engine.traced_step(StepInput { canaries, ..input(&[1], 1) })).is_err());
        assert_eq!(block_on(engine.state()).unwrap(), before);
    }
}
