//! The tables of translations (`www/text/*.txt`). Each contains exactly the texts in the sources,
//! in their order, followed by the threads' sentences (except in English).

use std::collections::BTreeMap;

use crate::{prelude::*, project::Project, sentences};

/// The language of the sources.
const ENGLISH: &str = "en";
/// Languages with a complete translation.
#[cfg(test)]
const COMPLETE: [&str; 1] = ["de"];

/// The line that precedes patterns of the threads' sentences.
const THREADS: &str = "@threads";

/// Texts of a UI module, or of the scripts.
struct Group {
    room: String,
    texts: Vec<String>,
}

/// Header lines (with `@`), and translations of the page's texts and of the threads' sentences.
struct Table {
    head: Vec<String>,
    translations: BTreeMap<String, String>,
    threads: BTreeMap<String, String>,
}

/// All texts: the page's and the threads'.
struct All {
    page: Vec<Group>,
    threads: Vec<Group>,
}

impl All {
    fn of(root: &Path) -> Result<Self> {
        let threads = sentences::said(root)?.into_iter();
        Ok(Self { page: said(root)?, threads: threads.map(|(room, texts)| Group { room, texts }).collect() })
    }
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

/// Collects the texts of all sources, each once.
fn said(root: &Path) -> Result<Vec<Group>> {
    let mut sources = files(&root.join("src").join("ui"))?;
    let scripts = files(&root.join("www"))?.into_iter();
    sources.extend(scripts.filter(|path| path.extension().is_some_and(|extension| extension == "js")));
    sources.sort();
    let (mut groups, mut known) = (Vec::<Group>::new(), std::collections::BTreeSet::new());
    for path in sources {
        let source = fs::read_to_string(&path)?;
        let ui = root.join("src").join("ui");
        let room = path.strip_prefix(&ui).ok().and_then(|path| path.components().next());
        let room = room.map_or("scripts".to_owned(), |room| room.as_os_str().to_string_lossy().into_owned());
        let mut texts = literals(&source, path.extension().is_some_and(|extension| extension == "rs"));
        texts.retain(|text| known.insert(text.clone()));
        match groups.last_mut().filter(|group| group.room == room) {
            Some(group) => group.texts.append(&mut texts),
            None => groups.push(Group { room, texts }),
        }
    }
    groups.retain(|group| !group.texts.is_empty());
    Ok(groups)
}

/// Finds the literals of `t!("…")` and `text!("…")`, or of `say("…")` in scripts; skips tests.
fn literals(source: &str, rust: bool) -> Vec<String> {
    let program = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let calls: &[&str] = if rust { &["t!("] } else { &["say("] };
    let mut found = vec![];
    for (at, call) in calls.iter().flat_map(|call| program.match_indices(call)) {
        let before = program[..at].chars().next_back();
        let alone = before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
        let name = program[..at].ends_with("tex");
        let rest = program[at + call.len()..].trim_start();
        if (alone || rust && name) && rest.starts_with('"') {
            found.extend(literal(&rest[1..]));
        }
    }
    found
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
                letter => out.push(letter),
            },
            letter => out.push(letter),
        }
    }
}

fn read(text: &str) -> Table {
    let mut table = Table { head: vec![], translations: BTreeMap::new(), threads: BTreeMap::new() };
    let (mut english, mut of_threads) = (None, false);
    for line in text.lines() {
        if line == THREADS {
            of_threads = true;
        } else if line.starts_with('@') {
            table.head.push(line.to_owned());
        } else if let Some(own) = line.strip_prefix("= ") {
            let into = if of_threads { &mut table.threads } else { &mut table.translations };
            into.extend(english.take().map(|english| (english, own.to_owned())));
        } else {
            english = Some(line.to_owned());
        }
    }
    table
}

/// Returns the updated table of a language, and the translations whose texts no longer exist.
fn written(all: &All, language: &str, table: &Table) -> (String, BTreeMap<String, String>) {
    let (mut left, mut threads) = (table.translations.clone(), table.threads.clone());
    let mut out = table.head.join("\n") + "\n" + &listed(&all.page, &mut left);
    if language != ENGLISH {
        out += &format!("\n{THREADS}\n{}", listed(&all.threads, &mut threads));
    }
    left.append(&mut threads);
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
        assert_eq!(literals(source, true), ["Play", "say \"so\"\u{a0}now", "{n} step | {n} steps"]);
        assert_eq!(literals(r#"say("Close"); essay("no"); t!("no")"#, false), ["Close"]);
    }

    #[test]
    fn a_table_keeps_its_translations() {
        let group = |room: &str, texts: [&str; 2]| Group { room: room.into(), texts: texts.map(str::to_owned).into() };
        let all =
            All { page: vec![group("stage", ["Play", "Step"])], threads: vec![group("data", ["Play", "no {what}"])] };
        let old =
            "@name D\n\n# old\nPlay\n= Starten\nGone\n= Weg\n\n@threads\nno {what}\n= kein {what}\nPlay\n= Spiel\n";
        let (text, dropped) = written(&all, "de", &read(old));
        let threads = "\n@threads\n\n# data\nPlay\n= Spiel\nno {what}\n= kein {what}\n";
        assert_eq!(text, format!("@name D\n\n# stage\nPlay\n= Starten\nStep\n{threads}"));
        assert_eq!(
            (untranslated(&text), dropped.into_iter().collect::<Vec<_>>()),
            (1, vec![("Gone".into(), "Weg".into())])
        );
        assert!(!written(&all, "en", &read(old)).0.contains("threads"), "they speak it");
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
            for (english, own) in table.translations.iter().chain(&table.threads) {
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
