//! Trains with a custom symmetric unimodal noise density under an envelope; one table serves both
//! pricing and sampling. Takes a few seconds, without downloads or WebGPU.
//!
//! `cargo run --no-default-features --example train_with_custom_noise [-- FORMULA]`

use std::error::Error;

use hushgrad::{
    accounting::{
        books::account,
        decimal::upper,
        noise::{CustomDensity, NoiseSpec},
    },
    data::synthetic,
    engine::{Performance, cpu::CpuEngine},
    mechanism::{EncoderSpec, EnvelopeShape},
    train::{config::RunConfig, plan::Plan, session::Session},
};

const TRAINING: usize = 4000;
const STEPS: u64 = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let formula = std::env::args().nth(1).unwrap_or_else(|| "exp(-x) / (1 + exp(-x))^2".to_owned());
    // Fails, with a position, unless positive, symmetric, unimodal and integrable.
    let density = CustomDensity::from_formula(&formula)?;
    let logistic = NoiseSpec::Custom { density, scale: 0.8 };
    let sigma = logistic.build()?.standard_deviation();
    println!("{STEPS} steps with density {formula}, and with Gaussian noise of its standard deviation, {sigma:.3}:\n");
    for noise in [logistic, NoiseSpec::Gaussian { sigma }] {
        pollster::block_on(train(noise))?;
    }
    Ok(())
}

async fn train(noise: NoiseSpec) -> Result<(), Box<dyn Error>> {
    let digits = synthetic::digits(1, TRAINING, 1000);
    let family = noise.family();
    let config = RunConfig {
        // Clamp by rank into eight vectors; with clips, only Gaussian noise has a tight price.
        encoder: EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 8, pre_scale: 1.0, seed: 1 },
        noise: Some(noise),
        lot: 200,
        steps: Some(STEPS),
        ..RunConfig::default()
    };
    let delta = config.delta;
    let plan = Plan::new(config, TRAINING as u32)?;
    let engine = CpuEngine::new(plan.task.clone(), digits.train, &plan.initial_parameters(), Performance::default())?;
    let mut session = Session::new(plan, engine)?;
    while !session.complete() {
        session.step().await?;
    }
    let accuracy = session.accuracy(&digits.test).await?;
    let account = account(session.ledger().ok_or("this run has no guarantee")?, delta)?;
    let tight = account.tight.map_or_else(|| "none".to_owned(), |tight| upper(tight.value, 4));
    println!("{family}: accuracy {:.1} %", 100.0 * accuracy);
    println!("  ε ≤ {tight} by tight accounting");
    println!("  ε ≤ {} by Rényi accounting", upper(account.improved.epsilon, 4));
    Ok(())
}
