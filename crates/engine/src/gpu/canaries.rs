//! Canaries of an audit: a step writes the gradients of the canaries that it drew as vectors, a
//! block at a time, and processes them like examples' gradients, with the run's own bounds, grid,
//! sum and noise. What the examples added is saved before.

use std::sync::Arc;

use super::{
    buffers::Buffers,
    device::Gpu,
    dispatch::Dispatch,
    examples::{Examples, bind_parts, chunk_starts, parts},
    layout::{COUNTS, COUNTS_AT, RUN_BYTES},
    lowered::Run,
    memory::{OFFSET_ALIGNMENT, Owned, storage, uniform},
    passes::Passes,
};
use crate::mechanism::canaries::{Canaries, DrawnCanary};

/// Bytes of a step's counts.
const COUNTS_BYTES: u64 = 4 * COUNTS as u64;

/// The canaries of a run on the device.
#[derive(Debug)]
pub struct Planted {
    pub canaries: Arc<Canaries>,
    /// The canaries that a step drew, one word each.
    drawn: Owned,
    run: Owned,
    /// The sums before canaries are added, 2 P words, and the counts.
    pub examples: Owned,
    /// Bytes of a gradient; those of a block are cleared.
    bytes: u64,
    group: wgpu::BindGroup,
    programs: CanaryPrograms,
    /// Bound by `group`, and dropped with it.
    _words: Owned,
    _starts: Owned,
}

/// Kernels from canaries' numbers to their encoded sum.
#[derive(Clone, Debug)]
pub struct CanaryPrograms {
    pub plant: Dispatch,
    pub step: Vec<Dispatch>,
    /// Also computes the raw sum.
    pub traced: Vec<Dispatch>,
}

impl CanaryPrograms {
    /// Builds the kernels; `None` unless `passes` are over canaries' gradients.
    fn new(passes: &Passes<'_>, canaries: &Canaries) -> Option<Self> {
        let plant = passes.plant(canaries)?;
        let mut step = vec![passes.norm()];
        let mut traced = step.clone();
        traced.extend(passes.accumulate(true));
        for passes in [passes.rank(), passes.accumulate(false)] {
            step.extend(passes.iter().cloned());
            traced.extend(passes);
        }
        Some(Self { plant, step, traced })
    }

    /// Names of all kernels, in order.
    pub fn names(&self) -> Vec<&'static str> {
        std::iter::once(&self.plant).chain(&self.step).map(|pass| pass.name).collect()
    }
}

impl Planted {
    /// Allocates the canaries of a run, whose `buffers` have room for a block, and their kernels.
    pub fn new(
        gpu: &Gpu,
        canaries: &Arc<Canaries>,
        passes: &Passes<'_>,
        examples: &Examples,
        buffers: &Buffers,
    ) -> Option<Self> {
        let passes = passes.of_canaries();
        let programs = CanaryPrograms::new(&passes, canaries)?;
        let bytes = 4 * passes.vectors?.stride as u64;
        let mut numbers: Vec<u32> = canaries.coordinates().to_vec();
        let values: Vec<f32> = canaries.values().collect();
        numbers.truncate(values.len());
        numbers.extend(values.iter().map(|value| value.to_bits()));
        let words = storage(gpu, "canaries", 4 * numbers.len() as u64);
        gpu.queue().write_buffer(&words, 0, bytemuck::cast_slice(&numbers));
        let count = canaries.len() as u32;
        let (drawn, run) =
            (storage(gpu, "drawn canaries", 4 * u64::from(count)), uniform(gpu, "run of canaries", RUN_BYTES));
        let starts = chunk_starts(gpu, count, buffers.canaries);
        let mut bound = parts(examples, buffers, &run);
        (bound[1], bound[2], bound[3]) = (&drawn, &words, &buffers.vectors);
        let group = bind_parts(gpu, &bound, 0, &starts);
        let kept = storage(gpu, "sums of examples", 2 * buffers.momentum.size() + COUNTS_BYTES);
        let canaries = Arc::clone(canaries);
        Some(Self { canaries, drawn, run, examples: kept, bytes, group, programs, _words: words, _starts: starts })
    }

    /// The kernels that add canaries.
    pub const fn programs(&self) -> &CanaryPrograms {
        &self.programs
    }

    /// Uploads the canaries that a step drew, and `run` with their number.
    pub fn draw(&self, gpu: &Gpu, buffers: &Buffers, run: Run, drawn: &[DrawnCanary]) {
        let words: Vec<u32> = drawn.iter().map(|drawn| 2 * drawn.canary + u32::from(drawn.turned)).collect();
        if !words.is_empty() {
            gpu.queue().write_buffer(&self.drawn, 0, bytemuck::cast_slice(&words));
        }
        let run = Run { count: words.len() as u32, chunk: buffers.canaries, ..run };
        gpu.queue().write_buffer(&self.run, 0, bytemuck::bytes_of(&run));
    }

    /// Records that sums and counts are saved, and `count` canaries are added to them.
    pub fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        buffers: &Buffers,
        count: u32,
        traced: bool,
        histograms: bool,
    ) {
        let sums = self.examples.size() - COUNTS_BYTES;
        encoder.copy_buffer_to_buffer(&buffers.sums, 0, &self.examples, 0, sums);
        encoder.copy_buffer_to_buffer(&buffers.tallies, 4 * COUNTS_AT as u64, &self.examples, sums, COUNTS_BYTES);
        let bounds = if traced { &self.programs.traced } else { &self.programs.step };
        for (index, first) in (0_u64..).zip((0..count).step_by(buffers.canaries as usize)) {
            let block = (count - first).min(buffers.canaries);
            encoder.clear_buffer(&buffers.vectors, 0, Some(self.bytes * u64::from(block)));
            if histograms {
                buffers.clear_histograms(encoder, block);
            }
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_bind_group(0, &self.group, &[(index * OFFSET_ALIGNMENT) as u32]);
            std::iter::once(&self.programs.plant).chain(bounds).for_each(|pass_of| pass_of.record(&mut pass, block));
        }
    }
}
