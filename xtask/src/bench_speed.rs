//! `cargo xtask bench speed`: the engine's benches and its peer's, in one run on one machine; the section in BENCHMARKS.md.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    benchmarks,
    error::{Error, Result},
    peers::{self, Measured},
    project::{Project, remove},
    screen::Screen,
};

const OPACUS: &str = "1.6.0";
const TORCH: &str = "2.15.0";
/// A Python that has both already.
const PYTHON: &str = "HUSHGRAD_OPACUS_PYTHON";
const LOT: u32 = 256;
const THREADS: [u32; 2] = [1, 2];

/// A step's time in milliseconds: other work on the machine disturbs the median more than the best sample.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Time {
    median: f64,
    best: f64,
}

/// One bench of the engine.
#[derive(Clone, Debug, PartialEq)]
struct Bench {
    model: String,
    encoder: String,
    lot: u32,
    threads: u32,
    time: Time,
}

/// Opacus on one number of threads.
struct Peer {
    threads: u32,
    time: Time,
    versions: String,
}

pub fn run(project: &mut Project, screen: &Screen) -> Result<()> {
    screen.say("Set-up");
    project.claim(screen)?;
    let python = opacus(project, screen)?;
    project.release();

    screen.say("Benches");
    // Before and after the engine's, so that what else the machine does is seen by both.
    let mut peers = ask_peers(project, screen, &python)?;
    let (device, benches) = engine(project, screen)?;
    for (peer, later) in peers.iter_mut().zip(ask_peers(project, screen, &python)?) {
        if later.time.best < peer.time.best {
            *peer = later;
        }
    }

    let text = section(&benchmarks::machine(), &device, &benches, &peers)?;
    benchmarks::write(project, screen, "speed", "Speed", &text)
}

/// A Python with Opacus and PyTorch.
fn opacus(project: &Project, screen: &Screen) -> Result<PathBuf> {
    let step = screen.step(&format!("Opacus {OPACUS}"));
    if let Some(python) = std::env::var_os(PYTHON) {
        step.done(&format!("from {PYTHON}"));
        return Ok(python.into());
    }
    step.say(
        "PyTorch's package may bring libraries for graphics cards: up to 6 GB in the cache, to be deleted at will",
    );
    let python = peers::python(project, &step, &[("opacus", OPACUS), ("torch", TORCH)])?;
    step.done("");
    Ok(python)
}

fn ask_peers(project: &Project, screen: &Screen, python: &Path) -> Result<Vec<Peer>> {
    THREADS.iter().map(|&threads| ask_peer(project, screen, python, threads)).collect()
}

fn ask_peer(project: &Project, screen: &Screen, python: &Path, threads: u32) -> Result<Peer> {
    let step = screen.step(&format!("Opacus, {threads} threads"));
    let mut command = project.command(python);
    command.arg(project.root.join("benches").join("peers").join("opacus_step.py"));
    command.args(["--threads", &threads.to_string(), "--lot", &LOT.to_string()]);
    let said = step.run(&mut command)?;
    let answer = said.lines.iter().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let peer = answer.and_then(|json| read_peer(&json, threads));
    let peer = peer.ok_or_else(|| Error::Wrong(format!("opacus_step.py did not print its times{}", said.tail())))?;
    step.done(&format!("{:.1} ms", peer.time.median));
    Ok(peer)
}

fn read_peer(json: &Value, threads: u32) -> Option<Peer> {
    let version = |name: &str| json["versions"][name].as_str();
    let versions =
        format!("Opacus {}, PyTorch {}, Python {}", version("opacus")?, version("torch")?, version("python")?);
    let time = |name: &str| json["milliseconds"][name].as_f64();
    Some(Peer { threads, time: Time { median: time("median")?, best: time("best")? }, versions })
}

/// What the engine says it runs on, and its benches.
fn engine(project: &Project, screen: &Screen) -> Result<(String, Vec<Bench>)> {
    let step = screen.step("the CPU engine");
    let folder = project.target()?.join("criterion").join("step");
    remove(&folder)?;
    let mut command = project.cargo();
    command.args(["bench", "--locked", "--no-default-features", "--bench", "engine", "--", "step", "--noplot"]);
    let said = step.run(&mut command)?;
    let device = said.lines.iter().find_map(|line| line.strip_prefix("engine: ")).unwrap_or("unknown").to_owned();
    let benches: Vec<Bench> = peers::measured(&folder).iter().filter_map(read_bench).collect();
    step.done(&format!("{} benches", benches.len()));
    Ok((device, benches))
}

/// `CnnTanh, clip, 256`, on so many threads.
fn read_bench(measured: &Measured) -> Option<Bench> {
    let mut name = measured.name.split(", ");
    Some(Bench {
        model: name.next()?.to_owned(),
        encoder: name.next()?.to_owned(),
        lot: name.next()?.parse().ok()?,
        threads: measured.input.parse().ok()?,
        time: Time { median: measured.median * 1e3, best: measured.best * 1e3 },
    })
}

fn section(machine: &str, device: &str, benches: &[Bench], peers: &[Peer]) -> Result<String> {
    let find = |model: &str, encoder: &str, lot: u32, threads: u32| {
        let same =
            |b: &&Bench| (b.model.as_str(), b.encoder.as_str(), b.lot, b.threads) == (model, encoder, lot, threads);
        let missing = || Error::Wrong(format!("criterion left no bench of {model}, {encoder}, {lot}/{threads}"));
        benches.iter().find(same).map(|b| b.time).ok_or_else(missing)
    };
    let versions = peers.first().map_or("", |peer| peer.versions.as_str());
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = writeln!(out, "{text}");
    };
    line(format_args!(
        "`cargo xtask bench speed`: {machine}; the engine: {device}; {versions}. Milliseconds a step: the"
    ));
    line(format_args!(
        "best sample, then the median; the more they differ, the busier the machine was. Ratios are of the best.\n"
    ));
    line(format_args!("### The CNN (26,010 parameters, tanh), lot {LOT}\n"));
    line(format_args!("| | threads | ms, best (median) | examples/s | Opacus' plain step ÷ this |"));
    line(format_args!("| --- | ---: | ---: | ---: | ---: |"));
    for peer in peers {
        let rows = [
            ("Opacus: flat clip, Gaussian", None),
            ("flat clip, Gaussian", Some("clip")),
            ("envelope of one vector, Student-t, KS", Some("envelope")),
            ("envelope of 1000 vectors, Student-t, KS", Some("envelope of 1000")),
        ];
        for (name, encoder) in rows {
            let time = match encoder {
                None => peer.time,
                Some(encoder) => find("CnnTanh", encoder, LOT, peer.threads)?,
            };
            let Time { median, best } = time;
            let (rate, ratio) = (f64::from(LOT) / best * 1e3, peer.time.best / best);
            line(format_args!("| {name} | {} | {best:.2} ({median:.2}) | {rate:.0} | {ratio:.1} |", peer.threads));
        }
    }
    line(format_args!("\n### Other models, lot {LOT}, two threads\n"));
    line(format_args!("| | flat clip, ms | envelope, Student-t, KS, ms |"));
    line(format_args!("| --- | ---: | ---: |"));
    for (model, name) in [("CnnRelu", "CNN, ReLU"), ("Mlp", "perceptron"), ("Linear", "linear")] {
        let (clip, envelope) = (find(model, "clip", LOT, 2)?, find(model, "envelope", LOT, 2)?);
        line(format_args!("| {name} | {} | {} |", cell(clip), cell(envelope)));
    }
    line(format_args!("\n### The CNN's cost by lot, two threads\n"));
    line(format_args!("| lot | flat clip, ms | µs an example | envelope, ms | µs an example |"));
    line(format_args!("| ---: | ---: | ---: | ---: | ---: |"));
    for lot in [64, 256, 1024, 4096, 16_384] {
        let (clip, envelope) = (find("CnnTanh", "clip", lot, 2)?, find("CnnTanh", "envelope", lot, 2)?);
        let each = |time: Time| time.best * 1e3 / f64::from(lot);
        line(format_args!(
            "| {lot} | {} | {:.1} | {} | {:.1} |",
            cell(clip),
            each(clip),
            cell(envelope),
            each(envelope)
        ));
    }
    Ok(out)
}

fn cell(time: Time) -> String {
    format!("{:.2} ({:.2})", time.best, time.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchs_name_says_what_it_is() {
        let measured =
            |name: &str| Measured { name: name.to_owned(), input: "2".to_owned(), median: 0.004, best: 0.003 };
        let found = read_bench(&measured("CnnTanh, envelope of 1000, 256")).unwrap();
        assert_eq!((found.model.as_str(), found.encoder.as_str()), ("CnnTanh", "envelope of 1000"));
        assert_eq!((found.lot, found.threads), (256, 2));
        assert_eq!(found.time, Time { median: 4.0, best: 3.0 });
        assert_eq!(read_bench(&measured("other")), None);
    }

    #[test]
    fn a_missing_bench_is_named() {
        let peer = Peer { threads: 1, time: Time { median: 2.0, best: 1.0 }, versions: String::new() };
        let error = section("machine", "device", &[], &[peer]).unwrap_err().to_string();
        assert!(error.contains("CnnTanh, clip, 256/1"), "{error}");
    }
}
