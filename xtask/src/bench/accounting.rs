//! `cargo xtask bench accounting`: criterion natively, the same cases in Chromium, and the Python peer, in one run; the table in BENCHMARKS.md.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use fs_err as fs;

use super::{
    peers,
    report::{self, missed, table},
    wasm::ToPage,
};
use crate::{
    error::{Error, Result},
    project::{Project, make_empty, remove},
    tools::{browser, cargo_tool, wasm_target},
};

const EXAMPLE: &str = "accounting_bench";
const PEER: (&str, &str) = ("dp-accounting", "0.6.0");

/// Seconds and what came out, by case.
type Times = BTreeMap<String, (f64, String)>;

const NONE: f64 = f64::INFINITY;

/// A row: the case, what it is, what it may take natively and in a browser (seconds), and what the peer calls it.
type Row = (&'static str, &'static str, [f64; 2], &'static str);

const ROWS: [Row; 24] = [
    ("RDP ε, orders 2 to 256", "tutorial case", [1e-3; 2], "RDP ε, orders 2 to 256"),
    ("RDP ε, fractional orders too", "tutorial case", [NONE; 2], "RDP ε, its own orders"),
    ("one more step", "tutorial case, composed by RDP", [1e-6; 2], "one more step"),
    ("PLD ε", "tutorial case", [0.04, NONE], "PLD ε"),
    ("prepare Ψ, 1000 × 26,010", "once for each envelope", [1.0, 3.0], ""),
    ("RDP ε, Ψ, Gaussian", "a new family, scale or rate", [0.01; 2], ""),
    ("RDP ε, Ψ, Student-t", "the same", [0.01; 2], ""),
    ("RDP ε, Ψ, Laplace", "the same", [0.01; 2], ""),
    ("RDP ε, Ψ, Cauchy", "the same", [0.01; 2], ""),
    ("RDP ε, Ψ, variance gamma", "the same", [0.01; 2], ""),
    ("RDP ε, Ψ, hyperbolic secant", "the same", [0.01; 2], ""),
    ("RDP ε, Ψ, generalised Gaussian", "the same", [0.01; 2], ""),
    ("RDP ε, Ψ, exponent 3", "generalised Gaussian, flatter", [0.01; 2], ""),
    ("RDP ε, Ψ, exponent 8", "the same, nearly a box", [0.01; 2], ""),
    ("RDP ε, Ψ, exponent 100", "the flattest there is", [0.01; 2], ""),
    ("RDP ε, Ψ, a formula", "noise of the density 1/cosh(x), as a table", [0.01; 2], ""),
    ("RDP ε, Ψ, a steep formula", "exp(−x²⁰) at scale 30", [0.01; 2], ""),
    ("RDP ε, Ψ, a cusped formula", "exp(−√abs(x))", [0.01; 2], ""),
    ("RDP ε below 0.1, Ψ, Student-t", "all orders up to 256 count", [0.01; 2], ""),
    ("RDP ε below 0.1, Ψ, generalised Gaussian", "the same", [0.01; 2], ""),
    ("PLD ε, Ψ, Student-t", "from the envelope to ε", [0.5, NONE], ""),
    ("PLD ε, Ψ, Laplace", "the same", [0.5, NONE], ""),
    ("PLD ε, Ψ, hyperbolic secant", "the same", [0.5, NONE], ""),
    ("PLD ε, one ψ, Student-t", "one vector, prepared each time", [0.5, NONE], ""),
];

/// Measures, and writes the table. Nothing else should run meanwhile.
pub fn run(project: &Project) -> Result<()> {
    project.say("Accounting, natively");
    let folder = project.target()?.join("criterion").join("accounting");
    remove(&folder)?;
    let words = "bench --locked --package hushgrad-accounting --bench accounting";
    project.run("criterion", &mut project.cargo(words))?;
    let native = peers::measured(&folder).into_iter();
    let native: Times = native.map(|bench| (bench.name, (bench.seconds.time.median, String::new()))).collect();

    project.say("The peer");
    let step = project.step("Python");
    let python = peers::python(project, &step, &[PEER])?;
    let said = step.run(&mut project.command(python, "benches/peers/dp_accounting_cases.py"))?;
    step.done(PEER.1);

    project.say("In a browser");
    let browser = in_browser(project)?;
    let text = section(&native, &browser, &lines(&said.lines))?;
    report::write(project, "accounting", "Accounting", &text)
}

/// The example with the same cases, compiled for the browser, on a page that carries all of it, in a Chromium without a window.
fn in_browser(project: &Project) -> Result<Times> {
    let claim = project.claim()?;
    let wasm = wasm_target::ensure(project)?;
    let wasm_bindgen = cargo_tool::wasm_bindgen(project)?;
    drop(claim);
    let chromium = browser::chromium(project)?;
    let step = project.step("compile for the browser");
    let folder = project.target()?.join("accounting-page");
    make_empty(&folder)?;
    let to_page = ToPage { wasm: &wasm, wasm_bindgen: &wasm_bindgen, kind: "no-modules" };
    to_page.write(project, &step, "--package hushgrad-accounting", EXAMPLE, &folder)?;
    step.done("");
    let step = project.step("Chromium runs it");
    let words = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --dump-dom";
    let mut chromium = project.command(chromium, words);
    chromium.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    let said = step.run(chromium.arg(format!("file://{}", page(&folder)?.display())))?;
    step.done("");
    let times = lines(&said.lines);
    if times.is_empty() {
        return Err(Error::wrong(format!("the page measured nothing; Chromium said:{}", said.tail())));
    }
    Ok(times)
}

/// One file: the module as text, its glue, and a call that fills the page before it is loaded.
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

/// `name`, seconds, value, between tabs; other lines are passed over.
fn lines(said: &[String]) -> Times {
    let fields = said.iter().map(|line| line.split('\t').collect::<Vec<_>>());
    let case = |fields: Vec<&str>| match fields[..] {
        [name, seconds, value, ..] => Some((name.to_owned(), (seconds.parse().ok()?, value.trim().to_owned()))),
        _ => None,
    };
    fields.filter_map(case).collect()
}

fn section(native: &Times, browser: &Times, peer: &Times) -> Result<String> {
    let rows = ROWS.iter().map(|&(name, what, [here, there], theirs)| {
        let time = |times: &Times, name: &str, limit: f64| {
            let cell = |(seconds, _): &(f64, _)| format!("{}{}", duration(*seconds), missed(*seconds > limit));
            times.get(name).map_or_else(String::new, cell)
        };
        let limit = match (here, there) {
            (NONE, _) => String::new(),
            (here, there) if there != here && there != NONE => format!("{}; wasm {}", duration(here), duration(there)),
            _ => duration(here),
        };
        let value = |times: &Times, name: &str| {
            let value = times.get(name).and_then(|(_, value)| value.parse::<f64>().ok());
            value.filter(|v| name.contains('ε') && v.is_finite()).map_or_else(String::new, |v| format!("{v:.6}"))
        };
        let beside = match value(peer, theirs) {
            value if value.is_empty() => String::new(),
            value => format!(", ε {value}"),
        };
        let (peer, value) = (time(peer, theirs, NONE), value(browser, name));
        let (native, browser) = (time(native, name, here), time(browser, name, there));
        Ok(format!("{name} | {what} | {limit} | {native} | {browser} | {value} | {peer}{beside}"))
    });
    let (library, version) = PEER;
    Ok(format!(
        "`cargo xtask bench accounting`, all columns in one run, medians: {}, one tab. \
         Tutorial case: σ 1.1, q 256/60000, 14,062 steps, δ 1e-5. Ψ: 1000 sorted |N(0,1)| vectors of 26,010 coordinates, norm 1.\n\n{}",
        report::machine(),
        table(&format!("|what|limit|native|Chromium, wasm|ε|{library} {version}"), 2, rows)?
    ))
}

/// Three digits and a unit.
fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        s => (s * 1e9, "ns"),
    };
    let digits = if value >= 99.95 { 0 } else { usize::from(value.fract() != 0.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits() {
        for (seconds, text) in
            [(0.04, "40 ms"), (1e-6, "1 µs"), (2.345, "2.3 s"), (0.1234, "123 ms"), (2.3e-9, "2.3 ns")]
        {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn every_row_is_a_case() {
        let cases = include_str!("../../../crates/accounting/benches/accounting/cases.rs");
        for (name, ..) in ROWS {
            assert!(cases.contains(&format!("\"{name}\"")), "{name}");
        }
        let times = lines(&["noise".into(), "PLD ε\t2e-2\t2.3817".into()]);
        let table = section(&times, &times, &Times::new()).unwrap();
        assert!(table.contains("| PLD ε | tutorial case | 40 ms | 20 ms | 20 ms | 2.381700 |"), "{table}");
    }
}
