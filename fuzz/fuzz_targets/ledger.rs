//! Any text: read as a ledger, refused or accounted for, never a panic; what is accepted survives its own JSON.
#![no_main]

use hushgrad::privacy::{ledger::Ledger, rdp::epsilon_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(ledger) = Ledger::from_json(text) {
        assert_eq!(Ledger::from_json(&ledger.to_json()).as_ref(), Ok(&ledger));
        if let Ok(epsilon) = epsilon_of(&ledger, 1e-5) {
            assert!(epsilon.classic.epsilon >= 0.0 && epsilon.improved.epsilon >= 0.0);
        }
    }
});
