//! Measurement, not an example: accuracy on MNIST (required) of a model trained on the synthetic
//! digits, used to make the styles of `data::synthetic`. To train, see `train_privately.rs`.
//!
//! `cargo run --release --no-default-features --example synthetic_transfer
//! [-- EXAMPLES EPOCHS [SHEETS]]`
//!
//! Trains a 784-128-10 network and reports its accuracy on MNIST's *training* images; styles are
//! never chosen by test images. With a folder as third argument, writes contact sheets (PNG) of
//! synthetic, real and misread digits, one row per digit.

use std::{error::Error, path::Path, time::Instant};

use hushgrad::{
    data::{Dataset, mnist, synthetic},
    rng::NotPrivateReplay,
};
use rand::rand_core::Rng;

const HIDDEN: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| arguments.get(i).map_or(Ok(default), |text| text.parse());
    let (examples, epochs) = (number(0, 60_000)?, number(1, 6)?);

    let start = Instant::now();
    let drawn = synthetic::dataset(1, 0, examples);
    println!("drew {examples} digits in {:.2} s", start.elapsed().as_secs_f64());
    let held_out = synthetic::dataset(1, synthetic::TEST_START, 5000);
    let real = mnist::locate()?.digits.train;
    for (name, data) in [("synthetic", &drawn), ("MNIST", &real)] {
        println!("{name}: {}", profile(data));
    }

    let mut network = Network::new(7);
    for epoch in 0..epochs {
        let start = Instant::now();
        let rate = 0.01 * (1.0 - epoch as f32 / epochs as f32);
        network.train(&drawn, rate, epoch as u64);
        let seconds = start.elapsed().as_secs_f64();
        let right = |data: &Dataset| 100.0 * network.accuracy(data);
        println!(
            "epoch {}: held-out synthetic {:.2} %, MNIST training images {:.2} % ({seconds:.1} s)",
            epoch + 1,
            right(&held_out),
            right(&real.slice(0..20_000)),
        );
    }
    network.report(&real);
    if let Some(folder) = arguments.get(2).map(Path::new) {
        std::fs::create_dir_all(folder)?;
        for (name, data) in [("synthetic.png", &drawn), ("real.png", &real)] {
            let rows = (0..10).map(|digit| of(data, digit).take(30).collect()).collect::<Vec<Vec<usize>>>();
            sheet(&folder.join(name), data, &rows)?;
        }
        let misread = |digit| of(&real, digit).filter(|&i| network.read(real.image(i)) != digit).take(30).collect();
        sheet(&folder.join("misread.png"), &real, &(0..10).map(misread).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Returns the indices of the examples of one digit.
fn of(data: &Dataset, digit: u8) -> impl Iterator<Item = usize> + '_ {
    (0..data.len()).filter(move |&i| data.labels[i] == digit)
}

/// Returns fractions of pixel values that distinguish renderings.
fn profile(data: &Dataset) -> String {
    let share = |low: u8, high: u8| {
        let count = data.images.iter().filter(|&&pixel| (low..=high).contains(&pixel)).count();
        100.0 * count as f64 / data.images.len() as f64
    };
    let mean = data.images.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / data.images.len() as f64;
    format!(
        "mean {mean:.1}; % of pixels 0: {:.1}, 1–63: {:.1}, 64–127: {:.1}, 128–191: {:.1}, 192–251: {:.1}, 252–255: {:.1}",
        share(0, 0),
        share(1, 63),
        share(64, 127),
        share(128, 191),
        share(192, 251),
        share(252, 255)
    )
}

/// 784 → 128 (ReLU) → 10, trained by SGD; weights are stored per input, as most pixels are 0.
struct Network {
    first: Vec<[f32; HIDDEN]>,
    first_bias: [f32; HIDDEN],
    second: [[f32; 10]; HIDDEN],
    second_bias: [f32; 10],
}

impl Network {
    fn new(seed: u64) -> Self {
        let mut rng = NotPrivateReplay::new(seed);
        let mut weight = |limit: f32| limit * (rng.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0);
        Self {
            first: (0..784).map(|_| std::array::from_fn(|_| weight(0.08))).collect(),
            first_bias: [0.0; HIDDEN],
            second: std::array::from_fn(|_| std::array::from_fn(|_| weight(0.2))),
            second_bias: [0.0; 10],
        }
    }

    /// Returns hidden activations and class probabilities.
    fn forward(&self, image: &[u8]) -> ([f32; HIDDEN], [f32; 10]) {
        let mut hidden = self.first_bias;
        for (weights, &pixel) in self.first.iter().zip(image).filter(|(_, pixel)| **pixel > 0) {
            let x = f32::from(pixel) / 255.0;
            hidden.iter_mut().zip(weights).for_each(|(h, w)| *h += x * w);
        }
        let mut output = self.second_bias;
        for (h, weights) in hidden.iter_mut().zip(&self.second) {
            *h = h.max(0.0);
            output.iter_mut().zip(weights).for_each(|(o, w)| *o += *h * w);
        }
        let most = output.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = output.iter().map(|o| (o - most).exp()).sum();
        (hidden, output.map(|o| (o - most).exp() / sum))
    }

    fn train(&mut self, data: &Dataset, rate: f32, seed: u64) {
        let mut order: Vec<usize> = (0..data.len()).collect();
        let mut rng = NotPrivateReplay::new(seed);
        for i in (1..order.len()).rev() {
            order.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
        }
        for i in order {
            let (hidden, mut delta) = self.forward(data.image(i));
            delta[usize::from(data.labels[i])] -= 1.0;
            let mut back = [0.0; HIDDEN];
            for ((b, h), weights) in back.iter_mut().zip(&hidden).zip(&mut self.second) {
                if *h > 0.0 {
                    *b = rate * delta.iter().zip(weights.iter()).map(|(d, w)| d * w).sum::<f32>();
                }
                weights.iter_mut().zip(&delta).for_each(|(w, d)| *w -= rate * h * d);
            }
            self.second_bias.iter_mut().zip(&delta).for_each(|(bias, d)| *bias -= rate * d);
            self.first_bias.iter_mut().zip(&back).for_each(|(bias, b)| *bias -= b);
            for (weights, &pixel) in self.first.iter_mut().zip(data.image(i)).filter(|(_, pixel)| **pixel > 0) {
                let x = f32::from(pixel) / 255.0;
                weights.iter_mut().zip(&back).for_each(|(w, b)| *w -= x * b);
            }
        }
    }

    fn read(&self, image: &[u8]) -> u8 {
        let (_, output) = self.forward(image);
        (0..10).max_by(|&a, &b| output[a].total_cmp(&output[b])).unwrap_or(0) as u8
    }

    fn accuracy(&self, data: &Dataset) -> f64 {
        let right = (0..data.len()).filter(|&i| self.read(data.image(i)) == data.labels[i]).count();
        right as f64 / data.len() as f64
    }

    /// Prints the accuracy and the most common confusions of each digit.
    fn report(&self, data: &Dataset) {
        let mut counts = [[0usize; 10]; 10];
        (0..data.len()).for_each(|i| counts[usize::from(data.labels[i])][usize::from(self.read(data.image(i)))] += 1);
        let right: usize = (0..10).map(|digit| counts[digit][digit]).sum();
        println!("all {} MNIST training images: {:.2} %", data.len(), 100.0 * right as f64 / data.len() as f64);
        for (digit, row) in counts.iter().enumerate() {
            let total: usize = row.iter().sum();
            let mut wrong: Vec<(usize, usize)> = row.iter().copied().enumerate().filter(|w| w.0 != digit).collect();
            wrong.sort_by_key(|w| std::cmp::Reverse(w.1));
            let wrong: Vec<String> = wrong.iter().take(4).map(|w| format!("{} as {}", w.1, w.0)).collect();
            println!("  {digit}: {:.2} %; {}", 100.0 * row[digit] as f64 / total as f64, wrong.join(", "));
        }
    }
}

/// Writes rows of examples as a greyscale PNG with black ink.
fn sheet(path: &Path, data: &Dataset, rows: &[Vec<usize>]) -> Result<(), Box<dyn Error>> {
    let width = 28 * rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut pixels = Vec::new();
    for row in rows {
        for line in 0..28 {
            pixels.push(0);
            let start = pixels.len();
            row.iter().for_each(|&i| pixels.extend(data.image(i)[28 * line..28 * (line + 1)].iter().map(|p| 255 - p)));
            pixels.resize(start + width, 255);
        }
    }
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut zlib, &pixels)?;
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], body: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(kind);
        crc.update(body);
        png.extend((body.len() as u32).to_be_bytes());
        png.extend_from_slice(kind);
        png.extend_from_slice(body);
        png.extend(crc.sum().to_be_bytes());
    };
    // 8 bits, greyscale, no interlace (PNG, third edition, 11.2.1).
    let size = [(width as u32).to_be_bytes(), (28 * rows.len() as u32).to_be_bytes()].concat();
    chunk(b"IHDR", &[&size[..], &[8, 0, 0, 0, 0]].concat());
    chunk(b"IDAT", &zlib.finish()?);
    chunk(b"IEND", &[]);
    Ok(std::fs::write(path, png)?)
}
