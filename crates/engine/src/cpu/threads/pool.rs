//! The pool of lane workers and their sums. The result does not depend on the number of workers.
//!
//! A lot is cut into pieces, whose number depends on the lot alone. On a grid sums are exact, and
//! every worker adds its pieces to one sum. Without one, each piece has its own sum, filled in
//! order by one worker, and these are added in order. Natively workers are threads; in the browser
//! there is one, and other threads receive pieces by message ([`helpers`](crate::cpu::helpers)).

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    encoding::Encoding,
    kernels::{Kernels, Seen},
    lane_worker::LaneWorker,
    lot::Lot,
};
#[cfg(not(target_arch = "wasm32"))]
use crate::Unsupported;
use crate::{
    EngineError, Performance, Probabilities,
    cpu::{
        kernels::{
            distance::{Cdf, ToUniform},
            noise::{AddNoise, Family},
            sum::Sum,
        },
        models::Examples,
        simd::{Simd, padded},
    },
    data::{Dataset, Shift},
    mechanism::exact_sum::SLOT,
    model::Architecture,
};

/// Pieces of a lot with enough examples: at least this many on a grid, at most without one.
const PIECES: usize = 16;
/// Fewest blocks of a piece, which may cost a pass over the parameters.
const BLOCKS_PER_PIECE: usize = 2;
/// Coordinates that a thread processes at a time in passes over the parameters.
const SEGMENT: usize = 4096;

/// Lane workers, natively each on a thread of its own.
pub struct WorkerPool<S: Simd> {
    simd: S,
    workers: Vec<LaneWorker<S>>,
    sums: Vec<Mutex<Sum>>,
    parameters: usize,
    classes: usize,
    /// Numbers that the model takes per example.
    inputs: usize,
    #[cfg(not(target_arch = "wasm32"))]
    threads: Option<rayon::ThreadPool>,
}

impl<S: Simd> WorkerPool<S> {
    pub fn new(
        simd: S,
        model: Architecture,
        encoding: &Encoding,
        copies: u32,
        performance: Performance,
    ) -> Result<Self, EngineError> {
        #[cfg(not(target_arch = "wasm32"))]
        let threads = {
            let all = || std::thread::available_parallelism().map_or(1, usize::from);
            performance.threads.map_or_else(all, |n| n as usize).clamp(1, 256)
        };
        #[cfg(target_arch = "wasm32")]
        let threads = 1;
        // A chunk limits the examples whose gradients are in memory: one block per worker.
        let chunk = performance.chunk.map_or(usize::MAX, |n| n as usize);
        let workers = threads.min((chunk / S::LANES).max(1));
        Ok(Self {
            simd,
            workers: (0..workers).map(|_| LaneWorker::new(simd, model, encoding, copies)).collect(),
            sums: Vec::new(),
            parameters: model.parameters(),
            classes: model.classes(),
            inputs: model.inputs(),
            #[cfg(not(target_arch = "wasm32"))]
            threads: if workers > 1 { Some(start_threads(workers)?) } else { None },
        })
    }

    /// Runs `task` once for each number below `count`, on whichever worker is free, with its index.
    fn share(&mut self, count: usize, task: impl Fn((usize, &mut LaneWorker<S>), usize) + Sync) {
        let next = AtomicUsize::new(0);
        let work = |(place, worker): (usize, &mut LaneWorker<S>)| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                task((place, &mut *worker), number);
            }
        };
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(threads) = &self.threads {
            use rayon::prelude::*;
            threads.install(|| self.workers.par_iter_mut().enumerate().with_max_len(1).for_each(work));
            return;
        }
        self.workers.iter_mut().enumerate().take(1).for_each(work);
    }

    /// Adds up each piece in its own sum or, on a grid, its worker's. Returns the number of sums.
    fn fill(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        (lot, edges): (Lot<'_>, &[usize]),
        shifts: &[Shift],
    ) -> (usize, Seen) {
        let simd = self.simd;
        let exact = encoding.is_exact();
        let pieces = edges.len().saturating_sub(1);
        let used = if exact { self.workers.len() } else { pieces };
        while self.sums.len() < used {
            self.sums.push(Mutex::new(Sum::new(self.parameters)));
        }
        for sum in &mut self.sums[..used] {
            sum.get_mut().unwrap_or_else(PoisonError::into_inner).clear(encoding.base());
        }
        let sums = std::mem::take(&mut self.sums);
        let seen = Mutex::new(Seen::default());
        self.share(pieces, |(place, worker), piece| {
            let mut sum = sums[if exact { place } else { piece }].lock().unwrap_or_else(PoisonError::into_inner);
            let lot = lot.part(edges[piece]..edges[piece + 1]);
            let sum = sum.room_for(simd, lot.len());
            let own = worker.add_encoded(encoding, parameters, examples, lot, shifts, sum);
            seen.lock().unwrap_or_else(PoisonError::into_inner).merge(own);
        });
        self.sums = sums;
        (used, seen.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `task` with every segment of `values` and its first index, on all threads.
    fn segments(&self, values: &mut [f32], task: impl Fn(usize, &mut [f32]) + Sync) {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(threads) = &self.threads {
            use rayon::prelude::*;
            let segments = values.par_chunks_mut(SEGMENT).enumerate();
            threads.install(|| segments.for_each(|(k, segment)| task(k * SEGMENT, segment)));
            return;
        }
        for (k, segment) in values.chunks_mut(SEGMENT).enumerate() {
            task(k * SEGMENT, segment);
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn start_threads(count: usize) -> Result<rayon::ThreadPool, EngineError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(|k| format!("hushgrad-{k}"))
        .build()
        .map_err(|error| Unsupported::Threads { count, error }.into())
}

impl<S: Simd> Kernels for WorkerPool<S> {
    fn describe(&self, helpers: usize) -> String {
        let threads = self.workers.len() + helpers;
        format!("{}, {threads} thread{}", S::NAME, if threads == 1 { "" } else { "s" })
    }

    fn edges(&self, lot: usize, exact: bool) -> Vec<usize> {
        let blocks = lot.div_ceil(S::LANES);
        let pieces = (blocks / BLOCKS_PER_PIECE).clamp(1, PIECES);
        let pieces = if exact { pieces.max((blocks * S::LANES).div_ceil(SLOT)) } else { pieces };
        // Pieces differ by at most one block.
        (0..=pieces).map(|piece| lot.min(piece * blocks / pieces * S::LANES)).collect()
    }

    fn lanes(&self) -> usize {
        S::LANES
    }

    fn sum_encoded(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        lot: Lot<'_>,
        shifts: &[Shift],
        sum: &mut [f64],
    ) -> Seen {
        let edges = self.edges(lot.len(), encoding.is_exact());
        let (used, seen) = self.fill(encoding, parameters, examples, (lot, &edges), shifts);
        sum.fill(0.0);
        for part in &mut self.sums[..used] {
            part.get_mut().unwrap_or_else(PoisonError::into_inner).add_to(self.simd, sum);
        }
        seen
    }

    fn sum_pieces(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        (lot, edges): (Lot<'_>, &[usize]),
        shifts: &[Shift],
        sums: &mut [f64],
    ) -> Seen {
        let (used, seen) = self.fill(encoding, parameters, examples, (lot, edges), shifts);
        sums.fill(0.0);
        let parts = self.sums[..used].iter_mut().map(|sum| sum.get_mut().unwrap_or_else(PoisonError::into_inner));
        let length = padded(self.parameters);
        for (piece, part) in parts.enumerate() {
            let first = if encoding.is_exact() { 0 } else { piece * length };
            part.add_to(self.simd, &mut sums[first..first + length]);
        }
        seen
    }

    fn add_vector(&mut self, encoding: &Encoding, vector: &[f32], sum: &mut [f64]) {
        self.workers[0].add_vector(encoding, vector, sum);
    }

    fn add_noise(&self, noise: &Family, key: &[u32; 8], sum: &[f64], noisy: &mut [f32]) {
        let simd = self.simd;
        self.segments(noisy, |first, noisy| {
            let sum = &sum[first..first + noisy.len()];
            simd.run(AddNoise { family: noise, key, first: first as u32, sum, noisy });
        });
    }

    fn to_uniform(&self, cdf: &Cdf, values: &[f32], out: &mut [f32]) {
        let simd = self.simd;
        self.segments(out, |first, out| simd.run(ToUniform { cdf, values: &values[first..first + out.len()], out }));
    }

    fn features(&mut self, data: &Dataset, first: usize, out: &mut [u8]) {
        let parts: Vec<_> = out.chunks_mut(S::LANES * self.inputs).map(Mutex::new).collect();
        let length = self.inputs;
        self.share(parts.len(), |(_, worker), part| {
            let mut out = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
            let start = first + part * S::LANES;
            worker.features(data, start..start + out.len() / length, &mut out);
        });
    }

    fn scores(&mut self, parameters: &[f32], examples: Examples<'_>) -> Vec<f32> {
        const PART: usize = 256;
        let classes = self.classes;
        let mut scores = vec![0.0; classes * examples.data.len()];
        let parts: Vec<_> = scores.chunks_mut(PART * classes).map(Mutex::new).collect();
        self.share(parts.len(), |(_, worker), part| {
            let mut out = parts[part].lock().unwrap_or_else(PoisonError::into_inner);
            worker.scores(parameters, examples, part * PART, &mut out);
        });
        drop(parts);
        scores
    }

    fn predict(&mut self, parameters: &[f32], image: &[f32]) -> Probabilities {
        self.workers[0].predict(parameters, image)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        cpu::{
            kernels::envelope::Psi,
            simd::{Dispatch, Portable, for_each},
        },
        mechanism::{EnvelopeShape, envelope::Envelope, exact_sum::SumGrid},
        model::initial_parameters,
    };

    fn blots(count: usize) -> Dataset {
        let images = (0..count * 784).map(|i| {
            let (y, x) = (i % 784 / 28, i % 28);
            let ink = (i / 784 * 37 + y * x * 5 + x) % 256;
            if y.abs_diff(13) + x.abs_diff(14) < 12 { ink as u8 } else { 0 }
        });
        let labels = (0..count).map(|i| (i % 10) as u8);
        Dataset::new("blots", images.collect::<Vec<_>>(), labels.collect::<Vec<_>>())
    }

    #[derive(Clone, Copy)]
    struct AsPortable;

    impl Dispatch for AsPortable {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            let data = blots(37);
            let examples = Examples { data: &data, features: &[] };
            let lot: Vec<u32> = (0..37).collect();
            for model in Architecture::ALL {
                let p = model.parameters();
                let parameters = initial_parameters(model, 2);
                let envelope = Arc::new(Envelope::draw(EnvelopeShape::Gaussian, 1, p, 1).unwrap());
                let bounded = [None, Some(SumGrid::of(0.5))].into_iter().flat_map(|grid| {
                    let psi = Psi::new(Arc::clone(&envelope), 1.0);
                    let encodings = [Encoding::clip(0.5, p, grid), Encoding::Envelope { psi, pre_scale: 1.0, grid }];
                    encodings.map(|encoding| (encoding, grid))
                });
                for (encoding, grid) in [(Encoding::None, None)].into_iter().chain(bounded) {
                    let performance = Performance { chunk: None, threads: Some(2) };
                    let (mut sum, mut expected) = (vec![0.0; padded(p)], vec![0.0; padded(p)]);
                    let shifts = [Shift::NONE, Shift { right: 1, down: -2 }, Shift { right: 0, down: 1 }];
                    let mut pool = WorkerPool::new(simd, model, &encoding, 3, performance).unwrap();
                    pool.sum_encoded(&encoding, &parameters, examples, Lot::Alone(&lot), &shifts, &mut sum);
                    let mut pool = WorkerPool::new(Portable::<4>, model, &encoding, 3, performance).unwrap();
                    pool.sum_encoded(&encoding, &parameters, examples, Lot::Alone(&lot), &shifts, &mut expected);
                    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v.powi(2)).sum::<f64>();
                    let difference = square(&mut sum.iter().zip(&expected).map(|(a, b)| a - b));
                    let total = square(&mut expected.iter().copied());
                    // Values between two grid points may go to either by their last digits: three
                    // coordinates in a thousand, by one step.
                    let stepped = grid.map_or(0.0, |grid| 0.003 * p as f64 * f64::from(grid.step()).powi(2));
                    assert!(
                        total > 0.0 && difference < 1e-9 * total + stepped,
                        "{} {model:?}: {difference:e} of {total:e}",
                        S::NAME
                    );
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same() {
        for_each(AsPortable);
    }
}
