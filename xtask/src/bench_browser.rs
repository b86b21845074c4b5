//! `cargo xtask bench browser`: the engine in Chromium, beside itself without one and beside jax-js; the section in BENCHMARKS.md.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    benchmarks, browser,
    error::{At, Error, Result},
    mnist,
    project::{Project, remove, which},
    screen::Screen,
    site, tools,
    wasm_target::{self, TARGET},
};

const EXAMPLE: &str = "engine_bench";
const PEER: (&str, &str) = ("@jax-js/jax", "0.1.25");
const OURS: &str = "hushgrad";
const THEIRS: &str = "jax-js";
/// This, as browsers without relaxed SIMD run it.
const PLAIN: &str = "simd128";
/// What `examples/engine_bench.rs` is said to have run on where no browser is.
const NATIVE: &str = "native";

/// What was timed: its fields are those of `Case` in `tests/browser/bench.ts`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    who: String,
    backend: String,
    model: String,
    envelope: bool,
    lot: u32,
}

/// Milliseconds of a step, and bytes.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    key: Key,
    device: String,
    best: f64,
    median: f64,
    worst: f64,
    /// Until the caller has its thread back: the best, then the median, as a software adapter takes that thread's processor away at times.
    calling: [f64; 2],
    memory: u64,
    buffers: u64,
}

/// All of a run.
#[derive(Default)]
struct Results {
    found: Vec<Found>,
    /// Chromium's version.
    browser: String,
    /// Bytes of JavaScript that the engine's page holds in the end.
    heap: u64,
    reached: Vec<Reached>,
}

/// A preset trained until the test set said the goal: its fields are those that `reach` of `examples/engine_bench.rs` writes.
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

pub fn run(project: &mut Project, screen: &Screen) -> Result<()> {
    screen.say("Set-up");
    project.claim(screen)?;
    let wasm = wasm_target::ensure(project, screen)?;
    let tools = tools::ensure(project, screen)?;
    let jax = peer(project, screen)?;
    let digits = mnist::ensure(project, screen)?;
    browser::playwright(project, screen)?;
    project.release();
    let chromium = browser::chromium(project, screen)?;

    screen.say("Programs");
    let target = project.target()?;
    let folder = target.join("bench-page");
    remove(&folder)?;
    let benches = project.root.join("benches");
    for (page, features) in [("relaxed", "gpu,relaxed-simd"), (PLAIN, "gpu")] {
        let step = screen.step(&format!("compile for the browser, {page}"));
        let mut compile = project.cargo();
        compile.args([
            "build",
            "--locked",
            "--profile",
            site::PROFILE,
            "--no-default-features",
            "--features",
            features,
        ]);
        wasm.prepare(compile.args(["--target", TARGET, "--example", EXAMPLE]));
        step.run(&mut compile)?;
        let page = folder.join(page);
        std::fs::create_dir_all(&page).at("create the folder", &page)?;
        let module = target.join(TARGET).join(site::PROFILE).join("examples").join(format!("{EXAMPLE}.wasm"));
        let mut bindgen = project.command(&tools.wasm_bindgen);
        bindgen.args(["--target", "web", "--no-typescript", "--out-dir"]);
        step.run(bindgen.arg(&page).arg(module))?;
        copy(&benches.join("browser").join("index.html"), &page)?;
        step.done("");
    }
    site::shrink_programs(project, screen, &tools, &folder)?;
    let page = benches.join("peers").join("jax_js_step.html");
    std::fs::copy(&page, folder.join("index.html")).at("copy", &page)?;
    mnist::write_files(&digits, &folder.join("mnist"))?;
    let scripts = folder.join("jax-js");
    std::fs::create_dir_all(&scripts).at("create the folder", &scripts)?;
    for script in site::files(&jax)?.iter().filter(|path| path.extension().is_some_and(|e| e == "js")) {
        copy(script, &scripts)?;
    }

    screen.say("Benches");
    let mut results = Results::default();
    // Before and after the browser's, so that what else the machine does is seen by both.
    native(project, screen, &mut results)?;
    let step = screen.step("Chromium");
    let mut command = browser::playwright_test(project, &chromium, &folder);
    let said = step.run(command.args(["--config=bench.config.ts", "--reporter=line"]))?;
    said.lines.iter().for_each(|line| results.read(line));
    step.done(&results.browser);
    native(project, screen, &mut results)?;

    let text = section(&benchmarks::machine(), &results)?;
    benchmarks::write(project, screen, "browser", "In a browser", &text)
}

fn copy(file: &Path, folder: &Path) -> Result<()> {
    let to = folder.join(file.file_name().unwrap_or_default());
    std::fs::copy(file, to).map(drop).at("copy", file)
}

/// The folder of jax-js' scripts, installed by npm into the cache.
fn peer(project: &Project, screen: &Screen) -> Result<PathBuf> {
    let (package, version) = PEER;
    let step = screen.step(&format!("{THEIRS} {version}"));
    let folder = project.cache.join("peers").join(format!("{THEIRS}-{version}"));
    let scripts = folder.join("node_modules").join(package).join("dist");
    if scripts.join("index.js").is_file() {
        step.done("installed before");
        return Ok(scripts);
    }
    let npm = which("npm").ok_or_else(|| Error::Missing {
        what: "npm".into(),
        why: "the peer is a package of npm's".into(),
        how: "Install Node.js 20 or later (nodejs.org, or on Debian the packages nodejs and npm).".into(),
    })?;
    project.install(&folder, |into| {
        let mut command = project.command(npm);
        command.current_dir(into).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
        step.run(command.arg(into).arg(format!("{package}@{version}"))).map(drop)
    })?;
    step.done("installed");
    Ok(scripts)
}

/// The same program on one native thread.
fn native(project: &Project, screen: &Screen, results: &mut Results) -> Result<()> {
    let step = screen.step("natively, one thread");
    let mut command = project.cargo();
    command.args(["run", "--locked", "--release", "--no-default-features", "--example", EXAMPLE]);
    let said = step.run(&mut command)?;
    said.lines.iter().for_each(|line| results.read(line));
    step.done("");
    Ok(())
}

impl Results {
    /// Takes in a line of JSON; other lines are passed over. Of two measurements of a case the one with the better best stays.
    fn read(&mut self, line: &str) {
        let Ok(json) = serde_json::from_str::<Value>(line.trim()) else { return };
        if let Some(version) = json["browser"].as_str() {
            self.browser = format!("Chromium {version}");
        }
        if let Some(heap) = json["heap"].as_u64() {
            self.heap = heap;
        }
        self.reached.extend(read_reached(&json));
        let Some(found) = read_found(&json) else { return };
        match self.found.iter_mut().find(|known| known.key == found.key) {
            Some(known) if known.best > found.best => *known = found,
            Some(_) => {}
            None => self.found.push(found),
        }
    }

    fn get(&self, who: &str, backend: &str, model: &str, envelope: bool, lot: u32) -> Result<&Found> {
        let key = Key { who: who.into(), backend: backend.into(), model: model.into(), envelope, lot };
        let missing = || Error::Wrong(format!("nothing was measured of {key:?}"));
        self.found.iter().find(|found| found.key == key).ok_or_else(missing)
    }
}

fn read_found(json: &Value) -> Option<Found> {
    let numbers = |name: &str| -> Option<Vec<f64>> {
        let all: Vec<f64> = json[name].as_array()?.iter().filter_map(Value::as_f64).collect();
        (!all.is_empty()).then_some(all)
    };
    let word = |name: &str, otherwise: &str| json[name].as_str().unwrap_or(otherwise).to_owned();
    let mut samples = numbers("samples")?;
    samples.sort_unstable_by(f64::total_cmp);
    let mut calling = numbers("calling")?;
    calling.sort_unstable_by(f64::total_cmp);
    Some(Found {
        key: Key {
            who: word("who", NATIVE),
            backend: word("backend", "cpu"),
            model: json["model"].as_str()?.to_owned(),
            envelope: json["envelope"].as_bool().unwrap_or(false),
            lot: u32::try_from(json["lot"].as_u64()?).ok()?,
        },
        device: word("device", ""),
        best: samples[0],
        median: samples[samples.len() / 2],
        worst: samples[samples.len() - 1],
        calling: [calling[0], calling[calling.len() / 2]],
        memory: json["memory"].as_u64().unwrap_or(0),
        buffers: json["buffers"].as_u64().unwrap_or(0),
    })
}

fn read_reached(json: &Value) -> Option<Reached> {
    Some(Reached {
        preset: json["preset"].as_str()?.to_owned(),
        goal: json["goal"].as_f64()?,
        reached: json["reached"].as_bool()?,
        seconds: json["seconds"].as_f64()?,
        accuracy: json["accuracy"].as_f64()?,
        steps: json["steps"].as_u64()?,
        of: json["of"].as_u64()?,
        epsilon: json["epsilon"].as_f64()?,
    })
}

const MODELS: [(&str, &str); 2] = [("CnnTanh", "CNN"), ("Mlp", "perceptron")];
const ENCODERS: [(bool, &str); 2] = [(false, "flat clip, Gaussian"), (true, "envelope, Student-t, KS")];

fn section(machine: &str, results: &Results) -> Result<String> {
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = writeln!(out, "{text}");
    };
    let adapter = &results.get(OURS, "gpu", "CnnTanh", false, 256)?.device;
    let here = &results.get(NATIVE, "cpu", "CnnTanh", false, 256)?.device;
    let (package, version) = PEER;
    line(format_args!(
        "`cargo xtask bench browser`: {machine}; {}; adapter: {adapter}; natively: {here}; {package} {version}. Milliseconds a step:",
        results.browser
    ));
    line(format_args!(
        "the best sample, then the median. Ratios are of the best. One thread wherever a processor computes.\n"
    ));

    line(format_args!("### wasm beside native code, lot 256\n"));
    line(format_args!(
        "| | native, ms | wasm, ms | native ÷ wasm | without relaxed SIMD, ms | native ÷ that | WebGPU, ms |"
    ));
    line(format_args!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |"));
    for (model, name) in MODELS {
        for (envelope, encoder) in ENCODERS {
            let get = |who, backend| results.get(who, backend, model, envelope, 256);
            let (native, wasm, plain) = (get(NATIVE, "cpu")?, get(OURS, "cpu")?, get(PLAIN, "cpu")?);
            let ratio = |wasm: &Found| format!("{} | {:.2}", cell(wasm), native.best / wasm.best);
            let (native, wasm, plain, gpu) = (cell(native), ratio(wasm), ratio(plain), cell(get(OURS, "gpu")?));
            line(format_args!("| {name}, {encoder} | {native} | {wasm} | {plain} | {gpu} |"));
        }
    }

    line(format_args!("\n### Beside jax-js: flat clip, Gaussian; vmap(grad) in one jit there\n"));
    line(format_args!("| | lot | jax-js, ms | this, ms | jax-js ÷ this | goal |"));
    line(format_args!("| --- | ---: | ---: | ---: | ---: | ---: |"));
    for (backend, where_, goal) in [("gpu", "WebGPU", 5), ("cpu", "wasm", 10)] {
        for (model, name, lot) in [("Mlp", "perceptron", 256), ("CnnTanh", "CNN", 64)] {
            let get = |who| results.get(who, backend, model, false, lot);
            let (theirs, ours) = (get(THEIRS)?, get(OURS)?);
            let ratio = theirs.best / ours.best;
            let missed = if ratio < f64::from(goal) { " (missed)" } else { "" };
            line(format_args!(
                "| {where_}, {name} | {lot} | {} | {} | {ratio:.1} | {goal}{missed} |",
                cell(theirs),
                cell(ours)
            ));
        }
    }
    let get = |who, model, lot| {
        let [best, median] = results.get(who, "gpu", model, false, lot)?.calling;
        Ok::<_, Error>(format!("{best:.2} ({median:.2})"))
    };
    line(format_args!(
        "\nThe calling thread's share of a WebGPU step in milliseconds: perceptron {}, jax-js {}; CNN {}, jax-js {}. Goal: below 0.2. Each step\n\
         was called by itself, while the device had nothing else to do: an adapter in software computes on the caller's processors.",
        get(OURS, "Mlp", 256)?,
        get(THEIRS, "Mlp", 256)?,
        get(OURS, "CnnTanh", 64)?,
        get(THEIRS, "CnnTanh", 64)?
    ));

    line(format_args!("\n### The CNN's cost by lot\n"));
    line(format_args!(
        "| lot | wasm, flat clip, ms | µs an example | wasm, envelope, ms | µs an example | WebGPU, flat clip, ms | µs an example | graphics buffers, MB |"
    ));
    line(format_args!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"));
    for lot in [64, 256, 1024, 4096, 16_384] {
        let get = |backend, envelope| results.get(OURS, backend, "CnnTanh", envelope, lot);
        let each = |found: &Found| found.best * 1e3 / f64::from(lot);
        let (clip, envelope) = (get("cpu", false)?, get("cpu", true)?);
        // A software adapter takes its time.
        let gpu = get("gpu", false).map_or_else(
            |_| "| | |".to_owned(),
            |gpu| format!("{} | {:.0} | {:.0} |", cell(gpu), each(gpu), megabytes(gpu.buffers)),
        );
        line(format_args!(
            "| {lot} | {} | {:.0} | {} | {:.0} | {gpu}",
            cell(clip),
            each(clip),
            cell(envelope),
            each(envelope)
        ));
    }

    line(format_args!("\n{}", accuracy(&results.reached)));

    let ours = || results.found.iter().filter(|found| found.key.who == OURS);
    let slowest = ours().max_by(|a, b| (a.worst / a.median).total_cmp(&(b.worst / b.median)));
    if let Some(Found { key, worst, median, .. }) = slowest {
        line(format_args!(
            "\nThe slowest step took {:.1} × its run's median ({}, {}, lot {}); goal: below 3.",
            worst / median,
            key.backend,
            key.model,
            key.lot
        ));
    }
    let largest = |bytes: fn(&Found) -> u64| ours().map(bytes).max().unwrap_or(0);
    line(format_args!(
        "Memory, with 60,000 examples: wasm {:.0} MB and JavaScript {:.1} MB in the end (goal: below 300 together), graphics buffers {:.0} MB at most (goal: below 256).",
        megabytes(largest(|found| found.memory)),
        megabytes(results.heap),
        megabytes(largest(|found| found.buffers))
    ));
    Ok(out)
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

fn cell(found: &Found) -> String {
    let digits = if found.best < 100.0 { 2 } else { 0 };
    format!("{:.digits$} ({:.digits$})", found.best, found.median)
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
        results.read(&line(OURS, "cpu", "Mlp", false, 256, &[3.0, 2.0, 9.0]));
        results.read("Running 1 test using 1 worker");
        results.read(&line(OURS, "cpu", "Mlp", false, 256, &[1.0, 1.5]));
        results.read(&line(OURS, "cpu", "Mlp", false, 256, &[4.0]));
        let found = results.get(OURS, "cpu", "Mlp", false, 256).unwrap();
        assert_eq!((found.best, found.median, found.worst), (1.0, 1.5, 1.5));
        assert_eq!(found.calling, [0.1, 0.2]);
        assert_eq!(results.found.len(), 1);
    }

    #[test]
    fn a_whole_run_makes_a_section_and_a_missing_case_is_named() {
        let mut results = Results::default();
        results.read(r#"{"browser":"1.2"}"#);
        results.read(r#"{"heap":2000000}"#);
        for (who, backend) in
            [(NATIVE, "cpu"), (OURS, "cpu"), (PLAIN, "cpu"), (OURS, "gpu"), (THEIRS, "cpu"), (THEIRS, "gpu")]
        {
            for (model, envelope) in [("CnnTanh", false), ("CnnTanh", true), ("Mlp", false), ("Mlp", true)] {
                for lot in [64, 256, 1024, 4096, 16_384] {
                    results.read(&line(who, backend, model, envelope, lot, &[if who == THEIRS { 60.0 } else { 8.0 }]));
                }
            }
        }
        let text = section("a machine", &results).unwrap();
        assert!(text.contains("there was no MNIST"), "{text}");
        for (seconds, reached) in [(9.0, true), (1.0, false), (8.0, true)] {
            let run = serde_json::json!({
                "preset": "fast-3", "goal": 0.98, "reached": reached, "seconds": seconds, "accuracy": 0.981, "steps": 50, "of": 60, "epsilon": 2.99,
            });
            results.read(&run.to_string());
        }
        let text = section("a machine", &results).unwrap();
        assert!(text.contains("reached 98 % of MNIST's test images after 9.0 s and 50 steps, with 98.10 %"), "{text}");
        assert!(text.contains("| WebGPU, perceptron | 256 | 60.00 (60.00) | 8.00 (8.00) | 7.5 | 5 |"), "{text}");
        assert!(text.contains("| 7.5 | 10 (missed) |") && text.contains("Chromium 1.2"), "{text}");
        results.found.retain(|found| found.key.lot != 1024);
        let error = section("a machine", &results).unwrap_err().to_string();
        assert!(error.contains("1024"), "{error}");
    }
}
