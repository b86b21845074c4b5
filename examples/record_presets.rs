//! A tool of the page rather than an example: trains ready-made runs on MNIST, once each, for the cards that the page shows of them.
//!
//! `cargo run --release --no-default-features --example record_presets > www/presets.txt`, and after it `cargo xtask bench cards`, which
//! plays them in a browser and puts their seconds in the place of each `-`.

use futures_executor::block_on;
use hushgrad::{
    accounting::decimal::upper,
    data::mnist,
    engine::{Engine, Performance, cpu::CpuEngine},
    model::Architecture,
    train::{plan::Plan, presets, projection::planned, session::Session},
    worker::{look::text, snapshot::PictureLayout},
};

/// The cards, in order.
const CARDS: [&str; 6] = ["quick-linear", "quick-cnn", "fast-3", "best-1", "best-0.3", "no-privacy"];
/// The digit whose weights are the picture of a linear model.
const DIGIT: usize = 3;
/// Steps of a run that has no end of its own.
const STEPS: u64 = 400;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let digits = mnist::locate_or_download()?.digits;
    let train = digits.train.len() as u32;
    println!("key steps accuracy tight seconds picture");
    for key in CARDS {
        let preset = presets::Preset::by_key(key).ok_or_else(|| format!("{key} is no preset"))?;
        let config = preset.config();
        let plan = Plan::new(config.clone(), train)?;
        let start = plan.initial_parameters();
        let engine = CpuEngine::new(plan.task.clone(), digits.train.clone(), &start, Performance::default())?;
        let mut session = Session::new(plan, engine)?;
        let steps = config.steps.unwrap_or(STEPS);
        for _ in 0..steps {
            block_on(session.step())?;
        }
        let accuracy = block_on(session.accuracy(&digits.test))?;
        let tight = match planned(&config, train, steps) {
            Ok(books) => upper(books.tight(config.delta)?.value, 4).to_string(),
            Err(_) => "none".to_owned(),
        };
        // What the model has learned: the weights of one digit, or the first layer's filters.
        let layout = PictureLayout::of(config.model);
        let learned = block_on(session.engine().state())?;
        let one = layout.side * layout.side;
        let shown =
            if config.model == Architecture::Linear { DIGIT * one..(DIGIT + 1) * one } else { 0..layout.images * one };
        println!("{key} {steps} {accuracy:.4} {tight} - {}", text::picture(&learned.read_with()[shown]));
    }
    Ok(())
}
