//! Decodes pictures where no browser does.

use std::io::Cursor;

use image::{DynamicImage, ImageDecoder as _, ImageReader, Limits};

use super::{
    decoded_here,
    file_fault::LONGEST,
    raster::{DecodeError, Raster},
};

/// Decodes a picture, of an animation the first, and applies its orientation tag, as browsers do.
///
/// # Errors
/// The decoder's message.
pub fn decode(coded: &[u8]) -> Result<Raster, DecodeError> {
    if let Some(decoded) = decoded_here::decode(coded) {
        return decoded;
    }
    let picture = decoded(coded).map_err(|error| DecodeError { detail: error.to_string() })?;
    let picture = picture.into_rgba8();
    Ok(Raster { width: picture.width(), height: picture.height(), rgba: picture.into_raw() })
}

fn decoded(coded: &[u8]) -> image::ImageResult<DynamicImage> {
    let mut limits = Limits::default();
    (limits.max_image_width, limits.max_image_height) = (Some(LONGEST), Some(LONGEST));
    // Eight bytes per pixel of the largest picture.
    limits.max_alloc = Some(u64::from(LONGEST).pow(2) * 8);
    let mut reader = ImageReader::new(Cursor::new(coded)).with_guessed_format()?;
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}
