//! Tool, not an example: trains each preset shown as a card on the page once, on MNIST.
//!
//! `cargo run --release --no-default-features --example record_presets > www/presets.txt`, then
//! `cargo xtask bench cards`, which runs them in a browser and replaces each `-` by seconds.

use futures_executor::block_on;
use hushgrad::{
    accounting::decimal::upper,
    data::mnist,
    engine::{Engine, Performance, cpu::CpuEngine},
    model::Architecture,
    train::{plan::Plan, presets, projection::planned, session::Session},
    worker::{look::text, snapshot::PictureLayout},
};

/// Keys of the cards, in order.
const CARDS: [&str; 6] = ["quick-linear", "quick-cnn", "fast-3", "best-1", "best-0.3", "no-privacy"];
/// The digit whose weights illustrate a linear model.
const DIGIT: usize = 3;
/// Number of steps for presets without an end.
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
        // Picture of the model: one digit's weights, or the first layer's filters.
        let layout = PictureLayout::of(config.model);
        let learned = block_on(session.engine().state())?;
        let one = layout.side * layout.side;
        let shown =
            if config.model == Architecture::Linear { DIGIT * one..(DIGIT + 1) * one } else { 0..layout.images * one };
        println!("{key} {steps} {accuracy:.4} {tight} - {}", text::picture(&learned.read_with()[shown]));
    }
    Ok(())
}
