//! Choosing digits or files: what is requested, and what follows when it arrives.

use leptos::prelude::*;

use super::{
    digits::LoadedDigits, lesson_steps::LessonPlayer, messages::Origin, page::Page, sweep_runs::SweepRuns,
    task::TaskLock,
};
use crate::{
    plot::format,
    ui::{
        browser,
        settings::{Digits, Settings, UserSource},
        text::{heard, t},
    },
    worker::protocol::{DRAWN, DataRequest},
};

/// Choosing and loading digits.
#[derive(Clone, Copy)]
pub struct DigitChoice(pub Page);

impl DigitChoice {
    /// Requests other digits; a new run starts when they arrive.
    pub fn choose_digits(self, digits: Digits) {
        if !TaskLock(self.0).may_set("dataset") {
            return;
        }
        if digits == Digits::Files && self.0.digits.own_files().is_empty() {
            // The digits stay until files are picked, which an embed cannot do.
            let how = if browser::press("own-files") {
                t!("Choose your files, or drop them anywhere here; until then the digits stay the same.")
            } else {
                t!("Your own files can be loaded on the full page, but not in this embed; the digits stay the same.")
            };
            return self.0.messages.notify(how.to_owned());
        }
        self.change_digits(digits);
    }

    /// Selects and requests other digits; reverts the choice if they do not arrive.
    pub(super) fn change_digits(self, digits: Digits) {
        let before = self.0.settings.with_untracked(|settings| settings.digits);
        self.set_digits(digits);
        self.load_digits(digits, Some(before));
    }

    fn set_digits(self, digits: Digits) {
        self.0.settings.update(|settings| settings.digits = digits);
    }

    /// Requests digits. `before`: the previous choice, if it was changed for these.
    pub(super) fn load_digits(self, digits: Digits, before: Option<Digits>) {
        let request = match digits {
            Digits::Mnist => {
                DataRequest::Site { manifest: browser::script_address("hushgrad-digits", "./data/manifest.json") }
            }
            Digits::Synthetic => DataRequest::Synthetic { seed: 0, train: DRAWN.0, test: DRAWN.1 },
            Digits::Colour => DataRequest::Colour { seed: 0, train: DRAWN.0, test: DRAWN.1 },
            Digits::Files => {
                let files = self.0.digits.own_files();
                if !files.is_empty() {
                    return self.offer(files, before);
                }
                // Without files, a shared link falls back to the site's digits.
                self.set_digits(Digits::Mnist);
                self.0.messages.notify(t!("The link was made with its author's own files, which stay on their machine; choose yours, or continue with the page's digits.").to_owned());
                return self.load_digits(Digits::Mnist, before);
            }
        };
        self.request_digits(request, before, vec![]);
    }

    /// Has the training thread read the visitor's files.
    pub fn load_files(self, files: Vec<web_sys::File>) {
        if TaskLock(self.0).may_set("dataset") {
            self.offer(files, None);
        }
    }

    fn offer(self, files: Vec<web_sys::File>, before: Option<Digits>) {
        let sizes = files.iter().map(|file| (file.name(), file.size() as u64)).collect();
        let reader = browser::script_address("hushgrad-reader", "./reader_loader.js");
        self.request_digits(DataRequest::Files { reader, files: sizes }, before, files);
    }

    fn request_digits(self, from: DataRequest, before: Option<Digits>, files: Vec<web_sys::File>) {
        // All runs of a sweep use the same digits.
        SweepRuns(self.0).end_sweep();
        self.0.messages.clear(Origin::Run);
        self.0.messages.clear(Origin::Digits);
        self.0.digits.request(from, before, files);
    }

    /// Ends a load without further data, and reverts the choice of digits if made for this load.
    pub(super) fn end_load(self, load: u32) {
        if let Some(before) = self.0.digits.end_load(load) {
            self.set_digits(before);
        }
        if self.0.digits.end_part(load) {
            self.0.run.stay();
        }
    }

    /// Reduces a lot larger than the training set to an eighth of it, so that a run can start on
    /// the new digits. Returns a sentence about it.
    fn fit_lot(self, train: u32) -> Option<String> {
        let lot = self.0.settings.with_untracked(|settings| settings.lot);
        let fits = self.0.settings.with_untracked(|settings| settings.fitting_lot(train));
        let fits = fits.filter(|_| !TaskLock(self.0).is_fixed("lot"))?;
        self.0.settings.update(|settings| settings.lot = fits);
        Some(t!(
            "A lot of {lot} is more than these {train} images, so the lot size is now {fits}.",
            lot = format::integer(lot.into()),
            train = format::integer(train.into()),
            fits = format::integer(fits.into())
        ))
    }

    /// Takes digits that have arrived; starts a run on them if they were awaited.
    pub(super) fn take_digits(self, load: u32, loaded: LoadedDigits) {
        let (own, train, complete) = (loaded.choice(), loaded.train, loaded.complete);
        let remarks: Vec<String> = loaded.remarks.iter().map(heard).collect();
        let Some(arrival) = self.0.digits.arrive(load, loaded) else { return };
        self.0.pay_once.forget();
        self.0.annealing.stop();
        self.0.annealing.forget();
        // Models follow the images: layers stay, shapes are recomputed.
        let (before, now) =
            self.0.settings.with_untracked(|settings| (settings.model, self.0.digits.fitted(settings.model)));
        if before != now {
            self.0.settings.update(|settings| settings.model = now);
        }
        // A link may leave their number to the files.
        if let Some(named) = self.0.digits.users() {
            let left = |settings: &Settings| settings.user_source == UserSource::Data && settings.users.is_none();
            if self.0.settings.with_untracked(left) {
                self.0.settings.update(|settings| settings.take_users(named));
            }
        }
        let fitted = if complete { self.fit_lot(train) } else { None };
        if arrival.awaited && own == Digits::Files {
            // They show what was read.
            self.0.appearance.show_settings();
        }
        let remarks = if self.0.appearance.sheet.get_untracked() { Vec::new() } else { remarks };
        let said: Vec<String> = fitted.into_iter().chain(remarks).collect();
        if !said.is_empty() {
            self.0.messages.notify(said.join(" "));
        }
        LessonPlayer(self.0).fit_lesson();
        // While other digits are awaited, the choice is theirs.
        if arrival.last && self.0.settings.with_untracked(|settings| settings.digits != own) {
            self.set_digits(own);
        }
        // The noise for a budget depends on the number of all digits.
        if !complete && self.0.settings.with_untracked(|settings| settings.budget.is_some()) {
            return self.0.cost.schedule();
        }
        if arrival.rest && self.0.run.is_at_start() && self.0.run.info.with_untracked(Option::is_some) {
            // The training thread's run already has all of them.
            self.0.follow_budget(Some(train), None, Page::restart);
        } else if arrival.awaited || arrival.rest || self.0.run.info.with_untracked(Option::is_none) {
            self.0.follow_budget(Some(train), None, Page::start);
        } else {
            self.0.cost.schedule();
        }
    }
}
