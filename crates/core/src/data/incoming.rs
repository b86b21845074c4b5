//! Receives a visitor's files piece by piece. Their number and sizes are checked before any byte is
//! requested; each file is parsed once complete, so that only one is held unparsed.

use std::ops::Range;

use super::{
    content::{self, Content},
    file_fault::{MOST_OF_ALL, MOST_OF_ONE},
    idx_files,
    visitor::{self, Assembled, VisitorError},
};

/// Bytes of a file's first piece, which shows its format, and of later pieces.
const FIRST: u64 = 1 << 10;
const PIECE: u64 = 4 << 20;

/// Files being received.
#[derive(Debug)]
pub struct Incoming {
    /// The files to read: the index of each among those given, its name and its size in bytes.
    files: Vec<(u32, String, u64)>,
    /// The files that have been received and parsed, in order.
    read: Vec<Content>,
    /// The bytes received of the next file.
    bytes: Vec<u8>,
    /// Most bytes of all files unpacked.
    most: u64,
}

/// A range of bytes of one file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Piece {
    /// Index of the file, from 0.
    pub file: u32,
    /// Byte range within the file.
    pub bytes: Range<u64>,
}

impl Incoming {
    /// Prepares to receive files, given as names and sizes in bytes; of `X` and `X.gz` only `X`.
    ///
    /// # Errors
    /// No file, more than seven, an empty one, one over 500,000 digits, or over 512 MB in all.
    pub fn new(files: Vec<(String, u64)>) -> Result<Self, VisitorError> {
        Self::within(MOST_OF_ALL, files)
    }

    fn within(most: u64, files: Vec<(String, u64)>) -> Result<Self, VisitorError> {
        let files = (0..).zip(files).map(|(place, (name, size))| (place, name, size)).collect();
        let files = idx_files::without_twins(files, |(_, name, _)| name.clone());
        visitor::check_count(files.len())?;
        let mut all = 0u64;
        for (_, name, size) in &files {
            if *size > MOST_OF_ONE {
                return Err(VisitorError::TooLarge { file: name.clone(), bytes: *size, most: MOST_OF_ONE });
            }
            if *size == 0 {
                content::check_start(name, &[], 0)?;
            }
            all += size;
            in_all(name, all, most)?;
        }
        Ok(Self { files, read: Vec::new(), bytes: Vec::new(), most })
    }

    /// The next piece to request; `None` when all files have arrived.
    #[must_use]
    pub fn next(&self) -> Option<Piece> {
        let (file, _, size) = self.files.get(self.read.len())?;
        let start = self.bytes.len() as u64;
        let end = (start + if start == 0 { FIRST } else { PIECE }).min(*size);
        Some(Piece { file: *file, bytes: start..end })
    }

    /// Takes the piece that [`Incoming::next`] requested; `None` if it could not be read.
    ///
    /// # Errors
    /// An invalid or unreadable file, one too large for the memory, or a piece of the wrong length.
    pub fn take(&mut self, piece: Option<&[u8]>) -> Result<(), VisitorError> {
        let (Some(asked), Some((_, name, size))) = (self.next(), self.files.get(self.read.len())) else {
            return Err(VisitorError::Nothing);
        };
        let file = || name.clone();
        let Some(piece) = piece else { return Err(VisitorError::Unreadable { file: file() }) };
        if piece.len() as u64 != asked.bytes.end - asked.bytes.start {
            return Err(VisitorError::Changed { file: file() });
        }
        if asked.bytes.start == 0 {
            content::check_start(name, piece, *size)?;
            let kept = self.bytes.try_reserve_exact(*size as usize);
            kept.map_err(|_| VisitorError::NoMemory { file: file(), bytes: *size })?;
        }
        self.bytes.extend_from_slice(piece);
        if asked.bytes.end == *size {
            let content = content::read(name, std::mem::take(&mut self.bytes))?;
            let unpacked = self.read.iter().chain([&content]).map(Content::bytes).sum();
            in_all(name, unpacked, self.most)?;
            self.read.push(content);
        }
        Ok(())
    }

    /// Bytes received, and bytes in all.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        let sizes = |files: &[(u32, String, u64)]| files.iter().map(|(.., size)| size).sum::<u64>();
        (sizes(&self.files[..self.read.len()]) + self.bytes.len() as u64, sizes(&self.files))
    }

    /// Assembles the files once all have arrived.
    ///
    /// # Errors
    /// [`VisitorError`] if the files do not fit together.
    pub fn assembled(self) -> Result<Assembled, VisitorError> {
        visitor::assemble_read(self.files.into_iter().map(|(_, name, _)| name).zip(self.read).collect())
    }
}

fn in_all(file: &str, bytes: u64, most: u64) -> Result<(), VisitorError> {
    if bytes <= most {
        return Ok(());
    }
    Err(VisitorError::TooMuch { file: file.to_owned(), bytes, most })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::data::{
        Digits,
        idx::{self, Kind, PIXELS},
    };

    fn file(kind: Kind, count: u32) -> Vec<u8> {
        let mut file = idx::header(kind, count);
        let (bytes, values) = if kind == Kind::Images { (PIXELS, 250) } else { (1, 10) };
        file.extend((0..count as usize * bytes).map(|i| (i / bytes % values) as u8));
        file
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns the number of pieces, and the result.
    fn bring(files: &[(&str, Vec<u8>)]) -> (u32, Result<Digits, VisitorError>) {
        let sizes = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.len() as u64)).collect();
        let mut incoming = match Incoming::new(sizes) {
            Ok(incoming) => incoming,
            Err(error) => return (0, Err(error)),
        };
        let (mut pieces, mut done) = (0, 0);
        while let Some(Piece { file, bytes }) = incoming.next() {
            pieces += 1;
            assert!(bytes.end - bytes.start <= PIECE && bytes.start < bytes.end);
            let piece = &files[file as usize].1[bytes.start as usize..bytes.end as usize];
            if let Err(error) = incoming.take(Some(piece)) {
                return (pieces, Err(error));
            }
            let (now, all) = incoming.progress();
            assert!(now > done && now <= all);
            done = now;
        }
        let assembled = incoming.assembled();
        (
            pieces,
            assembled.and_then(|assembled| match assembled {
                Assembled::Digits(digits) => Ok(digits),
                Assembled::Pictures(pictures) => visitor::decoded(pictures, &mut |_, _| {}),
            }),
        )
    }

    #[test]
    fn pieces_and_whole_files_give_the_same_digits() {
        let images = file(Kind::Images, 12_000);
        let labels = packed(&file(Kind::Labels, 12_000));
        let files = [("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte.gz", labels)];
        let (pieces, digits) = bring(&files);
        assert_eq!(pieces, 1 + 3 + 1);
        let digits = digits.unwrap();
        assert_eq!(digits.train.len() + digits.test.len(), 12_000);
        assert_eq!(digits.train.name, visitor::assemble(&files).unwrap().train.name);
    }

    /// As torchvision leaves them: eight files, of which four are read.
    #[test]
    fn of_a_file_packed_and_unpacked_the_latter_is_read() {
        let (images, labels) = (file(Kind::Images, 60), file(Kind::Labels, 60));
        let (tests, names) = (file(Kind::Images, 30), file(Kind::Labels, 30));
        let files = [
            ("t10k-images-idx3-ubyte.gz", b"\x1f\x8b".to_vec()),
            ("t10k-images-idx3-ubyte", tests.clone()),
            ("t10k-labels-idx1-ubyte", names.clone()),
            ("t10k-labels-idx1-ubyte.gz", packed(&names)),
            ("train-images-idx3-ubyte", images.clone()),
            ("train-images-idx3-ubyte.gz", packed(&images)),
            ("train-labels-idx1-ubyte.gz", packed(&labels)),
            ("train-labels-idx1-ubyte", labels.clone()),
        ];
        let (_, digits) = bring(&files);
        let digits = digits.unwrap();
        assert_eq!((digits.train.len(), digits.test.len()), (60, 30));
    }

    #[test]
    fn numbers_and_sizes_are_refused_before_a_byte_is_read() {
        let named = |count: u32, size: u64| (0..count).map(|i| (format!("file-{i}"), size)).collect::<Vec<_>>();
        let refused = |files| Incoming::new(files).unwrap_err().to_string();
        assert!(refused(named(20, 250_000_000)).contains("20 files were given; expected at most 7"));
        assert!(refused(vec![]).contains("no file was given"));
        assert_eq!(
            refused(named(1, 9_000_000_000)),
            "file-0 has 9.0 GB, and no file of images is larger than 392.1 MB; nothing was loaded"
        );
        assert!(
            refused(named(4, 250_000_000))
                .contains("file-2: with it the files come to 750.0 MB; expected at most 512.0 MB")
        );
        assert!(refused(named(2, 0)).contains("file-0: the file is empty"));
        assert!(refused(named(4, u64::MAX)).contains("file-0 has"));
    }

    #[test]
    fn invalid_large_file_is_refused_after_its_first_kilobyte() {
        let (pieces, refused) = bring(&[("zeros", vec![0; 30_000_000])]);
        assert_eq!((pieces, refused.unwrap_err().to_string().starts_with("zeros: element type 0x00")), (1, true));
        let mut longer = file(Kind::Images, 12_000);
        longer.push(0);
        let (pieces, refused) = bring(&[("longer", longer)]);
        assert_eq!((pieces, refused.unwrap_err().to_string().starts_with("longer: length: ")), (1, true));
    }

    /// Kilobytes that would unpack to fill the memory.
    #[test]
    fn decompression_bombs_are_refused() {
        let mut bomb = idx::header(Kind::Images, 10);
        bomb.resize(30_000_000, 0);
        let (_, refused) = bring(&[("bomb.gz", packed(&bomb))]);
        assert!(refused.unwrap_err().to_string().contains("something else is in it"));
        let whole = packed(&file(Kind::Images, 12_000));
        let most = 15_000_000;
        assert!(whole.len() < 1_000_000);
        let size = whole.len() as u64;
        let mut incoming = Incoming::within(most, vec![("a.gz".to_owned(), size), ("b.gz".to_owned(), size)]).unwrap();
        let says = loop {
            let Piece { bytes, .. } = incoming.next().unwrap();
            if let Err(refused) = incoming.take(Some(&whole[bytes.start as usize..bytes.end as usize])) {
                break refused.to_string();
            }
        };
        assert!(says.starts_with("b.gz: with it the files come to 18.9 MB; expected at most 15.0 MB"), "{says}");
    }

    #[test]
    fn changed_or_missing_file_is_named() {
        let sizes = vec![("mine".to_owned(), 5000)];
        let mut incoming = Incoming::new(sizes).unwrap();
        assert_eq!(incoming.take(None).unwrap_err().to_string().split(';').next(), Some("“mine” cannot be read"));
        assert!(incoming.take(Some(&[0; 7])).unwrap_err().to_string().contains("mine changed while it was read"));
    }
}
