//! The reader of a visitor's files, a program that is fetched when somebody brings files and runs
//! beside the training thread: its orders, its answers, and how it reads.

use futures::{
    StreamExt,
    channel::mpsc::{TryRecvError, UnboundedReceiver, UnboundedSender},
};
use hushgrad_message::{Message, ToMessage};
use serde::{Deserialize, Serialize};

use super::protocol::NetworkRequest;
use crate::data::{
    Digits, decoded_here,
    incoming::{Incoming, Piece},
    pictures::Undecoded,
    raster::{DecodeError, Raster},
    visitor::{self, Assembled, VisitorError, size},
};

/// An order to the reader; `B` is a piece's bytes, which travel beside the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order<B> {
    /// The first: names and sizes in bytes of the visitor's files.
    Read(Vec<(String, u64)>),
    /// The bytes requested by [`ReaderMessage::Wanted`]; `None` if they cannot be read.
    Piece(Option<B>),
}

/// An answer of the reader; `D` is the data read, whose images travel beside the message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ReaderMessage<D> {
    /// The first: the reader takes orders. Contains its network requests so far.
    Ready(Vec<NetworkRequest>),
    /// Requests a piece of one of the files.
    Wanted(Piece),
    /// Bytes read or pictures decoded, and their total.
    Progress { done: u64, total: u64 },
    /// All the data of the files; the last answer.
    Read(D),
    /// Why the files are refused, in one sentence; the last answer.
    Refused(Message),
}

impl<B> Order<B> {
    /// Separates the order from the bytes that travel beside it.
    #[must_use]
    pub fn parted(self) -> (Order<()>, Option<B>) {
        match self {
            Self::Read(files) => (Order::Read(files), None),
            Self::Piece(bytes) => (Order::Piece(bytes.as_ref().map(drop)), bytes),
        }
    }
}

impl Order<()> {
    /// Joins the order and the bytes that came beside it.
    #[must_use]
    pub fn with<B>(self, bytes: Option<B>) -> Order<B> {
        match self {
            Self::Read(files) => Order::Read(files),
            Self::Piece(there) => Order::Piece(there.and(bytes)),
        }
    }
}

impl<D> ReaderMessage<D> {
    /// Converts the data read by `make`.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn try_map<E, F>(self, make: impl FnOnce(D) -> Result<E, F>) -> Result<ReaderMessage<E>, F> {
        Ok(match self {
            Self::Ready(asked) => ReaderMessage::Ready(asked),
            Self::Wanted(piece) => ReaderMessage::Wanted(piece),
            Self::Progress { done, total } => ReaderMessage::Progress { done, total },
            Self::Read(read) => ReaderMessage::Read(make(read)?),
            Self::Refused(sentence) => ReaderMessage::Refused(sentence),
        })
    }
}

/// Why files could not be read, other than for their contents.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub enum ReaderError {
    #[error(
        "the file reader could not be loaded ({reason}), so your files were not read; choose them again once the network is back"
    )]
    Absent { reason: Message },
    #[error("the thread that read the files has stopped ({reason}), so none of them is used; choose them again")]
    Ended { reason: Message },
    #[error("the browser has too little memory for these images ({}); close other pages, or give fewer examples", size(*.bytes))]
    NoMemory { bytes: u64 },
    #[error("other files were chosen, so reading of the earlier ones was stopped")]
    Superseded,
    /// The reader's refusal of the files.
    #[error("{0}")]
    Refused(Message),
}

/// News of a reader.
#[derive(Debug)]
pub enum Heard {
    Message(ReaderMessage<Digits>),
    /// Its program has not arrived, and is still waited for.
    Late,
    /// It has ended.
    Failed(ReaderError),
}

/// The channel to a reader, which ends when this is dropped.
pub trait Orders {
    /// Sends an order, each in answer to a [`ReaderMessage`]; a failure is reported by [`Heard::Failed`].
    fn send(&self, order: Order<Vec<u8>>);
}

/// A reader of one visitor's files.
pub struct Reader {
    pub orders: Box<dyn Orders>,
    pub heard: UnboundedReceiver<Heard>,
}

impl Orders for UnboundedSender<Order<Vec<u8>>> {
    fn send(&self, order: Order<Vec<u8>>) {
        // Sending fails only after the reader's last answer.
        drop(self.unbounded_send(order));
    }
}

/// Reads files as ordered and reports to `tell`; `decode` decodes a picture. Ends with the orders.
pub async fn read(
    mut orders: UnboundedReceiver<Order<Vec<u8>>>,
    decode: impl AsyncFn(&[u8]) -> Result<Raster, DecodeError>,
    tell: impl Fn(ReaderMessage<Digits>),
) {
    match digits(&mut orders, decode, &tell).await {
        Ok(Some(digits)) => tell(ReaderMessage::Read(digits)),
        Ok(None) => {}
        Err(error) => tell(ReaderMessage::Refused(error.to_message())),
    }
}

/// Returns `None` if the orders end.
async fn digits(
    orders: &mut UnboundedReceiver<Order<Vec<u8>>>,
    decode: impl AsyncFn(&[u8]) -> Result<Raster, DecodeError>,
    tell: &impl Fn(ReaderMessage<Digits>),
) -> Result<Option<Digits>, VisitorError> {
    let Some(Order::Read(files)) = orders.next().await else { return Ok(None) };
    let mut incoming = Incoming::new(files)?;
    while let Some(piece) = incoming.next() {
        tell(ReaderMessage::Wanted(piece));
        let Some(Order::Piece(bytes)) = orders.next().await else { return Ok(None) };
        incoming.take(bytes.as_deref())?;
        let (done, total) = incoming.progress();
        tell(ReaderMessage::Progress { done, total });
    }
    match incoming.assembled()? {
        Assembled::Digits(digits) => Ok(Some(digits)),
        Assembled::Pictures(pictures) => decoded(pictures, orders, decode, tell).await,
    }
}

/// Decodes pictures, one at a time.
async fn decoded(
    mut pictures: Undecoded,
    orders: &mut UnboundedReceiver<Order<Vec<u8>>>,
    decode: impl AsyncFn(&[u8]) -> Result<Raster, DecodeError>,
    tell: &impl Fn(ReaderMessage<Digits>),
) -> Result<Option<Digits>, VisitorError> {
    /// Pictures between two reports.
    const SEVERAL: u64 = 16;
    while let Some(coded) = pictures.wanted()? {
        let decoded = match decoded_here::decode(&coded) {
            Some(decoded) => decoded,
            None => decode(&coded).await,
        };
        if matches!(orders.try_recv(), Err(TryRecvError::Closed)) {
            return Ok(None);
        }
        pictures.take(decoded)?;
        let (done, total) = pictures.progress();
        if done.is_multiple_of(SEVERAL) {
            tell(ReaderMessage::Progress { done, total });
        }
    }
    visitor::pictured(pictures).map(Some)
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, channel::mpsc::unbounded};

    use super::*;

    #[test]
    fn orders_and_their_bytes_arrive_unchanged() {
        let piece = |bytes: Option<Vec<u8>>| Order::Piece(bytes);
        for order in [Order::Read(vec![("a".to_owned(), 5)]), piece(None), piece(Some(vec![])), piece(Some(vec![1, 2]))]
        {
            let (said, beside) = order.clone().parted();
            let packed = postcard::to_allocvec(&said).unwrap();
            assert_eq!(postcard::from_bytes::<Order<()>>(&packed).unwrap().with(beside), order);
        }
        let told: ReaderMessage<u8> = ReaderMessage::Wanted(Piece { file: 1, bytes: 5..9 });
        let packed = postcard::to_allocvec(&told).unwrap();
        let arrived: ReaderMessage<u8> = postcard::from_bytes(&packed).unwrap();
        assert!(matches!(arrived, ReaderMessage::Wanted(Piece { file: 1, bytes }) if bytes == (5..9)));
        assert_eq!(ReaderMessage::Read(1).try_map(|_: u8| Err::<u8, _>("why")).unwrap_err(), "why");
        assert!(matches!(
            ReaderMessage::Read(1).try_map(|read: u8| Ok::<_, ()>(u32::from(read))),
            Ok(ReaderMessage::Read(1_u32))
        ));
    }

    /// Returns the answers to these orders, after which there are no more.
    fn told(all: Vec<Order<Vec<u8>>>) -> Vec<ReaderMessage<Digits>> {
        let (orders, taken) = unbounded();
        all.into_iter().for_each(|order| orders.send(order));
        drop(orders);
        let (tell, heard) = unbounded();
        let none = async |_: &[u8]| Err(DecodeError { detail: "there is no decoder".to_owned() });
        futures_executor::block_on(async {
            read(taken, none, move |told| drop(tell.unbounded_send(told))).await;
            heard.collect().await
        })
    }

    #[test]
    fn a_reader_ends_with_its_orders_and_refuses_once() {
        let read = || Order::Read(vec![("mine".to_owned(), 5_000)]);
        assert!(told(vec![]).is_empty());
        assert!(told(vec![Order::Piece(None)]).is_empty());
        assert!(matches!(told(vec![read()])[..], [ReaderMessage::Wanted(Piece { file: 0, .. })]));
        for (orders, says) in [
            (vec![Order::Read(vec![])], "no file was given"),
            (vec![read(), Order::Piece(None)], "“mine” cannot be read"),
            (vec![read(), Order::Piece(Some(vec![0; 7]))], "mine changed while it was read"),
        ] {
            let all = told(orders);
            let [.., ReaderMessage::Refused(sentence)] = &all[..] else { panic!("{all:?}") };
            assert!(sentence.contains(says), "{sentence}");
            assert_eq!(all.iter().filter(|told| matches!(told, ReaderMessage::Refused(_))).count(), 1);
        }
    }
}
