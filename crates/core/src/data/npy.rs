//! Reads a NumPy array, a short header and the elements, as images or labels.
//! Source: NumPy's format, versions 1 to 3,
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use super::{
    Picture,
    file_fault::{FileFault, MOST_EXAMPLES, MOST_OF_ONE, NpyExpected, NpyField, NpySide},
    idx::hex,
    layout::{Layout, Order},
    picture::{MOST_CLASSES, MOST_SIDE},
};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Most bytes of a header.
const LONGEST_HEADER: usize = 1 << 16;

/// An array whose header has been read and whose length matches it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub name: String,
    kind: Type,
    shape: Vec<u64>,
    /// The whole file; the elements begin at `start`.
    bytes: Vec<u8>,
    start: usize,
}

/// Element type of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Type {
    /// As written in the header, e.g. `<f4`.
    name: String,
    /// `u`, `i`, `f`, or another character if unsupported.
    letter: u8,
    /// Bytes of an element.
    size: usize,
    big_endian: bool,
}

/// Images before scaling.
#[derive(Debug)]
pub(super) struct Images {
    array: Array,
    layout: Layout,
    count: usize,
}

/// Conversion of floating-point values to bytes: rounded, or times 255 and rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// All values are at most 1: multiply by 255.
    Unit,
    /// Some value is above 1.
    Bytes,
}

impl Array {
    /// Reads an array's file; `name` is the array's name.
    ///
    /// # Errors
    /// An unreadable or unsupported header, or a length that does not match it.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Self, FileFault> {
        let array = || name.to_owned();
        let header = |field| FileFault::NpyHeader { array: array(), field };
        if !bytes.starts_with(MAGIC) {
            return Err(FileFault::NpyMagic { array: array(), found: hex(&bytes[..bytes.len().min(6)]) });
        }
        let length = |range: std::ops::Range<usize>| {
            let field = bytes.get(range).ok_or_else(|| header(NpyField::Length))?;
            Ok::<_, FileFault>(field.iter().rev().fold(0_usize, |sum, &byte| sum << 8 | usize::from(byte)))
        };
        let (length, text) = match bytes.get(6) {
            Some(1) => (length(8..10)?, 10),
            Some(2 | 3) => (length(8..12)?, 12),
            Some(&found) => return Err(FileFault::NpyVersion { array: array(), found }),
            None => return Err(header(NpyField::Length)),
        };
        if length > LONGEST_HEADER {
            return Err(header(NpyField::Length));
        }
        let start = text + length;
        let text = bytes.get(text..start).and_then(|text| std::str::from_utf8(text).ok());
        let text = text.ok_or_else(|| header(NpyField::Length))?;
        let kind = Type::read(value(text, "descr").unwrap_or_default(), || header(NpyField::Descr))?;
        match value(text, "fortran_order") {
            Some(rest) if rest.starts_with("False") => {}
            Some(rest) if rest.starts_with("True") => return Err(FileFault::NpyFortran { array: array() }),
            _ => return Err(header(NpyField::FortranOrder)),
        }
        let shape = shape(value(text, "shape").unwrap_or_default()).ok_or_else(|| header(NpyField::Shape))?;
        let product = shape.iter().try_fold(kind.size as u64, |product, &n| product.checked_mul(n));
        let (found, expected) = ((bytes.len() - start) as u64, product.unwrap_or(u64::MAX));
        if found != expected {
            return Err(FileFault::NpyLength { array: array(), found, expected });
        }
        Ok(Self { name: array(), kind, shape, bytes, start })
    }

    fn fault(&self, expected: NpyExpected) -> FileFault {
        FileFault::NpyShape { array: self.name.clone(), found: said(&self.shape), expected }
    }

    fn count(&self) -> Result<usize, FileFault> {
        match self.shape.first() {
            Some(0) => Err(FileFault::NoExamples),
            Some(&found) if found > MOST_EXAMPLES as u64 => Err(FileFault::TooMany { found }),
            first => Ok(first.map_or(0, |&count| count as usize)),
        }
    }

    /// Converts to labels: whole numbers below 100, of shape (count,) or (count, 1).
    ///
    /// # Errors
    /// An unsupported type or shape, or a label out of range.
    pub fn labels(self) -> Result<Vec<u8>, FileFault> {
        if !matches!(self.kind.letter, b'u' | b'i') {
            let (array, name) = (self.name, self.kind.name);
            return Err(FileFault::NpyType { array, name, expected: NpyExpected::LabelType });
        }
        if !matches!(self.shape[..], [_] | [_, 1]) {
            return Err(self.fault(NpyExpected::LabelShape));
        }
        let mut labels = Vec::with_capacity(self.count()?);
        for (index, element) in self.elements().enumerate() {
            let label = self.kind.whole(element);
            match usize::try_from(label).ok().filter(|&label| label < MOST_CLASSES) {
                Some(label) => labels.push(label as u8),
                None => {
                    return Err(FileFault::NpyLabel { array: self.name.clone(), index, found: label.to_string() });
                }
            }
        }
        Ok(labels)
    }

    /// Interprets the array as images.
    ///
    /// # Errors
    /// An unsupported type or shape, or too many values.
    pub fn images(self) -> Result<Images, FileFault> {
        if !matches!((self.kind.letter, self.kind.size), (b'u', 1) | (b'f', 4 | 8)) {
            let (array, name) = (self.name, self.kind.name);
            return Err(FileFault::NpyType { array, name, expected: NpyExpected::ImageType });
        }
        let count = self.count()?;
        let [_, ref rest @ ..] = self.shape[..] else { return Err(self.fault(NpyExpected::ImageShape)) };
        let (rows, columns, channels, order) = match *rest {
            [values] => {
                let side = values.isqrt();
                if side * side != values {
                    return Err(self.fault(NpyExpected::ImageShape));
                }
                (side, side, 1, Order::Planar)
            }
            [rows, columns] => (rows, columns, 1, Order::Planar),
            [rows, columns, channels @ (1 | 3)] => (rows, columns, channels, Order::Interleaved),
            [channels @ (1 | 3), rows, columns] => (rows, columns, channels, Order::Planar),
            _ => return Err(self.fault(NpyExpected::ImageShape)),
        };
        for (field, found) in [(NpySide::Rows, rows), (NpySide::Columns, columns)] {
            if !(1..=u64::from(MOST_SIDE)).contains(&found) {
                return Err(FileFault::NpySide { array: self.name, field, found });
            }
        }
        let layout = Layout { rows: rows as usize, columns: columns as usize, channels: channels as usize, order };
        let Some(picture) = layout.picture() else { return Err(self.fault(NpyExpected::ImageShape)) };
        let bytes = count as u64 * picture.pixels() as u64;
        if bytes > MOST_OF_ONE {
            return Err(FileFault::EntryTooLarge { entry: self.name, bytes, most: MOST_OF_ONE });
        }
        Ok(Images { array: self, layout, count })
    }

    fn elements(&self) -> std::slice::ChunksExact<'_, u8> {
        self.bytes[self.start..].chunks_exact(self.kind.size)
    }
}

impl Images {
    pub fn name(&self) -> &str {
        &self.array.name
    }

    pub const fn count(&self) -> usize {
        self.count
    }

    /// Size of the images; never an error after [`Array::images`].
    pub fn picture(&self) -> Result<Picture, FileFault> {
        self.layout.picture().ok_or_else(|| self.array.fault(NpyExpected::ImageShape))
    }

    /// Scale of the values, which must be from 0 to 255; `None` if they are bytes already.
    pub fn scale(&self) -> Result<Option<Scale>, FileFault> {
        if self.array.kind.letter == b'u' {
            return Ok(None);
        }
        let mut scale = Scale::Unit;
        for (place, element) in self.array.elements().enumerate() {
            let value = self.array.kind.float(element);
            if !(0.0..=255.0).contains(&value) {
                let values = self.layout.values();
                let (image, place, found) = (place / values, place % values, format!("{value}"));
                return Err(FileFault::NpyPixel { array: self.array.name.clone(), image, place, found });
            }
            if value > 1.0 {
                scale = Scale::Bytes;
            }
        }
        Ok(Some(scale))
    }

    /// Converts images checked by [`Images::scale`] to a dataset's order; fails if memory is short.
    pub fn squares(self, scale: Option<Scale>) -> Result<Vec<u8>, FileFault> {
        let Self { mut array, layout, .. } = self;
        let no_memory = |bytes: usize| FileFault::NoMemory { entry: array.name.clone(), bytes: bytes as u64 };
        let values = if array.kind.letter == b'u' {
            let mut bytes = std::mem::take(&mut array.bytes);
            drop(bytes.drain(..array.start));
            bytes
        } else {
            let (mut values, elements) = (Vec::new(), array.elements());
            values.try_reserve_exact(elements.len()).map_err(|_| no_memory(elements.len()))?;
            let factor = if scale == Some(Scale::Bytes) { 1.0 } else { 255.0 };
            // Rounded to the nearest, halves away from 0.
            values.extend(elements.map(|element| (array.kind.float(element) * factor).round() as u8));
            values
        };
        let bytes = values.len();
        layout.squares(values).ok_or_else(|| no_memory(bytes))
    }
}

impl Type {
    fn read(text: &str, fault: impl Fn() -> FileFault) -> Result<Self, FileFault> {
        // A list describes a structured type, which is unsupported.
        if text.starts_with('[') {
            return Ok(Self { name: "[…]".to_owned(), letter: b'[', size: 1, big_endian: false });
        }
        let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"')).ok_or_else(&fault)?;
        let name = text[1..].split(quote).next().filter(|name| name.len() <= 20).ok_or_else(&fault)?;
        let (order, rest) = match name.as_bytes() {
            [order @ (b'<' | b'>' | b'|' | b'='), rest @ ..] => (*order, rest),
            rest => (b'|', rest),
        };
        let [letter, size @ ..] = rest else { return Err(fault()) };
        let size = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
        let size = size.filter(|size| (1..=1024).contains(size));
        let known =
            matches!(letter, b'u' | b'i' | b'f') && size.is_some_and(|size: usize| matches!(size, 1 | 2 | 4 | 8));
        let letter = if known { *letter } else { b'?' };
        Ok(Self { name: name.to_owned(), letter, size: size.unwrap_or(1), big_endian: order == b'>' })
    }

    /// Bits of an element, as an integer.
    fn word(&self, element: &[u8]) -> u64 {
        let shift = |word: u64, &byte: &u8| word << 8 | u64::from(byte);
        if self.big_endian { element.iter().fold(0, shift) } else { element.iter().rev().fold(0, shift) }
    }

    /// Value of an integer element.
    fn whole(&self, element: &[u8]) -> i128 {
        let (word, bits) = (self.word(element), 8 * self.size as u32);
        if self.letter == b'i' && bits <= 64 && word >> (bits - 1) & 1 == 1 {
            return i128::from(word) - (1_i128 << bits);
        }
        i128::from(word)
    }

    /// Value of a floating-point element of four or eight bytes.
    fn float(&self, element: &[u8]) -> f64 {
        let word = self.word(element);
        if self.size == 4 { f64::from(f32::from_bits(word as u32)) } else { f64::from_bits(word) }
    }
}

/// Returns the header's text after `key` and a colon.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = ['\'', '"'].into_iter().find_map(|quote| header.split_once(&format!("{quote}{key}{quote}")));
    Some(quoted?.1.trim_start().strip_prefix(':')?.trim_start())
}

/// Parses lengths such as `(3, 28, 28)`.
fn shape(text: &str) -> Option<Vec<u64>> {
    const MOST: usize = 8;
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
    // A trailing comma is allowed.
    let parts = parts.strip_suffix(&[""]).unwrap_or(&parts);
    let lengths: Vec<u64> = parts.iter().map(|part| part.parse().ok()).collect::<Option<_>>()?;
    (lengths.len() <= MOST).then_some(lengths)
}

/// Formats a shape for error messages.
fn said(shape: &[u64]) -> String {
    format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::array as file;

    fn labels(descr: &str, shape: &str, elements: &[u8]) -> Result<Vec<u8>, FileFault> {
        Array::read("y", file(descr, shape, elements))?.labels()
    }

    fn images(descr: &str, shape: &str, elements: &[u8]) -> Result<(Picture, Vec<u8>), FileFault> {
        let images = Array::read("x", file(descr, shape, elements))?.images()?;
        let (picture, scale) = (images.picture()?, images.scale()?);
        Ok((picture, images.squares(scale)?))
    }

    #[test]
    fn labels_of_all_whole_types_are_read() {
        for (descr, elements) in [
            ("|u1", vec![3, 99]),
            ("|i1", vec![3, 99]),
            ("<i2", vec![3, 0, 99, 0]),
            (">u2", vec![0, 3, 0, 99]),
            ("<u4", vec![3, 0, 0, 0, 99, 0, 0, 0]),
            (">i8", [[0, 0, 0, 0, 0, 0, 0, 3], [0, 0, 0, 0, 0, 0, 0, 99]].concat()),
        ] {
            for shape in ["(2,)", "(2, 1)"] {
                assert_eq!(labels(descr, shape, &elements), Ok(vec![3, 99]), "{descr} {shape}");
            }
        }
    }

    #[test]
    fn images_of_all_shapes_and_types_are_read() {
        let grey: Vec<u8> = (0..8).collect();
        let square = Picture::new(1, 2).unwrap();
        for shape in ["(2, 2, 2)", "(2, 2, 2, 1)", "(2, 1, 2, 2)", "(2, 4)"] {
            assert_eq!(images("|u1", shape, &grey), Ok((square, grey.clone())), "{shape}");
        }
        let colour: Vec<u8> = (0..12).collect();
        let (picture, planar) = images("|u1", "(1, 2, 2, 3)", &colour).unwrap();
        assert_eq!((picture, planar), (Picture::new(3, 2).unwrap(), vec![0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]));
        assert_eq!(images("|u1", "(1, 3, 2, 2)", &colour).unwrap().1, colour);
        assert_eq!(images("|u1", "(1, 1, 2)", &[7, 8]).unwrap().1, [7, 8, 0, 0], "padded");
        let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let unit = images("<f4", "(1, 2, 2)", &floats(&[0.0, 0.5, 1.0, 0.1])).unwrap().1;
        assert_eq!(unit, [0, 128, 255, 26]);
        let bytes = images("<f4", "(1, 2, 2)", &floats(&[0.0, 0.5, 254.6, 1.0])).unwrap().1;
        assert_eq!(bytes, [0, 1, 255, 1]);
        let doubles: Vec<u8> = [0.2_f64, 1.0].iter().flat_map(|value| value.to_be_bytes()).collect();
        assert_eq!(images(">f8", "(2, 1)", &doubles).unwrap().1, [51, 255]);
    }

    #[test]
    fn versions_two_and_three_have_a_longer_header() {
        let one = file("|u1", "(2,)", &[1, 2]);
        for version in [2, 3] {
            let text = &one[10..one.len() - 2];
            let bytes = [MAGIC, &[version, 0], &(text.len() as u32).to_le_bytes(), text, &[1, 2]].concat();
            assert_eq!(Array::read("y", bytes).unwrap().labels(), Ok(vec![1, 2]));
        }
    }

    #[test]
    fn faulty_arrays_are_reported() {
        let good = file("|u1", "(2,)", &[1, 2]);
        let changed = |from: &str, to: &str| {
            let text = String::from_utf8_lossy(&good[10..]).replace(from, to);
            [MAGIC, &[1, 0], &(text.len() as u16 - 2).to_le_bytes(), text.as_bytes()].concat()
        };
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        for (bytes, says) in [
            (vec![], "“y” is not a NumPy array: it begins with bytes none"),
            (b"hello, you".to_vec(), "“y” is not a NumPy array: it begins with bytes 68 65 6c 6c 6f 2c; expected 93"),
            (with(6, 4), "“y” has version 4 of NumPy's format; expected 1 to 3"),
            (good[..6].to_vec(), "“y”: the header cannot be read at its length"),
            (with(9, 255), "“y”: the header cannot be read at its length"),
            (changed("'descr'", "'d'"), "“y”: the header cannot be read at “descr”"),
            (changed("'|u1'", "''"), "“y”: the header cannot be read at “descr”"),
            (changed("False", "0"), "“y”: the header cannot be read at “fortran_order”"),
            (changed("False", "True"), "“y” is in Fortran order; save numpy.ascontiguousarray of it"),
            (changed("(2,)", "(2;)"), "“y”: the header cannot be read at “shape”"),
            (changed("(2,)", "(-2,)"), "“y”: the header cannot be read at “shape”"),
            (changed("(2,)", "(3,)"), "“y”: 3 bytes of elements were declared and there are 2"),
            (
                changed("(2,)", "(9999999999, 9999999999)"),
                "“y”: 18446744073709551615 bytes of elements were declared and there are 2",
            ),
        ] {
            let fault = Array::read("y", bytes).unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault} / {says}");
        }
        for (fault, says) in [
            (labels("<f4", "(1,)", &[0; 4]), "“y” has elements of type “<f4”; expected whole numbers"),
            (labels("|O8", "(1,)", &[0; 8]), "“y” has elements of type “|O8”; expected whole numbers"),
            (labels("|u1", "(1, 2)", &[0; 2]), "“y” has shape “(1, 2)”; expected (count,) or (count, 1)"),
            (labels("|u1", "()", &[0]), "“y” has shape “()”; expected (count,)"),
            (labels("|u1", "(0,)", &[]), "it holds no example"),
            (labels("|i1", "(2,)", &[0, 255]), "“y”: label -1 at example 1 (counted from 0); expected 0 to 99"),
            (labels("<u8", "(1,)", &[255; 8]), "“y”: label 18446744073709551615 at example 0"),
            (labels("|u1", "(1,)", &[100]), "“y”: label 100 at example 0"),
            (labels("|u1", "(500001,)", &[0; 500_001]), "500001 examples; expected at most 500000"),
        ] {
            let fault = fault.unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault} / {says}");
        }
        let nan = f32::NAN.to_le_bytes();
        let minus = (-0.5_f32).to_le_bytes();
        for (fault, says) in [
            (
                images("<i2", "(1, 1, 1)", &[0; 2]),
                "“x” has elements of type “<i2”; expected unsigned bytes (u1) or floats",
            ),
            (images("|u1", "(1, 3)", &[0; 3]), "“x” has shape “(1, 3)”; expected (count, rows, columns)"),
            (images("|u1", "(1,)", &[0]), "“x” has shape “(1)”; expected (count, rows, columns)"),
            (images("|u1", "(1, 2, 2, 2)", &[0; 8]), "“x” has shape “(1, 2, 2, 2)”; expected"),
            (images("|u1", "(1, 65, 1)", &[0; 65]), "“x”: rows 65; expected 1 to 64"),
            (images("|u1", "(1, 1, 65)", &[0; 65]), "“x”: columns 65; expected 1 to 64"),
            (images("|u1", "(1, 0, 3)", &[]), "“x”: rows 0; expected 1 to 64"),
            (images("<f4", "(1, 1, 1)", &nan), "“x”: the value NaN in image 0 (counted from 0) at place 0"),
            (images("<f4", "(2, 1, 1)", &[[0; 4], minus].concat()), "“x”: the value -0.5 in image 1"),
        ] {
            let fault = fault.unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault} / {says}");
        }
    }
}
