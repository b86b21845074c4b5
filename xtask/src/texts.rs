//! The tables of translations (`www/text/*.txt`). Each contains exactly the texts in the sources, in
//! their order: those of the page, and (except in English) the templates of the threads' messages.

use std::collections::{BTreeMap, BTreeSet};

use crate::{prelude::*, project::Project};

/// The language of the sources.
const ENGLISH: &str = "en";
/// Languages with a complete translation.
#[cfg(test)]
const COMPLETE: [&str; 1] = ["de"];

/// Sources of the threads' messages.
const THREADS: [&str; 5] =
    ["crates/accounting/src", "crates/core/src", "crates/engine/src", "crates/train/src", "src/worker"];

/// Fields and single words in messages, which the sources do not mark with `word!`.
const WORDS: &[&str] = &[
    "accuracy",
    "accuracy-curve",
    "adaptive-clip",
    "adaptive-clip.noise",
    "adaptive-clip.quantile",
    "metrics",
    "metrics.noise",
    "counted",
    "clip",
    "clips",
    "augmentation.copies",
    "augmentation.reach",
    "average",
    "bands",
    "classic-curve",
    "dataset",
    "delta",
    "denoiser",
    "denoiser.gain",
    "denoiser.keeps",
    "denoiser.strength",
    "encoder.norm",
    "encoder.norms",
    "encoder.pre-scale",
    "epsilon",
    "exponent",
    "failure",
    "grid-bits",
    "grid.coordinates",
    "improved-curve",
    "learning-rate",
    "ledger",
    "local",
    "local.rate",
    "local.steps",
    "lot",
    "minority",
    "momentum",
    "noise",
    "noise.scale",
    "noise.sigma",
    "nu",
    "parameters",
    "population",
    "replay",
    "sampling",
    "sampling.batches",
    "sampling.population",
    "sampling.rate",
    "sampling.size",
    "scale",
    "schedule",
    "sharing.size",
    "sharing.skew",
    "sharing.users",
    "sensitivity",
    "sensitivity.norm",
    "sigma",
    "start",
    "step",
    "steps",
    "train",
    "Gaussian",
    "Laplace",
    "Cauchy",
    "Student-t",
    "custom",
    "“descr”",
    "“fortran_order”",
    "“shape”",
    "checksum",
    "colours",
    "columns",
    "count",
    "images",
    "label",
    "labels",
    "magic",
    "name",
    "rows",
    "size",
    "test",
    "training",
    "envelope",
    "examples",
    "momenta",
    "pixels",
    "release",
    "run",
    // Places in files.
    "format",
    "phases",
    "version",
    // Browsers' own words.
    "Failed to fetch",
    "Load failed",
];

/// Texts of a UI module, of the scripts, or of a crate's messages.
struct Group {
    room: String,
    texts: Vec<String>,
}

/// Header lines (with `@`), and translations.
struct Table {
    head: Vec<String>,
    translations: BTreeMap<String, String>,
}

/// All texts: the page's, and the threads' messages that are not among them.
struct All {
    page: Vec<Group>,
    threads: Vec<Group>,
}

/// Updates every table from the sources, and reports removed translations.
pub fn write(project: &Project) -> Result<()> {
    let all = All::of(&project.root)?;
    for (language, path) in tables(&project.root)? {
        let (written, dropped) = written(&all, &language, &read(&fs::read_to_string(&path)?));
        let open = untranslated(&written);
        fs::write(&path, written)?;
        for (english, own) in dropped {
            println!("{language}: no source says “{english}” any more; it was “{own}”");
        }
        match open {
            0 => println!("{language}: whole"),
            _ if language == ENGLISH => println!("{language}: written"),
            open => println!("{language}: {open} texts have no translation and stay English"),
        }
    }
    Ok(())
}

/// Returns the path of each language's table.
fn tables(root: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let all = files(&root.join("www").join("text"))?.into_iter();
    let named = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), path));
    Ok(all.filter_map(named).collect())
}

impl All {
    /// Collects the texts of all sources, each once.
    fn of(root: &Path) -> Result<Self> {
        let mut known = BTreeSet::new();
        let mut page = vec![];
        let ui = root.join("src/ui");
        let scripts = files(&root.join("www"))?.into_iter().filter(|path| has_extension(path, "js"));
        let mut sources: Vec<PathBuf> = files(&ui)?.into_iter().chain(scripts).collect();
        sources.sort();
        for path in sources {
            let room = path.strip_prefix(&ui).ok().and_then(|path| path.components().next());
            let room = room.map_or("scripts".into(), |room| room.as_os_str().to_string_lossy().into_owned());
            let calls: &[&str] = if has_extension(&path, "rs") { &["t!(", "text!("] } else { &["say("] };
            take(&mut page, room, literals(&fs::read_to_string(path)?, calls), &mut known);
        }
        let mut threads = vec![];
        for folder in THREADS {
            let room = folder.trim_start_matches("crates/").trim_end_matches("/src").trim_start_matches("src/");
            let room = format!("messages, {room}");
            for path in files(&root.join(folder))? {
                if has_extension(&path, "rs") && !path.components().any(|part| part.as_os_str() == "tests") {
                    let source = fs::read_to_string(path)?;
                    // Texts of errors that are never sent are in English alone.
                    let errors: &[&str] = if source.contains("hushgrad_message::Error") { &["#[error("] } else { &[] };
                    let found = literals(&source, &[&["message!(", "word!("], errors].concat());
                    take(
                        &mut threads,
                        room.clone(),
                        found.iter().map(|text| template(text)).filter(|text| has_words(text)).collect(),
                        &mut known,
                    );
                }
            }
        }
        take(&mut threads, "words".into(), WORDS.iter().map(|&word| word.into()).collect(), &mut known);
        Ok(Self { page, threads })
    }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

/// Adds the texts that are not `known` to the last group, or to a new one of another room.
fn take(groups: &mut Vec<Group>, room: String, mut texts: Vec<String>, known: &mut BTreeSet<String>) {
    texts.retain(|text| known.insert(text.clone()));
    match groups.last_mut().filter(|group| group.room == room) {
        _ if texts.is_empty() => {}
        Some(group) => group.texts.append(&mut texts),
        None => groups.push(Group { room, texts }),
    }
}

/// The template of a message: holes without formats, and with numbers where they have no names.
fn template(text: &str) -> String {
    let (mut out, mut rest, mut next) = (String::new(), text, 0);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((hole, after)) = after.split_once('}') else { break };
        let name = hole.split(':').next().unwrap_or_default();
        out += before;
        if name.is_empty() {
            out += &format!("{{{next}}}");
            next += 1;
        } else {
            out += &format!("{{{name}}}");
        }
        rest = after;
    }
    out + rest
}

/// False for holes and signs alone, which are the same in every language.
fn has_words(template: &str) -> bool {
    template.split('}').any(|part| part.split('{').next().is_some_and(|own| own.contains(char::is_alphabetic)))
}

/// Finds the literals of these calls, as `t!("…")`, in the order of the source; skips tests.
fn literals(source: &str, calls: &[&str]) -> Vec<String> {
    let program = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let mut found: Vec<(usize, String)> = vec![];
    for (at, call) in calls.iter().flat_map(|call| program.match_indices(call)) {
        let before = program[..at].chars().next_back();
        let alone = before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
        let rest = program[at + call.len()..].trim_start();
        if alone && rest.starts_with('"') {
            found.extend(literal(&rest[1..]).map(|text| (at, text)));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(_, text)| text).collect()
}

/// Parses a literal from after its opening quote.
fn literal(rest: &str) -> Option<String> {
    let (mut out, mut letters) = (String::new(), rest.chars());
    loop {
        match letters.next()? {
            '"' => return Some(out),
            '\\' => match letters.next()? {
                'u' => {
                    let code: String =
                        letters.by_ref().take_while(|letter| *letter != '}').filter(|letter| *letter != '{').collect();
                    out.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
                }
                'n' => out.push('\n'),
                // A continued line.
                '\n' => letters = letters.as_str().trim_start().chars(),
                letter => out.push(letter),
            },
            letter => out.push(letter),
        }
    }
}

fn read(text: &str) -> Table {
    let mut table = Table { head: vec![], translations: BTreeMap::new() };
    let mut english = None;
    for line in text.lines() {
        if line.starts_with('@') {
            table.head.push(line.to_owned());
        } else if let Some(own) = line.strip_prefix("= ") {
            table.translations.extend(english.take().map(|english| (english, own.to_owned())));
        } else {
            english = Some(line.to_owned());
        }
    }
    table
}

/// Returns the updated table of a language, and the translations whose texts no longer exist.
fn written(all: &All, language: &str, table: &Table) -> (String, BTreeMap<String, String>) {
    let mut left = table.translations.clone();
    let mut out = table.head.join("\n") + "\n" + &listed(&all.page, &mut left);
    if language != ENGLISH {
        out += &listed(&all.threads, &mut left);
    }
    (out, left)
}

/// Formats groups for a table; moves their translations out of `left`.
fn listed(groups: &[Group], left: &mut BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for group in groups {
        out += &format!("\n# {}\n", group.room);
        for text in &group.texts {
            out += &format!("{text}\n");
            if let Some(own) = left.remove(text) {
                out += &format!("= {own}\n");
            }
        }
    }
    out
}

/// Counts the texts of a table without translation.
fn untranslated(text: &str) -> usize {
    let texts = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['@', '#']));
    let (own, english): (Vec<_>, Vec<_>) = texts.partition(|line| line.starts_with("= "));
    english.len() - own.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    /// Names in braces, sorted.
    fn names(text: &str) -> Vec<&str> {
        let mut names: Vec<_> = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    #[test]
    fn literals_are_found_and_read() {
        let source = r#"a(t!("Play")); b = text!( "say \"so\"\u{a0}now" ); c(t!("{n} step | {n} steps", n = 3)); format!("no"); at!("no"); t!(no)"#;
        assert_eq!(literals(source, &["t!(", "text!("]), ["Play", "say \"so\"\u{a0}now", "{n} step | {n} steps"]);
        assert_eq!(literals(r#"say("Close"); essay("no"); t!("no")"#, &["say("]), ["Close"]);
        assert_eq!(literals("#[error(\n  \"a \\\n   b\"\n)] word!(\"c\")", &["word!(", "#[error("]), ["a b", "c"]);
        assert_eq!(template("{x:.1e} of {}, {name} and {:?}"), "{x} of {0}, {name} and {1}");
    }

    #[test]
    fn a_table_keeps_its_translations() {
        let group = |room: &str, texts: [&str; 2]| Group { room: room.into(), texts: texts.map(str::to_owned).into() };
        let all =
            All { page: vec![group("stage", ["Play", "Step"])], threads: vec![group("data", ["Stop", "no {what}"])] };
        let old = "@name D\n\n# old\nPlay\n= Starten\nGone\n= Weg\nno {what}\n= kein {what}\n";
        let (text, dropped) = written(&all, "de", &read(old));
        assert_eq!(text, "@name D\n\n# stage\nPlay\n= Starten\nStep\n\n# data\nStop\nno {what}\n= kein {what}\n");
        assert_eq!(
            (untranslated(&text), dropped.into_iter().collect::<Vec<_>>()),
            (2, vec![("Gone".into(), "Weg".into())])
        );
        assert!(!written(&all, "en", &read(old)).0.contains("Stop"), "messages bring their English");
    }

    #[test]
    fn tables_contain_exactly_the_texts_of_the_sources() {
        let all = All::of(&root()).unwrap();
        let texts = |groups: &[Group]| groups.iter().map(|group| group.texts.len()).sum::<usize>();
        assert!(texts(&all.page) > 300 && texts(&all.threads) > 300);
        for (language, path) in tables(&root()).unwrap() {
            let text = fs::read_to_string(&path).unwrap();
            let table = read(&text);
            assert!(
                written(&all, &language, &table).0 == text,
                "{language}: `cargo xtask text` brings its table up to date"
            );
            assert!(table.head.iter().any(|line| line.starts_with("@name ")), "{language}");
            for (english, own) in &table.translations {
                assert_eq!(names(english), names(own), "{language}: {own}");
                assert_eq!(english.contains(" | "), own.contains(" | "), "{language}: {own}");
                assert!(!own.trim().is_empty() && own.trim() == own, "{language}: {own}");
            }
        }
    }

    #[test]
    fn texts_are_not_mistaken_for_table_syntax() {
        let All { page, threads } = All::of(&root()).unwrap();
        for text in page.into_iter().chain(threads).flat_map(|group| group.texts) {
            assert!(!text.contains('\n') && !text.starts_with(['@', '#', '=']), "{text:?}");
            assert!(text.trim() == text && !text.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn complete_languages_have_no_untranslated_text() {
        for language in COMPLETE {
            let text = fs::read_to_string(root().join("www").join("text").join(format!("{language}.txt"))).unwrap();
            assert_eq!(untranslated(&text), 0, "{language}: a text that stays as it is has itself below it");
        }
    }
}
