//! The options that say what a run is.

use std::path::PathBuf;

use hushgrad::{
    model::layers::LayerList,
    train::{phases::Phases, presets::Preset},
};

use super::settings;
use crate::density;

/// Each that is given changes the configuration of `--config` or `--preset` (or the defaults).
#[derive(clap::Args)]
pub struct Flags {
    /// Configuration as JSON (`--print-config` shows one)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A ready-made run, as the page offers it
    #[arg(long, value_name = "NAME", conflicts_with = "config", value_parser = settings::preset)]
    pub preset: Option<Preset>,
    /// Folder or file of images: IDX, CIFAR's, an .npz, a ZIP or a folder of pictures; else MNIST is looked for, else digits are drawn
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Train on the built-in synthetic digits
    #[arg(long, conflicts_with = "data")]
    pub synthetic: bool,

    #[arg(long, value_enum)]
    pub model: Option<settings::Model>,
    /// A network of your own, such as "conv 16 8x8/2 same, tanh, maxpool 2/1, dense 10" (docs/models.md)
    #[arg(long, value_name = "LIST", conflicts_with = "model")]
    pub layers: Option<LayerList>,
    /// How one example's gradient is bounded
    #[arg(long, value_enum)]
    pub encoder: Option<settings::Encoder>,
    /// Clipping norm C; of layers, that of all together
    #[arg(long, value_name = "C")]
    pub clip: Option<f64>,
    /// A clipping norm for each layer, from the first to the last
    #[arg(long, value_name = "C,…", value_delimiter = ',', conflicts_with = "clip")]
    pub layer_norms: Option<Vec<f64>>,
    /// Whether each layer is clipped by itself
    #[arg(long, value_enum)]
    pub clipping: Option<settings::LayersClipped>,
    /// How noise is shared out over the layers; ε is the same
    #[arg(long, value_enum)]
    pub layer_noise: Option<settings::LayerNoise>,
    /// The clip follows a quantile of the gradients' norms, which is released with each step; --clip is where it begins. ε is that of the noise
    /// multiplier all the same: the gradient gets a little more noise
    #[arg(long)]
    pub adaptive_clip: bool,
    /// Share of the norms that are to be within the clip
    #[arg(long, value_name = "SHARE")]
    pub clip_quantile: Option<f64>,
    /// Noise on the number of norms within the clip, as a share of the lot
    #[arg(long, value_name = "SHARE")]
    pub clip_count_noise: Option<f64>,
    /// Release the accuracy on the training digits, and their classes, with each step, with noise of this share of the lot (0.05); paid for as the
    /// adaptive clip is
    #[arg(long, value_name = "SHARE", num_args = 0..=1, default_missing_value = "0.05")]
    pub metrics: Option<f64>,
    /// Records of an auditor among those that are sampled, whose gradients are known: the run can be attacked. They are public, and counted among what the
    /// sampling is of; 0: none
    #[arg(long, value_name = "M")]
    pub canaries: Option<u32>,
    /// Vectors in the envelope
    #[arg(long, value_name = "N")]
    pub vectors: Option<u32>,
    /// Factor on gradients before they meet the envelope
    #[arg(long)]
    pub pre_scale: Option<f64>,
    /// Noise family; its scale is relative to the norm of the encoder
    #[arg(long, value_enum, conflicts_with_all = ["noise_table", "noise_formula"])]
    pub noise: Option<settings::Family>,
    #[command(flatten)]
    pub density: density::OwnDensity,
    /// Scale of the noise: σ of a Gaussian, s of Student's t, a factor on x of a density of your own
    #[arg(long, value_name = "SCALE")]
    pub sigma: Option<f64>,
    /// Degrees of freedom of Student's t
    #[arg(long)]
    pub nu: Option<f64>,
    /// Exponent of the generalised Gaussian, exp(−|x/s|^EXPONENT): at least 1
    #[arg(long)]
    pub exponent: Option<f64>,
    /// Round gradients, sums and noise to a grid this many bits below the noise's scale, and count in ε what low bits of noise tell (CPU; 10, say)
    #[arg(long, value_name = "BITS")]
    pub grid_bits: Option<u32>,
    /// What is done to the noisy sum before it moves the model; it costs no privacy
    #[arg(long, value_enum)]
    pub denoiser: Option<settings::Denoise>,
    /// The same as --denoiser kolmogorov-smirnov
    #[arg(long, conflicts_with = "denoiser")]
    pub denoise: bool,
    /// Strength of --denoiser laplacian-smoothing [default: 3]
    #[arg(long)]
    pub smoothing: Option<f64>,
    /// What --denoiser low-pass or kalman keeps of the steps before [default: 0.9]
    #[arg(long)]
    pub memory: Option<f64>,
    /// Expected examples a step
    #[arg(long)]
    pub lot: Option<u32>,
    /// How the examples of a step are chosen, and priced
    #[arg(long, value_enum)]
    pub sampling: Option<settings::Sampling>,
    /// Examples that are averaged before their mean is bounded, on average; 1: each alone
    #[arg(long, value_name = "EXAMPLES")]
    pub micro_batch: Option<u32>,
    /// What ε is of where there are micro-batches [default: example]
    #[arg(long, value_enum)]
    pub protects: Option<settings::Protected>,
    /// Users who hold the examples; lots are then of users, and ε is of one with all their examples; 0: none
    #[arg(long, value_name = "N", conflicts_with = "micro_batch")]
    pub users: Option<u32>,
    /// How alike users are: α of a Dirichlet distribution of digits [default: 100]
    #[arg(long, value_name = "ALPHA")]
    pub user_skew: Option<f64>,
    /// Public seed of who holds what [default: 0]
    #[arg(long, value_name = "SEED")]
    pub user_seed: Option<u64>,
    /// Steps that a drawn user takes alone (federated averaging); 1 is federated SGD [default: 1]
    #[arg(long, value_name = "E")]
    pub local_steps: Option<u32>,
    /// Learning rate of a user's own steps; --lr is then that of the server [default: 0.2]
    #[arg(long, value_name = "RATE")]
    pub local_rate: Option<f64>,
    /// Steps over which Gaussian noise is correlated (banded square root); examples are sampled from as many groups that take turns
    #[arg(long, value_name = "STEPS")]
    pub bands: Option<u32>,
    /// Learning rate, applied to sum/lot
    #[arg(long = "lr", value_name = "RATE")]
    pub learning_rate: Option<f64>,
    /// Learning rate falls in a line to this share of itself
    #[arg(long, value_name = "SHARE")]
    pub decay_to: Option<f64>,
    /// Another noise in every phase: a rule (time, exponential, step or polynomial) with the number of phases and the last one's noise as a multiple of the first
    /// one's, as in "exponential 6 0.5"; or a list, as in "200; 200 noise 0.7 rate 0.5; 100 laplace lot 512"
    #[arg(long)]
    pub phases: Option<Phases>,
    #[arg(long)]
    pub momentum: Option<f64>,
    /// Training images made unlike the others, each by itself before anything else: ε is as without it [default: none]
    #[arg(long, value_enum)]
    pub minority: Option<settings::Unlike>,
    /// Each gradient is the mean over this many copies of the image, moved differently; 1: the image alone
    #[arg(long, value_name = "K")]
    pub copies: Option<u32>,
    /// Pixels by which a copy is moved at most [default: 1]
    #[arg(long, value_name = "PIXELS", requires = "copies")]
    pub reach: Option<u32>,
    /// [default: an epoch]
    #[arg(long, conflicts_with = "epochs")]
    pub steps: Option<u64>,
    /// Epochs (examples / lot steps each; where they are shuffled, as many as there are batches)
    #[arg(long)]
    pub epochs: Option<f64>,
    #[arg(long)]
    pub delta: Option<f64>,
    /// Parameters before the first step
    #[arg(long, value_enum)]
    pub start: Option<settings::StartFrom>,
    /// Test-time augmentation: where the model is less than 99 % sure of an image, it decides by the mean over that image moved by a pixel to each side, too
    #[arg(long, alias = "second-look")]
    pub test_time_augmentation: bool,
    /// Read images with a mean of the parameters, over the last ninth of the steps (exponential, over 1000 at most), and not with the last
    #[arg(long)]
    pub average: bool,
    /// Seed of a random start
    #[arg(long)]
    pub init_seed: Option<u64>,
    /// Replay sampling and noise from this seed: reproducible, and without any guarantee
    #[arg(long, value_name = "SEED")]
    pub replay: Option<u64>,
}
