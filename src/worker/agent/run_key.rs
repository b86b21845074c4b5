//! Keys of runs in the run store.

use rand::Rng as _;
use web_time::SystemTime;

use crate::rng::SystemRng;

/// Returns a unique key. Keys ascend by time; a random part distinguishes tabs that ask in the same
/// moment. `run`: this thread's number of the run.
pub(super) fn new_key(run: u32) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    // Without system randomness nothing is trained: the thread's own count is enough.
    let chance = SystemRng::new().map_or(run, |mut rng| rng.next_u32());
    format!("{now:013}-{chance:08x}")
}
