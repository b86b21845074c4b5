//! Trains a convolutional network on MNIST with ε ≤ 2.
//!
//! `MNIST_DIR=… cargo run --release --package hushgrad-burn --example mnist [-- STEPS]`

mod digits;

use std::error::Error;

use burn::{data::dataset::Dataset, optim::momentum::MomentumConfig};
use burn::{
    module::Module,
    nn::{
        Linear, LinearConfig,
        conv::{Conv2d, Conv2dConfig},
        pool::{MaxPool2d, MaxPool2dConfig},
    },
    optim::SgdConfig,
    prelude::Device,
    tensor::Tensor,
};
use digits::{Batches, Images, accuracy, cross_entropy, load};
use hushgrad_burn::{DpSgd, PrivateLearner, PrivateModel, Traced};

#[derive(Module, Debug)]
struct Cnn {
    conv1: Conv2d,
    conv2: Conv2d,
    pool: MaxPool2d,
    hidden: Linear,
    output: Linear,
}

impl Cnn {
    fn new(device: &Device) -> Self {
        Self {
            conv1: Conv2dConfig::new([1, 16], [8, 8]).with_stride([2, 2]).init(device),
            conv2: Conv2dConfig::new([16, 32], [4, 4]).with_stride([2, 2]).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([1, 1]).init(),
            hidden: LinearConfig::new(32 * 3 * 3, 32).init(device),
            output: LinearConfig::new(32, 10).init(device),
        }
    }

    fn logits(&self, images: Tensor<4>) -> Tensor<2> {
        let values = self.pool.forward(self.conv1.traced(images).tanh());
        let values = self.pool.forward(self.conv2.traced(values).tanh());
        self.output.traced(self.hidden.traced(values.flatten(1, 3)).tanh())
    }
}

impl PrivateModel<Images> for Cnn {
    fn losses(&self, batch: Images) -> Tensor<1> {
        cross_entropy(self.logits(batch.images), batch.classes)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let steps: u64 = std::env::args().nth(1).map_or(Ok(300), |text| text.parse())?;
    let device = Device::flex();
    let [train, test] = load()?;
    let lot = (train.len() / 60) as u32;
    // The least noise with which all steps cost ε ≤ 2.
    let config = DpSgd::within(2.0, 1e-5, steps, 0.1, lot, train.len() as u32)?;
    let optimizer = SgdConfig::new().with_momentum(Some(MomentumConfig::new())).init();
    let mut learner = PrivateLearner::new(Cnn::new(&device), optimizer, config, train.len())?;
    let began = std::time::Instant::now();
    for step in 1..=steps {
        learner.step(&train, &Batches, 4.0)?;
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
