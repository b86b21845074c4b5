//! What the page and its threads have asked of the network, as the browser has noted it.

use wasm_bindgen::JsCast;
use web_sys::{Performance, PerformanceResourceTiming, WorkerGlobalScope};

use super::protocol::NetworkRequest;

/// All network requests of the thread that calls this.
#[must_use]
pub fn own_requests() -> Vec<NetworkRequest> {
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    scope.performance().map(|clock| asked(&clock)).unwrap_or_default()
}

/// All network requests that the browser has recorded for a page or a thread.
#[must_use]
pub fn asked(clock: &Performance) -> Vec<NetworkRequest> {
    let entries = clock.get_entries_by_type("resource").into_iter();
    entries.map(|entry| asked_of(clock, entry.unchecked_ref())).collect()
}

/// One of the browser's records as a request.
#[must_use]
pub fn asked_of(clock: &Performance, entry: &PerformanceResourceTiming) -> NetworkRequest {
    NetworkRequest {
        url: entry.name(),
        bytes: entry.transfer_size() as u64,
        at: clock.time_origin() + entry.start_time(),
    }
}
