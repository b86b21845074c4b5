//! The visitor's files stay with the page; a reader in its own thread requests pieces of them.

use futures::StreamExt;
use hushgrad_message::word;

use super::state::Agent;
use crate::{
    data::incoming::Piece,
    worker::{
        host::Host,
        inbox::Incoming,
        loader::{self, Arrival},
        protocol::Event,
        reading::{Heard, Order, Reader, ReaderError, ReaderMessage},
    },
};

impl<H: Host> Agent<H> {
    /// Starts reading the files of the latest load, by the loader at `reader`.
    pub(super) async fn read_files(&mut self, load: u32, reader: &str, files: Vec<(String, u64)>) {
        if let Some((before, _)) = self.data.reading.take() {
            self.arrive(before, Arrival::End(ReaderError::Superseded.into())).await;
        }
        let Reader { orders, mut heard } = match self.host.reader(reader) {
            Ok(reader) => reader,
            Err(error) => return self.arrive(load, Arrival::End(error.into())).await,
        };
        orders.send(Order::Read(files));
        self.data.reading = Some((load, orders));
        let (host, reply) = (self.host.clone(), self.reply.clone());
        self.host.spawn(async move {
            while let Some(heard) = heard.next().await {
                let arrival = match heard {
                    Heard::Message(ReaderMessage::Ready(_)) => continue,
                    Heard::Message(ReaderMessage::Wanted(Piece { file, bytes })) => {
                        host.send(Event::Wanted { load, file, start: bytes.start, end: bytes.end });
                        continue;
                    }
                    Heard::Message(ReaderMessage::Progress { done, total }) => Arrival::Progress { done, total },
                    Heard::Message(ReaderMessage::Read(digits)) => loader::whole(digits),
                    Heard::Message(ReaderMessage::Refused(sentence)) => Arrival::End(ReaderError::Refused(sentence).into()),
                    Heard::Late => Arrival::Notice(
                        word!("The file reader is slow to load. Your files are read as soon as it has loaded; until then nothing changes."),
                    ),
                    Heard::Failed(error) => Arrival::End(error.into()),
                };
                // Sending fails only after the loop has ended.
                drop(reply.unbounded_send(Incoming::Arrival { load, arrival }));
            }
        });
    }

    /// Passes the requested piece to the reader; `None` if the page could not read it.
    pub(super) fn take_piece(&self, load: u32, bytes: Option<Vec<u8>>) {
        if let Some((_, orders)) = self.data.reading.as_ref().filter(|(read, _)| *read == load) {
            orders.send(Order::Piece(bytes));
        }
    }
}
