//! The attacked run: a configuration, options that change it, and digits.

use std::{error::Error, path::PathBuf};

use hushgrad::{
    accounting::noise::NoiseSpec,
    data::Dataset,
    mechanism::EncoderSpec,
    model::Architecture,
    train::{
        config::{RunConfig, SamplingPolicy},
        presets::Preset,
    },
};

use crate::train::{found, setting_flags::choice, settings};

/// The run; `hushgrad train --print-config` writes whatever has no option here.
#[derive(clap::Args)]
pub struct Run {
    /// Configuration as JSON, as `hushgrad train --print-config` writes it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Preset of the page
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = settings::preset)]
    preset: Option<Preset>,
    #[arg(long, value_parser = choice::<Architecture>())]
    model: Option<Architecture>,
    /// Clipping norm C
    #[arg(long, value_name = "C")]
    clip: Option<f64>,
    /// Scale of the noise, in multiples of the clip
    #[arg(long, value_name = "SCALE")]
    sigma: Option<f64>,
    /// Train without noise, and without a guarantee
    #[arg(long, conflicts_with = "sigma")]
    no_noise: bool,
    /// Expected examples per step
    #[arg(long)]
    lot: Option<u32>,
    /// How each step's examples are drawn, and accounted for
    #[arg(long, value_parser = choice::<SamplingPolicy>())]
    sampling: Option<SamplingPolicy>,
    /// Learning rate, applied to sum/lot
    #[arg(long = "lr", value_name = "RATE")]
    learning_rate: Option<f64>,
    #[arg(long)]
    momentum: Option<f64>,
    /// [default: the configuration's, or 15 epochs]
    #[arg(long, conflicts_with = "epochs")]
    steps: Option<u64>,
    /// Epochs (examples / lot steps each)
    #[arg(long)]
    epochs: Option<f64>,
    #[arg(long)]
    delta: Option<f64>,
    /// Replay sampling and noise from this seed: reproducible, but no evidence of anything
    #[arg(long, value_name = "SEED")]
    replay: Option<u64>,
}

/// Default number of epochs.
const EPOCHS: f64 = 15.0;

impl Run {
    /// Returns the configuration for this number of training examples.
    ///
    /// # Errors
    /// A sentence that names the option.
    pub fn configuration(&self, examples: u32) -> Result<RunConfig, Box<dyn Error>> {
        let mut config = settings::ground(self.config.as_deref(), self.preset)?;
        config.model = self.model.unwrap_or(config.model);
        config.sampling = self.sampling.unwrap_or(config.sampling);
        config.lot = self.lot.unwrap_or(config.lot);
        config.learning_rate = self.learning_rate.unwrap_or(config.learning_rate);
        config.momentum = self.momentum.unwrap_or(config.momentum);
        config.delta = self.delta.unwrap_or(config.delta);
        config.replay = self.replay.or(config.replay);
        if let Some(clip) = self.clip {
            let EncoderSpec::Clip { norm } = &mut config.encoder else {
                return Err("--clip needs a configuration with encoder clip".into());
            };
            *norm = clip;
        }
        if let Some(sigma) = self.sigma {
            config.noise = Some(config.noise.map_or(NoiseSpec::Gaussian { sigma }, |noise| noise.with_scale(sigma)));
        }
        if self.no_noise {
            (config.noise, config.grid_bits) = (None, None);
        }
        let epoch = RunConfig { lot: config.lot.max(1), ..config.clone() }.steps_per_epoch(examples);
        let epochs = match self.epochs {
            Some(epochs) if !(epochs > 0.0 && epochs.is_finite()) => {
                return Err(format!("--epochs is {epochs}; it must be above 0").into());
            }
            Some(epochs) => Some(epochs),
            None => config.steps.is_none().then_some(EPOCHS),
        };
        let of_epochs = epochs.map(|epochs| (epochs * epoch).round().max(1.0) as u64);
        config.steps = self.steps.or(of_epochs).or(config.steps);
        Ok(config)
    }
}

/// Where the digits are.
#[derive(clap::Args)]
pub struct Data {
    /// Folder or file of images, as for `train` [default: MNIST, as `train` finds it]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Use synthetic digits
    #[arg(long, conflicts_with = "data")]
    synthetic: bool,
}

impl Data {
    /// Returns the training images.
    ///
    /// # Errors
    /// A folder that holds none.
    pub fn train(&self) -> Result<Dataset, Box<dyn Error>> {
        Ok(found(self.data.as_deref(), self.synthetic)?.train)
    }
}
