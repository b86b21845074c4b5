//! MNIST from `MNIST_DIR`, or drawn digits where there is none.

use std::{error::Error, fs, path::Path};

use burn::{
    data::{
        dataloader::batcher::Batcher,
        dataset::{Dataset as _, InMemDataset},
    },
    tensor::{Device, Int, Tensor, TensorData, activation::log_softmax},
};
use hushgrad_core::data::{Dataset, synthetic};

/// An image, 28 × 28, and its digit.
pub type Item = (Vec<u8>, u8);

#[derive(Clone, Debug)]
pub struct Images {
    /// `[examples, 1, 28, 28]`, from 0 to 1.
    pub images: Tensor<4>,
    /// `[examples, 1]`.
    pub classes: Tensor<2, Int>,
}

#[derive(Clone)]
pub struct Batches;

impl Batcher<Item, Images> for Batches {
    fn batch(&self, items: Vec<Item>, device: &Device) -> Images {
        let examples = items.len();
        let pixels = items.iter().flat_map(|(image, _)| image.iter().map(|&value| f32::from(value) / 255.0));
        let classes = items.iter().map(|(_, class)| i32::from(*class));
        Images {
            images: Tensor::from_data(TensorData::new(pixels.collect::<Vec<_>>(), [examples, 1, 28, 28]), device),
            classes: Tensor::from_data(TensorData::new(classes.collect::<Vec<_>>(), [examples, 1]), device),
        }
    }
}

/// Returns the training and the test images, and says which they are.
pub fn load() -> Result<[InMemDataset<Item>; 2], Box<dyn Error>> {
    let items =
        |data: &Dataset| InMemDataset::new((0..data.len()).map(|i| (data.image(i).to_vec(), data.labels[i])).collect());
    let Some(folder) = std::env::var_os("MNIST_DIR") else {
        println!("MNIST_DIR is not set, so these are drawn digits");
        let digits = synthetic::digits(1, 6000, 1000);
        return Ok([items(&digits.train), items(&digits.test)]);
    };
    let read = |part: &str| -> Result<InMemDataset<Item>, Box<dyn Error>> {
        let file = |kind: &str| {
            let name = format!("{part}-{kind}-ubyte.gz");
            fs::read(Path::new(&folder).join(&name)).map_err(|error| format!("{name}: {error}"))
        };
        let (images, labels) = (file("images-idx3")?, file("labels-idx1")?);
        Ok(items(&Dataset::from_idx("MNIST", ("images", &images), ("labels", &labels))?))
    };
    Ok([read("train")?, read("t10k")?])
}

/// The cross-entropy of each example, in nats.
pub fn cross_entropy(logits: Tensor<2>, classes: Tensor<2, Int>) -> Tensor<1> {
    let [examples, _] = logits.dims();
    -log_softmax(logits, 1).gather(1, classes).reshape([examples])
}

/// The share of images that `logits` classifies correctly.
pub fn accuracy(data: &InMemDataset<Item>, device: &Device, logits: impl Fn(Tensor<4>) -> Tensor<2>) -> f64 {
    let all: Vec<Item> = data.iter().filter_map(Result::ok).collect();
    let right = all.chunks(1000).map(|items| {
        let Images { images, classes } = Batches.batch(items.to_vec(), device);
        i64::from(logits(images).argmax(1).equal(classes).int().sum().into_scalar::<i32>())
    });
    right.sum::<i64>() as f64 / all.len() as f64
}
