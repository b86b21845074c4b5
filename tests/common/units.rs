//! Properties of engines that support units of several examples.

use hushgrad::{
    accounting::noise::NoiseSpec,
    data::sharing::{Sharing, Units},
    engine::{Engine, LocalSteps, Performance, StepTrace, Task, reference::ReferenceEngine},
    mechanism::EncoderSpec,
    model::{Architecture, initial_parameters},
};
use pollster::block_on;

use super::suite::*;

/// If examples share vectors, steps, traces and counts are the reference's, in any number of blocks
/// and chunks; one broken example breaks its unit.
pub fn units_take_the_same_step<E: Engine>(make: Make<E>) {
    let micro_batches = (Sharing::MicroBatches { size: 4 }, LocalSteps::MEAN);
    let users = |users| (Sharing::Users { users, skew: 0.3, seed: 1 }, LocalSteps { steps: 1, rate: 0.3 });
    for model in models(make) {
        let encoders = encoders().into_iter().filter(|encoder| !matches!(encoder, EncoderSpec::Layers(_)));
        let encoders: Vec<EncoderSpec> = encoders.collect();
        // Users' vectors are made like those of micro-batches, so one clip is enough.
        for ((sharing, local), encoders) in
            [(micro_batches, &encoders[..]), (users(12), &encoders[2..3]), (users(3), &encoders[2..3])]
        {
            for encoder in encoders.iter().cloned() {
                let noise = Some(NoiseSpec::Gaussian { sigma: 0.7 });
                let task = Task { sharing, local, ..task(model, encoder, noise) };
                let units: Vec<u32> = (0..sharing.units(EXAMPLES as u32)).collect();
                for lot in [&units[..units.len().min(6)], &[]] {
                    assert_same_step(make, &task, lot);
                }
                let start = initial_parameters(model, SEED);
                let data = if model == Architecture::Scattering { known_examples() } else { examples() };
                let performance = Performance { chunk: Some(7), ..Performance::default() };
                let mut engine = make(task.clone(), data.clone(), &start, performance).unwrap();
                let mut reference = ReferenceEngine::new(&task, data, SEED).unwrap();
                let (ours, theirs) = (traced(&mut engine, &units, 1), traced(&mut reference, &units, 1));
                let what = format!("{model:?}, {sharing:?}, {:?}", task.encoder);
                let noise = |trace: &StepTrace| minus(&trace.noisy, &trace.encoded);
                assert!(relative_difference(&ours.raw, &theirs.raw) < 2e-4, "{what}");
                assert!(relative_difference(&noise(&ours), &noise(&theirs)) < 2e-4, "{what}");
                if task.encoder.clips() {
                    // A few units' coordinates are few grid steps: steps tell rounding from a
                    // fault, length does not.
                    assert_same_steps(&task, &ours.encoded, &theirs.encoded, units.len());
                } else {
                    // In an envelope some are near a bucket's edge.
                    assert!(relative_difference(&ours.encoded, &theirs.encoded) < 1e-3, "{what}");
                }
                // A unit that does not exist.
                let after = units.len() as u32;
                assert!(block_on(engine.step(input(&[after], 2))).is_err());
            }
        }
        // With all parameters broken, each unit that has examples is counted, and adds nothing.
        let (sharing, local) = users(12);
        let task = Task { sharing, local, ..clip(model) };
        let mut engine = make(task, examples(), &vec![f32::NAN; model.parameters()], Performance::default()).unwrap();
        let all: Vec<u32> = (0..12).collect();
        let trace = traced(&mut engine, &all, 1);
        assert!(trace.encoded.iter().all(|&v| v == 0.0), "{model:?}");
        let units = Units::of(sharing, &examples()).unwrap();
        let there = all.iter().filter(|unit| !units.members(**unit).is_empty()).count();
        assert_eq!(metrics(&mut engine).non_finite, there as u64, "{model:?}");
    }
}

/// Clips each layer of what a user or a micro-batch adds, in one or `local_steps` local steps.
pub fn layers_of_units_are_clipped<E: Engine>(make: Make<E>, local_steps: u32) {
    let named = [Architecture::Mlp, Architecture::CnnTanh];
    for model in models(make).into_iter().filter(|model| !model.is_named() || named.contains(model)) {
        for encoder in encoders().into_iter().filter(|encoder| matches!(encoder, EncoderSpec::Layers(_))) {
            for (sharing, steps) in [
                (Sharing::MicroBatches { size: 4 }, 1),
                (Sharing::Users { users: 12, skew: 0.3, seed: 1 }, local_steps),
            ] {
                let local = LocalSteps { steps, rate: if steps > 1 { 0.3 } else { 1.0 } };
                // Without noise there is no grid, whose steps are large for a small layer's bound.
                let task = Task { sharing, local, ..task(model, encoder.clone(), None) };
                assert_same_step(make, &task, &[1, 3, 6]);
            }
        }
    }
}
