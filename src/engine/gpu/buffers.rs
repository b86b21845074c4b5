//! Every buffer of a run, allocated once, and how large a chunk may be.

use std::{
    ops::{Deref, Range},
    sync::Arc,
};

use super::{
    device::Gpu,
    features,
    passes::{BUCKETS, COUNTERS, EXAMPLE_WORDS, Encoding, SCORE_BYTES, Slices},
};
use crate::{
    data::Dataset,
    engine::EngineError,
    mechanism::envelope::Envelope,
    model::{Architecture, CLASSES, PIXELS},
};

/// All buffers together stay below this.
const BUDGET: u64 = 240 << 20;
/// Larger chunks gain nothing, and flat grids would exceed a dimension's 65,535 workgroups.
const LARGEST_CHUNK: u64 = 1024;
/// Distance between the chunks' uniforms: WebGPU's default alignment of dynamic offsets, and what every device takes.
pub const CHUNK_STRIDE: u64 = 256;
/// Up to the end of `FULL` in release.wgsl: at most P/512 bins are full.
pub const BINS_WORDS: u64 = 64 + 2 * 1024 + 256;
/// Cleared before each step: the distance and the counts.
pub const BINS_CLEARED: u64 = 4 * (64 + 1024);

/// A buffer that is given up with its owner; what was submitted before is still done. In a browser one that nobody holds is freed at the next
/// garbage collection, which knows nothing of its size.
#[derive(Debug)]
pub struct Owned(wgpu::Buffer);

impl Deref for Owned {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.destroy();
    }
}

/// A dataset on the device: words of each example, and the indices of the examples in hand.
#[derive(Debug)]
pub struct Examples {
    /// The very images that were uploaded, to know them again.
    images: Arc<[u8]>,
    labels: Arc<[u8]>,
    pub len: u32,
    pub words: Owned,
    pub indices: Owned,
}

impl Examples {
    /// The images of `data`.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] or [`EngineError::OutOfMemory`] when the device cannot hold them; [`EngineError::Unsupported`]
    /// when there are none.
    pub async fn upload(gpu: &Gpu, data: &Dataset) -> Result<Self, EngineError> {
        let made = Self::room(gpu, data, data.len(), EXAMPLE_WORDS).await?;
        // In slices, so that the host never holds a second copy of the whole.
        for first in (0..data.len()).step_by(1024) {
            let packed = packed(data, first..data.len().min(first + 1024));
            gpu.queue().write_buffer(&made.words, (first * EXAMPLE_WORDS * 4) as u64, &packed);
        }
        Ok(made)
    }

    /// Room for `len` examples of `data` at a time, of so many words each: all of them for training, some for an evaluation.
    ///
    /// # Errors
    /// As [`Self::upload`].
    pub async fn room(gpu: &Gpu, data: &Dataset, len: usize, words: usize) -> Result<Self, EngineError> {
        const WHAT: &str = "the examples";
        if data.is_empty() {
            return Err(EngineError::Unsupported("on a dataset without examples".to_owned()));
        }
        if data.images.len() != data.len() * PIXELS {
            let (images, labels) = (data.images.len() / PIXELS, data.len());
            return Err(EngineError::Unsupported(format!("on {images} images with {labels} labels")));
        }
        if let Some(label) = data.labels.iter().find(|&&label| usize::from(label) >= CLASSES) {
            return Err(EngineError::Unsupported(format!("on a label of {label}: there are {CLASSES} classes")));
        }
        let bytes = len as u64 * words as u64 * 4;
        fits(gpu, WHAT, bytes)?;
        let indices_bytes = len as u64 * 4;
        let (words, indices) =
            gpu.guarded(WHAT, || (storage(gpu, "examples", bytes), storage(gpu, "lot", indices_bytes))).await?;
        let all: Vec<u32> = (0..len as u32).collect();
        gpu.queue().write_buffer(&indices, 0, bytemuck::cast_slice(&all));
        let (images, labels) = (Arc::clone(&data.images), Arc::clone(&data.labels));
        Ok(Self { images, labels, len: len as u32, words, indices })
    }

    /// Whether these are the examples of `data`.
    #[must_use]
    pub fn hold(&self, data: &Dataset) -> bool {
        Arc::ptr_eq(&self.images, &data.images) && Arc::ptr_eq(&self.labels, &data.labels)
    }
}

/// Words of images: 196 of pixels and one of label each.
pub fn packed(data: &Dataset, examples: Range<usize>) -> Vec<u8> {
    let mut packed = Vec::with_capacity(examples.len() * EXAMPLE_WORDS * 4);
    for i in examples {
        packed.extend_from_slice(data.image(i));
        packed.extend_from_slice(&u32::from(data.labels[i]).to_le_bytes());
    }
    packed
}

/// What a run needs besides its examples.
#[derive(Debug)]
pub struct Buffers {
    pub chunk: u32,
    /// Bytes of `work` and `tallies` that are one example's.
    pub kept: u64,
    /// The parameters, and from `average_at` on the mean of the iterates, where one is kept.
    pub parameters: Owned,
    /// 0: no mean is kept.
    pub average_at: u32,
    pub momentum: Owned,
    pub work: Owned,
    /// 3 P: two words of what is released, and the raw sum of a traced step.
    pub sums: Owned,
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

/// What decides the buffers' sizes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    pub model: Architecture,
    pub encoding: Encoding,
    pub envelope: Option<&'a Envelope>,
    pub slices: Slices,
    /// Examples of the training set.
    pub examples: u32,
    pub expected_lot: f32,
    /// As asked for.
    pub chunk: Option<u32>,
    pub averaging: bool,
    pub denoise: bool,
    pub tails: usize,
    pub quantiles: usize,
}

impl Buffers {
    /// # Errors
    /// [`EngineError::TooLarge`], [`EngineError::OverBudget`] or [`EngineError::OutOfMemory`].
    pub async fn new(gpu: &Gpu, sizes: &Sizes<'_>) -> Result<Self, EngineError> {
        let p = sizes.model.parameters() as u64;
        let envelope = sizes.envelope.map_or(4, |e| 4 * (e.values().len() + e.block_sums().len()) as u64);
        fits(gpu, "the envelope Ψ", envelope)?;
        let example = 4 * sizes.model.example_words() as u64;
        // What makes features, and a chunk's of an evaluation.
        let (making, row) = if sizes.model == Architecture::Scattering { (features::BYTES, example) } else { (0, 0) };
        let fixed = envelope + 4 * p * 16 + u64::from(sizes.examples) * example + making;
        // Scores are where histograms were, and read.
        let tally = match sizes.encoding {
            Encoding::Envelope => 4 * BUCKETS as u64,
            Encoding::Plain | Encoding::Clip => SCORE_BYTES,
        };
        let kept = 4 * sizes.slices.stride as u64 + tally;
        let per_example = kept + SCORE_BYTES + row;
        let chunk = chunk_size(gpu, sizes, fixed, per_example)?;

        // A prediction's inputs follow the last example's.
        let inputs = sizes.model.inputs().next_multiple_of(4);
        let work = 4 * (u64::from(chunk) * sizes.slices.stride as u64 + inputs as u64);
        let (tallies, scores) = (tally * u64::from(chunk), SCORE_BYTES * u64::from(chunk));
        let values = if sizes.denoise { 12 * p } else { 4 };
        // Bindings begin at every 64th word.
        let average_at = if sizes.averaging { p.next_multiple_of(CHUNK_STRIDE / 4) } else { 0 };
        gpu.guarded("the run's buffers", || Self {
            chunk,
            kept,
            parameters: storage(gpu, "parameters", 4 * (average_at + p)),
            average_at: average_at as u32,
            momentum: storage(gpu, "momentum", 4 * p),
            work: storage(gpu, "work", work),
            sums: storage(gpu, "sums", 12 * p),
            noisy: storage(gpu, "noisy", 4 * p),
            tallies: storage(gpu, "tallies", 4 * COUNTERS as u64 + tallies),
            envelope: storage(gpu, "envelope", envelope),
            bins: storage(gpu, "bins", 4 * BINS_WORDS),
            values: storage(gpu, "values", values),
            tails: storage(gpu, "tails", 4 * sizes.tails as u64),
            quantiles: storage(gpu, "quantiles", 4 * sizes.quantiles as u64),
            run: uniform(gpu, "run", 32),
            evaluation_run: uniform(gpu, "evaluation run", 32),
            release: uniform(gpu, "release", 80),
            staging: buffer(gpu, "staging", scores.max(20 * p), wgpu::BufferUsages::MAP_READ),
        })
        .await
    }
}

/// Room for a Poisson lot in one chunk where memory allows: six standard deviations above what is expected.
fn chunk_size(gpu: &Gpu, sizes: &Sizes<'_>, fixed: u64, per_example: u64) -> Result<u32, EngineError> {
    let lot = f64::from(sizes.expected_lot.max(1.0));
    let wanted = sizes.chunk.map_or((lot + 6.0 * lot.sqrt()).ceil() as u64, u64::from);
    let binding = gpu.device().limits().max_storage_buffer_binding_size;
    let largest_row = 4 * sizes.slices.stride.max(BUCKETS) as u64;
    let piece = binding.min(gpu.report().max_buffer);
    let by_binding = piece.saturating_sub(4096) / largest_row;
    if by_binding == 0 {
        return Err(EngineError::TooLarge { what: "one example", needed: largest_row + 4096, limit: piece });
    }
    let by_budget = BUDGET.saturating_sub(fixed) / per_example;
    if by_budget == 0 {
        return Err(EngineError::OverBudget { needed: fixed + per_example, limit: BUDGET });
    }
    let most = LARGEST_CHUNK.min(by_binding).min(by_budget).min(u64::from(sizes.examples).max(1));
    Ok(wanted.clamp(1, most) as u32)
}

/// The first example of each chunk of up to `examples`, [`CHUNK_STRIDE`] bytes apart: one uniform, bound at an offset.
pub fn chunk_starts(gpu: &Gpu, examples: u32, chunk: u32) -> Owned {
    let words = CHUNK_STRIDE as usize / 4;
    let mut starts = vec![0_u32; examples.div_ceil(chunk) as usize * words];
    for (slot, first) in starts.chunks_mut(words).zip((0..).step_by(chunk as usize)) {
        slot[0] = first;
    }
    let buffer = uniform(gpu, "chunk starts", 4 * starts.len() as u64);
    gpu.queue().write_buffer(&buffer, 0, bytemuck::cast_slice(&starts));
    buffer
}

/// One buffer must fit into one binding.
fn fits(gpu: &Gpu, what: &'static str, needed: u64) -> Result<(), EngineError> {
    let limits = gpu.device().limits();
    let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    if needed > limit { Err(EngineError::TooLarge { what, needed, limit }) } else { Ok(()) }
}

pub fn storage(gpu: &Gpu, label: &'static str, size: u64) -> Owned {
    buffer(gpu, label, size, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC)
}

pub fn uniform(gpu: &Gpu, label: &'static str, size: u64) -> Owned {
    buffer(gpu, label, size, wgpu::BufferUsages::UNIFORM)
}

pub fn buffer(gpu: &Gpu, label: &'static str, size: u64, usage: wgpu::BufferUsages) -> Owned {
    let usage = usage | wgpu::BufferUsages::COPY_DST;
    let (label, mapped_at_creation) = (Some(label), false);
    Owned(gpu.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation }))
}
