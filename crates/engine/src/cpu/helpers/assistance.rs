//! An engine's use of the helpers.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
};

use web_time::Instant;

use super::{
    messages::{Answer, Ask, Order, Reply, Setup},
    roster::{Kind, Roster, SharedContext, patience},
    shares::{Share, shares},
    transport::Transport,
};
use crate::{
    Task,
    cpu::{
        models::Examples,
        threads::{Encoding, Kernels, Lot, Seen},
    },
    data::{Dataset, Shift},
    model::Architecture,
};

/// The helpers of a thread, used by one of its engines at a time. Cheap to clone.
#[derive(Clone)]
pub struct Helpers(Home);

type Home = Arc<Mutex<Option<Box<Roster>>>>;

impl Helpers {
    /// Uses all started helpers if their number was given (`told`), else as many as pay off.
    #[must_use]
    pub fn new(transport: Box<dyn Transport>, told: bool) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(Roster::new(transport, told))))))
    }

    /// Number of helpers that ended or were ended as unresponsive; 0 while an engine uses them.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.take().map_or(0, |roster| roster.lost())
    }

    /// Number of helpers that take orders; 0 while an engine uses them.
    #[must_use]
    pub fn there(&self) -> usize {
        self.take().map_or(0, |roster| roster.there())
    }

    /// Takes the roster, unless an engine is using it.
    fn take(&self) -> Option<Taken> {
        let roster = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        roster.map(|roster| Taken { roster: Some(roster), home: Arc::clone(&self.0) })
    }
}

impl std::fmt::Debug for Helpers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Helpers").field("there", &self.there()).finish()
    }
}

/// The roster in use. Dropping this puts it back.
struct Taken {
    roster: Option<Box<Roster>>,
    home: Home,
}

impl Deref for Taken {
    type Target = Roster;

    fn deref(&self) -> &Roster {
        self.roster.as_ref().expect("the roster is there until it goes back")
    }
}

impl DerefMut for Taken {
    fn deref_mut(&mut self) -> &mut Roster {
        self.roster.as_mut().expect("the roster is there until it goes back")
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        *self.home.lock().unwrap_or_else(PoisonError::into_inner) = self.roster.take();
    }
}

/// A sum to compute.
pub struct PendingSum<'a> {
    pub model: Architecture,
    pub encoding: &'a Encoding,
    /// True if `encoding` is the task's, false if it is [`Encoding::None`].
    pub bounded: bool,
    /// P numbers, then padding.
    pub parameters: &'a [f32],
    pub data: &'a Dataset,
    pub lot: &'a [u32],
    pub shifts: &'a [Shift],
}

impl PendingSum<'_> {
    /// Computes the sum without helpers.
    pub fn alone(&self, kernels: &mut dyn Kernels, sum: &mut [f64]) -> Seen {
        let features = self.data.features();
        let examples = Examples { data: self.data, features: self.model.known(&features, self.data) };
        kernels.sum_encoded(self.encoding, self.parameters, examples, Lot::Alone(self.lot), self.shifts, sum)
    }
}

/// An engine's access to the helpers.
pub struct HelperPool {
    helpers: Helpers,
    subject: SharedContext,
    /// Most helpers to use: as many as pay off.
    pub most: usize,
    /// The kind of steps that was measured, and the number of helpers at the time.
    pub measured: Option<(Kind, usize)>,
}

impl HelperPool {
    /// Registers an engine of this task. `None` while another engine is using the helpers.
    pub fn new(helpers: Helpers, task: &Task) -> Option<Self> {
        let engine = helpers.take()?.engine();
        let subject = SharedContext { engine, version: 0, setup: Setup::of(task), envelope: task.envelope.clone() };
        Some(Self { helpers, subject, most: 0, measured: None })
    }

    /// Switches to another task of this engine.
    pub fn set_task(&mut self, task: &Task) {
        let (setup, envelope) = (Setup::of(task), task.envelope.clone());
        let same = match (&self.subject.envelope, &envelope) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        if setup != self.subject.setup || !same {
            let SharedContext { engine, version, .. } = self.subject;
            self.subject = SharedContext { engine, version: version + 1, setup, envelope };
        }
    }

    /// What the time of a step depends on, for lots of about `lot` examples.
    pub fn kind(&self, lot: usize) -> Kind {
        let Setup { model, encoder, copies, .. } = &self.subject.setup;
        let vectors = self.subject.envelope.as_ref().map_or(0, |envelope| envelope.vectors());
        let encoder = (std::mem::discriminant(encoder), vectors);
        Kind { model: *model, encoder, copies: *copies, lot: lot.next_power_of_two() }
    }

    /// How many of `there` helpers to use for steps of this kind, if known.
    pub fn paid(&self, kind: Kind, there: usize) -> Option<usize> {
        let roster = self.helpers.take()?;
        if roster.told { Some(there) } else { roster.paid(kind, there) }
    }

    pub fn set_paid(&self, kind: Kind, there: usize, paid: usize) {
        if let Some(mut roster) = self.helpers.take() {
            roster.set_paid(kind, there, paid);
        }
    }

    /// Whether no more helpers are expected, and how many there are.
    pub fn there(&self) -> (bool, usize) {
        self.helpers.take().map_or((false, 0), |mut roster| {
            roster.look();
            (roster.is_whole(), roster.there())
        })
    }

    /// As [`Kernels::sum_encoded`], bit for bit, with helpers. Returns `None` if none is free.
    pub async fn sum(&self, kernels: &mut dyn Kernels, sought: &PendingSum<'_>, sum: &mut [f64]) -> Option<Seen> {
        let mut roster = self.roster()?;
        let hands = roster.free(self.most);
        let exact = sought.encoding.is_exact();
        let edges = |lot, exact| kernels.edges(lot, exact);
        let shares = shares(sought.lot.len(), hands.len() + 1, kernels.lanes(), exact, edges);
        let (own, others) = shares.split_first()?;
        if others.is_empty() {
            return None;
        }
        let parameters: Arc<[f32]> = sought.parameters.into();
        let mut orders = Vec::new();
        for (&hand, share) in hands.iter().zip(others) {
            let number = roster.number();
            roster.send((hand, number), &self.subject, self.order_of(number, sought, share, &parameters));
            orders.push((hand, number));
        }
        let length = sum.len();
        let mut slots = if exact { Vec::new() } else { vec![0.0; (shares.last()?.end()) * length] };
        let start = Instant::now();
        let mut seen = if exact {
            compute(kernels, sought, own, sum)
        } else {
            compute(kernels, sought, own, &mut slots[own.slots(length)])
        };
        let answers = roster.answers(&orders, patience(start.elapsed())).await;
        let mut alone = Vec::new();
        for (share, answer) in others.iter().zip(answers) {
            let slots = if exact { &mut [][..] } else { &mut slots[share.slots(length)] };
            let expected = if exact { length } else { slots.len() };
            let told = match answer {
                Some(Answer { told: Reply::Sums { seen, .. }, numbers }) if numbers.len() == expected => {
                    if exact {
                        sum.iter_mut().zip(&numbers).for_each(|(sum, v)| *sum += v);
                    } else {
                        slots.copy_from_slice(&numbers);
                    }
                    seen
                }
                // Shares without an answer are computed here.
                _ if exact => {
                    alone.resize(length, 0.0);
                    let seen = compute(kernels, sought, share, &mut alone);
                    sum.iter_mut().zip(&alone).for_each(|(sum, v)| *sum += v);
                    seen
                }
                _ => compute(kernels, sought, share, slots),
            };
            seen.merge(told);
        }
        if !exact {
            sum.fill(0.0);
            for slot in slots.chunks_exact(length) {
                sum.iter_mut().zip(slot).for_each(|(sum, v)| *sum += v);
            }
        }
        Some(seen)
    }

    /// As [`HelperPool::sum`], but alone if no helper is free.
    pub async fn sum_anyway(&self, kernels: &mut dyn Kernels, sought: &PendingSum<'_>, sum: &mut [f64]) -> Seen {
        if let Some(seen) = self.sum(kernels, sought, sum).await {
            return seen;
        }
        sought.alone(kernels, sum)
    }

    /// Logits of all of `data`, as [`Kernels::scores`] computes them. `None` if no helper is free.
    pub async fn scores(&self, kernels: &mut dyn Kernels, parameters: &[f32], data: &Dataset) -> Option<Vec<f32>> {
        let mut roster = self.roster()?;
        let hands = roster.free(self.most);
        // Logits of different examples are independent, so any cut will do.
        let all = shares(data.len(), hands.len() + 1, kernels.lanes(), true, |lot, _| vec![0, lot]);
        let (own, others) = all.split_first()?;
        let model = self.subject.setup.model;
        if others.is_empty() {
            return None;
        }
        let everybody: Vec<u32> = (0..).take(data.len()).collect();
        let shared: Arc<[f32]> = parameters.into();
        let mut orders = Vec::new();
        for (&hand, share) in hands.iter().zip(others) {
            let number = roster.number();
            let ask = Ask::Read { engine: self.subject.engine, number };
            let lot = &everybody[share.places.clone()];
            roster.send((hand, number), &self.subject, self.with_examples(ask, data, lot, Shift::ALONE, &shared));
            orders.push((hand, number));
        }
        let start = Instant::now();
        let mut scores = read(kernels, model, parameters, data, own);
        for (share, answer) in others.iter().zip(roster.answers(&orders, patience(start.elapsed())).await) {
            match answer {
                Some(Answer { told: Reply::Scores { .. }, numbers })
                    if numbers.len() == share.places.len() * self.subject.setup.model.classes() =>
                {
                    scores.extend(numbers.iter().map(|&score| score as f32));
                }
                _ => scores.extend(read(kernels, model, parameters, data, share)),
            }
        }
        Some(scores)
    }

    fn roster(&self) -> Option<Taken> {
        let mut roster = if self.most > 0 { self.helpers.take()? } else { return None };
        roster.look();
        Some(roster)
    }

    fn order_of(&self, number: u64, sought: &PendingSum<'_>, share: &Share, parameters: &Arc<[f32]>) -> Order {
        let edges = share.edges.iter().map(|&edge| edge as u32).collect();
        let (engine, bounded, shifts) = (self.subject.engine, sought.bounded, sought.shifts.to_vec());
        let ask = Ask::Sum { engine, number, bounded, edges, shifts };
        self.with_examples(ask, sought.data, &sought.lot[share.places.clone()], sought.shifts, parameters)
    }

    /// Builds an order from a request and its examples.
    fn with_examples(&self, ask: Ask, data: &Dataset, lot: &[u32], shifts: &[Shift], parameters: &Arc<[f32]>) -> Order {
        let features = data.features();
        let known = self.subject.setup.model.features().filter(|_| shifts == Shift::ALONE);
        let known = known.map(|map| (features.of(data, map.kind), map.len()));
        let mut inputs = Vec::with_capacity(lot.len() * known.map_or(data.pixels(), |(_, length)| length));
        for &example in lot {
            let example = example as usize;
            inputs.extend_from_slice(match known {
                // If features are missing the order is incomplete, and the helper refuses it.
                Some((rows, length)) => rows.get(example * length..(example + 1) * length).unwrap_or(&[]),
                None => data.image(example),
            });
        }
        let labels = lot.iter().map(|&example| data.labels[example as usize]).collect();
        Order { ask, numbers: Arc::clone(parameters), inputs, labels }
    }
}

impl Drop for HelperPool {
    fn drop(&mut self) {
        if let Some(mut roster) = self.helpers.take() {
            roster.forget(self.subject.engine);
        }
    }
}

/// sums ← the sums of the share's pieces.
fn compute(kernels: &mut dyn Kernels, sought: &PendingSum<'_>, share: &Share, sums: &mut [f64]) -> Seen {
    let PendingSum { model, encoding, parameters, data, lot, shifts, .. } = *sought;
    let features = data.features();
    let examples = Examples { data, features: model.known(&features, data) };
    let pieces = (Lot::Alone(&lot[share.places.clone()]), &share.edges[..]);
    kernels.sum_pieces(encoding, parameters, examples, pieces, shifts, sums)
}

fn read(kernels: &mut dyn Kernels, model: Architecture, parameters: &[f32], data: &Dataset, share: &Share) -> Vec<f32> {
    let part = data.slice(share.places.clone());
    let features = data.features();
    let (own, length) = (model.known(&features, data), model.inputs());
    let features = own.get(share.places.start * length..share.places.end * length).unwrap_or_default();
    kernels.scores(parameters, Examples { data: &part, features })
}
