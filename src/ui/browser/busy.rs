//! Marks the page while it is about to change on its own.

use std::sync::atomic::{AtomicU32, Ordering};

use gloo::timers::callback::Timeout;

use super::mark_root;

/// Number of live guards.
static BUSY: AtomicU32 = AtomicU32::new(0);

/// Marks the page (`data-busy`) while an answer of the accountant or a redraw of charts is due.
pub struct Busy;

impl Busy {
    #[must_use]
    pub fn begin() -> Self {
        BUSY.fetch_add(1, Ordering::Relaxed);
        mark_root("data-busy", true);
        Self
    }

    /// Runs `act` after `ms` milliseconds. Dropping the timer cancels it.
    pub fn until(ms: u32, act: impl FnOnce() + 'static) -> Timeout {
        let busy = Self::begin();
        Timeout::new(ms, move || {
            act();
            drop(busy);
        })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        mark_root("data-busy", BUSY.fetch_sub(1, Ordering::Relaxed) > 1);
    }
}
