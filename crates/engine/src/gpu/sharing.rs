//! Units of several examples: a step first adds up the gradients of each unit's members in its
//! vector, a block of units at a time; the vector is then processed like an example's gradient.

use super::{
    buffers::Buffers,
    device::Gpu,
    dispatch::Dispatch,
    examples::{Examples, bind, bind_parts, chunk_starts, parts},
    layout::RUN_BYTES,
    lowered::Run,
    memory::{OFFSET_ALIGNMENT, Owned, storage, uniform},
    programs::SharedPrograms,
};
use crate::{
    Task,
    data::{Dataset, sharing::Units},
};

/// The units of a training set on the device.
#[derive(Debug)]
pub struct Shared {
    units: Units,
    /// Ends of the units' members, after a zero.
    ends: Owned,
    /// `Chunk` of each piece of the current lot, each at its own offset.
    pieces: Owned,
    /// Bindings of the examples' kernels, of gathering, and of what follows on a block.
    groups: [wgpu::BindGroup; 3],
    /// Bound by the last of them, and dropped with it.
    _starts: Owned,
    run: Owned,
}

/// The lot of a step: members of its units, unit after unit, and their division.
#[derive(Debug, Default, PartialEq)]
pub struct Drawn {
    pub members: Vec<u32>,
    /// Ends of the units' members, after a zero; units without examples are left out.
    pub ends: Vec<u32>,
    /// The blocks of units.
    pub blocks: Vec<Block>,
}

/// Units whose vectors are in memory at a time.
#[derive(Debug, PartialEq)]
pub struct Block {
    units: u32,
    /// Chunks of their members.
    pieces: Vec<Piece>,
}

/// `Chunk` of common.wgsl.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    first: u32,
    unit: u32,
    length: u32,
}

impl Drawn {
    /// Divides `lot` into blocks of `block` units and chunks of `chunk` examples.
    #[must_use]
    pub fn new(units: &Units, lot: &[u32], block: u32, chunk: u32) -> Self {
        let mut drawn = Self { ends: vec![0], ..Self::default() };
        for members in lot.iter().map(|&unit| units.members(unit)).filter(|members| !members.is_empty()) {
            drawn.members.extend(members);
            drawn.ends.push(drawn.members.len() as u32);
        }
        for (unit, ends) in (0..).step_by(block as usize).zip(drawn.ends[1..].chunks(block as usize)) {
            let (start, end) = (drawn.ends[unit as usize], ends[ends.len() - 1]);
            let piece = |first| Piece { first, unit, length: (end - first).min(chunk) };
            let pieces = (start..end).step_by(chunk as usize).map(piece).collect();
            drawn.blocks.push(Block { units: ends.len() as u32, pieces });
        }
        drawn
    }
}

impl Shared {
    /// Allocates the units of `train`, if `task` has any.
    pub fn new(gpu: &Gpu, task: &Task, train: &Dataset, examples: &Examples, buffers: &Buffers) -> Option<Self> {
        let units = Units::of(task.sharing, train)?;
        let (all, block) = (units.len() as u32, buffers.units);
        let pieces = u64::from(all.div_ceil(block)) + u64::from(examples.len.div_ceil(buffers.chunk));
        let pieces = uniform(gpu, "pieces of a lot", OFFSET_ALIGNMENT * pieces);
        let ends = storage(gpu, "ends of units", 4 * (u64::from(all) + 1));
        let (starts, run) = (chunk_starts(gpu, all, block), uniform(gpu, "run of units", RUN_BYTES));
        let of_members = bind(gpu, examples, &pieces, buffers, 0, &buffers.run);
        let mut gathers = parts(examples, buffers, &buffers.run);
        (gathers[2], gathers[4]) = (&ends, &buffers.vectors);
        let gathers = bind_parts(gpu, &gathers, 0, &pieces);
        let mut bounds = parts(examples, buffers, &run);
        bounds[3] = &buffers.vectors;
        let bounds = bind_parts(gpu, &bounds, 0, &starts);
        Some(Self { units, ends, pieces, groups: [of_members, gathers, bounds], _starts: starts, run })
    }

    /// Number of units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Uploads a lot of existing units, and `run` with the numbers of members and units.
    pub fn draw(&self, gpu: &Gpu, (examples, buffers): (&Examples, &Buffers), run: Run, lot: &[u32]) -> Drawn {
        let drawn = Drawn::new(&self.units, lot, buffers.units, buffers.chunk);
        let queue = gpu.queue();
        if !drawn.members.is_empty() {
            queue.write_buffer(&examples.indices, 0, bytemuck::cast_slice(&drawn.members));
        }
        queue.write_buffer(&self.ends, 0, bytemuck::cast_slice(&drawn.ends));
        let mut words = Vec::new();
        for &Piece { first, unit, length } in drawn.blocks.iter().flat_map(|block| &block.pieces) {
            words.extend([first, unit, length]);
            words.resize(words.len().next_multiple_of(OFFSET_ALIGNMENT as usize / 4), 0_u32);
        }
        if !words.is_empty() {
            queue.write_buffer(&self.pieces, 0, bytemuck::cast_slice(&words));
        }
        let count = drawn.members.len() as u32;
        queue.write_buffer(&buffers.run, 0, bytemuck::bytes_of(&Run { count, ..run }));
        let (count, chunk) = (drawn.ends.len() as u32 - 1, buffers.units);
        queue.write_buffer(&self.run, 0, bytemuck::bytes_of(&Run { count, chunk, ..run }));
        drawn
    }

    /// Records a lot's sum: the examples' kernels, then `bounds` on the resulting vectors.
    pub fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        (drawn, buffers): (&Drawn, &Buffers),
        programs: &SharedPrograms,
        bounds: &[Dispatch],
        histograms: bool,
    ) {
        let offset = |index: usize| [(index as u64 * OFFSET_ALIGNMENT) as u32];
        let [of_members, gathers, of_vectors] = &self.groups;
        let mut chunks = 0..;
        for (index, Block { units, pieces }) in drawn.blocks.iter().enumerate() {
            if histograms {
                buffers.clear_histograms(encoder, *units);
            }
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for (piece, chunk) in pieces.iter().zip(&mut chunks) {
                for (group, dispatches, count) in
                    [(of_members, &programs.gradients, piece.length), (gathers, &programs.gather, *units)]
                {
                    pass.set_bind_group(0, group, &offset(chunk));
                    dispatches.iter().for_each(|dispatch| dispatch.record(&mut pass, count));
                }
            }
            pass.set_bind_group(0, of_vectors, &offset(index));
            bounds.iter().for_each(|dispatch| dispatch.record(&mut pass, *units));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{sharing::Sharing, synthetic};

    /// Every member of a drawn unit is in one piece of its unit's block, once, and no piece is
    /// longer than a chunk.
    #[test]
    fn a_lot_is_cut_into_blocks_and_chunks() {
        let train = synthetic::digits(1, 200, 1).train;
        for (users, block, chunk) in [(40, 7, 9), (3, 2, 16), (200, 64, 50), (1, 1, 1000)] {
            let units = Units::of(Sharing::Users { users, skew: 0.3, seed: 1 }, &train).unwrap();
            for lot in [(0..users).collect::<Vec<_>>(), (0..users).step_by(3).collect(), vec![]] {
                let drawn = Drawn::new(&units, &lot, block, chunk);
                let filled: Vec<&[u32]> =
                    lot.iter().map(|&unit| units.members(unit)).filter(|members| !members.is_empty()).collect();
                assert_eq!(drawn.members, filled.concat());
                assert_eq!(drawn.ends.len(), filled.len() + 1);
                assert_eq!(drawn.blocks.iter().map(|block| block.units as usize).sum::<usize>(), filled.len());
                let (mut next, mut unit) = (0, 0);
                for at in &drawn.blocks {
                    assert!(at.units <= block && (at.units == block || unit + at.units == filled.len() as u32));
                    for piece in &at.pieces {
                        assert!(piece.first == next && piece.unit == unit && (1..=chunk).contains(&piece.length));
                        next += piece.length;
                    }
                    unit += at.units;
                    assert_eq!(next, drawn.ends[unit as usize]);
                }
                assert_eq!(next as usize, drawn.members.len());
            }
        }
    }
}
