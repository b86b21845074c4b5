//! The pictures of a step: the first layer's coordinates as colours.

use leptos::{html, prelude::*};

use super::step_plot::NAMES;
use crate::ui::widgets::colours::paint;
use crate::ui::{browser, size::closures::effect, state::Page, text::t};

/// The picture of one tile.
pub fn picture(page: Page, which: usize) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    effect(move || {
        let theme = page.appearance.theme.get();
        let Some(canvas) = canvas.get() else { return };
        let dark = browser::is_dark(theme);
        page.snapshots.shown.with(|pictures| match pictures {
            Some((_, pictures)) => {
                // On the noisy sum's scale, the denoised one, which is smaller, would be blank.
                let full = pictures.full_colour * if which == 3 { pictures.factor.max(f64::MIN_POSITIVE) } else { 1.0 };
                paint(&canvas, pictures.layout(), &pictures.tiles[which].picture, full, dark);
            }
            None => canvas.set_width(144),
        });
    });
    view! { <canvas class="weights" node_ref=canvas width="144" height="57" role="img" aria-label=t!("{tile}: first-layer picture of the sum", tile = NAMES[which].get())></canvas> }
}
