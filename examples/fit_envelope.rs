//! Tool, not an example: measures the gradients of drawn digits, from which the envelope shape
//! *like drawn digits* is drawn.
//!
//! `cargo run --release --no-default-features --example fit_envelope > crates/core/src/mechanism/gradients.rs`

use futures_executor::block_on;
use hushgrad::{
    data::{Dataset, synthetic},
    engine::{Engine, Performance, cpu::CpuEngine, reference::inputs},
    mechanism::{Denoiser, EncoderSpec},
    model::{Architecture, reference},
    train::{config::RunConfig, plan::Plan, session::Session},
};

/// Seed of the digits and of the lots, all public.
const SEED: u64 = 5;
const TRAIN: u32 = 10_000;
/// Steps after which gradients are measured, on that many digits each.
const STEPS: [u64; 4] = [0, 25, 100, 300];
const MEASURED: usize = 50;
/// Shares of coordinates 2^−k/2 at which quantiles are kept.
const KNOTS: u32 = 35;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let train = synthetic::digits(SEED, TRAIN as usize, 1).train;
    println!("//! Quantiles of gradients' magnitudes, measured on drawn digits by `examples/fit_envelope.rs`.\n");
    println!(
        "/// Magnitudes that shares 1, 2^−½, 2^−1, … of a gradient's coordinates exceed, in units of its root mean\n/// square; by number of parameters. The first is of all models together."
    );
    println!("pub(super) const QUANTILES: [(usize, [f64; {KNOTS}]); 5] = [");
    let models = [
        Architecture::Scattering,
        Architecture::Linear,
        Architecture::CnnTanh,
        Architecture::CnnRelu,
        Architecture::Mlp,
    ];
    let measured: Vec<(usize, Vec<f64>)> = models
        .iter()
        .map(|&model| Ok((model.parameters(), quantiles(model, &train)?)))
        .collect::<Result<_, Box<dyn std::error::Error>>>()?;
    let mean = |of: &[&Vec<f64>]| -> Vec<f64> {
        (0..KNOTS as usize).map(|k| of.iter().map(|values| values[k]).sum::<f64>() / of.len() as f64).collect()
    };
    let mut sizes: Vec<usize> = measured.iter().map(|(p, _)| *p).collect();
    sizes.dedup();
    let all: Vec<&Vec<f64>> = measured.iter().map(|(_, values)| values).collect();
    print(0, &mean(&all));
    for p in sizes {
        let own: Vec<&Vec<f64>> = measured.iter().filter(|(of, _)| *of == p).map(|(_, values)| values).collect();
        print(p, &mean(&own));
    }
    println!("];");
    Ok(())
}

fn print(p: usize, values: &[f64]) {
    let numbers: Vec<String> = values.iter().map(|value| format!("{:.3e}", value)).collect();
    println!("    ({p}, [{}]),", numbers.join(", "));
}

/// Mean quantiles over digits and steps of plain training.
fn quantiles(model: Architecture, train: &Dataset) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let p = model.parameters();
    let mut sums = vec![0.0; KNOTS as usize];
    let mut measured = 0.0;
    for steps in STEPS {
        let config = RunConfig {
            model,
            encoder: EncoderSpec::None,
            noise: None,
            denoiser: Denoiser::None,
            learning_rate: 0.2,
            steps: Some(steps.max(1)),
            replay: Some(SEED),
            ..RunConfig::default()
        };
        let plan = Plan::new(config, TRAIN)?;
        let engine =
            CpuEngine::new(plan.task.clone(), train.clone(), &plan.initial_parameters(), Performance::default())?;
        let mut session = Session::new(plan, engine)?;
        for _ in 0..steps {
            block_on(session.step())?;
        }
        let parameters = block_on(session.engine().state())?.parameters;
        let mut gradient = vec![0.0f32; p];
        for i in 0..MEASURED {
            reference::gradient(model, &parameters, &inputs(model, train.image(i)), train.labels[i], &mut gradient);
            let mut magnitudes: Vec<f64> = gradient.iter().map(|g| f64::from(g.abs())).collect();
            magnitudes.sort_unstable_by(|a, b| b.total_cmp(a));
            let square = magnitudes.iter().map(|g| g * g).sum::<f64>() / p as f64;
            // A digit that is learned has next to no gradient.
            if square.sqrt() < 1e-12 {
                continue;
            }
            measured += 1.0;
            for (k, sum) in sums.iter_mut().enumerate() {
                let rank = (p as f64 * 0.5f64.powf(k as f64 / 2.0)) as usize;
                *sum += magnitudes[rank.clamp(1, p) - 1] / square.sqrt();
            }
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= measured);
    Ok(sums)
}
