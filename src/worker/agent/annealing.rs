//! Searches for the noise of a run's phases, on drawn digits, between two looks at the inbox.

use super::{pace::YIELD_EVERY, state::Agent};
use crate::{
    train::config::RunConfig,
    worker::{annealing::Search, host::Host, protocol::Event},
};

impl<H: Host> Agent<H> {
    /// Begins a search at what this configuration costs on so many examples, in the place of the one before.
    pub(super) fn begin_search(&mut self, config: RunConfig, examples: u32) {
        match Search::new(config, examples) {
            Ok(search) => self.search = Some(Box::new(search)),
            Err(refusal) => self.end_search(&refusal),
        }
    }

    /// Does the next piece of it, if there is any.
    pub(super) async fn advance_search(&mut self) {
        let Some(search) = &mut self.search else { return };
        match search.piece(YIELD_EVERY).await {
            Ok(None) => {}
            Ok(Some(cooled)) => {
                if search.done() {
                    self.search = None;
                }
                self.host.send(Event::Cooled(Some(Box::new(cooled))));
            }
            Err(refusal) => self.end_search(&refusal),
        }
    }

    fn end_search(&mut self, refusal: &str) {
        self.search = None;
        self.aside(&refusal);
        self.host.send(Event::Cooled(None));
    }
}
