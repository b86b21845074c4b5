//! Helpers of the CPU engine in a browser: workers that run the training thread's own program.
//!
//! The training thread starts them from its own loader and sends them its compiled program: nothing
//! is fetched or compiled twice. Arrays are transferred. Shared memory would need headers.

use std::{cell::RefCell, sync::Arc, time::Duration};

use futures::{
    FutureExt, StreamExt,
    channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded},
    future::{Either, LocalBoxFuture, select},
};
use gloo::timers::future::TimeoutFuture;
use js_sys::{Array, Float32Array, Float64Array, Uint8Array};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{DedicatedWorkerGlobalScope, ErrorEvent, MessageEvent, Worker, WorkerOptions, WorkerType};

use super::transfer::{bytes, packed, unpacked};
use crate::engine::cpu::helpers::{Answer, Heard, Helper, Helpers, Order, Transport};

/// Name of a helper, by which loader (`xtask/src/site/threads.rs`) and program know their role.
const NAME: &str = "hushgrad-helper";
/// Messages of a loader that waits for the program, and of a program that takes orders.
const WANTED: &str = "program";
const READY: &str = "ready";
/// Most computing threads, including the training thread.
const MOST: u32 = 8;

thread_local! {
    /// Workers of this thread, by number, because what moves between threads cannot hold them.
    static WORKERS: RefCell<Vec<Option<Started>>> = const { RefCell::new(Vec::new()) };
}

/// A worker and its event handlers.
struct Started {
    worker: Worker,
    _said: Closure<dyn FnMut(MessageEvent)>,
    _failed: Closure<dyn FnMut(ErrorEvent)>,
}

/// Starts helpers, so that `cores` threads compute in all (`None`: as many as pay).
#[must_use]
pub fn start(cores: Option<u32>) -> Option<Helpers> {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    // One core is left for the page and the accountant.
    let all = || (scope.navigator().hardware_concurrency() as u32).saturating_sub(1);
    let count = cores.unwrap_or_else(all).clamp(1, MOST) - 1;
    let (told, heard) = unbounded();
    // The fragment tells threads apart in the browser's list.
    let script = scope.location().href() + "#helper";
    let first = WORKERS.with_borrow(Vec::len);
    for helper in 0..count as usize {
        // A refusal of one (by the host's policy or a sandbox) is a refusal of all.
        let Ok(started) = begin(&script, helper, &told) else { break };
        WORKERS.with_borrow_mut(|workers| workers.push(Some(started)));
    }
    let count = WORKERS.with_borrow(Vec::len) - first;
    (count > 0).then(|| Helpers::new(Box::new(Workers { first, count, heard }), cores.is_some()))
}

fn begin(script: &str, helper: usize, told: &UnboundedSender<(usize, Heard)>) -> Result<Started, JsValue> {
    let options = WorkerOptions::new();
    options.set_name(NAME);
    // A page without an origin starts threads from classic scripts of one line (`www/start.js`).
    options.set_type(if script.starts_with("blob:") { WorkerType::Classic } else { WorkerType::Module });
    let worker = Worker::new_with_options(script, &options)?;
    let (tell, itself) = (told.clone(), worker.clone());
    let said = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let data = event.data();
        let heard = match data.as_string().as_deref() {
            Some(WANTED) => return drop(itself.post_message(&wasm_bindgen::module())),
            Some(READY) => Heard::Ready,
            _ => match answered(&data) {
                Some(answer) => Heard::Answer(answer),
                None => return,
            },
        };
        // Sending fails only after the helpers were dropped.
        drop(tell.unbounded_send((helper, heard)));
    });
    let tell = told.clone();
    let failed = Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| {
        // Otherwise it would count as this thread's failure, and the page would end it.
        event.prevent_default();
        drop(tell.unbounded_send((helper, Heard::Failed)));
    });
    worker.set_onmessage(Some(said.as_ref().unchecked_ref()));
    worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
    Ok(Started { worker, _said: said, _failed: failed })
}

/// The workers of this thread from number `first` on.
struct Workers {
    first: usize,
    count: usize,
    heard: UnboundedReceiver<(usize, Heard)>,
}

impl Transport for Workers {
    fn count(&self) -> usize {
        self.count
    }

    fn send(&mut self, helper: usize, order: Order) {
        let Order { ask, numbers, inputs, labels } = order;
        let (numbers, inputs, labels) =
            (Float32Array::from(&*numbers), Uint8Array::from(&*inputs), Uint8Array::from(&*labels));
        let buffers = Array::of3(&numbers.buffer(), &inputs.buffer(), &labels.buffer());
        let message = Array::of4(&packed(&ask), &numbers, &inputs, &labels);
        WORKERS.with_borrow(|workers| {
            if let Some(Some(started)) = workers.get(self.first + helper) {
                // An order that cannot be sent is not answered.
                drop(started.worker.post_message_with_transfer(&message, &buffers));
            }
        });
    }

    fn heard(&mut self) -> Option<(usize, Heard)> {
        self.heard.try_recv().ok()
    }

    fn hear(&mut self, within: Duration) -> LocalBoxFuture<'_, Option<(usize, Heard)>> {
        // A timer of 0 ms would be one turn of the event loop, in which nothing may arrive.
        let timer = TimeoutFuture::new((within.as_millis() as u32).max(1));
        async move {
            match select(self.heard.next(), timer).await {
                Either::Left((heard, _)) => heard,
                Either::Right(_) => None,
            }
        }
        .boxed_local()
    }

    fn end(&mut self, helper: usize) {
        let started = WORKERS.with_borrow_mut(|workers| workers.get_mut(self.first + helper).and_then(Option::take));
        if let Some(started) = started {
            started.worker.set_onmessage(None);
            started.worker.set_onerror(None);
            started.worker.terminate();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        (0..self.count).for_each(|helper| self.end(helper));
    }
}

fn answered(data: &JsValue) -> Option<Answer> {
    let message: &Array = data.dyn_ref()?;
    let numbers = message.get(1).dyn_into::<Float64Array>().ok()?.to_vec();
    Some(Answer { told: unpacked(message)?, numbers })
}

fn ordered(data: &JsValue) -> Option<Order> {
    let message: &Array = data.dyn_ref()?;
    let numbers: Arc<[f32]> = message.get(1).dyn_into::<Float32Array>().ok()?.to_vec().into();
    Some(Order { ask: unpacked(message)?, numbers, inputs: bytes(message, 2)?, labels: bytes(message, 3)? })
}

/// Runs the helper's side: if this thread is a helper, takes orders from now on and returns true.
#[must_use]
pub fn serve() -> bool {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    if scope.name() != NAME {
        return false;
    }
    let (mut helper, own) = (Helper::default(), scope.clone());
    let take = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
        let Some(answer) = ordered(&event.data()).and_then(|order| helper.take(order)) else { return };
        let numbers = Float64Array::from(&*answer.numbers);
        let message = Array::of2(&packed(&answer.told), &numbers);
        // The training thread also computes shares that cannot be sent.
        drop(own.post_message_with_transfer(&message, &Array::of1(&numbers.buffer())));
    });
    scope.set_onmessage(Some(take.as_ref().unchecked_ref()));
    take.forget();
    drop(scope.post_message(&READY.into()));
    true
}
