//! What settings mean: whether they guarantee privacy, and what changed between two runs.

use super::{
    choice::{Choice, DenoiserKind, Encoder, Family, PhaseKind},
    numbers::Number,
    selects::Select,
    values::Settings,
};
use crate::{
    data::sharing::Sharing,
    model::Architecture,
    plot::format,
    train::{
        audit::InjectedBug,
        config::{Protects, RunConfig},
    },
    ui::text::t,
};

impl Settings {
    /// Returns the promise that the run breaks; only audited runs (with canaries) break one.
    #[must_use]
    pub fn mutation(&self) -> Option<InjectedBug> {
        self.broken.filter(|_| self.canaries > 0)
    }

    /// Returns the run's configuration, and the promise that it breaks.
    #[must_use]
    pub fn what_runs(&self) -> (RunConfig, Option<InjectedBug>) {
        (self.config(), self.mutation())
    }

    /// Returns why these settings give no privacy guarantee; `None` if they give one.
    #[must_use]
    pub fn no_guarantee(&self) -> Option<&'static str> {
        if self.family == Family::None {
            Some(t!("Without noise there is no privacy guarantee, whatever else you choose."))
        } else if self.encoder == Encoder::None {
            Some(t!("Unbounded gradients drown any noise: there is no privacy guarantee."))
        } else if self.replay.is_some() {
            Some(t!("Replayed noise can be subtracted by anybody who knows the seed: there is no privacy guarantee."))
        } else {
            None
        }
    }

    /// Returns the privacy unit if it is more than one digit: `users` or `micro-batches`.
    #[must_use]
    pub fn whole(&self) -> Option<&'static str> {
        match self.sharing() {
            Sharing::Users { .. } | Sharing::UsersOfData { .. } => Some("users"),
            Sharing::MicroBatches { .. } if self.protects == Protects::MicroBatch => Some("micro-batches"),
            Sharing::MicroBatches { .. } | Sharing::Alone => None,
        }
    }

    /// Returns the denoiser of the run: none without noise.
    fn denoiser_kind(&self) -> DenoiserKind {
        if self.family == Family::None { DenoiserKind::None } else { self.denoiser }
    }

    /// True if a condition holds, such as `encoder=clip&noise=!none`. Other keys: `private`,
    /// `momentum`, `bands` (more than one) and `whole` (ε is of a user or a micro-batch) are `yes`
    /// or `no`; `shared` is `no`, `micro-batches` or `users`; `denoises` is [`DenoiserKind::does`].
    #[must_use]
    pub fn meet(&self, condition: &str) -> bool {
        let yes = |is: bool| if is { "yes" } else { "no" };
        condition.split('&').filter(|part| !part.is_empty()).all(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let now = match key {
                "encoder" => self.encoder.key(),
                "noise" => self.family.key(),
                "denoiser" => self.denoiser_kind().key(),
                "denoises" => self.denoiser_kind().does(),
                "sampling" => self.sampling.key(),
                "bands" => yes(self.config().bands > 1),
                "whole" => yes(self.whole().is_some()),
                "shared" => match self.sharing() {
                    Sharing::Alone => "no",
                    Sharing::MicroBatches { .. } => "micro-batches",
                    Sharing::Users { .. } | Sharing::UsersOfData { .. } => "users",
                },
                "private" => yes(self.no_guarantee().is_none()),
                "momentum" => yes(self.config().momentum > 0.0),
                _ => return false,
            };
            value.strip_prefix('!').map_or(now == value, |other| now != other)
        })
    }

    /// Returns the changes between two runs as a short label.
    #[must_use]
    pub fn changes_since(&self, old: &Self) -> String {
        let mut changes = vec![];
        for select in Select::ALL {
            let spec = select.spec();
            let (now, before) = ((spec.get)(self), (spec.get)(old));
            if let Some(change) = spec.change
                && now != before
                && select.applies(self)
            {
                changes.push(change.with(&[("option", spec.label_of(now))]));
            }
            if let (Select::Model, Architecture::Built(list)) = (select, self.model)
                && self.model != old.model
            {
                changes.push(list.to_string());
            }
            if select == Select::Noise && self.formula != old.formula && self.family == Family::Custom {
                changes.push(self.formula.clone());
            }
            if select == Select::Clipping && self.layer_norms != old.layer_norms && self.encoder == Encoder::Layers {
                changes.push(t!("norms {norms}", norms = self.layer_norms));
            }
            if select == Select::Phases && self.phase_list != old.phase_list && self.phases == PhaseKind::List {
                changes.push(self.phase_list.clone());
            }
        }
        for number in Number::ALL {
            let (now, before) = (self.number(number), old.number(number));
            if now != before && self.applies(number) {
                let value = now.map_or_else(|| t!("not set").to_owned(), format::number);
                changes.push(number.spec().named.with(&[("value", value)]));
            }
        }
        changes.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::config::SamplingPolicy;

    #[test]
    fn conditions_are_met_or_not() {
        let settings = Settings { denoiser: DenoiserKind::KolmogorovSmirnov, ..Settings::default() };
        for condition in [
            "",
            "encoder=clip",
            "noise=!none&denoiser=kolmogorov-smirnov",
            "private=yes&momentum=no",
            "sampling=poisson&sampling=!shuffled",
        ] {
            assert!(settings.meet(condition), "{condition}");
        }
        for condition in ["encoder=!clip", "noise=gaussian&private=no", "lesson", "nonsense=1"] {
            assert!(!settings.meet(condition), "{condition}");
        }
        assert!(Settings { family: Family::None, ..settings }.meet("denoiser=none&private=no"));
    }

    #[test]
    fn runs_are_labelled_by_what_changed() {
        let old = Settings::default();
        let new = Settings { scale: 2.0, family: Family::StudentT, ..old.clone() };
        assert_eq!(new.changes_since(&old), "Student-t, noise scale 2");
        let new = Settings { sampling: SamplingPolicy::FixedSize, ..old.clone() };
        assert_eq!(new.changes_since(&old), "Fixed-size lots");
        assert_eq!(old.changes_since(&old), "");
    }
}
