//! The kernels of a run in recording order: built once, replayed every step.

use super::{
    denoising::Denoising,
    device::Gpu,
    dispatch::{Dispatch, Workgroups},
    kernels::{
        self, ACCUMULATE_DENSE, ACCUMULATE_STORED, CONV1, CONV2, CONVOLUTION, DENSE, NOISE, NORM, PIXELS, UNPACK,
        UPDATE,
    },
    lowered::Lowered,
    passes::Passes,
};
use crate::mechanism::denoise::Planes;

/// Sequences of kernels.
#[derive(Debug)]
pub struct Programs {
    /// Over a chunk of the lot.
    pub step: Vec<Dispatch>,
    /// The same, with the raw sum.
    pub traced: Vec<Dispatch>,
    /// If examples share vectors: over a chunk, before the above over a block of units.
    pub shared: Option<SharedPrograms>,
    pub evaluate: Vec<Dispatch>,
    pub predict: Vec<Dispatch>,
    /// On the sum.
    pub finish: Vec<Dispatch>,
}

/// What computes vectors that several examples share.
#[derive(Debug)]
pub struct SharedPrograms {
    /// From examples to gradients.
    pub gradients: Vec<Dispatch>,
    /// From gradients to vectors.
    pub gather: Vec<Dispatch>,
}

/// Names of a run's kernels, by what they compute, for the messages of a check.
#[derive(Clone, Debug)]
pub struct KernelNames {
    pub evaluation: Vec<&'static str>,
    /// From logits to gradients, and their raw sum.
    pub gradients: Vec<&'static str>,
    pub encoding: Vec<&'static str>,
    /// From canaries' numbers to what they add.
    pub canaries: Vec<&'static str>,
    pub noise: Vec<&'static str>,
    pub denoising: Vec<&'static str>,
    pub update: Vec<&'static str>,
}

impl Programs {
    /// Builds a model's sequences. A prediction's inputs are floats in `work` from `pixels_at` on.
    pub fn new(gpu: &Gpu, passes: &Passes<'_>, lowered: &Lowered<'_>, pixels_at: usize) -> Self {
        let mut step = passes.forward(None);
        step.push(passes.head());
        let mut evaluate = step.clone();
        evaluate.push(passes.scores());
        step.extend(passes.backward());
        let shared =
            passes.vectors.map(|_| SharedPrograms { gradients: std::mem::take(&mut step), gather: passes.gather() });
        step.push(passes.norm());
        let mut traced = step.clone();
        traced.extend(passes.accumulate(true));
        for passes in [passes.rank(), passes.accumulate(false)] {
            step.extend(passes.iter().cloned());
            traced.extend(passes);
        }
        let mut predict = passes.forward(Some(pixels_at));
        predict.push(passes.head());
        let finish = finish(gpu, lowered);
        Self { step, traced, shared, evaluate, predict, finish }
    }

    #[must_use]
    pub fn names(&self) -> KernelNames {
        const FORWARD: [&str; 6] = [UNPACK.name, CONV1.name, CONV2.name, DENSE.name, PIXELS.name, CONVOLUTION.name];
        let norm = self.step.iter().position(|pass| pass.name == NORM.name).unwrap_or(self.step.len());
        let (alone, encoding) = self.step.split_at(norm);
        let gradients =
            self.shared.iter().flat_map(|shared| shared.gradients.iter().chain(&shared.gather)).chain(alone);
        let sums = encoding.iter().filter(|pass| [ACCUMULATE_STORED.name, ACCUMULATE_DENSE.name].contains(&pass.name));
        let last = if self.finish.len() > 1 { UPDATE.name } else { NOISE.name };
        KernelNames {
            evaluation: names(self.evaluate.iter().chain(&self.predict)),
            gradients: names(gradients.filter(|pass| !FORWARD.contains(&pass.name)).chain(sums)),
            encoding: names(encoding),
            canaries: Vec::new(),
            noise: vec![NOISE.name],
            denoising: names(self.finish.iter().filter(|pass| pass.name != UPDATE.name)),
            update: vec![last],
        }
    }
}

/// The kernels after the sum.
fn finish(gpu: &Gpu, lowered: &Lowered<'_>) -> Vec<Dispatch> {
    let &Lowered { dimension, denoising, grid, bands, .. } = lowered;
    let blocks = (dimension as u32).div_ceil(4).div_ceil(64);
    let coordinates = (dimension as u32).div_ceil(64);
    let dispatch = |kernel, constants: &[(&'static str, f64)], workgroups| {
        Dispatch::new(gpu, kernel, constants, Workgroups::Fixed(workgroups))
    };
    let distance = denoising == Denoising::Distance;
    let flags = [
        ("COUNT", distance),
        ("UPDATE", denoising == Denoising::None),
        ("EXACT", grid.is_some()),
        ("CORRELATED", bands > 1),
    ];
    let mut passes =
        vec![dispatch(&kernels::NOISE, &flags.map(|(name, flag)| (name, f64::from(u8::from(flag)))), blocks)];
    let update: &[(&'static str, f64)] = match denoising {
        Denoising::None => return passes,
        Denoising::Distance => {
            passes.push(dispatch(&kernels::KS_SCATTER, &[], coordinates.min(64)));
            passes.push(dispatch(&kernels::KS_DISTANCE, &[], coordinates));
            // With a million coordinates nearly all bins are full, and software ends a kernel's
            // loops after 65,535 rounds in all.
            passes.push(dispatch(&kernels::KS_FULL, &[], (dimension as u32 / 16_384).max(8)));
            &[("SCALED", 1.0)]
        }
        Denoising::Shrunk => {
            passes.push(dispatch(&kernels::SHRINK, &[], 1));
            &[("SCALED", 1.0)]
        }
        Denoising::Soft => &[("SOFT", 1.0)],
        Denoising::Smoothed(Planes { count, side, .. }) => {
            passes.push(dispatch(&kernels::SMOOTH, &[("SIDE", side as f64)], count as u32));
            &[("SMOOTHED", (count * side * side) as f64)]
        }
    };
    passes.push(dispatch(&kernels::UPDATE, update, coordinates));
    passes
}

/// Returns each name once.
fn names<'a>(passes: impl IntoIterator<Item = &'a Dispatch>) -> Vec<&'static str> {
    let mut names = Vec::new();
    for pass in passes {
        if !names.contains(&pass.name) {
            names.push(pass.name);
        }
    }
    names
}
