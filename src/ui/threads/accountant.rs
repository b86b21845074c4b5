//! Client of the accountant's thread: cost of settings, noise for a budget, run files.

use std::{fmt, rc::Rc};

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::thread::Thread;
use crate::{
    ui::{browser, text::t},
    worker::{
        accountant::Accountant,
        accounts::{Answer, Question},
        protocol::NetworkRequest,
    },
};

/// Handles an answer.
type Then = Box<dyn FnOnce(Answer)>;

/// Questions of which only the newest answer matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    Projection,
    Scale,
    Tight,
    Odds,
    Knob,
    Spent,
    Curve,
    Audit,
    Game,
    Sweep,
    Together,
    NoiseOverRun,
    Elsewhere,
}

/// A thread that failed, and the browser's reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The thread that accounts for the settings and the run.
    Accountant(String),
    /// A thread that was reading a run file.
    Reader(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Accountant(why) => t!(
                "The accountant's thread failed ({why}), so the cost of these settings is unknown. Change any setting to try again.",
                why = why
            ),
            Self::Reader(why) => {
                t!("The file could not be read: the thread reading it failed ({why}).", why = why)
            }
        })
    }
}

/// The thread, and the handlers that await its answers.
#[derive(Default)]
struct State {
    /// Called for every thread that fails.
    failed: Option<Rc<dyn Fn(Failure)>>,
    thread: Option<Thread<Accountant>>,
    asked: u32,
    waiting: Vec<(u32, Then)>,
    /// For each topic being answered, the question to ask next.
    topics: Vec<(Topic, Option<(Question, Then)>)>,
    readers: Readers,
}

/// Threads that read one file each.
#[derive(Default)]
struct Readers {
    begun: u32,
    busy: Vec<Reader>,
    /// Network requests of those that have ended.
    requests: Vec<NetworkRequest>,
}

struct Reader {
    number: u32,
    thread: Thread<Accountant>,
    then: Option<Then>,
}

#[derive(Clone, Copy)]
pub struct AccountantClient(StoredValue<State, LocalStorage>);

impl AccountantClient {
    #[must_use]
    pub fn new() -> Self {
        Self(StoredValue::new_local(State::default()))
    }

    /// Sets the handler of failed threads.
    pub fn on_failure(self, failed: impl Fn(Failure) + 'static) {
        self.0.update_value(|state| state.failed = Some(Rc::new(failed)));
    }

    /// Starts the accountant's thread, unless there is one.
    pub fn spawn(self) {
        self.0.update_value(|state| {
            state.thread.get_or_insert_with(|| self.thread(None));
        });
    }

    /// Starts an accounting thread: the main one, or the reader with this number.
    fn thread(self, reader: Option<u32>) -> Thread<Accountant> {
        let address = browser::script_address("hushgrad-accountant", "./accountant_loader.js");
        let hear = move |(number, answer)| match reader {
            None => self.hear(number, answer),
            Some(reader) => self.hear_reader(reader, answer),
        };
        Thread::start(&address, hear, move |why| match reader {
            None => self.lose_thread(why),
            Some(reader) => {
                self.end_reader(reader);
                self.tell(Failure::Reader(why));
            }
        })
    }

    fn tell(self, failure: Failure) {
        if let Some(failed) = self.0.with_value(|state| state.failed.clone()) {
            failed(failure);
        }
    }

    /// Asks about a file with any number of releases, on its own thread: no other question waits.
    pub fn ask_of_file(self, question: Question, then: impl FnOnce(Answer) + 'static) {
        self.0.update_value(|state| {
            let Readers { begun, busy, .. } = &mut state.readers;
            *begun = begun.wrapping_add(1);
            let (number, thread) = (*begun, self.thread(Some(*begun)));
            thread.send((0, question));
            // Keep this thread's network requests after it has ended.
            thread.send((0, Question::Requests));
            busy.push(Reader { number, thread, then: Some(Box::new(then)) });
        });
    }

    fn hear_reader(self, number: u32, answer: Answer) {
        if let Answer::Requests(requests) = answer {
            self.0.update_value(|state| state.readers.requests.extend(requests));
            return self.end_reader(number);
        }
        let then = self.0.try_update_value(|state| {
            state.readers.busy.iter_mut().find(|reader| reader.number == number)?.then.take()
        });
        if let Some(Some(then)) = then {
            then(answer);
        }
    }

    fn end_reader(self, number: u32) {
        let gone = self.0.try_update_value(|state| {
            let place = state.readers.busy.iter().position(|reader| reader.number == number)?;
            Some(state.readers.busy.swap_remove(place).thread)
        });
        // Drop the thread later: its own listener is the caller.
        Timeout::new(0, move || drop(gone)).forget();
    }

    /// Returns the network requests of readers that have ended.
    #[must_use]
    pub fn readers_requests(self) -> Vec<NetworkRequest> {
        self.0.with_value(|state| state.readers.requests.clone())
    }

    /// Asks the accountant. If the thread fails, drops `then` and reports the failure.
    pub fn ask(self, question: Question, then: impl FnOnce(Answer) + 'static) {
        self.send(question, Box::new(then));
    }

    /// Asks a recurring question. While one of its topic is being answered, only the newest other
    /// one waits, and the answer that it supersedes is dropped.
    pub fn ask_latest(self, topic: Topic, question: Question, then: impl FnOnce(Answer) + 'static) {
        self.send_latest(topic, question, Box::new(then));
    }

    fn send(self, question: Question, then: Then) {
        self.spawn();
        let busy = browser::Busy::begin();
        self.0.update_value(|state| {
            let Some(thread) = &state.thread else { return };
            thread.send((state.asked, question));
            let then = move |answer| {
                then(answer);
                drop(busy);
            };
            state.waiting.push((state.asked, Box::new(then)));
            state.asked = state.asked.wrapping_add(1);
        });
    }

    fn send_latest(self, topic: Topic, question: Question, then: Then) {
        let now = self.0.try_update_value(|state| match state.topics.iter_mut().find(|(busy, _)| *busy == topic) {
            Some((_, next)) => {
                *next = Some((question, then));
                None
            }
            None => {
                state.topics.push((topic, None));
                Some((question, then))
            }
        });
        let Some(Some((question, then))) = now else { return };
        self.ask(question, move |answer| {
            let next = self.0.try_update_value(|state| {
                let place = state.topics.iter().position(|(busy, _)| *busy == topic)?;
                state.topics.swap_remove(place).1
            });
            match next.flatten() {
                Some((question, then)) => self.send_latest(topic, question, then),
                None => then(answer),
            }
        });
    }

    fn hear(self, number: u32, answer: Answer) {
        let then = self.0.try_update_value(|state| {
            let place = state.waiting.iter().position(|(asked, _)| *asked == number)?;
            Some(state.waiting.swap_remove(place).1)
        });
        if let Some(Some(then)) = then {
            then(answer);
        }
    }

    /// Drops the thread and its pending questions; the next question starts another thread.
    fn lose_thread(self, why: String) {
        let gone = self.0.try_update_value(|state| {
            let (readers, failed) = (std::mem::take(&mut state.readers), state.failed.clone());
            std::mem::replace(state, State { readers, failed, ..State::default() })
        });
        // Drop the thread later: its own listener is the caller.
        Timeout::new(0, move || drop(gone)).forget();
        self.tell(Failure::Accountant(why));
    }
}
