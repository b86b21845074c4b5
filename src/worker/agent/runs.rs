//! Stored runs: listed, named, exported as files, deleted, restored, and imported from files.

use std::time::Duration;

use super::{
    ahead::Place,
    run_key::new_key,
    state::Agent,
    stored_run::{TakeError, settled, shown},
    time_limit::{within, write},
};
use crate::{
    train::run_file::RunCard,
    worker::{
        host::Host,
        protocol::{Event, Label},
        run_store::{Change, Entry, Record, StoreError},
    },
};
use hushgrad_message::{message, word};

/// Why a broken run has no file.
pub(super) const BROKEN: &str = word!("this run has an injected bug, so neither it nor its ledger can be saved");

impl<H: Host> Agent<H> {
    /// Tells the page of every stored run, accounted for anew, concurrently with the loop.
    pub(super) fn list(&self) {
        let host = self.host.clone();
        self.host.spawn(async move {
            let keys = match within(&*host, host.keys()).await {
                Ok(keys) => keys,
                // Such a browser cannot write either; the page says so when it has to write.
                Err(StoreError::Refused) => return,
                Err(error) => {
                    let sentence = message!(
                        "the runs of earlier visits cannot be listed, because {error}; reload the page to try again"
                    );
                    return host.send(Event::aside(&sentence));
                }
            };
            for key in keys {
                if let Ok(Some(record)) = within(&*host, host.read(&key)).await {
                    host.send(shown(key, &record));
                }
                // Only the loop may yield; other tasks sleep.
                host.sleep(Duration::ZERO).await;
            }
        });
    }

    /// Names or pins a run.
    pub(super) fn label(&mut self, key: String, label: Label) {
        if !self.keeper.keeps {
            return;
        }
        let change = Change::Label { key: key.clone(), name: label.name.clone(), pinned: label.pinned };
        if let Some(ahead) = self.keeper.ahead.as_ref().filter(|ahead| ahead.key == key) {
            self.keeper.saving.label = label;
            if ahead.place == Place::Unwritten {
                return;
            }
        }
        // Memory never refuses a label.
        drop(self.keeper.memory.write(vec![change.clone()]));
        let host = self.host.clone();
        // A label that cannot be written is lost; the page shows it until it is reloaded.
        self.host.spawn(async move { drop(write(&*host, vec![change]).await) });
    }

    /// Deletes a run. Its books stay, because its releases stay released.
    pub(super) async fn delete(&mut self, key: String) {
        let change = || vec![Change::Remove { key: key.clone(), reserved: None, spent: true }];
        let in_memory = self.keeper.memory.read(&key).is_some();
        self.keeper.deleted = self.read(&key).await.ok().map(|record| (key.clone(), record));
        drop(self.keeper.memory.write(change()));
        if in_memory || !self.keeper.keeps {
            return;
        }
        let locked = within(&*self.host, self.host.lock(&key)).await;
        let deleted = match locked {
            Ok(_) => write(&*self.host, change()).await,
            Err(error) => Err(error),
        };
        match deleted {
            // If the browser keeps nothing, or the run is gone, nothing is left to delete.
            Ok(()) | Err(StoreError::Refused | StoreError::Gone) => {}
            Err(error) => {
                self.aside(&message!("the run could not be deleted: {error}; close the other tab, or try again later"));
                if let Ok(Some(record)) = within(&*self.host, self.host.read(&key)).await {
                    self.host.send(shown(key, &record));
                }
            }
        }
    }

    /// Restores the run deleted last, over its books, which stayed.
    pub(super) async fn restore(&mut self, key: &str) {
        let Some((key, record)) = self.keeper.deleted.take_if(|(deleted, _)| deleted == key) else {
            return self.aside(&word!("the run cannot be restored: it is no longer here"));
        };
        self.put(key, record).await;
    }

    /// Stores a record (in memory if the browser refuses or its books are there), and lists it.
    async fn put(&mut self, key: String, record: Record) {
        let begin = || vec![Change::Begin { key: key.clone(), record: record.clone() }];
        if self.keeper.memory.spent().iter().any(|spent| spent.key == key) {
            drop(self.keeper.memory.write(begin()));
        } else if let Err(error) = write(&*self.host, begin()).await {
            // Memory always takes a new record.
            drop(self.keeper.memory.write(begin()));
            self.refuse_to_keep(error);
        }
        self.host.send(shown(key, &record));
    }

    /// Keeps the run of a run file that the accountant has checked.
    pub(super) async fn keep_file(&mut self, card: RunCard, bytes: Vec<u8>) {
        let Ok(text) = String::from_utf8(bytes) else {
            return self.aside(&word!("the file is not a run file of this page; nothing was stored"));
        };
        let entry = Entry {
            name: card.name.clone(),
            note: word!("from a file").to_owned(),
            pinned: true,
            card: card.to_json(),
        };
        // It has no books: its ledger is read and checked with the file.
        self.put(new_key(0), Record { entry, file: text, books: None, reserved: 0 }).await;
    }

    pub(super) async fn read(&self, key: &str) -> Result<Record, TakeError> {
        match self.keeper.memory.read(key) {
            Some(record) => Ok(record.clone()),
            None => within(&*self.host, self.host.read(key)).await?.ok_or(TakeError::Absent),
        }
    }

    /// Sends the current run or a stored one to the page as a run file.
    pub(super) async fn export_run(&mut self, key: &str) {
        let current = self.keeper.ahead.as_ref().is_some_and(|ahead| ahead.key == key);
        if current && self.is_broken() {
            return self.aside(&BROKEN);
        }
        let file = if current {
            match self.file().await {
                Ok(file) => Ok(file),
                Err(error) => return self.fail(error).await,
            }
        } else {
            self.read(key).await.and_then(|record| Ok(settled(&record)?.0))
        };
        match file {
            Ok(file) => self.host.send(Event::RunFile(file.to_json())),
            Err(error) => self.aside(&error),
        }
    }
}
