//! Pictures that no browser decodes: PGM, PPM and TIFF. The program decodes them itself, so that the
//! page and the tool get the same bytes.
//!
//! Sources: Netpbm's pgm(5) and ppm(5); TIFF 6.0, by the crate `tiff`.

use std::io::Cursor;

use tiff::{
    ColorType, TiffResult,
    decoder::{Decoder, DecodingResult, Limits},
};

use super::{
    file_fault::LONGEST,
    raster::{DecodeError, Raster},
};

/// The first bytes of TIFF, little-endian and big-endian.
const TIFF: [&[u8]; 2] = [b"II*\0", b"MM\0*"];

/// True for the first bytes of PGM and PPM, as text and as bytes.
pub(super) fn is_netpbm(bytes: &[u8]) -> bool {
    matches!(bytes, [b'P', b'2' | b'3' | b'5' | b'6', b'\t' | b'\n' | b'\r' | b' ' | b'#', ..])
}

/// True for the first bytes of TIFF.
pub(super) fn is_tiff(bytes: &[u8]) -> bool {
    TIFF.iter().any(|magic| bytes.starts_with(magic))
}

/// True for the first bytes of one of these formats.
pub(super) fn is_of_picture(start: &[u8]) -> bool {
    is_netpbm(start) || is_tiff(start)
}

/// Decodes a picture in one of these formats; `None` for another format.
#[must_use]
pub fn decode(coded: &[u8]) -> Option<Result<Raster, DecodeError>> {
    let failed = |detail: &str| DecodeError { detail: detail.to_owned() };
    if is_netpbm(coded) {
        return Some(Netpbm::read(coded).and_then(|header| header.raster(coded)).ok_or_else(|| failed("PGM, PPM")));
    }
    let read = || tiff(coded).map_err(|error| failed(&format!("TIFF: {error}")))?.ok_or_else(|| failed("TIFF"));
    is_tiff(coded).then(read)
}

/// The header of PGM or PPM.
pub(super) struct Netpbm {
    pub size: (u32, u32),
    /// White: 1 to 65,535.
    most: u32,
    channels: usize,
    /// True if the values are decimal numbers.
    is_text: bool,
    /// Where the values begin.
    start: usize,
}

/// Reads a decimal number from `at`, past white space and comments; moves `at` behind it.
fn number(bytes: &[u8], at: &mut usize) -> Option<u32> {
    loop {
        match bytes.get(*at)? {
            b'#' => *at += bytes[*at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))?,
            byte if byte.is_ascii_whitespace() => *at += 1,
            _ => break,
        }
    }
    let digits = bytes[*at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = std::str::from_utf8(&bytes[*at..*at + digits]).ok()?;
    *at += digits;
    text.parse().ok()
}

impl Netpbm {
    /// Reads the header; `None` if it is damaged.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut at = 2;
        let mut next = || number(bytes, &mut at);
        let (size, most) = ((next()?, next()?), next()?);
        let kind = *bytes.get(1)?;
        // One white space ends the header.
        let start = at + usize::from(bytes.get(at)?.is_ascii_whitespace());
        let header = Self {
            size,
            most,
            channels: if matches!(kind, b'3' | b'6') { 3 } else { 1 },
            is_text: matches!(kind, b'2' | b'3'),
            start,
        };
        (start > at && (1..=65_535).contains(&most)).then_some(header)
    }

    fn count(&self) -> u128 {
        u128::from(self.size.0) * u128::from(self.size.1) * self.channels as u128
    }

    const fn bytes_each(&self) -> usize {
        if self.most > 255 { 2 } else { 1 }
    }

    /// True if no value is missing.
    pub fn is_whole(&self, bytes: &[u8]) -> bool {
        let left = (bytes.len() - self.start) as u128;
        if !self.is_text {
            return left >= self.count() * self.bytes_each() as u128;
        }
        let mut at = self.start;
        // Each value takes two bytes, but the last.
        left + 1 >= 2 * self.count() && (0..self.count()).all(|_| number(bytes, &mut at).is_some())
    }

    /// The picture; `None` if a value is missing or above white.
    fn raster(&self, bytes: &[u8]) -> Option<Raster> {
        let (width, height) = self.size;
        if ![width, height].iter().all(|side| (1..=LONGEST).contains(side)) || !self.is_whole(bytes) {
            return None;
        }
        let mut at = self.start;
        let mut next = || {
            let value = if self.is_text {
                number(bytes, &mut at)?
            } else {
                let each = self.bytes_each();
                let value = bytes.get(at..at + each)?.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
                at += each;
                value
            };
            (value <= self.most).then(|| ((value * 255 + self.most / 2) / self.most) as u8)
        };
        let mut rgba = Vec::with_capacity(4 * width as usize * height as usize);
        for _ in 0..u64::from(width) * u64::from(height) {
            let red = next()?;
            let [green, blue] = if self.channels == 3 { [next()?, next()?] } else { [red; 2] };
            rgba.extend([red, green, blue, 255]);
        }
        Some(Raster { width, height, rgba })
    }
}

fn opened(coded: &[u8]) -> TiffResult<Decoder<Cursor<&[u8]>>> {
    let mut limits = Limits::default();
    // Four samples of two bytes for each pixel of the largest picture.
    limits.decoding_buffer_size = (LONGEST as usize).pow(2) * 8;
    limits.intermediate_buffer_size = limits.decoding_buffer_size;
    Ok(Decoder::new(Cursor::new(coded))?.with_limits(limits))
}

/// Width and height of a TIFF's first picture; `None` if its header is damaged, or of no TIFF.
pub(super) fn tiff_size(coded: &[u8]) -> Option<(u32, u32)> {
    if !is_tiff(coded) {
        return None;
    }
    opened(coded).and_then(|mut decoder| decoder.dimensions()).ok()
}

/// Decodes a TIFF's first picture; `None` if it has neither grey nor RGB samples of 8 or 16 bits.
fn tiff(coded: &[u8]) -> TiffResult<Option<Raster>> {
    let mut decoder = opened(coded)?;
    let ((width, height), kind) = (decoder.dimensions()?, decoder.colortype()?);
    let channels = match kind {
        ColorType::Gray(8 | 16) => 1,
        ColorType::GrayA(8 | 16) => 2,
        ColorType::RGB(8 | 16) => 3,
        ColorType::RGBA(8 | 16) => 4,
        _ => return Ok(None),
    };
    if ![width, height].iter().all(|side| (1..=LONGEST).contains(side)) {
        return Ok(None);
    }
    let samples = match decoder.read_image()? {
        DecodingResult::U8(samples) => samples,
        // 65,535 is 255 · 257.
        DecodingResult::U16(samples) => samples.iter().map(|&sample| ((u32::from(sample) + 128) / 257) as u8).collect(),
        _ => return Ok(None),
    };
    let rgba: Vec<u8> = samples
        .chunks_exact(channels)
        .flat_map(|pixel| match *pixel {
            [grey] => [grey, grey, grey, 255],
            [grey, alpha] => [grey, grey, grey, alpha],
            [red, green, blue] => [red, green, blue, 255],
            [red, green, blue, alpha, ..] => [red, green, blue, alpha],
            [] => [0; 4],
        })
        .collect();
    Ok((rgba.len() as u64 == 4 * u64::from(width) * u64::from(height)).then_some(Raster { width, height, rgba }))
}

#[cfg(test)]
mod tests {
    use tiff::encoder::{Compression, TiffEncoder, colortype};

    use super::*;

    fn grey(values: &[u8]) -> Raster {
        Raster { width: 3, height: 1, rgba: values.iter().flat_map(|&value| [value, value, value, 255]).collect() }
    }

    #[test]
    fn pgm_and_ppm_are_read_as_text_and_as_bytes() {
        let of = |coded: &[u8]| decode(coded).unwrap();
        for coded in [
            &b"P5 3 1 255\n\x00\x80\xff"[..],
            b"P5\n# by hand\n3 1\n# 8 bits\n255\n\x00\x80\xff and more",
            b"P2 3 1 255 0 128 255",
            b"P2\r\n3\t1\n255\n0\n#\n128 255\n",
            b"P5 3 1 65535 \x00\x00\x80\x80\xff\xff",
        ] {
            assert_eq!(of(coded), Ok(grey(&[0, 128, 255])), "{}", String::from_utf8_lossy(coded));
            let header = Netpbm::read(coded).unwrap();
            assert_eq!((header.size, header.is_whole(coded)), ((3, 1), true));
        }
        assert_eq!(of(b"P2 3 1 15 0 8 15"), Ok(grey(&[0, 136, 255])));
        let coloured = Ok(Raster { width: 1, height: 1, rgba: vec![1, 2, 3, 255] });
        assert_eq!((of(b"P6 1 1 255 \x01\x02\x03"), of(b"P3 1 1 255 1 2 3")), (coloured.clone(), coloured));
        for coded in [
            &b"P5 3 1 255 \x00\x80"[..],
            b"P2 3 1 255 0 128",
            b"P2 3 1 15 0 16 1",
            b"P2 3 1 255 0 -1 1",
            b"P5 3 1 0 abc",
            b"P5 3 1 65536 abcdef",
            b"P5 0 1 255 abc",
            b"P6 4000000000 4000000000 65535 abc",
            b"P3 4000000000 4000000000 255 1 2 3",
            b"P2 3",
            b"P5 #",
        ] {
            assert!(of(coded).is_err(), "{}", String::from_utf8_lossy(coded));
        }
        for other in [&b"P1 1 1 0"[..], b"P7 ", b"P5", b"PK\x03\x04", b""] {
            assert_eq!(decode(other), None);
        }
    }

    #[test]
    fn tiff_is_read() {
        for compression in [
            Compression::Uncompressed,
            Compression::Packbits,
            Compression::Lzw,
            Compression::Deflate(Default::default()),
        ] {
            let mut coded = Cursor::new(vec![]);
            let mut encoder = TiffEncoder::new(&mut coded).unwrap().with_compression(compression);
            encoder.write_image::<colortype::Gray8>(3, 1, &[0, 128, 255]).unwrap();
            let coded = coded.into_inner();
            assert_eq!((decode(&coded), tiff_size(&coded)), (Some(Ok(grey(&[0, 128, 255]))), Some((3, 1))));
            // Cut or changed, it is refused or read otherwise, but nothing breaks.
            for at in 0..coded.len() {
                let mut changed = coded.clone();
                changed[at] ^= 0x55;
                let _ = (decode(&changed), tiff_size(&changed), decode(&coded[..at]), tiff_size(&coded[..at]));
            }
        }
        let mut coded = Cursor::new(vec![]);
        let mut encoder = TiffEncoder::new(&mut coded).unwrap();
        encoder.write_image::<colortype::RGBA16>(1, 1, &[0, 32_896, 65_535, 257]).unwrap();
        assert_eq!(decode(&coded.into_inner()).unwrap().unwrap().rgba, [0, 128, 255, 1]);
        let mut coded = Cursor::new(vec![]);
        TiffEncoder::new(&mut coded).unwrap().write_image::<colortype::Gray32Float>(1, 1, &[0.5]).unwrap();
        assert!(decode(&coded.into_inner()).unwrap().is_err());
    }
}
