//! Reads a NumPy array, a short header and the elements, as images or labels.
//! Source: NumPy's format, versions 1 to 3,
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use super::{
    Picture,
    file_fault::{FileFault, MOST_EXAMPLES, MOST_OF_ONE, NpyExpected, NpyField, NpySide, shown},
    idx::hex,
    layout::{Layout, Order},
    picture::{self, MOST_CLASSES, MOST_SIDE},
    scaled::{Range, Scaled},
    users::Column,
};

pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Below this, floats tell all whole numbers apart.
const WHOLE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
/// Most bytes of a header.
const LONGEST_HEADER: usize = 1 << 16;

/// An array whose header has been read and whose length matches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub name: String,
    kind: Type,
    shape: Vec<u64>,
    /// Whether the first index varies fastest.
    fortran: bool,
    /// The whole file; the elements begin at `start`.
    bytes: Vec<u8>,
    start: usize,
}

/// Element type of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// As written in the header, e.g. `<f4`.
    name: String,
    /// `u`, `i`, `f`, `b` (boolean), `U` or `S` (text), `O` (objects), or `?`.
    letter: u8,
    /// Bytes of an element.
    pub size: usize,
    big_endian: bool,
}

/// Labels as an array gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Labels {
    Numbers(Vec<u8>),
    Names(Vec<String>),
}

impl Labels {
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(labels) => labels.len(),
            Self::Names(names) => names.len(),
        }
    }
}

/// Images before scaling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Images {
    array: Array,
    layout: Layout,
    count: usize,
}

impl Array {
    /// Reads an array's file; `name` is the array's name.
    ///
    /// # Errors
    /// An unreadable or unsupported header, objects, or a length that does not match the header.
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
        // Objects are a pickle, of any length.
        if kind.letter == b'O' {
            return Err(FileFault::NpyObjects { array: array() });
        }
        let fortran = match value(text, "fortran_order") {
            Some(rest) if rest.starts_with("False") => false,
            Some(rest) if rest.starts_with("True") => true,
            _ => return Err(header(NpyField::FortranOrder)),
        };
        let shape = shape(value(text, "shape").unwrap_or_default()).ok_or_else(|| header(NpyField::Shape))?;
        let product = shape.iter().try_fold(kind.size as u64, |product, &n| product.checked_mul(n));
        let (found, expected) = ((bytes.len() - start) as u64, product.unwrap_or(u64::MAX));
        if found != expected {
            return Err(FileFault::NpyLength { array: array(), found, expected });
        }
        Ok(Self { name: array(), kind, shape, fortran, bytes, start })
    }

    /// An array of little-endian f32 in C order.
    pub fn of_numbers(name: &str, shape: &[usize], bytes: Vec<u8>) -> Self {
        Self::of(name, Type::of(b'f', 4, false), shape, bytes)
    }

    /// An array of texts.
    pub fn of_texts(name: &str, texts: &[Vec<u8>]) -> Self {
        let size = texts.iter().map(Vec::len).max().unwrap_or_default().max(1);
        let padded = |text: &Vec<u8>| text.iter().copied().chain(std::iter::repeat(0)).take(size).collect::<Vec<u8>>();
        Self::of(name, Type::of(b'S', size, false), &[texts.len()], texts.iter().flat_map(padded).collect())
    }

    /// An array of these elements in C order.
    pub fn of(name: &str, kind: Type, shape: &[usize], bytes: Vec<u8>) -> Self {
        let shape = shape.iter().map(|&length| length as u64).collect();
        Self { name: name.to_owned(), kind, shape, fortran: false, bytes, start: 0 }
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fault(&self, expected: NpyExpected) -> FileFault {
        FileFault::NpyShape { array: self.name.clone(), found: said(&self.shape), expected }
    }

    fn unsupported(&self, expected: NpyExpected) -> FileFault {
        FileFault::NpyType { array: self.name.clone(), name: self.kind.name.clone(), expected }
    }

    fn count(&self) -> Result<usize, FileFault> {
        match self.shape.first() {
            Some(0) => Err(FileFault::NoExamples),
            Some(&found) if found > MOST_EXAMPLES as u64 => Err(FileFault::TooMany { found }),
            first => Ok(first.map_or(0, |&count| count as usize)),
        }
    }

    /// Brings the elements into C order, the last index varying fastest.
    fn in_c_order(mut self) -> Result<Self, FileFault> {
        if self.fortran && self.shape.len() > 1 && !self.shape.contains(&0) {
            let (size, elements) = (self.kind.size, &self.bytes[self.start..]);
            let no_memory = || FileFault::NoMemory { entry: self.name.clone(), bytes: elements.len() as u64 };
            let mut ordered = Vec::new();
            ordered.try_reserve_exact(elements.len()).map_err(|_| no_memory())?;
            let lengths: Vec<usize> = self.shape.iter().map(|&n| n as usize).collect();
            let strides: Vec<usize> = (0..lengths.len()).map(|d| lengths[..d].iter().product()).collect();
            let mut index = vec![0; lengths.len()];
            for _ in 0..elements.len() / size {
                let place: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
                ordered.extend_from_slice(&elements[place * size..][..size]);
                for (i, length) in index.iter_mut().zip(&lengths).rev() {
                    *i += 1;
                    if *i < *length {
                        break;
                    }
                    *i = 0;
                }
            }
            (self.bytes, self.start) = (ordered, 0);
        }
        self.fortran = false;
        Ok(self)
    }

    /// Converts to labels, of shape (count,) or (count, 1): whole numbers below 100, or texts; or of
    /// shape (count, classes), a single 1 a row.
    ///
    /// # Errors
    /// An unsupported type or shape, or a label out of range.
    pub fn labels(self) -> Result<Labels, FileFault> {
        let array = self.in_c_order()?;
        let count = array.count()?;
        match (array.kind.letter, &array.shape[..]) {
            (b'U' | b'S', [_] | [_, 1]) => array.texts(),
            (b'?', _) => Err(array.unsupported(NpyExpected::LabelType)),
            (_, [_] | [_, 1]) => {
                let labels = array.elements().enumerate();
                let labels = labels.map(|(index, element)| array.label(index, array.kind.number(element)));
                labels.collect::<Result<_, _>>().map(Labels::Numbers)
            }
            (letter, &[_, classes]) if letter != b'U' && letter != b'S' && classes <= MOST_CLASSES as u64 => {
                let rows = array.bytes[array.start..].chunks_exact(classes as usize * array.kind.size);
                debug_assert_eq!(rows.len(), count, "as the length says");
                let labels = rows.enumerate().map(|(index, row)| {
                    let row: Vec<f64> = row.chunks_exact(array.kind.size).map(|one| array.kind.number(one)).collect();
                    let ones = row.iter().filter(|&&value| value == 1.0).count();
                    let hot = row.iter().position(|&value| value == 1.0);
                    let alone = ones == 1 && row.iter().all(|&value| value == 0.0 || value == 1.0);
                    let found = FileFault::NpyOneHot { array: array.name.clone(), index };
                    hot.filter(|_| alone).map(|label| label as u8).ok_or(found)
                });
                labels.collect::<Result<_, _>>().map(Labels::Numbers)
            }
            _ => Err(array.fault(NpyExpected::LabelShape)),
        }
    }

    /// Converts to users, of shape (count,) or (count, 1): whole numbers or texts, of which `7` and
    /// `"7"` are the same.
    ///
    /// # Errors
    /// An unsupported type or shape, or an example of no user.
    pub fn users(self) -> Result<Column, FileFault> {
        let array = self.in_c_order()?;
        array.count()?;
        if !matches!(array.shape[..], [_] | [_, 1]) {
            return Err(array.fault(NpyExpected::UserShape));
        }
        if !matches!(array.kind.letter, b'u' | b'i' | b'f' | b'U' | b'S') {
            return Err(array.unsupported(NpyExpected::LabelType));
        }
        let user = |(index, element): (usize, &[u8])| {
            let found = match array.kind.letter {
                b'U' | b'S' => array.text(element).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
                b'f' => {
                    let number = array.kind.number(element);
                    // Beyond, floats skip whole numbers, so that two users could be one.
                    (number.fract() == 0.0 && number.abs() < WHOLE).then(|| format!("{}", number + 0.0))
                }
                _ => Some(array.kind.whole(element).to_string()),
            };
            found.ok_or_else(|| FileFault::NoUser { array: array.name.clone(), index })
        };
        array.elements().enumerate().map(user).collect()
    }

    fn no_label(&self, index: usize, found: &impl ToString) -> FileFault {
        FileFault::NpyLabel { array: self.name.clone(), index, found: found.to_string() }
    }

    /// An element of texts, without its padding; `None` if it is not Unicode.
    fn text(&self, element: &[u8]) -> Option<String> {
        if self.kind.letter == b'S' {
            return std::str::from_utf8(element).ok().map(|text| text.trim_end_matches('\0').to_owned());
        }
        let points = element.chunks_exact(4).map(|point| self.kind.word(point) as u32);
        points.take_while(|&point| point != 0).map(char::from_u32).collect()
    }

    /// Texts as numbers if all are, else as names.
    fn texts(&self) -> Result<Labels, FileFault> {
        let text = |(index, element): (usize, &[u8])| self.text(element).ok_or_else(|| self.no_label(index, &"?"));
        let texts: Vec<String> = self.elements().enumerate().map(text).collect::<Result<_, _>>()?;
        let Some(numbers) = texts.iter().map(|text| text.trim().parse().ok()).collect::<Option<Vec<f64>>>() else {
            return Ok(Labels::Names(texts));
        };
        let labels = numbers.iter().enumerate().map(|(index, &label)| self.label(index, label));
        labels.collect::<Result<_, _>>().map(Labels::Numbers)
    }

    /// A whole number below 100 as a label.
    fn label(&self, index: usize, label: f64) -> Result<u8, FileFault> {
        picture::label(label).ok_or_else(|| self.no_label(index, &label))
    }

    /// Interprets the array as images.
    ///
    /// # Errors
    /// An unsupported type or shape, or too many values.
    pub fn images(self) -> Result<Images, FileFault> {
        if !matches!(self.kind.letter, b'u' | b'i' | b'f' | b'b') {
            return Err(self.unsupported(NpyExpected::ImageType));
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
        Ok(Images { array: self.in_c_order()?, layout, count })
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

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.array.bytes()
    }

    /// Size of the images; never an error after [`Array::images`].
    pub fn picture(&self) -> Result<Picture, FileFault> {
        self.layout.picture().ok_or_else(|| self.array.fault(NpyExpected::ImageShape))
    }

    /// The least and the largest value.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn range(&self) -> Result<Range, FileFault> {
        let mut range = Range { low: f64::INFINITY, high: f64::NEG_INFINITY };
        for (place, element) in self.array.elements().enumerate() {
            let value = self.array.kind.number(element);
            if !value.is_finite() {
                let values = self.layout.values();
                let (image, place, found) = (place / values, place % values, format!("{value}"));
                return Err(FileFault::NpyPixel { array: self.array.name.clone(), image, place, found });
            }
            range = Range { low: range.low.min(value), high: range.high.max(value) };
        }
        Ok(range)
    }

    /// Converts images to bytes in a dataset's order; fails if memory is short.
    pub fn squares(self, scaled: Scaled) -> Result<Vec<u8>, FileFault> {
        let Self { mut array, layout, .. } = self;
        let no_memory = |bytes: usize| FileFault::NoMemory { entry: array.name.clone(), bytes: bytes as u64 };
        let values = if array.kind.letter == b'u' && array.kind.size == 1 && scaled == Scaled::Bytes {
            let mut bytes = std::mem::take(&mut array.bytes);
            drop(bytes.drain(..array.start));
            bytes
        } else {
            let (mut values, elements) = (Vec::new(), array.elements());
            values.try_reserve_exact(elements.len()).map_err(|_| no_memory(elements.len()))?;
            values.extend(elements.map(|element| scaled.byte(array.kind.number(element))));
            values
        };
        let bytes = values.len();
        layout.squares(values).ok_or_else(|| no_memory(bytes))
    }
}

impl Type {
    pub fn of(letter: u8, size: usize, big_endian: bool) -> Self {
        let name = format!("{}{}{size}", if big_endian { '>' } else { '<' }, char::from(letter));
        Self { name, letter, size, big_endian }
    }

    fn read(text: &str, fault: impl Fn() -> FileFault) -> Result<Self, FileFault> {
        // A list describes a structured type, which is unsupported.
        if text.starts_with('[') {
            return Ok(Self { name: "[…]".to_owned(), letter: b'O', size: 1, big_endian: false });
        }
        let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"')).ok_or_else(&fault)?;
        let name = text[1..].split(quote).next().filter(|name| name.len() <= 20).ok_or_else(&fault)?;
        let (order, rest) = match name.as_bytes() {
            [order @ (b'<' | b'>' | b'|' | b'='), rest @ ..] => (*order, rest),
            rest => (b'|', rest),
        };
        let [letter, size @ ..] = rest else { return Err(fault()) };
        let size: Option<usize> = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
        let size = size.filter(|size| (1..=1024).contains(size));
        let (letter, size) = match (letter, size) {
            (b'u' | b'i', Some(size @ (1 | 2 | 4 | 8))) | (b'f', Some(size @ (2 | 4 | 8))) | (b'S', Some(size)) => {
                (*letter, size)
            }
            (b'b', Some(1)) => (b'b', 1),
            (b'U', Some(size)) => (b'U', 4 * size),
            (b'O', _) => (b'O', 1),
            (_, size) => (b'?', size.unwrap_or(1)),
        };
        Ok(Self { name: shown(name), letter, size, big_endian: order == b'>' })
    }

    /// Bits of up to eight bytes, as an integer.
    fn word(&self, element: &[u8]) -> u64 {
        let shift = |word: u64, &byte: &u8| word << 8 | u64::from(byte);
        if self.big_endian { element.iter().fold(0, shift) } else { element.iter().rev().fold(0, shift) }
    }

    /// Value of a number or a boolean; integers above 2^53 are rounded.
    pub fn number(&self, element: &[u8]) -> f64 {
        let word = self.word(element);
        match (self.letter, self.size) {
            (b'f', 2) => half(word as u16),
            (b'f', 4) => f32::from_bits(word as u32).into(),
            (b'f', _) => f64::from_bits(word),
            _ => self.whole(element) as f64,
        }
    }

    /// Value of an integer, exactly.
    fn whole(&self, element: &[u8]) -> i128 {
        let (word, bits) = (self.word(element), 8 * self.size as u32);
        // The sign bit is moved to that of 64 bits and back.
        if self.letter == b'i' { (((word << (64 - bits)) as i64) >> (64 - bits)).into() } else { word.into() }
    }
}

/// Value of an IEEE 754 number of 16 bits.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2.0_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
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

    fn numbers(labels: Labels) -> Result<Vec<u8>, FileFault> {
        match labels {
            Labels::Numbers(labels) => Ok(labels),
            Labels::Names(names) => panic!("{names:?}"),
        }
    }

    fn labels(descr: &str, shape: &str, elements: &[u8]) -> Result<Vec<u8>, FileFault> {
        numbers(Array::read("y", file(descr, shape, elements))?.labels()?)
    }

    fn images(descr: &str, shape: &str, elements: &[u8]) -> Result<(Picture, Vec<u8>), FileFault> {
        let images = Array::read("x", file(descr, shape, elements))?.images()?;
        let (picture, scaled) = (images.picture()?, Scaled::of(images.range()?).unwrap());
        Ok((picture, images.squares(scaled)?))
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
        let grey: Vec<u8> = (20..28).collect();
        let square = Picture::new(1, 2).unwrap();
        for shape in ["(2, 2, 2)", "(2, 2, 2, 1)", "(2, 1, 2, 2)", "(2, 4)"] {
            assert_eq!(images("|u1", shape, &grey), Ok((square, grey.clone())), "{shape}");
        }
        let colour: Vec<u8> = (20..32).collect();
        let (picture, planar) = images("|u1", "(1, 2, 2, 3)", &colour).unwrap();
        assert_eq!(
            (picture, planar),
            (Picture::new(3, 2).unwrap(), [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11].map(|place| 20 + place).to_vec())
        );
        assert_eq!(images("|u1", "(1, 3, 2, 2)", &colour).unwrap().1, colour);
        assert_eq!(images("|u1", "(1, 1, 2)", &[70, 80]).unwrap().1, [70, 80, 0, 0], "padded");
        let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let unit = images("<f4", "(1, 2, 2)", &floats(&[0.0, 0.5, 1.0, 0.1])).unwrap().1;
        assert_eq!(unit, [0, 128, 255, 26]);
        let bytes = images("<f4", "(1, 2, 2)", &floats(&[0.0, 0.5, 254.6, 1.0])).unwrap().1;
        assert_eq!(bytes, [0, 1, 255, 1]);
        // 0, 1, 0.5, −1 and 2 as halves; −128 and 127; 65,535; false and true.
        assert_eq!(images("<f2", "(1, 2, 2)", &[0, 0, 0, 60, 0, 56, 0, 56]).unwrap().1, [0, 255, 128, 128]);
        assert_eq!(images(">f2", "(1, 1, 2)", &[0xbc, 0, 0x3c, 0]).unwrap().1, [0, 255, 0, 0]);
        assert_eq!(images("|i1", "(1, 1, 2)", &[128, 127]).unwrap().1, [0, 255, 0, 0]);
        assert_eq!(images("<u2", "(1, 1, 2)", &[255, 255, 0, 1]).unwrap().1, [255, 1, 0, 0]);
        assert_eq!(images("<i8", "(1, 1)", &[16, 0, 0, 0, 0, 0, 0, 0]).unwrap().1, [255]);
        assert_eq!(images("|b1", "(1, 2, 2)", &[0, 1, 1, 0]).unwrap().1, [0, 255, 255, 0]);
        let doubles: Vec<u8> = [0.2_f64, 1.0].iter().flat_map(|value| value.to_be_bytes()).collect();
        assert_eq!(images(">f8", "(2, 1)", &doubles).unwrap().1, [51, 255]);
    }

    #[test]
    fn fortran_order_is_turned() {
        let turned = |descr: &str, shape: &str, elements: &[u8]| {
            let bytes = file(descr, shape, elements);
            let text = String::from_utf8_lossy(&bytes[10..bytes.len() - elements.len()]).replace("False", "True");
            let header = [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
            Array::read("x", [&header, elements].concat()).unwrap()
        };
        // Image 0 is 100 101 / 102 103; of the file's order the first index varies fastest.
        let elements = [100, 200, 102, 202, 101, 201, 103, 203];
        let images = turned("|u1", "(2, 2, 2)", &elements).images().unwrap();
        assert_eq!(images.squares(Scaled::Bytes).unwrap(), [100, 101, 102, 103, 200, 201, 202, 203]);
        let labels = turned("<i2", "(2, 3)", &[0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]).labels();
        assert_eq!(labels, Ok(Labels::Numbers(vec![1, 0])));
    }

    #[test]
    fn versions_two_and_three_have_a_longer_header() {
        let one = file("|u1", "(2,)", &[1, 2]);
        for version in [2, 3] {
            let text = &one[10..one.len() - 2];
            let bytes = [MAGIC, &[version, 0], &(text.len() as u32).to_le_bytes(), text, &[1, 2]].concat();
            assert_eq!(Array::read("y", bytes).unwrap().labels(), Ok(Labels::Numbers(vec![1, 2])));
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
            (changed("|u1", "|O8"), "“y” holds Python objects (a pickle), which could run a program"),
            (changed("'|u1'", "[('a', 'u1')]"), "“y” holds Python objects"),
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
            (labels("<f4", "(1,)", &0.5_f32.to_le_bytes()), "“y”: label 0.5 at example 0"),
            (labels("<M8", "(1,)", &[0; 8]), "“y” has elements of type “<M8”; expected whole numbers"),
            (labels("|u1", "(1, 2)", &[0; 2]), "“y”: row 0 (counted from 0) has not exactly one 1"),
            (labels("|u1", "(1, 200)", &[0; 200]), "“y” has shape “(1, 200)”; expected (count,), (count, 1)"),
            (labels("|u1", "()", &[0]), "“y” has shape “()”; expected (count,)"),
            (labels("|u1", "(0,)", &[]), "it holds no example"),
            (labels("|i1", "(2,)", &[0, 255]), "“y”: label -1 at example 1 (counted from 0); expected 0 to 99"),
            (labels("<u8", "(1,)", &[255; 8]), "“y”: label 18446744073709552000 at example 0"),
            (labels("|u1", "(1,)", &[100]), "“y”: label 100 at example 0"),
            (labels("|u1", "(500001,)", &[0; 500_001]), "500001 examples; expected at most 500000"),
        ] {
            let fault = fault.unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault} / {says}");
        }
        let nan = f32::NAN.to_le_bytes();
        let infinite = f32::INFINITY.to_le_bytes();
        for (fault, says) in [
            (images("|S2", "(1, 1, 1)", &[0; 2]), "“x” has elements of type “|S2”; expected numbers (u1 to u8"),
            (images("|u1", "(1, 3)", &[0; 3]), "“x” has shape “(1, 3)”; expected (count, rows, columns)"),
            (images("|u1", "(1,)", &[0]), "“x” has shape “(1)”; expected (count, rows, columns)"),
            (images("|u1", "(1, 2, 2, 2)", &[0; 8]), "“x” has shape “(1, 2, 2, 2)”; expected"),
            (images("|u1", "(1, 65, 1)", &[0; 65]), "“x”: rows 65; expected 1 to 64"),
            (images("|u1", "(1, 1, 65)", &[0; 65]), "“x”: columns 65; expected 1 to 64"),
            (images("|u1", "(1, 0, 3)", &[]), "“x”: rows 0; expected 1 to 64"),
            (images("<f4", "(1, 1, 1)", &nan), "“x”: the value NaN in image 0 (counted from 0) at place 0"),
            (images("<f4", "(2, 1, 1)", &[[0; 4], infinite].concat()), "“x”: the value inf in image 1"),
        ] {
            let fault = fault.unwrap_err().to_string();
            assert!(fault.starts_with(says), "{fault} / {says}");
        }
    }
}
