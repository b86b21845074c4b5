//! Searches for the noise of a run's phases, on drawn digits, between checks of the inbox.

use super::{pace::YIELD_EVERY, state::Agent};
use crate::{
    train::config::RunConfig,
    worker::{annealing::Search, host::Host, protocol::Event},
};
use hushgrad_message::Message;

impl<H: Host> Agent<H> {
    /// Starts a search at the ε of this configuration on `examples` examples, replacing any other.
    pub(super) fn begin_search(&mut self, config: RunConfig, examples: u32) {
        match Search::new(config, examples) {
            Ok(search) => self.jobs.search = Some(Box::new(search)),
            Err(refusal) => self.end_search(&refusal),
        }
    }

    /// Does the next piece of the search, if there is one.
    pub(super) async fn advance_search(&mut self) {
        let Some(search) = &mut self.jobs.search else { return };
        match search.piece(YIELD_EVERY).await {
            Ok(None) => {}
            Ok(Some(cooled)) => {
                if search.done() {
                    self.jobs.search = None;
                }
                self.host.send(Event::Annealed(Some(Box::new(cooled))));
            }
            Err(refusal) => self.end_search(&refusal),
        }
    }

    fn end_search(&mut self, refusal: &Message) {
        self.jobs.search = None;
        self.aside(refusal);
        self.host.send(Event::Annealed(None));
    }
}
