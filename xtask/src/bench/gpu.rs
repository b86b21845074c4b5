//! `cargo xtask bench gpu`: the engine on a graphics adapter without a browser, beside what the adapter's memory and arithmetic allow; the section in
//! BENCHMARKS.md.

use serde::Deserialize;

use super::report::{self, Samples, missed, table};
use crate::{
    error::{Error, Result},
    project::Project,
};

const EXAMPLE: &str = "gpu_bench";
/// Below so many milliseconds at [`SMALL`].
const GOAL_SMALL: f64 = 1.0;
const SMALL: u64 = 256;
/// Within so many times the limit at [`LARGE`].
const GOAL_LARGE: f64 = 4.0;
const LARGE: u64 = 4096;

/// A line of what the example says.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    There { adapters: Vec<String> },
    Card(Card),
    Step(Step),
}

/// An adapter, and what any program is bound by on it: bytes and operations a second.
#[derive(Deserialize)]
struct Card {
    device: String,
    software: bool,
    bandwidth: f64,
    arithmetic: f64,
}

/// Milliseconds of a step: of many under way, and of one that is waited for.
#[derive(Deserialize)]
struct Step {
    envelope: bool,
    lot: u64,
    samples: Samples,
    alone: Samples,
    operations: f64,
    bytes: f64,
}

pub fn run(project: &Project, adapter: Option<&str>) -> Result<()> {
    project.say("Benches");
    let step = project.step("the WebGPU engine, without a browser");
    let words = format!("run --locked --release --no-default-features --features gpu --example {EXAMPLE} --");
    let said = step.run(project.cargo(&words).args(adapter))?;
    let lines: Vec<Line> = report::read(&said.lines).collect();
    step.done(card(&lines).map_or("no adapter for it", |card| &card.device));
    report::write(project, "gpu", "On a graphics card", &section(&report::machine(), &lines)?)
}

fn card(lines: &[Line]) -> Option<&Card> {
    lines.iter().rev().find_map(|line| if let Line::Card(card) = line { Some(card) } else { None })
}

fn section(machine: &str, lines: &[Line]) -> Result<String> {
    let Some(Card { device, software, bandwidth, arithmetic }) = card(lines) else {
        let there = lines.iter().rev().find_map(|line| match line {
            Line::There { adapters } if !adapters.is_empty() => Some(adapters.join("; ")),
            _ => None,
        });
        return Ok(format!(
            "`cargo xtask bench gpu`: {machine}. Nothing was measured: no adapter here is a graphics card (there: {}). Software is measured where\n\
             `--adapter` names it.\n",
            there.as_deref().unwrap_or("none")
        ));
    };
    let kinds = [(false, "flat clip, Gaussian"), (true, "envelope, Student-t, KS")];
    let rows = kinds.into_iter().flat_map(|kind| [SMALL, LARGE].map(|lot| (kind, lot)));
    let rows = rows.map(|((envelope, name), lot)| {
        let found = lines.iter().find_map(|line| match line {
            Line::Step(step) if (step.envelope, step.lot) == (envelope, lot) => Some(step),
            _ => None,
        });
        let missing = || Error::wrong(format!("nothing was measured of lot {lot}, envelope: {envelope}"));
        let Step { samples, alone, operations, bytes, .. } = found.ok_or_else(missing)?;
        let (computing, moving) = (1e3 * operations / arithmetic, 1e3 * bytes / bandwidth);
        let (time, alone) = (samples.time, alone.time.median);
        let ratio = time.best / computing.max(moving);
        let (met, goal) = match lot {
            SMALL => (time.best < GOAL_SMALL, format!("{GOAL_SMALL} ms")),
            _ => (ratio <= GOAL_LARGE, format!("{GOAL_LARGE} × the limit")),
        };
        Ok(format!(
            "{name} | {lot} | {time} | {alone:.2} | {:.2} | {computing:.3} | {:.0} | {moving:.3} | {ratio:.1} | {goal}{}",
            operations / 1e9,
            bytes / 1e6,
            missed(!met)
        ))
    });
    let columns = "|lot|ms, best (median)|waited for, ms|GFLOP|limit, ms|MB|limit, ms|this ÷ the limit|goal";
    Ok(format!(
        "`cargo xtask bench gpu`: {machine}; {device}{}. A copy moves {:.1} GB/s there, reading and writing together, and multiply-adds in single precision are\n\
         {:.0} GFLOP/s, both measured. A step's operations are those of its layers, forwards and backwards; its bytes, each example's image and all that it keeps\n\
         between kernels, written once and read once. The limit is the larger one. Milliseconds a step, many under way, the best sample and the median; and of\n\
         one that is waited for.\n\n### The CNN (26,010 parameters, tanh)\n\n{}",
        if *software { ": software, no card, so the goals say nothing" } else { "" },
        bandwidth / 1e9,
        arithmetic / 1e9,
        table(columns, 1, rows)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[String]) -> Vec<Line> {
        report::read(lines).collect()
    }

    #[test]
    fn what_was_measured_is_set_beside_its_limit() {
        let step = |(envelope, lot), best: f64| {
            let step = serde_json::json!({
                "envelope": envelope, "lot": lot, "samples": [best + 0.1, best, 5.0], "alone": [1.5], "operations": 1e9, "bytes": 4e8,
            });
            step.to_string()
        };
        let device = r#"{"device":"a card","software":false,"bandwidth":1e12,"arithmetic":1e13}"#;
        let said = |large| {
            let mut lines =
                ["   Compiling hushgrad", r#"{"adapters":["0: a card"]}"#, device].map(str::to_owned).to_vec();
            let cases = [(false, SMALL), (false, LARGE), (true, SMALL), (true, LARGE)];
            lines.extend(cases.map(|case| step(case, if case == (false, LARGE) { large } else { 0.8 })));
            read(&lines)
        };
        let text = section("a machine", &said(0.8)).unwrap();
        let row = |lot: &str, goal: &str| {
            format!("| flat clip, Gaussian | {lot} | 0.80 (0.90) | 1.50 | 1.00 | 0.100 | 400 | 0.400 | 2.0 | {goal} |")
        };
        assert!(text.contains(&row("256", "1 ms")) && text.contains(&row("4096", "4 × the limit")), "{text}");
        let mut lines = said(1.7);
        assert!(section("a machine", &lines).unwrap().contains("| 4.2 | 4 × the limit (missed) |"));
        lines.pop();
        let error = section("a machine", &lines).unwrap_err().to_string();
        assert!(error.contains("lot 4096, envelope: true"), "{error}");
    }

    #[test]
    fn without_a_card_nothing_is_claimed() {
        let text = section("a machine", &read(&[r#"{"adapters":["llvmpipe (Vulkan, software)"]}"#.into()])).unwrap();
        assert!(text.contains("Nothing was measured") && text.contains("llvmpipe"), "{text}");
    }
}
