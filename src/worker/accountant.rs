//! The accountant's thread in a browser.

use gloo_worker::{HandlerId, Worker, WorkerScope};

use super::accounts::{Answer, Question, answer};

/// What the page spawns. Questions carry a number, and their answers the same.
pub struct Accountant;

impl Worker for Accountant {
    type Message = ();
    type Input = (u32, Question);
    type Output = (u32, Answer);

    fn create(_: &WorkerScope<Self>) -> Self {
        Self
    }

    fn update(&mut self, _: &WorkerScope<Self>, (): ()) {}

    fn received(&mut self, scope: &WorkerScope<Self>, (number, question): Self::Input, page: HandlerId) {
        scope.respond(page, (number, answer(question)));
    }
}
