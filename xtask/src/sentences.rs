//! Extracts the messages of threads from string literals of the code below the page, as patterns
//! that `src/ui/text/threads.rs` matches against messages, for the tables of translations.
//!
//! A literal with a space is a message, unless it is for programmers ([`for_programmers`]) or never
//! reaches the page ([`ELSEWHERE`], [`UNSAID`]); words without one are listed in [`WORDS`].

use std::collections::BTreeSet;

use crate::prelude::*;

/// The threads' sources.
const FOLDERS: [&str; 8] = [
    "crates/core/src/mechanism",
    "crates/core/src/model",
    "crates/engine/src",
    "crates/core/src/data",
    "crates/train/src",
    "src/worker",
    "crates/accounting/src",
    "crates/core/src/rng.rs",
];

/// Sources of the native tool, of files (English) and of library parts that the page does not use.
const ELSEWHERE: [&str; 17] = [
    "crates/accounting/src/dynamics.rs",
    "crates/accounting/src/gdp.rs",
    "crates/accounting/src/groups.rs",
    "crates/accounting/src/risk.rs",
    "crates/accounting/src/search.rs",
    "crates/core/src/data/mnist.rs",
    "crates/core/src/data/mnist_error.rs",
    "crates/core/src/data/mnist_files.rs",
    "crates/core/src/data/own_files.rs",
    "crates/core/src/data/shard_writer.rs",
    "crates/engine/src/cpu/simd/x86.rs",
    "crates/engine/src/reference.rs",
    "crates/core/src/model/layers/strategies.rs",
    "crates/core/src/model/reference.rs",
    "crates/core/src/model/safetensors.rs",
    "crates/train/src/label",
    "crates/train/src/presets.rs",
];

/// Messages that no visitor sees: of the native tool, its reports, files, adapters and panics.
const UNSAID: &[&str] = &[
    "no graphics adapter here is called `{wanted}`; {}",
    "there is none at all",
    "there are {}",
    "{count} threads: {error}",
    "basic render",
    "hushgrad: held out or not\0",
    // Class names of a data set.
    "Ankle boot",
    "{DIGITS} {site}",
    "{}.{} {name}",
    "{set_name}: {} pixels for {} labels",
    "(ε, δ)-differential privacy of {steps} {counted}, upper bounds at δ = {:e}:",
    "  ε ≤ {}  tight accounting ({rigor})",
    "  ε ≤ {}  Rényi order {}, improved conversion (Canonne et al. 2020)",
    "  ε ≤ {}  Rényi order {}, classic conversion (Mironov 2017)",
    "  of which {} for noise that is not exactly its law, and as much of δ as a distance of {} costs",
    "  · {assumption}",
    "Holds if sampling and noise came from an unpredictable source.",
    "numerical: {step}",
    // Notation of layers.
    "conv {filters} {kernel}x{kernel}",
    " same",
    " pad {pixels}",
    "maxpool ",
    "avgpool ",
    "dense {outputs}",
    "groupnorm {groups}",
    "conv 16 8x8/2 same",
    "maxpool 2/1",
    "avgpool 2",
    "dense 10",
    "scattering, dense 10",
    "dense 32",
    "tempered 1.58 3 0.71",
    "groupnorm 4",
    "dense 128, tanh, dense 10",
    "conv 16 8x8/2 same, {f}, maxpool 2/1, conv 32 4x4/2, {f}, maxpool 2/1, dense 32, {f}, dense 10",
];

/// Messages without a space, or without a word of their own.
const WORDS: &[&str] = &[
    "CNN (tanh)",
    "{what} ({})",
    "{}, {threads} thread{}",
    // Fields of a configuration, a ledger or a run file.
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
    // Noise families.
    "Gaussian",
    "Laplace",
    "Cauchy",
    "Student-t",
    "custom",
    // Parts of files.
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
    // Parts of an engine.
    "envelope",
    "examples",
    "momenta",
    "pixels",
    "release",
    "run",
];

/// Holes for words of visitors or browsers, which are not translated.
const OWN_WORDS: [&str; 9] = ["detail", "e", "file", "first", "images_file", "labels_file", "name", "second", "url"];

/// Beginnings of sentences that may follow another in one message.
const AFTER_ANOTHER: [&str; 1] = ["The run began on "];

/// Messages passed on from libraries and browsers, and numbers not written in digits alone.
const OF_OTHERS: &[&str] = &[
    "{what} at line {line} column {column}",
    "expected value",
    "expected ident",
    "trailing characters",
    "EOF while parsing a value",
    "EOF while parsing a string",
    "EOF while parsing an object",
    "EOF while parsing a list",
    "missing field `{=field}`",
    "invalid type: {=found}, expected {=wanted}",
    "invalid value: {=found}, expected {=wanted}",
    "unknown variant `{=found}`, expected {=wanted}",
    "Failed to fetch",
    "Load failed",
    "invalid length {length}, expected {=wanted}",
    "0x{=digits}",
    "{number} MB",
    "{number} GB",
    "manifest.json",
    "inf",
    "-inf",
    "NaN",
];

/// Returns the patterns of all messages by folder, each once.
pub fn said(root: &Path) -> Result<Vec<(String, Vec<String>)>> {
    let (mut groups, mut known) = (Vec::new(), BTreeSet::new());
    for folder in FOLDERS {
        let place = root.join(folder);
        let mut sources = if place.is_file() { vec![place] } else { files(&place)? };
        sources.retain(|path| {
            let named = path.extension().is_some_and(|extension| extension == "rs");
            // A file of tests, or a file in a folder of tests.
            let tests = path.ancestors().any(|part| {
                part.ends_with("tests.rs") || part.with_extension("rs").is_file() && part.ends_with("tests")
            });
            named && !tests && !ELSEWHERE.iter().any(|other| path.starts_with(root.join(other)))
        });
        sources.sort();
        let mut patterns = vec![];
        for path in sources {
            let found = literals(&fs::read_to_string(&path)?).into_iter();
            patterns.extend(found.filter_map(|(literal, how)| pattern(&literal, how)));
        }
        patterns.retain(|pattern| known.insert(pattern.clone()));
        let after = |pattern: &&String| AFTER_ANOTHER.iter().any(|start| pattern.starts_with(start));
        let joined: Vec<String> = patterns.iter().filter(after).map(|pattern| format!("{{0}} {pattern}")).collect();
        patterns.extend(joined);
        let name = folder
            .trim_start_matches("src/")
            .trim_start_matches("crates/")
            .trim_end_matches("/src")
            .replace("core/src/", "");
        groups.push((format!("threads, {}", name.trim_end_matches(".rs")), patterns));
    }
    groups.push(("threads, others".to_owned(), OF_OTHERS.iter().map(|text| (*text).to_owned()).collect()));
    Ok(groups)
}

/// The context of a literal.
#[derive(Clone, Copy, PartialEq)]
enum In {
    /// `#[error("…")]`.
    Error,
    /// Text that only programmers read.
    Programmers,
    Else,
}

/// Returns all literals of a source except its tests'.
fn literals(source: &str) -> Vec<(String, In)> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let (mut found, mut code, mut rest) = (vec![], String::new(), source);
    while let Some(letter) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(after) = rest.strip_prefix("'\"'") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix('"') {
            let Some((literal, after)) = literal(after, code.ends_with('r')) else { break };
            let before = code.trim_end();
            let how = match () {
                () if before.ends_with("#[error(") => In::Error,
                () if for_programmers(before) => In::Programmers,
                () => In::Else,
            };
            found.push((literal, how));
            // A placeholder, so that the literal's commas and braces are not taken for code.
            code.push_str("\"\"");
            rest = after;
        } else {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    found
}

/// True if a literal after this code belongs to a panic, a lint or an assertion.
fn for_programmers(before: &str) -> bool {
    let statement = before.rsplit([';', '{', '}']).next().unwrap_or(before);
    before.ends_with("reason =")
        || [".expect(", "assert", "panic!(", "unreachable!("].iter().any(|word| statement.contains(word))
            && !statement.contains("#[error(")
}

/// Parses a literal from after its opening quote, and returns the rest.
fn literal(rest: &str, raw: bool) -> Option<(String, &str)> {
    let (mut out, mut letters) = (String::new(), rest.chars());
    loop {
        match letters.next()? {
            '"' => return Some((out, letters.as_str())),
            '\\' if !raw => match letters.next()? {
                // A continued line.
                '\n' => letters = letters.as_str().trim_start().chars(),
                'n' => out.push('\n'),
                '0' => out.push('\0'),
                letter => out.push(letter),
            },
            letter => out.push(letter),
        }
    }
}

/// Returns the pattern of a literal that is a message. Holes keep only their names, adjacent holes
/// merge, and a hole is added where a literal begins or ends with a space.
fn pattern(literal: &str, how: In) -> Option<String> {
    if how == In::Programmers || UNSAID.contains(&literal) || literal.contains("{{") || literal.contains('\n') {
        return None;
    }
    let (mut out, mut words, mut holes, mut rest) = (String::new(), String::new(), 0, literal);
    // Begins with a space or a comma: continues another message.
    if literal.starts_with([' ', ',']) {
        out.push_str("{before}");
    }
    while let Some((before, after)) = rest.split_once('{') {
        let (hole, after) = after.split_once('}')?;
        out.push_str(before);
        words.push_str(before);
        let (name, format) = hole.split_once(':').unwrap_or((hole, ""));
        let number = holes.to_string();
        let name = if name.is_empty() { &number } else { name };
        let quoted = before.ends_with('“') && after.starts_with('”') || before.ends_with('`') && after.starts_with('`');
        // Merged with the previous hole.
        if !before.is_empty() || holes == 0 && !out.ends_with('}') {
            let own = if quoted || format == "?" || OWN_WORDS.contains(&name) { "=" } else { "" };
            out.push_str(&format!("{{{own}{name}}}"));
        }
        holes += 1;
        rest = after;
    }
    out.push_str(rest);
    words.push_str(rest);
    if literal.ends_with(' ') {
        out.push_str("{=more}");
    }
    let letters = words.split(|letter: char| !letter.is_alphabetic()).any(|word| word.chars().count() > 1);
    let sentence = letters && literal.contains(' ') || how == In::Error && holes > 1;
    (sentence || WORDS.contains(&literal)).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(source: &str) -> Vec<String> {
        literals(source).into_iter().filter_map(|(literal, how)| pattern(&literal, how)).collect()
    }

    #[test]
    fn sentences_are_found_and_become_patterns() {
        let source = r##"
            // "not this one"
            #[error("{field} is {}; it must be {range:?}", quoted(*.value))]
            #[error(
                "a sentence over {0} \
                 lines, “{1}”"
            )]
            #[error("{file}: {fault}")]
            #[error(transparent)]
            format!("at least {}{more:.1e} of them");
            let (a, b) = ('"', " (a picture)");
            fn f() { g("kebab-case"); h("labels"); r"one \n two" }
            x.expect("it is there"); assert!(a, "b is c"); assert_eq!(f("of no {}"), "of all");
            #[expect(missing_docs, reason = "they speak for themselves")]
            "at least "
        "##;
        assert_eq!(
            patterns(source),
            [
                "{field} is {1}; it must be {=range}",
                "a sentence over {0} lines, “{=1}”",
                "{=file}: {fault}",
                "at least {0} of them",
                "{before} (a picture)",
                "labels",
                "one \\n two",
                "at least {=more}",
            ]
        );
        assert_eq!(patterns("a(\"of this\");\n#[cfg(test)]\nmod tests { \"of that\" }"), ["of this"]);
    }

    #[test]
    fn every_listed_literal_occurs_in_the_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut all = BTreeSet::new();
        for folder in FOLDERS.map(|folder| root.join(folder)) {
            let sources = if folder.is_file() { vec![folder] } else { files(&folder).unwrap() };
            for path in sources.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
                let found = literals(&fs::read_to_string(path).unwrap()).into_iter();
                all.extend(found.filter(|(_, how)| *how != In::Programmers).map(|(literal, _)| literal));
            }
        }
        let gone: Vec<_> = UNSAID.iter().chain(WORDS).filter(|listed| !all.contains(**listed)).collect();
        assert!(gone.is_empty(), "{gone:?}");
        assert!(ELSEWHERE.iter().all(|path| root.join(path).exists()));
        let said: Vec<String> = said(&root).unwrap().into_iter().flat_map(|(_, patterns)| patterns).collect();
        assert!(
            AFTER_ANOTHER.iter().all(|start| said.iter().any(|pattern| pattern.starts_with(&format!("{{0}} {start}"))))
        );
    }
}
