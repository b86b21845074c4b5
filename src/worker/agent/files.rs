//! The visitor's own files: the page has them, this thread asks for as much of them as it wants.

use super::{Agent, Host};
use crate::{
    data::{
        incoming::{Incoming, Piece},
        visitor::VisitorError,
    },
    worker::{
        loader::{self, Arrival},
        protocol::Event,
    },
};

impl<H: Host> Agent<H> {
    /// Files of these names and sizes are there for the asking. One load of files is read at a time, the last one.
    pub(super) async fn await_files(&mut self, load: u32, files: Vec<(String, u64)>) {
        if let Some((before, _)) = self.incoming.take() {
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

    pub(super) async fn take_piece(&mut self, load: u32, bytes: Option<Vec<u8>>) {
        // A load that others have made stale is not read on.
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

    /// Asks for the next piece, or takes the digits that all of them make.
    async fn go_on_reading(&mut self) {
        let Some((load, incoming)) = self.incoming.take() else { return };
        if let Some(Piece { file, bytes }) = incoming.next() {
            self.host.send(Event::Wanted { load, file, start: bytes.start, end: bytes.end });
            self.incoming = Some((load, incoming));
            return;
        }
        let arrival = incoming.digits().map_or_else(|error| Arrival::End(error.into()), loader::whole);
        self.arrive(load, arrival).await;
    }
}
