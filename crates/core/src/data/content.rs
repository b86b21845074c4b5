//! Recognises a file by its bytes; only CIFAR's few texts are recognised by their names.

use super::{
    archive,
    cifar::{self, Batch, Text},
    decoded_here,
    file_fault::{FileError, FileFault},
    idx::{self, GZIP, Idx, IdxError, hex},
    idx_files, npy, npz,
    pictures::Undecoded,
    sets::Sets,
    table,
    zipped::{self, Zipped},
};
use hushgrad_message::Message;

/// A parsed file.
#[derive(Debug)]
pub(super) enum Content {
    /// Images or labels.
    Idx(Idx),
    /// The IDX files of a ZIP.
    Zip(idx_files::Zip),
    /// Images with their labels; other batches may belong to the same set.
    Batch(Batch),
    Text(Text),
    /// NumPy arrays; others may belong to the same set if each has a file of its own.
    Arrays(Vec<npz::Named>),
    /// The images and the labels of a table; another may be the test set.
    Table(Vec<npz::Named>),
    /// A complete set.
    Sets(Sets),
    /// A complete set of pictures still to be decoded.
    Pictures(Undecoded),
}

impl Content {
    /// Bytes held unpacked.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Idx(idx) => idx.bytes(),
            Self::Zip(zip) => zip.bytes(),
            Self::Batch(batch) => batch.bytes(),
            Self::Arrays(arrays) | Self::Table(arrays) => arrays.iter().map(npz::Named::bytes).sum(),
            Self::Sets(sets) => sets.bytes(),
            // Pictures are counted when they are decoded.
            Self::Text(_) | Self::Pictures(_) => 0,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub(super) enum ContentError {
    #[error(transparent)]
    Idx(#[from] IdxError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Format by which to read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Idx,
    /// IDX or a tar archive, gzipped.
    Gzip,
    Cifar,
    Text,
    Npy,
    Table,
    Zip,
}

/// Recognises a file of `size` bytes by its name and its first bytes.
fn form(name: &str, start: &[u8], size: u64) -> Result<Form, FileFault> {
    match start {
        _ if cifar::is_text(name) && size <= cifar::LONGEST_TEXT => Ok(Form::Text),
        [] => Ok(Form::Idx),
        _ if start.starts_with(&GZIP) => Ok(Form::Gzip),
        _ if zipped::MAGIC.iter().any(|magic| start.starts_with(magic)) => Ok(Form::Zip),
        _ if start.starts_with(npy::MAGIC) => Ok(Form::Npy),
        [0x89, b'P', b'N', b'G', ..] | [0xff, 0xd8, 0xff, ..] => Err(FileFault::OnePicture),
        _ if decoded_here::is_of_picture(start) => Err(FileFault::OnePicture),
        // CIFAR's records have no header, only their length, and may begin like IDX.
        _ if cifar::is_length(size) && !idx::declares(start, size) => Ok(Form::Cifar),
        // The third byte of IDX is the element type.
        [0, 0, kind, ..] if is_bin(name) && !(0x08..=0x0e).contains(kind) => {
            Err(FileFault::CifarLength { found: size })
        }
        [0, 0, ..] | [0] => Ok(Form::Idx),
        // A record's first byte is below 20.
        [0..20, ..] if is_bin(name) => Err(FileFault::CifarLength { found: size }),
        _ if table::is_table(start) => Ok(Form::Table),
        _ => Err(FileFault::Unknown { found: idx::start(start) }),
    }
}

/// Decides only which error is reported.
fn is_bin(name: &str) -> bool {
    name.to_lowercase().ends_with(".bin")
}

/// Checks the first bytes of a file of `size` bytes, as [`read`] would; a kilobyte is enough.
pub(super) fn check_start(name: &str, start: &[u8], size: u64) -> Result<(), ContentError> {
    if form(name, start, size).map_err(|fault| fault.of(name))? == Form::Idx {
        idx::check_start(name, start, size)?;
    }
    Ok(())
}

/// Reads a file; `name` is its name.
pub(super) fn read(name: &str, bytes: Vec<u8>) -> Result<Content, ContentError> {
    let named = |fault: FileFault| fault.of(name);
    Ok(match form(name, &bytes, bytes.len() as u64).map_err(named)? {
        Form::Gzip if is_archive(&bytes) => Content::Sets(archive::read(name, &bytes)?),
        Form::Gzip | Form::Idx => Content::Idx(idx::read_owned(name, bytes)?),
        Form::Cifar => Content::Batch(Batch::read(bytes).map_err(named)?),
        Form::Text => match cifar::text(name, &bytes) {
            Some(text) => Content::Text(text.map_err(named)?),
            None => {
                return Err(
                    named(FileFault::Unknown { found: Message::text(hex(&bytes[..bytes.len().min(4)])) }).into()
                );
            }
        },
        Form::Table => Content::Table(table::read(&bytes).map_err(named)?),
        Form::Npy => Content::Arrays(vec![npz::Named::alone(bytes)]),
        Form::Zip => {
            let mut zip = Zipped::open(bytes).map_err(named)?;
            let names = zip.names();
            if npz::is_npz(&names) {
                Content::Arrays(npz::arrays(zip).map_err(named)?)
            } else if names.iter().any(|name| idx_files::is_named(name)) {
                Content::Zip(idx_files::Zip::read(name, &mut zip)?)
            } else {
                Content::Pictures(Undecoded::open(name, &names, Box::new(zip))?)
            }
        }
    })
}

/// True if a gzip file holds a tar archive. If it cannot be unpacked, the IDX reader reports that.
fn is_archive(packed: &[u8]) -> bool {
    idx::unpacked_start(packed, 512).is_ok_and(|start| archive::is_tar(&start))
}
