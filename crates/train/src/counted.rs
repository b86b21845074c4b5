//! Counts released with a run's steps: an adaptive clipping norm and paid metrics. A run's noise is
//! that of the whole release, so its price stays; the gradient gets the noise that counts leave.

use super::{config::RunConfig, error::ConfigError, number::quoted};
use crate::{
    accounting::{
        ledger::{Held, LayerSet, Part},
        noise::NoiseSpec,
    },
    mechanism::{EncoderSpec, counts::Counting, layers::Layers},
    model::CLASSES,
};
use hushgrad_message::{Message, message, word};

/// Largest noise, in lots; with more, a count is useless.
const MOST_NOISE: f64 = 1000.0;

impl RunConfig {
    /// Returns a step's counts besides its sum; their noise is a share of the configured lot.
    #[must_use]
    pub fn counting(&self) -> Counting {
        let lot = self.sharing.lot(self.lot);
        Counting {
            within: self.adaptive_clip.map(|clip| clip.noise * lot),
            answers: self.metrics.map(|metrics| metrics.noise * lot),
        }
    }

    /// Returns the gradient's noise over its clipping norm: the run's own if nothing is counted.
    pub(super) fn noise_of_gradient(&self) -> Option<NoiseSpec> {
        let noise = self.noise.clone()?;
        // Counts that leave nothing are refused earlier.
        let scale = self.counting().of_gradient(noise.scale()).unwrap_or(f64::INFINITY);
        Some(noise.with_scale(scale))
    }

    /// Returns the parts of a release that is more than a gradient, or has groups of layers.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let counting = self.counting();
        let groups = self.groups_of_layers();
        let Some(noise) = self.noise_of_gradient().filter(|_| !(counting.is_none() && groups.is_empty())) else {
            return Vec::new();
        };
        let held = counting
            .within
            .map(|_| Held::NormWithinClip)
            .into_iter()
            .chain(counting.answers.map(|_| Held::AnswerAndClass));
        let counts = held.zip(counting.groups()).map(|(holds, (group, noise))| Part { holds, clip: group.clip, noise });
        let whole = groups.is_empty().then_some(Part { holds: Held::Gradient, clip: 1.0, noise: noise.scale() });
        let groups = groups.into_iter().map(|part| Part { noise: part.noise * noise.scale(), ..part });
        whole.into_iter().chain(groups).chain(counts).collect()
    }

    /// Groups of layers that a ledger can name, with the noise of each in noise multipliers.
    fn groups_of_layers(&self) -> Vec<Part> {
        let EncoderSpec::Layers(clip) = &self.encoder else { return Vec::new() };
        let gaussian = matches!(self.noise, Some(NoiseSpec::Gaussian { .. })) && self.grid_bits.is_none();
        if !gaussian || clip.groups.is_empty() && clip.noises.is_empty() {
            return Vec::new();
        }
        let lengths = self.model.lengths();
        let Ok(layers) = Layers::new(clip, &lengths) else { return Vec::new() };
        let all = || (1..).zip(layers.parts());
        let group = |group: u8| {
            let own = all().filter(|(_, part)| part.group == group).map(|(number, _): (u8, _)| number);
            let holds = Held::Layers(LayerSet::try_from(own.collect::<Vec<_>>()).ok()?);
            let (_, part) = all().find(|(_, part)| part.group == group)?;
            Some(Part { holds, clip: part.norm, noise: part.unit })
        };
        (0..lengths.len() as u8).filter_map(group).collect()
    }
}

/// Checks that a configuration can release its counts.
///
/// # Errors
/// The field that is out of range, or what contradicts it.
pub(super) fn check(config: &RunConfig) -> Result<(), ConfigError> {
    let counting = config.counting();
    let first = if config.adaptive_clip.is_some() { "adaptive-clip" } else { "metrics" };
    let contradiction = |field, sentence| Err(ConfigError::Contradiction { field, sentence });
    if counting.is_none() {
        return Ok(());
    }
    if config.metrics.is_some() && config.model.classes() != CLASSES {
        return contradiction(
            "metrics",
            word!("they count digits, and this model has other classes; choose no metrics"),
        );
    }
    let z = match config.noise {
        Some(NoiseSpec::Gaussian { sigma }) => sigma,
        _ => {
            return contradiction(
                first,
                word!(
                    "counts can share the gradient's budget only if the noise is Gaussian; choose it, or release no counts"
                ),
            );
        }
    };
    if config.grid_bits.is_some() {
        return contradiction(
            first,
            word!("counts cannot be rounded to a grid; leave out the grid, or release no counts"),
        );
    }
    if config.bands > 1 {
        return contradiction(
            first,
            word!(
                "counts cannot be released with noise that is correlated over several steps; choose 1 band, or release no counts"
            ),
        );
    }
    if !config.encoder.clips() {
        return contradiction(
            first,
            word!("counts can share the gradient's budget only if it is clipped; choose to clip, or release no counts"),
        );
    }
    let range = |field, value: f64, range: Message| {
        Err(ConfigError::OutOfRange { field, value: Message::text(quoted(value)), range })
    };
    let lot = config.sharing.lot(config.lot);
    let mut left = z.powi(-2);
    let mut noise_of = |field, bound: f64, noise: f64| {
        let least = bound / (lot * left.sqrt());
        if noise.is_nan() || noise <= least || noise > MOST_NOISE {
            return range(
                field,
                noise,
                message!(
                    "above {} and at most {MOST_NOISE}, as counts with less noise cost more than the noise scale allows",
                    quoted(least)
                ),
            );
        }
        left -= (bound / (noise * lot)).powi(2);
        Ok(())
    };
    if let Some(clip) = config.adaptive_clip {
        if !matches!(config.encoder, EncoderSpec::Clip { .. }) {
            return contradiction(
                "adaptive-clip",
                word!("it follows the norms of whole gradients; choose one clip for all layers, or a fixed one"),
            );
        }
        noise_of("adaptive-clip.noise", 0.5, clip.noise)?;
        if clip.quantile.is_nan() || clip.quantile <= 0.0 || clip.quantile >= 1.0 {
            return range("adaptive-clip.quantile", clip.quantile, word!("above 0 and below 1").into());
        }
    }
    if let Some(metrics) = config.metrics {
        if config.sharing.is_shared() {
            return contradiction(
                "metrics",
                word!("answers are counted example by example; choose no micro-batches and no users, or no metrics"),
            );
        }
        noise_of("metrics.noise", 1.25_f64.sqrt(), metrics.noise)?;
    }
    // Rounding may leave nothing where the least noise is met to the last digit.
    if counting.of_gradient(z).is_none_or(|noise| !noise.is_finite()) {
        return contradiction(
            first,
            word!("counts with this little noise leave no budget for the gradient; choose more noise"),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
