//! Options that define a run.

use std::path::PathBuf;

use hushgrad::{
    model::layers::LayerList,
    train::{phases::Phases, presets::Preset},
};

use super::{
    setting_flags::{SettingFlags, finite},
    settings,
};
use crate::{dataset::Images, density};

/// Each that is given changes the configuration of `--config` or `--preset` (or the defaults).
#[derive(clap::Args)]
pub struct Flags {
    /// Configuration as JSON (`--print-config` shows one)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Preset of the page
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = settings::preset)]
    pub preset: Option<Preset>,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub settings: SettingFlags,
    /// A network of your own, such as "conv 16 8x8/2 same, tanh, maxpool 2/1, dense 10" (docs/models.md)
    #[arg(long, value_name = "LIST", conflicts_with = "model")]
    pub layers: Option<LayerList>,
    /// Clipping norm of each layer, from the first to the last; or groups of layers as
    /// LAYERS:NORM@NOISE, with noise relative to the others': 1-2:0.5@2,3-4:1@1
    #[arg(long, value_name = "C,…", alias = "layer-norms", conflicts_with = "clip")]
    pub groups: Option<String>,
    /// The same as --clip-quantile 0.5: the clip follows the median norm
    #[arg(long)]
    pub adaptive_clip: bool,
    #[command(flatten)]
    pub density: density::OwnDensity,
    /// The same as --denoiser kolmogorov-smirnov
    #[arg(long, conflicts_with = "denoiser")]
    pub denoise: bool,
    /// The same as --schedule linear --rate-end SHARE
    #[arg(long, value_name = "SHARE", value_parser = finite)]
    pub decay_to: Option<f64>,
    /// Vary the noise by phases: a rule (time, exponential, step or polynomial), the number of
    /// phases, and the last phase's noise as a multiple of the first's, as in "exponential 6 0.5";
    /// or a list, as in "200; 200 noise 0.7 rate 0.5; 100 laplace lot 512"
    #[arg(long)]
    pub phases: Option<Phases>,
    /// Epochs (examples / lot steps each; if shuffled, one step per batch) [default: 1, if no
    /// number of steps is set]
    #[arg(long, conflicts_with = "steps")]
    pub epochs: Option<f64>,
    /// The same as --reading second-look
    #[arg(long, alias = "second-look")]
    pub test_time_augmentation: bool,
    /// The same as --averaging exponential
    #[arg(long)]
    pub average: bool,
}
