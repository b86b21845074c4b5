//! A task converted to the numbers that kernels take.

use bytemuck::{Pod, Zeroable};
use hushgrad_message::word;

use super::{
    buffers::Buffers,
    denoising::Denoising,
    device::Gpu,
    families::Family,
    layout::{Encoding, LAYERS, RELEASE_BYTES, RUN_BYTES},
    memory::Owned,
};
use crate::{
    EngineError, Task, Unsupported, check_length,
    mechanism::{
        EncoderSpec,
        denoise::{Filter, Hartley, Planes},
        encode::first_bucket,
        envelope::Envelope,
        exact_sum::{SumGrid, clip_target},
        layers::{LayerFactors, Layers, MOST_LAYERS},
    },
};

/// `Run` of common.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Run {
    pub count: u32,
    pub chunk: u32,
    pub vectors: u32,
    pub dimension: u32,
    pub clip: f32,
    pub pre_scale: f32,
    pub steps: f32,
    pub first_bucket: i32,
    /// From [`LayerFactors`].
    pub weight: [f32; LAYERS],
    pub target: [f32; LAYERS],
    pub scale: [f32; LAYERS],
    /// Four bits a layer.
    pub groups: u32,
    /// η of units that share a vector.
    pub rate: f32,
    /// Largest squared norm that is within the clip; negative without a single clip.
    pub within: f32,
    pub unused: u32,
}

/// `Release` of release.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Release {
    pub key: [u32; 8],
    pub dimension: u32,
    pub family: u32,
    pub scale: f32,
    pub shape: f32,
    pub learning_rate: f32,
    pub momentum: f32,
    pub expected_lot: f32,
    pub half_point: f32,
    pub average_at: u32,
    pub average_keeps: f32,
    pub step: f32,
    pub inverse_step: f32,
    pub takes: f32,
    pub ahead: f32,
    pub denoise: f32,
    pub position: u32,
    /// First coordinate after each layer, and the factor of its coordinates.
    pub ends: [u32; LAYERS],
    pub units: [f32; LAYERS],
}

const _: () = assert!(size_of::<Run>() as u64 == RUN_BYTES && size_of::<Release>() as u64 == RELEASE_BYTES);

/// A task that the device supports.
#[derive(Debug)]
pub struct Lowered<'a> {
    /// P.
    pub dimension: usize,
    pub encoding: Encoding,
    /// Ψ, if gradients are encoded with it.
    pub envelope: Option<&'a Envelope>,
    /// Grid of the encoded coordinates; their sums are exact.
    pub grid: Option<SumGrid>,
    pub denoising: Denoising,
    /// If noise is correlated, with the scale of fresh noise and the coefficients.
    pub family: Family,
    /// Steps over which noise is correlated.
    pub bands: u32,
    /// The number that the denoiser's kernels take.
    denoise: f32,
    filter: Filter,
    clip: f32,
    within: f32,
    pre_scale: f32,
    layers: Option<Layers>,
    rate: f32,
    expected_lot: f32,
}

impl<'a> Lowered<'a> {
    /// Lowers `task`, over gradients of the model's length.
    ///
    /// # Errors
    /// [`EngineError::Unsupported`] for tasks left to the CPU, and for a refused envelope, encoder,
    /// noise or denoiser.
    pub fn new(task: &'a Task) -> Result<Self, EngineError> {
        if task.grid.is_some() {
            return Err(Unsupported::GridOnGpu.into());
        }
        if task.copies != 1 {
            return Err(Unsupported::AugmentationOnGpu.into());
        }
        if task.sharing.is_shared() && task.local.steps > 1 {
            return Err(Unsupported::SharingOnGpu.into());
        }
        if !task.model.is_named() && task.model.features().is_some() {
            return Err(Unsupported::LayersOnFeatures.into());
        }
        task.encoder.validate()?;
        let dimension = task.model.parameters();
        let grid = task.sum_grid();
        let layers = task.layers()?;
        let (encoding, clip, pre_scale) = match task.encoder {
            EncoderSpec::Layers(_) => (Encoding::Layers, 0.0, 1.0),
            EncoderSpec::None => (Encoding::Plain, 0.0, 1.0),
            // Just below the norm, so that no rounding (squares, grid) lets an example exceed it.
            EncoderSpec::Clip { norm } => {
                let target = grid.map_or_else(|| clip_target(norm), |grid| grid.clip_target(norm, dimension));
                (Encoding::Clip, target as f32, 1.0)
            }
            EncoderSpec::Envelope { pre_scale, .. } => (Encoding::Envelope, 0.0, pre_scale as f32),
        };
        let envelope = match encoding {
            Encoding::Plain | Encoding::Clip | Encoding::Layers => None,
            Encoding::Envelope => {
                let envelope = task.envelope.as_deref().ok_or(Unsupported::NoEnvelope)?;
                check_length(word!("entries of an envelope's vector"), envelope.dimension(), dimension)?;
                Some(envelope)
            }
        };
        let (denoising, denoise) = Denoising::of(task)?;
        let mut family = Family::new(task.noise.as_ref(), denoising == Denoising::Distance)?;
        if let Denoising::Smoothed(Planes { side, .. }) = denoising {
            family.tails = Hartley::waves(side).into_iter().map(|v| v as f32).collect();
        }
        if let Some(correlation) = task.correlation(dimension)? {
            family.scale = (f64::from(family.scale) * correlation.norm()) as f32;
            family.quantiles = correlation.past().iter().map(|&c| c as f32).collect();
        }
        let (denoise, filter, expected_lot) = (denoise as f32, task.filter(), task.expected_lot);
        Ok(Self {
            dimension,
            encoding,
            envelope,
            grid,
            denoising,
            family,
            bands: task.bands,
            denoise,
            filter,
            clip,
            within: within(task),
            pre_scale,
            layers,
            rate: task.local.rate as f32,
            expected_lot,
        })
    }

    /// 1/g, a power of two, if sums are exact.
    fn inverse_step(&self) -> Option<f32> {
        self.grid.map(|grid| grid.step().recip())
    }

    /// Returns a [`Run`] without a lot.
    pub fn run(&self, buffers: &Buffers) -> Run {
        let steps = self.inverse_step().unwrap_or(1.0);
        let factors = self.layers.as_ref().map(|layers| layers.factors(self.grid));
        let of = |what: fn(LayerFactors) -> [f64; MOST_LAYERS]| {
            factors.map_or([0.0; LAYERS], |factors| std::array::from_fn(|layer| what(factors)[layer] as f32))
        };
        Run {
            count: 0,
            chunk: buffers.chunk,
            vectors: self.envelope.map_or(0, |e| e.vectors() as u32),
            dimension: self.dimension as u32,
            clip: self.clip,
            pre_scale: self.pre_scale,
            steps,
            first_bucket: first_bucket(self.pre_scale * steps),
            weight: of(|factors| factors.weight),
            target: of(|factors| factors.target),
            scale: of(|factors| factors.scale),
            groups: factors
                .map_or(0, |factors| factors.group.iter().rev().fold(0, |all, group| all << 4 | u32::from(*group))),
            rate: self.rate,
            within: self.within,
            unused: 0,
        }
    }

    /// Returns a [`Release`] without a key.
    pub fn release(&self, buffers: &Buffers) -> Release {
        let (mut ends, mut units) = ([u32::MAX; LAYERS], [1.0; LAYERS]);
        let mut end = 0;
        for (layer, part) in self.layers.iter().flat_map(Layers::parts).enumerate() {
            end += part.length as u32;
            (ends[layer], units[layer]) = (end, part.unit as f32);
        }
        Release {
            key: [0; 8],
            dimension: self.dimension as u32,
            family: self.family.code,
            scale: self.family.scale,
            shape: self.family.shape,
            learning_rate: 0.0,
            momentum: self.filter.keeps,
            expected_lot: self.expected_lot,
            half_point: self.family.half_point,
            average_at: buffers.average_at,
            average_keeps: 0.0,
            step: self.grid.map_or(0.0, SumGrid::step),
            inverse_step: self.inverse_step().unwrap_or(0.0),
            takes: self.filter.takes,
            ahead: self.filter.ahead,
            denoise: self.denoise,
            position: 0,
            ends,
            units,
        }
    }

    /// Writes what no step changes: the noise's tables and Ψ.
    pub fn write(&self, gpu: &Gpu, buffers: &Buffers) {
        let queue = gpu.queue();
        queue.write_buffer(&buffers.tails, 0, bytemuck::cast_slice(&self.family.tails));
        queue.write_buffer(&buffers.quantiles, 0, bytemuck::cast_slice(&self.family.quantiles));
        if let Some(envelope) = self.envelope {
            write_envelope(gpu, &buffers.envelope, envelope, self.grid);
        }
    }
}

/// The bound of `norm.wgsl` on squared norms, to match [`Task::is_within`].
fn within(task: &Task) -> f32 {
    match task.encoder {
        EncoderSpec::Clip { norm } => norm.powi(2).min(f32::MAX.into()) as f32,
        _ => -1.0,
    }
}

/// Writes Ψ and its block sums. For exact sums, entries are whole steps rounded down, so that
/// values clamped to them stay inside.
fn write_envelope(gpu: &Gpu, buffer: &Owned, envelope: &Envelope, grid: Option<SumGrid>) {
    let queue = gpu.queue();
    for (index, at) in (0..envelope.vectors()).zip((0..).step_by(4 * envelope.dimension())) {
        let psi = envelope.vector(index);
        match grid {
            Some(grid) => {
                let steps: Vec<f32> = psi.iter().map(|v| (v / grid.step()).floor()).collect();
                queue.write_buffer(buffer, at, bytemuck::cast_slice(&steps));
            }
            None => queue.write_buffer(buffer, at, bytemuck::cast_slice(psi)),
        }
    }
    queue.write_buffer(buffer, 4 * envelope.values().len() as u64, bytemuck::cast_slice(envelope.block_sums()));
}
