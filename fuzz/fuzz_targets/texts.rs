//! Any text as a run file, books, a configuration and a link is refused or round-trips.
#![no_main]

use hushgrad::{
    train::{books::DatasetBooks, config::RunConfig, plan::Plan, run_file::RunFile},
    ui::link::address,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(file) = RunFile::from_json("a.json", text.as_bytes()) {
        let again = RunFile::from_json("a.json", file.to_json().as_bytes());
        assert_eq!(again.map(|again| again.to_json()).as_ref(), Ok(&file.to_json()));
    }
    if let Ok(books) = DatasetBooks::from_json("books", text.as_bytes()) {
        assert_eq!(DatasetBooks::from_json("books", books.to_json().as_bytes()), Ok(books));
    }
    if let Ok(config) = serde_json::from_str::<RunConfig>(text) {
        let _ = Plan::new(config, 1000);
    }
    let (link, _) = address::read(text);
    assert_eq!(address::read(&link.write()).0.write(), link.write());
});
