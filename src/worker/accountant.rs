//! The accountant's thread in a browser.

use gloo_worker::{HandlerId, Worker, WorkerScope};

use super::{
    accounts::{Accounts, Answer, Question},
    browser::own_requests,
};

/// What the page spawns. Questions carry a number, and their answers the same.
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
