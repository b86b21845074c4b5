//! Coded pictures, one folder per class, in a ZIP or on disk: sorts them into training and test,
//! and decides their size. A browser or the native program decodes them, one at a time.
//!
//! Two public properties follow from all images together: whether they are grey, and their size
//! (their own if all are square, equally large and at most 64 pixels wide; otherwise 32×32).
//!
//! Files that are not pictures, or not whole, are left out, each by its own name and bytes alone.

use std::{collections::BTreeSet, fmt};

use super::{
    Classes, Left, Picture, Remark,
    file_fault::{FileError, FileFault, MOST_EXAMPLES, MOST_OF_ALL, MOST_PIXELS, shown},
    picture::MOST_SIDE,
    raster::{self, DecodeError, Raster},
    scaled::{Range, Scaled},
    sets::{Part, Sets},
    words::{Split, is_sample, testing},
};

/// Side, in pixels, to which pictures are scaled that are not small squares of one size.
pub const SIDE: u8 = 32;
/// Most bytes of a coded picture.
const MOST_OF_A_PICTURE: u64 = 32_000_000;

/// Where the coded pictures are.
pub(super) trait Files {
    /// Reads the file of index `place` among the names; refuses more than `most` bytes.
    fn read(&mut self, place: usize, most: u64) -> Result<Vec<u8>, FileFault>;

    /// Bytes unpacked so far of files that turned out damaged.
    fn lost(&self) -> u64 {
        0
    }
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
    /// Number of files, and those that are no readable pictures.
    all: usize,
    left: Left,
    /// Why the first of these cannot be read.
    first: Option<FileFault>,
    notes: Vec<Remark>,
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

impl Undecoded {
    /// Sorts the named files and reads the header of each; `file` names the archive or the folder.
    ///
    /// # Errors
    /// No readable picture, one outside a class folder, or more than the limits allow.
    pub(super) fn open(file: &str, names: &[String], files: Box<dyn Files>) -> Result<Self, FileError> {
        Self::within(MOST_OF_ALL, file, names, files).map_err(|fault| fault.of(file))
    }

    fn within(most: u64, file: &str, names: &[String], mut files: Box<dyn Files>) -> Result<Self, FileFault> {
        let plain: Vec<String> = names.iter().map(|name| name.replace('\\', "/")).collect();
        let mut places: Vec<usize> = (0..plain.len()).filter(|&place| !is_skipped(&plain[place])).collect();
        places.sort_by(|&a, &b| plain[a].cmp(&plain[b]));
        let all = places.len();
        let (places, others): (Vec<usize>, Vec<usize>) = places.into_iter().partition(|&place| is_named(&plain[place]));
        if places.len() > MOST_EXAMPLES {
            return Err(FileFault::TooMany { found: places.len() as u64 });
        }
        let (mut left, mut first) = (Left::default(), None);
        others.iter().for_each(|&place| left.add(shown(&plain[place])));
        let (mut found, mut bytes, mut pixels) = (Vec::with_capacity(places.len()), 0, 0);
        for place in places {
            let name = || shown(&plain[place]);
            let size = files.read(place, MOST_OF_A_PICTURE).and_then(|coded| {
                bytes += coded.len() as u64;
                raster::size(&name(), &coded)
            });
            if bytes + files.lost() > most {
                return Err(FileFault::TooMuch { entry: name(), most });
            }
            let size = match size {
                Ok(size) => size,
                Err(fault) if fault.is_of_picture() => {
                    left.add(name());
                    first.get_or_insert(fault);
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            pixels += u64::from(size.0) * u64::from(size.1);
            if pixels > MOST_PIXELS {
                return Err(FileFault::Pixels { entry: name(), most: MOST_PIXELS });
            }
            found.push((place, size));
        }
        if found.is_empty() {
            let other = others.first().map(|&place| FileFault::NoPicture { entry: shown(&plain[place]) });
            return Err(first.or(other).unwrap_or(FileFault::NoPictures));
        }
        let mut aside = Left::default();
        let sampled = |place: usize| plain[place].split('/').rev().skip(1).any(is_sample);
        if !found.iter().all(|(place, _)| sampled(*place)) {
            found.retain(|(place, _)| {
                let sample = sampled(*place);
                if sample {
                    aside.add(shown(&plain[*place]));
                }
                !sample
            });
        }
        let sorted = sort(&plain, found.iter().map(|(place, _)| *place))?;
        let has = |split| sorted.iter().any(|found| found.split == split && found.class.is_some()).then_some(split);
        let (tests, unused) = testing(has(Split::Test), has(Split::Validation));
        let mut unlabelled = Left::default();
        let mut kept = Vec::with_capacity(sorted.len());
        for (Sorted { split, class }, (place, size)) in sorted.into_iter().zip(found) {
            match class {
                None => unlabelled.add(shown(&plain[place])),
                Some(_) if Some(split) == unused => aside.add(shown(&plain[place])),
                Some(class) => kept.push((Some(split) == tests, class, place, size)),
            }
        }
        // Stable: by name within a class.
        kept.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let classes: BTreeSet<&str> = kept.iter().filter(|kept| !kept.0).map(|kept| kept.1.as_str()).collect();
        if classes.is_empty() {
            return Err(FileFault::OnlyTests);
        }
        if let Some((_, class, place, _)) = kept.iter().find(|kept| !classes.contains(kept.1.as_str())) {
            return Err(FileFault::OnlyTested { entry: shown(&plain[*place]), class: shown(class) });
        }
        let classes: Vec<&str> = classes.into_iter().collect();
        let named = Classes::named(&classes)?;
        // Fits a byte: there are at most 100 classes.
        let label = |class: &String| classes.binary_search(&class.as_str()).unwrap_or_default() as u8;
        let entries: Vec<Entry> = kept
            .iter()
            .map(|(test, class, place, size)| Entry {
                place: *place,
                name: shown(&plain[*place]),
                test: *test,
                label: label(class),
                size: *size,
            })
            .collect();
        let (width, height) = entries.first().map_or((0, 0), |entry| entry.size);
        let alike = width == height && entries.iter().all(|entry| entry.size == (width, height));
        let side = if alike && width <= MOST_SIDE.into() { width as u8 } else { SIDE };
        let none = || Part { images: Vec::new(), labels: Vec::new(), users: None };
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
            all,
            left,
            first,
            notes: unlabelled.unlabelled().into_iter().chain(aside.aside()).collect(),
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

    /// Takes the picture that [`Undecoded::wanted`] handed out, decoded; leaves it out if that failed
    /// or gave another size than its header's.
    ///
    /// # Errors
    /// Too many bytes in all.
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
        self.left.add(name.clone());
        self.first.get_or_insert(fault);
        self.taken += 1;
        Ok(())
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
    ///
    /// # Errors
    /// No training picture was decoded.
    pub(super) fn sets(self) -> Result<Sets, FileError> {
        if self.train.labels.is_empty() {
            return Err(self.first.unwrap_or(FileFault::NoPictures).of(&self.file));
        }
        let (mut train, mut test) = (self.train, self.test);
        let range =
            [&train, &test].into_iter().filter(|part| !part.labels.is_empty()).map(|part| Range::of(&part.images));
        let range = range.reduce(Range::and).unwrap_or(Range::of(&[]));
        let rule = Scaled::of(range).map_err(|fault| fault.of(&self.file))?;
        [&mut train, &mut test].into_iter().for_each(|part| rule.bytes(&mut part.images));
        let mut notes: Vec<Remark> = rule.remark().into_iter().chain(self.notes).collect();
        notes.extend(self.left.unread(self.all));
        let channels = if self.coloured { 3 } else { 1 };
        Ok(Sets {
            published: None,
            picture: Picture { channels, side: self.side },
            classes: Some(self.classes),
            train,
            test: (!test.labels.is_empty()).then_some(test),
            notes,
        })
    }
}

fn reserved(bytes: usize, file: &str) -> Result<Vec<u8>, FileFault> {
    let mut room = Vec::new();
    let no_memory = |_| FileFault::NoMemory { entry: file.to_owned(), bytes: bytes as u64 };
    room.try_reserve_exact(bytes).map_err(no_memory)?;
    Ok(room)
}

/// True for names ignored silently: folders, hidden files and macOS's metadata.
pub(super) fn is_skipped(name: &str) -> bool {
    name.ends_with('/') || name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// True for the name of a picture; only such files are read.
pub(super) fn is_named(name: &str) -> bool {
    let ends = |ending: &str| name.to_lowercase().ends_with(ending);
    [".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".pgm", ".ppm", ".pnm"].into_iter().any(ends)
}

/// A picture's set and class, by its path; `None` for a test picture that no folder tells the class of.
struct Sorted {
    split: Split,
    class: Option<String>,
}

/// Removes the folders that hold all of several paths; returns the last split that they name.
fn stripped(paths: &mut [&mut Vec<&str>]) -> Option<Split> {
    let mut split = None;
    while let Some([top, _, _, ..]) = paths.first().map(|parts| &parts[..])
        && paths.iter().all(|parts| parts.len() >= 3 && parts[0] == *top)
    {
        split = Split::of_folder(top).or(split);
        for parts in paths.iter_mut() {
            parts.remove(0);
        }
    }
    split
}

/// Sorts the pictures at `places` by set and class, in order.
fn sort(names: &[String], places: impl Iterator<Item = usize>) -> Result<Vec<Sorted>, FileFault> {
    let mut paths: Vec<(&str, Vec<&str>)> = places
        .map(|place| (names[place].as_str(), names[place].split('/').filter(|part| !part.is_empty()).collect()))
        .collect();
    let whole = stripped(&mut paths.iter_mut().map(|(_, parts)| parts).collect::<Vec<_>>());
    let of = |parts: &[&str]| Split::of_folder(parts.first()?);
    let mut splits = vec![whole.unwrap_or(Split::Training); paths.len()];
    if let Some(told) = paths.iter().map(|(_, parts)| of(parts)).collect::<Option<Vec<Split>>>() {
        splits = told;
        for split in [Split::Training, Split::Test, Split::Validation] {
            let found = |(parts, told): (_, &Split)| (*told == split).then_some(parts);
            let mut within: Vec<&mut Vec<&str>> =
                paths.iter_mut().map(|(_, parts)| parts).zip(&splits).filter_map(found).collect();
            for parts in &mut within {
                parts.remove(0);
            }
            stripped(&mut within);
            // As Kaggle's testSet/testSet/img_1.jpg: the set's name again is no class.
            if split != Split::Training
                && within.iter().all(|parts| matches!(parts[..], [again, _] if Split::of_folder(again) == Some(split)))
            {
                for parts in &mut within {
                    parts.remove(0);
                }
            }
        }
    }
    let sorted = paths.iter().zip(splits).map(|((name, parts), split)| match parts[..] {
        [class, _] => Ok(Sorted { split, class: Some(class.to_owned()) }),
        [_] if split != Split::Training => Ok(Sorted { split, class: None }),
        [] | [_] => Err(FileFault::NoFolder { entry: shown(name) }),
        _ => Err(FileFault::TooDeep { entry: shown(name) }),
    });
    sorted.collect()
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
        pictures.sets().map_err(|error| error.to_string())
    }

    #[test]
    fn folders_are_classes_in_alphabetical_order() {
        let four = |grey: u8| png(4, 4, [grey; 3]);
        let found = sets(&[
            ("pets/dog/b.png", four(103)),
            ("pets/dog/a.PNG", four(102)),
            ("pets/cat/x.png", four(101)),
            ("pets/.DS_Store", vec![1]),
            ("__MACOSX/pets/cat/._x.png", vec![1]),
        ])
        .unwrap();
        assert_eq!(found.picture, Picture::new(1, 4).unwrap());
        assert_eq!(found.classes.unwrap().names(), ["cat", "dog"]);
        assert_eq!((found.train.labels, found.test), (vec![0, 1, 1], None));
        assert_eq!(found.train.images, [[101; 16], [102; 16], [103; 16]].concat());
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
            [("a/1.png", png(2, 2, [90; 3])), ("b/1.png", png(2, 2, [1, 2, 3])), ("b/2.png", png(2, 2, [5; 3]))];
        let coloured = sets(&entries).unwrap();
        assert_eq!(coloured.picture, Picture::new(3, 2).unwrap());
        assert_eq!(coloured.train.images, [[90; 12], [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], [5; 12]].concat());
    }

    #[test]
    fn faulty_pictures_are_reported() {
        let good = || png(2, 2, [9; 3]);
        let pair = |name, bytes| vec![("a/1.png", good()), (name, bytes)];
        let mut cut = good();
        cut.truncate(45);
        let lies = || {
            let mut lies = good();
            lies[19] = 3;
            lies
        };
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
            (vec![("test/a/1.png", good()), ("test/b/1.png", good())], "only test pictures"),
            (vec![("val/a/1.png", good()), ("test/b/1.png", good())], "only test pictures"),
            (vec![("test/1.png", good()), ("train/1.png", good())], "“train/1.png” is not in a class folder"),
            (vec![("test/1.png", good())], "only test pictures; give some to train on"),
            (
                vec![("train/a/1.png", good()), ("train/b/1.png", good()), ("test/c/1.png", good())],
                "“test/c/1.png”: the class “c” has no training pictures",
            ),
            (pair("b/1.png", png(4097, 1, [0; 3])), "“b/1.png” has 4097×1 pixels; expected 1 to 4096"),
            (pair("b\u{7}/1.png", good()), "its classes: class 1 is called"),
            // Nothing remains.
            (vec![("z/notes.txt", vec![1]), ("b.md", vec![])], "“b.md” is not named .png, .jpg, .jpeg, .gif"),
            (vec![("a/1.pbm", b"P4 1 1 1".to_vec())], "“a/1.pbm” is not named .png"),
            (vec![("a/1.pgm", b"P5 1 1 255".to_vec())], "“a/1.pgm”: the size of the picture cannot be read"),
            (vec![("a/1.pgm", b"P5 1 1 255 ".to_vec())], "“a/1.pgm” has no end: it was cut short"),
            (vec![("b/1.png", b"P4 1 1".to_vec())], "“b/1.png” begins with bytes 50 34 20 31; expected those of PNG"),
            (vec![("b/1.png", good()[..20].to_vec()), ("a", vec![])], "“b/1.png”: the size of the picture cannot"),
            (vec![("b/1.png", cut)], "“b/1.png” has no end: it was cut short"),
            (vec![("a/1.png", lies()), ("b/1.png", lies())], "mine.zip: “a/1.png” cannot be decoded ("),
        ] {
            let says_so = sets(&entries).unwrap_err();
            assert!(says_so.starts_with(says), "{says_so} / {says}");
        }
        let fault = opened(50, &pair("b/1.png", good())).unwrap_err().to_string();
        assert!(fault.starts_with("unpacked, it exceeds 50 bytes at “a/1.png”"), "{fault}");
    }

    /// Each file is left out by its own name and bytes: without it, the others become the same.
    #[test]
    fn what_is_no_readable_picture_is_left_out_and_named() {
        let four = |grey: u8| png(4, 4, [grey; 3]);
        let good = || vec![("set/a/1.png", four(200)), ("set/a/2.png", four(201)), ("set/b/1.png", four(202))];
        let whole = sets(&good()).unwrap();
        let mut damaged = four(203);
        damaged[45] ^= 1;
        let with = |others: &[(&'static str, Vec<u8>)]| {
            let mut entries = good();
            entries.extend(others.iter().cloned());
            let found = sets(&entries).unwrap();
            assert_eq!((&found.train, &found.classes), (&whole.train, &whole.classes));
            found.notes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        for (name, bytes) in [
            ("README", vec![1]),
            ("set/labels.csv", b"a,1\n".to_vec()),
            ("set/c/x/Thumbs.db", vec![0; 9]),
            ("set/b/2.tiff", b"II*\0".to_vec()),
            ("set/b/2.pgm", b"P5 4 4 255 123".to_vec()),
            ("set/b/2.png", vec![]),
            ("set/b/2.jpg", b"P5 2 2 255".to_vec()),
            ("set/b/2.gif", b"GIF89a".to_vec()),
            ("set/b/2.jpeg", four(9)[..30].to_vec()),
            ("set/b/3.png", png(2, 2, [0; 3])[..50].to_vec()),
            ("set/b/4.png", damaged),
            ("c/1.webp", vec![]),
        ] {
            let says = with(&[(name, bytes)]);
            let expected = format!("Left out: {name} (1 of 4 files). Only whole pictures in PNG, JPEG, GIF");
            assert!(says.starts_with(&expected), "{says}");
        }
        let many = [("z.txt", vec![1]), ("a\u{202e}.md", vec![1]), ("m", vec![]), ("set/a/0.png", vec![])];
        assert!(with(&many).starts_with("Left out: a\u{fffd}.md, m, z.txt, … (4 of 7 files)."), "{}", with(&many));
        assert_eq!(with(&[(".DS_Store", vec![1]), ("__MACOSX/set/a/._1.png", vec![1])]), "");
        let mut pictures = opened(1_000_000, &good()).unwrap();
        while let Some(coded) = pictures.wanted().unwrap() {
            let first = pictures.progress().0 == 0;
            pictures.take(if first { decode(&png(3, 2, [1; 3])) } else { decode(&coded) }).unwrap();
        }
        assert_eq!(
            pictures.first.as_ref().unwrap().to_string(),
            "“set/a/1.png” states 4×4 pixels but decodes to another size; save it again"
        );
        assert_eq!(pictures.sets().unwrap().train.labels, [0, 1]);
    }

    #[test]
    fn folders_tell_training_from_test_and_validation_tests_if_nothing_else_does() {
        let of = |folders: &[&str]| {
            let files: Vec<(String, Vec<u8>)> = folders
                .iter()
                .zip([100, 200, 250])
                .flat_map(|(folder, grey)| {
                    ["a", "b"].map(|class| (format!("{folder}/{class}/1.png"), png(2, 2, [grey; 3])))
                })
                .collect();
            let files: Vec<(&str, Vec<u8>)> =
                files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
            let found = sets(&files).unwrap();
            let notes: Vec<String> = found.notes.iter().map(ToString::to_string).collect();
            (found.train.images[0], found.train.labels.len(), found.test.map(|test| test.images[0]), notes.concat())
        };
        for folders in [
            ["train", "test"],
            ["TRAINING", "Testing"],
            ["trainingSet/trainingSet", "testSet/testSet"],
            ["x/train_images", "x/t10k"],
            ["train", "val"],
            ["train/train", "train/valid"],
        ] {
            assert_eq!(of(&folders), (100, 2, Some(200), String::new()), "{folders:?}");
        }
        for folders in [["train", "test", "val"], ["Train", "Test", "valid"], ["set/train", "set/test", "set/dev/dev"]]
        {
            let name = format!("{}/a/1.png", folders[2]);
            let (train, count, test, said) = of(&folders);
            assert_eq!((train, count, test), (100, 2, Some(200)), "{folders:?}");
            assert!(said.starts_with(&format!("Not used: {name}, ")) && said.contains("(2 in all)"), "{said}");
        }
        assert_eq!(of(&["trainingSet/trainingSet"]), (100, 2, None, String::new()));
    }

    /// Kaggle's MNIST as pictures: a competition's test pictures have no labels.
    #[test]
    fn test_pictures_without_a_class_are_left_out_and_counted() {
        let four = |grey: u8| png(2, 2, [grey; 3]);
        let labelled = || {
            let train = ["0/img_1.jpg", "0/img_4.jpg", "1/img_2.jpg"].into_iter().zip([100, 101, 102]);
            let train = train.map(|(name, grey)| (format!("trainingSet/trainingSet/{name}"), four(grey)));
            train.collect::<Vec<(String, Vec<u8>)>>()
        };
        let of = |others: &[(&str, u8)]| {
            let mut all = labelled();
            all.extend(others.iter().map(|(name, grey)| ((*name).to_owned(), four(*grey))));
            let all: Vec<(&str, Vec<u8>)> = all.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
            let found = sets(&all).unwrap();
            assert_eq!((&found.train.labels[..], found.train.images[0]), (&[0, 0, 1][..], 100));
            (found.test.map(|test| test.labels), found.notes.iter().map(ToString::to_string).collect::<String>())
        };
        for tests in [["testSet/testSet/img_1.jpg", "testSet/testSet/img_2.jpg"], ["testSet/1.jpg", "testSet/2.jpg"]] {
            let (test, said) = of(&tests.map(|name| (name, 7)));
            let expected =
                format!("Test pictures without a class: {}, {} (2 in all). They are not used", tests[0], tests[1]);
            assert!(test.is_none() && said.starts_with(&expected), "{said}");
        }
        // Their sample repeats training pictures.
        let samples = ["trainingSample/trainingSample/0/img_1.jpg", "trainingSample/trainingSample/1/img_2.jpg"];
        let (test, said) = of(&samples.map(|name| (name, 9)));
        assert!(
            test.is_none() && said.starts_with(&format!("Not used: {}, {} (2 in all)", samples[0], samples[1])),
            "{said}"
        );
        // Validation with classes tests in their place; of some with and some without, the former do.
        let (test, said) = of(&[("testSet/a.jpg", 7), ("val/1/a.jpg", 8)]);
        assert!(test == Some(vec![1]) && said.contains("(1 in all)"), "{said}");
        let (test, said) = of(&[("testSet/a.jpg", 7), ("testSet/1/a.jpg", 8)]);
        assert!(test == Some(vec![1]) && said.contains("testSet/a.jpg (1 in all)"), "{said}");
    }

    /// As label masks and scikit-learn's digits are.
    #[test]
    fn values_up_to_sixteen_in_all_pictures_are_scaled() {
        let four = |grey: u8| png(2, 2, [grey; 3]);
        let dark = vec![("train/a/1.png", four(8)), ("train/b/1.png", four(0)), ("test/a/1.png", four(2))];
        let found = sets(&dark).unwrap();
        assert_eq!((found.train.images[0], found.test.unwrap().images[0]), (128, 32));
        assert_eq!(found.notes, [Remark::Scaled(Scaled::Sixteen)]);
        let brighter = [&dark[..], &[("test/b/1.png", four(17))]].concat();
        let found = sets(&brighter).unwrap();
        assert_eq!((found.train.images[0], found.notes), (8, vec![]));
    }

    /// The browser and the native decoder read these alike.
    #[test]
    fn pictures_of_all_formats_are_read() {
        let of = |format| {
            let mut out = std::io::Cursor::new(vec![]);
            image::RgbImage::from_pixel(3, 3, image::Rgb([200, 0, 0])).write_to(&mut out, format).unwrap();
            out.into_inner()
        };
        use image::ImageFormat::{Bmp, Gif, Png, WebP};
        let mut tiff = std::io::Cursor::new(vec![]);
        let mut encoder = tiff::encoder::TiffEncoder::new(&mut tiff).unwrap();
        encoder.write_image::<tiff::encoder::colortype::RGB8>(3, 3, &[200, 0, 0].repeat(9)).unwrap();
        let entries = [
            ("a/1.bmp", of(Bmp)),
            ("a/2.gif", of(Gif)),
            ("a/3.TIF", tiff.into_inner()),
            ("b/1.WEBP", of(WebP)),
            ("b/2.png", of(Png)),
            ("b/3.ppm", [b"P6 3 3 255\n".to_vec(), [200, 0, 0].repeat(9)].concat()),
            ("b/4.pnm", [b"P3 3 3 255".to_vec(), b" 200 0 0".repeat(9)].concat()),
        ];
        let found = sets(&entries).unwrap();
        assert_eq!((found.picture.side, found.train.labels, found.notes), (3, vec![0, 0, 0, 1, 1, 1, 1], vec![]));
        for image in found.train.images.chunks(27) {
            assert_eq!(image, [[200; 9], [0; 9], [0; 9]].concat());
        }
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

    /// What damaged entries unpack to counts as well, lest they be a bomb of many.
    #[test]
    fn damaged_entries_are_left_out_and_counted() {
        let good = || png(2, 2, [200; 3]);
        let mut zip = zipped(&[("a/1.png", good()), ("b/1.png", good()), ("b/2.png", vec![7; 900])], false);
        let last = zip.windows(9).position(|bytes| *bytes == [7; 9]).unwrap();
        zip[last] = 8;
        let open = |most| {
            let zip = Zipped::open(zip.clone()).unwrap();
            let names = zip.names();
            Undecoded::within(most, "mine.zip", &names, Box::new(zip))
        };
        let mut pictures = open(1_100).unwrap();
        while let Some(coded) = pictures.wanted().unwrap() {
            pictures.take(decode(&coded)).unwrap();
        }
        let said = pictures.sets().unwrap().notes[0].to_string();
        assert!(said.starts_with("Left out: b/2.png (1 of 3 files)."), "{said}");
        let fault = open(900).unwrap_err().to_string();
        assert!(fault.starts_with("unpacked, it exceeds 900 bytes at “b/2.png”"), "{fault}");
    }
}
