//! The accountant thread in a browser.

use gloo_worker::{HandlerId, Worker, WorkerScope};

use super::{
    accounts::{Accounts, Answer, Question},
    asked::own_requests,
};

/// The accountant that the page spawns. A question and its answer carry the same number.
pub struct Accountant(Accounts);

impl Worker for Accountant {
    type Message = ();
    type Input = (u32, Question);
    type Output = (u32, Answer);

    fn create(_: &WorkerScope<Self>) -> Self {
        Self(Accounts::default())
    }

    fn update(&mut self, _: &WorkerScope<Self>, (): ()) {}

    fn received(&mut self, scope: &WorkerScope<Self>, (number, question): Self::Input, page: HandlerId) {
        let answer = match question {
            Question::Requests => Answer::Requests(own_requests()),
            question => self.0.answer(question),
        };
        scope.respond(page, (number, answer));
    }
}
