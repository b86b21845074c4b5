//! The training thread in a browser: a gloo worker around the agent's loop.

use std::{rc::Rc, time::Duration};

use futures::channel::mpsc::{UnboundedSender, unbounded};
use gloo::{net::http, timers::future::TimeoutFuture};
use gloo_worker::{HandlerId, Worker, WorkerScope};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::{
    agent::{self, Host, Message},
    loader::LoadError,
    protocol::{Event, Request},
};

/// What the page spawns.
pub struct Trainer {
    inbox: Option<UnboundedSender<Message>>,
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
        let host = Rc::new(Browser { scope: scope.clone(), page, channel: Channel::new() });
        spawn_local(agent::run(host, receiver, sender.clone()));
        self.inbox = Some(sender);
    }

    fn received(&mut self, _: &WorkerScope<Self>, request: Request, _: HandlerId) {
        if let Some(inbox) = &self.inbox {
            // The loop ends only with the thread.
            drop(inbox.unbounded_send(Message::Request(request)));
        }
    }
}

struct Browser {
    scope: WorkerScope<Trainer>,
    page: HandlerId,
    channel: Option<Channel>,
}

impl Host for Browser {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        let refused = |reason: String| LoadError::Fetch { url: url.to_owned(), reason };
        let response = http::Request::get(url).send().await.map_err(|e| refused(e.to_string()))?;
        if !response.ok() {
            return Err(refused(format!("the server answered {} {}", response.status(), response.status_text())));
        }
        response.binary().await.map_err(|e| refused(e.to_string()))
    }

    async fn breathe(&self) {
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

    fn send(&self, event: Event) {
        self.scope.respond(self.page, event);
    }
}

/// A turn of the event loop by a message to oneself: timers are held back to 4 ms once they are nested.
struct Channel(web_sys::MessageChannel);

impl Channel {
    fn new() -> Option<Self> {
        web_sys::MessageChannel::new().ok().map(Self)
    }

    async fn turn(&self) {
        let promise = js_sys::Promise::new(&mut |resolve, _| {
            let done = Closure::once_into_js(move || drop(resolve.call0(&JsValue::NULL)));
            self.0.port1().set_onmessage(Some(done.unchecked_ref()));
            // A port of ours is never closed, so posting to it cannot fail.
            drop(self.0.port2().post_message(&JsValue::NULL));
        });
        drop(JsFuture::from(promise).await);
    }
}
