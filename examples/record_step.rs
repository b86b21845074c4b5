//! Tool, not an example: records the step, on synthetic digits, shown before a visitor's first.
//!
//! `cargo run --release --no-default-features --example record_step > www/step.txt`

use futures_executor::block_on;
use hushgrad::{
    data::synthetic,
    engine::{Engine, Performance, cpu::CpuEngine},
    rng::SystemRng,
    train::{
        plan::Plan,
        presets,
        session::{Session, TracedStep},
    },
    worker::look::{StepInspection, text},
};

/// Number of the step: the model has learned a little but still makes errors.
const STEP: u64 = 12;
const TRAIN: u32 = 60_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let train = synthetic::digits(1, TRAIN as usize, 1).train;
    let first = presets::Preset::by_key(presets::FIRST).ok_or("the first preset is in the table")?;
    let plan = Plan::new(first.config(), TRAIN)?;
    let engine = CpuEngine::new(plan.task.clone(), train.clone(), &plan.initial_parameters(), Performance::default())?;
    let mut session = Session::new(plan, engine)?;
    for _ in 1..STEP {
        block_on(session.step())?;
    }
    let parameters = block_on(session.engine().state())?.parameters;
    let trace = block_on(session.traced_step())?;
    let task = session.plan().task.clone();
    let (lot, shifts) = session.drawn();
    let step = TracedStep { parameters, lot: lot.to_vec(), shifts: shifts.to_vec(), trace };
    let look = StepInspection::new(STEP, &task, (&train, None), step, &mut SystemRng::new()?);
    // The eye recognises a well-written 3 or 8 at once. The best read one is well-written; its gradient is cut.
    let labels = look.lot().labels;
    let eights =
        (0..labels.len()).filter(|place| [3, 8].contains(&labels[*place])).filter_map(|it| look.person(Some(it)));
    let cut = eights.filter(|person| person.norm > 2.0 * person.bounded);
    let person = cut.min_by(|a, b| a.norm.total_cmp(&b.norm)).ok_or("no 3 or 8 of the lot is cut")?;
    let text = text::write(STEP, &look.lot(), Some(&person)).ok_or("the lot is empty")?;
    print!("{text}");
    Ok(())
}
