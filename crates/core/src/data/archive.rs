//! CIFAR's archives, `cifar-10-binary.tar.gz` and `cifar-100-binary.tar.gz`, unpacked in one pass.
//! Sources: POSIX.1-1988 (ustar), RFC 1952 (gzip).

use std::io::Read;

use flate2::bufread::MultiGzDecoder;

use super::{
    cifar::{self, Batch, LONGEST_TEXT},
    file_fault::{FileError, FileFault, MOST_OF_ALL, MOST_OF_ONE, TarField, shown},
    idx::DEFLATE_RATIO,
    known,
    sets::Sets,
};

/// Bytes of a header; contents are padded to a multiple of it.
pub(super) const BLOCK: usize = 512;
/// Name in errors that concern no entry.
const TAR: &str = "tar";
/// Most entries of an archive, of any kind.
const MOST_ENTRIES: usize = 64;
/// Most bytes of an extended header.
const LONGEST_EXTENSION: u64 = 1 << 16;

/// True if an unpacked file begins with a tar header.
pub(super) fn is_tar(start: &[u8]) -> bool {
    start.len() >= BLOCK && start[..BLOCK].iter().any(|&byte| byte != 0) && checksum(start) == octal(&start[148..156])
}

/// Reads an archive; `file` is its name.
///
/// # Errors
/// The first damaged or unknown entry, or a missing batch.
pub(super) fn read(file: &str, packed: &[u8]) -> Result<Sets, FileError> {
    let digest = known::md5(packed);
    let (batches, texts) = entries(packed, MOST_OF_ALL).map_err(|fault| fault.of(file))?;
    if let Some((_, first)) = batches.first() {
        let (training, test) = first.variety.batches();
        let missing = training.iter().chain([&test]).find(|name| !batches.iter().any(|(found, _)| found == *name));
        if let Some(missing) = missing {
            return Err(FileFault::CifarMissing { file: (*missing).to_owned() }.of(file));
        }
    }
    let sets = cifar::assemble(batches, texts).map_err(|error| error.fault.of(file))?;
    let published = match digest.as_str() {
        known::CIFAR_10 => Some("CIFAR-10"),
        known::CIFAR_100 => Some("CIFAR-100"),
        _ => None,
    };
    Ok(Sets { published, ..sets })
}

type Entries = (Vec<(String, Batch)>, Vec<(String, cifar::Text)>);

fn entries(packed: &[u8], most: u64) -> Result<Entries, FileFault> {
    let mut tar = Tar { gzip: MultiGzDecoder::new(packed), at: 0, within: TAR.to_owned() };
    let (mut batches, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..MOST_ENTRIES {
        let Some(Entry { name, size, kind }) = tar.header()? else {
            tar.end()?;
            return Ok((batches, texts));
        };
        tar.within = shown(&name);
        let entry = || shown(&name);
        match kind {
            // A file; a folder; an extended header for the next entry or for all.
            0 | b'0' => {}
            b'5' if size == 0 => continue,
            b'x' | b'g' if size <= LONGEST_EXTENSION => {
                tar.contents(size, packed.len())?;
                continue;
            }
            _ => return Err(FileFault::TarKind { entry: entry() }),
        }
        let base = name.rsplit('/').next().unwrap_or(&name).to_owned();
        if cifar::is_text(&base) {
            if size > LONGEST_TEXT {
                return Err(FileFault::EntryTooLarge { entry: entry(), bytes: size, most: LONGEST_TEXT });
            }
            let contents = tar.contents(size, packed.len())?;
            if let Some(text) = cifar::text(&base, &contents) {
                texts.push((base, text?));
            }
            continue;
        }
        let known = [cifar::CifarVersion::Ten, cifar::CifarVersion::Hundred].into_iter().any(|variety| {
            let (training, test) = variety.batches();
            base == test || training.contains(&base.as_str())
        });
        if !known {
            return Err(FileFault::TarEntry { entry: entry() });
        }
        if batches.iter().any(|(other, _)| *other == base) {
            return Err(FileFault::Twice { entry: base });
        }
        if size > MOST_OF_ONE {
            return Err(FileFault::EntryTooLarge { entry: entry(), bytes: size, most: MOST_OF_ONE });
        }
        bytes += size;
        if bytes > most {
            return Err(FileFault::TooMuch { entry: entry(), most });
        }
        let batch = Batch::read(tar.contents(size, packed.len())?)?;
        batches.push((base, batch));
    }
    Err(FileFault::TarEntry { entry: tar.within })
}

struct Entry {
    name: String,
    size: u64,
    kind: u8,
}

struct Tar<'a> {
    gzip: MultiGzDecoder<&'a [u8]>,
    /// Unpacked bytes so far.
    at: u64,
    /// Entry being read, for errors.
    within: String,
}

impl Tar<'_> {
    /// Reads the next header; `None` at the end of the archive.
    fn header(&mut self) -> Result<Option<Entry>, FileFault> {
        let at = self.at;
        let block = self.take(BLOCK as u64, BLOCK)?;
        // Some programs omit the zero blocks at the end.
        if block.is_empty() || block.len() == BLOCK && block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        if block.len() < BLOCK {
            return Err(FileFault::TarTruncated { entry: self.within.clone() });
        }
        let fault = |field| FileFault::TarHeader { field, at };
        if octal(&block[148..156]) != checksum(&block) {
            return Err(fault(TarField::Checksum));
        }
        let size = octal(&block[124..136]).ok_or_else(|| fault(TarField::Size))?;
        let word = |from: &[u8]| {
            let end = from.iter().position(|&byte| byte == 0).unwrap_or(from.len());
            std::str::from_utf8(&from[..end]).map(str::to_owned).map_err(|_| fault(TarField::Name))
        };
        let (mut name, prefix) = (word(&block[..100])?, word(&block[345..500])?);
        if block[257..262] == *b"ustar" && !prefix.is_empty() && block[257..263] == *b"ustar\0" {
            name = format!("{prefix}/{name}");
        }
        Ok(Some(Entry { name, size, kind: block[156] }))
    }

    /// Reads the contents of an entry and skips its padding.
    fn contents(&mut self, size: u64, packed: usize) -> Result<Vec<u8>, FileFault> {
        // Reserve no more than the packed bytes can unpack to.
        let whole = size.next_multiple_of(BLOCK as u64);
        let room = whole.min(packed.saturating_mul(DEFLATE_RATIO) as u64) as usize;
        let mut contents = self.take(whole, room)?;
        if (contents.len() as u64) < size {
            return Err(FileFault::TarTruncated { entry: self.within.clone() });
        }
        contents.truncate(size as usize);
        Ok(contents)
    }

    /// Unpacks at most `bytes` bytes, with memory for `room` reserved first.
    fn take(&mut self, bytes: u64, room: usize) -> Result<Vec<u8>, FileFault> {
        let mut out = Vec::new();
        let entry = || self.within.clone();
        out.try_reserve_exact(room + 1).map_err(|_| FileFault::NoMemory { entry: entry(), bytes })?;
        (&mut self.gzip).take(bytes).read_to_end(&mut out).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => FileFault::GzipTruncated { entry: entry() },
            _ => FileFault::GzipDamaged { entry: entry(), detail: error.to_string() },
        })?;
        self.at += out.len() as u64;
        Ok(out)
    }

    /// Reads the padding after the last entry, less than 1 MiB, so that gzip checks its checksum.
    fn end(&mut self) -> Result<(), FileFault> {
        const MOST: u64 = 1 << 20;
        TAR.clone_into(&mut self.within);
        if self.take(MOST, 1 << 16)?.len() as u64 == MOST {
            return Err(FileFault::TooMuch { entry: self.within.clone(), most: MOST });
        }
        Ok(())
    }
}

/// Parses an octal number between blanks or NUL bytes.
fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if text.is_empty() { None } else { u64::from_str_radix(text, 8).ok() }
}

/// Sum of a header's bytes, with the checksum field taken as blanks.
pub(super) fn checksum(block: &[u8]) -> Option<u64> {
    let byte = |(i, &byte): (usize, &u8)| if (148..156).contains(&i) { 32 } else { u64::from(byte) };
    Some(block.iter().take(BLOCK).enumerate().map(byte).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{
        cifar::CifarVersion,
        tests::{entry, gzip, header, packed, records, ten},
    };

    #[test]
    fn an_archive_is_read_in_one_pass() {
        let sets = read("cifar.tar.gz", &packed(&ten())).unwrap();
        assert_eq!((sets.train.labels.len(), sets.test.as_ref().map(|test| test.labels.len())), (32, Some(7)));
        assert_eq!(sets.train.images[..3072], records(CifarVersion::Ten, 1, 1)[1..]);
        assert_eq!(sets.train.images[3072 * 12..][..3072], records(CifarVersion::Ten, 1, 2)[1..], "by their names");
        assert_eq!(sets.classes.as_ref().unwrap().name(9), "j");
        assert_eq!(sets.published, None);
        let hundred = packed(&[
            ("pax", b"20 comment=something".to_vec(), b'g'),
            ("cifar-100-binary/test.bin", records(CifarVersion::Hundred, 3, 0), 0),
            ("cifar-100-binary/train.bin", records(CifarVersion::Hundred, 4, 1), b'0'),
        ]);
        let sets = read("cifar.tar.gz", &hundred).unwrap();
        assert_eq!((sets.train.labels.len(), sets.classes.unwrap().count()), (4, 100));
    }

    #[test]
    fn faulty_archives_are_reported() {
        let without = |gone: &str| {
            let mut entries = ten();
            entries.retain(|(name, ..)| !name.ends_with(gone));
            packed(&entries)
        };
        let with = |name: &'static str, contents: Vec<u8>, kind| {
            let mut entries = ten();
            entries.push((name, contents, kind));
            packed(&entries)
        };
        let good: Vec<u8> = ten().iter().flat_map(|(name, contents, kind)| entry(name, contents, *kind)).collect();
        let changed = |at: usize, byte: u8| {
            let mut tar = good.clone();
            tar[at] = byte;
            gzip(&tar)
        };
        let lies = |size| gzip(&[&header("test.bin", size, b'0')[..], &[0; 100]].concat());
        let mut cut = packed(&ten());
        cut.truncate(cut.len() / 2);
        let mut damaged = packed(&ten());
        let end = damaged.len() - 8;
        damaged[end] ^= 1;
        for (bytes, says) in [
            (without("data_batch_3.bin"), "data_batch_3.bin is not in it; fetch the archive again"),
            (without("test_batch.bin"), "test_batch.bin is not in it"),
            (packed(&[("notes.txt", vec![1], b'0')]), "“notes.txt” is not one of CIFAR's files"),
            (packed(&[]), "only class names"),
            (with("x/test_batch.bin", records(CifarVersion::Ten, 1, 0), b'0'), "“test_batch.bin” is in it twice"),
            (with("x/test.bin", records(CifarVersion::Hundred, 1, 0), b'0'), "length 3074: "),
            (with("link", vec![], b'2'), "tar: “link” is not a file (a link, for example)"),
            (packed(&[("test_batch.bin", vec![3; 5000], b'0')]), "length 5000: "),
            (packed(&[("test_batch.bin", vec![99; 3073], b'0')]), "label 99 in record 0"),
            (
                packed(&[("readme.html", vec![0; 200_000], b'0')]),
                "“readme.html” has 200000 bytes; expected at most 100000",
            ),
            (lies(0o77_777_777_777), "“test.bin” has 8589934591 bytes; expected at most 392000016"),
            (lies(3074), "tar: the archive ends within “test.bin”"),
            (changed(BLOCK + 124, b'z'), "tar: the checksum of the header at byte 512"),
            (gzip(&good[..BLOCK + 700]), "tar: the archive ends within “cifar-10-batches-bin/data_batch_1.bin”"),
            (gzip(&good[..BLOCK + 200]), "tar: the archive ends within “cifar-10-batches-bin/”"),
            (cut, "gzip: the compressed data ends early, in “"),
            (damaged, "gzip: the compressed data is damaged in “tar”"),
            (gzip(&vec![0; 30_000_000]), "unpacked, it exceeds 1048576 bytes"),
        ] {
            let error = read("cifar.tar.gz", &bytes).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cifar.tar.gz: {says}")), "{error} / {says}");
        }
        let most = 60_000;
        assert_eq!(
            entries(&packed(&ten()), most).unwrap_err().to_string(),
            "unpacked, it exceeds 60000 bytes at “cifar-10-batches-bin/data_batch_4.bin”; give fewer examples, or smaller ones"
        );
    }
}
