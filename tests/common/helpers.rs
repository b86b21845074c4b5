//! Helpers of the CPU engine, without a browser: whatever happens to their answers, a run is the
//! same to the last bit.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use futures::future::{FutureExt, LocalBoxFuture};
use hushgrad::{
    accounting::noise::NoiseSpec,
    data::{Dataset, Shift, sharing::Sharing},
    engine::{
        Engine, LocalSteps, Performance, Scores, StepInput, StepTrace, Task,
        cpu::{
            CpuEngine,
            helpers::{Answer, Ask, Heard, Helper, Helpers, Order, Reply, Transport},
        },
    },
    mechanism::{
        EncoderSpec, State,
        canaries::{Canaries, DrawnCanary},
        counts::Counting,
    },
    model::{Architecture, initial_parameters},
};
use pollster::block_on;

use super::suite::{SEED, encoders, examples, rows, task};

/// What happens to a helper's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// They arrive.
    Good,
    /// It dies at this order, noticed or not.
    Dies { with: usize, noticed: bool },
    /// Each arrives when the next order is sent.
    Late,
    /// Each arrives when it is no longer waited for.
    Slow,
    /// Each arrives twice: at once, and when the next order is sent.
    Twice,
    /// They report that nothing could be done.
    Unable,
    /// They are too short.
    Short,
    /// Each takes so long that computing alone is faster.
    Dear,
    /// It never starts.
    NeverReady,
}

/// Much longer than a lot of these tests takes on one thread.
const DEAR: Duration = Duration::from_millis(300);

/// Helpers called in place.
struct InProcess {
    helpers: Vec<(Helper, Fate)>,
    heard: VecDeque<(usize, Heard)>,
    /// Answers that arrive later.
    held: Vec<(usize, Heard)>,
    /// Answers that arrive between two steps.
    slow: VecDeque<(usize, Heard)>,
    /// Whether the latest answer comes first.
    reversed: bool,
    log: Arc<Mutex<Log>>,
}

#[derive(Default)]
struct Log {
    /// Sums and scores ordered from each helper.
    orders: Vec<usize>,
    ended: Vec<usize>,
    /// Most bytes of examples in one order.
    inputs: usize,
}

impl Transport for InProcess {
    fn count(&self) -> usize {
        self.helpers.len()
    }

    fn send(&mut self, helper: usize, order: Order) {
        let (hand, fate) = &mut self.helpers[helper];
        let mut log = self.log.lock().unwrap();
        log.inputs = log.inputs.max(order.inputs.len());
        let counts = matches!(order.ask, Ask::Sum { .. } | Ask::Read { .. });
        log.orders[helper] += usize::from(counts);
        let dead = |with: usize| log.orders[helper] > with;
        // A browser transfers bytes.
        let order = Order { ask: postcard::from_bytes(&postcard::to_allocvec(&order.ask).unwrap()).unwrap(), ..order };
        if *fate == Fate::Dear {
            thread::sleep(DEAR);
        }
        let Some(answer) = hand.take(order) else { return };
        let told: Reply = postcard::from_bytes(&postcard::to_allocvec(&answer.told).unwrap()).unwrap();
        let answer = Answer { told, ..answer };
        let heard = match *fate {
            Fate::Dies { with, noticed } if dead(with) => {
                if noticed {
                    self.heard.push_back((helper, Heard::Failed));
                }
                return;
            }
            Fate::Unable => Answer { told: Reply::Unable { number: answer.told.number() }, numbers: Vec::new() },
            Fate::Short => Answer { numbers: answer.numbers[1..].to_vec(), ..answer },
            _ => answer,
        };
        let heard = (helper, Heard::Answer(heard));
        let before = self.held.iter().position(|(other, _)| *other == helper).map(|at| self.held.remove(at));
        self.heard.extend(before);
        match fate {
            Fate::Late => self.held.push(heard),
            Fate::Slow => self.slow.push_back(heard),
            Fate::Twice => {
                self.held.push(heard.clone());
                self.heard.push_back(heard);
            }
            _ => self.heard.push_back(heard),
        }
        if self.reversed {
            self.heard.make_contiguous().reverse();
        }
    }

    fn heard(&mut self) -> Option<(usize, Heard)> {
        self.heard.pop_front().or_else(|| self.slow.pop_front())
    }

    /// Does not wait.
    fn hear(&mut self, _: Duration) -> LocalBoxFuture<'_, Option<(usize, Heard)>> {
        let heard = self.heard.pop_front();
        async move { heard }.boxed_local()
    }

    fn end(&mut self, helper: usize) {
        self.log.lock().unwrap().ended.push(helper);
    }
}

/// Helpers with these fates, and their log.
fn helpers_with(fates: &[Fate]) -> (Helpers, Arc<Mutex<Log>>) {
    helpers_of(fates, false)
}

fn helpers_of(fates: &[Fate], told: bool) -> (Helpers, Arc<Mutex<Log>>) {
    let log = Arc::new(Mutex::new(Log { orders: vec![0; fates.len()], ..Log::default() }));
    let ready = (0..).zip(fates).filter(|(_, fate)| **fate != Fate::NeverReady);
    let transport = InProcess {
        helpers: fates.iter().map(|&fate| (Helper::default(), fate)).collect(),
        heard: ready.map(|(helper, _)| (helper, Heard::Ready)).collect(),
        held: Vec::new(),
        slow: VecDeque::new(),
        reversed: fates.len().is_multiple_of(3),
        log: Arc::clone(&log),
    };
    (Helpers::new(Box::new(transport), told), log)
}

/// One thread, as in a browser.
const ALONE: Performance = Performance { chunk: None, threads: Some(1) };

fn engine(task: &Task, data: &Dataset, helpers: Option<&Helpers>) -> CpuEngine {
    let start = initial_parameters(task.model, SEED);
    let mut engine = CpuEngine::new(task.clone(), data.clone(), &start, ALONE).unwrap();
    engine.set_helpers(helpers.cloned());
    engine.use_helpers(8);
    engine
}

/// All results of a run.
#[derive(Debug, PartialEq)]
struct Shown {
    state: State,
    traces: Vec<StepTrace>,
    told: Vec<hushgrad::mechanism::counts::ReleasedCounts>,
    non_finite: u64,
    scores: Scores,
}

const LOTS: [usize; 6] = [80, 1, 0, 3, 37, 66];

/// Steps on lots of very different sizes, every third one traced, and an evaluation.
fn shown(task: &Task, data: &Dataset, helpers: Option<&Helpers>) -> Shown {
    let mut engine = engine(task, data, helpers);
    let shifts = [Shift::NONE, Shift { right: 1, down: -2 }, Shift { right: -3, down: 1 }];
    let units = task.sharing.units(data.len() as u32) as usize;
    let (mut traces, mut told) = (Vec::new(), Vec::new());
    for (number, lot) in LOTS.into_iter().enumerate() {
        let lot: Vec<u32> = (0..units as u32).filter(|i| i * 7 % 80 < lot as u32).collect();
        let drawn = [DrawnCanary { canary: 1, turned: true }];
        let input = StepInput {
            shifts: &shifts[..task.copies as usize],
            canaries: if task.canaries.is_some() { &drawn } else { &[] },
            ..StepInput::alone(&lot, [number as u32; 8], 0.1)
        };
        if number % 3 == 1 {
            traces.push(block_on(engine.traced_step(input)).unwrap());
        } else {
            block_on(engine.step(input)).unwrap();
        }
        told.push(block_on(engine.released_counts()).unwrap());
    }
    let scores = block_on(engine.scores(data)).unwrap();
    let non_finite = block_on(engine.metrics()).unwrap().non_finite;
    Shown { state: block_on(engine.state()).unwrap(), traces, told, non_finite, scores }
}

fn noises() -> [Option<NoiseSpec>; 2] {
    [None, Some(NoiseSpec::Gaussian { sigma: 0.7 })]
}

#[test]
fn any_number_of_helpers_computes_the_same_bits() {
    let data = examples();
    let (models, encoders, counts) = (Architecture::ALL, encoders(), [1, 2, 3, 8]);
    for [model, encoder, noise, count] in rows([models.len(), encoders.len(), 2, counts.len()]) {
        let (model, encoder, count) = (models[model], encoders[encoder].clone(), counts[count]);
        let task = Task { momentum: 0.5, ..task(model, encoder, noises()[noise].clone()) };
        let (helpers, log) = helpers_with(&vec![Fate::Good; count]);
        assert_eq!(shown(&task, &data, Some(&helpers)), shown(&task, &data, None), "{task:?} {count}");
        let log = log.lock().unwrap();
        assert!(log.orders.iter().any(|&orders| orders > 3) && log.ended.is_empty());
    }
}

/// Copies, counts and canaries; and tasks that stay on one thread.
#[test]
fn helpers_do_not_change_copies_counts_or_canaries() {
    let data = examples();
    let clipped = |model| task(model, EncoderSpec::Clip { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 0.7 }));
    let counting = Counting { within: Some(1.0), answers: Some(1.0) };
    let linear = clipped(Architecture::Linear);
    let canaries = Canaries::draw(3, &linear.encoder, None, linear.model.parameters(), 9).unwrap();
    let shared = Sharing::MicroBatches { size: 4 };
    for (helped, task) in [
        (true, Task { copies: 3, ..clipped(Architecture::CnnTanh) }),
        (true, Task { copies: 3, ..clipped(Architecture::Scattering) }),
        (true, Task { counting, ..clipped(Architecture::Mlp) }),
        (true, Task { canaries: Some(Arc::new(canaries)), ..linear.clone() }),
        (true, Task { averaging: true, momentum: 0.9, ..linear.clone() }),
        (false, Task { sharing: shared, ..linear.clone() }),
        (false, Task { sharing: shared, local: LocalSteps { steps: 2, rate: 0.1 }, ..linear }),
    ] {
        let (helpers, log) = helpers_with(&[Fate::Good; 3]);
        assert_eq!(shown(&task, &data, Some(&helpers)), shown(&task, &data, None), "{task:?}");
        // The evaluation is shared out in any case.
        let most = log.lock().unwrap().orders.iter().copied().max();
        assert_eq!(most > Some(1), helped, "{most:?}");
    }
}

#[test]
fn non_finite_examples_are_counted_once() {
    let data = examples();
    let task = task(Architecture::Linear, EncoderSpec::Clip { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 0.7 }));
    let broken = |helpers: Option<&Helpers>| {
        let mut engine = engine(&task, &data, helpers);
        let mut state = block_on(engine.state()).unwrap();
        state.parameters[3] = f32::NAN;
        block_on(engine.set_state(&state)).unwrap();
        let lot: Vec<u32> = (0..41).collect();
        let trace = block_on(engine.traced_step(StepInput::alone(&lot, [1; 8], 0.1))).unwrap();
        (block_on(engine.metrics()).unwrap().non_finite, trace.encoded)
    };
    let (helpers, _) = helpers_with(&[Fate::Good; 2]);
    let (alone, with) = (broken(None), broken(Some(&helpers)));
    assert!(alone.0 > 0);
    assert_eq!(with, alone);
}

/// One helper of each kind of trouble beside good ones: no step is lost, results are the same.
#[test]
fn whatever_becomes_of_a_helper_the_run_is_the_same() {
    let data = examples();
    let troubles = [
        Fate::Dies { with: 0, noticed: false },
        Fate::Dies { with: 2, noticed: true },
        Fate::Late,
        Fate::Slow,
        Fate::Twice,
        Fate::Unable,
        Fate::Short,
        Fate::NeverReady,
    ];
    let tasks = [EncoderSpec::None, EncoderSpec::Clip { norm: 1.0 }]
        .into_iter()
        .flat_map(|encoder| noises().map(|noise| task(Architecture::CnnTanh, encoder.clone(), noise)));
    let tasks: Vec<(Task, Shown)> = tasks.map(|task| (task.clone(), shown(&task, &data, None))).collect();
    let same = |(task, alone): &(Task, Shown), fates: &[Fate]| {
        let (helpers, _) = helpers_with(fates);
        assert_eq!(shown(task, &data, Some(&helpers)), *alone, "{fates:?}");
    };
    for [task, trouble, place] in rows([tasks.len(), troubles.len(), 3]) {
        let trouble = troubles[trouble];
        let fates = [&[trouble][..], &[trouble, Fate::Good], &[Fate::Good, trouble, trouble, Fate::Twice]];
        same(&tasks[task], fates[place]);
    }
    tasks.iter().for_each(|task| same(task, &troubles));
}

#[test]
fn repeatedly_late_helpers_are_ended_and_failed_ones_counted() {
    let data = examples();
    let task = task(Architecture::Linear, EncoderSpec::Clip { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 0.7 }));
    let (helpers, log) = helpers_with(&[Fate::Late, Fate::Slow, Fate::Dies { with: 1, noticed: true }, Fate::Good]);
    let mut engine = engine(&task, &data, Some(&helpers));
    let lot: Vec<u32> = (0..64).collect();
    for number in 0..20 {
        block_on(engine.step(StepInput::alone(&lot, [number; 8], 0.1))).unwrap();
    }
    let log = log.lock().unwrap();
    assert_eq!((helpers.lost(), helpers.there()), (2, 2));
    // The first still owes its answer, and gets no order until it arrives.
    assert_eq!((log.orders.as_slice(), log.ended.as_slice()), (&[1, 3, 2, 20][..], &[2, 1][..]));
}

/// Helpers serve several engines at a time, each with its bound, and forget those that are gone.
#[test]
fn helpers_serve_several_engines_in_turn() {
    let data = examples();
    let bounded =
        |norm| task(Architecture::Linear, EncoderSpec::Clip { norm }, Some(NoiseSpec::Gaussian { sigma: norm }));
    let envelope = task(Architecture::Mlp, encoders().swap_remove(5), Some(NoiseSpec::Gaussian { sigma: 0.7 }));
    let tasks = [bounded(0.3), bounded(1.0), envelope];
    let lot: Vec<u32> = (0..50).collect();
    let run = |helpers: Option<&Helpers>| {
        let mut engines: Vec<CpuEngine> = tasks.iter().map(|task| engine(task, &data, helpers)).collect();
        for number in 0..6 {
            for engine in &mut engines {
                block_on(engine.step(StepInput::alone(&lot, [number; 8], 0.1))).unwrap();
            }
            // A clip that follows the norms makes another task at each step.
            let next = tasks[0].with_clip(0.3 + 0.1 * f64::from(number));
            block_on(engines[0].set_task(&next)).unwrap();
            if number == 3 {
                engines.remove(1);
            }
        }
        engines.iter_mut().map(|engine| block_on(engine.state()).unwrap()).collect::<Vec<_>>()
    };
    let (helpers, _) = helpers_with(&[Fate::Good; 2]);
    assert_eq!(run(Some(&helpers)), run(None));
}

/// An order holds only the examples of its share: a helper gets no more than it computes on.
#[test]
fn orders_hold_only_the_examples_of_their_share() {
    let data = examples();
    let task = task(Architecture::Linear, EncoderSpec::Clip { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 0.7 }));
    let (helpers, log) = helpers_with(&[Fate::Good; 3]);
    let lot: Vec<u32> = (0..64).collect();
    block_on(engine(&task, &data, Some(&helpers)).step(StepInput::alone(&lot, [1; 8], 0.1))).unwrap();
    let most = log.lock().unwrap().inputs;
    assert!((784..=784 * 32).contains(&most), "{most}");
}

/// Helpers that cost more than they compute are not used; measuring them changes nothing.
#[test]
fn measuring_helpers_changes_nothing_and_costly_ones_are_not_used() {
    let data = examples();
    let task = Task {
        expected_lot: 64.0,
        ..task(Architecture::CnnTanh, EncoderSpec::Clip { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 0.7 }))
    };
    let (helpers, log) = helpers_with(&[Fate::Dear; 3]);
    let start = initial_parameters(task.model, SEED);
    let mut engine = CpuEngine::new(task.clone(), data.clone(), &start, ALONE).unwrap();
    engine.set_helpers(Some(helpers));
    assert_eq!(block_on(engine.prepare(0)).unwrap(), 0);
    assert!(engine.info().device.ends_with(", 1 thread"), "{}", engine.info().device);
    let measured: usize = log.lock().unwrap().orders.iter().sum();
    assert!(measured > 0);
    let (state, told) = (block_on(engine.state()).unwrap(), block_on(engine.released_counts()).unwrap());
    assert_eq!((state, told), (State::start(start, false), Default::default()));
    assert_eq!(block_on(engine.prepare(0)).unwrap(), 0);
    assert_eq!(log.lock().unwrap().orders.iter().sum::<usize>(), measured, "it is measured once");
    // An explicit number of cores is respected.
    let (helpers, log) = helpers_of(&[Fate::Good; 3], true);
    engine.set_helpers(Some(helpers));
    assert_eq!(block_on(engine.prepare(0)).unwrap(), 0);
    assert!(engine.info().device.ends_with(", 4 threads"), "{}", engine.info().device);
    assert_eq!(log.lock().unwrap().orders, [0; 3]);
}
