//! What canaries cost a step: runs of the linear model, lot 256, with 5000 of them and without, a few steps of each in turn on one thread, so that whatever else the
//! machine does falls on both.
//!
//! `cargo run --release --no-default-features --example audit_bench`

use std::{error::Error, time::Instant};

use hushgrad::{
    engine::{Performance, cpu::CpuEngine},
    train::{config::RunConfig, plan::Plan, session::Session},
};

#[allow(dead_code, reason = "tasks of other benches are there, too")]
#[path = "tasks.rs"]
mod tasks;

const EXAMPLES: u32 = 60_000;
const ROUNDS: usize = 400;
const STEPS: u32 = 10;
const CANARIES: [u32; 2] = [0, 5000];

fn main() -> Result<(), Box<dyn Error>> {
    let train = tasks::examples(EXAMPLES);
    let session = |canaries: u32| {
        let plan = Plan::new(RunConfig { lot: 256, canaries, ..RunConfig::default() }, EXAMPLES)?;
        let performance = Performance { chunk: None, threads: Some(1) };
        let engine = CpuEngine::new(plan.task.clone(), train.clone(), &plan.initial_parameters(), performance)?;
        Ok::<_, Box<dyn Error>>(Session::new(plan, engine)?)
    };
    let mut sessions = CANARIES.map(session).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut seconds = CANARIES.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for (session, seconds) in sessions.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            for _ in 0..STEPS {
                pollster::block_on(session.step())?;
            }
            seconds.push(start.elapsed().as_secs_f64() / f64::from(STEPS));
        }
    }
    let [plain, audited] = seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        [seconds[ROUNDS / 20], seconds[ROUNDS / 2]].map(|seconds| 1e6 * seconds)
    });
    for (name, place) in [("undisturbed (the 5th percentile)", 0), ("median", 1)] {
        let (plain, audited) = (plain[place], audited[place]);
        println!(
            "{name}: {plain:.0} µs a step without canaries, {audited:.0} µs with {}: {:+.1} %",
            CANARIES[1],
            100.0 * (audited / plain - 1.0)
        );
    }
    Ok(())
}
