//! The page: a module for each panel. What can be tested without a browser is plain Rust; the rest
//! is Leptos.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`size`] | what keeps the program small |
//! | [`text`] | the page's texts, in the visitor's language |
//! | [`settings`] | everything that a visitor can set, and the run that results |
//! | [`link`] | the state in the address |
//! | `browser` | access to the browser |
//! | `threads` | clients of the two threads |
//! | [`state`] | the page's state, and its reactions to events |
//! | `widgets` | building blocks of panels |
//! | `setup` | the settings panel |
//! | [`stage`] | the transport bar, and one step in detail |
//! | `lessons` | lessons and formulas |
//! | `noise_lab` | the noise lab |
//! | [`results`] | curves, numbers, the meaning of ε, the drawn digit |
//! | `own_training` | ε of a training elsewhere |
//! | [`runs`] | the list of runs, and exports |
//! | [`embed`] | the embedded page |
//! | `app` | the whole page |
//!
//! A module uses only those above it.

#[cfg(target_arch = "wasm32")]
pub mod app;
#[cfg(target_arch = "wasm32")]
mod browser;
pub mod embed;
#[cfg(target_arch = "wasm32")]
mod lessons;
pub mod link;
#[cfg(target_arch = "wasm32")]
mod noise_lab;
#[cfg(target_arch = "wasm32")]
mod own_training;
pub mod results;
pub mod runs;
pub mod settings;
pub mod setup;
pub mod size;
pub mod stage;
pub mod state;
pub mod text;
#[cfg(target_arch = "wasm32")]
mod threads;
#[cfg(target_arch = "wasm32")]
mod widgets;

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// In the order of the table.
    const ROOMS: [&str; 17] = [
        "size",
        "text",
        "settings",
        "link",
        "browser",
        "threads",
        "state",
        "widgets",
        "setup",
        "stage",
        "lessons",
        "noise_lab",
        "results",
        "own_training",
        "runs",
        "embed",
        "app",
    ];

    /// Returns the modules that a source names after `ui::`, alone or in braces.
    fn rooms_of(source: &str) -> Vec<&str> {
        let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let mut found = vec![];
        for rest in source.split("ui::").skip(1) {
            let Some(group) = rest.strip_prefix('{') else {
                found.push(&rest[..word(rest)]);
                continue;
            };
            let (mut depth, mut first) = (0, true);
            for (at, letter) in group.char_indices() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => first = true,
                    _ if depth == 0 && first && letter.is_alphabetic() => {
                        found.push(&group[at..at + word(&group[at..])]);
                        first = false;
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// Returns the source files in a folder and below it, except test files.
    fn files_of(folder: &Path) -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.flat_map(|path| if path.is_dir() { files_of(&path) } else { vec![path] });
        files.filter(|path| !path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"))).collect()
    }

    #[test]
    fn no_room_uses_one_below_it() {
        assert_eq!(
            rooms_of("use crate::{ui::{size, link::{a, b}, state::c}, d}; ui::app::e"),
            ["size", "link", "state", "app"]
        );
        let table: Vec<&str> = include_str!("mod.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! | "))
            .filter_map(|line| line.split('`').nth(1))
            .collect();
        assert_eq!(table, ROOMS);
        let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui");
        let mut edges = 0;
        for (place, room) in ROOMS.iter().enumerate() {
            for path in files_of(&ui.join(room)) {
                let source = fs::read_to_string(&path).unwrap();
                // Tests may use any module.
                let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
                for other in rooms_of(source) {
                    let other_place = ROOMS.iter().position(|room| *room == other);
                    assert!(
                        other_place.is_some_and(|other| other < place || other == place && *room == "text"),
                        "{} uses {other}",
                        path.display()
                    );
                    edges += 1;
                }
            }
        }
        assert!(edges > 100, "{edges}");
    }
}
