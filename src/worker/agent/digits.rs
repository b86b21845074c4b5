//! Digits on their way: loads are begun, what they bring is taken, and a run that has released nothing takes the fuller data.

use super::state::Agent;
use crate::{
    data::Digits,
    worker::{
        host::Host,
        inbox::Message,
        loader::{self, Arrival},
        protocol::{DataRequest, Event},
    },
};

impl<H: Host> Agent<H> {
    /// Begins to load digits, beside the loop.
    pub(super) async fn load(&mut self, load: u32, from: DataRequest) {
        self.loads.push(load);
        let from = match from {
            DataRequest::Files { reader, files } => return self.read_files(load, &reader, files).await,
            other => other,
        };
        let (host, reply) = (self.host.clone(), self.reply.clone());
        // Sending fails only after the loop has ended.
        let deliver = move |arrival| drop(reply.unbounded_send(Message::Arrival { load, arrival }));
        self.host.clone().spawn(async move { loader::load(&*host, from, deliver).await });
    }

    /// Takes a part of what a load brings.
    pub(super) async fn arrive(&mut self, load: u32, arrival: Arrival) {
        // A later load has brought digits: this one is ignored.
        if !self.loads.contains(&load) {
            return;
        }
        match arrival {
            Arrival::Progress { done, total } => {
                if self.loads.last() == Some(&load) {
                    self.host.send(Event::Loading { done, total });
                }
            }
            Arrival::Digits { digits, complete } => self.take_digits(load, digits, complete).await,
            Arrival::Notice(sentence) => self.host.send(Event::Notice(sentence.to_owned())),
            Arrival::Gap(error) => {
                self.host.send(Event::NotLoaded { load, over: false, sentence: error.to_string() });
            }
            Arrival::End(error) => {
                self.loads.retain(|&other| other != load);
                self.arriving = self.arriving.filter(|&other| other != load);
                self.host.send(Event::NotLoaded { load, over: true, sentence: error.to_string() });
                self.end_wait().await;
            }
        }
        // What nobody waits for any more is not read further.
        self.reading.take_if(|(read, _)| !self.loads.contains(read));
    }

    /// Takes digits, with which the next run starts.
    async fn take_digits(&mut self, load: u32, digits: Digits, complete: bool) {
        let awaited = self.awaits_digits();
        self.loads.retain(|&other| other > load || other == load && !complete);
        self.arriving = (!complete).then_some(load);
        self.host.send(Event::Loaded {
            load,
            name: digits.train.name.clone(),
            source: digits.source,
            train: digits.train.len() as u32,
            test: digits.test.len() as u32,
            test_set: digits.test_set,
            complete,
            picture: digits.train.picture,
            classes: digits.train.classes.names(),
            remarks: if complete { digits.remarks().iter().map(ToString::to_string).collect() } else { vec![] },
        });
        let (train, picture, classes) = (digits.train.len(), digits.train.picture, digits.train.classes.count());
        // By the images as they came: a minority among them is the same people.
        self.opening = Some(digits.train.opening_digest());
        self.turned = None;
        self.digits = Some(digits);
        // A run that has released nothing starts anew on the fuller data. Any other keeps the data that its ε is about.
        // One whose lot is larger than the set stays as well: the page asks for one that fits.
        if let Some(session) = &self.session
            && session.step_count() == 0
            && session.plan().config.lot as usize <= train
            && (!self.playing || awaited)
        {
            let (config, broken) = (session.plan().config.clone(), session.broken());
            // Where its windows do not fit these images, the run is refused for what it is.
            let config = config.clone().fitted(picture, classes).unwrap_or(config);
            let was_playing = self.playing;
            self.start(config, broken).await;
            self.set_playing(was_playing && self.session.is_some());
        }
        self.end_wait().await;
    }

    /// The step that waited for digits is taken, once no more are on their way.
    async fn end_wait(&mut self) {
        if self.step_awaits_digits && !self.awaits_digits() {
            self.step_awaits_digits = false;
            self.step_once().await;
        }
    }
}
