//! The kernels of a run in the order in which they are recorded: built once, replayed every step.

use super::{
    device::Gpu,
    dispatch::{Dispatch, Workgroups},
    kernels::{self, ACCUMULATE_DENSE, ACCUMULATE_STORED, CONV1, CONV2, DENSE, NOISE, NORM, UNPACK, UPDATE},
    lowered::Lowered,
    passes::Passes,
};

/// Sequences of kernels.
#[derive(Debug)]
pub struct Programs {
    /// Over a chunk of the lot.
    pub step: Vec<Dispatch>,
    /// The same, with the raw sum.
    pub traced: Vec<Dispatch>,
    pub evaluate: Vec<Dispatch>,
    pub predict: Vec<Dispatch>,
    /// On the sum.
    pub finish: Vec<Dispatch>,
}

/// Names of a run's kernels, by what they compute: what a check says of them.
#[derive(Clone, Debug)]
pub struct KernelNames {
    pub evaluation: Vec<&'static str>,
    /// From logits to gradients, and their sum as they are.
    pub gradients: Vec<&'static str>,
    pub encoding: Vec<&'static str>,
    pub noise: Vec<&'static str>,
    pub denoising: Vec<&'static str>,
    pub update: Vec<&'static str>,
}

impl Programs {
    /// Those of a model. A prediction's inputs are floats in `work` from the word `pixels_at` on.
    pub fn new(gpu: &Gpu, passes: &Passes<'_>, lowered: &Lowered<'_>, pixels_at: usize) -> Self {
        let mut step = passes.forward(None);
        step.push(passes.head());
        let mut evaluate = step.clone();
        evaluate.push(passes.scores());
        step.extend(passes.backward());
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
        Self { step, traced, evaluate, predict, finish }
    }

    #[must_use]
    pub fn names(&self) -> KernelNames {
        const FORWARD: [&str; 4] = [UNPACK.name, CONV1.name, CONV2.name, DENSE.name];
        let norm = self.step.iter().position(|pass| pass.name == NORM.name).unwrap_or(self.step.len());
        let (gradients, encoding) = self.step.split_at(norm);
        let sums = encoding.iter().filter(|pass| [ACCUMULATE_STORED.name, ACCUMULATE_DENSE.name].contains(&pass.name));
        let last = if self.finish.len() > 1 { UPDATE.name } else { NOISE.name };
        KernelNames {
            evaluation: names(self.evaluate.iter().chain(&self.predict)),
            gradients: names(gradients.iter().filter(|pass| !FORWARD.contains(&pass.name)).chain(sums)),
            encoding: names(encoding),
            noise: vec![NOISE.name],
            denoising: names(self.finish.iter().filter(|pass| pass.name != UPDATE.name)),
            update: vec![last],
        }
    }
}

/// What follows the sum.
fn finish(gpu: &Gpu, lowered: &Lowered<'_>) -> Vec<Dispatch> {
    let &Lowered { dimension, denoise, grid, .. } = lowered;
    let blocks = (dimension as u32).div_ceil(4).div_ceil(64);
    let coordinates = (dimension as u32).div_ceil(64);
    let flags = [("DENOISE", denoise), ("EXACT", grid.is_some())].map(|(name, flag)| (name, f64::from(u8::from(flag))));
    let mut passes = vec![Dispatch::new(gpu, &kernels::NOISE, &flags, Workgroups::Fixed(blocks))];
    if denoise {
        passes.push(Dispatch::new(gpu, &kernels::KS_SCATTER, &[], Workgroups::Fixed(coordinates.min(64))));
        passes.push(Dispatch::new(gpu, &kernels::KS_DISTANCE, &[], Workgroups::Fixed(coordinates)));
        passes.push(Dispatch::new(gpu, &kernels::KS_FULL, &[], Workgroups::Fixed(8)));
        passes.push(Dispatch::new(gpu, &kernels::UPDATE, &[], Workgroups::Fixed(coordinates)));
    }
    passes
}

/// Each once.
fn names<'a>(passes: impl IntoIterator<Item = &'a Dispatch>) -> Vec<&'static str> {
    let mut names = Vec::new();
    for pass in passes {
        if !names.contains(&pass.name) {
            names.push(pass.name);
        }
    }
    names
}
