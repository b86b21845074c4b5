//! Numbers as bars below one another.

use leptos::prelude::*;

use crate::plot::format;

/// A bar and a mark on it, as fractions of the longest bar.
#[derive(Clone, Copy)]
pub struct Bar {
    pub share: f64,
    pub mark: Option<f64>,
}

/// A row of a `<dl class="gauge">`: a name and its assumption, a bar, and the number in words.
pub fn gauge_row(
    class: &'static str,
    id: &'static str,
    [name, below]: [&'static str; 2],
    bar: Bar,
    says: String,
) -> AnyView {
    let length = |share: f64| format::exact((100.0 * share).clamp(0.5, 100.0));
    let mark = bar.mark.map(|mark| view! { <rect class="mark" x=length(mark) width="0.7" height="4"></rect> });
    view! {
        <div class=format!("gauge-row {class}")>
            <dt>{name}<span class="small-label">{below}</span></dt>
            <dd data-testid=id><svg class="gauge-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width=length(bar.share) height="4"></rect>{mark}</svg><span>{says}</span></dd>
        </div>
    }
    .into_any()
}
