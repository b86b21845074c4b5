//! `cargo xtask bench gpu`: the engine on a graphics adapter without a browser, beside what the adapter's memory and arithmetic allow; the section in
//! BENCHMARKS.md.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    benchmarks,
    error::{Error, Result},
    project::Project,
    screen::Screen,
};

const EXAMPLE: &str = "gpu_bench";
/// Below so many milliseconds at [`SMALL`].
const GOAL_SMALL: f64 = 1.0;
const SMALL: u64 = 256;
/// Within so many times the limit at [`LARGE`].
const GOAL_LARGE: f64 = 4.0;
const LARGE: u64 = 4096;

/// What `examples/gpu_bench.rs` said.
#[derive(Default)]
struct Results {
    adapters: Vec<String>,
    card: Option<Card>,
    steps: Vec<Step>,
}

/// An adapter, and what any program is bound by on it.
struct Card {
    device: String,
    software: bool,
    /// Bytes a second.
    bandwidth: f64,
    /// Operations a second.
    arithmetic: f64,
}

/// Milliseconds of a step.
struct Step {
    envelope: bool,
    lot: u64,
    best: f64,
    median: f64,
    /// Waited for, the median.
    alone: f64,
    operations: f64,
    bytes: f64,
}

pub fn run(project: &mut Project, screen: &Screen, adapter: Option<&str>) -> Result<()> {
    screen.say("Benches");
    let step = screen.step("the WebGPU engine, without a browser");
    let mut command = project.cargo();
    command.args(["run", "--locked", "--release", "--no-default-features", "--features", "gpu", "--example", EXAMPLE]);
    let said = step.run(command.arg("--").args(adapter))?;
    let mut results = Results::default();
    said.lines.iter().for_each(|line| results.read(line));
    step.done(results.card.as_ref().map_or("no adapter for it", |card| &card.device));
    let text = section(&benchmarks::machine(), &results)?;
    benchmarks::write(project, screen, "gpu", "On a graphics card", &text)
}

impl Results {
    /// Takes in a line of JSON; other lines are passed over.
    fn read(&mut self, line: &str) {
        let Ok(json) = serde_json::from_str::<Value>(line.trim()) else { return };
        if let Some(adapters) = json["adapters"].as_array() {
            self.adapters = adapters.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        }
        self.card = read_card(&json).or(self.card.take());
        self.steps.extend(read_step(&json));
    }

    fn get(&self, envelope: bool, lot: u64) -> Result<&Step> {
        let missing = || Error::Wrong(format!("nothing was measured of lot {lot}, envelope: {envelope}"));
        self.steps.iter().find(|step| (step.envelope, step.lot) == (envelope, lot)).ok_or_else(missing)
    }
}

fn read_card(json: &Value) -> Option<Card> {
    Some(Card {
        device: json["device"].as_str()?.to_owned(),
        software: json["software"].as_bool()?,
        bandwidth: json["bandwidth"].as_f64()?,
        arithmetic: json["arithmetic"].as_f64()?,
    })
}

fn read_step(json: &Value) -> Option<Step> {
    let sorted = |name: &str| {
        let mut all: Vec<f64> = json[name].as_array()?.iter().filter_map(Value::as_f64).collect();
        all.sort_unstable_by(f64::total_cmp);
        (!all.is_empty()).then_some(all)
    };
    let (samples, alone) = (sorted("samples")?, sorted("alone")?);
    Some(Step {
        envelope: json["envelope"].as_bool()?,
        lot: json["lot"].as_u64()?,
        best: samples[0],
        median: samples[samples.len() / 2],
        alone: alone[alone.len() / 2],
        operations: json["operations"].as_f64()?,
        bytes: json["bytes"].as_f64()?,
    })
}

fn section(machine: &str, results: &Results) -> Result<String> {
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = writeln!(out, "{text}");
    };
    let Some(card) = &results.card else {
        let there = if results.adapters.is_empty() { "none".to_owned() } else { results.adapters.join("; ") };
        line(format_args!(
            "`cargo xtask bench gpu`: {machine}. Nothing was measured: no adapter here is a graphics card (there: {there}). Software is measured where\n\
             `--adapter` names it."
        ));
        return Ok(out);
    };
    let Card { device, software, bandwidth, arithmetic } = card;
    line(format_args!(
        "`cargo xtask bench gpu`: {machine}; {device}{}. A copy moves {:.1} GB/s there, reading and writing together, and multiply-adds in single precision are",
        if *software { ": software, no card, so the goals say nothing" } else { "" },
        bandwidth / 1e9
    ));
    line(format_args!(
        "{:.0} GFLOP/s, both measured. A step's operations are those of its layers, forwards and backwards; its bytes, each example's image and all that it keeps",
        arithmetic / 1e9
    ));
    line(format_args!(
        "between kernels, written once and read once. The limit is the larger one. Milliseconds a step, many under way, the best sample and the median; and of\n\
         one that is waited for.\n"
    ));
    line(format_args!("### The CNN (26,010 parameters, tanh)\n"));
    line(format_args!(
        "| | lot | ms, best (median) | waited for, ms | GFLOP | limit, ms | MB | limit, ms | this ÷ the limit | goal |"
    ));
    line(format_args!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"));
    for (envelope, name) in [(false, "flat clip, Gaussian"), (true, "envelope, Student-t, KS")] {
        for lot in [SMALL, LARGE] {
            let &Step { best, median, alone, operations, bytes, .. } = results.get(envelope, lot)?;
            let (computing, moving) = (1e3 * operations / arithmetic, 1e3 * bytes / bandwidth);
            let ratio = best / computing.max(moving);
            let (met, goal) = if lot == SMALL {
                (best < GOAL_SMALL, format!("{GOAL_SMALL} ms"))
            } else {
                (ratio <= GOAL_LARGE, format!("{GOAL_LARGE} × the limit"))
            };
            let missed = if met { "" } else { " (missed)" };
            line(format_args!(
                "| {name} | {lot} | {best:.2} ({median:.2}) | {alone:.2} | {:.2} | {computing:.3} | {:.0} | {moving:.3} | {ratio:.1} | {goal}{missed} |",
                operations / 1e9,
                bytes / 1e6
            ));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_is_set_beside_its_limit() {
        let mut results = Results::default();
        results.read("   Compiling hushgrad");
        results.read(r#"{"adapters":["0: a card"]}"#);
        results.read(r#"{"device":"a card","software":false,"bandwidth":1e12,"arithmetic":1e13}"#);
        for envelope in [false, true] {
            for lot in [SMALL, LARGE] {
                let step = serde_json::json!({
                    "envelope": envelope, "lot": lot, "samples": [0.9, 0.8, 5.0], "alone": [1.5], "operations": 1e9, "bytes": 4e8,
                });
                results.read(&step.to_string());
            }
        }
        let text = section("a machine", &results).unwrap();
        let row = |lot: &str, goal: &str| {
            format!("| flat clip, Gaussian | {lot} | 0.80 (0.90) | 1.50 | 1.00 | 0.100 | 400 | 0.400 | 2.0 | {goal} |")
        };
        assert!(text.contains(&row("256", "1 ms")) && text.contains(&row("4096", "4 × the limit")), "{text}");
        results.steps[1].best = 1.7;
        assert!(section("a machine", &results).unwrap().contains("| 4.2 | 4 × the limit (missed) |"));
        results.steps.pop();
        let error = section("a machine", &results).unwrap_err().to_string();
        assert!(error.contains("lot 4096, envelope: true"), "{error}");
    }

    #[test]
    fn without_a_card_nothing_is_claimed() {
        let mut results = Results::default();
        results.read(r#"{"adapters":["llvmpipe (Vulkan, software)"]}"#);
        let text = section("a machine", &results).unwrap();
        assert!(text.contains("Nothing was measured") && text.contains("llvmpipe"), "{text}");
    }
}
