//! The buffers of a run, allocated once, and the size of a chunk.

use super::{
    denoising::Denoising,
    device::Gpu,
    kernels::Bindings,
    layout::{BUCKETS, COUNTERS, Encoding, OnDevice as _, RELEASE_BYTES, RUN_BYTES, Slices, score_bytes},
    memory::{OFFSET_ALIGNMENT, Owned, buffer, entries, fits, storage, uniform},
};
use crate::{EngineError, mechanism::envelope::Envelope, model::Architecture};
use hushgrad_message::word;

/// Most bytes of all buffers together.
const BUDGET: u64 = 240 << 20;
/// Larger chunks gain nothing, and flat grids would exceed 65,535 workgroups per dimension.
pub const LARGEST_CHUNK: u32 = 1024;
/// Up to the end of `FULL` in release.wgsl: with half a million coordinates, all bins may be full.
pub const BINS_WORDS: u64 = 64 + 3 * 1024;
/// Bytes cleared before each step: the distance and the counts.
pub const BINS_CLEARED: u64 = 4 * (64 + 1024);

/// The buffers of a run, without its examples.
#[derive(Debug)]
pub struct Buffers {
    pub chunk: u32,
    /// Bytes of `work` and `tallies` per example.
    pub kept: u64,
    /// The parameters; from `average_at` on, those that images are read with, if these differ.
    pub parameters: Owned,
    /// 0 if they do not differ.
    pub average_at: u32,
    pub momentum: Owned,
    pub work: Owned,
    /// Units, or canaries, of a block, and room for the vectors of either.
    pub units: u32,
    pub canaries: u32,
    pub vectors: Owned,
    /// 3 P words: two per released coordinate, and the raw sum of a traced step.
    pub sums: Owned,
    /// P words, then the noise of earlier steps.
    pub noisy: Owned,
    pub tallies: Owned,
    pub envelope: Owned,
    pub bins: Owned,
    pub values: Owned,
    pub tails: Owned,
    pub quantiles: Owned,
    /// `Run`, for the lot and for an evaluation.
    pub run: Owned,
    pub evaluation_run: Owned,
    pub release: Owned,
    /// Read by the host: 5 P words, or a chunk's scores.
    pub staging: Owned,
}

/// What determines the buffers' sizes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    pub model: Architecture,
    pub encoding: Encoding,
    pub envelope: Option<&'a Envelope>,
    pub slices: Slices,
    /// Whether canaries are added.
    pub canaries: bool,
    /// Layout of shared vectors, and the mean number of examples that share one.
    pub vectors: Option<(Slices, f32)>,
    /// Examples of the training set.
    pub examples: u32,
    /// Bytes needed for computing features.
    pub features: u64,
    pub expected_lot: f32,
    /// The requested chunk.
    pub chunk: Option<u32>,
    /// Whether images are read with other parameters than gradients are taken at.
    pub apart: bool,
    pub denoising: Denoising,
    /// Steps over which noise is correlated.
    pub bands: u32,
    pub tails: usize,
    pub quantiles: usize,
}

impl Buffers {
    /// # Errors
    /// [`EngineError::TooLarge`], [`EngineError::OverBudget`] or [`EngineError::OutOfMemory`].
    pub async fn new(gpu: &Gpu, sizes: &Sizes<'_>) -> Result<Self, EngineError> {
        let p = sizes.model.parameters() as u64;
        let envelope = sizes.envelope.map_or(4, |e| 4 * (e.values().len() + e.block_sums().len()) as u64);
        fits(gpu, word!("the envelope Ψ"), envelope)?;
        let example = 4 * sizes.model.example_words() as u64;
        let score = score_bytes(sizes.model);
        // Features of a chunk, for evaluations.
        let row = if sizes.model == Architecture::Scattering { example } else { 0 };
        let noisy = 4 * p * u64::from(sizes.bands.max(1));
        fits(gpu, word!("the noise of earlier steps"), noisy)?;
        // Scores take the place of histograms, and are read.
        let tally = match sizes.encoding {
            Encoding::Envelope => 4 * BUCKETS as u64,
            Encoding::Plain | Encoding::Clip | Encoding::Layers => score,
        };
        let apart = sizes.vectors.is_some() || sizes.canaries;
        let vector = if apart { 4 * Slices::of_vectors(sizes.model).stride as u64 } else { 4 };
        let units = block_size(gpu, sizes, vector + tally);
        let canaries = if sizes.canaries { canaries_at_a_time(gpu, vector + tally) } else { 0 };
        let vectors = u64::from(units.max(canaries));
        // What the examples added is saved, too.
        let shared = vectors * (vector + tally) + if sizes.canaries { 8 * p } else { 0 };
        let fixed = envelope + 4 * p * 15 + noisy + u64::from(sizes.examples) * example + sizes.features + shared;
        let kept = 4 * sizes.slices.stride as u64 + if units > 0 { score } else { tally };
        let per_example = kept + score + row;
        let chunk = chunk_size(gpu, sizes, fixed, per_example)?;

        // A prediction's inputs follow the last example's.
        let inputs = sizes.model.inputs().next_multiple_of(4);
        let work = 4 * (u64::from(chunk) * sizes.slices.stride as u64 + inputs as u64);
        let scores = score * u64::from(chunk);
        let tallies = scores.max(tally * u64::from(if units > 0 { units } else { chunk }.max(canaries)));
        let values = match sizes.denoising {
            Denoising::Distance => 12 * p,
            Denoising::Smoothed(planes) => 4 * planes.range().end as u64,
            Denoising::None | Denoising::Shrunk | Denoising::Soft => 4,
        };
        // Bindings begin at multiples of 64 words.
        let average_at = if sizes.apart { p.next_multiple_of(OFFSET_ALIGNMENT / 4) } else { 0 };
        gpu.guarded(word!("the run's buffers"), || Self {
            chunk,
            kept,
            parameters: storage(gpu, "parameters", 4 * (average_at + p)),
            average_at: average_at as u32,
            momentum: storage(gpu, "momentum", 4 * p),
            work: storage(gpu, "work", work),
            units,
            canaries,
            vectors: storage(gpu, "vectors", vector * vectors.max(1)),
            sums: storage(gpu, "sums", 12 * p),
            noisy: storage(gpu, "noisy", noisy),
            tallies: storage(gpu, "tallies", 4 * COUNTERS as u64 + tallies),
            envelope: storage(gpu, "envelope", envelope),
            bins: storage(gpu, "bins", 4 * BINS_WORDS),
            values: storage(gpu, "values", values),
            tails: storage(gpu, "tails", 4 * sizes.tails as u64),
            quantiles: storage(gpu, "quantiles", 4 * sizes.quantiles as u64),
            run: uniform(gpu, "run", RUN_BYTES),
            evaluation_run: uniform(gpu, "evaluation run", RUN_BYTES),
            release: uniform(gpu, "release", RELEASE_BYTES),
            staging: buffer(gpu, "staging", scores.max(20 * p), wgpu::BufferUsages::MAP_READ),
        })
        .await
    }
}

impl Buffers {
    /// Clears the histograms of `count` examples or vectors before they are ranked.
    pub fn clear_histograms(&self, encoder: &mut wgpu::CommandEncoder, count: u32) {
        encoder.clear_buffer(&self.tallies, 4 * COUNTERS as u64, Some(4 * u64::from(count) * BUCKETS as u64));
    }

    /// Binds the buffers for kernels on the sum.
    pub fn release_group(&self, gpu: &Gpu) -> wgpu::BindGroup {
        let buffers = [
            &self.parameters,
            &self.momentum,
            &self.sums,
            &self.noisy,
            &self.bins,
            &self.values,
            &self.tails,
            &self.quantiles,
            &self.release,
        ];
        gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("release"),
            layout: gpu.layout(Bindings::Release),
            entries: &entries(&buffers),
        })
    }
}

/// Units of a block, of `bytes` bytes each: those of a lot, limited to a fifth of all memory and to
/// a chunk of their examples. 0 if each example is alone.
fn block_size(gpu: &Gpu, sizes: &Sizes<'_>, bytes: u64) -> u32 {
    let Some((_, members)) = sizes.vectors else { return 0 };
    let lot = f64::from(sizes.expected_lot.max(1.0));
    let most = (BUDGET / 5).min(gpu.device().limits().max_storage_buffer_binding_size) / bytes;
    let of_a_chunk = f64::from(sizes.chunk.unwrap_or(LARGEST_CHUNK)) / f64::from(members.max(1.0));
    let wanted = (lot + 6.0 * lot.sqrt()).min(of_a_chunk).ceil() as u64;
    wanted.clamp(1, most.max(1)) as u32
}

/// Canaries whose gradients are in memory at a time, of `bytes` bytes each: a step draws few.
fn canaries_at_a_time(gpu: &Gpu, bytes: u64) -> u32 {
    const MOST: u64 = 64;
    let most = (BUDGET / 30).min(gpu.device().limits().max_storage_buffer_binding_size) / bytes;
    most.clamp(1, MOST) as u32
}

/// Examples of a chunk: if memory allows, a lot six standard deviations above the expected one.
fn chunk_size(gpu: &Gpu, sizes: &Sizes<'_>, fixed: u64, per_example: u64) -> Result<u32, EngineError> {
    let lot =
        f64::from(sizes.expected_lot.max(1.0)) * sizes.vectors.map_or(1.0, |(_, members)| f64::from(members.max(1.0)));
    let wanted = sizes.chunk.map_or((lot + 6.0 * lot.sqrt()).ceil() as u64, u64::from);
    let binding = gpu.device().limits().max_storage_buffer_binding_size;
    let largest_row = 4 * sizes.slices.stride.max(BUCKETS) as u64;
    let piece = binding.min(gpu.report().max_buffer);
    let by_binding = piece.saturating_sub(4096) / largest_row;
    if by_binding == 0 {
        return Err(EngineError::TooLarge { what: word!("one example"), needed: largest_row + 4096, limit: piece });
    }
    let by_budget = BUDGET.saturating_sub(fixed) / per_example;
    if by_budget == 0 {
        return Err(EngineError::OverBudget { needed: fixed + per_example, limit: BUDGET });
    }
    let most = u64::from(LARGEST_CHUNK).min(by_binding).min(by_budget).min(u64::from(sizes.examples).max(1));
    Ok(wanted.clamp(1, most) as u32)
}
