//! Fine-tunes the last layer: the first ones are trained on public digits, then frozen, and only the
//! last one sees the private digits.
//!
//! `MNIST_DIR=… cargo run --release --package hushgrad-burn --example finetune`

mod digits;

use std::error::Error;

use burn::data::dataloader::batcher::Batcher as _;
use burn::{
    data::dataset::{Dataset as _, InMemDataset},
    module::Module,
    nn::{Linear, LinearConfig},
    optim::{AdamConfig, GradientsParams},
    tensor::{Device, Tensor},
};
use digits::{Batches, Images, accuracy, cross_entropy, load};
use hushgrad_burn::{DpSgd, PrivateLearner, PrivateModel, Traced};
use hushgrad_core::data::synthetic;

#[derive(Module, Debug)]
struct Mlp {
    features: Linear,
    output: Linear,
}

impl Mlp {
    fn logits(&self, images: Tensor<4>) -> Tensor<2> {
        self.output.traced(self.features.traced(images.flatten(1, 3)).tanh())
    }
}

impl PrivateModel<Images> for Mlp {
    fn losses(&self, batch: Images) -> Tensor<1> {
        cross_entropy(self.logits(batch.images), batch.classes)
    }
}

/// Trains on public digits, without privacy, as in any program with Burn.
fn pretrained(device: &Device) -> Mlp {
    let public = synthetic::digits(2, 6000, 1).train;
    let items: Vec<_> = (0..public.len()).map(|i| (public.image(i).to_vec(), public.labels[i])).collect();
    let device = device.clone().autodiff();
    let mut model =
        Mlp { features: LinearConfig::new(784, 128).init(&device), output: LinearConfig::new(128, 10).init(&device) };
    let mut optimizer = AdamConfig::new().init();
    for items in items.chunks(100).cycle().take(300) {
        let loss = model.losses(Batches.batch(items.to_vec(), &device)).mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(1e-3, model, gradients);
    }
    model
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::flex();
    let [train, test]: [InMemDataset<_>; 2] = load()?;
    let mut model = pretrained(&device);
    model.features = model.features.no_grad();
    let examples = train.len();
    let steps = 200;
    let config = DpSgd::within(1.0, 1e-5, steps, 1.0, (examples / 60) as u32, examples as u32)?;
    let mut learner = PrivateLearner::new(model, AdamConfig::new().init(), config, examples)?;
    for step in 0..=steps {
        if step % 50 == 0 {
            let model = learner.model().valid();
            let right = 100.0 * accuracy(&test, &device, |images| model.logits(images));
            println!("{step:>5} steps  {right:.1} %  ε ≤ {:.3}", learner.epsilon()?.value);
        }
        if step < steps {
            learner.step(&train, &Batches, 0.01)?;
        }
    }
    Ok(())
}
