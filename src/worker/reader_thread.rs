//! The reader's thread in a browser: a worker of the training thread, fetched when a visitor brings
//! files, and ended when they are read. Embeds take no files, so no sandbox without origin runs it.

use std::{cell::RefCell, convert::Infallible, rc::Rc};

use futures::channel::mpsc::{UnboundedSender, unbounded};
use gloo::timers::callback::Timeout;
use hushgrad_message::{Message, word};
use js_sys::{Array, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::spawn_local;
use web_sys::{DedicatedWorkerGlobalScope, ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use super::{
    asked::own_requests,
    decoding,
    protocol::NetworkRequest,
    read_set::{ReadSet, SetBytes},
    reading::{self, Heard, Order, Orders, Reader, ReaderError, ReaderMessage},
    transfer::{bytes, packed, unpacked},
};
use crate::data::Digits;

/// Milliseconds after which a missing program is reported.
const LATE: u32 = 10_000;

/// Network requests of readers.
pub type RequestLog = Rc<RefCell<Vec<NetworkRequest>>>;

/// Orders that wait for the reader's program; `None` once it takes them directly.
type Unsent = Rc<RefCell<Option<Vec<Order<Vec<u8>>>>>>;

/// The thread and its event handlers. It ends when this is dropped.
struct Thread {
    worker: Worker,
    unsent: Unsent,
    _said: Closure<dyn FnMut(MessageEvent)>,
    _failed: Closure<dyn FnMut(ErrorEvent)>,
    _late: Timeout,
}

impl Orders for Thread {
    fn send(&self, order: Order<Vec<u8>>) {
        match &mut *self.unsent.borrow_mut() {
            Some(unsent) => unsent.push(order),
            None => post(&self.worker, order),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.worker.set_onmessage(None);
        self.worker.set_onerror(None);
        self.worker.terminate();
    }
}

/// Starts a reader by the loader at `address`. Its network requests are added to `asked`.
///
/// # Errors
/// If the browser starts no such thread.
pub fn start(address: &str, asked: RequestLog) -> Result<Reader, ReaderError> {
    let options = WorkerOptions::new();
    options.set_name("hushgrad-reader");
    options.set_type(WorkerType::Module);
    let worker =
        Worker::new_with_options(address, &options).map_err(|error| ReaderError::Absent { reason: reason(&error) })?;
    let (tell, heard) = unbounded();
    let unsent = Unsent::new(RefCell::new(Some(Vec::new())));
    // Sending fails only after the receiver was dropped.
    let (told, waiting, itself) = (tell.clone(), unsent.clone(), worker.clone());
    let said = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| match message(&event.data()) {
        Some(Ok(ReaderMessage::Ready(requests))) => {
            asked.borrow_mut().extend(requests);
            waiting.take().into_iter().flatten().for_each(|order| post(&itself, order));
        }
        Some(Ok(other)) => drop(told.unbounded_send(Heard::Message(other))),
        Some(Err(error)) => drop(told.unbounded_send(Heard::Failed(error))),
        None => {}
    });
    let (told, waiting) = (tell.clone(), unsent.clone());
    let failed = Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| {
        // Otherwise it would count as this thread's failure, and the page would end it.
        event.prevent_default();
        let reason = reason(&event);
        let error =
            if waiting.borrow().is_some() { ReaderError::Absent { reason } } else { ReaderError::Ended { reason } };
        drop(told.unbounded_send(Heard::Failed(error)));
    });
    worker.set_onmessage(Some(said.as_ref().unchecked_ref()));
    worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
    let waiting = unsent.clone();
    let late = Timeout::new(LATE, move || {
        if waiting.borrow().is_some() {
            drop(tell.unbounded_send(Heard::Late));
        }
    });
    Ok(Reader { orders: Box::new(Thread { worker, unsent, _said: said, _failed: failed, _late: late }), heard })
}

/// Returns the browser's message of a failure.
fn reason(error: &JsValue) -> Message {
    let said = Reflect::get(error, &"message".into()).ok().and_then(|said| said.as_string());
    said.filter(|said| !said.is_empty()).map_or(word!("the browser gave no reason").into(), Message::text)
}

fn post(worker: &Worker, order: Order<Vec<u8>>) {
    let (order, piece) = order.parted();
    let message = Array::of1(&packed(&order));
    let buffers = Array::new();
    if let Some(piece) = piece {
        let piece = Uint8Array::from(&*piece);
        buffers.push(&piece.buffer());
        message.push(&piece);
    }
    // All its parts are of kinds that can be sent.
    drop(worker.post_message_with_transfer(&message, &buffers));
}

/// Decodes a reader's message; `None` if it is none.
fn message(data: &JsValue) -> Option<Result<ReaderMessage<Digits>, ReaderError>> {
    let message: &Array = data.dyn_ref()?;
    let told: ReaderMessage<ReadSet> = unpacked(message)?;
    Some(told.try_map(|said| {
        let damaged = || ReaderError::Ended { reason: word!("its images arrived incomplete").into() };
        said.with(set_bytes(message)?).ok_or_else(damaged)
    }))
}

fn set_bytes(message: &Array) -> Result<SetBytes<Vec<u8>>, ReaderError> {
    let parts = [1, 2, 3, 4].map(|place| message.get(place).dyn_into::<Uint8Array>().unwrap_or_default());
    let all = parts.iter().map(|part| part.length() as usize).sum::<usize>();
    // If this fits into memory, so do the copies below.
    let no_memory = |_| ReaderError::NoMemory { bytes: all as u64 };
    Vec::<u8>::new().try_reserve_exact(all).map_err(no_memory)?;
    Ok(parts.map(|part| part.to_vec()))
}

/// Runs the reader's side: reports that it is ready, and reads one visitor's files.
pub fn serve() {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    let (give, orders) = unbounded();
    let take = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| hear(&event.data(), &give));
    scope.set_onmessage(Some(take.as_ref().unchecked_ref()));
    take.forget();
    let told = move |told| tell(&scope, told);
    told(ReaderMessage::Ready(own_requests()));
    spawn_local(reading::read(orders, decoding::decode, told));
}

fn hear(data: &JsValue, give: &UnboundedSender<Order<Vec<u8>>>) {
    let Some(message) = data.dyn_ref::<Array>() else { return };
    if let Some(order) = unpacked::<Order<()>>(message) {
        // Sending fails only after the last answer.
        drop(give.unbounded_send(order.with(bytes(message, 1))));
    }
}

fn tell(scope: &DedicatedWorkerGlobalScope, told: ReaderMessage<Digits>) {
    let mut parts = None;
    let Ok(told) = told.try_map(|digits| {
        let (said, bytes) = ReadSet::of(&digits);
        parts = Some(bytes.map(Uint8Array::from));
        Ok::<_, Infallible>(said)
    });
    let message = Array::of1(&packed(&told));
    let buffers = Array::new();
    for part in parts.iter().flatten() {
        buffers.push(&part.buffer());
        message.push(part);
    }
    // All its parts are of kinds that can be sent.
    drop(scope.post_message_with_transfer(&message, &buffers));
}
