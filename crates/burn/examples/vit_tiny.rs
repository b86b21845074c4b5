//! Trains a tiny vision transformer on MNIST: 16 patches of 7 × 7, two blocks of self-attention.
//!
//! `MNIST_DIR=… cargo run --release --package hushgrad-burn --example vit_tiny [-- STEPS EPSILON]`

mod digits;

use std::error::Error;

use burn::{
    data::dataset::Dataset as _,
    module::{Initializer, Module, Param},
    nn::{
        LayerNorm, LayerNormConfig, Linear, LinearConfig,
        transformer::{TransformerEncoder, TransformerEncoderConfig},
    },
    optim::AdamConfig,
    tensor::{Device, Tensor},
};
use digits::{Batches, Images, accuracy, cross_entropy, load};
use hushgrad_burn::{DpSgd, PrivateLearner, PrivateModel, Traced, expanded};

/// Patches a side, pixels of a patch's side, and width of the model.
const PATCHES: usize = 4;
const SIDE: usize = 7;
const WIDTH: usize = 64;

#[derive(Module, Debug)]
struct VisionTransformer {
    patches: Linear,
    positions: Param<Tensor<2>>,
    blocks: TransformerEncoder,
    norm: LayerNorm,
    output: Linear,
}

impl VisionTransformer {
    fn new(device: &Device) -> Self {
        let blocks = TransformerEncoderConfig::new(WIDTH, 2 * WIDTH, 4, 2).with_dropout(0.0).with_norm_first(true);
        Self {
            patches: LinearConfig::new(SIDE * SIDE, WIDTH).init(device),
            positions: Initializer::Normal { mean: 0.0, std: 0.1 }.init([PATCHES * PATCHES, WIDTH], device),
            blocks: blocks.init(device),
            norm: LayerNormConfig::new(WIDTH).init(device),
            output: LinearConfig::new(WIDTH, 10).init(device),
        }
    }

    fn logits(&self, images: Tensor<4>) -> Tensor<2> {
        let [examples, ..] = images.dims();
        let patches = images.reshape([examples, PATCHES, SIDE, PATCHES, SIDE]).swap_dims(2, 3);
        let patches = patches.reshape([examples, PATCHES * PATCHES, SIDE * SIDE]);
        let tokens = self.patches.traced(patches) + expanded(&self.positions, examples);
        let tokens = self.norm.traced(self.blocks.traced(tokens));
        self.output.traced(tokens.mean_dim(1).reshape([examples, WIDTH]))
    }
}

impl PrivateModel<Images> for VisionTransformer {
    fn losses(&self, batch: Images) -> Tensor<1> {
        cross_entropy(self.logits(batch.images), batch.classes)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let steps: u64 = arguments.next().map_or(Ok(400), |text| text.parse())?;
    let epsilon: f64 = arguments.next().map_or(Ok(3.0), |text| text.parse())?;
    let rate: f64 = arguments.next().map_or(Ok(0.002), |text| text.parse())?;
    let lot: u32 = arguments.next().map_or(Ok(1000), |text| text.parse())?;
    let device = Device::flex();
    let [train, test] = load()?;
    let lot = lot.min((train.len() / 10) as u32);
    let config = DpSgd::within(epsilon, 1e-5, steps, 0.1, lot, train.len() as u32)?;
    let model = VisionTransformer::new(&device);
    println!("{} parameters, noise multiplier {:?}", model.num_params(), config.noise);
    let mut learner = PrivateLearner::new(model, AdamConfig::new().init(), config, train.len())?;
    let began = std::time::Instant::now();
    for step in 1..=steps {
        learner.step(&train, &Batches, rate)?;
        if step % 50 == 0 || step == steps {
            let model = learner.model().valid();
            let right = 100.0 * accuracy(&test, &device, |images| model.logits(images));
            let seconds = began.elapsed().as_secs_f64() / step as f64;
            println!("{step:>5} steps  {right:.1} %  ε ≤ {:.3}  {seconds:.2} s a step", learner.epsilon()?.value);
        }
    }
    println!("{}", learner.method());
    Ok(())
}
