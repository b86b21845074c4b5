//! `cargo xtask bench browser`: the engine in Chromium, beside itself without one and beside jax-js; the section in BENCHMARKS.md.

use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Deserialize;

use super::{
    report::{self, Samples, missed, table},
    wasm::ToPage,
};
use crate::{
    error::{Error, Result},
    project::{Project, copy_into, files, make_empty},
    site::shrink,
    tools::{browser, cargo_tool, mnist, npm, wasm_target},
};

const EXAMPLE: &str = "engine_bench";
const PEER: (&str, &str) = ("@jax-js/jax", "0.1.25");
const OURS: &str = "hushgrad";
const THEIRS: &str = "jax-js";
/// This, as browsers without relaxed SIMD run it.
const PLAIN: &str = "simd128";
/// What the example is said to have run on where no browser is.
const NATIVE: &str = "native";

/// A line of what was said.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    /// Chromium's version.
    Browser {
        browser: String,
    },
    /// Bytes of JavaScript that the engine's page holds in the end.
    Heap {
        heap: u64,
    },
    Reached(Reached),
    Found(Found),
}

/// A preset trained until the test set said the goal: its fields are those that `reach` of `benches/engine/in_browser.rs` writes.
#[derive(Deserialize)]
struct Reached {
    preset: String,
    goal: f64,
    reached: bool,
    /// From the files on.
    seconds: f64,
    accuracy: f64,
    steps: u64,
    of: u64,
    epsilon: f64,
}

/// What was timed, as `Case` in `tests/browser/bench.ts` has it; and milliseconds of a step, and bytes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Found {
    #[serde(default = "native")]
    who: String,
    #[serde(default = "processor")]
    backend: String,
    model: String,
    #[serde(default)]
    envelope: bool,
    lot: u32,
    #[serde(default)]
    device: String,
    samples: Samples,
    /// Until the caller has its thread back: a software adapter takes that thread's processor away at times.
    calling: Samples,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    buffers: u64,
}

fn native() -> String {
    NATIVE.to_owned()
}

fn processor() -> String {
    "cpu".to_owned()
}

impl Found {
    fn case(&self) -> (&str, &str, &str, bool, u32) {
        (&self.who, &self.backend, &self.model, self.envelope, self.lot)
    }

    fn best(&self) -> f64 {
        self.samples.time.best
    }

    fn cell(&self) -> String {
        format!("{:.*}", if self.best() < 100.0 { 2 } else { 0 }, self.samples.time)
    }
}

/// All of a run.
#[derive(Default)]
struct Results {
    found: Vec<Found>,
    browser: String,
    heap: u64,
    reached: Vec<Reached>,
}

pub fn run(project: &Project) -> Result<()> {
    project.say("Set-up");
    let claim = project.claim()?;
    let wasm = wasm_target::ensure(project)?;
    let wasm_bindgen = cargo_tool::wasm_bindgen(project)?;
    let shrinkers = npm::shrinkers(project)?;
    let jax = peer(project)?;
    let digits = mnist::ensure(project)?;
    browser::playwright(project)?;
    drop(claim);
    let chromium = browser::chromium(project)?;

    project.say("Programs");
    let folder = project.target()?.join("bench-page");
    make_empty(&folder)?;
    let benches = project.root.join("benches");
    let to_page = ToPage { wasm: &wasm, wasm_bindgen: &wasm_bindgen, kind: "web" };
    for (page, features) in [("relaxed", "gpu,relaxed-simd"), (PLAIN, "gpu")] {
        let step = project.step(&format!("compile for the browser, {page}"));
        let page = folder.join(page);
        fs::create_dir(&page)?;
        to_page.write(project, &step, &format!("--no-default-features --features {features}"), EXAMPLE, &page)?;
        copy_into(&page, &benches.join("browser").join("index.html"))?;
        step.done("");
    }
    if let Some(shrinkers) = &shrinkers {
        shrink::programs(project, shrinkers, &folder)?;
    }
    fs::copy(benches.join("peers").join("jax_js_step.html"), folder.join("index.html"))?;
    mnist::write_files(&digits, &folder.join("mnist"))?;
    let scripts = folder.join("jax-js");
    fs::create_dir(&scripts)?;
    for script in files(&jax)?.iter().filter(|path| path.extension().is_some_and(|e| e == "js")) {
        copy_into(&scripts, script)?;
    }

    project.say("Benches");
    let mut results = Results::default();
    // Before and after the browser's, on one native thread, so that what else the machine does is seen by both.
    let words = format!("run --locked --release --no-default-features --example {EXAMPLE}");
    let native = || project.run("natively, one thread", &mut project.cargo(&words));
    results.read(&native()?.lines);
    let step = project.step("Chromium");
    let words = "--config=bench.config.ts --reporter=line";
    let said = step.run(&mut browser::playwright_test(project, &chromium, &folder, words))?;
    results.read(&said.lines);
    step.done(&results.browser);
    results.read(&native()?.lines);
    report::write(project, "browser", "In a browser", &section(&report::machine(), &results)?)
}

/// The folder of jax-js' scripts, installed by npm into the cache.
fn peer(project: &Project) -> Result<PathBuf> {
    let (package, version) = PEER;
    let step = project.step(&format!("{THEIRS} {version}"));
    let folder = project.cache.join("peers").join(format!("{THEIRS}-{version}"));
    let scripts = folder.join("node_modules").join(package).join("dist");
    if scripts.join("index.js").is_file() {
        step.done("installed before");
        return Ok(scripts);
    }
    let npm = npm::npm("the peer is a package of npm's")?;
    project.install(&folder, |into: &Path| {
        let mut command = project.command(npm, "install --ignore-scripts --no-audit --no-fund --prefix");
        step.run(command.current_dir(into).arg(into).arg(format!("{package}@{version}"))).map(drop)
    })?;
    step.done("installed");
    Ok(scripts)
}

impl Results {
    /// Takes in what was said. Of two measurements of a case the one with the better best stays.
    fn read(&mut self, lines: &[String]) {
        for line in report::read(lines) {
            match line {
                Line::Browser { browser } => self.browser = format!("Chromium {browser}"),
                Line::Heap { heap } => self.heap = heap,
                Line::Reached(reached) => self.reached.push(reached),
                Line::Found(found) => match self.found.iter_mut().find(|known| known.case() == found.case()) {
                    Some(known) if known.best() > found.best() => *known = found,
                    Some(_) => {}
                    None => self.found.push(found),
                },
            }
        }
    }

    fn get(&self, who: &str, backend: &str, model: &str, envelope: bool, lot: u32) -> Result<&Found> {
        let case = (who, backend, model, envelope, lot);
        let missing = || Error::wrong(format!("nothing was measured of {case:?} (who, backend, model, envelope, lot)"));
        self.found.iter().find(|found| found.case() == case).ok_or_else(missing)
    }
}

fn section(machine: &str, results: &Results) -> Result<String> {
    let adapter = &results.get(OURS, "gpu", "CnnTanh", false, 256)?.device;
    let here = &results.get(NATIVE, "cpu", "CnnTanh", false, 256)?.device;
    let (package, version) = PEER;
    let ours = || results.found.iter().filter(|found| found.who == OURS);
    let ratio = |found: &Found| found.samples.worst / found.samples.time.median;
    let slowest = ours().max_by(|a, b| ratio(a).total_cmp(&ratio(b))).map_or_else(String::new, |found| {
        let Found { backend, model, lot, .. } = found;
        let ratio = ratio(found);
        format!(
            "\nThe slowest step took {ratio:.1} × its run's median ({backend}, {model}, lot {lot}); goal: below 3.\n"
        )
    });
    let largest = |bytes: fn(&Found) -> u64| megabytes(ours().map(bytes).max().unwrap_or(0));
    Ok(format!(
        "`cargo xtask bench browser`: {machine}; {}; adapter: {adapter}; natively: {here}; {package} {version}. Milliseconds a step:\n\
         the best sample, then the median. Ratios are of the best. One thread wherever a processor computes.\n\n\
         ### wasm beside native code, lot 256\n\n{}\n\
         ### Beside jax-js: flat clip, Gaussian; vmap(grad) in one jit there\n\n{}\n{}\n\
         ### The CNN's cost by lot\n\n{}\n{}\n{slowest}\
         Memory, with 60,000 examples: wasm {:.0} MB and JavaScript {:.1} MB in the end (goal: below 300 together), graphics buffers {:.0} MB at most (goal: below 256).\n",
        results.browser,
        beside_native(results)?,
        beside_jax(results)?,
        calling(results)?,
        by_lot(results)?,
        accuracy(&results.reached),
        largest(|found| found.memory),
        megabytes(results.heap),
        largest(|found| found.buffers),
    ))
}

fn beside_native(results: &Results) -> Result<String> {
    let models = [("CnnTanh", "CNN"), ("Mlp", "perceptron")];
    let encoders = [(false, "flat clip, Gaussian"), (true, "envelope, Student-t, KS")];
    let rows = models.into_iter().flat_map(|model| encoders.map(|encoder| (model, encoder)));
    let rows = rows.map(|((model, name), (envelope, encoder))| {
        let get = |who, backend| results.get(who, backend, model, envelope, 256);
        let native = get(NATIVE, "cpu")?;
        let beside = |wasm: &Found| format!("{} | {:.2}", wasm.cell(), native.best() / wasm.best());
        let (wasm, plain, gpu) = (beside(get(OURS, "cpu")?), beside(get(PLAIN, "cpu")?), get(OURS, "gpu")?.cell());
        Ok(format!("{name}, {encoder} | {} | {wasm} | {plain} | {gpu}", native.cell()))
    });
    table("|native, ms|wasm, ms|native ÷ wasm|without relaxed SIMD, ms|native ÷ that|WebGPU, ms", 1, rows)
}

fn beside_jax(results: &Results) -> Result<String> {
    let cases = [("Mlp", "perceptron", 256), ("CnnTanh", "CNN", 64)];
    let rows = [("gpu", "WebGPU", 5), ("cpu", "wasm", 10)].into_iter().flat_map(|on| cases.map(|case| (on, case)));
    let rows = rows.map(|((backend, place, goal), (model, name, lot))| {
        let get = |who| results.get(who, backend, model, false, lot);
        let (theirs, ours) = (get(THEIRS)?, get(OURS)?);
        let (ratio, cells) = (theirs.best() / ours.best(), [theirs, ours].map(Found::cell).join(" | "));
        Ok(format!("{place}, {name} | {lot} | {cells} | {ratio:.1} | {goal}{}", missed(ratio < f64::from(goal))))
    });
    table("|lot|jax-js, ms|this, ms|jax-js ÷ this|goal", 1, rows)
}

fn calling(results: &Results) -> Result<String> {
    let get = |who, model, lot| results.get(who, "gpu", model, false, lot).map(|found| found.calling.time);
    Ok(format!(
        "The calling thread's share of a WebGPU step in milliseconds: perceptron {}, jax-js {}; CNN {}, jax-js {}. Goal: below 0.2. Each step\n\
         was called by itself, while the device had nothing else to do: an adapter in software computes on the caller's processors.\n",
        get(OURS, "Mlp", 256)?,
        get(THEIRS, "Mlp", 256)?,
        get(OURS, "CnnTanh", 64)?,
        get(THEIRS, "CnnTanh", 64)?
    ))
}

fn by_lot(results: &Results) -> Result<String> {
    let rows = [64, 256, 1024, 4096, 16_384].into_iter().map(|lot| {
        let get = |backend, envelope| results.get(OURS, backend, "CnnTanh", envelope, lot);
        let cells = |found: &Found| format!("{} | {:.0}", found.cell(), found.best() * 1e3 / f64::from(lot));
        let (clip, envelope) = (cells(get("cpu", false)?), cells(get("cpu", true)?));
        // A software adapter takes its time.
        let gpu = get("gpu", false)
            .map_or_else(|_| "| |".to_owned(), |gpu| format!("{} | {:.0}", cells(gpu), megabytes(gpu.buffers)));
        Ok(format!("{lot} | {clip} | {envelope} | {gpu}"))
    });
    let columns = "lot|wasm, flat clip, ms|µs an example|wasm, envelope, ms|µs an example|WebGPU, flat clip, ms|µs an example|graphics buffers, MB";
    table(columns, 0, rows)
}

/// The middle run, by seconds; runs that never got there are the slowest.
fn accuracy(runs: &[Reached]) -> String {
    let mut runs: Vec<&Reached> = runs.iter().collect();
    runs.sort_by(|a, b| b.reached.cmp(&a.reached).then(a.seconds.total_cmp(&b.seconds)));
    let Some(Reached { preset, goal, reached, seconds, accuracy, steps, of, epsilon }) = runs.get(runs.len() / 2)
    else {
        return "Time to an accuracy was not measured: there was no MNIST.".to_owned();
    };
    let end = if *reached { "reached" } else { "missed" };
    format!(
        "Private training in the page on the CPU engine: the preset `{preset}` (ε = {epsilon:.3} by tight accounting for its {of} steps) {end} {:.0} % of MNIST's \
         test images after {seconds:.1} s and {steps} steps, with {:.2} %: the middle one of {} runs, from files in memory on, evaluations included; goal: 15 s.",
        100.0 * goal,
        100.0 * accuracy,
        runs.len()
    )
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(who: &str, backend: &str, model: &str, envelope: bool, lot: u32, samples: &[f64]) -> String {
        serde_json::json!({
            "who": who, "backend": backend, "model": model, "envelope": envelope, "lot": lot, "samples": samples,
            "calling": [0.1, 0.2], "device": "a device", "memory": 5_000_000, "buffers": 7_000_000,
        })
        .to_string()
    }

    #[test]
    fn of_two_measurements_the_better_stays() {
        let mut results = Results::default();
        let of = |samples: &[f64]| line(OURS, "cpu", "Mlp", false, 256, samples);
        results.read(&[of(&[3.0, 2.0, 9.0]), "Running 1 test using 1 worker".to_owned(), of(&[1.0, 1.5]), of(&[4.0])]);
        let Found { samples, calling, .. } = results.get(OURS, "cpu", "Mlp", false, 256).unwrap();
        assert_eq!((samples.time.best, samples.time.median, samples.worst), (1.0, 1.5, 1.5));
        assert_eq!((calling.time.best, calling.time.median), (0.1, 0.2));
        assert_eq!(results.found.len(), 1);
    }

    #[test]
    fn what_ran_without_a_browser_says_less() {
        let mut results = Results::default();
        let said = r#"{"model":"Mlp","envelope":true,"lot":64,"device":"AVX-512","samples":[1.0],"calling":[1.0]}"#;
        results.read(&[said.to_owned()]);
        assert_eq!(results.get(NATIVE, "cpu", "Mlp", true, 64).unwrap().device, "AVX-512");
    }

    #[test]
    fn a_whole_run_makes_a_section_and_a_missing_case_is_named() {
        let mut results = Results::default();
        results.read(&[r#"{"browser":"1.2"}"#.to_owned(), r#"{"heap":2000000}"#.to_owned()]);
        for (who, backend) in
            [(NATIVE, "cpu"), (OURS, "cpu"), (PLAIN, "cpu"), (OURS, "gpu"), (THEIRS, "cpu"), (THEIRS, "gpu")]
        {
            for (model, envelope) in [("CnnTanh", false), ("CnnTanh", true), ("Mlp", false), ("Mlp", true)] {
                for lot in [64, 256, 1024, 4096, 16_384] {
                    let best = if who == THEIRS { 60.0 } else { 8.0 };
                    results.read(&[line(who, backend, model, envelope, lot, &[best])]);
                }
            }
        }
        let text = section("a machine", &results).unwrap();
        assert!(text.contains("there was no MNIST"), "{text}");
        results.read(&[(9.0, true), (1.0, false), (8.0, true)].map(|(seconds, reached)| {
            let run = serde_json::json!({
                "preset": "fast-3", "goal": 0.98, "reached": reached, "seconds": seconds, "accuracy": 0.981, "steps": 50, "of": 60, "epsilon": 2.99,
            });
            run.to_string()
        }));
        let text = section("a machine", &results).unwrap();
        assert!(text.contains("reached 98 % of MNIST's test images after 9.0 s and 50 steps, with 98.10 %"), "{text}");
        assert!(text.contains("| WebGPU, perceptron | 256 | 60.00 (60.00) | 8.00 (8.00) | 7.5 | 5 |"), "{text}");
        assert!(text.contains("| 7.5 | 10 (missed) |") && text.contains("Chromium 1.2"), "{text}");
        results.found.retain(|found| found.lot != 1024);
        let error = section("a machine", &results).unwrap_err().to_string();
        assert!(error.contains("1024"), "{error}");
    }
}
