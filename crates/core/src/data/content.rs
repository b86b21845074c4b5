//! What a file is: told by its bytes, and never by its name but for the few texts of CIFAR's.

use super::{
    archive,
    cifar::{self, Batch, Text},
    file_fault::{FileError, FileFault},
    idx::{self, GZIP, Idx, IdxError, hex},
    npy, npz,
    pictures::Undecoded,
    sets::Sets,
    zipped::{self, Zipped},
};

/// A file that was read.
#[derive(Debug)]
pub(super) enum Content {
    /// Images or labels.
    Idx(Idx),
    /// Images with their labels, among others of the same set.
    Batch(Batch),
    Text(Text),
    /// A set by itself.
    Sets(Sets),
    /// A set by itself, once its pictures are decoded.
    Pictures(Undecoded),
}

impl Content {
    /// Bytes that it holds unpacked.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Idx(idx) => idx.elements.len() as u64,
            Self::Batch(batch) => batch.bytes(),
            Self::Sets(sets) => sets.bytes(),
            // Pictures count themselves when they are decoded.
            Self::Text(_) | Self::Pictures(_) => 0,
        }
    }
}

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ContentError {
    #[error(transparent)]
    Idx(#[from] IdxError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Idx,
    /// IDX, or an archive.
    Gzip,
    Cifar,
    Text,
    Zip,
}

/// The form of a file of `size` bytes that begins with these.
fn form(name: &str, start: &[u8], size: u64) -> Result<Form, FileFault> {
    match start {
        _ if cifar::is_text(name) && size <= cifar::LONGEST_TEXT => Ok(Form::Text),
        [] => Ok(Form::Idx),
        _ if start.starts_with(&GZIP) => Ok(Form::Gzip),
        _ if zipped::MAGIC.iter().any(|magic| start.starts_with(magic)) => Ok(Form::Zip),
        _ if start.starts_with(npy::MAGIC) => Err(FileFault::OneArray),
        [0x89, b'P', b'N', b'G', ..] | [0xff, 0xd8, 0xff, ..] => Err(FileFault::OnePicture),
        // Records have no header, so all that they can be known by is their length; the first of them may begin as IDX does.
        _ if cifar::is_length(size) && !idx::declares(start, size) => Ok(Form::Cifar),
        // The third byte of IDX is a type of elements.
        [0, 0, kind, ..] if is_bin(name) && !(0x08..=0x0e).contains(kind) => {
            Err(FileFault::CifarLength { found: size })
        }
        [0, 0, ..] | [0] => Ok(Form::Idx),
        // A record's first byte is below 20.
        [0..20, ..] if is_bin(name) => Err(FileFault::CifarLength { found: size }),
        _ => Err(FileFault::Unknown { found: idx::told(start) }),
    }
}

/// For the sentence alone.
fn is_bin(name: &str) -> bool {
    name.to_lowercase().ends_with(".bin")
}

/// Checks what the first bytes of a file of `size` bytes show. A kilobyte is enough.
///
/// # Errors
/// As [`read`], but for what only the rest can show.
pub(super) fn check_start(name: &str, start: &[u8], size: u64) -> Result<(), ContentError> {
    if form(name, start, size).map_err(|fault| fault.of(name))? == Form::Idx {
        idx::check_start(name, start, size)?;
    }
    Ok(())
}

/// Reads a file; `name` is its name.
///
/// # Errors
/// The first thing that is wrong with it.
pub(super) fn read(name: &str, bytes: Vec<u8>) -> Result<Content, ContentError> {
    let named = |fault: FileFault| fault.of(name);
    Ok(match form(name, &bytes, bytes.len() as u64).map_err(named)? {
        Form::Gzip if is_archive(&bytes) => Content::Sets(archive::read(name, &bytes)?),
        Form::Gzip | Form::Idx => Content::Idx(idx::read_owned(name, bytes)?),
        Form::Cifar => Content::Batch(Batch::read(bytes).map_err(named)?),
        Form::Text => match cifar::text(name, &bytes) {
            Some(text) => Content::Text(text.map_err(named)?),
            None => return Err(named(FileFault::Unknown { found: hex(&bytes[..bytes.len().min(4)]) }).into()),
        },
        Form::Zip => {
            let zip = Zipped::open(bytes).map_err(named)?;
            let names = zip.names();
            if npz::is_npz(&names) {
                Content::Sets(npz::read(name, zip)?)
            } else {
                Content::Pictures(Undecoded::open(name, &names, Box::new(zip))?)
            }
        }
    })
}

/// Whether a gzip file holds a tar archive. What cannot be unpacked is left to the reader of IDX, which says so.
fn is_archive(packed: &[u8]) -> bool {
    idx::unpacked_start(packed, 512).is_ok_and(|start| archive::is_tar(&start))
}
