//! Checks whether a run can be audited.

use super::{config::RunConfig, error::ConfigError};
use crate::data::sharing::Sharing;
use hushgrad_message::{Message, message, word};

/// Most canaries of a run; one score is kept for each.
const MOST_CANARIES: u32 = 20_000;

/// Returns the most canaries of a run of this model on `examples` training examples.
#[must_use]
pub fn most_canaries(config: &RunConfig, examples: u32) -> u32 {
    MOST_CANARIES.min(config.model.parameters() as u32).min(examples)
}

/// Checks the canaries of a configuration on `examples` training examples.
///
/// # Errors
/// The field that is out of range, or what contradicts it.
pub(super) fn check(config: &RunConfig, examples: u32) -> Result<(), ConfigError> {
    if config.canaries == 0 {
        return Ok(());
    }
    let parameters = config.model.parameters() as u32;
    let most = most_canaries(config, examples);
    if config.canaries > most {
        return Err(ConfigError::OutOfRange {
            field: "canaries",
            value: Message::text(config.canaries),
            range: message!(
                "between 0 and {most}: each needs its own model parameter ({parameters}), and there can be no more of them than examples ({examples})"
            ),
        });
    }
    let contradiction = |sentence| Err(ConfigError::Contradiction { field: "canaries", sentence });
    if config.replay.is_some() {
        return contradiction(word!(
            "a replayed run's seed tells which canaries are in, so an audit proves nothing; choose no replay, or no canaries"
        ));
    }
    if matches!(config.sharing, Sharing::MicroBatches { .. }) {
        return contradiction(word!("a canary is a record by itself; choose no micro-batches, or no canaries"));
    }
    if config.bands > 1 {
        return contradiction(word!(
            "this audit cannot score noise that is correlated over several steps; choose 1 band, or no canaries"
        ));
    }
    if config.metrics.is_some() {
        return contradiction(word!("a canary has no digit to be counted; release no metrics, or choose no canaries"));
    }
    Ok(())
}
