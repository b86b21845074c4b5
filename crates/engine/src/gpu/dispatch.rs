//! A kernel ready to be recorded: compiled with its constants, with its number of workgroups.

use super::{device::Gpu, kernels::Kernel};

/// Values of a kernel's `override` declarations, by name.
pub type Constants = Vec<(&'static str, f64)>;

/// Most workgroups in a row; every device allows 65,535.
const LONGEST_ROW: u32 = 32_768;

/// How many workgroups a kernel needs for `count` examples.
#[derive(Clone, Copy, Debug)]
pub enum Workgroups {
    /// A row of this many workgroups for each example.
    Rows(u32),
    /// `per_example` invocations per example, in workgroups of `workgroup` across examples.
    Flat { per_example: u32, workgroup: u32 },
    /// One invocation per 4 examples × 4 `outputs`, in workgroups of 32.
    Tiles { outputs: u32 },
    /// This many, for any number of examples.
    Fixed(u32),
    /// `each` invocations per example, in workgroups of 64 across examples, in rows that every
    /// device allows; repeated for each of `parts`.
    Spread { each: u32, parts: u32 },
    /// `groups` workgroups per slice of `examples` examples.
    Slices { groups: u32, examples: u32 },
}

impl Workgroups {
    fn size(self, count: u32) -> (u32, u32, u32) {
        match self {
            Self::Rows(groups) => (groups, count, 1),
            Self::Flat { per_example, workgroup } => ((per_example * count).div_ceil(workgroup), 1, 1),
            Self::Tiles { outputs } => ((outputs.div_ceil(4) * count.div_ceil(4)).div_ceil(32), 1, 1),
            Self::Fixed(groups) => (groups, 1, 1),
            Self::Spread { each, parts } => {
                let groups = (each * count).div_ceil(64);
                let row = groups.clamp(1, LONGEST_ROW);
                (row, groups.div_ceil(row), parts)
            }
            Self::Slices { groups, examples } => (groups, count.div_ceil(examples), 1),
        }
    }
}

/// A compiled kernel and its number of workgroups.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The kernel's name.
    pub name: &'static str,
    pipeline: wgpu::ComputePipeline,
    workgroups: Workgroups,
}

impl Dispatch {
    pub fn new(gpu: &Gpu, kernel: &Kernel, constants: &[(&'static str, f64)], workgroups: Workgroups) -> Self {
        Self { name: kernel.name, pipeline: gpu.pipeline(kernel, constants), workgroups }
    }

    /// Records the kernel for `count` examples.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, count: u32) {
        let (x, y, z) = self.workgroups.size(count);
        pass.set_pipeline(&self.pipeline);
        pass.dispatch_workgroups(x, y, z);
    }
}
