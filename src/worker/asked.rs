//! Network requests of the page and its threads, as recorded by the browser.

use wasm_bindgen::JsCast;
use web_sys::{Performance, PerformanceResourceTiming, WorkerGlobalScope};

use super::protocol::NetworkRequest;

/// Returns all network requests of the calling thread.
#[must_use]
pub fn own_requests() -> Vec<NetworkRequest> {
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    scope.performance().map(|clock| asked(&clock)).unwrap_or_default()
}

/// Returns all network requests that the browser recorded for a page or a thread.
#[must_use]
pub fn asked(clock: &Performance) -> Vec<NetworkRequest> {
    let entries = clock.get_entries_by_type("resource").into_iter();
    entries.map(|entry| asked_of(clock, entry.unchecked_ref())).collect()
}

/// Converts one of the browser's records to a request.
#[must_use]
pub fn asked_of(clock: &Performance, entry: &PerformanceResourceTiming) -> NetworkRequest {
    NetworkRequest {
        url: entry.name(),
        bytes: entry.transfer_size() as u64,
        at: clock.time_origin() + entry.start_time(),
    }
}
