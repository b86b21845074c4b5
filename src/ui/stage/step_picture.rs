//! The pictures of a step: the first layer's coordinates as colours.

use leptos::{html, prelude::*};
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, ImageData};

use super::step_plot::NAMES;
use crate::{
    ui::{browser, size::closures::effect, state::Page},
    worker::snapshot::StepSnapshot,
};

/// The picture of one tile.
pub fn picture(page: Page, which: usize) -> impl IntoView {
    let canvas = NodeRef::<html::Canvas>::new();
    effect(move || {
        let theme = page.appearance.theme.get();
        let Some(canvas) = canvas.get() else { return };
        let dark = browser::is_dark(theme);
        page.snapshots.shown.with(|pictures| match pictures {
            Some((_, pictures)) => paint(&canvas, pictures, which, dark),
            None => canvas.set_width(144),
        });
    });
    view! { <canvas class="weights" node_ref=canvas width="144" height="57" role="img" aria-label=format!("{}: first-layer picture of the sum", NAMES[which])></canvas> }
}

/// Blue is negative, orange positive, the paper is zero: apart for every kind of colour sight.
fn paint(canvas: &web_sys::HtmlCanvasElement, pictures: &StepSnapshot, which: usize, dark: bool) {
    const BLUE: [f64; 3] = [0.0, 104.0, 190.0];
    const ORANGE: [f64; 3] = [222.0, 110.0, 0.0];
    let paper = if dark { [24.0, 27.0, 33.0] } else { [255.0, 255.0, 255.0] };
    let gap = if dark { [44.0, 48.0, 56.0] } else { [236.0, 237.0, 240.0] };
    let layout = pictures.layout();
    let (width, height) = layout.size();
    // The denoised sum is the noisy one made smaller; on the noisy one's scale it would be blank.
    let full = pictures.full_colour * if which == 3 { pictures.factor.max(f64::MIN_POSITIVE) } else { 1.0 };
    let mut bytes = Vec::with_capacity(width * height * 4);
    for y in 0..height {
        for x in 0..width {
            let colour = match layout.weight(x, y).and_then(|i| pictures.tiles[which].picture.get(i)) {
                Some(&value) => {
                    let share = (f64::from(value) / full).clamp(-1.0, 1.0);
                    let ink = if share < 0.0 { BLUE } else { ORANGE };
                    // Small values stay visible.
                    let weight = share.abs().sqrt();
                    [0, 1, 2].map(|i| paper[i] + (ink[i] - paper[i]) * weight)
                }
                None => gap,
            };
            bytes.extend(colour.map(|c: f64| c as u8));
            bytes.push(255);
        }
    }
    canvas.set_width(width as u32);
    canvas.set_height(height as u32);
    let context =
        canvas.get_context("2d").ok().flatten().and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok());
    if let (Some(context), Ok(image)) =
        (context, ImageData::new_with_u8_clamped_array_and_sh(Clamped(&bytes), width as u32, height as u32))
    {
        drop(context.put_image_data(&image, 0.0, 0.0));
    }
}
