//! `cargo xtask bench speed`: the engine's benches and its peer's, in one run on one machine; the section in BENCHMARKS.md.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    peers::{self, Measured},
    report::{self, Time, table},
};
use crate::{
    error::{Error, Result},
    project::{Project, remove},
};

const OPACUS: &str = "1.6.0";
const TORCH: &str = "2.15.0";
/// A Python that has both already.
const PYTHON: &str = "HUSHGRAD_OPACUS_PYTHON";
const LOT: u32 = 256;
const THREADS: [u32; 2] = [1, 2];

/// One bench of the engine, milliseconds a step.
#[derive(Clone, Debug, PartialEq)]
struct Bench {
    model: String,
    encoder: String,
    lot: u32,
    threads: u32,
    time: Time,
}

/// What `opacus_step.py` says on one number of threads.
#[derive(Deserialize)]
struct Peer {
    #[serde(skip)]
    threads: u32,
    milliseconds: Time,
    versions: Versions,
}

#[derive(Deserialize, Default)]
struct Versions {
    opacus: String,
    torch: String,
    python: String,
}

pub fn run(project: &Project) -> Result<()> {
    project.say("Set-up");
    let claim = project.claim()?;
    let python = opacus(project)?;
    drop(claim);

    project.say("Benches");
    let ask = || THREADS.iter().map(|&threads| ask_peer(project, &python, threads)).collect::<Result<Vec<Peer>>>();
    // Before and after the engine's, so that what else the machine does is seen by both.
    let mut peers = ask()?;
    let (device, benches) = engine(project)?;
    for (peer, later) in peers.iter_mut().zip(ask()?) {
        if later.milliseconds.best < peer.milliseconds.best {
            *peer = later;
        }
    }
    report::write(project, "speed", "Speed", &section(&report::machine(), &device, &benches, &peers)?)
}

/// A Python with Opacus and PyTorch.
fn opacus(project: &Project) -> Result<PathBuf> {
    let step = project.step(&format!("Opacus {OPACUS}"));
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

fn ask_peer(project: &Project, python: &Path, threads: u32) -> Result<Peer> {
    let step = project.step(&format!("Opacus, {threads} threads"));
    let words = format!("benches/peers/opacus_step.py --threads {threads} --lot {LOT}");
    let said = step.run(&mut project.command(python, &words))?;
    let peer: Option<Peer> = report::read(&said.lines).last();
    let peer = peer.ok_or_else(|| Error::wrong(format!("opacus_step.py did not print its times{}", said.tail())))?;
    step.done(&format!("{:.1} ms", peer.milliseconds.median));
    Ok(Peer { threads, ..peer })
}

/// What the engine says it runs on, and its benches.
fn engine(project: &Project) -> Result<(String, Vec<Bench>)> {
    let step = project.step("the CPU engine");
    let folder = project.target()?.join("criterion").join("step");
    remove(&folder)?;
    let said = step.run(&mut project.cargo("bench --locked --no-default-features --bench engine -- step --noplot"))?;
    let device = said.lines.iter().find_map(|line| line.strip_prefix("engine: ")).unwrap_or("unknown").to_owned();
    let benches: Vec<Bench> = peers::measured(&folder).iter().filter_map(read_bench).collect();
    step.done(&format!("{} benches", benches.len()));
    Ok((device, benches))
}

/// `CnnTanh, clip, 256`, on so many threads.
fn read_bench(Measured { name, input, seconds }: &Measured) -> Option<Bench> {
    let mut words = name.split(", ");
    let (model, encoder) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (lot, threads) = (words.next()?.parse().ok()?, input.parse().ok()?);
    Some(Bench { model, encoder, lot, threads, time: seconds.time * 1e3 })
}

fn section(machine: &str, device: &str, benches: &[Bench], peers: &[Peer]) -> Result<String> {
    let find = |model: &str, encoder: &str, lot: u32, threads: u32| {
        let same =
            |b: &&Bench| (b.model.as_str(), b.encoder.as_str(), b.lot, b.threads) == (model, encoder, lot, threads);
        let missing = || Error::wrong(format!("criterion left no bench of {model}, {encoder}, {lot}/{threads}"));
        benches.iter().find(same).map(|b| b.time).ok_or_else(missing)
    };
    let encoders = [
        ("Opacus: flat clip, Gaussian", None),
        ("flat clip, Gaussian", Some("clip")),
        ("envelope of one vector, Student-t, KS", Some("envelope")),
        ("envelope of 1000 vectors, Student-t, KS", Some("envelope of 1000")),
    ];
    let cnn = peers.iter().flat_map(|peer| encoders.map(|row| (peer, row))).map(|(peer, (name, encoder))| {
        let theirs = peer.milliseconds;
        let time = encoder.map_or(Ok(theirs), |encoder| find("CnnTanh", encoder, LOT, peer.threads))?;
        let (rate, ratio) = (f64::from(LOT) / time.best * 1e3, theirs.best / time.best);
        Ok(format!("{name} | {} | {time} | {rate:.0} | {ratio:.1}", peer.threads))
    });
    let others = [("CnnRelu", "CNN, ReLU"), ("Mlp", "perceptron"), ("Linear", "linear")];
    let others = others.into_iter().map(|(model, name)| {
        Ok(format!("{name} | {} | {}", find(model, "clip", LOT, 2)?, find(model, "envelope", LOT, 2)?))
    });
    let lots = [64, 256, 1024, 4096, 16_384].into_iter().map(|lot| {
        let cells = ["clip", "envelope"].map(|encoder| {
            let time = find("CnnTanh", encoder, lot, 2)?;
            Ok(format!("{time} | {:.1}", time.best * 1e3 / f64::from(lot)))
        });
        let [clip, envelope]: [Result<String>; 2] = cells;
        Ok(format!("{lot} | {} | {}", clip?, envelope?))
    });
    let none = Versions::default();
    let Versions { opacus, torch, python } = peers.first().map_or(&none, |peer| &peer.versions);
    Ok(format!(
        "`cargo xtask bench speed`: {machine}; the engine: {device}; Opacus {opacus}, PyTorch {torch}, Python {python}. Milliseconds a step: the\n\
         best sample, then the median; the more they differ, the busier the machine was. Ratios are of the best.\n\n\
         ### The CNN (26,010 parameters, tanh), lot {LOT}\n\n{}\n### Other models, lot {LOT}, two threads\n\n{}\n\
         ### The CNN's cost by lot, two threads\n\n{}",
        table("|threads|ms, best (median)|examples/s|Opacus' plain step ÷ this", 1, cnn)?,
        table("|flat clip, ms|envelope, Student-t, KS, ms", 1, others)?,
        table("lot|flat clip, ms|µs an example|envelope, ms|µs an example", 0, lots)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::Samples;

    #[test]
    fn a_benchs_name_says_what_it_is() {
        let measured = |name: &str| {
            let seconds = Samples { time: Time { median: 0.004, best: 0.003 }, worst: 0.005 };
            read_bench(&Measured { name: name.to_owned(), input: "2".to_owned(), seconds })
        };
        let found = measured("CnnTanh, envelope of 1000, 256").unwrap();
        assert_eq!((found.model.as_str(), found.encoder.as_str()), ("CnnTanh", "envelope of 1000"));
        assert_eq!((found.lot, found.threads), (256, 2));
        assert_eq!(found.time, Time { median: 4.0, best: 3.0 });
        assert_eq!(measured("other"), None);
    }

    #[test]
    fn a_missing_bench_is_named() {
        let time = Time { median: 2.0, best: 1.0 };
        let peer = Peer { threads: 1, milliseconds: time, versions: Versions::default() };
        let error = section("machine", "device", &[], &[peer]).unwrap_err().to_string();
        assert!(error.contains("CnnTanh, clip, 256/1"), "{error}");
    }
}
