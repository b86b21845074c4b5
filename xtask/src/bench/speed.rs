//! `cargo xtask bench speed`: the engine's and its peer's benches on one machine (`speed.md`).

use serde_json::{Value, json};

use super::{
    peers::{self, Measured},
    report::{self, Lines},
};
use crate::{prelude::*, tools::python};

const OPACUS: &str = "1.6.0";
const TORCH: &str = "2.15.0";
/// Names a Python that has both.
const PYTHON: &str = "HUSHGRAD_OPACUS_PYTHON";

pub fn run(project: &Project) -> Result<()> {
    project.say("Set-up");
    let claim = project.claim()?;
    let python = opacus(project)?;
    drop(claim);

    project.say("Benches");
    let mut lines = Lines::default();
    // Before and after the engine's bench, so that other load on the machine affects both.
    ask_peer(project, &python, &mut lines)?;
    let device = engine(project, &mut lines)?;
    ask_peer(project, &python, &mut lines)?;
    report::write(project, "speed", "Speed", &section(&lines, &device)?)
}

fn section(lines: &Lines, device: &str) -> Result<String> {
    let versions = lines.with("versions").next().map(|line| &line["versions"]);
    lines.fill(include_str!("speed.md"), json!({ "device": device, "versions": versions }))
}

/// Returns a Python with Opacus and PyTorch.
fn opacus(project: &Project) -> Result<PathBuf> {
    let step = project.step(&format!("Opacus {OPACUS}"));
    if let Some(python) = std::env::var_os(PYTHON) {
        return step.gives(python.into(), &format!("from {PYTHON}"));
    }
    step.say(
        "PyTorch's package may bring libraries for graphics cards: up to 6 GB in the cache, to be deleted at will",
    );
    let python = python::with(project, &step, "peers", &[("opacus", OPACUS), ("torch", TORCH)])?;
    step.gives(python, "")
}

/// Measures on one and on two threads.
fn ask_peer(project: &Project, python: &Path, lines: &mut Lines) -> Result<()> {
    for threads in [1, 2] {
        let step = project.step(&format!("Opacus, {threads} threads"));
        let words = format!("benches/peers/opacus_step.py --threads {threads} --lot 256");
        let said = step.run(&mut project.command(python, &words))?;
        let answer = said.lines.iter().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let answer = answer.filter(|answer| answer["versions"].is_object());
        let answer = answer.ok_or_else(|| wrong!("opacus_step.py did not print its times{}", said.tail()))?;
        let (samples, versions) = (&answer["milliseconds"], &answer["versions"]);
        step.done(&format!("{:.1} ms", samples["median"].as_f64().unwrap_or(f64::NAN)));
        lines.add(json!({ "who": "Opacus", "threads": threads, "samples": samples, "versions": versions }));
    }
    Ok(())
}

/// Runs the engine's benches and returns its device.
fn engine(project: &Project, lines: &mut Lines) -> Result<String> {
    let step = project.step("the CPU engine");
    let folder = project.target()?.join("criterion").join("step");
    remove(&folder)?;
    let said = step.run(&mut project.cargo("bench --locked --no-default-features --bench engine -- step --noplot"))?;
    let device = said.lines.iter().find_map(|line| line.strip_prefix("engine: ")).unwrap_or("unknown").to_owned();
    let benches: Vec<Value> = peers::measured(&folder).iter().filter_map(line).collect();
    let many = format!("{} benches", benches.len());
    benches.into_iter().for_each(|bench| lines.add(bench));
    step.gives(device, &many)
}

/// Parses a bench such as `CnnTanh, clip, 256`; its input is the number of threads. Milliseconds.
fn line(Measured { name, input, seconds }: &Measured) -> Option<Value> {
    let mut words = name.split(", ");
    let (model, encoder, lot) = (words.next()?, words.next()?, words.next()?.parse::<u32>().ok()?);
    let samples = json!({ "best": seconds.best * 1e3, "median": seconds.median * 1e3 });
    let threads: u32 = input.parse().ok()?;
    Some(json!({ "model": model, "encoder": encoder, "lot": lot, "threads": threads, "samples": samples }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::{DENOISERS, Samples};

    fn bench(name: &str) -> Option<Value> {
        let seconds = Samples { median: 0.004, best: 0.003, worst: 0.005 };
        line(&Measured { name: name.to_owned(), input: "2".to_owned(), seconds })
    }

    #[test]
    fn bench_names_are_parsed() {
        let line = bench("CnnTanh, envelope of 1000, 256").unwrap();
        let samples = json!({ "best": 3.0, "median": 4.0 });
        let said =
            json!({ "model": "CnnTanh", "encoder": "envelope of 1000", "lot": 256, "threads": 2, "samples": samples });
        assert_eq!(line, said);
        assert_eq!(bench("other"), None);
    }

    #[test]
    fn a_section_has_its_ratios_and_a_missing_bench_is_named() {
        let mut lines = Lines::default();
        let versions = json!({ "opacus": "1", "torch": "2", "python": "3" });
        for threads in [1, 2] {
            let peer = json!({ "who": "Opacus", "threads": threads, "samples": { "best": 6.0, "median": 7.0 }, "versions": versions });
            lines.add(peer);
        }
        let error = section(&lines, "a device").unwrap_err().to_string();
        for word in ["CnnTanh", "clip", "lot 256", "threads 1"] {
            assert!(error.contains(word), "{error}");
        }
        for model in ["CnnTanh", "CnnRelu", "Mlp", "Linear"] {
            for encoder in ["clip", "envelope", "envelope of 1000"].into_iter().chain(DENOISERS) {
                for lot in [64, 256, 1024, 4096, 16_384] {
                    let mut bench = bench(&format!("{model}, {encoder}, {lot}")).unwrap();
                    lines.add(bench.clone());
                    bench["threads"] = json!(1);
                    lines.add(bench);
                }
            }
        }
        let text = section(&lines, "a device").unwrap();
        assert!(text.contains("the engine: a device; Opacus 1, PyTorch 2, Python 3. Milliseconds"), "{text}");
        assert!(
            text.contains("| Opacus: flat clip, Gaussian | 1 | 6.00 (7.00) | 42667 | 1.0 |\n| flat clip"),
            "{text}"
        );
        assert!(text.contains("| envelope of 1000 vectors, Student-t, KS | 2 | 3.00 (4.00) | 85333 | 2.0 |\n\n###"));
        assert!(text.contains("| soft threshold | 3.00 (4.00) | 1.000 | 1.05 |\n"), "{text}");
        assert!(text.contains("| 16384 | 3.00 (4.00) | 0.2 | 3.00 (4.00) | 0.2 |\n"), "{text}");
    }
}
