//! IDX, the format of MNIST's files: two zero bytes, the element type, the number of dimensions, each dimension as a
//! big-endian u32, then the elements row by row. Read plain or gzipped, told apart by the first bytes.
//!
//! Every field is checked before a byte is allocated for what it claims, so that neither a lying header nor a
//! decompression bomb costs more memory than the file itself could fill.
//! Source: LeCun, Cortes & Burges, "The IDX file format", <http://yann.lecun.com/exdb/mnist/>.

use std::{fmt, io::Read};

use flate2::bufread::MultiGzDecoder;

pub use super::shard_writer::PIXELS;

/// Rows and columns that the models read.
pub const SIDE: u32 = 28;
/// Labels are below this.
pub const CLASSES: u8 = 10;
/// Most examples that a file may hold: 392 MB of pixels, which a browser's memory still takes.
pub const MAX_EXAMPLES: u32 = 500_000;

const UNSIGNED_BYTE: u8 = 0x08;
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Deflate packs at most 1032 bytes into one (RFC 1951: 258 bytes by two codes of one bit).
const DEFLATE_RATIO: usize = 1032;

/// What a file holds, by its number of dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Three dimensions: count, rows, columns.
    Images,
    /// One dimension: count.
    Labels,
}

impl Kind {
    /// Bytes before the first element.
    const fn header_bytes(self) -> usize {
        4 + 4 * self.dimensions() as usize
    }

    const fn dimensions(self) -> u8 {
        match self {
            Self::Images => 3,
            Self::Labels => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Images => "images",
            Self::Labels => "labels",
        })
    }
}

/// A checked file: images of 28×28 bytes, or labels below 10; at least one, at most [`MAX_EXAMPLES`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// Images or labels.
    pub kind: Kind,
    /// `count × 784` pixels, or `count` labels.
    pub elements: Vec<u8>,
}

impl Idx {
    /// Number of images or labels.
    #[must_use]
    pub fn count(&self) -> usize {
        match self.kind {
            Kind::Images => self.elements.len() / PIXELS,
            Kind::Labels => self.elements.len(),
        }
    }

    /// SHA-256 of the unpacked file, lower-case hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        let count = u32::try_from(self.count()).unwrap_or(u32::MAX);
        sha256(&[&header(self.kind, count), &self.elements])
    }
}

/// SHA-256 of the parts one after the other, lower-case hexadecimal.
pub(crate) fn sha256(parts: &[&[u8]]) -> String {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why a file, or a pair of files, was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum Fault {
    #[error("the file is empty (0 bytes); expected an IDX file, plain or gzipped")]
    Empty,
    #[error("bytes {}{}: neither gzip (1f 8b) nor IDX (00 00 08 …); the file cannot be read", hex(.found), known(.found))]
    Magic { found: Vec<u8> },
    #[error("gzip: the compressed data ends early, so the file was cut short; fetch it again")]
    GzipTruncated,
    #[error(
        "there is no memory left for the {bytes} bytes that it declares; close other programs, or give fewer examples"
    )]
    NoMemory { bytes: usize },
    #[error("gzip: the compressed data is damaged ({detail}); fetch the file again")]
    GzipDamaged { detail: String },
    #[error("the gzip wrapper holds bytes {}{}; expected IDX (00 00 08 …)", hex(.found), known(.found))]
    NotIdxInside { found: Vec<u8> },
    #[error("the header ends after {found} bytes, in the field {field}; expected {expected} bytes")]
    HeaderTruncated { field: Field, found: usize, expected: usize },
    #[error("element type {found:#04x}{}; expected 0x08 (unsigned bytes)", element_type(*.found))]
    ElementType { found: u8 },
    #[error("number of dimensions {found}; expected 3 (images: count, rows, columns) or 1 (labels: count)")]
    Dimensions { found: u8 },
    #[error("the file holds {found}; expected {expected}")]
    WrongKind { found: Kind, expected: Kind },
    #[error("count 0: the file holds no {kind}; expected at least 1")]
    NoExamples { kind: Kind },
    #[error("count {found}; expected at most {MAX_EXAMPLES}")]
    TooMany { found: u32 },
    #[error("{field} {found}; expected {SIDE}: the models read images of {SIDE}×{SIDE} pixels, so scale them first")]
    Size { field: Field, found: u32 },
    #[error("length: {expected} bytes were declared and the file has {found}; it was cut short")]
    Truncated { found: u64, expected: u64 },
    #[error("length: {expected} bytes were declared and the file has {}{found}; something else is in it", if *.at_least { "at least " } else { "" })]
    TooLong {
        found: u64,
        /// Unpacking stopped at the first byte too many.
        at_least: bool,
        expected: u64,
    },
    #[error("label {found} at example {index} (counted from 0); expected 0 to 9")]
    Label { index: usize, found: u8 },
}

/// A field of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The two zero bytes that a file begins with.
    Magic,
    /// The third byte: 0x08, unsigned bytes.
    ElementType,
    /// The fourth byte: 3 for images, 1 for labels.
    Dimensions,
    /// The number of images or labels.
    Count,
    /// Pixels from top to bottom.
    Rows,
    /// Pixels from left to right.
    Columns,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Magic => "magic",
            Self::ElementType => "element type",
            Self::Dimensions => "number of dimensions",
            Self::Count => "count",
            Self::Rows => "rows",
            Self::Columns => "columns",
        })
    }
}

/// Reads one file, whichever kind it is; `file` is its name, for errors.
///
/// # Errors
/// [`IdxError::File`] with the first [`Fault`] met.
pub fn read(file: &str, bytes: &[u8]) -> Result<Idx, IdxError> {
    read_any(bytes).map_err(|fault| IdxError::File { file: file.to_owned(), fault })
}

/// The same for bytes that are handed over: those of a plain file are kept and not copied.
///
/// # Errors
/// As [`read`].
pub fn read_owned(file: &str, mut bytes: Vec<u8>) -> Result<Idx, IdxError> {
    let named = |fault| IdxError::File { file: file.to_owned(), fault };
    if bytes.is_empty() || bytes.starts_with(&GZIP) {
        return read_any(&bytes).map_err(named);
    }
    let header = plain_header(&bytes, bytes.len() as u64).map_err(named)?;
    drop(bytes.drain(..header.kind.header_bytes()));
    header.finish(bytes).map_err(named)
}

/// Checks what the first bytes of a file of `size` bytes show. A kilobyte is enough.
///
/// # Errors
/// As [`read`], but for what only the rest can show.
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

/// The header of an unpacked file with `count` examples: what [`read`] expects before the elements.
#[must_use]
pub fn header(kind: Kind, count: u32) -> Vec<u8> {
    let mut bytes = vec![0, 0, UNSIGNED_BYTE, kind.dimensions()];
    bytes.extend(count.to_be_bytes());
    if kind == Kind::Images {
        bytes.extend(SIDE.to_be_bytes());
        bytes.extend(SIDE.to_be_bytes());
    }
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
    let elements = bytes[header.kind.header_bytes()..].to_vec();
    header.finish(elements)
}

/// The header of a file of `found` bytes that begins with these, if it declares as many.
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
    let mut start = Vec::with_capacity(Kind::Images.header_bytes());
    // The dimensions say how long the header is, so its first four bytes are read alone.
    unpack(&mut decoder, 4, &mut start)?;
    if start.is_empty() {
        return Err(Fault::NotIdxInside { found: start });
    }
    if start.len() == 4 {
        let dimensions = usize::from(start[3]).min(3);
        unpack(&mut decoder, 4 * dimensions as u64, &mut start)?;
    }
    let header = Header::parse(&start, |found| Fault::NotIdxInside { found })?;
    let declared = header.elements();
    // The byte more is unpacked, too.
    let room = declared.min(bytes.len().saturating_mul(DEFLATE_RATIO)) + 1;
    let mut elements = Vec::new();
    elements.try_reserve_exact(room).map_err(|_| Fault::NoMemory { bytes: declared })?;
    // One byte more than declared: reading to the end also checks gzip's own checksum.
    unpack(&mut decoder, declared as u64 + 1, &mut elements)?;
    let (found, expected) = ((header.kind.header_bytes() + elements.len()) as u64, header.file_bytes());
    match found.cmp(&expected) {
        std::cmp::Ordering::Less => Err(Fault::Truncated { found, expected }),
        std::cmp::Ordering::Greater => Err(Fault::TooLong { found, at_least: true, expected }),
        std::cmp::Ordering::Equal => header.finish(elements),
    }
}

/// Exactly `expected` bytes, unpacked if they are gzip.
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

/// A checked header.
struct Header {
    kind: Kind,
    count: u32,
}

impl Header {
    /// Parses the first bytes of an unpacked file; `magic` makes the error for bytes that are no IDX at all.
    fn parse(bytes: &[u8], magic: impl Fn(Vec<u8>) -> Fault) -> Result<Self, Fault> {
        if bytes.iter().take(2).any(|&b| b != 0) {
            return Err(magic(bytes[..bytes.len().min(4)].to_vec()));
        }
        let short = |field, expected: usize| Fault::HeaderTruncated { field, found: bytes.len(), expected };
        if bytes.len() < 2 {
            return Err(short(Field::Magic, 4));
        }
        let element_type = *bytes.get(2).ok_or_else(|| short(Field::ElementType, 4))?;
        if element_type != UNSIGNED_BYTE {
            return Err(Fault::ElementType { found: element_type });
        }
        let kind = match bytes.get(3) {
            Some(3) => Kind::Images,
            Some(1) => Kind::Labels,
            Some(&found) => return Err(Fault::Dimensions { found }),
            None => return Err(short(Field::Dimensions, 4)),
        };
        let dimension = |field, at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.map(u32::from_be_bytes).ok_or_else(|| short(field, kind.header_bytes()))
        };
        let count = dimension(Field::Count, 4)?;
        if kind == Kind::Images {
            for (field, at) in [(Field::Rows, 8), (Field::Columns, 12)] {
                let found = dimension(field, at)?;
                if found != SIDE {
                    return Err(Fault::Size { field, found });
                }
            }
        }
        match count {
            0 => Err(Fault::NoExamples { kind }),
            1..=MAX_EXAMPLES => Ok(Self { kind, count }),
            found => Err(Fault::TooMany { found }),
        }
    }

    /// Elements that follow the header; at most `MAX_EXAMPLES × PIXELS`, which fits 32 bits.
    const fn elements(&self) -> usize {
        match self.kind {
            Kind::Images => self.count as usize * PIXELS,
            Kind::Labels => self.count as usize,
        }
    }

    const fn file_bytes(&self) -> u64 {
        (self.kind.header_bytes() + self.elements()) as u64
    }

    /// Checks the elements.
    fn finish(self, elements: Vec<u8>) -> Result<Idx, Fault> {
        if self.kind == Kind::Labels
            && let Some(index) = elements.iter().position(|&label| label >= CLASSES)
        {
            return Err(Fault::Label { index, found: elements[index] });
        }
        Ok(Idx { kind: self.kind, elements })
    }
}

const _: () = assert!((MAX_EXAMPLES as u64) * (PIXELS as u64) < u32::MAX as u64);

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none".to_owned();
    }
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// The file type that begins like this, to help whoever has picked the wrong file.
fn known(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'P', b'K', ..] => " (a ZIP archive: unpack it first)",
        [0x89, b'P', ..] | [0xff, 0xd8, ..] => " (a picture)",
        [b'<', ..] => " (a web page, such as a server's error page)",
        [0x93, b'N', ..] => " (a NumPy array)",
        [b'v', b'e', b'r', b's'] => " (a Git LFS pointer: fetch the file itself)",
        [0x28, 0xb5, 0x2f, 0xfd] => " (zstd)",
        [b'B', b'Z', ..] => " (bzip2)",
        [0xfd, b'7', ..] => " (xz)",
        _ => "",
    }
}

/// The other element types of the format.
const fn element_type(byte: u8) -> &'static str {
    match byte {
        0x09 => " (signed bytes)",
        0x0b => " (16-bit integers)",
        0x0c => " (32-bit integers)",
        0x0d => " (32-bit floats)",
        0x0e => " (64-bit floats)",
        _ => " (unknown)",
    }
}
