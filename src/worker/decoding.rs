//! The browser decodes a visitor's pictures, so that the program needs no decoder.

use js_sys::{Object, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, ColorSpaceConversion, ImageBitmap, ImageBitmapOptions, OffscreenCanvas, OffscreenCanvasRenderingContext2d,
    PremultiplyAlpha, WorkerGlobalScope,
};

use crate::data::raster::{DecodeError, Raster};

/// Decodes a picture, of an animation the first, rotated by its camera metadata, without conversion of its colours.
///
/// # Errors
/// With the browser's message.
pub async fn decode(coded: &[u8]) -> Result<Raster, DecodeError> {
    decoded(coded).await.map_err(|error| {
        let said = Reflect::get(&error, &"message".into()).ok().and_then(|said| said.as_string());
        DecodeError { detail: said.unwrap_or_else(|| "ImageBitmap".to_owned()) }
    })
}

async fn decoded(coded: &[u8]) -> Result<Raster, JsValue> {
    let parts = js_sys::Array::of1(&Uint8Array::from(coded));
    let blob = Blob::new_with_u8_array_sequence(&parts)?;
    let options = ImageBitmapOptions::new();
    options.set_color_space_conversion(ColorSpaceConversion::None);
    options.set_premultiply_alpha(PremultiplyAlpha::None);
    let scope: WorkerGlobalScope = js_sys::global().unchecked_into();
    let bitmap = scope.create_image_bitmap_with_blob_and_image_bitmap_options(&blob, &options)?;
    let bitmap: ImageBitmap = JsFuture::from(bitmap).await?.unchecked_into();
    let raster = pixels(&bitmap);
    // Its memory is the browser's, and would wait for garbage collection.
    bitmap.close();
    raster
}

fn pixels(bitmap: &ImageBitmap) -> Result<Raster, JsValue> {
    let (width, height) = (bitmap.width(), bitmap.height());
    let canvas = OffscreenCanvas::new(width, height)?;
    let reads = Object::new();
    Reflect::set(&reads, &"willReadFrequently".into(), &JsValue::TRUE)?;
    let context = canvas.get_context_with_context_options("2d", &reads)?.ok_or(JsValue::NULL)?;
    let context: OffscreenCanvasRenderingContext2d = context.unchecked_into();
    context.draw_image_with_image_bitmap(bitmap, 0.0, 0.0)?;
    let data = context.get_image_data(0.0, 0.0, width.into(), height.into())?;
    Ok(Raster { width, height, rgba: data.data().0 })
}
