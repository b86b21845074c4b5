//! IDX, the format of MNIST's files: two zero bytes, the element type, the number of dimensions,
//! each dimension as a big-endian u32, then the elements row by row; plain or gzipped.
//!
//! Every field is checked before memory is allocated for it: neither a false header nor a
//! decompression bomb takes more memory than the file could fill.
//! Source: LeCun, Cortes & Burges, "The IDX file format", <http://yann.lecun.com/exdb/mnist/>.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use hushgrad_message::{Message, ToMessage, message, word};

pub use super::shard_writer::PIXELS;
use super::{
    file_fault::FileFault,
    known,
    layout::{Layout, Order},
    npy::{self, Array, Type},
    picture::{self, MOST_CLASSES, MOST_SIDE, Picture},
    scaled::{Range, Scaled},
    users::Column,
};

/// Rows and columns of a digit.
pub const SIDE: u32 = 28;
/// Number of digit classes.
pub const CLASSES: u8 = 10;
/// Most examples in a file.
pub const MAX_EXAMPLES: u32 = 500_000;
/// Most bytes of pixels in a file: those of [`MAX_EXAMPLES`] digits, which fit a browser's memory.
const MOST_PIXELS: u64 = MAX_EXAMPLES as u64 * PIXELS as u64;

const UNSIGNED_BYTE: u8 = 0x08;
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Deflate packs at most 1032 bytes into one (RFC 1951: 258 bytes by two codes of one bit).
pub(super) const DEFLATE_RATIO: usize = 1032;

/// Most numbers of a label's row, of which the first is the class.
const MOST_FIELDS: u32 = 64;

/// QMNIST's rows of numbers, and the place of the writer's among them. Source: Yadav & Bottou 2019,
/// "Cold Case: The Lost MNIST Digits", <https://github.com/facebookresearch/qmnist>.
const QMNIST: (u32, usize) = (8, 2);

/// What a file holds, by its number of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Three dimensions (count, rows, columns), or four (with the channels of a pixel, 1 or 3).
    Images,
    /// One dimension (count), or two (with the numbers of a row, as QMNIST's: class, writer, …).
    Labels,
}

const MOST_DIMENSIONS: usize = 4;

/// Bytes before the first element.
const fn header_bytes(dimensions: usize) -> usize {
    4 + 4 * dimensions
}

hushgrad_message::display!(Kind);

impl ToMessage for Kind {
    fn to_message(&self) -> Message {
        match self {
            Self::Images => "images",
            Self::Labels => "labels",
        }
        .into()
    }
}

/// A checked file of 1 to [`MAX_EXAMPLES`] images of up to 64×64 pixels, or labels below 100.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// Images or labels.
    pub kind: Kind,
    /// Size of the images. Images that are not square are centred and padded with zeros.
    pub picture: Picture,
    /// `count × picture.pixels()` values in a dataset's order, or `count` labels.
    pub elements: Vec<u8>,
    /// Whose each label is, in QMNIST's files.
    pub(super) users: Option<Column>,
    /// Images of other than unsigned bytes before [`Idx::by`], in the place of `elements`.
    pub(super) wide: Option<npy::Images>,
    /// MD5 of the file as given, if gzipped and read by [`read_owned`].
    pub(super) packed: Option<String>,
}

impl Idx {
    /// Number of images or labels.
    #[must_use]
    pub fn count(&self) -> usize {
        match (self.kind, &self.wide) {
            (Kind::Images, Some(images)) => images.count(),
            (Kind::Images, None) => self.elements.len() / self.picture.pixels(),
            (Kind::Labels, _) => self.elements.len(),
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        self.elements.len() as u64 + self.wide.as_ref().map_or(0, npy::Images::bytes)
    }

    /// The least and the largest value of images.
    ///
    /// # Errors
    /// A value that is not finite.
    pub(super) fn range(&self) -> Result<Range, FileFault> {
        self.wide.as_ref().map_or_else(|| Ok(Range::of(&self.elements)), npy::Images::range)
    }

    /// Scales images to bytes.
    ///
    /// # Errors
    /// Memory is short.
    pub(super) fn by(mut self, rule: Scaled) -> Result<Self, FileFault> {
        match self.wide.take() {
            Some(images) => self.elements = images.squares(rule)?,
            None => rule.bytes(&mut self.elements),
        }
        Ok(self)
    }

    /// SHA-256 of the unpacked file, lower-case hexadecimal; valid for labels and for digits only.
    #[must_use]
    pub fn sha256(&self) -> String {
        digest(self.kind, self.count(), &self.elements)
    }
}

/// SHA-256 of an unpacked file of digits or labels.
pub(super) fn digest(kind: Kind, count: usize, elements: &[u8]) -> String {
    sha256(&[&header(kind, u32::try_from(count).unwrap_or(u32::MAX)), elements])
}

/// SHA-256 of the concatenated parts, lower-case hexadecimal.
pub fn sha256(parts: &[&[u8]]) -> String {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hexadecimal(&hasher.finalize())
}

/// Bytes as lower-case hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why a file, or a pair of files, was refused.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum IdxError {
    #[error("{file}: {fault}")]
    File { file: String, fault: Fault },
    #[error(
        "{images_file} has {images} images and {labels_file} has {labels} labels: the counts must be equal, so one of the two belongs to another file"
    )]
    CountsDiffer { images_file: String, images: usize, labels_file: String, labels: usize },
}

/// What is wrong with one file: the field, what was found there, what was expected.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum Fault {
    #[error("the file is empty (0 bytes); expected an IDX file, plain or gzipped")]
    Empty,
    #[error("bytes {}: neither gzip (1f 8b) nor IDX (00 00 08 …); the file cannot be read", start(.found))]
    Magic { found: Vec<u8> },
    #[error("gzip: the compressed data ends early, so the file was cut short; fetch it again")]
    GzipTruncated,
    #[error(
        "there is no memory left for the {bytes} bytes that it declares; close other programs, or give fewer examples"
    )]
    NoMemory { bytes: usize },
    #[error("gzip: the compressed data is damaged ({detail}); fetch the file again")]
    GzipDamaged { detail: String },
    #[error("the gzip wrapper holds bytes {}; expected IDX (00 00 08 …)", start(.found))]
    NotIdxInside { found: Vec<u8> },
    #[error("the header ends after {found} bytes, in the field {field}; expected {expected} bytes")]
    HeaderTruncated { field: Field, found: usize, expected: usize },
    #[error("element type {}; expected 0x08, 0x09, or 0x0b to 0x0e", format!("{:#04x}", *.found))]
    ElementType { found: u8 },
    #[error(
        "number of dimensions {found}; expected 3 (images: count, rows, columns), 4 (the same, and colour channels), 1 (labels: count) or 2 (the same, and numbers of a row)"
    )]
    Dimensions { found: u8 },
    #[error("the file holds {found}; expected {expected}")]
    WrongKind { found: Kind, expected: Kind },
    #[error("count 0: the file holds no {kind}; expected at least 1")]
    NoExamples { kind: Kind },
    #[error("count {found}; expected at most {MAX_EXAMPLES}")]
    TooMany { found: u32 },
    #[error(
        "{field} {found}; expected 1 to {MOST_SIDE}: the models read images of up to {MOST_SIDE}×{MOST_SIDE} pixels, so scale them first"
    )]
    Size { field: Field, found: u32 },
    #[error("colours {found}; expected 1 (grey) or 3 (red, green, blue)")]
    Colours { found: u32 },
    #[error(
        "count × rows × columns: {bytes} bytes, as square images; expected at most {MOST_PIXELS}: give fewer examples, or smaller ones"
    )]
    TooLarge { bytes: u64 },
    #[error("length: {expected} bytes were declared and the file has {found}; it was cut short")]
    Truncated { found: u64, expected: u64 },
    #[error(
        "length: {expected} bytes were declared and the file has {}; something else is in it",
        if *.at_least { message!("at least {}", *.found) } else { Message::text(*.found) }
    )]
    TooLong {
        found: u64,
        /// Unpacking stopped at the first excess byte.
        at_least: bool,
        expected: u64,
    },
    #[error("label {found} at example {index} (counted from 0); expected 0 to {}", MOST_CLASSES - 1)]
    Label { index: usize, found: String },
    #[error(transparent)]
    Values(Box<FileFault>),
    #[error("rows of {found} numbers as labels; expected 1 to {MOST_FIELDS}, of which the first is the class")]
    Fields { found: u32 },
}

impl From<FileFault> for Fault {
    fn from(fault: FileFault) -> Self {
        Self::Values(fault.into())
    }
}

/// A field of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The two leading zero bytes.
    Magic,
    /// The third byte: 0x08, unsigned bytes, or another of the format.
    ElementType,
    /// The fourth byte: 3 or 4 for images, 1 or 2 for labels.
    Dimensions,
    /// The number of images or labels.
    Count,
    /// Pixels from top to bottom.
    Rows,
    /// Pixels from left to right.
    Columns,
    /// Channels of a pixel.
    Colours,
    /// Numbers of a label's row.
    Fields,
}

hushgrad_message::display!(Field);

impl ToMessage for Field {
    fn to_message(&self) -> Message {
        match self {
            Self::Magic => "magic",
            Self::ElementType => word!("element type"),
            Self::Dimensions => word!("number of dimensions"),
            Self::Count => "count",
            Self::Rows => "rows",
            Self::Columns => "columns",
            Self::Colours => "colours",
            Self::Fields => word!("numbers of a label"),
        }
        .into()
    }
}

/// Reads a file of either kind; `file` is its name, for errors. Images of other than unsigned bytes
/// are scaled by their range.
///
/// # Errors
/// [`IdxError::File`] with the first [`Fault`] found.
pub fn read(file: &str, bytes: &[u8]) -> Result<Idx, IdxError> {
    let scaled = |idx: Idx| {
        if idx.wide.is_some() { idx.range().and_then(Scaled::of).and_then(|rule| idx.by(rule)) } else { Ok(idx) }
    };
    read_any(bytes)
        .and_then(|idx| scaled(idx).map_err(Fault::from))
        .map_err(|fault| IdxError::File { file: file.to_owned(), fault })
}

/// As [`read`], without copying the bytes of a plain file, nor scaling; takes the MD5 of a gzipped
/// one.
///
/// # Errors
/// As [`read`].
pub fn read_owned(file: &str, mut bytes: Vec<u8>) -> Result<Idx, IdxError> {
    let named = |fault| IdxError::File { file: file.to_owned(), fault };
    if bytes.is_empty() || bytes.starts_with(&GZIP) {
        let idx = read_any(&bytes).map_err(named)?;
        return Ok(Idx { packed: Some(known::md5(&bytes)), ..idx });
    }
    let header = plain_header(&bytes, bytes.len() as u64).map_err(named)?;
    drop(bytes.drain(..header.bytes()));
    header.finish(bytes).map_err(named)
}

/// True if `start` begins a plain IDX file that declares `size` bytes.
pub(super) fn declares(start: &[u8], size: u64) -> bool {
    Header::parse(start, |found| Fault::Magic { found }).is_ok_and(|header| header.file_bytes() == size)
}

/// Checks the first bytes of a file of `size` bytes; a kilobyte is enough.
///
/// # Errors
/// As [`read`], except for faults that only the rest shows.
pub fn check_start(file: &str, start: &[u8], size: u64) -> Result<(), IdxError> {
    let checked = match start {
        [] => Err(Fault::Empty),
        _ if start.starts_with(&GZIP) => Ok(()),
        _ => plain_header(start, size).map(drop),
    };
    checked.map_err(|fault| IdxError::File { file: file.to_owned(), fault })
}

/// Reads a file that must hold `expected`.
///
/// # Errors
/// As [`read`], and [`Fault::WrongKind`].
pub fn read_kind(file: &str, bytes: &[u8], expected: Kind) -> Result<Idx, IdxError> {
    let idx = read(file, bytes)?;
    if idx.kind != expected {
        let fault = Fault::WrongKind { found: idx.kind, expected };
        return Err(IdxError::File { file: file.to_owned(), fault });
    }
    Ok(idx)
}

/// Returns the header of an unpacked file of `count` digits or labels.
#[must_use]
pub fn header(kind: Kind, count: u32) -> Vec<u8> {
    match kind {
        Kind::Images => header_of(&[count, SIDE, SIDE]),
        Kind::Labels => header_of(&[count]),
    }
}

/// Returns the header for these dimensions: count; or count, rows, columns and, if any, channels.
///
/// # Panics
/// When there are more than 255 dimensions.
#[must_use]
pub fn header_of(dimensions: &[u32]) -> Vec<u8> {
    assert!(dimensions.len() <= 255, "the format has a byte for their number");
    let mut bytes = vec![0, 0, UNSIGNED_BYTE, dimensions.len() as u8];
    dimensions.iter().for_each(|dimension| bytes.extend(dimension.to_be_bytes()));
    bytes
}

fn read_any(bytes: &[u8]) -> Result<Idx, Fault> {
    match bytes {
        [] => Err(Fault::Empty),
        _ if bytes.starts_with(&GZIP) => read_gzip(bytes),
        _ => read_plain(bytes),
    }
}

fn read_plain(bytes: &[u8]) -> Result<Idx, Fault> {
    let header = plain_header(bytes, bytes.len() as u64)?;
    let elements = bytes[header.bytes()..].to_vec();
    header.finish(elements)
}

/// Parses the header of a plain file of `found` bytes, and checks that it declares as many.
fn plain_header(start: &[u8], found: u64) -> Result<Header, Fault> {
    let header = Header::parse(start, |found| Fault::Magic { found })?;
    let expected = header.file_bytes();
    match found.cmp(&expected) {
        std::cmp::Ordering::Less => Err(Fault::Truncated { found, expected }),
        std::cmp::Ordering::Greater => Err(Fault::TooLong { found, at_least: false, expected }),
        std::cmp::Ordering::Equal => Ok(header),
    }
}

fn read_gzip(bytes: &[u8]) -> Result<Idx, Fault> {
    let mut decoder = MultiGzDecoder::new(bytes);
    let mut start = Vec::with_capacity(header_bytes(MOST_DIMENSIONS));
    // Read four bytes first: they give the length of the header.
    unpack(&mut decoder, 4, &mut start)?;
    if start.is_empty() {
        return Err(Fault::NotIdxInside { found: start });
    }
    if start.len() == 4 {
        let dimensions = usize::from(start[3]).min(MOST_DIMENSIONS);
        unpack(&mut decoder, 4 * dimensions as u64, &mut start)?;
    }
    let header = Header::parse(&start, |found| Fault::NotIdxInside { found })?;
    let declared = header.elements();
    // Includes the extra byte below.
    let room = declared.min(bytes.len().saturating_mul(DEFLATE_RATIO)) + 1;
    let mut elements = Vec::new();
    elements.try_reserve_exact(room).map_err(|_| Fault::NoMemory { bytes: declared })?;
    // One byte more than declared: only reading to the end checks gzip's own checksum.
    unpack(&mut decoder, declared as u64 + 1, &mut elements)?;
    let (found, expected) = ((header.bytes() + elements.len()) as u64, header.file_bytes());
    match found.cmp(&expected) {
        std::cmp::Ordering::Less => Err(Fault::Truncated { found, expected }),
        std::cmp::Ordering::Greater => Err(Fault::TooLong { found, at_least: true, expected }),
        std::cmp::Ordering::Equal => header.finish(elements),
    }
}

/// Returns exactly `expected` bytes, unpacked if they are gzipped.
pub(crate) fn unpack_exactly(bytes: &[u8], expected: usize) -> Result<Vec<u8>, Fault> {
    let (mut unpacked, at_least) = (Vec::new(), bytes.starts_with(&GZIP));
    if at_least {
        unpacked.reserve(expected.min(bytes.len().saturating_mul(DEFLATE_RATIO)));
        unpack(&mut MultiGzDecoder::new(bytes), expected as u64 + 1, &mut unpacked)?;
    } else {
        unpacked.extend_from_slice(bytes);
    }
    let (found, expected) = (unpacked.len() as u64, expected as u64);
    match found.cmp(&expected) {
        std::cmp::Ordering::Less if found == 0 => Err(Fault::Empty),
        std::cmp::Ordering::Less => Err(Fault::Truncated { found, expected }),
        std::cmp::Ordering::Greater => Err(Fault::TooLong { found, at_least, expected }),
        std::cmp::Ordering::Equal => Ok(unpacked),
    }
}

/// Appends at most `limit` unpacked bytes to `to`.
fn unpack(decoder: &mut MultiGzDecoder<&[u8]>, limit: u64, to: &mut Vec<u8>) -> Result<(), Fault> {
    decoder.take(limit).read_to_end(to).map(drop).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Fault::GzipTruncated,
        _ => Fault::GzipDamaged { detail: error.to_string() },
    })
}

/// Unpacks at most `limit` bytes from the beginning of a gzip file.
pub(super) fn unpacked_start(bytes: &[u8], limit: u64) -> Result<Vec<u8>, Fault> {
    let mut start = Vec::new();
    unpack(&mut MultiGzDecoder::new(bytes), limit, &mut start)?;
    Ok(start)
}

/// A checked header.
struct Header {
    count: u32,
    images: Option<(Layout, Picture)>,
    dimensions: usize,
    element: Type,
    /// Numbers of a label's row.
    fields: u32,
}

/// Type of the elements, all big-endian.
fn element(byte: u8) -> Option<Type> {
    let (letter, size) = match byte {
        UNSIGNED_BYTE => (b'u', 1),
        0x09 => (b'i', 1),
        0x0b => (b'i', 2),
        0x0c => (b'i', 4),
        0x0d => (b'f', 4),
        0x0e => (b'f', 8),
        _ => return None,
    };
    Some(Type::of(letter, size, true))
}

impl Header {
    /// Parses the first bytes of an unpacked file; `magic` makes the error for other formats.
    fn parse(bytes: &[u8], magic: impl Fn(Vec<u8>) -> Fault) -> Result<Self, Fault> {
        if bytes.iter().take(2).any(|&b| b != 0) {
            return Err(magic(bytes[..bytes.len().min(4)].to_vec()));
        }
        let short = |field, expected: usize| Fault::HeaderTruncated { field, found: bytes.len(), expected };
        if bytes.len() < 2 {
            return Err(short(Field::Magic, 4));
        }
        let element_type = *bytes.get(2).ok_or_else(|| short(Field::ElementType, 4))?;
        let element = element(element_type).ok_or(Fault::ElementType { found: element_type })?;
        let (kind, dimensions) = match bytes.get(3) {
            Some(&found @ (3 | 4)) => (Kind::Images, usize::from(found)),
            Some(&found @ (1 | 2)) => (Kind::Labels, usize::from(found)),
            Some(&found) => return Err(Fault::Dimensions { found }),
            None => return Err(short(Field::Dimensions, 4)),
        };
        let dimension = |field, at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.map(u32::from_be_bytes).ok_or_else(|| short(field, header_bytes(dimensions)))
        };
        let count = dimension(Field::Count, 4)?;
        let images = match kind {
            Kind::Labels => None,
            Kind::Images => {
                let side = |field, at| match dimension(field, at)? {
                    found if (1..=u32::from(MOST_SIDE)).contains(&found) => Ok(found as usize),
                    found => Err(Fault::Size { field, found }),
                };
                let (rows, columns) = (side(Field::Rows, 8)?, side(Field::Columns, 12)?);
                let channels = match if dimensions == 4 { dimension(Field::Colours, 16)? } else { 1 } {
                    found @ (1 | 3) => found as usize,
                    found => return Err(Fault::Colours { found }),
                };
                let layout = Layout { rows, columns, channels, order: Order::Interleaved };
                let fits = layout.picture().ok_or(Fault::Size { field: Field::Rows, found: rows as u32 })?;
                Some((layout, fits))
            }
        };
        let fields = match if dimensions == 2 { dimension(Field::Fields, 8)? } else { 1 } {
            found @ 1..=MOST_FIELDS => found,
            found => return Err(Fault::Fields { found }),
        };
        match count {
            0 => return Err(Fault::NoExamples { kind }),
            1..=MAX_EXAMPLES => {}
            found => return Err(Fault::TooMany { found }),
        }
        if let Some((layout, picture)) = images {
            let bytes = u64::from(count) * picture.pixels().max(layout.values() * element.size) as u64;
            if bytes > MOST_PIXELS {
                return Err(Fault::TooLarge { bytes });
            }
        }
        Ok(Self { count, images, dimensions, element, fields })
    }

    const fn bytes(&self) -> usize {
        header_bytes(self.dimensions)
    }

    /// Bytes that follow the header; at most [`MOST_PIXELS`], which fits 32 bits.
    fn elements(&self) -> usize {
        let each = self.images.map_or(self.fields as usize, |(layout, _)| layout.values());
        self.count as usize * each * self.element.size
    }

    fn file_bytes(&self) -> u64 {
        (self.bytes() + self.elements()) as u64
    }

    /// Checks labels; brings images into a dataset's order.
    fn finish(self, elements: Vec<u8>) -> Result<Idx, Fault> {
        let Some((layout, picture)) = self.images else {
            let rows = || elements.chunks_exact(self.fields as usize * self.element.size).enumerate();
            let number =
                |row: &[u8], place: usize| self.element.number(&row[place * self.element.size..][..self.element.size]);
            let label = |(index, row): (usize, &[u8])| {
                let found = number(row, 0);
                picture::label(found).ok_or_else(|| Fault::Label { index, found: found.to_string() })
            };
            let labels = rows().map(label).collect::<Result<_, _>>()?;
            let (fields, writer) = QMNIST;
            let is_qmnist = self.fields == fields && self.element == Type::of(b'i', 4, true);
            let users = is_qmnist.then(|| rows().map(|(_, row)| number(row, writer).to_string()).collect());
            let (picture, elements) = (Picture::DIGIT, labels);
            return Ok(Idx { kind: Kind::Labels, picture, elements, users, wide: None, packed: None });
        };
        if self.element != Type::of(b'u', 1, true) {
            let Layout { rows, columns, channels, .. } = layout;
            let images = Array::of("images", self.element, &[self.count as usize, rows, columns, channels], elements);
            let (elements, wide) = (vec![], Some(images.images()?));
            return Ok(Idx { kind: Kind::Images, picture, elements, users: None, wide, packed: None });
        }
        let bytes = self.count as usize * picture.pixels();
        let elements = layout.squares(elements).ok_or(Fault::NoMemory { bytes })?;
        Ok(Idx { kind: Kind::Images, picture, elements, users: None, wide: None, packed: None })
    }
}

const _: () = assert!(MOST_PIXELS < u32::MAX as u64 && MAX_EXAMPLES as u64 * MOST_FIELDS as u64 * 8 <= MOST_PIXELS);

/// Formats bytes as `50 4b 03 04`.
pub(super) fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none".to_owned();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// Formats the first four bytes of a file, with the file type they suggest.
pub(super) fn start(bytes: &[u8]) -> Message {
    let bytes = &bytes[..bytes.len().min(4)];
    let shown = hex(bytes);
    match bytes {
        [b'P', b'K', ..] => message!("{shown} (a ZIP archive: unpack it first)"),
        [0x89, b'P', ..] | [0xff, 0xd8, ..] => message!("{shown} (a picture)"),
        [b'<', ..] => message!("{shown} (a web page, such as a server's error page)"),
        [0x93, b'N', ..] => message!("{shown} (a NumPy array)"),
        [b'v', b'e', b'r', b's'] => message!("{shown} (a Git LFS pointer: fetch the file itself)"),
        [0x28, 0xb5, 0x2f, 0xfd] => message!("{shown} (zstd)"),
        [b'B', b'Z', ..] => message!("{shown} (bzip2)"),
        [0xfd, b'7', ..] => message!("{shown} (xz)"),
        _ => Message::text(shown),
    }
}
