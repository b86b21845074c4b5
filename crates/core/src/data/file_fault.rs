//! Errors of image files other than IDX: the field, what was found, what was expected, what to do.

use super::{
    name::quoted,
    picture::{ClassesError, MOST_CLASSES, MOST_SIDE},
};
use hushgrad_message::{Message, ToMessage, word};

/// Most examples in a set.
pub(super) const MOST_EXAMPLES: usize = super::idx::MAX_EXAMPLES as usize;
/// Most bytes of one file or archive entry, packed or not: a header and 500,000 28×28 images.
pub(super) const MOST_OF_ONE: u64 = MOST_EXAMPLES as u64 * 784 + 16;
/// Most bytes of all files together, packed and unpacked alike.
pub(super) const MOST_OF_ALL: u64 = 512_000_000;
/// Longest side of a coded picture, in pixels.
pub(super) const LONGEST: u32 = 4096;
/// Most pixels of all coded pictures together, by their headers: some minutes of decoding.
pub(super) const MOST_PIXELS: u64 = 20_000_000_000;

/// A refused file, by its name.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[error("{file}: {fault}")]
pub struct FileError {
    /// The file's name.
    pub file: String,
    /// Why it was refused.
    pub fault: FileFault,
}

/// What is wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum FileFault {
    #[error(
        "bytes {found}: not a supported format; supported are IDX, CIFAR's binary files, NumPy's .npz and .npy, CSV, and a ZIP with a folder of pictures for each class"
    )]
    Unknown { found: Message },
    #[error("a single picture; put pictures into a ZIP, a folder for each class, and choose that")]
    OnePicture,
    #[error("there is no memory left for the {bytes} bytes of “{entry}”; close other programs, or give fewer examples")]
    NoMemory { entry: String, bytes: u64 },
    #[error("“{entry}” has {bytes} bytes; expected at most {most}: give fewer examples, or smaller ones")]
    EntryTooLarge { entry: String, bytes: u64, most: u64 },
    #[error("unpacked, it exceeds {most} bytes at “{entry}”; give fewer examples, or smaller ones")]
    TooMuch { entry: String, most: u64 },
    #[error("the pictures exceed {most} pixels in all at “{entry}”; make them smaller, or give fewer")]
    Pixels { entry: String, most: u64 },
    #[error("“{entry}” is in it twice; keep one of the two")]
    Twice { entry: String },
    #[error("{found} examples; expected at most {MOST_EXAMPLES}: give fewer")]
    TooMany { found: u64 },
    #[error("it holds no example; expected at least 1")]
    NoExamples,
    #[error("its classes: {0}")]
    Classes(#[from] ClassesError),

    #[error(
        "length {found}: CIFAR's binary files are records of 3073 bytes (CIFAR-10) or 3074 (CIFAR-100), and this is not a multiple of either; it was cut short, so fetch it again"
    )]
    CifarLength { found: u64 },
    #[error(
        "{field} {found} in record {record} (counted from 0); expected 0 to {most}: the file is damaged or not CIFAR's, so fetch it again"
    )]
    CifarLabel { field: CifarField, found: u8, record: usize, most: u8 },
    #[error("{found} class names; expected {expected}, one per line")]
    CifarNames { found: usize, expected: usize },
    #[error("line {line} is not text (UTF-8); expected a class name")]
    CifarText { line: usize },
    #[error(
        "only a test batch; choose the training batches (data_batch_1.bin … of CIFAR-10, train.bin of CIFAR-100) as well"
    )]
    TestAlone,
    #[error(
        "the name says neither training nor test; name it as CIFAR does: data_batch_1.bin …, test_batch.bin, train.bin, test.bin"
    )]
    CifarNameless,
    #[error("only class names; choose the batches they belong to as well")]
    NamesAlone,
    #[error("{file} is not in it; fetch the archive again")]
    CifarMissing { file: String },

    #[error("gzip: the compressed data ends early, in “{entry}”, so the file was cut short; fetch it again")]
    GzipTruncated { entry: String },
    #[error("gzip: the compressed data is damaged in “{entry}” ({detail}); fetch the file again")]
    GzipDamaged { entry: String, detail: String },
    #[error("tar: the archive ends within “{entry}”, so it was cut short; fetch it again")]
    TarTruncated { entry: String },
    #[error(
        "tar: the {field} of the header at byte {at} (unpacked) cannot be read; the archive is damaged, so fetch it again"
    )]
    TarHeader { field: TarField, at: u64 },
    #[error("tar: “{entry}” is not a file (a link, for example); expected CIFAR's own archive, as published")]
    TarKind { entry: String },
    #[error(
        "“{entry}” is not one of CIFAR's files; expected cifar-10-binary.tar.gz or cifar-100-binary.tar.gz as published, or a ZIP of pictures"
    )]
    TarEntry { entry: String },

    #[error("IDX files of several sets: {found}; give the files of one of them")]
    IdxSets { found: String },

    #[error("ZIP: the archive is damaged or was cut short; make or fetch it again")]
    Zip,
    #[error("ZIP: an entry is in it twice; make the archive again")]
    ZipTwice,
    #[error("ZIP: its entries take more bytes than it has, so some overlap; make the archive again")]
    ZipOverlap,
    #[error("ZIP: {found} entries; expected at most {most}")]
    ZipEntries { found: usize, most: usize },
    #[error(
        "ZIP: “{entry}” cannot be unpacked; make the archive again, with deflate or without compression, and without a password"
    )]
    ZipEntry { entry: String },

    #[error("“{array}” is not a NumPy array: it begins with bytes {found}; expected 93 4e 55 4d 50 59")]
    NpyMagic { array: String, found: String },
    #[error("“{array}” has version {found} of NumPy's format; expected 1 to 3")]
    NpyVersion { array: String, found: u8 },
    #[error("“{array}”: the header cannot be read at {field}; save the array again, by numpy.savez")]
    NpyHeader { array: String, field: NpyField },
    #[error("“{array}” has elements of type “{name}”; expected {expected}: convert it by .astype")]
    NpyType { array: String, name: String, expected: NpyExpected },
    #[error(
        "“{array}” holds Python objects (a pickle), which could run a program when read; save it as numbers, by {array} = {array}.astype(int), or as text, by .astype(str)"
    )]
    NpyObjects { array: String },
    #[error("“{array}” has shape “{found}”; expected {expected}")]
    NpyShape { array: String, found: String, expected: NpyExpected },
    #[error(
        "“{array}”: {expected} bytes of elements were declared and there are {found}; it was cut short, so save it again"
    )]
    NpyLength { array: String, found: u64, expected: u64 },
    #[error("“{array}”: {field} {found}; expected 1 to {MOST_SIDE}: scale the images first")]
    NpySide { array: String, field: NpySide, found: u64 },
    #[error("“{array}”: the value {found} in image {image} (counted from 0) at place {place}; expected finite numbers")]
    NpyPixel { array: String, image: usize, place: usize, found: String },
    #[error(
        "the values of the images are from {low} to {high}; expected 0 to 1, 0 to 16, 0 to 255, 0 to 65535, −1 to 1 or −128 to 127: undo their standardisation"
    )]
    NpyRange { low: String, high: String },
    #[error(
        "“{array}”: row {index} (counted from 0) has not exactly one 1 beside zeros; expected one class per example"
    )]
    NpyOneHot { array: String, index: usize },
    #[error(
        "“{first}” and “{second}” could both be meant; leave one out, or call what is meant x and y, x_test and y_test"
    )]
    NpyAmbiguous { first: String, second: String },
    #[error("the columns “{first}” and “{second}” could both be the users; leave one out, or rename it")]
    TwoUsers { first: String, second: String },
    #[error("line {line} has {found} columns; expected {expected}, as in the first line")]
    TableLine { line: u64, found: usize, expected: usize },
    #[error("line {line}, column {column}: “{found}”; expected a number, or a short name as the label")]
    TableValue { line: u64, column: usize, found: String },
    #[error("{found} columns; expected 2 to {most}: a label and the values of a square image")]
    TableColumns { found: usize, most: usize },
    #[error("some labels are names and some are numbers; give one kind")]
    NpyMixedLabels,
    #[error("“{array}”: label {found} at example {index} (counted from 0); expected 0 to {}", MOST_CLASSES - 1)]
    NpyLabel { array: String, index: usize, found: String },
    #[error(
        "“{array}”: no user at example {index} (counted from 0); give each example a user, as a whole number or a text, or leave the users out"
    )]
    NoUser { array: String, index: usize },
    #[error(
        "“{images}” has {found} images and “{users}” tells the users of {other}; the counts must be equal, or leave the users out"
    )]
    UserCounts { images: String, found: u64, users: String, other: u64 },
    #[error(
        "no images with labels were found among the arrays “{found}”; call them x and y, or x_train, y_train, x_test and y_test"
    )]
    NpyNames { found: String },
    #[error("“{images}” has {found} images and “{labels}” has {other} labels; the counts must be equal")]
    NpyCounts { images: String, found: u64, labels: String, other: u64 },
    #[error("“{first}” and “{second}” hold images of different sizes; the sizes must be equal")]
    NpySizes { first: String, second: String },

    #[error("it holds no picture; expected a folder for each class, with pictures in it")]
    NoPictures,
    #[error(
        "“{entry}” is not in a class folder; expected class/name.png, or train/class/name.png and test/class/name.png"
    )]
    NoFolder { entry: String },
    #[error("“{entry}” is nested too deep; expected class/name.png, or train/class/name.png and test/class/name.png")]
    TooDeep { entry: String },
    #[error("“{entry}” is not named .png, .jpg, .jpeg, .gif, .bmp, .webp, .tif, .tiff, .pgm, .ppm or .pnm; convert it")]
    NoPicture { entry: String },
    #[error("“{entry}”: the class “{class}” has no training pictures; give some, or leave it out")]
    OnlyTested { entry: String, class: String },
    #[error("only test pictures; give some to train on, in train/class/name.png")]
    OnlyTests,
    #[error("“{entry}” begins with bytes {found}; expected those of PNG, JPEG, GIF, BMP, WebP, TIFF, PGM or PPM")]
    PictureMagic { entry: String, found: String },
    #[error("“{entry}”: the size of the picture cannot be read; it is damaged or was cut short")]
    PictureHeader { entry: String },
    #[error("“{entry}” has no end: it was cut short; leave it out, or fetch it again")]
    PictureCut { entry: String },
    #[error("“{entry}” has {width}×{height} pixels; expected 1 to {LONGEST} each way: scale it first")]
    PictureSize { entry: String, width: u32, height: u32 },
    #[error("“{entry}” cannot be decoded ({detail}); leave it out, or save it again")]
    Undecodable { entry: String, detail: String },
    #[error("“{entry}” states {width}×{height} pixels but decodes to another size; save it again")]
    OtherSize { entry: String, width: u32, height: u32 },
    #[error("“{entry}” cannot be read ({detail})")]
    Unreadable { entry: String, detail: String },
}

impl FileFault {
    /// True if a picture, by itself, is not whole or not of a format that is read.
    pub(super) const fn is_of_picture(&self) -> bool {
        matches!(
            self,
            Self::ZipEntry { .. }
                | Self::PictureMagic { .. }
                | Self::PictureHeader { .. }
                | Self::PictureCut { .. }
                | Self::PictureSize { width: 0, .. }
                | Self::PictureSize { height: 0, .. }
        )
    }

    /// Attaches the file's name.
    pub(super) fn of(self, file: &str) -> FileError {
        FileError { file: file.to_owned(), fault: self }
    }
}

/// A label field of a CIFAR record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CifarField {
    /// The label of CIFAR-10.
    Label,
    /// The first byte of CIFAR-100.
    Coarse,
    /// The second byte of CIFAR-100.
    Fine,
}

hushgrad_message::display!(CifarField);

impl ToMessage for CifarField {
    fn to_message(&self) -> Message {
        match self {
            Self::Label => "label",
            Self::Coarse => word!("coarse label"),
            Self::Fine => word!("fine label"),
        }
        .into()
    }
}

/// A field of a tar header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TarField {
    /// The entry's name.
    Name,
    /// Its length.
    Size,
    /// The sum of the header's bytes.
    Checksum,
}

hushgrad_message::display!(TarField);

impl ToMessage for TarField {
    fn to_message(&self) -> Message {
        match self {
            Self::Name => "name",
            Self::Size => "size",
            Self::Checksum => "checksum",
        }
        .into()
    }
}

/// A field of a NumPy header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NpyField {
    /// The header's length.
    Length,
    /// The type of the elements.
    Descr,
    /// The order of the elements in memory.
    FortranOrder,
    /// The lengths of the dimensions.
    Shape,
}

hushgrad_message::display!(NpyField);

impl ToMessage for NpyField {
    fn to_message(&self) -> Message {
        match self {
            Self::Length => word!("its length"),
            Self::Descr => "“descr”",
            Self::FortranOrder => "“fortran_order”",
            Self::Shape => "“shape”",
        }
        .into()
    }
}

/// The type or shape that an array should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NpyExpected {
    /// Element types of images.
    ImageType,
    /// Element types of labels.
    LabelType,
    /// Shapes of images.
    ImageShape,
    /// Shapes of labels.
    LabelShape,
    /// Shapes of users.
    UserShape,
}

hushgrad_message::display!(NpyExpected);

impl ToMessage for NpyExpected {
    fn to_message(&self) -> Message {
        match self {
            Self::ImageType => word!("numbers (u1 to u8, i1 to i8, f2 to f8) or booleans"),
            Self::LabelType => word!("whole numbers, or text"),
            Self::ImageShape => {
                word!("(count, rows, columns), with 1 or 3 channels before or after rows and columns, or (count, side×side)")
            }
            Self::LabelShape => word!("(count,), (count, 1), or a row for each example with a single 1"),
            Self::UserShape => word!("(count,) or (count, 1), a user for each example"),
        }
        .into()
    }
}

/// A side of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NpySide {
    /// Pixels from top to bottom.
    Rows,
    /// Pixels from left to right.
    Columns,
}

hushgrad_message::display!(NpySide);

impl ToMessage for NpySide {
    fn to_message(&self) -> Message {
        match self {
            Self::Rows => "rows",
            Self::Columns => "columns",
        }
        .into()
    }
}

/// A name from an archive, shortened for an error message.
pub(super) fn shown(name: &str) -> String {
    quoted(name, 80)
}
