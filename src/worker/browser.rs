//! The training thread in a browser: a gloo worker around the agent's loop.

use std::{cell::Cell, rc::Rc, time::Duration};

use futures::{
    FutureExt,
    channel::mpsc::{UnboundedSender, unbounded},
    future::{Either, select},
};
use gloo::{net::http, timers::future::TimeoutFuture};
use gloo_worker::{HandlerId, Worker, WorkerScope};
use hushgrad_message::{Message, message};
use js_sys::{Promise, Uint8Array};
use wasm_bindgen::{JsCast, JsValue, closure::Closure, prelude::wasm_bindgen};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Cache, RequestCache, WorkerGlobalScope};

use super::{
    agent,
    asked::own_requests,
    helping,
    host::Host,
    inbox::Incoming,
    load_error::LoadError,
    protocol::{Event, NetworkRequest, Request},
    reader_thread::{self, RequestLog},
    reading::{Reader, ReaderError},
    run_store::{Change, Record, Store, StoreError, StoredBooks},
    storage::{Database, Lock},
};
use crate::{data::idx, engine::cpu::helpers::Helpers};

#[wasm_bindgen]
extern "C" {
    /// Copies the bytes before it returns.
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = digest)]
    fn subtle_digest(algorithm: &str, bytes: &[u8]) -> Result<Promise, JsValue>;
}

/// The training thread that the page spawns.
pub struct Trainer {
    inbox: Option<UnboundedSender<Incoming>>,
}

impl Worker for Trainer {
    type Message = ();
    type Input = Request;
    type Output = Event;

    fn create(_: &WorkerScope<Self>) -> Self {
        Self { inbox: None }
    }

    fn update(&mut self, _: &WorkerScope<Self>, (): ()) {}

    fn connected(&mut self, scope: &WorkerScope<Self>, page: HandlerId) {
        let (sender, receiver) = unbounded();
        let host = Browser {
            scope: scope.clone(),
            page,
            channel: Channel::new(),
            database: Database::default(),
            of_readers: RequestLog::default(),
        };
        spawn_local(agent::run(Rc::new(host), receiver, sender.clone()));
        self.inbox = Some(sender);
    }

    fn received(&mut self, scope: &WorkerScope<Self>, request: Request, page: HandlerId) {
        // Answered here, because the loop may wait for a device for a long time.
        if request == Request::Ping {
            scope.respond(page, Event::Pong);
        } else if let Some(inbox) = &self.inbox {
            // Sending fails only after the loop, and with it the thread, has ended.
            drop(inbox.unbounded_send(Incoming::Request(request)));
        }
    }
}

struct Browser {
    scope: WorkerScope<Trainer>,
    page: HandlerId,
    channel: Option<Channel>,
    database: Database,
    /// Network requests of the readers of files.
    of_readers: RequestLog,
}

impl Store for Browser {
    type Lock = Lock;

    async fn keys(&self) -> Result<Vec<String>, StoreError> {
        self.database.keys().await
    }

    async fn read(&self, key: &str) -> Result<Option<Record>, StoreError> {
        self.database.read(key).await
    }

    async fn spent(&self) -> Result<Vec<StoredBooks>, StoreError> {
        self.database.spent().await
    }

    async fn write(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        self.database.write(changes).await
    }

    async fn lock(&self, key: &str) -> Result<Lock, StoreError> {
        self.database.lock(key).await
    }
}

impl Host for Browser {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        fetch(url, RequestCache::Default).await
    }

    async fn fetch_anew(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        fetch(url, RequestCache::Reload).await
    }

    fn keep(&self, url: &str, bytes: &[u8]) {
        let (url, bytes) = (url.to_owned(), Uint8Array::from(bytes));
        // May fail in a private window; the next visit then needs the network again.
        spawn_local(async move { drop(keep(&url, &bytes).await) });
    }

    /// The browser's own is many times as fast and off this thread; insecure contexts have none.
    async fn sha256(&self, bytes: &[u8]) -> String {
        let hashed = async { JsFuture::from(subtle_digest("SHA-256", bytes)?).await };
        hashed.await.map_or_else(|_| idx::sha256(&[bytes]), |hash| idx::hexadecimal(&Uint8Array::new(&hash).to_vec()))
    }

    fn reader(&self, address: &str) -> Result<Reader, ReaderError> {
        reader_thread::start(address, self.of_readers.clone())
    }

    async fn yield_now(&self) {
        match &self.channel {
            Some(channel) => channel.turn().await,
            None => TimeoutFuture::new(0).await,
        }
    }

    async fn sleep(&self, time: Duration) {
        TimeoutFuture::new(time.as_millis() as u32).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        spawn_local(task);
    }

    fn helpers(&self, cores: Option<u32>) -> Option<Helpers> {
        helping::start(cores)
    }

    fn send(&self, event: Event) {
        self.scope.respond(self.page, event);
    }

    fn requests(&self) -> Vec<NetworkRequest> {
        let mut all = own_requests();
        all.extend_from_slice(&self.of_readers.borrow());
        all
    }
}

async fn fetch(url: &str, cache: RequestCache) -> Result<Vec<u8>, LoadError> {
    let refused = |reason: Message, absent| LoadError::Fetch { url: url.to_owned(), reason, absent };
    let response = http::Request::get(url).cache(cache).send().await.map_err(|e| refused(Message::text(e), false))?;
    if !response.ok() {
        let reason = message!("the server answered {} {}", response.status(), response.status_text());
        // S3 answers 403 for an absent object.
        return Err(refused(reason, matches!(response.status(), 403 | 404 | 410)));
    }
    response.binary().await.map_err(|e| refused(Message::text(e), false))
}

/// The cache that keeps digits for offline visits. Its name continues with the site's address
/// without the query; `www/sw.js` reads the same cache.
const DIGITS: &str = "hushgrad-digits";

async fn keep(url: &str, bytes: &Uint8Array) -> Result<(), JsValue> {
    let plain = url.split(['?', '#']).next().unwrap_or(url);
    let site = plain.rsplit_once("data/").map_or(plain, |(site, _)| site);
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    let cache: Cache = JsFuture::from(scope.caches()?.open(&format!("{DIGITS} {site}"))).await?.unchecked_into();
    let response = web_sys::Response::new_with_opt_js_u8_array(Some(bytes))?;
    JsFuture::from(cache.put_with_str(plain, &response)).await.map(drop)
}

/// Turns of the event loop, ended by a message to itself or a timer (4 ms if nested), whichever is
/// first. Messages take no time, except in WebKit while the page's thread draws.
struct Channel {
    ports: web_sys::MessageChannel,
    /// A message that has not arrived yet, because a timer ended its turn.
    late: Cell<Option<JsFuture>>,
}

impl Channel {
    fn new() -> Option<Self> {
        let ports = web_sys::MessageChannel::new().ok()?;
        Some(Self { ports, late: Cell::default() })
    }

    async fn turn(&self) {
        // Waits again for a late message, so that none pile up, or drops it if it has arrived.
        let late = self.late.take().and_then(|mut late| (&mut late).now_or_never().is_none().then_some(late));
        let message = late.unwrap_or_else(|| self.post());
        if let Either::Right(((), message)) = select(message, TimeoutFuture::new(0)).await {
            self.late.set(Some(message));
        }
    }

    fn post(&self) -> JsFuture {
        let promise = js_sys::Promise::new(&mut |resolve, _| {
            let done = Closure::once_into_js(move || drop(resolve.call0(&JsValue::NULL)));
            self.ports.port1().set_onmessage(Some(done.unchecked_ref()));
            // The port is never closed, so posting to it cannot fail.
            drop(self.ports.port2().post_message(&JsValue::NULL));
        });
        JsFuture::from(promise)
    }
}
