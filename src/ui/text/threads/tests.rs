use super::{super::*, *};

const GERMAN: &str = include_str!("../../../../www/text/de.txt");

fn table(patterns: &str) {
    speak(Table::read(format!("@name D\n\n@threads\n{patterns}").leak(), |_| 0));
    format::speak(',', '.');
}

/// Makes this thread speak German.
pub(super) fn german() {
    speak(Table::read(GERMAN, |n| usize::from(n != 1.0)));
    format::speak(',', '.');
}

#[test]
fn a_sentence_is_looked_up_with_what_is_in_it() {
    table(
        "{=file}: {fault}\n= {=file}: {fault}\nthe file holds {found}; expected {expected}\n= die Datei enthält {found}; erwartet: {expected}\n\
         labels\n= Etiketten\nat least {more}\n= mindestens {more}\n",
    );
    for (said, own) in [
        ("labels", "Etiketten"),
        ("a.gz: the file holds labels; expected 1,000.5", "a.gz: die Datei enthält Etiketten; erwartet: 1.000,5"),
        ("labels: labels", "labels: Etiketten"),
        ("1.5: the file holds at least 0.5; expected ∞", "1.5: die Datei enthält mindestens 0,5; erwartet: ∞"),
        // The name matches as much as possible.
        ("a: b; c: the file holds labels; expected 1", "a: b; c: die Datei enthält Etiketten; erwartet: 1"),
        // What nothing matches stays; the rest is translated.
        ("the file holds mice; expected labels", "die Datei enthält mice; erwartet: Etiketten"),
        ("labels ", "labels "),
        ("Labels", "Labels"),
        ("", ""),
        ("nobody says this", "nobody says this"),
        ("the file holds", "the file holds"),
    ] {
        assert_eq!(heard(said), own, "{said}");
    }
}

#[test]
fn english_and_a_table_without_patterns_leave_all_as_it_is() {
    for said in
        ["x.gz: the file is empty (0 bytes); expected an IDX file, plain or gzipped", "", "{", "a {b} c", "\n= "]
    {
        assert_eq!(heard(said), said);
        table("");
        assert_eq!(heard(said), said);
    }
}

#[test]
fn the_pattern_with_the_most_words_of_its_own_goes_first() {
    table("{a}: {b}\n= X {a} {b}\nno {a}: {b}\n= Y {a} {b}\nno file: {b}\n= Z {b}\n");
    assert_eq!([heard("no file: 1"), heard("no 2: 1"), heard("3: 1")], ["Z 1", "Y 2 1", "X 3 1"]);
}

/// File names may contain anything.
#[test]
fn any_text_is_answered_and_not_lost() {
    german();
    for piece in [
        ": ",
        "; ",
        "x: ",
        " and ",
        "“",
        "”: ",
        " is ",
        "a; the ",
        "envelope: a",
        "encoder: a",
        " (",
        "{",
        "}",
        "}{",
        "\n= ",
        "😀: ",
        "",
    ] {
        for times in [1, 7, 60, 300, 1000, 100_000] {
            let name = piece.repeat(times);
            for said in [
                name.clone(),
                format!("encoder: {name}"),
                format!("{name} is {name}; it must be {name}"),
                format!("envelope: the formula cannot be read: {name}; {name}"),
            ] {
                let own = heard(&said);
                assert!(own.len() >= said.len() / 3, "{said:.200} became {own:.200}");
            }
            for said in [
                format!("{name} changed while it was read; choose it again"),
                format!("{name} and {name} are both training images; choose one of them"),
                format!("{name}: the file is empty (0 bytes); expected an IDX file, plain or gzipped"),
            ] {
                assert!(heard(&said).contains(&name), "{said:.200} became {:.200}", heard(&said));
            }
        }
    }
    assert_eq!(
        heard("labels: the file is empty (0 bytes); expected an IDX file, plain or gzipped")
            .split_once(": ")
            .unwrap()
            .0,
        "labels"
    );
}

#[test]
fn every_pattern_is_found_by_its_own_sentence() {
    german();
    let patterns = &TABLE.get().patterns;
    assert!(patterns.len() > 400);
    for (english, own) in patterns {
        let [said, wanted] = [english, own].map(|text| fill(text, &|_| "7".to_owned()));
        let found = look_up(&said, DEEPEST, &Cell::new(0));
        assert!(found.as_ref().is_some_and(|(_, whole)| *whole), "{said}: {found:?}");
        // Of patterns that differ only in the names of holes, only one is found.
        let alike = patterns.iter().filter(|(other, _)| fill(other, &|_| "7".to_owned()) == said).count();
        assert!(alike > 1 || found.unwrap().0 == wanted, "{said}");
    }
}
