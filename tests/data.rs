//! Data: all ways in which a file can be wrong, the sorting of dropped files, MNIST if present.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
use std::{io::Write, path::PathBuf};

use hushgrad::data::{
    Dataset, Source, TestSet,
    idx::{self, Fault, Field, IdxError, Kind, PIXELS},
    mnist, mnist_files, own_files,
    shard_writer::{self, MANIFEST, Set},
    shards::{Assembler, Manifest, ManifestFault, Part, ShardError},
    synthetic,
    visitor::{self, Role, VisitorError},
};
use proptest::prelude::*;

/// An images file of `count` images; pixel = (7·index) mod 256.
fn images(count: u32) -> Vec<u8> {
    let mut bytes = idx::header(Kind::Images, count);
    bytes.extend((0..count as usize * PIXELS).map(|i| (7 * i) as u8));
    bytes
}

/// A labels file of `count` labels 0 1 2 … 9 0 1 ….
fn labels(count: u32) -> Vec<u8> {
    let mut bytes = idx::header(Kind::Labels, count);
    bytes.extend((0..count).map(|i| (i % 10) as u8));
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn fault(bytes: &[u8]) -> Fault {
    match idx::read("digits.idx", bytes) {
        Err(IdxError::File { file, fault }) => {
            assert_eq!(file, "digits.idx");
            fault
        }
        other => panic!("expected a fault, got {:?}", other.map(|idx| idx.count())),
    }
}

fn with(mut bytes: Vec<u8>, at: usize, value: &[u8]) -> Vec<u8> {
    bytes[at..at + value.len()].copy_from_slice(value);
    bytes
}

#[test]
fn reads_images_and_labels_plain_and_gzipped() {
    for pack in [|b: Vec<u8>| b, |b: Vec<u8>| gzip(&b)] {
        let idx = idx::read("i", &pack(images(3))).unwrap();
        assert_eq!((idx.kind, idx.count()), (Kind::Images, 3));
        assert_eq!(idx.elements, images(3)[16..]);
        let idx = idx::read("l", &pack(labels(12))).unwrap();
        assert_eq!((idx.kind, idx.count()), (Kind::Labels, 12));
        assert_eq!(idx.elements, labels(12)[8..]);
    }
    // A gzip file may consist of several members (RFC 1952, 2.2).
    let whole = images(2);
    let parts = [gzip(&whole[..100]), gzip(&whole[100..])].concat();
    assert_eq!(idx::read("i", &parts).unwrap().elements, whole[16..]);
}

#[test]
fn a_wrong_header_names_its_field() {
    assert_eq!(fault(&[]), Fault::Empty);
    assert_eq!(fault(b"PK\x03\x04zip"), Fault::Magic { found: b"PK\x03\x04".to_vec() });
    assert_eq!(fault(&gzip(b"<html>")), Fault::NotIdxInside { found: b"<htm".to_vec() });
    assert_eq!(fault(&gzip(b"")), Fault::NotIdxInside { found: vec![] });
    assert_eq!(fault(&with(images(1), 2, &[0x0a])), Fault::ElementType { found: 0x0a });
    for dimensions in [0, 5, 255] {
        assert_eq!(fault(&with(images(1), 3, &[dimensions])), Fault::Dimensions { found: dimensions });
        assert_eq!(fault(&gzip(&with(images(1), 3, &[dimensions]))), Fault::Dimensions { found: dimensions });
    }
    assert_eq!(fault(&with(images(1), 4, &[0; 4])), Fault::NoExamples { kind: Kind::Images });
    assert_eq!(fault(&with(labels(1), 4, &[0; 4])), Fault::NoExamples { kind: Kind::Labels });
    assert_eq!(fault(&with(images(1), 8, &[0, 0, 0, 65])), Fault::Size { field: Field::Rows, found: 65 });
    assert_eq!(fault(&with(images(1), 8, &[0, 0, 0, 0])), Fault::Size { field: Field::Rows, found: 0 });
    assert_eq!(fault(&idx::header_of(&[1, 8, 8, 2])), Fault::Colours { found: 2 });
    assert_eq!(fault(&idx::header_of(&[500_000, 64, 64, 3])), Fault::TooLarge { bytes: 6_144_000_000 });
    // As square images they would be too large.
    assert_eq!(fault(&idx::header_of(&[500_000, 1, 64])), Fault::TooLarge { bytes: 2_048_000_000 });
    assert_eq!(fault(&with(images(1), 12, &[0, 1, 0, 0])), Fault::Size { field: Field::Columns, found: 65536 });

    let wrong_kind = idx::read_kind("digits.idx", &labels(5), Kind::Images).unwrap_err();
    let fault = Fault::WrongKind { found: Kind::Labels, expected: Kind::Images };
    assert_eq!(wrong_kind, IdxError::File { file: "digits.idx".into(), fault });
}

/// QMNIST's labels have the class, the writer and more of each digit.
#[test]
fn labels_of_every_type_are_read_also_as_the_first_of_a_row() {
    let of = |element: u8, dimensions: &[u32], bytes: &[u8]| {
        let mut file = idx::header_of(dimensions);
        file[2] = element;
        [&file, bytes].concat()
    };
    let rows: Vec<u8> = [3, 4000, 9, -1].iter().flat_map(|value: &i32| value.to_be_bytes()).collect();
    for file in [
        of(0x08, &[2], &[3, 9]),
        of(0x09, &[2], &[3, 9]),
        of(0x0b, &[2], &[0, 3, 0, 9]),
        of(0x0c, &[2, 2], &rows),
        of(0x0d, &[2], &[3.0_f32, 9.0].map(f32::to_be_bytes).concat()),
        of(0x0e, &[2, 1], &[3.0_f64, 9.0].map(f64::to_be_bytes).concat()),
    ] {
        for file in [gzip(&file), file] {
            assert_eq!(idx::read("labels", &file).unwrap().elements, [3, 9]);
        }
    }
    let label = |index, found: &str| Fault::Label { index, found: found.into() };
    assert_eq!(fault(&of(0x09, &[2], &[3, 255])), label(1, "-1"));
    assert_eq!(fault(&of(0x0d, &[1], &0.5_f32.to_be_bytes())), label(0, "0.5"));
    assert_eq!(fault(&of(0x0d, &[1], &f32::NAN.to_be_bytes())), label(0, "NaN"));
    assert_eq!(fault(&of(0x0c, &[2, 65], &[])), Fault::Fields { found: 65 });
    assert_eq!(fault(&of(0x0c, &[2, 0], &[])), Fault::Fields { found: 0 });
    assert_eq!(fault(&of(0x0a, &[1], &[3])), Fault::ElementType { found: 0x0a });
}

#[test]
fn a_header_cut_anywhere_names_the_field_it_ends_in() {
    use Field::{Columns, Count, Dimensions, ElementType, Magic, Rows};
    let fields = [Magic, Magic, ElementType, Dimensions, Count, Count, Count, Count];
    let fields = fields.into_iter().chain([Rows; 4]).chain([Columns; 4]);
    for (length, expected) in fields.enumerate().skip(1) {
        for bytes in [images(1)[..length].to_vec(), gzip(&images(1)[..length])] {
            match fault(&bytes) {
                Fault::HeaderTruncated { field, found, .. } => assert_eq!((field, found), (expected, length)),
                other => panic!("{length} bytes: {other:?}"),
            }
        }
    }
}

#[test]
fn a_wrong_length_is_told_with_both_numbers() {
    let whole = images(2);
    let expected = whole.len() as u64;
    for cut in [1, PIXELS, 2 * PIXELS] {
        let found = expected - cut as u64;
        let cut = &whole[..whole.len() - cut];
        assert_eq!(fault(cut), Fault::Truncated { found, expected });
        assert_eq!(fault(&gzip(cut)), Fault::Truncated { found, expected });
    }
    let long = [whole, vec![0; 1000]].concat();
    assert_eq!(fault(&long), Fault::TooLong { found: expected + 1000, at_least: false, expected });
    assert_eq!(fault(&gzip(&long)), Fault::TooLong { found: expected + 1, at_least: true, expected });
}

#[test]
fn damaged_gzip_is_not_taken_for_data() {
    let good = gzip(&images(4));
    for length in 2..good.len() {
        assert_eq!(fault(&good[..length]), Fault::GzipTruncated, "{length} of {}", good.len());
    }
    // A flipped bit in the checksum, with everything before it intact.
    let mut bad = good.clone();
    let at = bad.len() - 8;
    bad[at] ^= 1;
    assert!(matches!(fault(&bad), Fault::GzipDamaged { .. }));
    let trailing = [good, b"more than ten bytes".to_vec()].concat();
    assert!(matches!(fault(&trailing), Fault::GzipDamaged { .. }));
}

#[test]
fn declared_sizes_allocate_no_memory() {
    // The count alone would need 3.4 TB; 32-bit arithmetic would overflow.
    assert_eq!(fault(&with(images(1), 4, &[0xff; 4])), Fault::TooMany { found: u32::MAX });
    let most = idx::MAX_EXAMPLES;
    assert_eq!(fault(&with(labels(1), 4, &(most + 1).to_be_bytes())), Fault::TooMany { found: most + 1 });
    let expected = 16 + u64::from(most) * PIXELS as u64;
    let claim = with(images(1), 4, &most.to_be_bytes());
    assert_eq!(fault(&claim), Fault::Truncated { found: 16 + PIXELS as u64, expected });
    // A bomb: 64 MB of zeros after a header that declares one image. Unpacking stops at the first
    // excess byte: three quarters of the file may be missing unnoticed.
    let bomb = gzip(&[images(1), vec![0; 64 << 20]].concat());
    assert!(bomb.len() < 400_000);
    let expected = images(1).len() as u64;
    assert_eq!(fault(&bomb[..bomb.len() / 4]), Fault::TooLong { found: expected + 1, at_least: true, expected });
}

#[test]
fn labels_of_no_class_and_unequal_counts_are_refused() {
    assert_eq!(fault(&with(labels(30), 8 + 17, &[100])), Fault::Label { index: 17, found: "100".into() });
    let error = Dataset::from_idx("d", ("a", &images(3)), ("b", &labels(4))).unwrap_err();
    let counts = IdxError::CountsDiffer { images_file: "a".into(), images: 3, labels_file: "b".into(), labels: 4 };
    assert_eq!(error, counts);
    assert!(error.to_string().contains("a has 3 images and b has 4 labels"));
}

#[test]
fn sentences_name_file_field_found_and_expected() {
    let sentence = |bytes: &[u8]| idx::read("digits.idx", bytes).unwrap_err().to_string();
    for (bytes, words) in [
        (with(images(1), 8, &[0, 0, 0, 99]), &["digits.idx: rows 99; expected 1 to 64"][..]),
        (with(images(1), 2, &[0x0a]), &["element type 0x0a; expected 0x08"]),
        (b"PK\x03\x04".to_vec(), &["50 4b 03 04", "ZIP archive", "unpack it first"]),
        (gzip(b"<!doctype html>"), &["digits.idx: ", "3c 21 64 6f", "error page"]),
        (images(1)[..100].to_vec(), &["800 bytes were declared", "has 100"]),
    ] {
        let sentence = sentence(&bytes);
        for word in words {
            assert!(sentence.contains(word), "{sentence:?} lacks {word:?}");
        }
    }
}

#[test]
fn dropped_files_are_sorted_by_role() {
    let named = |name: &str, bytes: Vec<u8>| (name.to_owned(), bytes);
    let all = [
        named("t10k-labels-idx1-ubyte.gz", gzip(&labels(20))),
        named("train-images-idx3-ubyte", images(60)),
        named("t10k-images-idx3-ubyte", images(20)),
        named("train-labels-idx1-ubyte", labels(60)),
    ];
    let digits = visitor::assemble(&all).unwrap();
    assert_eq!((digits.train.len(), digits.test.len()), (60, 20));
    assert_eq!((digits.source, digits.test_set), (Source::Visitor, TestSet::Visitor));

    // If the names say nothing, the larger pair is for training.
    let plain = [named("a", images(20)), named("b", labels(20)), named("c", labels(60)), named("d", images(60))];
    let digits = visitor::assemble(&plain).unwrap();
    assert_eq!((digits.train.len(), digits.test.len()), (60, 20));

    // One pair: about one example in six is held out, and marked as the visitor's own.
    let digits = visitor::assemble(&[named("x", images(60)), named("y", labels(60))]).unwrap();
    assert_eq!((digits.train.len() + digits.test.len(), digits.test_set), (60, TestSet::HeldOut));
    assert!((4..=20).contains(&digits.test.len()), "{}", digits.test.len());
    assert!(digits.test_set.caution().unwrap().contains("ε does not cover"));
    // Each example is in one of the two parts, in order: no two examples are alike.
    let (mut train, mut test) = (examples(&digits.train).into_iter(), examples(&digits.test).into_iter());
    let (mut next, mut held) = (train.next(), test.next());
    for (i, pixels) in images(60)[16..].chunks(PIXELS).enumerate() {
        let example = Some((pixels.to_vec(), (i % 10) as u8));
        if example == held {
            held = test.next();
        } else {
            assert_eq!(example, next, "{i}");
            next = train.next();
        }
    }
    assert_eq!((next, held), (None, None));
}

/// Pixels and label of each example.
fn examples(data: &Dataset) -> Vec<(Vec<u8>, u8)> {
    (0..data.len()).map(|i| (data.image(i).to_vec(), data.labels[i])).collect()
}

/// The parts of a visitor's file, for training and held out; `None` if it is refused.
type Halves = Option<[Vec<(Vec<u8>, u8)>; 2]>;

fn halves(file: &[(Vec<u8>, u8)]) -> Halves {
    let count = file.len() as u32;
    let pixels =
        [idx::header(Kind::Images, count), file.iter().flat_map(|(pixels, _)| pixels.clone()).collect()].concat();
    let digits = [idx::header(Kind::Labels, count), file.iter().map(|(_, label)| *label).collect()].concat();
    match visitor::assemble(&[("images", pixels), ("labels", digits)]) {
        Ok(digits) => {
            assert_eq!(digits.test_set, TestSet::HeldOut);
            Some([examples(&digits.train), examples(&digits.test)])
        }
        Err(VisitorError::TooFew { .. } | VisitorError::OneSided { .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

/// A file of `count` images, at most `kinds` of them different; labels 0 to 9 except `absent`.
fn visitor_file(seed: u64, count: usize, kinds: u64, absent: u8) -> Vec<(Vec<u8>, u8)> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let example = |kind: u64| {
        let label = (kind % 10) as u8;
        let label = if label == absent { (label + 1) % 10 } else { label };
        ((0..PIXELS as u64).map(|pixel| (kind * 31 + pixel * (kind % 7)) as u8).collect(), label)
    };
    (0..count).map(|_| example(next() % kinds)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// ε of a training set holds for the file: one image less in the file is at most one image less
    /// in one of the two parts, and changes nothing else.
    #[test]
    fn one_image_less_in_a_file_is_one_less_in_one_part(
        seed: u64, count in 1usize..90, kinds in 1u64..2000, absent in 0u8..10, at: prop::sample::Index,
    ) {
        let whole = visitor_file(seed, count, kinds, absent);
        let gone = at.index(count);
        let less: Vec<_> = [&whole[..gone], &whole[gone + 1..]].concat();
        let [[train, test], [train_less, test_less]] = [&whole, &less].map(|file| {
            let (pixels, labels): (Vec<_>, Vec<u8>) = file.iter().cloned().unzip();
            let (train, test) = Dataset::new("a file", pixels.concat(), labels).hold_out_by_coin(visitor::HOLD_OUT);
            let parts = [examples(&train), examples(&test)];
            // As when dropped, unless it is refused.
            if !file.is_empty() && let Some(halves) = halves(file) {
                assert_eq!(halves, parts);
            }
            parts
        });
        let (more, fewer, same, also) = if train.len() > train_less.len() {
            (train, train_less, test, test_less)
        } else {
            (test, test_less, train, train_less)
        };
        prop_assert_eq!(same, also);
        prop_assert_eq!(more.len(), fewer.len() + 1);
        let place = more.iter().zip(&fewer).take_while(|(a, b)| a == b).count();
        prop_assert_eq!(&more[place], &whole[gone]);
        prop_assert_eq!(&more[place + 1..], &fewer[place..]);
    }
}

#[test]
fn files_of_few_or_equal_images_are_split_or_refused() {
    // All copies of one image are on one side.
    for count in [6, 100] {
        assert_eq!(halves(&vec![(vec![9; PIXELS], 3); count]), None);
    }
    let all = |count: usize| visitor_file(1, count, 2000, 4);
    let (mut split, mut refused) = (0, 0);
    for count in 1..=10 {
        match halves(&all(count)) {
            Some([train, test]) => {
                assert!(!train.is_empty() && !test.is_empty() && train.len() + test.len() == count);
                split += 1;
            }
            None => refused += 1,
        }
    }
    assert!(split > 0 && refused >= 5, "{split} {refused}");
    // Of many images about one in six, and of each image all copies or none.
    let [train, test] = halves(&all(6000)).unwrap();
    assert!((800..1200).contains(&test.len()), "{}", test.len());
    assert!(test.iter().take(50).all(|held| !train.contains(held)));
}

#[test]
fn held_out_images_are_spread_over_the_file_without_a_period() {
    // Images that show their place.
    let place = |i: usize| [&[(i >> 8) as u8, i as u8], &[0; PIXELS - 2][..]].concat();
    let whole = Dataset::new("places", (0..1205).flat_map(place).collect::<Vec<_>>(), vec![3; 1205]);
    let places = |part: &Dataset| -> Vec<usize> {
        (0..part.len()).map(|i| usize::from(part.image(i)[0]) << 8 | usize::from(part.image(i)[1])).collect()
    };
    let (others, held) = whole.hold_out_by_place(12);
    let (others, held) = (places(&others), places(&held));
    assert_eq!(held.len(), 100);
    assert!(held.iter().enumerate().all(|(block, place)| place / 12 == block), "one of every twelve, in order");
    let mut all = [others.clone(), held.clone()].concat();
    assert!(others.is_sorted());
    all.sort_unstable();
    assert_eq!(all, (0..1205).collect::<Vec<_>>());
    // Whatever the period, whether it divides the distance or not, no more of one place is held out
    // than by chance: six standard deviations, of a draw that is always the same.
    for period in 2usize..=12 {
        for rest in 0..period {
            let (count, share) = (held.iter().filter(|place| *place % period == rest).count(), 1.0 / period as f64);
            let spread = (100.0 * share * (1.0 - share)).sqrt();
            assert!((count as f64 - 100.0 * share).abs() < 6.0 * spread, "{count} of {rest} mod {period}");
        }
    }
    assert_eq!(places(&whole.hold_out_by_place(12).1), held);
}

#[test]
fn a_drop_that_does_not_fit_together_is_refused_as_a_whole() {
    let drop = |files: &[(&str, Vec<u8>)]| visitor::assemble(files).unwrap_err();
    assert_eq!(drop(&[]), VisitorError::Nothing);
    let file = "train-images";
    assert_eq!(
        drop(&[(file, images(9))]),
        VisitorError::Unpaired { file: file.into(), found: Kind::Images, missing: Kind::Labels }
    );
    assert_eq!(
        drop(&[("train-images", images(9)), ("train-labels", labels(9)), ("t10k-images", images(8))]),
        VisitorError::Unpaired { file: "t10k-images".into(), found: Kind::Images, missing: Kind::Labels }
    );
    assert_eq!(
        drop(&[("a", labels(9)), ("b", images(9)), ("c", labels(8))]),
        VisitorError::Unpaired { file: "c".into(), found: Kind::Labels, missing: Kind::Images }
    );
    let duplicate = drop(&[
        ("train-1", images(9)),
        ("train-2", images(8)),
        ("train-labels", labels(9)),
        ("test-labels", labels(8)),
    ]);
    let (first, second) = ("train-1".into(), "train-2".into());
    assert_eq!(duplicate, VisitorError::Duplicate { first, second, role: Role::Training, kind: Kind::Images });
    let (other, labels_too) = (with(images(9), 16, &[9]), with(labels(9), 8, &[9]));
    let ambiguous = drop(&[("a", images(9)), ("b", other), ("c", labels(9)), ("d", labels_too)]);
    assert_eq!(ambiguous, VisitorError::Ambiguous { first: "a".into(), second: "b".into(), kind: Kind::Images });
    assert!(matches!(
        drop(&[("train-images", images(9)), ("t10k-labels", labels(9))]),
        VisitorError::RolesDiffer { .. }
    ));
    assert!(matches!(drop(&[("a", images(9)), ("b", labels(8))]), VisitorError::Idx(IdxError::CountsDiffer { .. })));
    assert!(matches!(drop(&[("a", images(5)), ("b", labels(5))]), VisitorError::TooFew { count: 5, .. }));
    let five: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().zip((6..).map(labels)).collect();
    assert_eq!(drop(&five), VisitorError::TooManyIdx { given: 5 });
    let eight = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| (name, labels(6)));
    assert_eq!(drop(&eight), VisitorError::TooManyFiles { given: 8 });
    let record = vec![1; 3073];
    let mixed = drop(&[("a", images(9)), ("data_batch_1.bin", record.clone())]);
    assert_eq!(mixed, VisitorError::Mixed { first: "a".into(), second: "data_batch_1.bin".into() });
    let other = [idx::header_of(&[9, 8, 8]), vec![0; 9 * 64]].concat();
    let sizes = drop(&[("train-i", images(9)), ("test-i", other), ("train-l", labels(9)), ("test-l", labels(9))]);
    assert_eq!(sizes, VisitorError::SizesDiffer { first: "train-i".into(), second: "test-i".into() });
    let pixels = hushgrad::data::own_files::load(&one_picture()).unwrap_err().to_string();
    assert_eq!(pixels, "a.png: a single picture; put pictures into a ZIP, a folder for each class, and choose that");
}

proptest! {
    /// Whatever the bytes, reading ends with data of the declared size or with a fault.
    #[test]
    fn no_bytes_break_the_reader(mut bytes in prop::collection::vec(any::<u8>(), 0..4000), shape in 0..4u8) {
        // Most cases begin as files do, so that they get past the first field.
        let start = match shape {
            0 => vec![],
            1 => idx::header(Kind::Images, 2),
            2 => idx::header(Kind::Labels, 300),
            _ => vec![0, 0, 8],
        };
        bytes.splice(0..0, start);
        for bytes in [gzip(&bytes), bytes] {
            if let Ok(idx) = idx::read("f", &bytes) {
                prop_assert!(idx.count() > 0);
                prop_assert!(idx.kind == Kind::Images || idx.elements.iter().all(|&label| label < 100));
            }
        }
    }

    /// One flipped byte in a gzip file is detected or harmless, never other data.
    #[test]
    fn gzip_never_yields_other_data(at in 0usize..4000, flip in 1u8..) {
        let whole = images(5);
        let mut bytes = gzip(&whole);
        let at = at % bytes.len();
        bytes[at] ^= flip;
        if let Ok(idx) = idx::read("f", &bytes) {
            prop_assert_eq!(&idx.elements[..], &whole[16..]);
        }
    }
}

/// A file that begins as PNG does.
fn one_picture() -> PathBuf {
    let path = folder("one-picture").join("a.png");
    std::fs::write(&path, b"\x89PNG\r\n\x1a\n").unwrap();
    path
}

#[test]
fn idx_files_of_any_size_say_what_they_are_of() {
    let pixels = |count: usize| (0..count).map(|i| (i * 7) as u8).collect::<Vec<_>>();
    let of = |dimensions: &[u32], highest: u8| {
        let count = dimensions[0] as usize;
        let values: u32 = dimensions.iter().product();
        let images = [idx::header_of(dimensions), pixels(values as usize)].concat();
        let labels: Vec<u8> = (0..count).map(|i| if i == 0 { highest } else { (i % 5) as u8 }).collect();
        let digits =
            visitor::assemble(&[("i", images), ("l", [idx::header(Kind::Labels, count as u32), labels].concat())]);
        let digits = digits.unwrap();
        (digits.train.picture.to_string(), digits.train.classes.count())
    };
    assert_eq!(of(&[60, 28, 28], 4), ("28×28 grey".to_owned(), 10), "digits, as they always were");
    assert_eq!(of(&[60, 28, 28], 25), ("28×28 grey".to_owned(), 26));
    assert_eq!(of(&[60, 8, 8], 9), ("8×8 grey".to_owned(), 10));
    assert_eq!(of(&[60, 20, 12, 3], 99), ("20×20 colour".to_owned(), 100));
    assert_eq!(of(&[60, 64, 64, 1], 4), ("64×64 grey".to_owned(), 5));
}

/// An empty folder for this test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn mnist_folders_are_searched_in_order() {
    let env = |key: &str| match key {
        "MNIST_DIR" => Some("/m".into()),
        "XDG_CACHE_HOME" => Some("/x".into()),
        _ => None,
    };
    let folders = |places: Vec<mnist_files::Place>| places.into_iter().map(|p| p.folder).collect::<Vec<_>>();
    let checkout = PathBuf::from("/src/hushgrad");
    let all = folders(mnist_files::places(env, Some(&checkout)));
    assert_eq!(all, [PathBuf::from("/m"), "/src/shared/mnist".into(), "/x/hushgrad/mnist".into()]);
    let own = |key: &str| (key == "HUSHGRAD_CACHE").then(|| "/c".into());
    assert_eq!(folders(mnist_files::places(own, None)), [PathBuf::from("/c/mnist")]);
    assert!(mnist_files::places(|_| Some("".into()), None).is_empty());
}

#[test]
fn a_folder_without_mnist_is_reported_with_the_reason() {
    use mnist_files::{Place, Why};
    let (empty, other) = (folder("empty"), folder("other"));
    for file in &mnist_files::FILES {
        let bytes = if file.name.contains("images") { images(9) } else { labels(9) };
        std::fs::write(other.join(file.gz_name()), gzip(&bytes)).unwrap();
    }
    let place = |why, folder: &PathBuf| Place { why, folder: folder.clone() };
    let places = vec![place(Why::BesideCheckout, &empty), place(Why::Cache, &other)];
    let error = mnist::locate_in(places).unwrap_err();
    let mnist::MnistError::Absent { tried } = &error else { panic!("{error}") };
    let faults: Vec<_> = tried.iter().map(|tried| &tried.fault).collect();
    assert!(matches!(
        faults[..],
        [
            mnist::PlaceError::Folder(mnist::FolderError::Missing("train-images-idx3-ubyte")),
            mnist::PlaceError::Folder(mnist::FolderError::Digest { .. })
        ]
    ));
    let error = error.to_string();
    assert!(error.contains("train-images-idx3-ubyte (plain or .gz) is not there"), "{error}");
    assert!(error.contains("is not MNIST's: SHA-256"), "{error}");
    // MNIST_DIR is binding: the cache is not tried after it.
    let error = mnist::locate_in(vec![place(Why::MnistDir, &empty), place(Why::Cache, &other)]).unwrap_err();
    assert!(matches!(error, mnist::MnistError::MnistDir { .. }), "{error}");
    // The same folder is valid as a user's own data.
    let digits = own_files::load(&other).unwrap();
    assert_eq!((digits.train.len(), digits.test.len(), digits.source), (9, 9, Source::Visitor));
    assert!(matches!(own_files::load(&empty), Err(mnist::FolderError::NoFiles)));
}

#[test]
fn mnist_is_found_whole_where_the_machine_has_it() {
    match mnist::locate() {
        Ok(found) => {
            assert_eq!((found.digits.train.len(), found.digits.test.len()), (60_000, 10_000));
            assert_eq!(found.digits.source, Source::Mnist);
            assert_eq!(found.digits.train.labels[..5], [5, 0, 4, 1, 9]);
            let digits = own_files::load(&found.place.folder).unwrap();
            assert_eq!((digits.source, digits.test_set), (Source::Mnist, TestSet::Public));
        }
        Err(mnist::MnistError::Absent { tried }) => {
            println!("MNIST is not on this machine ({} places tried): its files are not checked here", tried.len());
        }
        Err(error) => panic!("{error}"),
    }
}

/// Share of `data` whose nearest centroid of `from` is that of its own digit.
fn right_by_centroids(from: &Dataset, data: &Dataset) -> f64 {
    let mut centroids = vec![(0.0, vec![0.0; PIXELS]); 10];
    for (i, &label) in from.labels.iter().enumerate() {
        let (count, sum) = &mut centroids[usize::from(label)];
        *count += 1.0;
        sum.iter_mut().zip(from.image(i)).for_each(|(sum, &pixel)| *sum += f64::from(pixel));
    }
    centroids.iter_mut().for_each(|(count, sum)| sum.iter_mut().for_each(|sum| *sum /= *count));
    let distance = |image: &[u8], (_, mean): &(f64, Vec<f64>)| -> f64 {
        mean.iter().zip(image).map(|(mean, &pixel)| (mean - f64::from(pixel)).powi(2)).sum()
    };
    let nearest = |image| {
        let distances: Vec<f64> = centroids.iter().map(|centroid| distance(image, centroid)).collect();
        (0..10).min_by(|&a, &b| distances[a].total_cmp(&distances[b])).unwrap()
    };
    let right = (0..data.len()).filter(|&i| nearest(data.image(i)) == usize::from(data.labels[i])).count();
    right as f64 / data.len() as f64
}

/// MNIST's training images at odd places are easier than those at even ones, and the last ones
/// easier than the others: held-out images must be neither.
#[test]
fn held_out_mnist_images_are_as_hard_as_the_rest() {
    let Ok(found) = mnist::locate() else {
        println!("MNIST is not on this machine: how hard its held-out images are is not checked here");
        return;
    };
    let train = found.digits.train;
    let every = |data: &Dataset, n: usize, rest: usize| {
        let places = (0..data.len()).filter(|i| i % n == rest);
        let (images, labels): (Vec<_>, Vec<_>) = places.map(|i| (data.image(i).to_vec(), data.labels[i])).unzip();
        Dataset::new("a part", images.concat(), labels)
    };
    let (others, held_out) = train.hold_out_by_place(12);
    let right = |data: &Dataset| right_by_centroids(&others, data);
    let (rest, held, test) = (right(&every(&others, 7, 0)), right(&held_out), right(&found.digits.test));
    let (even, odd) = (right(&every(&train, 10, 0)), right(&every(&train, 10, 5)));
    let last = right(&train.slice(55_000..60_000));
    println!("nearest centroid: rest {rest}, held out {held}, even {even}, odd {odd}, last 5,000 {last}, test {test}");
    assert!(odd - even > 0.05 && last - rest > 0.03, "why it is drawn");
    let standard_error = (rest * (1.0 - rest) / held_out.len() as f64).sqrt();
    assert!((held - rest).abs() < 3.0 * standard_error, "{held} against {rest}");
}

/// A site's folder with 21,000 training and 500 test examples, its manifest, and the training set.
fn site(name: &str) -> (PathBuf, Manifest, Dataset) {
    let folder = folder(name);
    let (train, test) = (synthetic::dataset(3, 0, 21_000), synthetic::dataset(4, 0, 500));
    fn set(data: &Dataset) -> Set<'_> {
        Set { pixels: &data.images, labels: &data.labels }
    }
    let written = shard_writer::write(&folder, "drawn", set(&train), set(&test)).unwrap();
    assert_eq!(written.len(), 5, "three training shards, one test shard, the manifest");
    for (path, bytes) in written {
        assert_eq!(std::fs::metadata(path).unwrap().len(), bytes);
    }
    let manifest = Manifest::parse(&std::fs::read(folder.join(MANIFEST)).unwrap()).unwrap();
    (folder, manifest, train)
}

#[test]
fn shards_join_as_they_arrive() {
    let (folder, manifest, train) = site("site");
    assert!(!manifest.is_mnist());
    let mut assembler = Assembler::new(manifest);
    let mut sizes = Vec::new();
    while let Some(shard) = assembler.next().cloned() {
        let packed = std::fs::read(folder.join(shard.file())).unwrap();
        assert_eq!(packed.len() as u64, shard.bytes());
        if sizes.len() % 2 == 0 {
            assembler.take(shard.file(), &packed).unwrap();
        } else {
            // As from a server that declares the encoding: the browser has unpacked it.
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&packed[..]), &mut plain).unwrap();
            assembler.take(shard.file(), &plain).unwrap();
        }
        sizes.push(assembler.digits().map(|digits| (digits.train.len(), digits.test.len())));
    }
    assert_eq!(sizes, [None, Some((10_000, 500)), Some((20_000, 500)), Some((21_000, 500))]);
    assert!(assembler.is_complete());
    let digits = assembler.digits().unwrap();
    assert_eq!(digits.source, Source::Site);
    assert!(digits.train.images == train.images && digits.train.labels == train.labels);
}

#[test]
fn a_missing_or_damaged_shard_is_named_and_the_rest_is_kept() {
    let (folder, manifest, train) = site("broken");
    let mut assembler = Assembler::new(manifest);
    let mut files = Vec::new();
    while let Some(file) = assembler.next().map(|shard| shard.file().to_owned()) {
        let mut bytes = std::fs::read(folder.join(&file)).unwrap();
        match files.len() {
            2 => {
                let sentence = assembler.missing(&file, "404 Not Found".into()).to_string();
                assert!(sentence.contains(&file) && sentence.contains("404 Not Found"), "{sentence}");
            }
            3 => {
                let at = bytes.len() / 2;
                bytes[at] ^= 1;
                let error = assembler.take(&file, &bytes).unwrap_err();
                assert!(
                    matches!(&error, ShardError::Damaged { file: f, .. } | ShardError::Digest { file: f, .. } if *f == file)
                );
            }
            _ => assembler.take(&file, &bytes).unwrap(),
        }
        files.push(file);
    }
    assert_eq!(files.len(), 4, "each shard is asked for once");
    assert!(!assembler.is_complete());
    assert_eq!(assembler.digits().unwrap().train.len(), 10_000);
    let mut repaired = assembler.clone();
    // Another try at the same file repairs it.
    assembler.take(&files[2], &std::fs::read(folder.join(&files[2])).unwrap()).unwrap();
    assert_eq!(assembler.digits().unwrap().train.len(), 20_000);
    // A page instead of a shard, as some servers answer, and a shard under another's name.
    let page = assembler.take(&files[3], b"<html>").unwrap_err();
    assert!(matches!(page, ShardError::Damaged { fault: Fault::Truncated { found: 6, .. }, .. }));
    let swapped = std::fs::read(folder.join(&files[0])).unwrap();
    assert!(matches!(assembler.take(&files[2], &swapped), Err(ShardError::Digest { .. })));
    assert_eq!(assembler.digits().unwrap().train.len(), 20_000);
    assert_eq!(assembler.take("x", b""), Err(ShardError::Unknown { file: "x".into() }));
    // Whatever the order, and however often a shard arrives, each is in its place once.
    for file in [&files[3], &files[2], &files[3]] {
        repaired.take(file, &std::fs::read(folder.join(file)).unwrap()).unwrap();
    }
    assert!(repaired.is_complete());
    let digits = repaired.into_digits().unwrap();
    assert!(digits.train.images == train.images && digits.train.labels == train.labels);
}

#[test]
fn a_manifest_that_lies_is_refused() {
    let shard = |set: &str, file: &str, first: u32, count: u32| {
        let sha256 = "0".repeat(64);
        serde_json::json!({"set": set, "file": file, "first": first, "count": count, "bytes": 1, "sha256": sha256})
    };
    let parse = |format: u32, train: u32, test: u32, shards: &[serde_json::Value]| {
        let json = serde_json::json!({"format": format, "name": "n", "train": train, "test": test, "shards": shards});
        match Manifest::parse(json.to_string().as_bytes()) {
            Ok(manifest) => panic!("accepted: {manifest:?}"),
            Err(ShardError::Manifest { fault }) => fault,
            Err(error) => panic!("{error}"),
        }
    };
    let (train, test) = (shard("train", "a", 0, 5), shard("test", "b", 0, 5));
    assert_eq!(parse(2, 5, 5, &[]), ManifestFault::Format { found: 2 });
    assert_eq!(parse(1, 5, 0, std::slice::from_ref(&train)), ManifestFault::NoShard { set: Part::Test });
    let total = ManifestFault::Total { set: Part::Train, found: 6, expected: 5 };
    assert_eq!(parse(1, 6, 5, &[train.clone(), test.clone()]), total);
    for name in ["../a", "/a", "https://elsewhere/a", "//elsewhere", ".a", "a?b", "a\\b", ""] {
        let fault = parse(1, 5, 5, &[shard("train", name, 0, 5), test.clone()]);
        assert_eq!(fault, ManifestFault::FileName(name.into()));
    }
    assert_eq!(parse(1, 5, 5, &[train.clone(), shard("test", "a", 0, 5)]), ManifestFault::Repeated("a".into()));
    let gap = [train.clone(), shard("train", "c", 6, 4), test.clone()];
    assert_eq!(parse(1, 9, 5, &gap), ManifestFault::First { file: "c".into(), found: 6, expected: 5 });
    for count in [0, 10_001, u32::MAX] {
        let fault = parse(1, count, 5, &[shard("train", "a", 0, count.min(10_001)), test.clone()]);
        assert!(matches!(fault, ManifestFault::Count { .. }), "{fault:?}");
    }
    assert!(matches!(Manifest::parse(b"<html>"), Err(ShardError::Manifest { fault: ManifestFault::Json(_) })));
    let large = Manifest::parse(&vec![b' '; 1 << 20]);
    assert!(matches!(large, Err(ShardError::Manifest { fault: ManifestFault::TooLarge { .. } })));
}

#[test]
fn mnist_shards_are_recognised() {
    let Ok(found) = mnist::locate() else {
        return println!("MNIST is not on this machine: its shards are not checked here");
    };
    let folder = folder("mnist");
    let [train, test] = [&found.digits.train, &found.digits.test].map(|d| Set { pixels: &d.images, labels: &d.labels });
    shard_writer::write(&folder, "MNIST", train, test).unwrap();
    let manifest = Manifest::parse(&std::fs::read(folder.join(MANIFEST)).unwrap()).unwrap();
    assert!(manifest.is_mnist());
    assert!(manifest.bytes() < 12 << 20);
    let mut assembler = Assembler::new(manifest);
    for _ in 0..2 {
        let file = assembler.next().unwrap().file().to_owned();
        assembler.take(&file, &std::fs::read(folder.join(&file)).unwrap()).unwrap();
    }
    let digits = assembler.digits().unwrap();
    assert_eq!((digits.train.len(), digits.test.len(), digits.source), (10_000, 10_000, Source::Mnist));
    assert!(digits.train == found.digits.train.slice(0..10_000) && digits.test == found.digits.test);
}

/// FNV-1a, to pin the digits of a seed.
fn fingerprint(data: &Dataset) -> u64 {
    let bytes = data.images.iter().chain(data.labels.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn a_seed_draws_the_same_digits_in_any_pieces() {
    let whole = synthetic::dataset(11, 0, 300);
    let parts = [synthetic::dataset(11, 0, 100), synthetic::dataset(11, 100, 200)];
    assert!(whole.slice(0..100) == parts[0] && whole.slice(100..300) == parts[1]);
    assert_ne!(synthetic::dataset(12, 0, 300).images, whole.images);
    let digits = synthetic::digits(11, 300, 50);
    assert!(digits.train == whole && digits.test == synthetic::dataset(11, synthetic::TEST_START, 50));
    assert_eq!((digits.source, digits.test_set), (Source::Synthetic, TestSet::Public));
    // The same on every machine and target: change this only with the way digits are drawn.
    assert_eq!(fingerprint(&whole), 0xd050_6764_1eb5_ee1d);
}

#[test]
fn synthetic_digits_are_centred_and_scaled_like_mnist() {
    let data = synthetic::dataset(5, 0, 4000);
    let mut counts = [0; 10];
    for i in 0..data.len() {
        counts[usize::from(data.labels[i])] += 1;
        let image = data.image(i);
        let ink = |at: usize| f64::from(image[at]);
        let mass: f64 = (0..784).map(ink).sum();
        let x: f64 = (0..784).map(|at| ink(at) * (at % 28) as f64).sum::<f64>() / mass;
        let y: f64 = (0..784).map(|at| ink(at) * (at / 28) as f64).sum::<f64>() / mass;
        // The centre of mass is within half a pixel of the image's centre.
        assert!((x - 13.5).abs() < 0.51 && (y - 13.5).abs() < 0.51, "example {i}: centre of mass {x}, {y}");
        // All ink lies in a box whose longer side is 20 pixels, give or take the pen's faint edge.
        let rows = (0..28).filter(|row| image[28 * row..28 * (row + 1)].iter().any(|&p| p > 63)).count();
        let columns = (0..28).filter(|column| (0..28).any(|row| image[28 * row + column] > 63)).count();
        assert!((18..=21).contains(&rows.max(columns)), "example {i}: {columns}×{rows}");
        assert!(image.iter().any(|&p| p > 180), "example {i} is faint");
    }
    // 4000 draws of a tenth: 400 ± 5 standard deviations.
    assert!(counts.iter().all(|n| (305..=495).contains(n)), "{counts:?}");
    let mean = data.images.iter().map(|&p| f64::from(p)).sum::<f64>() / data.images.len() as f64;
    assert!((mean - 33.3).abs() < 3.0, "mean grey {mean}, MNIST's is 33.3");
}
