//! The mark of a teaching view.

use crate::ui::text::t;
use leptos::prelude::*;

/// Marks what looks at private data outside the mechanism.
pub fn teaching() -> impl IntoView {
    view! { <abbr class="teaching" title=t!("Teaching view: it looks at private data outside the mechanism, so ε does not cover publishing it.")>{t!("teaching view")}</abbr> }
}
