//! The page's talk with the accountant's thread: what settings will cost, the noise for a budget, runs as files.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::thread::Thread;
use crate::{
    ui::{
        browser,
        settings::{Number, Settings},
        state::{Page, as_sentence},
    },
    worker::{
        accountant::Accountant,
        accounts::{Answer, Question},
        protocol::Asked,
    },
};

/// A projection waits until the settings have stood still this long.
const PROJECTION_MS: u32 = 120;
/// Passes over the data that are projected where a run has no end.
pub const OPEN_EPOCHS: u64 = 10;

/// Steps that are accounted for in advance, on `train` examples.
pub fn planned_steps(settings: &Settings, train: u32) -> u64 {
    let open = OPEN_EPOCHS * u64::from(train) / u64::from(settings.lot.max(1));
    settings.steps.unwrap_or(open).max(1)
}

/// What is to be done with an answer.
type Then = Box<dyn FnOnce(Answer)>;

/// Questions of which only the newest answer matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    Projection,
    Scale,
    Tight,
    Spent,
    Curve,
}

/// The thread, and who waits for what.
#[derive(Default)]
pub struct Desk {
    thread: Option<Thread<Accountant>>,
    asked: u32,
    waiting: Vec<(u32, Then)>,
    /// Of each topic that is being answered, the question that comes after.
    topics: Vec<(Topic, Option<(Question, Then)>)>,
    projection_due: Option<Timeout>,
    readers: Readers,
}

/// Threads that each read one file.
#[derive(Default)]
struct Readers {
    begun: u32,
    busy: Vec<Reader>,
    /// What those that have ended asked of the network.
    requests: Vec<Asked>,
}

struct Reader {
    number: u32,
    thread: Thread<Accountant>,
    then: Option<Then>,
}

impl Page {
    /// Starts the accountant's thread where there is none.
    pub fn hire_accountant(self) {
        self.desk.update_value(|desk| {
            desk.thread.get_or_insert_with(|| self.accountant(None));
        });
    }

    /// A thread that accounts: for whatever is set, or as a reader of one file.
    fn accountant(self, reader: Option<u32>) -> Thread<Accountant> {
        let address = browser::script_address("hushgrad-accountant", "./accountant_loader.js");
        let hear = move |(number, answer)| match reader {
            None => self.hear(number, answer),
            Some(reader) => self.hear_reader(reader, answer),
        };
        Thread::start(&address, hear, move |why| match reader {
            None => self.lose_accountant(&why),
            Some(reader) => self.lose_reader(reader, &why),
        })
    }

    /// Asks of a file, which may hold any number of releases: a thread of its own answers and ends, and nothing that is set waits for it.
    pub fn ask_of_file(self, question: Question, then: impl FnOnce(Answer) + 'static) {
        self.desk.update_value(|desk| {
            let Readers { begun, busy, .. } = &mut desk.readers;
            *begun = begun.wrapping_add(1);
            let (number, thread) = (*begun, self.accountant(Some(*begun)));
            thread.send((0, question));
            // What it asked of the network is told when it is gone, too.
            thread.send((0, Question::Requests));
            busy.push(Reader { number, thread, then: Some(Box::new(then)) });
        });
    }

    fn hear_reader(self, number: u32, answer: Answer) {
        if let Answer::Requests(requests) = answer {
            self.desk.update_value(|desk| desk.readers.requests.extend(requests));
            return self.end_reader(number);
        }
        let then = self
            .desk
            .try_update_value(|desk| desk.readers.busy.iter_mut().find(|reader| reader.number == number)?.then.take());
        if let Some(Some(then)) = then {
            then(answer);
        }
    }

    fn lose_reader(self, number: u32, why: &str) {
        self.end_reader(number);
        self.put_problem(None, format!("The file could not be read: the thread that was to read it failed ({why})."));
    }

    fn end_reader(self, number: u32) {
        let gone = self.desk.try_update_value(|desk| {
            let place = desk.readers.busy.iter().position(|reader| reader.number == number)?;
            Some(desk.readers.busy.swap_remove(place).thread)
        });
        // In a turn of its own: this is called from within the thread's listener.
        Timeout::new(0, move || drop(gone)).forget();
    }

    /// What readers that have ended asked of the network.
    pub fn readers_requests(self) -> Vec<Asked> {
        self.desk.with_value(|desk| desk.readers.requests.clone())
    }

    /// Asks the accountant. Without an answer (the thread failed) `then` is dropped, and the page says why.
    pub fn ask(self, question: Question, then: impl FnOnce(Answer) + 'static) {
        self.hire_accountant();
        self.desk.update_value(|desk| {
            let Some(thread) = &desk.thread else { return };
            thread.send((desk.asked, question));
            desk.waiting.push((desk.asked, Box::new(then)));
            desk.asked = desk.asked.wrapping_add(1);
        });
    }

    /// Asks what is asked again and again: while one question of a topic is being answered, the newest of the others waits,
    /// and the answer that it makes stale is dropped.
    pub fn ask_latest(self, topic: Topic, question: Question, then: impl FnOnce(Answer) + 'static) {
        let then: Then = Box::new(then);
        let now = self.desk.try_update_value(|desk| match desk.topics.iter_mut().find(|(busy, _)| *busy == topic) {
            Some((_, next)) => {
                *next = Some((question, then));
                None
            }
            None => {
                desk.topics.push((topic, None));
                Some((question, then))
            }
        });
        let Some(Some((question, then))) = now else { return };
        self.ask(question, move |answer| {
            let next = self.desk.try_update_value(|desk| {
                let place = desk.topics.iter().position(|(busy, _)| *busy == topic)?;
                desk.topics.swap_remove(place).1
            });
            match next.flatten() {
                Some((question, then)) => self.ask_latest(topic, question, then),
                None => then(answer),
            }
        });
    }

    fn hear(self, number: u32, answer: Answer) {
        let then = self.desk.try_update_value(|desk| {
            let place = desk.waiting.iter().position(|(asked, _)| *asked == number)?;
            Some(desk.waiting.swap_remove(place).1)
        });
        if let Some(Some(then)) = then {
            then(answer);
        }
    }

    /// The thread is gone: the next question starts another.
    fn lose_accountant(self, why: &str) {
        // Ended in a turn of its own: this is called from within the thread's listener.
        let gone = self.desk.try_update_value(|desk| {
            let readers = std::mem::take(&mut desk.readers);
            std::mem::replace(desk, Desk { readers, ..Desk::default() })
        });
        Timeout::new(0, move || drop(gone)).forget();
        self.stay();
        self.put_problem(None, format!("The accountant's thread failed ({why}): what the settings will cost cannot be told. Change any of them to try again."));
    }

    /// Looks anew at what the settings will cost, once they stand still.
    pub fn schedule_projection(self) {
        let due = Timeout::new(PROJECTION_MS, move || {
            let train = self.digits.with_untracked(|digits| digits.as_ref().map(|digits| digits.train));
            let (Some(train), settings) = (train, self.settings.get_untracked()) else { return };
            let steps = planned_steps(&settings, train);
            let question = Question::Projection { config: settings.config(), train, steps };
            self.ask_latest(Topic::Projection, question, move |answer| {
                if let Answer::Projection(projection) = answer {
                    self.projection.set(Some(projection.map(Arc::new)));
                    self.project_tight(train);
                }
            });
        });
        self.study.deltas.set(vec![]);
        self.desk.update_value(|desk| desk.projection_due = Some(due));
    }

    /// Lets the noise scale follow from the settings' budget, where they have one, and goes on with `then`. If no scale
    /// keeps it, the settings become what they were `before`.
    pub fn follow_budget(self, train: Option<u32>, before: Option<Settings>, then: fn(Self)) {
        self.set_settling(true);
        if self.settings.with_untracked(Settings::unread) {
            return self.with_density(move |page| page.follow_budget(train, before, then));
        }
        let mut settings = self.settings.get_untracked();
        let Some((config, steps, budget)) = train.and_then(|train| settings.plan_budget(train)) else {
            self.schedule_projection();
            self.set_settling(false);
            return then(self);
        };
        if self.settings.with_untracked(|old| *old != settings) {
            self.settings.set(settings.clone());
        }
        let question = Question::Scale { config, train: train.unwrap_or_default(), steps, budget };
        self.ask_latest(Topic::Scale, question, move |answer| {
            // What has been set since has a question of its own, or no budget any more.
            let (Answer::Scale(scale), true) = (answer, self.settings.with_untracked(|now| *now == settings)) else {
                return;
            };
            self.set_settling(false);
            match scale {
                Ok(scale) => {
                    self.settings.update(|settings| settings.scale = scale);
                    self.schedule_projection();
                    then(self);
                }
                Err(phrase) => {
                    if self.end_sweep_early(&phrase) {
                        return;
                    }
                    if let Some(before) = before {
                        self.settings.set(before);
                    }
                    self.schedule_projection();
                    self.put_problem(Some(Number::Budget), as_sentence(&phrase));
                    self.stay();
                }
            }
        });
    }
}
