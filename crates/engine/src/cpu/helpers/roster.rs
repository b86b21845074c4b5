//! Which helpers exist, what each knows, and which are late.

use std::{sync::Arc, time::Duration};

use web_time::Instant;

use super::{
    messages::{Answer, Ask, Order, Setup},
    transport::{Heard, Transport},
};
use crate::{
    mechanism::{EncoderSpec, envelope::Envelope},
    model::Architecture,
};

/// Time allowed for helpers to start; later ones are not waited for.
const BEGINNING: Duration = Duration::from_secs(5);
/// A helper that owes an answer for longer than this is ended.
const OWING: Duration = Duration::from_secs(5);
/// So is one that is late this many times in a row: waiting for it costs more than it computes.
const LATE: u32 = 3;
/// Least time to wait for other shares once the own share is done; or `TIMES` its time, if longer.
const PATIENCE: Duration = Duration::from_millis(100);
const TIMES: u32 = 4;

/// How long to wait for shares as large as one that took `own`.
pub fn patience(own: Duration) -> Duration {
    (own * TIMES).max(PATIENCE)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// It is not ready for orders yet.
    Coming,
    Free,
    /// It owes the answer to this order, since this time.
    Busy(u64, Instant),
    Gone,
}

struct HelperState {
    state: State,
    late: u32,
    /// Engines that it knows, each with the version of its setup.
    knows: Vec<(u32, u32)>,
}

/// What helpers must know of an engine.
#[derive(Clone)]
pub struct SharedContext {
    pub engine: u32,
    /// Increases when the setup changes.
    pub version: u32,
    pub setup: Setup,
    pub envelope: Option<Arc<Envelope>>,
}

pub struct Roster {
    transport: Box<dyn Transport>,
    /// True if all are used, whether or not they pay off.
    pub told: bool,
    hands: Vec<HelperState>,
    begun: Instant,
    orders: u64,
    engines: u32,
    /// Number of helpers that ended or were ended.
    lost: usize,
    /// Measurements: the kind of step, the number of helpers, and how many of them paid off.
    paid: Vec<(Kind, usize, usize)>,
}

/// What the time of a step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub model: Architecture,
    /// The encoder, and the number of its envelope's vectors.
    pub encoder: (std::mem::Discriminant<EncoderSpec>, usize),
    pub copies: u32,
    /// Lot size, rounded up to a power of two.
    pub lot: usize,
}

impl Roster {
    pub fn new(transport: Box<dyn Transport>, told: bool) -> Self {
        let hand = || HelperState { state: State::Coming, late: 0, knows: Vec::new() };
        let hands = (0..transport.count()).map(|_| hand()).collect();
        Self { transport, told, hands, begun: Instant::now(), orders: 0, engines: 0, lost: 0, paid: Vec::new() }
    }

    /// Returns a new engine number.
    pub fn engine(&mut self) -> u32 {
        self.engines += 1;
        self.engines
    }

    /// Makes all helpers forget this engine.
    pub fn forget(&mut self, engine: u32) {
        for (helper, hand) in self.hands.iter_mut().enumerate() {
            let known = hand.knows.len();
            hand.knows.retain(|(other, _)| *other != engine);
            if hand.knows.len() < known && hand.state != State::Gone {
                self.transport.send(helper, Order::plain(Ask::Forget { engine }));
            }
        }
    }

    /// Processes pending messages, and ends helpers that have owed an answer for too long.
    pub fn look(&mut self) {
        while let Some((helper, heard)) = self.transport.heard() {
            self.note(helper, &heard);
        }
        for helper in 0..self.hands.len() {
            if matches!(self.hands[helper].state, State::Busy(_, since) if since.elapsed() > OWING) {
                self.end(helper);
            }
        }
    }

    /// True if no more helpers are expected; a few may still start very late.
    pub fn is_whole(&self) -> bool {
        self.begun.elapsed() > BEGINNING || self.hands.iter().all(|hand| hand.state != State::Coming)
    }

    /// Number of helpers that take orders, or will once they have answered.
    pub fn there(&self) -> usize {
        self.hands.iter().filter(|hand| matches!(hand.state, State::Free | State::Busy(..))).count()
    }

    /// At most `most` helpers that owe nothing.
    pub fn free(&self, most: usize) -> Vec<usize> {
        let free = self.hands.iter().enumerate().filter(|(_, hand)| hand.state == State::Free);
        free.map(|(helper, _)| helper).take(most).collect()
    }

    pub const fn lost(&self) -> usize {
        self.lost
    }

    /// How many of `there` helpers paid off for steps of this kind, if known.
    pub fn paid(&self, kind: Kind, there: usize) -> Option<usize> {
        self.paid.iter().find(|(other, of, _)| (*other, *of) == (kind, there)).map(|(_, _, paid)| *paid)
    }

    pub fn set_paid(&mut self, kind: Kind, there: usize, paid: usize) {
        self.paid.push((kind, there, paid));
    }

    /// Returns a new order number.
    pub fn number(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }

    /// Sends a helper an order, preceded by the setup if needed. It then owes an answer.
    pub fn send(&mut self, (helper, number): (usize, u64), subject: &SharedContext, order: Order) {
        let SharedContext { engine, version, setup, envelope } = subject;
        let hand = &mut self.hands[helper];
        if !hand.knows.contains(&(*engine, *version)) {
            hand.knows.retain(|(other, _)| other != engine);
            hand.knows.push((*engine, *version));
            let numbers = envelope.as_ref().map_or_else(Arc::default, |envelope| envelope.values().into());
            let know = Ask::Know { engine: *engine, setup: setup.clone() };
            self.transport.send(helper, Order { numbers, ..Order::plain(know) });
        }
        hand.state = State::Busy(number, Instant::now());
        self.transport.send(helper, order);
    }

    /// Waits up to `patience` for the answers to these orders, each from the helper it was sent to.
    pub async fn answers(&mut self, orders: &[(usize, u64)], patience: Duration) -> Vec<Option<Answer>> {
        let start = Instant::now();
        let mut answers: Vec<Option<Answer>> = orders.iter().map(|_| None).collect();
        loop {
            let mut missing = orders.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
            // A helper that is gone owes nothing.
            if !missing.any(|(&order, _)| self.owes(order)) {
                return answers;
            }
            let Some(left) = patience.checked_sub(start.elapsed()) else { break };
            let Some((helper, heard)) = self.transport.hear(left).await else { break };
            self.note(helper, &heard);
            let Heard::Answer(answer) = heard else { continue };
            // Answers to earlier orders, and duplicates, are dropped.
            let place = orders.iter().position(|&order| order == (helper, answer.told.number()));
            if let Some(place) = place {
                self.hands[helper].late = 0;
                answers[place].get_or_insert(answer);
            }
        }
        for &(helper, number) in orders {
            if self.owes((helper, number)) {
                self.hands[helper].late += 1;
                if self.hands[helper].late >= LATE {
                    self.end(helper);
                }
            }
        }
        answers
    }

    fn note(&mut self, helper: usize, heard: &Heard) {
        let Some(hand) = self.hands.get_mut(helper).filter(|hand| hand.state != State::Gone) else { return };
        match heard {
            Heard::Failed => self.end(helper),
            Heard::Ready if hand.state == State::Coming => hand.state = State::Free,
            // Answers to earlier orders, and duplicates, change nothing.
            Heard::Answer(answer) if matches!(hand.state, State::Busy(owed, _) if owed == answer.told.number()) => {
                hand.state = State::Free;
            }
            Heard::Ready | Heard::Answer(_) => {}
        }
    }

    fn owes(&self, (helper, number): (usize, u64)) -> bool {
        matches!(self.hands[helper].state, State::Busy(owed, _) if owed == number)
    }

    fn end(&mut self, helper: usize) {
        self.hands[helper].state = State::Gone;
        self.hands[helper].knows.clear();
        self.lost += 1;
        self.transport.end(helper);
    }
}
