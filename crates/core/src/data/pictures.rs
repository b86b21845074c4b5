//! Coded pictures, one folder per class, in a ZIP or on disk: sorts them into training and test,
//! and decides their size. A browser or the native program decodes them, one at a time.
//!
//! Two public properties follow from all images together: whether they are grey, and their size
//! (their own if all are square, equally large and at most 64 pixels wide; otherwise 32×32).

use std::{collections::BTreeSet, fmt};

use super::{
    Classes, Picture,
    file_fault::{FileError, FileFault, MOST_EXAMPLES, MOST_OF_ALL, MOST_PIXELS, shown},
    picture::MOST_SIDE,
    raster::{self, DecodeError, Raster},
    sets::{Part, Sets},
};

/// Side, in pixels, to which pictures are scaled that are not small squares of one size.
pub const SIDE: u8 = 32;
/// Most bytes of a coded picture.
const MOST_OF_A_PICTURE: u64 = 32_000_000;

/// Where the coded pictures are.
pub(super) trait Files {
    /// Reads the file of index `place` among the names; refuses more than `most` bytes.
    fn read(&mut self, place: usize, most: u64) -> Result<Vec<u8>, FileFault>;
}

/// Pictures being decoded: each is handed out coded by [`Undecoded::wanted`] and taken back decoded
/// by [`Undecoded::take`].
pub struct Undecoded {
    file: String,
    files: Box<dyn Files>,
    /// Training before test, then by class and name.
    entries: Vec<Entry>,
    classes: Classes,
    side: u8,
    taken: usize,
    /// True once a picture has colours; until then, one channel of each is kept.
    coloured: bool,
    train: Part,
    test: Part,
}

#[derive(Debug)]
struct Entry {
    /// Index among the names of `files`.
    place: usize,
    name: String,
    test: bool,
    label: u8,
    /// Width and height by its header.
    size: (u32, u32),
}

impl fmt::Debug for Undecoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Undecoded")
            .field("file", &self.file)
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// A picture's set and class, by its path.
struct Sorted {
    place: usize,
    test: bool,
    class: String,
}

impl Undecoded {
    /// Sorts the named files and reads the header of each; `file` names the archive or the folder.
    ///
    /// # Errors
    /// A file that is not a picture of a class, a bad header, or more than the limits allow.
    pub(super) fn open(file: &str, names: &[String], files: Box<dyn Files>) -> Result<Self, FileError> {
        Self::within(MOST_OF_ALL, file, names, files).map_err(|fault| fault.of(file))
    }

    fn within(most: u64, file: &str, names: &[String], mut files: Box<dyn Files>) -> Result<Self, FileFault> {
        let mut sorted = sort(names)?;
        sorted.sort_by(|a, b| (a.test, &a.class, &names[a.place]).cmp(&(b.test, &b.class, &names[b.place])));
        let of = |test| sorted.iter().filter(move |found: &&Sorted| found.test == test);
        let classes: BTreeSet<&str> = of(false).map(|found| found.class.as_str()).collect();
        if let Some(only) = of(true).find(|found| !classes.contains(found.class.as_str())) {
            return Err(FileFault::OnlyTested { entry: shown(&names[only.place]), class: shown(&only.class) });
        }
        let classes: Vec<&str> = classes.into_iter().collect();
        let (mut entries, mut bytes, mut pixels) = (Vec::with_capacity(sorted.len()), 0, 0);
        let named = Classes::named(&classes)?;
        for Sorted { place, test, class } in &sorted {
            let name = shown(&names[*place]);
            let coded = files.read(*place, MOST_OF_A_PICTURE)?;
            bytes += coded.len() as u64;
            if bytes > most {
                return Err(FileFault::TooMuch { entry: name, most });
            }
            let size = raster::size(&name, &coded)?;
            pixels += u64::from(size.0) * u64::from(size.1);
            if pixels > MOST_PIXELS {
                return Err(FileFault::Pixels { entry: name, most: MOST_PIXELS });
            }
            // Fits a byte: there are at most 100 classes.
            let label = classes.binary_search(&class.as_str()).unwrap_or_default() as u8;
            entries.push(Entry { place: *place, name, test: *test, label, size });
        }
        let first = entries.first().map_or((0, 0), |entry| entry.size);
        let alike =
            first.0 == first.1 && first.0 <= MOST_SIDE.into() && entries.iter().all(|entry| entry.size == first);
        let side = if alike { first.0 as u8 } else { SIDE };
        let none = || Part { images: Vec::new(), labels: Vec::new() };
        let opened = Self {
            file: file.to_owned(),
            files,
            entries,
            classes: named,
            side,
            taken: 0,
            coloured: false,
            train: none(),
            test: none(),
        };
        opened.fits(1)?;
        Ok(opened)
    }

    /// Checks that all images, of `channels` channels, are within `MOST_OF_ALL` bytes.
    fn fits(&self, channels: usize) -> Result<(), FileFault> {
        let all = self.entries.len() as u64 * (channels * self.area()) as u64;
        if all <= MOST_OF_ALL {
            return Ok(());
        }
        let entry = self.entries.last().map_or_else(String::new, |entry| entry.name.clone());
        Err(FileFault::TooMuch { entry, most: MOST_OF_ALL })
    }

    fn area(&self) -> usize {
        usize::from(self.side).pow(2)
    }

    /// The next picture, coded; `None` when all have been taken.
    ///
    /// # Errors
    /// The picture can no longer be read.
    pub fn wanted(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        let Some(Entry { place, .. }) = self.entries.get(self.taken) else { return Ok(None) };
        let read = self.files.read(*place, MOST_OF_A_PICTURE);
        read.map(Some).map_err(|fault| fault.of(&self.file))
    }

    /// Takes the picture that [`Undecoded::wanted`] handed out, decoded.
    ///
    /// # Errors
    /// A picture that fails to decode or differs in size from its header, or too many bytes in all.
    pub fn take(&mut self, decoded: Result<Raster, DecodeError>) -> Result<(), FileError> {
        let Some(Entry { name, test, label, size: (width, height), .. }) = self.entries.get(self.taken) else {
            return Ok(());
        };
        let (entry, width, height) = (|| name.clone(), *width, *height);
        let fault = match decoded {
            Ok(raster) if raster.is_of((width, height)) => {
                let (test, label) = (*test, *label);
                return self.add(&raster, test, label).map_err(|fault| fault.of(&self.file));
            }
            Ok(_) => FileFault::OtherSize { entry: entry(), width, height },
            Err(DecodeError { detail }) => FileFault::Undecodable { entry: entry(), detail },
        };
        Err(fault.of(&self.file))
    }

    fn add(&mut self, raster: &Raster, test: bool, label: u8) -> Result<(), FileFault> {
        let (area, square) = (self.area(), raster.square(self.side));
        let (red, others) = square.split_at(area);
        if !self.coloured && (red != &others[..area] || red != &others[area..]) {
            self.fits(3)?;
            for part in [&mut self.train, &mut self.test] {
                let mut images = reserved(3 * part.images.len(), &self.file)?;
                part.images.chunks_exact(area).for_each(|grey| (0..3).for_each(|_| images.extend_from_slice(grey)));
                part.images = images;
            }
            self.coloured = true;
        }
        let image = if self.coloured { &square[..] } else { red };
        let part = if test { &mut self.test } else { &mut self.train };
        let no_memory = |_| FileFault::NoMemory { entry: self.file.clone(), bytes: image.len() as u64 };
        part.images.try_reserve(image.len()).map_err(no_memory)?;
        part.images.extend_from_slice(image);
        part.labels.push(label);
        self.taken += 1;
        Ok(())
    }

    /// Pictures taken, and pictures in all.
    #[must_use]
    pub const fn progress(&self) -> (u64, u64) {
        (self.taken as u64, self.entries.len() as u64)
    }

    /// Name of the archive or the folder.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The sets of the pictures taken.
    pub(super) fn sets(self) -> Sets {
        let channels = if self.coloured { 3 } else { 1 };
        Sets {
            published: None,
            picture: Picture { channels, side: self.side },
            classes: Some(self.classes),
            train: self.train,
            test: (!self.test.labels.is_empty()).then_some(self.test),
            notes: vec![],
        }
    }
}

fn reserved(bytes: usize, file: &str) -> Result<Vec<u8>, FileFault> {
    let mut room = Vec::new();
    let no_memory = |_| FileFault::NoMemory { entry: file.to_owned(), bytes: bytes as u64 };
    room.try_reserve_exact(bytes).map_err(no_memory)?;
    Ok(room)
}

/// True for names ignored silently: folders, hidden files and macOS's metadata.
fn is_skipped(name: &str) -> bool {
    name.ends_with('/') || name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// True for a folder of test pictures, false for training, by its name; `None` for others.
fn tests(folder: &str) -> Option<bool> {
    match folder.to_lowercase().as_str() {
        "train" | "training" => Some(false),
        "test" | "testing" => Some(true),
        _ => None,
    }
}

/// Sorts paths by set and class.
fn sort(names: &[String]) -> Result<Vec<Sorted>, FileFault> {
    let plain: Vec<String> = names.iter().map(|name| name.replace('\\', "/")).collect();
    let mut paths: Vec<(usize, Vec<&str>)> = Vec::new();
    for (place, name) in plain.iter().enumerate().filter(|(_, name)| !is_skipped(name)) {
        let ends = |ending: &str| name.to_lowercase().ends_with(ending);
        if !([".png", ".jpg", ".jpeg"].into_iter().any(ends)) {
            return Err(FileFault::NoPicture { entry: shown(name) });
        }
        paths.push((place, name.split('/').filter(|part| !part.is_empty()).collect()));
    }
    if paths.len() > MOST_EXAMPLES {
        return Err(FileFault::TooMany { found: paths.len() as u64 });
    }
    // Strip the folders that hold all pictures; one named for training makes all of them training.
    let mut all_train = false;
    while !all_train
        && let Some(top) = paths.first().map(|(_, parts)| parts[0])
        && paths.iter().all(|(_, parts)| parts.len() >= 3 && parts[0] == top)
    {
        match tests(top) {
            Some(true) => return Err(FileFault::OnlyTests),
            Some(false) => all_train = true,
            None => {}
        }
        for (_, parts) in &mut paths {
            parts.remove(0);
        }
    }
    if paths.is_empty() {
        return Err(FileFault::NoPictures);
    }
    let split = !all_train && paths.iter().all(|(_, parts)| tests(parts[0]).is_some());
    let mut sorted = Vec::with_capacity(paths.len());
    for (place, parts) in paths {
        let entry = || shown(&names[place]);
        let (test, rest) = if split { (tests(parts[0]) == Some(true), &parts[1..]) } else { (false, &parts[..]) };
        match rest {
            [class, _] => sorted.push(Sorted { place, test, class: (*class).to_owned() }),
            [] | [_] => return Err(FileFault::NoFolder { entry: entry() }),
            _ => return Err(FileFault::TooDeep { entry: entry() }),
        }
    }
    if sorted.iter().all(|found| found.test) {
        return Err(FileFault::OnlyTests);
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{
        decode::decode,
        tests::{jpeg, png, zipped},
        zipped::Zipped,
    };

    fn opened(most: u64, entries: &[(&str, Vec<u8>)]) -> Result<Undecoded, FileFault> {
        let zip = Zipped::open(zipped(entries, false))?;
        let names = zip.names();
        Undecoded::within(most, "mine.zip", &names, Box::new(zip))
    }

    fn sets(entries: &[(&str, Vec<u8>)]) -> Result<Sets, String> {
        let mut pictures = opened(1_000_000, entries).map_err(|fault| fault.to_string())?;
        while let Some(coded) = pictures.wanted().map_err(|error| error.to_string())? {
            pictures.take(decode(&coded)).map_err(|error| error.to_string())?;
        }
        let (taken, all) = pictures.progress();
        assert_eq!(taken, all);
        Ok(pictures.sets())
    }

    #[test]
    fn folders_are_classes_in_alphabetical_order() {
        let four = |grey: u8| png(4, 4, [grey; 3]);
        let found = sets(&[
            ("pets/dog/b.png", four(3)),
            ("pets/dog/a.PNG", four(2)),
            ("pets/cat/x.png", four(1)),
            ("pets/.DS_Store", vec![1]),
            ("__MACOSX/pets/cat/._x.png", vec![1]),
        ])
        .unwrap();
        assert_eq!(found.picture, Picture::new(1, 4).unwrap());
        assert_eq!(found.classes.unwrap().names(), ["cat", "dog"]);
        assert_eq!((found.train.labels, found.test), (vec![0, 1, 1], None));
        assert_eq!(found.train.images, [[1; 16], [2; 16], [3; 16]].concat());
        let split = sets(&[
            ("set/test/cat/1.png", four(7)),
            ("set/train/cat/1.png", four(8)),
            ("set/train/dog/1.png", four(9)),
        ])
        .unwrap();
        assert_eq!((split.train.labels, split.test.unwrap().labels), (vec![0, 1], vec![0]));
        let all = sets(&[("train/cat/1.png", four(8)), ("train/dog/1.png", four(9))]).unwrap();
        assert_eq!((all.train.labels, all.test), (vec![0, 1], None));
    }

    #[test]
    fn pictures_of_many_sizes_become_squares_and_one_with_colours_makes_all_of_three_channels() {
        let found = sets(&[("a/1.png", png(100, 50, [9; 3])), ("b/1.jpg", jpeg(40, 40, 200))]).unwrap();
        assert_eq!(found.picture, Picture::new(1, 32).unwrap());
        assert_eq!(found.train.images[..1024], [9; 1024]);
        assert!(found.train.images[1024..].iter().all(|&value| value.abs_diff(200) <= 2));
        let large = sets(&[("a/1.png", png(65, 65, [9; 3])), ("b/1.png", png(65, 65, [9; 3]))]).unwrap();
        assert_eq!(large.picture.side, 32);
        let entries =
            [("a/1.png", png(2, 2, [9; 3])), ("b/1.png", png(2, 2, [1, 2, 3])), ("b/2.png", png(2, 2, [5; 3]))];
        let coloured = sets(&entries).unwrap();
        assert_eq!(coloured.picture, Picture::new(3, 2).unwrap());
        assert_eq!(coloured.train.images, [[9; 12], [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], [5; 12]].concat());
    }

    #[test]
    fn faulty_pictures_are_reported() {
        let good = || png(2, 2, [9; 3]);
        let pair = |name, bytes| vec![("a/1.png", good()), (name, bytes)];
        let mut cut = good();
        cut.truncate(45);
        let mut lies = good();
        lies[19] = 3;
        let hundred: Vec<(String, Vec<u8>)> = (0..101).map(|i| (format!("{i}/1.png"), good())).collect();
        let hundred = hundred.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        for (entries, says) in [
            (vec![], "it holds no picture; expected a folder for each class"),
            (vec![("__MACOSX/a/1.png", good())], "it holds no picture"),
            (vec![("a/1.png", good())], "its classes: 1 classes; expected 2 to 100"),
            (vec![("x/a/1.png", good()), ("x/a/2.png", good())], "its classes: 1 classes"),
            (hundred, "its classes: 101 classes; expected 2 to 100"),
            (pair("2.png", good()), "“2.png” is not in a class folder"),
            (pair("b/c/1.png", good()), "“b/c/1.png” is nested too deep; expected class/name.png"),
            (pair("b/notes.txt", vec![1]), "“b/notes.txt” is not named .png, .jpg or .jpeg"),
            (vec![("test/a/1.png", good()), ("test/b/1.png", good())], "only test pictures"),
            (vec![("test/1.png", good()), ("train/1.png", good())], "“test/1.png” is not in a class folder"),
            (
                vec![("train/a/1.png", good()), ("train/b/1.png", good()), ("test/c/1.png", good())],
                "“test/c/1.png”: the class “c” has no training pictures",
            ),
            (pair("b/1.png", b"GIF89a".to_vec()), "“b/1.png” begins with bytes 47 49 46 38; expected PNG"),
            (pair("b/1.png", good()[..20].to_vec()), "“b/1.png”: the size of the picture cannot be read"),
            (pair("b/1.png", png(4097, 1, [0; 3])), "“b/1.png” has 4097×1 pixels; expected 1 to 4096"),
            (pair("b/1.png", cut), "“b/1.png” has no end: it was cut short"),
            (pair("b/1.png", lies), "mine.zip: “b/1.png” cannot be decoded ("),
            (pair("b\u{7}/1.png", good()), "its classes: class 1 is called"),
        ] {
            let says_so = sets(&entries).unwrap_err();
            assert!(says_so.starts_with(says), "{says_so} / {says}");
        }
        let fault = opened(50, &pair("b/1.png", good())).unwrap_err().to_string();
        assert!(fault.starts_with("unpacked, it exceeds 50 bytes at “a/1.png”"), "{fault}");
        let mut pictures = opened(1_000_000, &pair("b/1.png", good())).unwrap();
        let other = pictures.take(decode(&png(3, 2, [1; 3]))).unwrap_err().to_string();
        assert_eq!(other, "mine.zip: “a/1.png” states 2×2 pixels but decodes to another size; save it again");
    }

    /// A small archive may hold years of decoding: 1,200 pictures said to have 4096×4096 pixels, or
    /// many entries that share their bytes.
    #[test]
    fn pixels_are_counted_before_anything_is_decoded_and_entries_share_no_bytes() {
        let mut large = png(2, 2, [9; 3]);
        large[16..24].copy_from_slice(&[0, 0, 16, 0, 0, 0, 16, 0]);
        let names: Vec<String> = (0..1200).map(|i| format!("{}/{i}.png", i % 2)).collect();
        let entries: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (name.as_str(), large.clone())).collect();
        let fault = opened(MOST_OF_ALL, &entries).unwrap_err();
        assert!(matches!(fault, FileFault::Pixels { .. }), "{fault}");
        assert!(opened(MOST_OF_ALL, &entries[..1100]).is_ok());

        // Point the second entry at the first, whose bytes make up most of the archive.
        let mut zip = zipped(&[("a/1.png", vec![7; 5000]), ("b/1.png", vec![7; 5000])], false);
        let second = zip.windows(7).position(|bytes| bytes == b"b/1.png").unwrap() - 30;
        let directory = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        let length = zip.windows(4).position(|bytes| bytes == b"PK\x05\x06").unwrap() - directory;
        zip.drain(second..directory);
        zip[second + length / 2 + 42..][..4].fill(0);
        let end = zip.len() - 6;
        zip[end..end + 4].copy_from_slice(&(second as u32).to_le_bytes());
        assert_eq!(Zipped::open(zip).err(), Some(FileFault::ZipOverlap));
    }
}
