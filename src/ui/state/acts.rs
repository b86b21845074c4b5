//! What the visitor does: play, change, draw, bring files.

use std::sync::Arc;

use leptos::prelude::*;

use super::page::{Awaited, Inner, Kept, Origin, Page, ParametersFor};
use crate::{
    train::report::Privacy,
    ui::{
        browser,
        runs::export,
        settings::{Digits, Number, Settings, Speed, presets::Preset},
    },
    worker::protocol::{DataRequest, Request},
};

/// Digits drawn where the visitor asks for synthetic ones.
const SYNTHETIC: (u32, u32) = (20_000, 5_000);

impl Page {
    pub fn play(self) {
        // Not whenever a run plays: what is said of a run that goes on by itself stays.
        self.notice.set(None);
        if self.awaits_run() {
            self.inner.update_value(|inner| inner.play_when_ready = true);
            return;
        }
        if self.complete() {
            self.reset();
        }
        self.send(Request::Play);
    }

    pub fn pause(self) {
        self.inner.update_value(|inner| (inner.play_when_ready, inner.step_when_ready) = (false, false));
        // At once: a run of newer settings plays on if this one does.
        self.playing.set(false);
        self.send(Request::Pause);
    }

    /// Whether what is asked for now is meant for a run that is yet to come: the first, or one of settings whose noise is
    /// still being sought.
    fn awaits_run(self) -> bool {
        self.run.with_untracked(Option::is_none) || self.inner.with_value(|inner| inner.settling)
    }

    /// No new run comes of the settings: what was asked of it meanwhile is done by the one that stands.
    pub fn stay(self) {
        self.set_settling(false);
        if !self.awaits_run() {
            let asked = self.inner.try_update_value(Inner::take_asked);
            if let Some(Some(request)) = asked {
                self.send(request);
            }
        }
    }

    /// Whether the noise of newer settings is being sought.
    pub fn set_settling(self, settling: bool) {
        self.inner.update_value(|inner| inner.settling = settling);
    }

    pub fn toggle(self) {
        if self.playing.get_untracked() { self.pause() } else { self.play() }
    }

    pub fn step_once(self) {
        if self.awaits_run() {
            self.inner.update_value(|inner| inner.step_when_ready = true);
            return;
        }
        if self.complete() {
            self.reset();
        }
        self.send(Request::StepOnce);
    }

    pub fn reset(self) {
        self.send(Request::Reset);
    }

    pub fn set_speed(self, speed: Speed) {
        self.speed.set(speed);
        self.send_speed();
    }

    pub(super) fn send_speed(self) {
        self.inner.update_value(|inner| inner.looking = false);
        self.send(Request::SlowMotion { milliseconds: self.speed.get_untracked().wait() });
    }

    /// Changes settings; a new run starts where the change means one, and goes on playing if the old one did.
    pub fn change(self, edit: impl FnOnce(&mut Settings)) {
        // Who sets something in the midst of a sweep ends it: all else becomes what it was.
        let left = self.leave_sweep();
        let before = self.settings.get_untracked();
        let mut settings = before.clone();
        edit(&mut settings);
        if left || before != settings {
            self.set_all(settings, before, Self::restart);
        }
    }

    /// A new run of these settings, which plays as soon as it stands, if it is to.
    pub fn begin(self, settings: Settings, play: bool) {
        self.inner.update_value(|inner| inner.play_when_ready = play);
        self.set_all(settings, self.settings.get_untracked(), Self::start);
    }

    /// Sets everything, and goes on with `then`, once the noise that a budget asks for is known.
    fn set_all(self, settings: Settings, before: Settings, then: fn(Self)) {
        // What a field was refused for is void once something else has given it a value.
        for number in Number::ALL {
            if before.number(number) != settings.number(number) {
                self.clear_problem(Some(number));
            }
        }
        self.settings.set(settings);
        let train = self.digits.with_untracked(|digits| digits.as_ref().map(|digits| digits.train));
        self.follow_budget(train, Some(before), then);
    }

    pub fn choose_preset(self, preset: Preset) {
        self.problems.set(vec![]);
        self.change(|settings| *settings = preset.settings(settings));
        self.notice.set(Some(preset.note.to_owned()));
    }

    /// A number field was committed with this text.
    pub fn commit(self, number: Number, text: &str) {
        match number.parse(text) {
            Ok(value) => {
                self.clear_problem(Some(number));
                self.change(|settings| {
                    settings.set_number(number, value);
                    if number == Number::Scale {
                        settings.budget = None;
                    }
                });
                // A field is committed by Enter and again when it is left: what does not fit the data stays said.
                self.check_data();
            }
            Err(sentence) => self.put_problem(Some(number), sentence),
        }
    }

    /// Whether there are digits, and the settings fit them; says so where they do not.
    pub fn check_data(self) -> bool {
        let Some(train) = self.digits.with_untracked(|digits| digits.as_ref().map(|d| d.train)) else { return false };
        let checked = self.settings.with_untracked(|settings| settings.check_data(train));
        checked.map_err(|(field, sentence)| self.put_problem(Some(field), sentence)).is_ok()
    }

    pub(super) fn restart(self) {
        let config = self.settings.with_untracked(Settings::config);
        if self.run.with_untracked(|run| run.as_ref().is_some_and(|run| run.config == config)) {
            return self.stay();
        }
        let playing = self.playing.get_untracked();
        self.inner.update_value(|inner| inner.play_when_ready |= playing);
        self.start();
    }

    /// Asks for the parameters of a run that is about to end, so that its model can still answer.
    pub(super) fn keep_model(self) {
        let (Some(info), Some(report)) = (self.run.get_untracked(), self.report.get_untracked()) else { return };
        if report.step > 0 {
            let private = matches!(report.privacy, Privacy::Bounded(_));
            let reason = ParametersFor::Keeping { model: info.config.model, private };
            self.inner.update_value(|inner| inner.parameters_for = Some(reason));
            self.send(Request::ExportParameters);
        }
    }

    pub(super) fn take_parameters(self, parameters: Vec<f32>) {
        match self.inner.try_update_value(|inner| inner.parameters_for.take()).flatten() {
            Some(ParametersFor::Keeping { model, private }) if parameters.len() == model.parameters() => {
                self.kept.set(Some(Arc::new(Kept { model, parameters, private })));
            }
            Some(ParametersFor::Export { model }) => {
                let file = export::safetensors(model, &parameters);
                browser::download("hushgrad-model.safetensors", "application/octet-stream", &file);
            }
            Some(ParametersFor::Keeping { .. }) | None => {}
        }
    }

    /// Asks for other digits; a new run starts on them when they are there.
    pub fn choose_digits(self, digits: Digits) {
        if digits == Digits::Files && self.inner.with_value(|inner| inner.own_files.is_empty()) {
            // Until some are picked, the digits stay what they are; a frame has no place to pick any.
            let how = if browser::press("own-files") {
                "Pick your IDX files, or drop them anywhere here; until then the digits stay what they are."
            } else {
                "Your own files can be loaded in the whole playground, not in this frame; the digits stay what they are."
            };
            return self.notice.set(Some(how.to_owned()));
        }
        let before = self.settings.with_untracked(|settings| settings.digits);
        self.settings.update(|settings| settings.digits = digits);
        self.load_digits(digits, Some(before));
    }

    pub(super) fn load_digits(self, digits: Digits, before: Option<Digits>) {
        let request = match digits {
            Digits::Mnist => {
                DataRequest::Site { manifest: browser::script_address("hushgrad-digits", "./data/manifest.json") }
            }
            Digits::Synthetic => DataRequest::Synthetic { seed: 0, train: SYNTHETIC.0, test: SYNTHETIC.1 },
            Digits::Files if self.inner.with_value(|inner| !inner.own_files.is_empty()) => {
                return self.offer(self.inner.with_value(|inner| inner.own_files.clone()), before);
            }
            // Nothing to ask for until the visitor has picked files; a shared link falls back to the site's digits.
            Digits::Files => {
                self.settings.update(|settings| settings.digits = Digits::Mnist);
                self.notice.set(Some("The link was made with somebody's own files, which stay on their machine; choose yours, or go on with the page's digits.".to_owned()));
                return self.load_digits(Digits::Mnist, before);
            }
        };
        self.ask_for(request, before, vec![]);
    }

    /// Has the training thread read the visitor's files.
    pub fn load_files(self, files: Vec<web_sys::File>) {
        self.offer(files, None);
    }

    fn offer(self, files: Vec<web_sys::File>, before: Option<Digits>) {
        let sizes = files.iter().map(|file| (file.name(), file.size() as u64)).collect();
        self.ask_for(DataRequest::Files(sizes), before, files);
    }

    /// Hands over a piece of one of a load's files.
    pub(super) fn send_piece(self, load: u32, file: u32, (start, end): (u64, u64)) {
        let file = self.inner.with_value(|inner| {
            let awaited = inner.awaited.iter().find(|awaited| awaited.load == load)?;
            awaited.files.get(file as usize).cloned()
        });
        leptos::task::spawn_local(async move {
            let bytes = match file.and_then(|file| file.slice_with_f64_and_f64(start as f64, end as f64).ok()) {
                Some(piece) => browser::bytes_of(&piece).await,
                None => None,
            };
            self.send(Request::Piece { load, bytes });
        });
    }

    pub(super) fn ask_for(self, from: DataRequest, before: Option<Digits>, files: Vec<web_sys::File>) {
        // The runs of a sweep are of the same digits.
        self.end_sweep();
        self.clear_problem(None);
        self.loading.set(Some((0, 0)));
        self.clear_problems_of(Origin::Digits);
        let load = self.inner.try_update_value(|inner| {
            inner.loads += 1;
            inner.awaited.push(Awaited { load: inner.loads, before, files });
            inner.loads
        });
        if let Some(load) = load {
            self.send(Request::Load { load, from });
        }
    }

    /// The choice of digits becomes what it was before, where it was changed for digits that did not come.
    pub(super) fn choose_back(self, before: Option<Digits>) {
        if let Some(before) = before {
            self.settings.update(|settings| settings.digits = before);
        }
    }

    pub fn draw(self, pixels: Option<Vec<f32>>) {
        self.prediction.update(|prediction| {
            if pixels.is_none() {
                *prediction = None;
            }
        });
        self.drawing.set(pixels);
        self.predict();
    }

    pub(super) fn predict(self) {
        if let Some(pixels) = self.drawing.get_untracked()
            && self.run.with_untracked(Option::is_some)
        {
            self.inner.update_value(|inner| inner.predicted_at = browser::now());
            self.send(Request::Predict { pixels });
        }
    }
}
