//! The privacy label of the current run as a file, written by the accountant.

use leptos::prelude::*;

use super::chart_files::NOTHING_YET;
use crate::{
    train::{label::Format, run_file::RunCard},
    ui::{
        browser,
        state::{Page, as_sentence, broken_promise},
    },
    worker::accounts::{Answer, Question},
};

/// Saves the label.
pub fn save(page: Page, format: Format) {
    let Some(past) = page.current() else { return page.messages.notify(NOTHING_YET.get().to_owned()) };
    if untrack(|| page.run.is_broken()) {
        return page.messages.notify(broken_promise().to_owned());
    }
    let info = past.info;
    // The composed cost of all runs is out of date while a run plays.
    let together =
        if page.run.playing.get_untracked() { String::new() } else { page.runs.together.get_untracked().to_string() };
    let card = RunCard {
        name: past.name,
        note: past.note,
        config: info.config,
        engine: info.engine,
        data: info.data,
        train: info.train,
        test: info.test,
        report: past.last,
        accuracy: past.accuracy,
        accuracy_curve: vec![],
        improved_curve: vec![],
        classic_curve: vec![],
    };
    let events = page.spending.told_events();
    let question = Question::Label { run: info.run, events, card: Box::new(card), together, format };
    page.accountant.ask(question, move |answer| match answer {
        Answer::Label(Ok(text)) => {
            let (name, kind) = match format {
                Format::Html => ("hushgrad-label.html", "text/html"),
                Format::Markdown => ("hushgrad-label.md", "text/markdown"),
                Format::Registry => ("hushgrad-label.yaml", "application/yaml"),
            };
            browser::download(name, kind, text.as_bytes());
        }
        Answer::Label(Err(phrase)) => page.messages.notify(as_sentence(&phrase)),
        _ => {}
    });
}
