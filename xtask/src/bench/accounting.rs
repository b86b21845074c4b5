//! `cargo xtask bench accounting`: the same cases natively, in Chromium and with the Python peer
//! (`accounting.md`).

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{
    peers,
    report::{self, Lines},
    wasm::ToPage,
};
use crate::{
    prelude::*,
    site::bundle::To,
    tools::{browser, python, wasm_target},
};

const EXAMPLE: &str = "accounting_bench";
const PEER: (&str, &str) = ("dp-accounting", "0.6.0");

/// By case: seconds, and ε or μ if the case has one.
type Times = BTreeMap<String, Time>;

#[derive(Debug, serde::Serialize)]
struct Time {
    seconds: f64,
    epsilon: Option<f64>,
}

/// Measures and writes the table. Nothing else should run meanwhile.
pub fn run(project: &Project) -> Result<()> {
    project.say("Accounting, natively");
    let folder = project.target()?.join("criterion").join("accounting");
    remove(&folder)?;
    let words = "bench --locked --package hushgrad-accounting --bench accounting";
    project.run("criterion", &mut project.cargo(words))?;
    let native = peers::measured(&folder).into_iter();
    let native = native.map(|bench| (bench.name, Time { seconds: bench.seconds.median, epsilon: None })).collect();

    project.say("The peer");
    let step = project.step("Python");
    let python = python::with(project, &step, "peers", &[PEER])?;
    let said = step.run(&mut project.command(python, "benches/peers/dp_accounting_cases.py"))?;
    step.done(PEER.1);

    project.say("In a browser");
    let browser = in_browser(project)?;
    let text = section(&native, &browser, &lines(&said.lines))?;
    report::write(project, "accounting", "Accounting", &text)
}

/// Runs the same cases in headless Chromium, on a self-contained page.
fn in_browser(project: &Project) -> Result<Times> {
    let claim = project.claim()?;
    let wasm = wasm_target::ensure(project)?;
    drop(claim);
    let chromium = browser::chromium(project)?;
    let step = project.step("compile for the browser");
    let folder = project.target()?.join("accounting-page");
    make_empty(&folder)?;
    let to_page = ToPage { wasm: &wasm, to: To::ClassicScript };
    to_page.write(project, &step, "--package hushgrad-accounting", EXAMPLE, &folder)?;
    step.done("");
    let step = project.step("Chromium runs it");
    let words = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --dump-dom";
    let mut chromium = project.command(chromium.full, words);
    chromium.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    let said = step.run(chromium.arg(format!("file://{}", page(&folder)?.display())))?;
    step.done("");
    let times = lines(&said.lines);
    if times.is_empty() {
        return Err(wrong!("the page measured nothing; Chromium said:{}", said.tail()));
    }
    Ok(times)
}

/// Writes one file with module, glue, and a call that fills the page before it has loaded.
fn page(folder: &Path) -> Result<PathBuf> {
    let module = STANDARD.encode(fs::read(folder.join(format!("{EXAMPLE}_bg.wasm")))?);
    let glue = fs::read_to_string(folder.join(format!("{EXAMPLE}.js")))?;
    let html = format!(
        "<!doctype html><meta charset=utf-8><pre id=out></pre>\n<script>{glue}</script>\n<script>\n\
         wasm_bindgen.initSync({{ module: Uint8Array.from(atob('{module}'), (letter) => letter.charCodeAt(0)) }});\n\
         document.getElementById('out').textContent = '\\n' + wasm_bindgen.run();\n\
         </script>\n",
    );
    let path = folder.join("page.html");
    fs::write(&path, html)?;
    Ok(path)
}

/// Parses lines of name, seconds and value, separated by tabs; skips others.
fn lines(said: &[String]) -> Times {
    let case = |line: &String| {
        let mut fields = line.split('\t');
        let (name, seconds, value) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?.trim().parse());
        let epsilon = value.ok().filter(|value: &f64| (name.contains('ε') || name.contains('μ')) && value.is_finite());
        Some((name.to_owned(), Time { seconds, epsilon }))
    };
    said.iter().filter_map(case).collect()
}

fn section(native: &Times, browser: &Times, peer: &Times) -> Result<String> {
    let (library, version) = PEER;
    let peer = json!({ "library": library, "version": version, "times": peer });
    let more = json!({ "native": native, "browser": browser, "peer": peer });
    Lines::default().fill(include_str!("accounting.md"), more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_case() {
        let cases = include_str!("../../../crates/accounting/benches/accounting/cases.rs");
        let rows =
            include_str!("accounting.md").lines().filter_map(|line| line.strip_prefix("  [\"")?.split('"').next());
        let names: Vec<&str> = rows.collect();
        assert_eq!(names.len(), 30);
        for name in names {
            assert!(cases.contains(&format!("\"{name}\"")), "{name}");
        }
        let times = lines(&["noise".into(), "PLD ε\t2e-2\t2.3817".into(), "prepare Ψ, 1000 × 26,010\t2\t7".into()]);
        let table = section(&times, &times, &lines(&["PLD ε\t0.5\t2.4".into()])).unwrap();
        let row = "| PLD ε | tutorial case | 40 ms | 20 ms | 20 ms | 2.381700 | 500 ms, ε 2.400000 |\n";
        assert!(table.contains(row), "{table}");
        let missed =
            "| prepare Ψ, 1000 × 26,010 | once for each envelope | 1 s; wasm 3 s | 2 s (missed) | 2 s |  |  |\n";
        assert!(table.contains(missed), "{table}");
        assert!(table.contains("| RDP ε, fractional orders too | tutorial case |  |  |  |  |  |\n"), "{table}");
    }
}
