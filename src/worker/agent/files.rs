//! The visitor's own files stay with the page, and a reader beside this thread asks for pieces of them.

use futures::StreamExt;

use super::state::Agent;
use crate::{
    data::incoming::Piece,
    worker::{
        host::Host,
        inbox::Message,
        loader::{self, Arrival},
        protocol::Event,
        reading::{Heard, Order, Reader, ReaderError, Told},
    },
};

impl<H: Host> Agent<H> {
    /// Begins to have files of these names and sizes read, by the program of the loader at `reader`. Only the load that was asked for last is read.
    pub(super) async fn read_files(&mut self, load: u32, reader: &str, files: Vec<(String, u64)>) {
        if let Some((before, _)) = self.reading.take() {
            self.arrive(before, Arrival::End(ReaderError::Superseded.into())).await;
        }
        let Reader { orders, mut heard } = match self.host.reader(reader) {
            Ok(reader) => reader,
            Err(error) => return self.arrive(load, Arrival::End(error.into())).await,
        };
        orders.send(Order::Read(files));
        self.reading = Some((load, orders));
        let (host, reply) = (self.host.clone(), self.reply.clone());
        self.host.spawn(async move {
            while let Some(heard) = heard.next().await {
                let arrival = match heard {
                    Heard::Told(Told::Ready(_)) => continue,
                    Heard::Told(Told::Wanted(Piece { file, bytes })) => {
                        host.send(Event::Wanted { load, file, start: bytes.start, end: bytes.end });
                        continue;
                    }
                    Heard::Told(Told::Progress { done, total }) => Arrival::Progress { done, total },
                    Heard::Told(Told::Read(digits)) => loader::whole(digits),
                    Heard::Told(Told::Refused(sentence)) => Arrival::End(ReaderError::Refused(sentence).into()),
                    Heard::Late => Arrival::Notice(
                        "The program that reads files takes long to come. Your files are read as soon as it is here; until then all stays as it is.",
                    ),
                    Heard::Failed(error) => Arrival::End(error.into()),
                };
                // Sending fails only after the loop has ended.
                drop(reply.unbounded_send(Message::Arrival { load, arrival }));
            }
        });
    }

    /// Hands the piece that was asked for last to the reader. `None`: the page could not read it.
    pub(super) fn take_piece(&self, load: u32, bytes: Option<Vec<u8>>) {
        if let Some((_, orders)) = self.reading.as_ref().filter(|(read, _)| *read == load) {
            orders.send(Order::Piece(bytes));
        }
    }
}
