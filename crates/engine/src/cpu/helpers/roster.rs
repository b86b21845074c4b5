//! Which helpers there are, what each knows, and who is late.

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

/// Helpers may take this long to begin; until then nobody waits for them.
const BEGINNING: Duration = Duration::from_secs(5);
/// One that has owed an answer for this long is ended.
const OWING: Duration = Duration::from_secs(5);
/// So is one that came late so often, one time after the other: waiting for it costs more than it computes.
const LATE: u32 = 3;
/// Shares are waited for this long at least, once the own share is done, and this many times as long as that took.
const PATIENCE: Duration = Duration::from_millis(100);
const TIMES: u32 = 4;

/// How long to wait for shares as large as one that took `own`.
pub fn patience(own: Duration) -> Duration {
    (own * TIMES).max(PATIENCE)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// It has not said that it takes orders.
    Coming,
    Free,
    /// It owes the answer to this order, since then.
    Busy(u64, Instant),
    Gone,
}

struct Hand {
    state: State,
    late: u32,
    /// Engines that it knows, each with the version of what it knows.
    knows: Vec<(u32, u32)>,
}

/// What an engine has helpers know.
#[derive(Clone)]
pub struct Subject {
    pub engine: u32,
    /// Another setup has another version.
    pub version: u32,
    pub setup: Setup,
    pub envelope: Option<Arc<Envelope>>,
}

/// The helpers.
pub struct Roster {
    transport: Box<dyn Transport>,
    /// Whether all are used, whether they pay or not.
    pub told: bool,
    hands: Vec<Hand>,
    begun: Instant,
    /// Orders so far.
    orders: u64,
    engines: u32,
    /// Helpers that were ended, or ended by themselves.
    lost: usize,
    /// How many helpers paid, of how many, where that was measured.
    paid: Vec<(Kind, usize, usize)>,
}

/// What a step's time follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    pub model: Architecture,
    /// Which encoder, with how many vectors.
    pub encoder: (std::mem::Discriminant<EncoderSpec>, usize),
    pub copies: u32,
    /// Examples of a lot, to the next power of two.
    pub lot: usize,
}

impl Roster {
    pub fn new(transport: Box<dyn Transport>, told: bool) -> Self {
        let hand = || Hand { state: State::Coming, late: 0, knows: Vec::new() };
        let hands = (0..transport.count()).map(|_| hand()).collect();
        Self { transport, told, hands, begun: Instant::now(), orders: 0, engines: 0, lost: 0, paid: Vec::new() }
    }

    /// A number for an engine.
    pub fn engine(&mut self) -> u32 {
        self.engines += 1;
        self.engines
    }

    /// An engine is no more.
    pub fn forget(&mut self, engine: u32) {
        for (helper, hand) in self.hands.iter_mut().enumerate() {
            let known = hand.knows.len();
            hand.knows.retain(|(other, _)| *other != engine);
            if hand.knows.len() < known && hand.state != State::Gone {
                self.transport.send(helper, Order::plain(Ask::Forget { engine }));
            }
        }
    }

    /// Takes in what was heard meanwhile, and ends those that have owed an answer for too long.
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

    /// Whether no more helpers are expected: those that are there will be all, but for some that come very late.
    pub fn is_whole(&self) -> bool {
        self.begun.elapsed() > BEGINNING || self.hands.iter().all(|hand| hand.state != State::Coming)
    }

    /// Helpers that take orders, or will once they have answered.
    pub fn there(&self) -> usize {
        self.hands.iter().filter(|hand| matches!(hand.state, State::Free | State::Busy(..))).count()
    }

    /// Helpers that owe nothing, at most so many.
    pub fn free(&self, most: usize) -> Vec<usize> {
        let free = self.hands.iter().enumerate().filter(|(_, hand)| hand.state == State::Free);
        free.map(|(helper, _)| helper).take(most).collect()
    }

    /// How many were lost so far.
    pub const fn lost(&self) -> usize {
        self.lost
    }

    /// How many of so many helpers paid for steps of this kind, where that is known.
    pub fn paid(&self, kind: Kind, there: usize) -> Option<usize> {
        self.paid.iter().find(|(other, of, _)| (*other, *of) == (kind, there)).map(|(_, _, paid)| *paid)
    }

    pub fn set_paid(&mut self, kind: Kind, there: usize, paid: usize) {
        self.paid.push((kind, there, paid));
    }

    /// A number for an order.
    pub fn number(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }

    /// Sends a helper an order of this engine and number, after what it must know for it. It owes an answer from then on.
    pub fn send(&mut self, (helper, number): (usize, u64), subject: &Subject, order: Order) {
        let Subject { engine, version, setup, envelope } = subject;
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

    /// The answers to these orders, each of the helper that it was sent to, as far as they come within `patience`.
    pub async fn answers(&mut self, orders: &[(usize, u64)], patience: Duration) -> Vec<Option<Answer>> {
        let start = Instant::now();
        let mut answers: Vec<Option<Answer>> = orders.iter().map(|_| None).collect();
        loop {
            let mut missing = orders.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
            // Of one that is gone nothing is to come any more.
            if !missing.any(|(&order, _)| self.owes(order)) {
                return answers;
            }
            let Some(left) = patience.checked_sub(start.elapsed()) else { break };
            let Some((helper, heard)) = self.transport.hear(left).await else { break };
            self.note(helper, &heard);
            let Heard::Answer(answer) = heard else { continue };
            // An answer to an order of before, or a second one, is nobody's.
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
            // An answer that came before, or to an order of before, settles nothing.
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
