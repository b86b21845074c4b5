//! Creates the layers of `model::extractor`: trains them in f32, then quantises them to integers.

use std::error::Error;

use hushgrad::{
    data::{Dataset, synthetic::colour},
    model::{
        Architecture,
        extractor::{
            CONVOLUTIONS, Convolution, Extractor, FACTOR_BITS, GAIN_BITS, MAPS, STEPS, Weights, convolve, largest,
            sums, sums_of,
        },
        layers::LayerList,
    },
};

/// The layers as trained, including the classifier.
const TRAINED: &str = "input 3x32x32, conv 32 5x5/2 same, relu, maxpool 2, conv 64 3x3 same, relu, avgpool 2, dense 10";
/// Images not used in training, by which values are scaled to bytes.
const MEASURED: usize = 4_000;
/// Share of a layer's positive values that a byte represents; larger ones are cut.
const HELD: f64 = 0.9995;

/// Returns the file's bytes.
///
/// # Errors
/// If the engine does not start.
pub fn made(seed: u64, threads: Option<u32>) -> Result<Vec<u8>, Box<dyn Error>> {
    let list: LayerList = TRAINED.parse()?;
    let model = Architecture::Built(list);
    let parameters = super::train(model, seed, threads)?;
    let images = colour::dataset(seed, (super::EPOCHS + 1) * super::IMAGES as u64, MEASURED);
    let layers = model.layers();
    let part = |k: usize| (&parameters[layers[k].weights()], &parameters[layers[k].biases()]);
    let bytes: Vec<Vec<u8>> = images.images.chunks_exact(images.pixels()).map(<[u8]>::to_vec).collect();
    // A pixel's byte is 255 times its value.
    let (first, unit) = whole(&CONVOLUTIONS[0], part(0), &bytes, 1.0 / 255.0);
    let side = CONVOLUTIONS[0].output_side();
    let pooled: Vec<_> = bytes.iter().map(|image| largest(&convolve(&CONVOLUTIONS[0], &first, image), side)).collect();
    let (second, _) = whole(&CONVOLUTIONS[1], part(1), &pooled, unit);
    let side = CONVOLUTIONS[1].output_side();
    let found: Vec<_> = pooled.iter().map(|image| sums(&convolve(&CONVOLUTIONS[1], &second, image), side)).collect();
    let (means, gains) = standard(&found);
    let extractor = Extractor { convolutions: [first, second], means, gains };
    eprintln!("{}", said(&extractor, &images));
    Ok(extractor.encode())
}

/// Quantises a convolution whose input has steps of `unit`; also returns the step of its output.
fn whole(shape: &Convolution, (weights, biases): (&[f32], &[f32]), images: &[Vec<u8>], unit: f64) -> (Weights, f64) {
    let rows = || weights.chunks_exact(shape.taps());
    let steps: Vec<f64> =
        rows().map(|row| f64::from(row.iter().fold(f32::MIN_POSITIVE, |most, v| most.max(v.abs()))) / 127.0).collect();
    let mut made = Weights {
        weights: rows()
            .zip(&steps)
            .flat_map(|(row, step)| row.iter().map(move |v| (f64::from(*v) / step).round() as i8))
            .collect(),
        biases: biases
            .iter()
            .zip(&steps)
            .map(|(bias, step)| (f64::from(*bias) / (step * unit)).round() as i32)
            .collect(),
        factors: vec![],
    };
    let area = shape.output_side().pow(2);
    let value = |(i, sum): (usize, i32)| f64::from(sum) * steps[i / area] * unit;
    let mut positive: Vec<f64> = images
        .iter()
        .flat_map(|image| sums_of(shape, &made, image).into_iter().enumerate().map(value).collect::<Vec<_>>())
        .filter(|v| *v > 0.0)
        .collect();
    let at = ((positive.len() as f64 * HELD) as usize).min(positive.len().saturating_sub(1));
    let held = if positive.is_empty() { 1.0 } else { *positive.select_nth_unstable_by(at, f64::total_cmp).1 };
    let step = held / 255.0;
    let factor = |own: &f64| (own * unit / step * f64::from(1u32 << FACTOR_BITS)).round() as u32;
    made.factors = steps.iter().map(factor).collect();
    (made, step)
}

/// Mean and gain of each map.
fn standard(found: &[Vec<u16>]) -> (Vec<u16>, Vec<u16>) {
    (0..MAPS)
        .map(|map| {
            let cells = || found.iter().flat_map(|sums| &sums[sums.len() / MAPS * map..][..sums.len() / MAPS]);
            let n = cells().count() as f64;
            let mean = cells().map(|&sum| f64::from(sum)).sum::<f64>() / n;
            let variance = cells().map(|&sum| (f64::from(sum) - mean).powi(2)).sum::<f64>() / n;
            // Bounds the gain of a constant map, which carries no information.
            let gain = STEPS / variance.sqrt().max(1e-3) * f64::from(1u32 << GAIN_BITS);
            (mean.round() as u16, gain.round().min(u16::MAX.into()) as u16)
        })
        .unzip()
}

/// Reports how many of the feature bytes are at either end of the range.
fn said(extractor: &Extractor, images: &Dataset) -> String {
    let bytes: Vec<u8> = (0..images.len().min(200)).flat_map(|i| extractor.features(images.image(i))).collect();
    let cut = bytes.iter().filter(|&&byte| byte == 0 || byte == 255).count();
    format!(
        "{} features per image; of 200 images {:.2} % are 0 or 255",
        bytes.len() / 200,
        100.0 * cut as f64 / bytes.len() as f64
    )
}
