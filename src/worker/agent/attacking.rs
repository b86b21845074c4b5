//! Attacks a model of drawn digits, between two looks at the inbox.

use super::{pace::YIELD_EVERY, state::Agent};
use crate::worker::{
    attacking::{Asked, Attack, Inferred},
    host::Host,
    protocol::Event,
};

impl<H: Host> Agent<H> {
    /// Begins an attack in the place of the one before.
    pub(super) fn begin_attack(&mut self, asked: Asked) {
        self.attack = Some(Box::new(Attack::new(asked)));
    }

    /// Does the next piece of it, if there is any.
    pub(super) async fn advance_attack(&mut self) {
        let Some(attack) = &mut self.attack else { return };
        match attack.piece(YIELD_EVERY).await {
            Ok(None) => {}
            Ok(Some(inferred)) => {
                if matches!(inferred, Inferred::Found(_)) {
                    self.attack = None;
                }
                self.host.send(Event::Inferred(Some(inferred)));
            }
            Err(refusal) => {
                self.attack = None;
                self.aside(&refusal);
                self.host.send(Event::Inferred(None));
            }
        }
    }
}
