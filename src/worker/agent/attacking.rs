//! Attacks a model of drawn digits, between checks of the inbox.

use super::{pace::YIELD_EVERY, state::Agent};
use crate::worker::{
    attacking::{Attack, AttackProgress, AttackRequest},
    host::Host,
    protocol::Event,
};

impl<H: Host> Agent<H> {
    /// Starts an attack, in place of any other.
    pub(super) fn begin_attack(&mut self, asked: AttackRequest) {
        self.jobs.attack = Some(Box::new(Attack::new(asked)));
    }

    /// Does the next piece of the attack, if there is one.
    pub(super) async fn advance_attack(&mut self) {
        let Some(attack) = &mut self.jobs.attack else { return };
        match attack.piece(YIELD_EVERY).await {
            Ok(None) => {}
            Ok(Some(inferred)) => {
                if matches!(inferred, AttackProgress::Found(_)) {
                    self.jobs.attack = None;
                }
                self.host.send(Event::Attacked(Some(inferred)));
            }
            Err(refusal) => {
                self.jobs.attack = None;
                self.aside(&refusal);
                self.host.send(Event::Attacked(None));
            }
        }
    }
}
