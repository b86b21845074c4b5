//! Numbers as colours, on a canvas.

use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

use crate::{data::Picture, worker::snapshot::PictureLayout};

/// Paints `values`, divided into pictures by `layout`: blue is negative, orange positive, paper
/// zero, distinct in any colour vision. Colours are strongest at magnitude `full`.
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
                    // Keeps small values visible.
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

/// Paints an image: a digit in ink on paper, others in their colours.
pub fn paint_image(canvas: &HtmlCanvasElement, picture: Picture, image: &[u8], dark: bool) {
    let bytes: Vec<u8> = (0..picture.area()).flat_map(|at| colour_of(picture, image, at, dark)).collect();
    put(canvas, &bytes, picture.side.into(), picture.side.into());
}

/// Paints images of one size side by side.
pub fn paint_strip(canvas: &HtmlCanvasElement, picture: Picture, images: &[u8], dark: bool) {
    let (side, count) = (usize::from(picture.side), images.len() / picture.pixels());
    let pixel = |at: usize| {
        let (y, x) = (at / (side * count), at % (side * count));
        let image = &images[x / side * picture.pixels()..][..picture.pixels()];
        colour_of(picture, image, y * side + x % side, dark)
    };
    let bytes: Vec<u8> = (0..side * side * count).flat_map(pixel).collect();
    put(canvas, &bytes, (side * count) as u32, side as u32);
}

/// Returns the RGBA colour of an image's pixel `at`; paper if there is none.
pub fn colour_of(picture: Picture, image: &[u8], at: usize, dark: bool) -> [u8; 4] {
    let value = |channel: usize| image.get(channel * picture.area() + at).copied();
    match (picture.channels, value(0), value(1), value(2)) {
        (3, Some(red), Some(green), Some(blue)) => [red, green, blue, 255],
        (_, value, ..) => inked(value.unwrap_or(0), dark),
    }
}

/// Returns the colour of a digit's pixel: 0 is paper, 255 is ink.
fn inked(pixel: u8, dark: bool) -> [u8; 4] {
    let (paper, ink) = if dark { ([32u8, 36, 43], [236u8, 234, 229]) } else { ([240u8, 240, 238], [29u8, 33, 39]) };
    let share = u16::from(pixel);
    let mixed = |at: usize| ((u16::from(paper[at]) * (255 - share) + u16::from(ink[at]) * share) / 255) as u8;
    [mixed(0), mixed(1), mixed(2), 255]
}

/// Resizes a canvas to `width` × `height` and puts RGBA `bytes` onto it.
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
