//! Helpers of the CPU engine without a browser: whatever becomes of their answers, a run is the same to the last bit.

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
            helpers::{Answer, Ask, Heard, Helper, Helpers, Order, Told, Transport},
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

/// What becomes of a helper's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// They come.
    Good,
    /// It dies with this order, and somebody notices or nobody does.
    Dies { with: usize, noticed: bool },
    /// Each comes with the next order's.
    Late,
    /// Each comes when nobody waits for it any more.
    Slow,
    /// Each comes twice, once more behind the next.
    Twice,
    /// They come, but say that nothing could be done.
    Unable,
    /// They come too short.
    Short,
    /// They come, each so long after its order that whoever computes alone is done before.
    Dear,
    /// It never begins.
    NeverReady,
}

/// Longer than a lot of these tests takes on one thread, by far.
const DEAR: Duration = Duration::from_millis(300);

/// Helpers that are called in place.
struct InProcess {
    helpers: Vec<(Helper, Fate)>,
    heard: VecDeque<(usize, Heard)>,
    /// Answers that come later.
    held: Vec<(usize, Heard)>,
    /// Answers that come between two steps.
    slow: VecDeque<(usize, Heard)>,
    /// Whether the last that was heard comes first.
    reversed: bool,
    log: Arc<Mutex<Log>>,
}

#[derive(Default)]
struct Log {
    /// Sums and scores that were ordered of each helper.
    orders: Vec<usize>,
    ended: Vec<usize>,
    /// Bytes of examples, most in one order.
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
        // What a browser carries is bytes.
        let order = Order { ask: postcard::from_bytes(&postcard::to_allocvec(&order.ask).unwrap()).unwrap(), ..order };
        if *fate == Fate::Dear {
            thread::sleep(DEAR);
        }
        let Some(answer) = hand.take(order) else { return };
        let told: Told = postcard::from_bytes(&postcard::to_allocvec(&answer.told).unwrap()).unwrap();
        let answer = Answer { told, ..answer };
        let heard = match *fate {
            Fate::Dies { with, noticed } if dead(with) => {
                if noticed {
                    self.heard.push_back((helper, Heard::Failed));
                }
                return;
            }
            Fate::Unable => Answer { told: Told::Unable { number: answer.told.number() }, numbers: Vec::new() },
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

    /// Time passes at once.
    fn hear(&mut self, _: Duration) -> LocalBoxFuture<'_, Option<(usize, Heard)>> {
        let heard = self.heard.pop_front();
        async move { heard }.boxed_local()
    }

    fn end(&mut self, helper: usize) {
        self.log.lock().unwrap().ended.push(helper);
    }
}

/// Helpers of these fates, and what is known of them.
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

/// All that a run shows.
#[derive(Debug, PartialEq)]
struct Shown {
    state: State,
    traces: Vec<StepTrace>,
    told: Vec<hushgrad::mechanism::counts::Told>,
    non_finite: u64,
    scores: Scores,
}

const LOTS: [usize; 6] = [80, 1, 0, 3, 37, 66];

/// Steps on lots of very different sizes, every third taken apart, and an evaluation.
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
        told.push(block_on(engine.told()).unwrap());
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

/// Copies, counts, canaries; and what stays on one thread.
#[test]
fn what_else_a_step_has_is_the_same() {
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
fn what_is_not_finite_is_counted_once() {
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

/// One helper of each kind of trouble beside good ones: no step is lost, and nothing of it shows.
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
fn one_that_is_late_time_after_time_is_ended_and_one_that_fails_is_counted() {
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
    // The first owes its answer still, and is left alone until it comes.
    assert_eq!((log.orders.as_slice(), log.ended.as_slice()), (&[1, 3, 2, 20][..], &[2, 1][..]));
}

/// Helpers know several engines at a time, each with its own bound, and what is no more is forgotten.
#[test]
fn engines_take_turns() {
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
            // A clip that follows the norms is another task at each step.
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

/// An order holds the examples of one share and no others: what a helper is given is no more than it computes on.
#[test]
fn an_order_has_the_examples_of_its_share_alone() {
    let data = examples();
    let task = task(Architecture::Linear, EncoderSpec::Clip { norm: 1.0 }, Some(NoiseSpec::Gaussian { sigma: 0.7 }));
    let (helpers, log) = helpers_with(&[Fate::Good; 3]);
    let lot: Vec<u32> = (0..64).collect();
    block_on(engine(&task, &data, Some(&helpers)).step(StepInput::alone(&lot, [1; 8], 0.1))).unwrap();
    let most = log.lock().unwrap().inputs;
    assert!((784..=784 * 32).contains(&most), "{most}");
}

/// Where helpers cost more than they compute none is used; what is measured is no step, and changes nothing.
#[test]
fn what_pays_is_measured_and_changes_nothing() {
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
    let (state, told) = (block_on(engine.state()).unwrap(), block_on(engine.told()).unwrap());
    assert_eq!((state, told), (State::start(start, false), Default::default()));
    assert_eq!(block_on(engine.prepare(0)).unwrap(), 0);
    assert_eq!(log.lock().unwrap().orders.iter().sum::<usize>(), measured, "it is measured once");
    // Who says how many cores compute is obeyed.
    let (helpers, log) = helpers_of(&[Fate::Good; 3], true);
    engine.set_helpers(Some(helpers));
    assert_eq!(block_on(engine.prepare(0)).unwrap(), 0);
    assert!(engine.info().device.ends_with(", 4 threads"), "{}", engine.info().device);
    assert_eq!(log.lock().unwrap().orders, [0; 3]);
}
