//! ZIP archives in memory: entry names, and one entry at a time, unpacked up to a limit.

use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::{
    file_fault::{FileFault, MOST_EXAMPLES, MOST_OF_ONE, shown},
    pictures::Files,
};

/// First bytes of a ZIP; the second is that of an empty one.
pub(super) const MAGIC: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// Most entries: room for folders and notes besides the examples.
const MOST_ENTRIES: usize = 2 * MOST_EXAMPLES;

/// An archive whose directory has been read.
pub(super) struct Zipped {
    archive: ZipArchive<Cursor<Vec<u8>>>,
    /// Bytes unpacked of damaged entries.
    lost: u64,
}

impl Zipped {
    /// Reads the directory.
    ///
    /// # Errors
    /// A damaged or too long directory, a name given twice, or entries that share bytes.
    pub fn open(bytes: Vec<u8>) -> Result<Self, FileFault> {
        let most = bytes.len() as u64;
        let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| FileFault::Zip)?;
        if archive.len() > MOST_ENTRIES {
            return Err(FileFault::ZipEntries { found: archive.len(), most: MOST_ENTRIES });
        }
        if archive.has_duplicate_names() {
            return Err(FileFault::ZipTwice);
        }
        let mut packed = 0;
        for entry in 0..archive.len() {
            packed += archive.by_index_raw(entry).map_err(|_| FileFault::Zip)?.compressed_size();
            if packed > most {
                return Err(FileFault::ZipOverlap);
            }
        }
        Ok(Self { archive, lost: 0 })
    }

    /// Names of all entries, in the directory's order; those of folders end in `/`.
    pub fn names(&self) -> Vec<String> {
        self.archive.file_names_raw().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// Unpacks an entry. Fails if it is damaged, unsupported or larger than `most` bytes.
    pub fn unpacked(&mut self, entry: usize, most: u64) -> Result<Vec<u8>, FileFault> {
        let name = self.archive.name_for_index(entry).and_then(Result::ok);
        let name = name.map(|name| shown(&name)).unwrap_or_default();
        let unreadable = || FileFault::ZipEntry { entry: name.clone() };
        let mut found = self.archive.by_index(entry).map_err(|_| unreadable())?;
        let too_large = |bytes| FileFault::EntryTooLarge { entry: name.clone(), bytes, most };
        let (size, packed) = (found.size(), found.compressed_size());
        if size > most {
            return Err(too_large(size));
        }
        // Reserve no more than the packed bytes can unpack to.
        let room = size.min(packed.saturating_mul(super::idx::DEFLATE_RATIO as u64)) + 1;
        let mut bytes = Vec::new();
        let no_memory = |_| FileFault::NoMemory { entry: name.clone(), bytes: size };
        bytes.try_reserve_exact(room as usize).map_err(no_memory)?;
        let read = (&mut found).take(most + 1).read_to_end(&mut bytes);
        drop(found);
        if read.is_err() {
            self.lost += bytes.len() as u64;
            return Err(unreadable());
        }
        if bytes.len() as u64 > most {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(bytes)
    }

    /// Unpacks entries, one after the other, with their names: at most `most` bytes in all.
    pub fn each(
        &mut self,
        places: Vec<usize>,
        most: u64,
    ) -> impl Iterator<Item = Result<(String, Vec<u8>), FileFault>> {
        let (names, mut left) = (self.names(), most);
        places.into_iter().map(move |place| {
            let bytes = self.unpacked(place, MOST_OF_ONE.min(left)).map_err(|fault| match fault {
                FileFault::EntryTooLarge { entry, bytes, .. } if bytes <= MOST_OF_ONE => {
                    FileFault::TooMuch { entry, most }
                }
                other => other,
            })?;
            left -= bytes.len() as u64;
            Ok((names[place].clone(), bytes))
        })
    }
}

impl Files for Zipped {
    fn read(&mut self, place: usize, most: u64) -> Result<Vec<u8>, FileFault> {
        self.unpacked(place, most)
    }

    fn lost(&self) -> u64 {
        self.lost
    }
}
