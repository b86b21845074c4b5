//! Loading digits: loads start, parts arrive, and a run without releases takes the fuller data.

use super::state::Agent;
use crate::{
    data::{Digits, card::Card},
    worker::{
        host::Host,
        inbox::Incoming,
        loader::{self, Arrival},
        protocol::{DataRequest, Event},
    },
};
use hushgrad_message::ToMessage;

impl<H: Host> Agent<H> {
    /// Starts to load digits, concurrently with the loop.
    pub(super) async fn load(&mut self, load: u32, from: DataRequest) {
        self.data.loads.push(load);
        let from = match from {
            DataRequest::Files { reader, files } => return self.read_files(load, &reader, files).await,
            other => other,
        };
        let (host, reply) = (self.host.clone(), self.reply.clone());
        // Sending fails only after the loop has ended.
        let deliver = move |arrival| drop(reply.unbounded_send(Incoming::Arrival { load, arrival }));
        self.host.clone().spawn(async move { loader::load(&*host, from, deliver).await });
    }

    /// Takes a part of a load.
    pub(super) async fn arrive(&mut self, load: u32, arrival: Arrival) {
        // A load is ignored once a later one has brought digits.
        if !self.data.loads.contains(&load) {
            return;
        }
        match arrival {
            Arrival::Progress { done, total } => {
                if self.data.loads.last() == Some(&load) {
                    self.host.send(Event::Loading { done, total });
                }
            }
            Arrival::Digits { digits, complete } => self.take_digits(load, digits, complete).await,
            Arrival::Notice(sentence) => self.host.send(Event::Notice(sentence.into())),
            Arrival::Gap(error) => {
                self.host.send(Event::NotLoaded { load, over: false, sentence: error.to_message() });
            }
            Arrival::End(error) => {
                self.data.loads.retain(|&other| other != load);
                self.data.arriving = self.data.arriving.filter(|&other| other != load);
                self.host.send(Event::NotLoaded { load, over: true, sentence: error.to_message() });
                self.end_wait().await;
            }
        }
        // Stop reading what nobody waits for.
        self.data.reading.take_if(|(read, _)| !self.data.loads.contains(read));
    }

    /// Takes digits, for the next run.
    async fn take_digits(&mut self, load: u32, digits: Digits, complete: bool) {
        let awaited = self.awaits_digits();
        self.data.loads.retain(|&other| other > load || other == load && !complete);
        self.data.arriving = (!complete).then_some(load);
        self.data.load = load;
        self.data.opening = Some(digits.train.opening_digest());
        self.use_digits(digits, complete, awaited).await;
    }

    /// Turns or mirrors the visitor's own images. Their digest remains that of the images as read:
    /// they are of the same people.
    pub(super) async fn orient(&mut self, mirror: bool) {
        if self.data.arriving.is_none()
            && let Some(digits) = self.data.digits.take_if(|digits| digits.source.is_own())
        {
            self.use_digits(digits.oriented(mirror), true, false).await;
        }
    }

    async fn use_digits(&mut self, digits: Digits, complete: bool, awaited: bool) {
        self.host.send(Event::Loaded {
            load: self.data.load,
            name: digits.train.name.clone(),
            source: digits.source,
            train: digits.train.len() as u32,
            test: digits.test.len() as u32,
            test_set: digits.test_set,
            complete,
            picture: digits.train.picture,
            classes: digits.train.classes.names(),
            remarks: if complete { digits.remarks().iter().map(ToMessage::to_message).collect() } else { vec![] },
            card: (complete && digits.source.is_own()).then(|| Card::of(&digits)),
        });
        let (train, picture, classes) = (digits.train.len(), digits.train.picture, digits.train.classes.count());
        self.data.turned = None;
        self.data.digits = Some(digits);
        // A run that has released nothing restarts on the fuller data. Any other keeps the data of
        // its ε. So does one whose lot exceeds the set: the page requests one that fits.
        if let Some(session) = &self.run.session
            && session.step_count() == 0
            && session.plan().config.lot as usize <= train
            && (!self.run.playing || awaited)
        {
            let (config, broken) = (session.plan().config.clone(), session.broken());
            // If its windows do not fit these images, the run is refused.
            let config = config.clone().fitted(picture, classes).unwrap_or(config);
            let was_playing = self.run.playing;
            self.start(config, broken).await;
            self.set_playing(was_playing && self.run.session.is_some());
        }
        self.end_wait().await;
    }

    /// Takes the step that waited for digits, once no more are coming.
    async fn end_wait(&mut self) {
        if self.run.step_awaits_digits && !self.awaits_digits() {
            self.run.step_awaits_digits = false;
            self.step_once().await;
        }
    }
}
