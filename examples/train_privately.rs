//! Trains the linear model privately on synthetic digits, in seconds without downloads or WebGPU.
//!
//! `cargo run --no-default-features --example train_privately [-- STEPS]`

use std::error::Error;

use hushgrad::{
    accounting::{books::account, decimal::upper, noise::NoiseSpec},
    data::synthetic,
    engine::{Performance, cpu::CpuEngine},
    mechanism::EncoderSpec,
    model::Architecture,
    train::{config::RunConfig, plan::Plan, session::Session},
};

const TRAINING: usize = 6000;
const DELTA: f64 = 1e-5;

fn main() -> Result<(), Box<dyn Error>> {
    let steps: u64 = std::env::args().nth(1).map_or(Ok(120), |text| text.parse())?;
    let digits = synthetic::digits(1, TRAINING, 1000);

    // The configuration. `Plan::new` checks it against the training set and prices a step.
    let config = RunConfig {
        model: Architecture::Linear,
        encoder: EncoderSpec::Clip { norm: 1.0 },
        noise: Some(NoiseSpec::Gaussian { sigma: 1.5 }),
        lot: 200,
        learning_rate: 0.5,
        delta: DELTA,
        steps: Some(steps),
        ..RunConfig::default()
    };
    let plan = Plan::new(config, TRAINING as u32)?;
    let engine = CpuEngine::new(plan.task.clone(), digits.train, &plan.initial_parameters(), Performance::default())?;
    let mut session = Session::new(plan, engine)?;

    println!("{:>5}  {:>8}  {:>7}", "step", "accuracy", "ε");
    pollster::block_on(async {
        while !session.complete() {
            session.step().await?;
            if session.step_count() % 20 == 0 || session.complete() {
                let accuracy = session.accuracy(&digits.test).await?;
                // The ledger is written before a step is released, so ε is never underestimated.
                let ledger = session.ledger().ok_or("this run has no guarantee")?;
                let account = account(ledger, DELTA)?;
                let epsilon = account.tight.map_or(account.improved.epsilon, |tight| tight.value);
                println!("{:>5}  {:>6.1} %  {:>7}", session.step_count(), 100.0 * accuracy, upper(epsilon, 3));
            }
        }
        Ok::<(), Box<dyn Error>>(())
    })?;

    let ledger = session.ledger().ok_or("this run has no guarantee")?;
    println!("\n{}", account(ledger, DELTA)?);
    Ok(())
}
