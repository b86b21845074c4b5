//! Datasets on the device, and their bindings with a run's buffers.

use super::layout::OnDevice as _;
use hushgrad_message::word;
use std::{ops::Range, sync::Arc};

use super::{
    buffers::Buffers,
    device::Gpu,
    kernels::Bindings,
    memory::{OFFSET_ALIGNMENT, Owned, entries, fits, storage, uniform},
};
use crate::{
    EngineError, Unsupported, check_dataset,
    data::{Dataset, Images},
    model::Architecture,
};

/// A dataset on the device: words of each example, and the indices of the current examples.
#[derive(Debug)]
pub struct Examples {
    /// The uploaded images, for recognising the dataset.
    images: Images,
    labels: Arc<[u8]>,
    pub len: u32,
    pub words: Owned,
    pub indices: Owned,
}

impl Examples {
    /// Uploads the images of `data`, as `model` reads them.
    ///
    /// # Errors
    /// [`EngineError::TooLarge`] or [`EngineError::OutOfMemory`] if the device cannot hold them;
    /// [`EngineError::Unsupported`] if there are none, or `model` cannot read them.
    pub async fn upload(gpu: &Gpu, data: &Dataset, model: Architecture) -> Result<Self, EngineError> {
        let words = model.example_words();
        let made = Self::room(gpu, data, data.len(), model).await?;
        // In slices, so that the host never holds a second copy of the whole.
        for first in (0..data.len()).step_by(1024) {
            let packed = packed(data, first..data.len().min(first + 1024), words);
            gpu.queue().write_buffer(&made.words, (first * words * 4) as u64, &packed);
        }
        Ok(made)
    }

    /// Allocates room for `len` examples of `data`, as `model` reads them: all of them for
    /// training, some for an evaluation.
    ///
    /// # Errors
    /// As [`Self::upload`].
    pub async fn room(gpu: &Gpu, data: &Dataset, len: usize, model: Architecture) -> Result<Self, EngineError> {
        const WHAT: &str = word!("the examples");
        if data.is_empty() {
            return Err(Unsupported::NoExamples.into());
        }
        check_dataset(model, data)?;
        let bytes = len as u64 * model.example_words() as u64 * 4;
        fits(gpu, WHAT, bytes)?;
        let indices_bytes = len as u64 * 4;
        let (words, indices) =
            gpu.guarded(WHAT, || (storage(gpu, "examples", bytes), storage(gpu, "lot", indices_bytes))).await?;
        let all: Vec<u32> = (0..len as u32).collect();
        gpu.queue().write_buffer(&indices, 0, bytemuck::cast_slice(&all));
        let (images, labels) = (data.images.clone(), Arc::clone(&data.labels));
        Ok(Self { images, labels, len: len as u32, words, indices })
    }

    /// True if these are the examples of `data`.
    #[must_use]
    pub fn hold(&self, data: &Dataset) -> bool {
        self.images.same(&data.images) && Arc::ptr_eq(&self.labels, &data.labels)
    }
}

/// Packs each image into `words` words: its pixels, zeros up to a whole word, and its label.
pub fn packed(data: &Dataset, examples: Range<usize>, words: usize) -> Vec<u8> {
    let mut packed = Vec::with_capacity(examples.len() * words * 4);
    for i in examples {
        let start = packed.len();
        packed.extend_from_slice(data.image(i));
        packed.resize(start + 4 * (words - 1), 0);
        packed.extend_from_slice(&u32::from(data.labels[i]).to_le_bytes());
    }
    packed
}

/// A dataset on the device, bound with a run's buffers.
#[derive(Debug)]
pub struct ExampleSet {
    pub examples: Examples,
    /// Bound by `group`, and dropped with it.
    pub starts: Owned,
    pub group: wgpu::BindGroup,
}

impl ExampleSet {
    /// Binds `examples` for steps.
    pub fn of_training(gpu: &Gpu, examples: Examples, buffers: &Buffers) -> Self {
        let starts = chunk_starts(gpu, examples.len, buffers.chunk);
        let group = bind(gpu, &examples, &starts, buffers, 0, &buffers.run);
        Self { examples, starts, group }
    }

    /// Binds `examples` for evaluation.
    pub fn of_evaluation(gpu: &Gpu, examples: Examples, buffers: &Buffers) -> Self {
        let starts = chunk_starts(gpu, examples.len, buffers.chunk);
        let group = bind(gpu, &examples, &starts, buffers, buffers.average_at, &buffers.evaluation_run);
        Self { examples, starts, group }
    }
}

/// Binds examples with a run's buffers, and with the parameters from word `parameters_at` on.
pub fn bind(
    gpu: &Gpu,
    examples: &Examples,
    starts: &Owned,
    buffers: &Buffers,
    parameters_at: u32,
    run: &Owned,
) -> wgpu::BindGroup {
    bind_parts(gpu, &parts(examples, buffers, run), parameters_at, starts)
}

/// Bindings 0 to 7 of `common.wgsl` for steps and evaluations; the chunk follows.
pub fn parts<'a>(examples: &'a Examples, buffers: &'a Buffers, run: &'a Owned) -> [&'a Owned; 8] {
    [
        &examples.words,
        &examples.indices,
        &buffers.parameters,
        &buffers.work,
        &buffers.sums,
        &buffers.tallies,
        &buffers.envelope,
        run,
    ]
}

/// Binds `parts`, the third from word `third_at` on, and the chunks of `starts`, one per offset.
pub fn bind_parts(gpu: &Gpu, parts: &[&Owned; 8], third_at: u32, starts: &Owned) -> wgpu::BindGroup {
    let part = |binding, buffer, offset, size| {
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
        wgpu::BindGroupEntry { binding, resource }
    };
    let mut entries = entries(parts);
    entries[2] = part(2, parts[2], 4 * u64::from(third_at), None);
    entries.push(part(8, starts, 0, wgpu::BufferSize::new(16)));
    gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("examples"),
        layout: gpu.layout(Bindings::Examples),
        entries: &entries,
    })
}

/// First examples of the chunks of up to `examples`, [`OFFSET_ALIGNMENT`] bytes apart: one uniform,
/// bound at an offset.
pub fn chunk_starts(gpu: &Gpu, examples: u32, chunk: u32) -> Owned {
    let words = OFFSET_ALIGNMENT as usize / 4;
    let mut starts = vec![0_u32; examples.div_ceil(chunk) as usize * words];
    for (slot, first) in starts.chunks_mut(words).zip((0..).step_by(chunk as usize)) {
        slot[0] = first;
    }
    let buffer = uniform(gpu, "chunk starts", 4 * starts.len() as u64);
    gpu.queue().write_buffer(&buffer, 0, bytemuck::cast_slice(&starts));
    buffer
}
