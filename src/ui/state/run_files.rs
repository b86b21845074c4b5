//! Runs from files.

use leptos::prelude::*;

use super::{messages::Origin, page::Page, task::TaskLock};
use crate::{
    ui::{
        settings::Settings,
        text::{heard, t},
    },
    worker::{
        accounts::{Answer, Question},
        protocol::Request,
    },
};

impl Page {
    /// Lists a run from a file once the accountant has verified it, and takes its settings.
    pub fn open_run(self, name: String, bytes: Vec<u8>) {
        self.messages.clear(Origin::RunFile);
        let file = bytes.clone();
        self.accountant.ask_of_file(Question::OpenRun { name, bytes }, move |answer| match answer {
            Answer::OpenRun(Ok((card, _))) => {
                let (name, config) = (card.name.clone(), card.config.clone());
                self.trainer.send(Request::KeepFile { card, bytes: file });
                let digits = self.settings.with_untracked(|now| now.digits);
                let settings = Settings::of_config(&config, digits);
                TaskLock(self).unlock_for(&settings);
                self.take_settings(settings);
                self.messages.notify(t!(
                    "“{name}” is plotted beside your runs. Its ε was recomputed from the file's list of releases, which is its author's word. Continue it in the list of runs, or press Play to start over.",
                    name = name
                ));
            }
            Answer::OpenRun(Err(phrase)) => self.messages.put(Origin::RunFile, heard(&phrase) + "."),
            _ => {}
        });
    }
}
