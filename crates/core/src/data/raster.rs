//! Decoded pictures, cropped to the middle square and averaged to a common size. Arithmetic on
//! integers alone, so that every machine gets the same bytes.

use super::{
    decoded_here::{Netpbm, is_netpbm, is_tiff, tiff_size},
    file_fault::{FileFault, LONGEST},
    idx::hex,
};

/// A decoded picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raster {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// `4 × width × height` bytes, row by row: red, green, blue, alpha, not premultiplied.
    pub rgba: Vec<u8>,
}

/// A decoder's error.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[error("{detail}")]
pub struct DecodeError {
    /// The decoder's message.
    pub detail: String,
}

/// Returns width and height from the header of a PNG, JPEG, GIF, BMP, WebP, TIFF, PGM or PPM file;
/// `entry` is its name.
///
/// Sources: PNG (ISO/IEC 15948), 11.2.2; JPEG (ITU-T T.81), B.2.2; GIF89a, 18; BMP (Windows'
/// BITMAPFILEHEADER and BITMAPINFOHEADER); WebP (RFC 9649), 2.5 to 2.7.
pub(super) fn size(entry: &str, bytes: &[u8]) -> Result<(u32, u32), FileFault> {
    // Decoders accept truncated pictures, with differing results.
    let holds = |end: &[u8]| bytes.windows(end.len()).rev().any(|found| found == end);
    let declared = |at| word(bytes, at).is_some_and(|declared| u64::from(declared) <= bytes.len() as u64);
    let (size, ends) = match bytes {
        _ if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => (png(bytes), holds(b"IEND")),
        [0xff, 0xd8, 0xff, ..] => (jpeg(bytes), holds(&[0xff, 0xd9])),
        [b'G', b'I', b'F', b'8', ..] => (gif(bytes), bytes.iter().rfind(|&&byte| byte != 0) == Some(&b';')),
        [b'B', b'M', ..] => (bmp(bytes), declared(2)),
        _ if is_tiff(bytes) => (tiff_size(bytes), true),
        _ if is_netpbm(bytes) => {
            let header = Netpbm::read(bytes);
            (header.as_ref().map(|header| header.size), header.is_some_and(|header| header.is_whole(bytes)))
        }
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => (webp(bytes), declared(4)),
        _ => {
            return Err(FileFault::PictureMagic { entry: entry.to_owned(), found: hex(&bytes[..bytes.len().min(4)]) });
        }
    };
    let (width, height) = size.ok_or_else(|| FileFault::PictureHeader { entry: entry.to_owned() })?;
    if ![width, height].iter().all(|length| (1..=LONGEST).contains(length)) {
        return Err(FileFault::PictureSize { entry: entry.to_owned(), width, height });
    }
    if ends { Ok((width, height)) } else { Err(FileFault::PictureCut { entry: entry.to_owned() }) }
}

/// The little-endian numbers of 32 and of 16 bits at a place.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((short(bytes, 6)?, short(bytes, 8)?))
}

fn bmp(bytes: &[u8]) -> Option<(u32, u32)> {
    match word(bytes, 14)? {
        12 => Some((short(bytes, 18)?, short(bytes, 20)?)),
        // A negative height tells that the first row is the upper one.
        _ => Some((word(bytes, 18)?, word(bytes, 22)?.cast_signed().unsigned_abs())),
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        // A key frame.
        b"VP8 " if bytes.get(23..26)? == [0x9d, 1, 0x2a] => {
            Some((short(bytes, 26)? & 0x3fff, short(bytes, 28)? & 0x3fff))
        }
        b"VP8L" if bytes.get(20) == Some(&0x2f) => {
            let bits = word(bytes, 21)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        // 24 bits each, less one.
        b"VP8X" => Some(((word(bytes, 24)? & 0xff_ffff) + 1, (word(bytes, 26)? >> 8) + 1)),
        _ => None,
    }
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    (word(8)? == 13 && bytes.get(12..16)? == b"IHDR").then_some((word(16)?, word(20)?))
}

fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let short = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        // Any number of fill bytes may precede a marker.
        while *bytes.get(at)? == 0xff {
            at += 1;
        }
        match *bytes.get(at)? {
            // Frame header: precision, lines, samples per line.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((short(at + 6)?.into(), short(at + 4)?.into()));
            }
            // Markers without a length.
            0x01 | 0xd0..=0xd7 => at += 1,
            // The scan or the end, before any frame header.
            0xd8..=0xda => return None,
            _ => at += 1 + usize::from(short(at + 1)?.max(2)),
        }
    }
}

impl Raster {
    /// True if the bytes match the size, and the size matches, possibly turned by 90°.
    pub(super) fn is_of(&self, (width, height): (u32, u32)) -> bool {
        let found = (self.width, self.height);
        let bytes = 4 * u64::from(self.width) * u64::from(self.height);
        (found == (width, height) || found == (height, width)) && self.rgba.len() as u64 == bytes
    }

    /// Scales the middle square to `side` pixels, over black: red, green, blue, each row by row.
    ///
    /// Each value is the mean of the pixels it covers, weighted by area and rounded to nearest.
    pub(super) fn square(&self, side: u8) -> Vec<u8> {
        let (width, height, n) = (self.width as usize, self.height as usize, usize::from(side));
        let s = width.min(height);
        let (left, top) = ((width - s) / 2, (height - s) / 2);
        // In units of 1/n pixel, the square is n·s wide: a value covers s units, a pixel n.
        let covered = |i: usize| {
            let (from, to) = (i * s, (i + 1) * s);
            (from / n..to.div_ceil(n)).map(move |j| (j, ((j + 1) * n).min(to) - (j * n).max(from)))
        };
        let mut out = vec![0; 3 * n * n];
        for row in 0..n {
            for column in 0..n {
                let mut sums = [0_u64; 3];
                for (y, high) in covered(row) {
                    for (x, wide) in covered(column) {
                        let at = 4 * ((top + y) * width + left + x);
                        let opaque = u64::from(self.rgba[at + 3]);
                        for (sum, &value) in sums.iter_mut().zip(&self.rgba[at..at + 3]) {
                            *sum += (high * wide) as u64 * ((u64::from(value) * opaque + 127) / 255);
                        }
                    }
                }
                let area = (s * s) as u64;
                for (channel, sum) in sums.into_iter().enumerate() {
                    out[(channel * n + row) * n + column] = ((sum + area / 2) / area) as u8;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(width: u32, height: u32, values: &[u8]) -> Raster {
        Raster { width, height, rgba: values.iter().flat_map(|&value| [value, value, value, 255]).collect() }
    }

    #[test]
    fn a_middle_square_is_taken_and_averaged() {
        let three = grey(3, 2, &[0, 10, 20, 30, 40, 50]);
        assert_eq!(three.square(2)[..4], [0, 10, 30, 40], "as it is, from the left where the rest is odd");
        assert_eq!(three.square(1), [20; 3]);
        let wide = grey(4, 2, &[9, 10, 20, 9, 9, 30, 40, 9]);
        assert_eq!(wide.square(2)[..4], [10, 20, 30, 40]);
        let five = grey(3, 3, &[0, 90, 0, 90, 180, 90, 0, 90, 0]);
        // Values cover 1.5 × 1.5 pixels: one whole, two halves, a quarter.
        assert_eq!(five.square(2)[..4], [60; 4]);
        assert_eq!(grey(1, 1, &[7]).square(64), [7; 3 * 64 * 64]);
        let up = grey(2, 2, &[0, 100, 100, 200]).square(3);
        assert_eq!(up[..9], [0, 50, 100, 50, 100, 150, 100, 150, 200]);
    }

    #[test]
    fn transparent_pixels_are_blended_with_black() {
        let red = Raster { width: 1, height: 1, rgba: vec![200, 100, 0, 128] };
        assert_eq!(red.square(1), [100, 50, 0]);
        assert_eq!(Raster { rgba: vec![200, 100, 0, 0], ..red.clone() }.square(1), [0; 3]);
        assert!(red.is_of((1, 1)) && !red.is_of((1, 2)));
        assert!(!Raster { rgba: vec![], ..red }.is_of((1, 1)));
        assert!(grey(2, 1, &[1, 2]).is_of((1, 2)), "a camera's picture on its side");
    }

    #[test]
    fn sizes_are_read_off_headers() {
        let png = |width: u32, height: u32| {
            let start = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
            [start, &width.to_be_bytes(), &height.to_be_bytes(), b"....IEND"].concat()
        };
        assert_eq!(size("a", &png(3, 4)), Ok((3, 4)));
        let frame = [0xff, 0xff, 0xc2, 0, 17, 8, 0, 5, 1, 0, 0xff, 0xd9];
        let jpeg = [&[0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2][..], &frame].concat();
        assert_eq!(size("a", &jpeg), Ok((256, 5)));
        let lossy = [b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a".as_slice(), &[3, 0x40, 4, 0]].concat();
        assert_eq!(size("a", &lossy), Ok((3, 4)));
        let extended = [b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".as_slice(), &[2, 0, 0, 3, 0, 0]].concat();
        assert_eq!(size("a", &extended), Ok((3, 4)));
        let upside_down =
            [b"BM\x1a\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0".as_slice(), &[3, 0, 0, 0], &(-4_i32).to_le_bytes()];
        assert_eq!(size("a", &upside_down.concat()), Ok((3, 4)));
        assert_eq!(size("a", b"GIF89a\x03\0\x04\0;\0"), Ok((3, 4)));
        for (bytes, says) in [
            (lossy[..29].to_vec(), "“a”: the size of the picture cannot be read"),
            ([&lossy[..4], &[99], &lossy[5..]].concat(), "“a” has no end"),
            (vec![], "“a” begins with bytes none; expected those of PNG, JPEG, GIF, BMP, WebP,"),
            (b"P4 2 2 255".to_vec(), "“a” begins with bytes 50 34 20 32"),
            (b"P5 2 2 255".to_vec(), "“a”: the size of the picture cannot be read"),
            (b"MM\0*".to_vec(), "“a”: the size of the picture cannot be read"),
            (b"GIF89a".to_vec(), "“a”: the size of the picture cannot be read"),
            (b"GIF89a\x03\0\x04\0".to_vec(), "“a” has no end"),
            (b"RIFF\x04\0\0\0WEBP".to_vec(), "“a”: the size of the picture cannot be read"),
            (b"BM".to_vec(), "“a”: the size of the picture cannot be read"),
            (png(3, 4)[..20].to_vec(), "“a”: the size of the picture cannot be read"),
            (jpeg[..12].to_vec(), "“a”: the size of the picture cannot be read"),
            ([&jpeg[..8], &[0xff, 0xda, 0, 0]].concat(), "“a”: the size of the picture cannot be read"),
            ([&jpeg[..8], &[0, 1]].concat(), "“a”: the size of the picture cannot be read"),
            (png(100_000, 100_000), "“a” has 100000×100000 pixels; expected 1 to 4096 each way"),
            (png(5, 0), "“a” has 5×0 pixels"),
            (png(5, 5)[..30].to_vec(), "“a” has no end: it was cut short"),
            (jpeg[..19].to_vec(), "“a” has no end: it was cut short"),
        ] {
            let fault = size("a", &bytes).unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault}");
        }
    }
}
