//! Test files of every format, and properties of every reader: no bytes break it, and one image
//! more or less moves no other.

use std::io::{Cursor, Write as _};

use proptest::prelude::*;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{
    Dataset, Source, TestSet,
    archive::{BLOCK, checksum},
    cifar::CifarVersion,
    idx,
    npy::MAGIC,
    visitor::{self, VisitorError},
};

/// `count` records with labels in rotation and pixels that depend on the index.
pub(super) fn records(variety: CifarVersion, count: usize, seed: u8) -> Vec<u8> {
    let one = |i: usize| {
        let label = (i % (if variety == CifarVersion::Ten { 10 } else { 100 })) as u8;
        let labels = if variety == CifarVersion::Ten { vec![label] } else { vec![label % 20, label] };
        let pixels = (0..3072).map(move |pixel| (pixel * 7 + i * 13) as u8 ^ seed);
        labels.into_iter().chain(pixels)
    };
    (0..count).flat_map(one).collect()
}

pub(super) fn header(name: &str, size: usize, kind: u8) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar  \0");
    let sum = checksum(&block).unwrap();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

/// An entry as tar writes it.
pub(super) fn entry(name: &str, contents: &[u8], kind: u8) -> Vec<u8> {
    let mut out = [header(name, contents.len(), kind), contents.to_vec()].concat();
    out.resize(out.len().next_multiple_of(BLOCK), 0);
    out
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub(super) fn packed(entries: &[(&str, Vec<u8>, u8)]) -> Vec<u8> {
    let mut tar: Vec<u8> = entries.iter().flat_map(|(name, contents, kind)| entry(name, contents, *kind)).collect();
    tar.resize(tar.len() + 2 * BLOCK, 0);
    tar.resize(tar.len().next_multiple_of(10_240), 0);
    gzip(&tar)
}

/// The entries of CIFAR-10's archive, with fewer images.
pub(super) fn ten() -> Vec<(&'static str, Vec<u8>, u8)> {
    let file = |name, count, seed| (name, records(CifarVersion::Ten, count, seed), b'0');
    vec![
        ("cifar-10-batches-bin/", vec![], b'5'),
        file("cifar-10-batches-bin/data_batch_1.bin", 12, 1),
        ("cifar-10-batches-bin/batches.meta.txt", b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n".to_vec(), b'0'),
        file("cifar-10-batches-bin/data_batch_3.bin", 5, 3),
        file("cifar-10-batches-bin/data_batch_4.bin", 5, 4),
        file("cifar-10-batches-bin/test_batch.bin", 7, 9),
        ("cifar-10-batches-bin/readme.html", b"<p>".to_vec(), b'0'),
        file("cifar-10-batches-bin/data_batch_5.bin", 5, 5),
        file("cifar-10-batches-bin/data_batch_2.bin", 5, 2),
    ]
}

pub(super) fn array(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len()) % 64 != 63 {
        header.push(' ');
    }
    header.push('\n');
    [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), elements].concat()
}

/// A ZIP of these entries, compressed or not.
pub(super) fn zipped(entries: &[(&str, Vec<u8>)], packed: bool) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(vec![]));
    let method = if packed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// A PNG file of a single colour.
pub(super) fn png(width: u32, height: u32, colour: [u8; 3]) -> Vec<u8> {
    let pixels = image::RgbImage::from_pixel(width, height, image::Rgb(colour));
    let mut out = std::io::Cursor::new(vec![]);
    pixels.write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

pub(super) fn jpeg(width: u32, height: u32, grey: u8) -> Vec<u8> {
    let pixels = image::GrayImage::from_pixel(width, height, image::Luma([grey]));
    let mut out = std::io::Cursor::new(vec![]);
    pixels.write_to(&mut out, image::ImageFormat::Jpeg).unwrap();
    out.into_inner()
}

/// Files of a set, with their names.
type Drop = Vec<(String, Vec<u8>)>;

fn named(files: &[(&str, Vec<u8>)]) -> Drop {
    files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect()
}

/// Examples of `pixels` pixels and a label below `classes`.
fn examples(pixels: usize, classes: usize, count: usize) -> Vec<(Vec<u8>, u8)> {
    let pixel = |i: usize, place: usize| ((i * 31 + 7) * (place * place + 3)).wrapping_mul(0x9e37_79b9) as u32 >> 11;
    (0..count).map(|i| ((0..pixels).map(|place| pixel(i, place) as u8).collect(), (i % classes) as u8)).collect()
}

/// A format under test: number of pixels, number of classes, and a writer of examples to its files.
type Reader = (usize, usize, fn(&[(Vec<u8>, u8)]) -> Drop);

fn split(examples: &[(Vec<u8>, u8)]) -> (Vec<u8>, Vec<u8>) {
    (
        examples.iter().flat_map(|(pixels, _)| pixels.clone()).collect(),
        examples.iter().map(|(_, label)| *label).collect(),
    )
}

const READERS: [Reader; 7] = [
    (4, 10, |examples| {
        let (pixels, labels) = split(examples);
        let (count, mut images) = (labels.len() as u32, idx::header_of(&[labels.len() as u32, 2, 2]));
        images[2] = 0x0d;
        images.extend(pixels.iter().flat_map(|&value| (f32::from(value) / 255.0).to_be_bytes()));
        let entries = [
            ("set/a-idx3", images),
            ("set/a-labels-idx1.gz", gzip(&[idx::header_of(&[count]), labels].concat())),
            ("README", vec![1]),
        ];
        named(&[("mine.zip", zipped(&entries, true))])
    }),
    (35, 10, |examples| {
        let (pixels, labels) = split(examples);
        let count = labels.len() as u32;
        named(&[
            ("images", [idx::header_of(&[count, 5, 7]), pixels].concat()),
            ("labels", [idx::header_of(&[count]), labels].concat()),
        ])
    }),
    (48, 3, |examples| {
        let (pixels, labels) = split(examples);
        let count = labels.len() as u32;
        let images = gzip(&[idx::header_of(&[count, 4, 4, 3]), pixels].concat());
        named(&[("images.gz", images), ("labels.gz", gzip(&[idx::header_of(&[count]), labels].concat()))])
    }),
    (3072, 10, |examples| {
        let records = examples.iter().flat_map(|(pixels, label)| [&[*label], &pixels[..]].concat()).collect();
        named(&[("data_batch_1.bin", records)])
    }),
    (3072, 100, |examples| {
        let record = |(pixels, label): &(Vec<u8>, u8)| [&[label % 20, *label], &pixels[..]].concat();
        named(&[("train.bin", examples.iter().flat_map(record).collect())])
    }),
    (16, 5, |examples| {
        let (pixels, labels) = split(examples);
        let floats: Vec<u8> = pixels.iter().flat_map(|&value| (f32::from(value) / 255.0).to_le_bytes()).collect();
        let count = labels.len();
        let entries = [
            ("x.npy", array("<f4", &format!("({count}, 4, 4)"), &floats)),
            ("y.npy", array("|i1", &format!("({count}, 1)"), &labels)),
        ];
        named(&[("mine.npz", zipped(&entries, true))])
    }),
    (75, 4, |examples| {
        let file = |(i, (pixels, label)): (usize, &(Vec<u8>, u8))| {
            let picture = image::RgbImage::from_raw(5, 5, pixels.clone()).unwrap();
            let mut out = Cursor::new(vec![]);
            picture.write_to(&mut out, image::ImageFormat::Png).unwrap();
            (format!("set/{label}/{i}.png"), out.into_inner())
        };
        let files: Vec<(String, Vec<u8>)> = examples.iter().enumerate().map(file).collect();
        let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
        named(&[("mine.zip", zipped(&files, false))])
    }),
];

fn sorted(set: &Dataset) -> Vec<(Vec<u8>, u8)> {
    let mut all: Vec<_> = (0..set.len()).map(|i| (set.image(i).to_vec(), set.labels[i])).collect();
    all.sort();
    all
}

/// ε for a training set also holds for the files, whatever their format.
#[test]
fn removing_an_image_changes_one_part_and_moves_no_other() {
    for (reader, (pixels, classes, files)) in READERS.into_iter().enumerate() {
        // The last example is not the only one of its class, so that the number of classes stays.
        let all = examples(pixels, classes, if classes == 100 { 150 } else { 60 });
        let whole = visitor::assemble(&files(&all)).unwrap();
        assert_eq!((whole.source, whole.test_set), (Source::Visitor, TestSet::HeldOut), "{reader}");
        assert_eq!(whole.train.len() + whole.test.len(), all.len());
        let parts = [sorted(&whole.train), sorted(&whole.test)];
        for gone in [0, 13, all.len() - 1] {
            let less: Vec<_> = [&all[..gone], &all[gone + 1..]].concat();
            let fewer = visitor::assemble(&files(&less)).unwrap();
            let fewer = [sorted(&fewer.train), sorted(&fewer.test)];
            let lost: Vec<usize> = (0..2).map(|part| parts[part].len() - fewer[part].len()).collect();
            assert_eq!(lost.iter().sum::<usize>(), 1, "{reader}");
            for (more, fewer) in parts.iter().zip(&fewer) {
                let mut more = more.clone();
                if more.len() > fewer.len() {
                    let place = more.iter().zip(fewer).take_while(|(a, b)| a == b).count();
                    more.remove(place);
                }
                assert_eq!(more, *fewer, "{reader}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A damaged file gives data of a valid shape or an error that names a file.
    #[test]
    fn no_changed_file_breaks_a_reader(
        reader in 0..READERS.len() + 1, file: prop::sample::Index, cut: Option<prop::sample::Index>,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 0..12),
    ) {
        let mut files = match READERS.get(reader) {
            Some((pixels, classes, files)) => files(&examples(*pixels, *classes, 12)),
            None => named(&[("cifar.tar.gz", packed(&ten()))]),
        };
        let at = file.index(files.len());
        let bytes = &mut files[at].1;
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        for (place, byte, early) in changes {
            // Half of the changes hit the header, or the directory at the end.
            let length = bytes.len();
            let place = if early { place.index(length.min(200)) } else { length - 1 - place.index(length.min(2000)) };
            bytes[place] = byte;
        }
        match visitor::assemble(&files) {
            Ok(digits) => {
                for set in [&digits.train, &digits.test] {
                    prop_assert_eq!(set.images.len(), set.len() * set.pixels());
                    prop_assert!(set.labels.iter().all(|&label| usize::from(label) < set.classes.count()));
                }
            }
            Err(VisitorError::Nothing) => prop_assert!(false),
            Err(error) => prop_assert!(files.iter().any(|(name, _)| error.to_string().contains(name.as_str())), "{error}"),
        }
    }

    /// Arbitrary bytes after a format's first bytes break no reader.
    #[test]
    fn no_bytes_break_a_reader(start in 0..8_usize, mut bytes in prop::collection::vec(any::<u8>(), 0..7000)) {
        let starts: [&[u8]; 8] = [
            b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08\0", b"\x93NUMPY\x01\0", b"\0\0\x08\x04", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"",
        ];
        bytes.splice(0..0, starts[start].iter().copied());
        let length = bytes.len();
        for bytes in [bytes.clone(), gzip(&bytes), bytes[..length / 3073 * 3073].to_vec()] {
            let _ = visitor::assemble(&[("mine.bin", bytes)]);
        }
        let _ = super::decode::decode(&bytes);
        let entries = [("a/1.png", bytes.clone()), ("b/1.jpg", bytes.clone())];
        prop_assert!(visitor::assemble(&[("mine.zip", zipped(&entries, true))]).is_err());
        let entries = [("x.npy", bytes.clone()), ("y.npy", bytes)];
        prop_assert!(visitor::assemble(&[("mine.npz", zipped(&entries, true))]).is_err());
    }
}
