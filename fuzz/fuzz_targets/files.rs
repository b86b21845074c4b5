//! Any bytes under any image file name are refused by name or read as a consistent data set.
#![no_main]

use hushgrad::data::{
    card::Card,
    visitor::{self, VisitorError},
};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 8] =
    ["train-images-idx3-ubyte", "mine.npy", "mine.npz", "mine.zip", "mine.tar", "mine.tar.gz", "data_batch_1.bin", "1.png"];

/// Separates files; a file's first byte selects its name.
const SEPARATOR: &[u8] = b"\xf0|\xf1";

fuzz_target!(|data: &[u8]| {
    let (mut files, mut rest) = (vec![], data);
    while let Some(at) = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR) {
        files.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    files.push(rest);
    let named: Vec<(&str, &[u8])> = files
        .iter()
        .filter_map(|file| file.split_first())
        .map(|(name, bytes)| (NAMES[usize::from(*name) % NAMES.len()], bytes))
        .collect();
    match visitor::assemble(&named) {
        Ok(digits) => {
            assert_eq!(Card::of(&digits).pictures.len(), digits.train.classes.count());
            for set in [&digits.train, &digits.test] {
                assert_eq!(set.images.len(), set.len() * set.pixels());
                assert!(set.labels.iter().all(|&label| usize::from(label) < set.classes.count()));
            }
        }
        Err(VisitorError::Nothing) => assert!(named.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
