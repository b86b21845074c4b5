//! Any text is refused or accounted for as by `hushgrad account`, also as another library's record; accepted
//! ledgers round-trip, and so do those that a `DpEvent` can say.
#![no_main]

use hushgrad_accounting::{books::account, foreign, ledger::Ledger};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(ledger) = foreign::read(text) {
        assert_eq!(Ledger::from_json(&ledger.to_json()).as_ref(), Ok(&ledger));
        if let Ok(event) = foreign::to_dp_event(&ledger) {
            assert_eq!(foreign::dp_event(&event).map(|read| read.steps()), Ok(ledger.steps()));
        }
        if let Ok(account) = account(&ledger, 1e-5) {
            assert!(account.classic.epsilon >= 0.0 && account.improved.epsilon >= 0.0);
            assert!(account.tight.is_none_or(|tight| tight.value >= 0.0 && tight.value <= account.improved.epsilon));
            assert!(!account.to_string().is_empty());
        }
    }
});
