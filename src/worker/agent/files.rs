//! The visitor's own files stay with the page, and this thread asks for pieces of them.

use std::{cell::Cell, rc::Rc};

use super::state::Agent;
use crate::{
    data::{
        incoming::{Incoming, Piece},
        pictures::Undecoded,
        visitor::{Assembled, VisitorError},
    },
    worker::{
        host::Host,
        inbox::Message,
        loader::{self, Arrival},
        protocol::Event,
    },
};

impl<H: Host> Agent<H> {
    /// Begins to read files of these names and sizes. Only the load that was asked for last is read.
    pub(super) async fn await_files(&mut self, load: u32, files: Vec<(String, u64)>) {
        let reading = self.incoming.take().map(|(before, _)| before);
        for before in [reading, self.end_decoding()].into_iter().flatten() {
            self.arrive(before, Arrival::End(VisitorError::Superseded.into())).await;
        }
        match Incoming::new(files) {
            Ok(incoming) => {
                self.incoming = Some((load, incoming));
                self.go_on_reading().await;
            }
            Err(error) => self.arrive(load, Arrival::End(error.into())).await,
        }
    }

    /// Takes the piece that was asked for last, and asks for the next. `None`: the page could not read it.
    pub(super) async fn take_piece(&mut self, load: u32, bytes: Option<Vec<u8>>) {
        // A later load has brought digits: this one is not read further.
        let heard = self.loads.contains(&load);
        let Some((_, incoming)) = self.incoming.as_mut().filter(|(wanted, _)| *wanted == load) else { return };
        if !heard {
            self.incoming = None;
            return;
        }
        match incoming.take(bytes.as_deref()) {
            Ok(()) => {
                let (done, total) = incoming.progress();
                self.arrive(load, Arrival::Progress { done, total }).await;
                self.go_on_reading().await;
            }
            Err(error) => {
                self.incoming = None;
                self.arrive(load, Arrival::End(error.into())).await;
            }
        }
    }

    /// Asks for the next piece, or makes digits of all pieces.
    async fn go_on_reading(&mut self) {
        let Some((load, incoming)) = self.incoming.take() else { return };
        if let Some(Piece { file, bytes }) = incoming.next() {
            self.host.send(Event::Wanted { load, file, start: bytes.start, end: bytes.end });
            self.incoming = Some((load, incoming));
            return;
        }
        match incoming.assembled() {
            Ok(Assembled::Digits(digits)) => self.arrive(load, loader::whole(digits)).await,
            Ok(Assembled::Pictures(pictures)) => self.decode(load, pictures),
            Err(error) => self.arrive(load, Arrival::End(error.into())).await,
        }
    }

    /// Begins to decode pictures, beside the loop.
    fn decode(&mut self, load: u32, pictures: Undecoded) {
        let wanted = Rc::new(Cell::new(true));
        self.decoding = Some((load, wanted.clone()));
        let (host, reply) = (self.host.clone(), self.reply.clone());
        // Sending fails only after the loop has ended.
        let deliver = move |arrival| drop(reply.unbounded_send(Message::Arrival { load, arrival }));
        self.host.spawn(async move { loader::decode(&*host, pictures, &wanted, deliver).await });
    }

    /// Pictures that are being decoded are wanted no more; the number of their load.
    pub(super) fn end_decoding(&mut self) -> Option<u32> {
        let (load, wanted) = self.decoding.take()?;
        wanted.set(false);
        Some(load)
    }
}
