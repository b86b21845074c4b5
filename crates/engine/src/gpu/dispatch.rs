//! A kernel as it is recorded: compiled with its constants, over as many workgroups as the examples take.

use super::{device::Gpu, kernels::Kernel};

/// Values of a kernel's `override` declarations, by name.
pub type Constants = Vec<(&'static str, f64)>;

/// Workgroups of a row; every device takes 65,535.
const LONGEST_ROW: u32 = 32_768;

/// How many workgroups a kernel takes for `count` examples.
#[derive(Clone, Copy, Debug)]
pub enum Workgroups {
    /// One row of this many workgroups for each example.
    Rows(u32),
    /// `per_example` invocations an example, `workgroup` at a time, across examples.
    Flat { per_example: u32, workgroup: u32 },
    /// One invocation for every 4 examples and 4 of `outputs`, 32 at a time.
    Tiles { outputs: u32 },
    /// The same for any number of examples.
    Fixed(u32),
    /// `each` invocations an example, 64 at a time, across examples, in rows that no device's limit cuts; all of them for each of `parts`.
    Spread { each: u32, parts: u32 },
    /// So many for each slice of the examples.
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

/// A kernel, compiled, and how many workgroups it takes.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// The kernel's.
    pub name: &'static str,
    pipeline: wgpu::ComputePipeline,
    workgroups: Workgroups,
}

impl Dispatch {
    pub fn new(gpu: &Gpu, kernel: &Kernel, constants: &[(&'static str, f64)], workgroups: Workgroups) -> Self {
        Self { name: kernel.name, pipeline: gpu.pipeline(kernel, constants), workgroups }
    }

    /// Records itself for `count` examples.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, count: u32) {
        let (x, y, z) = self.workgroups.size(count);
        pass.set_pipeline(&self.pipeline);
        pass.dispatch_workgroups(x, y, z);
    }
}
