//! On a first signal, the current step finishes and output is written; a second ends the program.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXFSZ};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

#[cfg(unix)]
const ALL: [(i32, &str); 3] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];
#[cfg(not(unix))]
const ALL: [(i32, &str); 2] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM")];

/// Handlers, installed by [`Signals::listen`] until the program ends.
pub struct Signals(Arc<AtomicUsize>);

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal(i32);

impl Signals {
    /// # Errors
    /// If the system rejects a handler.
    pub fn listen() -> io::Result<Self> {
        let (came, which) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        // Exceeding a file size limit becomes an error of the writer, not the program's end.
        #[cfg(unix)]
        flag::register(SIGXFSZ, Arc::default())?;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for (signal, _) in ALL.iter().filter(|(signal, _)| !is_ignored(&status, *signal)) {
            // In this order, so that the first signal arms the shutdown without triggering it.
            flag::register_conditional_shutdown(*signal, Signal(*signal).status().into(), Arc::clone(&came))?;
            flag::register(*signal, Arc::clone(&came))?;
            flag::register_usize(*signal, Arc::clone(&which), *signal as usize)?;
        }
        Ok(Self(which))
    }

    /// The last signal received.
    pub fn received(&self) -> Option<Signal> {
        let signal = self.0.load(Ordering::SeqCst) as i32;
        (signal != 0).then_some(Signal(signal))
    }
}

impl Signal {
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(signal, _)| *signal == self.0).map_or("a signal", |(_, name)| name)
    }

    /// The exit status by the shells' convention: 128 plus the signal's number.
    pub fn status(self) -> u8 {
        (128 + self.0) as u8
    }
}

/// True if this process inherited `signal` as ignored, as under `nohup`. `status` is Linux's
/// `/proc/self/status`; other systems tell only by unsafe code.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_proc_status() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0\n";
        assert!(is_ignored(status, 1) && !is_ignored(status, 2) && is_ignored(status, 13));
        assert!(!is_ignored("", 1) && !is_ignored("SigIgn:\tx", 1));
        assert_eq!((Signal(SIGINT).name(), Signal(SIGINT).status(), Signal(SIGTERM).status()), ("SIGINT", 130, 143));
    }
}
