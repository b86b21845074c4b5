//! `cargo xtask bench gpu`: the engine on a graphics adapter without a browser, compared with the
//! adapter's limits of memory and arithmetic (`gpu.md`).

use serde_json::{Value, json};

use super::report::{self, Lines};
use crate::prelude::*;

pub fn run(project: &Project, adapter: Option<&str>, said: Option<&Path>) -> Result<()> {
    project.say("Benches");
    let step = project.step("the WebGPU engine, without a browser");
    let said = match said {
        Some(file) => fs::read_to_string(file)?.lines().map(str::to_owned).collect(),
        None => {
            let words = "run --locked --release --no-default-features --features gpu --example gpu_bench --";
            step.run(project.cargo(words).args(adapter))?.lines
        }
    };
    let mut lines = Lines::default();
    lines.read(&said, &Value::Null);
    step.done(card(&lines).map_or("no adapter for it", |card| card["device"].as_str().unwrap_or_default()));
    report::write(project, "gpu", "On a graphics card", &section(&lines)?)
}

/// An adapter and its limits: bytes and operations per second.
fn card(lines: &Lines) -> Option<&Value> {
    lines.with("bandwidth").next_back()
}

fn section(lines: &Lines) -> Result<String> {
    let there = lines.with("adapters").next_back().map_or(json!([]), |line| line["adapters"].clone());
    lines.fill(include_str!("gpu.md"), json!({ "card": card(lines), "there": there }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::DENOISERS;

    /// The example's output, with or without a card.
    fn lines(said: &[Value]) -> Lines {
        let mut lines = Lines::default();
        let said = said.iter().map(Value::to_string).chain(["   Compiling hushgrad".to_owned()]).collect::<Vec<_>>();
        lines.read(&said, &Value::Null);
        lines
    }

    #[test]
    fn measurements_are_compared_with_their_limits() {
        let said = |large: f64| {
            let step = |envelope: bool, lot: u32, best: f64| {
                let samples = [best + 0.1, best, 5.0];
                json!({ "envelope": envelope, "lot": lot, "samples": samples, "alone": [1.5], "operations": 1e9, "bytes": 4e8 })
            };
            let card = json!({ "device": "a card", "software": false, "processor": "a processor", "bandwidth": 1e12, "arithmetic": 1e13 });
            let steps = [step(false, 256, 0.8), step(false, 4096, large), step(true, 256, 1.0), step(true, 4096, 0.8)];
            let denoised =
                DENOISERS.map(|name| json!({ "denoiser": name, "plain": [0.8, 0.9], "samples": [0.82, 0.9] }));
            [vec![json!({ "adapters": ["0: a card"] }), card], steps.to_vec(), denoised.to_vec()].concat()
        };
        let text = section(&lines(&said(0.8))).unwrap();
        for (lot, goal) in [("256", "1 ms"), ("4096", "4 × the limit")] {
            let row = format!("| {lot} | 0.80 (0.90) | 1.50 | 1.00 | 0.100 | 400 | 0.400 | 2.0 | {goal} |");
            assert!(text.contains(&format!("\n| flat clip, Gaussian {row}\n")), "{text}");
        }
        assert!(text.contains("| 2.5 | 1 ms (missed) |") && text.contains("moves 1000.0 GB/s there"), "{text}");
        assert!(text.contains("| linear | 0.82 (0.90) | 0.80 (0.90) | 1.025 | 1.05 |\n"), "{text}");
        assert!(section(&lines(&said(1.7))).unwrap().contains("| 4.2 | 4 × the limit (missed) |"));
        let error = section(&lines(&said(0.8)[..5])).unwrap_err().to_string();
        assert!(error.contains("lot 4096") && error.contains("envelope True"), "{error}");
    }

    #[test]
    fn without_a_card_nothing_is_claimed() {
        let text = section(&lines(&[json!({ "adapters": ["llvmpipe (Vulkan, software)"] })])).unwrap();
        assert!(text.contains("Nothing was measured") && text.contains("llvmpipe"), "{text}");
        assert!(section(&Lines::default()).unwrap().contains("(there: none)"));
    }
}
