//! Parallel map: on all cores natively, sequential in a browser.

/// Applies `work` to each item, in order.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        use rayon::prelude::*;
        items.par_iter().map(work).collect()
    }
    #[cfg(target_arch = "wasm32")]
    items.iter().map(work).collect()
}
