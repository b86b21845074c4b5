//! Examples and tasks of the step benchmarks, native and in browsers.

use std::sync::Arc;

use hushgrad::{
    accounting::noise::NoiseSpec,
    data::Dataset,
    engine::{StepInput, Task},
    mechanism::{Denoiser, EncoderSpec, EnvelopeShape, envelope::Envelope},
    model::Architecture,
};

pub const KEY: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// One denoiser of each kind, with its name in tables.
#[allow(dead_code, reason = "not every bench has them")]
pub const DENOISERS: [(&str, Denoiser); 7] = [
    ("Kolmogorov–Smirnov", Denoiser::KolmogorovSmirnov),
    ("Laplacian smoothing", Denoiser::LaplacianSmoothing { strength: 3.0 }),
    ("James–Stein", Denoiser::JamesStein),
    ("linear", Denoiser::Linear),
    ("soft threshold", Denoiser::SoftThreshold),
    ("low-pass filter", Denoiser::LowPass { keeps: 0.9 }),
    ("Kalman filter", Denoiser::Kalman { gain: 0.5 }),
];

pub fn input(lot: &[u32]) -> StepInput<'_> {
    StepInput::alone(lot, KEY, 1e-3)
}

/// Blobs as sparse as digits; speed does not depend on pixels.
pub fn examples(count: u32) -> Dataset {
    let images = (0..count as usize * 784).map(|i| {
        let (example, pixel) = (i / 784, i % 784);
        let (y, x) = (pixel / 28, pixel % 28);
        let inside = y.abs_diff(14) < 9 && x.abs_diff(14) < 9;
        if inside && (i.wrapping_mul(2_654_435_761) >> 13) % 5 < 2 { (example % 200 + 55) as u8 } else { 0 }
    });
    let images: Vec<u8> = images.collect();
    let labels: Vec<u8> = (0..count).map(|i| (i % 10) as u8).collect();
    Dataset::new("blots", images, labels)
}

/// Returns `lot` evenly spaced examples of `count`.
pub fn lot(lot: u32, count: u32) -> Vec<u32> {
    (0..lot).map(|i| i * (count / lot)).collect()
}

/// Flat clip with Gaussian noise, or an envelope with Student-t noise and the KS denoiser.
pub fn task(model: Architecture, envelope: Option<u32>, lot: u32) -> Task {
    let p = model.parameters();
    match envelope {
        None => Task {
            encoder: EncoderSpec::Clip { norm: 1.0 },
            noise: Some(NoiseSpec::Gaussian { sigma: 1.1 }),
            expected_lot: lot as f32,
            ..Task::without_privacy(model)
        },
        Some(vectors) => Task {
            encoder: EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors, pre_scale: 1.0, seed: 1 },
            envelope: Some(Arc::new(
                Envelope::draw(EnvelopeShape::Gaussian, vectors, p, 1).expect("vectors are drawn"),
            )),
            noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
            denoiser: Denoiser::KolmogorovSmirnov,
            expected_lot: lot as f32,
            momentum: 0.9,
            ..Task::without_privacy(model)
        },
    }
}
