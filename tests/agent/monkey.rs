//! A monkey at the training thread: random requests, threads that die, a store that answers late.
//!
//! The page's monkey (`monkey.spec.ts`) presses its controls; this one makes 100 times the moves.

use std::{collections::BTreeMap, rc::Rc};

use hushgrad::{
    accounting::{ledger::Ledger, noise::NoiseSpec},
    data::idx::PIXELS,
    model::Architecture,
    train::{config::RunConfig, report::Privacy},
    worker::{
        jobs::JobKind,
        protocol::{BackendChoice, DataRequest, Event, Label, Request},
    },
};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::{Browser, Says, Thread, turns};

/// Number of requests. `HUSHGRAD_MONKEY` sets another, `HUSHGRAD_MONKEY_SEED` another seed.
const MOVES: u64 = 4_000;

fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |value| value.parse().unwrap())
}

/// What the thread has said, checked for what must be true of it.
#[derive(Default)]
struct Watch {
    /// The current run: its key, the step that it showed last, and releases beyond that.
    run: Option<(String, u64, u64)>,
    epsilon: f64,
    /// Releases in the run's ledger, as the page was told.
    released: Option<u64>,
    /// The most steps that each run has shown, with releases beyond them.
    shown: BTreeMap<String, u64>,
    compared: u64,
}

impl Watch {
    fn hear(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Started(info) => {
                    self.run = Some((info.key.clone(), 0, info.beyond));
                    (self.epsilon, self.released) = (0.0, None);
                }
                Event::Released(releases) => {
                    let count = releases.iter().map(|release| release.count).sum();
                    assert!(self.released <= Some(count), "{:?} releases, then {count}", self.released);
                    self.released = Some(count);
                }
                Event::Report(report, _) => {
                    let (key, step, beyond) = self.run.as_mut().unwrap();
                    assert!(report.step >= *step, "{key} went back from {step} to {}", report.step);
                    *step = report.step;
                    let Privacy::Bounded(bound) = &report.privacy else { continue };
                    let epsilon = bound.improved.epsilon;
                    assert!(
                        epsilon >= self.epsilon,
                        "ε fell from {} to {epsilon} at step {step} of {key}",
                        self.epsilon
                    );
                    self.epsilon = epsilon;
                    assert_eq!(self.released.unwrap_or(0), *step + *beyond, "releases of {key} before its report");
                    self.shown.insert(key.clone(), *step + *beyond);
                    self.compared += 1;
                }
                // Each kept run counts all that it has shown.
                Event::Kept(kept) => {
                    let counted = kept.card.report.step + kept.beyond;
                    let shown = self.shown.get(&kept.key).copied().unwrap_or(0);
                    assert!(counted >= shown, "{} counts {counted} of {shown} that were shown", kept.key);
                }
                _ => {}
            }
        }
    }
}

/// A configuration that may be refused.
fn config(rng: &mut ChaCha8Rng) -> RunConfig {
    let usual = RunConfig { lot: 16, learning_rate: 1.0, ..RunConfig::default() };
    let noise = match rng.random_range(0..10) {
        0 => None,
        1 => Some(NoiseSpec::Laplace { scale: 2.0 }),
        2 => Some(NoiseSpec::Gaussian { sigma: -1.0 }),
        _ => Some(NoiseSpec::Gaussian { sigma: rng.random_range(0.5..4.0) }),
    };
    RunConfig {
        model: if rng.random_bool(0.9) { Architecture::Linear } else { Architecture::Mlp },
        noise,
        lot: if rng.random_bool(0.1) { 0 } else { rng.random_range(1..40) },
        steps: rng.random_bool(0.5).then(|| rng.random_range(1..50)),
        learning_rate: if rng.random_bool(0.05) { f64::NAN } else { usual.learning_rate },
        ..usual
    }
}

fn request(rng: &mut ChaCha8Rng, keys: &[String], load: &mut u32) -> Request {
    let key = if keys.is_empty() { "none".to_owned() } else { keys[rng.random_range(0..keys.len())].clone() };
    match rng.random_range(0..30) {
        0..6 => Request::Play,
        6..9 => Request::Pause,
        9..13 => Request::StepOnce,
        13 => Request::Reset,
        14..16 => Request::Start { config: Box::new(config(rng)), broken: None },
        16 => Request::Continue { key },
        17 => Request::Delete { key },
        18 => Request::Restore { key },
        19 => Request::Label { key, label: Label { name: "½".to_owned(), note: String::new(), pinned: rng.random() } },
        20 => Request::ExportRun { key },
        21 => {
            *load += 1;
            let train = rng.random_range(0..200);
            let from = DataRequest::Synthetic { seed: rng.random_range(0..3), train, test: rng.random_range(0..50) };
            Request::Load { load: *load, from }
        }
        22 => Request::Inspect { place: rng.random_range(0..50) },
        23 => Request::Follow { place: rng.random_range(0..50) },
        24 => Request::Predict { pixels: vec![rng.random(); if rng.random() { PIXELS } else { 3 }] },
        25 => Request::Look,
        26 => Request::SlowMotion { milliseconds: rng.random_range(0..3) },
        27 => Request::Save,
        28 => Request::Count,
        _ => match rng.random_range(0..6) {
            0 => Request::Forget,
            1 => Request::TrainBaseline,
            2 => Request::Cores(Some(rng.random_range(0..4))),
            3 => Request::ExportParameters,
            4 => Request::Requests,
            _ => Request::StopJob(JobKind::Attack),
        },
    }
}

/// Turns within which the thread answers, whatever it does.
const PATIENCE: u32 = 100_000;

/// Events until the thread answers; an endless run may play meanwhile.
fn until_it_answers(thread: &mut Thread, watch: &mut Watch) -> Vec<Event> {
    thread.ask(Request::Ping);
    let mut said = Vec::new();
    for _ in 0..PATIENCE / 10 {
        thread.pool.run_until(turns(10));
        let events = thread.page.events.take();
        watch.hear(&events);
        said.extend(events);
        if said.contains(&Event::Pong) {
            return said;
        }
    }
    panic!("no answer in {PATIENCE} turns");
}

/// A new visit, after the last thread is gone.
fn visit(browser: &Rc<Browser>, watch: &mut Watch, load: &mut u32) -> Thread {
    watch.run = None;
    let mut thread = Thread::in_browser(browser.clone(), Vec::new());
    thread.ask(Request::Open { backend: BackendChoice::Cpu, cores: None, keep: true, lots: true });
    *load = 1;
    thread.ask(Request::Load { load: 1, from: DataRequest::Synthetic { seed: 1, train: 150, test: 50 } });
    until_it_answers(&mut thread, watch);
    thread
}

/// Pauses, and checks that the exported ledger counts the shown steps and the lost ones.
fn ledger_counts(thread: &mut Thread, watch: &mut Watch) -> u64 {
    thread.ask(Request::Pause);
    until_it_answers(thread, watch);
    thread.ask(Request::ExportLedger);
    let events = until_it_answers(thread, watch);
    let Some(json) = events.iter().find_map(|e| if let Event::Ledger(json) = e { Some(json) } else { None }) else {
        return 0;
    };
    let (key, step, beyond) = watch.run.as_ref().unwrap();
    assert_eq!(Ledger::from_json(json).unwrap().steps(), step + beyond, "the ledger of {key} at step {step}");
    1
}

#[test]
fn books_count_every_step_under_random_requests() {
    let (moves, seed) = (asked("HUSHGRAD_MONKEY", MOVES), asked("HUSHGRAD_MONKEY_SEED", 1));
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let browser = Rc::<Browser>::default();
    let (mut watch, mut load) = (Watch::default(), 0);
    let mut thread = visit(&browser, &mut watch, &mut load);
    let (mut ledgers, mut deaths, mut keys) = (0, 0, Vec::new());
    for number in 0..moves {
        if rng.random_bool(0.01) {
            deaths += 1;
            drop(thread);
            thread = visit(&browser, &mut watch, &mut load);
        } else {
            *browser.says.borrow_mut() = if rng.random_bool(0.1) { Says::Late } else { Says::Yes };
            thread.ask(request(&mut rng, &keys, &mut load));
            thread.pool.run_until(turns(rng.random_range(1..12)));
            watch.hear(&thread.page.events.take());
        }
        keys = browser.kept.borrow().keys();
        if number % 50 == 49 {
            ledgers += ledger_counts(&mut thread, &mut watch);
        }
    }
    println!("{moves} moves, {deaths} deaths, {} reports compared, {ledgers} ledgers", watch.compared);
    // A monkey that found no run has tested nothing.
    assert!(watch.compared > moves / 4 && ledgers > moves / 100 && deaths > moves / 200);
}
