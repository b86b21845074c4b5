//! Cost of canaries per step: the linear model at lot 256 with 5000 canaries, with none, and with
//! 5000 more examples instead. Runs alternate on one thread, so that other load affects all alike.
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
const CANARIES: u32 = 5000;
/// Name of each run, its examples and its canaries.
const RUNS: [(&str, u32, u32); 3] = [
    ("without canaries", EXAMPLES, 0),
    ("with as many examples more", EXAMPLES + CANARIES, 0),
    ("with 5000 canaries", EXAMPLES, CANARIES),
];

fn main() -> Result<(), Box<dyn Error>> {
    let session = |(_, examples, canaries): (_, u32, u32)| {
        let plan = Plan::new(RunConfig { lot: 256, canaries, ..RunConfig::default() }, examples)?;
        let performance = Performance { chunk: None, threads: Some(1) };
        let train = tasks::examples(examples);
        let engine = CpuEngine::new(plan.task.clone(), train, &plan.initial_parameters(), performance)?;
        Ok::<_, Box<dyn Error>>(Session::new(plan, engine)?)
    };
    let mut sessions = RUNS.map(session).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut seconds = RUNS.map(|_| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for (session, seconds) in sessions.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            for _ in 0..STEPS {
                pollster::block_on(session.step())?;
            }
            seconds.push(start.elapsed().as_secs_f64() / f64::from(STEPS));
        }
    }
    seconds.iter_mut().for_each(|seconds| seconds.sort_by(f64::total_cmp));
    for (what, place) in [("undisturbed (the 5th percentile)", ROUNDS / 20), ("median", ROUNDS / 2)] {
        println!("microseconds a step, {what}:");
        for ((name, ..), own) in RUNS.iter().zip(&seconds) {
            let (own, plain) = (own[place], seconds[0][place]);
            println!("{:>6.0}  {name}: {:+.1} %", 1e6 * own, 100.0 * (own / plain - 1.0));
        }
    }
    Ok(())
}
