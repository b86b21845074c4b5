//! Times the benchmark's cases by a loop that also runs in a browser; prints name, seconds, value.
//!
//! `cargo run --release --no-default-features --example accounting_bench`; in Chromium by
//! `cargo xtask bench accounting`.

#[path = "cases.rs"]
mod cases;

use std::{fmt::Write as _, hint::black_box};

use web_time::Instant;

/// Median seconds per run, over at least three batches, each long enough for a 0.1 ms clock.
fn seconds(run: &mut dyn FnMut() -> f64) -> f64 {
    let mut time = |count: u32| {
        let start = Instant::now();
        for _ in 0..count {
            black_box(run());
        }
        start.elapsed().as_secs_f64()
    };
    let (batch, once) = (0..20)
        .map(|doublings| (1 << doublings, time(1 << doublings)))
        .find(|(_, taken)| *taken >= 0.02)
        .unwrap_or((1 << 20, 0.02));
    let batches = (1.0 / once).clamp(3.0, 25.0) as usize;
    let mut times: Vec<f64> = (0..batches).map(|_| time(batch) / f64::from(batch)).collect();
    times.sort_by(f64::total_cmp);
    times[batches / 2]
}

fn report() -> String {
    let mut text = String::new();
    for mut case in cases::cases() {
        let value = (case.run)();
        let _ = writeln!(text, "{}\t{:e}\t{value}", case.name, seconds(&mut case.run));
    }
    text
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    print!("{}", report());
}

#[cfg(target_arch = "wasm32")]
fn main() {}

/// Runs the cases and returns their report.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn run() -> String {
    report()
}
