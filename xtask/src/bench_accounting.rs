//! `cargo xtask bench accounting`: criterion natively, the same cases in Chromium, and the Python peer, in one run; the table in BENCHMARKS.md.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use crate::{
    benchmarks, browser,
    error::{At, Error, Result},
    peers,
    project::{Project, remove},
    screen::Screen,
    site, tools,
    wasm_target::{self, TARGET},
};

const PACKAGE: &str = "hushgrad-accounting";
const EXAMPLE: &str = "accounting_bench";
const PEER: (&str, &str) = ("dp-accounting", "0.6.0");

/// Seconds and what came out, by case.
type Times = BTreeMap<String, (f64, String)>;

/// A row: the case, what it may take natively and in a browser (seconds), what the peer calls it.
struct Row {
    name: &'static str,
    what: &'static str,
    limits: (Option<f64>, Option<f64>),
    peer: Option<&'static str>,
}

const fn row(name: &'static str, what: &'static str, native: f64) -> Row {
    Row { name, what, limits: (Some(native), Some(native)), peer: None }
}

const ROWS: [Row; 24] = [
    Row { peer: Some("RDP ε, orders 2 to 256"), ..row("RDP ε, orders 2 to 256", "tutorial case", 1e-3) },
    Row {
        peer: Some("RDP ε, its own orders"),
        limits: (None, None),
        ..row("RDP ε, fractional orders too", "tutorial case", 0.0)
    },
    Row { peer: Some("one more step"), ..row("one more step", "tutorial case, composed by RDP", 1e-6) },
    Row { peer: Some("PLD ε"), limits: (Some(0.04), None), ..row("PLD ε", "tutorial case", 0.0) },
    Row { limits: (Some(1.0), Some(3.0)), ..row("prepare Ψ, 1000 × 26,010", "once for each envelope", 0.0) },
    row("RDP ε, Ψ, Gaussian", "a new family, scale or rate", 0.01),
    row("RDP ε, Ψ, Student-t", "the same", 0.01),
    row("RDP ε, Ψ, Laplace", "the same", 0.01),
    row("RDP ε, Ψ, Cauchy", "the same", 0.01),
    row("RDP ε, Ψ, variance gamma", "the same", 0.01),
    row("RDP ε, Ψ, hyperbolic secant", "the same", 0.01),
    row("RDP ε, Ψ, generalised Gaussian", "the same", 0.01),
    row("RDP ε, Ψ, exponent 3", "generalised Gaussian, flatter", 0.01),
    row("RDP ε, Ψ, exponent 8", "the same, nearly a box", 0.01),
    row("RDP ε, Ψ, exponent 100", "the flattest there is", 0.01),
    row("RDP ε, Ψ, a formula", "noise of the density 1/cosh(x), as a table", 0.01),
    row("RDP ε, Ψ, a steep formula", "exp(−x²⁰) at scale 30", 0.01),
    row("RDP ε, Ψ, a cusped formula", "exp(−√abs(x))", 0.01),
    row("RDP ε below 0.1, Ψ, Student-t", "all orders up to 256 count", 0.01),
    row("RDP ε below 0.1, Ψ, generalised Gaussian", "the same", 0.01),
    Row { limits: (Some(0.5), None), ..row("PLD ε, Ψ, Student-t", "from the envelope to ε", 0.0) },
    Row { limits: (Some(0.5), None), ..row("PLD ε, Ψ, Laplace", "the same", 0.0) },
    Row { limits: (Some(0.5), None), ..row("PLD ε, Ψ, hyperbolic secant", "the same", 0.0) },
    Row { limits: (Some(0.5), None), ..row("PLD ε, one ψ, Student-t", "one vector, prepared each time", 0.0) },
];

/// Measures, and writes the table. Nothing else should run meanwhile.
pub fn run(project: &mut Project, screen: &Screen) -> Result<()> {
    screen.say("Accounting, natively");
    let native = native(project, screen)?;
    screen.say("The peer");
    let peer = peer(project, screen)?;
    screen.say("In a browser");
    let browser = in_browser(project, screen)?;
    benchmarks::write(project, screen, "accounting", "Accounting", &table(&native, &browser, &peer))
}

fn native(project: &Project, screen: &Screen) -> Result<Times> {
    let target = project.target()?;
    let folder = target.join("criterion").join("accounting");
    remove(&folder)?;
    let step = screen.step("criterion");
    let mut bench = project.cargo();
    step.run(bench.args(["bench", "--locked", "--package", PACKAGE, "--bench", "accounting"]))?;
    step.done("");
    Ok(peers::measured(&folder).into_iter().map(|bench| (bench.name, (bench.median, String::new()))).collect())
}

/// The Python library.
fn peer(project: &Project, screen: &Screen) -> Result<Times> {
    let step = screen.step(PEER.0);
    let python = peers::python(project, &step, &[PEER])?;
    let said = step.run(project.command(python).arg("benches/peers/dp_accounting_cases.py"))?;
    step.done(PEER.1);
    Ok(lines(&said.lines))
}

/// The example with the same cases, compiled for the browser, on a page that carries all of it, in a Chromium without a window.
fn in_browser(project: &mut Project, screen: &Screen) -> Result<Times> {
    project.claim(screen)?;
    let wasm = wasm_target::ensure(project, screen)?;
    let bindgen = project.locked("wasm-bindgen")?;
    let bindgen = tools::cargo_tool(project, screen, "wasm-bindgen-cli", "wasm-bindgen", &bindgen)?;
    project.release();
    let chromium = browser::chromium(project, screen)?;
    let target = project.target()?;
    let step = screen.step("compile for the browser");
    let mut compile = project.cargo();
    compile.args(["build", "--locked", "--profile", site::PROFILE, "--package", PACKAGE, "--target", TARGET]);
    wasm.prepare(compile.args(["--example", EXAMPLE]));
    step.run(&mut compile)?;
    step.done("");
    let step = screen.step("Chromium runs it");
    let folder = target.join("accounting-page");
    remove(&folder)?;
    std::fs::create_dir_all(&folder).at("create the folder", &folder)?;
    let module = target.join(TARGET).join(site::PROFILE).join("examples").join(format!("{EXAMPLE}.wasm"));
    step.run(
        project
            .command(bindgen)
            .args(["--target", "no-modules", "--no-typescript", "--out-dir"])
            .arg(&folder)
            .arg(module),
    )?;
    let page = page(&folder)?;
    let profile = folder.join("profile");
    let mut chromium = project.command(chromium);
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]);
    chromium.arg(format!("--user-data-dir={}", profile.display())).arg("--dump-dom");
    let said = step.run(chromium.arg(format!("file://{}", page.display())))?;
    step.done("");
    let times = lines(&said.lines);
    if times.is_empty() {
        return Err(Error::Wrong(format!("the page measured nothing; Chromium said:{}", said.tail())));
    }
    Ok(times)
}

/// One file: the module as text, its glue, and a call that fills the page before it is loaded.
fn page(folder: &Path) -> Result<PathBuf> {
    let read = |name: String| -> Result<Vec<u8>> {
        let path = folder.join(name);
        std::fs::read(&path).at("read", &path)
    };
    let module = read(format!("{EXAMPLE}_bg.wasm"))?;
    let glue = read(format!("{EXAMPLE}.js"))?;
    let mut hex = String::with_capacity(2 * module.len());
    for byte in module {
        let _ = write!(hex, "{byte:02x}");
    }
    let html = format!(
        "<!doctype html><meta charset=utf-8><pre id=out></pre>\n<script>{}</script>\n<script>\n\
         const hex = '{hex}';\n\
         const bytes = Uint8Array.from({{ length: hex.length / 2 }}, (_, i) => parseInt(hex.substr(2 * i, 2), 16));\n\
         wasm_bindgen.initSync({{ module: bytes }});\n\
         document.getElementById('out').textContent = '\\n' + wasm_bindgen.run();\n\
         </script>\n",
        String::from_utf8_lossy(&glue)
    );
    let path = folder.join("page.html");
    std::fs::write(&path, html).at("write", &path)?;
    Ok(path)
}

/// `name`, seconds, value, between tabs; other lines are passed over.
fn lines(said: &[String]) -> Times {
    said.iter()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let (name, seconds, value) = (fields.next()?, fields.next()?, fields.next()?);
            Some((name.to_owned(), (seconds.parse().ok()?, value.trim().to_owned())))
        })
        .collect()
}

fn table(native: &Times, browser: &Times, peer: &Times) -> String {
    let (library, version) = PEER;
    let mut text = format!(
        "`cargo xtask bench accounting`, all columns in one run, medians: {}, one tab. \
         Tutorial case: σ 1.1, q 256/60000, 14,062 steps, δ 1e-5. Ψ: 1000 sorted |N(0,1)| vectors of 26,010 coordinates, norm 1.\n\n\
         | | what | limit | native | Chromium, wasm | ε | {library} {version} |\n| --- | --- | --: | --: | --: | --: | --: |\n",
        benchmarks::machine(),
    );
    for Row { name, what, limits, peer: named } in &ROWS {
        let time = |times: &Times, name: &str, limit: Option<f64>| {
            times.get(name).map_or_else(String::new, |(seconds, _)| {
                let missed = limit.is_some_and(|limit| *seconds > limit);
                format!("{}{}", duration(*seconds), if missed { " (missed)" } else { "" })
            })
        };
        let limit = match limits {
            (Some(a), Some(b)) if a != b => format!("{}; wasm {}", duration(*a), duration(*b)),
            (Some(a), _) => duration(*a),
            _ => String::new(),
        };
        let value = |times: &Times, name: &str| {
            let value = times.get(name).and_then(|(_, value)| value.parse::<f64>().ok());
            value.filter(|v| name.contains('ε') && v.is_finite()).map_or_else(String::new, |v| format!("{v:.6}"))
        };
        let theirs = named.map_or_else(String::new, |named| {
            let value = value(peer, named);
            format!("{}{}{value}", time(peer, named, None), if value.is_empty() { "" } else { ", ε " })
        });
        let _ = writeln!(
            text,
            "| {name} | {what} | {limit} | {} | {} | {} | {theirs} |",
            time(native, name, limits.0),
            time(browser, name, limits.1),
            value(browser, name),
        );
    }
    text
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
        let cases = include_str!("../../crates/accounting/benches/accounting/cases.rs");
        for Row { name, .. } in &ROWS {
            assert!(cases.contains(&format!("\"{name}\"")), "{name}");
        }
        let times = lines(&["noise".into(), "PLD ε\t2e-2\t2.3817".into()]);
        let table = table(&times, &times, &Times::new());
        assert!(table.contains("| PLD ε | tutorial case | 40 ms | 20 ms | 20 ms | 2.381700 |"), "{table}");
    }
}
