//! Canaries add along their own coordinates, bit for bit, what kernels add for the whole gradient.

use std::sync::Arc;

use futures_executor::block_on;

use super::*;
use crate::{
    accounting::{
        groups::{Clipping, NoiseStrategy},
        noise::NoiseSpec,
        rounding::GridRounding,
    },
    data::synthetic,
    mechanism::{EncoderSpec, EnvelopeShape, LayerClip, envelope::Envelope},
    model::initial_parameters,
};

fn tasks() -> Vec<Task> {
    let envelope = |shape, vectors, pre_scale| EncoderSpec::Envelope { shape, vectors, pre_scale, seed: 3 };
    let layers = |clipping, strategy, norms: &[f64]| {
        EncoderSpec::Layers(LayerClip { norms: norms.to_vec(), clipping, strategy, ..LayerClip::even(1.0) })
    };
    let encoders = [
        EncoderSpec::None,
        EncoderSpec::Clip { norm: 0.3 },
        EncoderSpec::Clip { norm: 7.7e-3 },
        envelope(EnvelopeShape::Gaussian, 1, 1.0),
        envelope(EnvelopeShape::Sparse, 3, 0.25),
        envelope(EnvelopeShape::HeavyTailed, 7, 2.0),
        layers(Clipping::Separate, NoiseStrategy::Proportional, &[0.4, 1.3]),
        layers(Clipping::Joint, NoiseStrategy::DimensionAdjusted, &[3.0]),
    ];
    let gaussian = NoiseSpec::Gaussian { sigma: 0.7 };
    let grid = GridRounding::below(&*gaussian.build().unwrap(), 12).unwrap();
    let mut tasks = Vec::new();
    for (model, encoder) in encoders
        .into_iter()
        .flat_map(|encoder| [Architecture::Linear, Architecture::Mlp].map(|model| (model, encoder.clone())))
    {
        let envelope = match encoder {
            EncoderSpec::Envelope { shape, vectors, seed, .. } => {
                Some(Arc::new(Envelope::draw(shape, vectors, model.parameters(), seed).unwrap()))
            }
            _ => None,
        };
        let clips = matches!(encoder, EncoderSpec::Clip { .. } | EncoderSpec::Envelope { .. });
        let canaries = Canaries::draw(30, &encoder, envelope.as_deref(), model.parameters(), 9).unwrap();
        let canaries = Some(Arc::new(canaries));
        let task = Task { encoder, envelope, canaries, ..Task::without_privacy(model) };
        if clips {
            tasks.push(Task { noise: Some(gaussian.clone()), grid: Some(grid), ..task.clone() });
        }
        tasks.push(Task { noise: Some(gaussian.clone()), ..task.clone() });
        tasks.push(task);
    }
    // Clips with more norms than the model has layers are dropped.
    tasks.retain(
        |task| !matches!(&task.encoder, EncoderSpec::Layers(clip) if clip.norms.len() > task.model.lengths().len()),
    );
    tasks
}

#[test]
fn canaries_add_their_encoded_gradients() {
    let train = synthetic::digits(1, 20, 1).train;
    for task in tasks() {
        let what = format!("{:?}, {:?}, grid {:?}, noise {:?}", task.model, task.encoder, task.grid, task.noise);
        let start = initial_parameters(task.model, 1);
        let one = Performance { chunk: None, threads: Some(1) };
        let mut engine = CpuEngine::new(task.clone(), train.clone(), &start, one).unwrap();
        let (p, canaries) = (task.model.parameters(), task.canaries.clone().unwrap());
        let drawn: Vec<DrawnCanary> =
            (0..canaries.len() as u32).map(|canary| DrawnCanary { canary, turned: canary % 3 == 1 }).collect();
        let drawn = &drawn[..drawn.len() - 5];
        // On top of a lot, so that sums start at arbitrary points of the grid.
        block_on(engine.encode(&StepInput::alone(&[1, 4, 9], [1; 8], 0.1))).unwrap();
        let (mut expected, mut on_grid) = (engine.sum.clone(), engine.on_grid.clone());
        let mut gradient = vec![0.0; padded(p)];
        for &drawn in drawn {
            canaries.gradient(drawn, &mut gradient);
            match (&mut on_grid, &engine.encoder) {
                (Some(on_grid), Some(encoder)) => {
                    encoder.encode_on(None, &mut gradient[..p]);
                    on_grid.add(&gradient[..p]);
                }
                _ => engine.kernels.add_vector(&engine.encoding, &gradient, &mut expected),
            }
        }
        if let Some(on_grid) = &on_grid {
            expected.iter_mut().zip(on_grid.value()).for_each(|(sum, value)| *sum = value.into());
        }
        engine.add_canaries(&canaries, drawn);
        assert_eq!(engine.sum, expected, "{what}");
        if let (Some(ours), Some(theirs)) = (&engine.on_grid, &on_grid) {
            assert_eq!(ours.value(), theirs.value(), "{what}");
        }
        let moved = expected.iter().filter(|sum| **sum != 0.0).count();
        assert!(moved >= drawn.len() * canaries.each(), "{what}: {moved}");
    }
}

/// After a change of the clip norm, canaries are encoded anew.
#[test]
fn canaries_are_encoded_anew_for_another_task() {
    let train = synthetic::digits(1, 20, 1).train;
    let encoder = EncoderSpec::Clip { norm: 1.0 };
    let canaries = Canaries::draw(3, &encoder, None, Architecture::Linear.parameters(), 9).unwrap();
    let noise = Some(NoiseSpec::Gaussian { sigma: 0.7 });
    let task =
        Task { encoder, noise, canaries: Some(Arc::new(canaries)), ..Task::without_privacy(Architecture::Linear) };
    let start = initial_parameters(task.model, 1);
    let mut engine = CpuEngine::new(task.clone(), train, &start, Performance::default()).unwrap();
    let drawn = [DrawnCanary { canary: 1, turned: false }];
    let at = task.canaries.as_ref().unwrap().coordinates()[1] as usize;
    let added = |engine: &mut CpuEngine| {
        block_on(engine.step(StepInput { canaries: &drawn, ..StepInput::alone(&[], [2; 8], 0.0) })).unwrap();
        engine.sum[at].abs()
    };
    let first = added(&mut engine);
    block_on(engine.set_task(&task.with_clip(0.25))).unwrap();
    let second = added(&mut engine);
    assert!(first > 0.99 && first <= 1.0 && (second - 0.25 * first).abs() < 1e-4, "{first} {second}");
}
