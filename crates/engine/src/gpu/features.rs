//! Scattering features on the device: images are uploaded a slice at a time, and their features
//! stay there, one byte each, as a run reads them.

use std::ops::Range;

use super::{
    device::Gpu,
    dispatch::{Dispatch, Workgroups},
    examples::packed,
    kernels::{self, Bindings},
    layout::{EXAMPLE_WORDS, FEATURE_WORDS},
    memory::{Owned, buffer, entries, storage, uniform},
    wait,
};
use crate::{
    EngineError, cpu,
    data::{Dataset, FeatureKind, Picture, synthetic},
    model::{
        features::FeatureMap,
        scattering::{ANGLES, FEATURES, ZERO, centre},
    },
};
use hushgrad_message::{message, word};

/// Images whose coefficients are in memory at a time.
pub const SLICE: usize = 256;

/// Bytes that [`Scattering`] allocates, without the bank.
pub const BYTES: u64 = (4 * SLICE * (EXAMPLE_WORDS + FEATURES)) as u64;

/// The kernels and their buffers.
#[derive(Debug)]
pub struct Scattering {
    images: Owned,
    bank: Owned,
    coefficients: Owned,
    /// `Place` of scattering.wgsl.
    place: Owned,
    passes: [Dispatch; 2],
}

impl Scattering {
    /// Compiles and allocates everything, and checks the features of a few synthetic digits.
    ///
    /// # Errors
    /// If the device cannot; [`EngineError::WrongResult`] if it disagrees with the CPU.
    pub async fn new(gpu: &Gpu) -> Result<Self, EngineError> {
        let bank = bank();
        let words = (SLICE * EXAMPLE_WORDS * 4) as u64;
        let made = gpu
            .guarded(word!("scattering features"), || Self {
                images: storage(gpu, "images", words),
                bank: storage(gpu, "wavelets", 4 * bank.len() as u64),
                coefficients: storage(gpu, "coefficients", (SLICE * FEATURES * 4) as u64),
                place: uniform(gpu, "place", 16),
                passes: [
                    Dispatch::new(gpu, &kernels::SCATTER, &[], Workgroups::Rows(ANGLES as u32)),
                    Dispatch::new(gpu, &kernels::STANDARDISE, &[], Workgroups::Rows(1)),
                ],
            })
            .await?;
        gpu.queue().write_buffer(&made.bank, 0, bytemuck::cast_slice(&bank));
        made.check(gpu).await?;
        Ok(made)
    }

    /// Binds `features` as the output.
    #[must_use]
    pub(super) fn group(&self, gpu: &Gpu, features: &Owned) -> wgpu::BindGroup {
        let buffers = [&self.images, &self.bank, &self.coefficients, features, &self.place];
        gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("features"),
            layout: gpu.layout(Bindings::Scattering),
            entries: &entries(&buffers),
        })
    }

    /// Submits the computation of rows of `features`, from `first` on, for some examples of `data`,
    /// at most a slice. Known features are uploaded instead.
    pub(super) fn submit(
        &self,
        gpu: &Gpu,
        group: &wgpu::BindGroup,
        features: &Owned,
        first: usize,
        data: &Dataset,
        examples: Range<usize>,
    ) {
        let queue = gpu.queue();
        let known = data.features();
        if let Some(bytes) =
            known.of(data, FeatureKind::Scattering).get(examples.start * FEATURES..examples.end * FEATURES)
        {
            let rows: Vec<u8> = bytes
                .chunks_exact(FEATURES)
                .zip(examples)
                .flat_map(|(bytes, i)| {
                    let padding = [ZERO as u8; 4 * (FEATURE_WORDS - 1) - FEATURES];
                    let label = u32::from(data.labels[i]).to_le_bytes();
                    bytes.iter().copied().chain(padding).chain(label)
                })
                .collect();
            queue.write_buffer(features, (first * FEATURE_WORDS * 4) as u64, &rows);
            return;
        }
        let count = examples.len() as u32;
        queue.write_buffer(&self.images, 0, &packed(data, examples, EXAMPLE_WORDS));
        queue.write_buffer(&self.place, 0, bytemuck::cast_slice(&[first as u32, 0, 0, 0]));
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_bind_group(0, group, &[]);
        for dispatch in &self.passes {
            dispatch.record(&mut pass, count);
        }
        drop(pass);
        queue.submit([encoder.finish()]);
    }

    /// Returns the feature bytes of each image, of at most 256 images.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`], [`EngineError::DeviceLost`].
    pub async fn features(&self, gpu: &Gpu, data: &Dataset) -> Result<Vec<u8>, EngineError> {
        let count = data.len().min(SLICE);
        let bytes = (count * FEATURE_WORDS * 4) as u64;
        let (rows, staging) = gpu
            .guarded("features", || {
                (storage(gpu, "features", bytes), buffer(gpu, "staging", bytes, wgpu::BufferUsages::MAP_READ))
            })
            .await?;
        self.submit(gpu, &self.group(gpu, &rows), &rows, 0, data, 0..count);
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&rows, 0, &staging, 0, bytes);
        gpu.queue().submit([encoder.finish()]);
        let rows = wait::read(gpu, &staging, bytes).await?;
        Ok(rows.chunks_exact(FEATURE_WORDS * 4).flat_map(|row| &row[..FEATURES]).copied().collect())
    }

    /// Checks that no byte differs from the CPU's by more than one, and that few differ.
    async fn check(&self, gpu: &Gpu) -> Result<(), EngineError> {
        let digits = synthetic::dataset(1, 0, 2);
        let found = self.features(gpu, &digits).await?;
        let pixels: Vec<f32> = digits.images.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        let expected: Vec<u8> = cpu::features(FeatureMap::DIGITS, &pixels);
        let apart = || found.iter().zip(&expected).map(|(a, b)| a.abs_diff(*b));
        let differing = apart().filter(|&steps| steps > 0).count() as f64 / expected.len() as f64;
        if apart().all(|steps| steps <= 1) && differing < 0.01 {
            return Ok(());
        }
        let names = self.passes.each_ref().map(|pass| pass.name).join(", ").to_lowercase();
        let what = message!("scattering features ({names})");
        Err(EngineError::WrongResult { adapter: gpu.report().to_string(), what, difference: differing })
    }
}

/// `bank` of scattering.wgsl.
fn bank() -> Vec<f32> {
    let cpu::scattering::Bank { turns, waves, taps, half_taps } = cpu::scattering::bank();
    let middles = (0..FEATURES).map(|k| (ZERO + 0.5) as f32 - f32::from(centre(Picture::DIGIT, k)));
    turns
        .as_flattened()
        .iter()
        .chain(taps)
        .chain(half_taps)
        .copied()
        .chain(middles)
        .chain(waves.iter().copied())
        .collect()
}
