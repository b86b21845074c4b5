//! Numbers as colours, on a canvas.

use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use crate::worker::snapshot::PictureLayout;

/// Paints `values`, cut into pictures by `layout`. Blue is negative, orange positive, the paper is zero: apart for every kind of colour sight. At `full`
/// a colour is as strong as it gets.
pub fn paint(canvas: &HtmlCanvasElement, layout: PictureLayout, values: &[f32], full: f64, dark: bool) {
    const BLUE: [f64; 3] = [0.0, 104.0, 190.0];
    const ORANGE: [f64; 3] = [222.0, 110.0, 0.0];
    let paper = if dark { [24.0, 27.0, 33.0] } else { [255.0, 255.0, 255.0] };
    let gap = if dark { [44.0, 48.0, 56.0] } else { [236.0, 237.0, 240.0] };
    let (width, height) = layout.size();
    let mut bytes = Vec::with_capacity(width * height * 4);
    for y in 0..height {
        for x in 0..width {
            let colour = match layout.weight(x, y).and_then(|i| values.get(i)) {
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
    put(canvas, &bytes, width as u32, height as u32);
}

/// Paints a digit of [`PIXELS`](crate::model::PIXELS) bytes in ink on paper.
pub fn paint_digit(canvas: &HtmlCanvasElement, digit: &[u8], dark: bool) {
    let mut bytes = Vec::with_capacity(digit.len() * 4);
    for &byte in digit {
        bytes.extend(inked(byte, dark));
    }
    put(canvas, &bytes, 28, 28);
}

/// The colour of a pixel of a digit: 0 is paper, 255 is ink.
pub fn inked(pixel: u8, dark: bool) -> [u8; 4] {
    let (paper, ink) = if dark { ([32u8, 36, 43], [236u8, 234, 229]) } else { ([240u8, 240, 238], [29u8, 33, 39]) };
    let share = u16::from(pixel);
    let mixed = |at: usize| ((u16::from(paper[at]) * (255 - share) + u16::from(ink[at]) * share) / 255) as u8;
    [mixed(0), mixed(1), mixed(2), 255]
}

/// Puts pixels, four bytes each, onto a canvas of that size.
pub fn put(canvas: &HtmlCanvasElement, bytes: &[u8], width: u32, height: u32) {
    canvas.set_width(width);
    canvas.set_height(height);
    let context =
        canvas.get_context("2d").ok().flatten().and_then(|context| context.dyn_into::<CanvasRenderingContext2d>().ok());
    if let (Some(context), Ok(image)) =
        (context, ImageData::new_with_u8_clamped_array_and_sh(Clamped(bytes), width, height))
    {
        drop(context.put_image_data(&image, 0.0, 0.0));
    }
}
