//! `cargo xtask bench browser`: the engine in Chromium, natively, and beside jax-js (`browser.md`).

use serde_json::{Value, json};

use super::{
    report::{self, Lines},
    wasm::ToPage,
};
use crate::{
    prelude::*,
    site::{bundle::To, shrink},
    tools::{browser, mnist, npm, wasm_target},
};

const EXAMPLE: &str = "engine_bench";
const PEER: (&str, &str) = ("@jax-js/jax", "0.1.25");
const OURS: &str = "hushgrad";
const THEIRS: &str = "jax-js";
/// The engine as run by browsers without relaxed SIMD.
const PLAIN: &str = "simd128";
/// Name of the example's results without a browser.
const NATIVE: &str = "native";

pub fn run(project: &Project) -> Result<()> {
    project.say("Set-up");
    let claim = project.claim()?;
    let wasm = wasm_target::ensure(project)?;
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
    let to_page = ToPage { wasm: &wasm, to: To::Modules };
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
    let mut lines = Lines::default();
    // Before and after the browser, on one native thread, so that other load affects both.
    let words = format!("run --locked --release --no-default-features --example {EXAMPLE}");
    let native = || project.run("natively, one thread", &mut project.cargo(&words));
    lines.read(&native()?.lines, &on(NATIVE));
    let words = "--config=bench.config.ts --reporter=line bench.ts";
    let said = project.run("Chromium", &mut browser::playwright_test(project, &chromium, &folder, words))?;
    lines.read(&said.lines, &on(""));
    lines.read(&native()?.lines, &on(NATIVE));
    report::write(project, "browser", "In a browser", &section(&lines)?)
}

/// Default fields of a case.
fn on(who: &str) -> Value {
    json!({ "who": who, "backend": "cpu", "envelope": false, "device": "", "memory": 0, "buffers": 0 })
}

/// Returns the folder of jax-js' scripts, installed by npm into the cache.
fn peer(project: &Project) -> Result<PathBuf> {
    let (package, version) = PEER;
    let step = project.step(&format!("{THEIRS} {version}"));
    let folder = project.cache.join("peers").join(format!("{THEIRS}-{version}"));
    let scripts = folder.join("node_modules").join(package).join("dist");
    if scripts.join("index.js").is_file() {
        return step.gives(scripts, "installed before");
    }
    let npm = npm::npm("the peer is a package of npm's")?;
    project.install(&folder, |into: &Path| {
        let mut command = project.command(npm, "install --ignore-scripts --no-audit --no-fund --prefix");
        step.run(command.current_dir(into).arg(into).arg(format!("{package}@{version}"))).map(drop)
    })?;
    step.gives(scripts, "installed")
}

fn section(lines: &Lines) -> Result<String> {
    // The median run by seconds; runs that missed the goal are slowest.
    let mut runs: Vec<_> = lines.with("preset").collect();
    runs.sort_by_key(|run| (run["reached"] != true, (run["seconds"].as_f64().unwrap_or(f64::MAX) * 1e6) as u64));
    let ours: Vec<_> = lines.with("samples").filter(|line| line["who"] == OURS).collect();
    let last = |field| lines.with(field).next_back().map(|line| &line[field]);
    let (package, version) = PEER;
    let more = json!({
        "browser": last("browser"), "heap": last("heap"), "jax": format!("{package} {version}"), "ours": ours,
        "run": runs.get(runs.len() / 2), "runs": runs.len(),
    });
    lines.fill(include_str!("browser.md"), more)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Results for these lot sizes.
    fn lines(lots: &[u32]) -> Lines {
        let mut lines = Lines::default();
        lines.add(json!({ "browser": "1.2" }));
        lines.add(json!({ "heap": 2_000_000 }));
        for (who, backend) in
            [(NATIVE, "cpu"), (OURS, "cpu"), (PLAIN, "cpu"), (OURS, "gpu"), (THEIRS, "cpu"), (THEIRS, "gpu")]
        {
            for (model, envelope) in [("CnnTanh", false), ("CnnTanh", true), ("Mlp", false), ("Mlp", true)] {
                for lot in lots {
                    let samples = if who == THEIRS { [60.0, 60.0] } else { [8.0, 24.0] };
                    lines.add(json!({
                        "who": who, "backend": backend, "model": model, "envelope": envelope, "lot": lot, "samples": samples,
                        "calling": [0.1, 0.2], "device": "a device", "memory": 5_000_000, "buffers": 7_000_000,
                    }));
                }
            }
        }
        lines
    }

    #[test]
    fn native_lines_take_default_fields() {
        let mut lines = Lines::default();
        let said = r#"{"model":"Mlp","lot":64,"device":"AVX-512","samples":[1.0],"calling":[1.0]}"#;
        lines.read(&[said.to_owned()], &on(NATIVE));
        let found = "{{ find(who='native', backend='cpu', model='Mlp', envelope=false, lot=64).device }}";
        assert_eq!(lines.fill(found, Value::Null).unwrap(), "AVX-512");
    }

    #[test]
    fn a_whole_run_makes_a_section_and_a_missing_case_is_named() {
        let mut lines = lines(&[64, 256, 1024, 4096, 16_384]);
        let text = section(&lines).unwrap();
        assert!(text.contains("there was no MNIST"), "{text}");
        for (seconds, reached) in [(9.0, true), (1.0, false), (8.0, true)] {
            lines.add(json!({
                "preset": "fast-3", "goal": 0.98, "reached": reached, "seconds": seconds, "accuracy": 0.981, "steps": 50, "of": 60, "epsilon": 2.99,
            }));
        }
        let text = section(&lines).unwrap();
        for part in [
            "Chromium 1.2; adapter: a device; natively: a device; @jax-js/jax 0.1.25. Milliseconds",
            "| CNN, flat clip, Gaussian | 8.00 (24.00) | 8.00 (24.00) | 1.00 | 8.00 (24.00) | 1.00 | 8.00 (24.00) |\n",
            "| WebGPU, perceptron | 256 | 60.00 (60.00) | 8.00 (24.00) | 7.5 | 5 |\n",
            "| 7.5 | 10 (missed) |\n",
            "perceptron 0.10 (0.20), jax-js 0.10 (0.20); CNN",
            "| 64 | 8.00 (24.00) | 125 | 8.00 (24.00) | 125 | 8.00 (24.00) | 125 | 7 |\n",
            "(ε = 2.990 by tight accounting for its 60 steps) reached 98 % of MNIST's test images after 9.0 s and 50 steps, with 98.10 %",
            "\n\nThe slowest step took 1.0 × its run's median (cpu, CnnTanh, lot 64); goal: below 3.\nMemory, with",
            "wasm 5 MB and JavaScript 2.0 MB in the end (goal: below 300 together), graphics buffers 7 MB at most",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let error = section(&self::lines(&[64, 256, 4096, 16_384])).unwrap_err().to_string();
        assert!(error.contains("1024"), "{error}");
    }
}
