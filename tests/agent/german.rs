//! Whatever the training thread says in these tests, the page can say in German, too.

use std::cell::Cell;

use hushgrad::{
    ui::text::{self, Table},
    worker::protocol::{Event, Problem},
};

thread_local! {
    static SPEAKS: Cell<bool> = const { Cell::new(false) };
}

/// Words that occur in no German sentence.
const ENGLISH: [&str; 10] = ["the", "of", "is", "are", "and", "with", "not", "because", "it", "to"];

/// Looks a message's sentence up as the page does.
pub fn heard(event: &Event) {
    if !SPEAKS.replace(true) {
        text::speak(Table::read(include_str!("../../www/text/de.txt"), |n| usize::from(n != 1.0)));
    }
    let (Event::Notice(said)
    | Event::Unkept(said)
    | Event::Together(Err(said))
    | Event::NotLoaded { sentence: said, .. }
    | Event::Problem(Problem { sentence: said, .. })) = event
    else {
        return;
    };
    let own = text::heard(said);
    let english = own.split(|letter: char| !letter.is_alphanumeric()).find(|word| ENGLISH.contains(word));
    assert!(said.is_empty() || own != said.to_string() && english.is_none(), "{said}\nis heard as\n{own}");
}
