//! One thread's share of a lot: gradients of a block at a time, encoded and added to a sum.

use super::{encoding::Encoding, kernels::Seen, lot::Lot};
use crate::{
    Probabilities,
    cpu::{
        kernels::{dense::Softmax, envelope::Ranker},
        models::{Block, Examples, Network, Squares, network},
        simd::{MOST_LANES, Simd, padded},
    },
    data::{Dataset, Shift, picture::MOST_CLASSES},
    mechanism::layers::MOST_LAYERS,
    model::Architecture,
    scores::best,
};

/// Does the work of one thread, a block at a time.
pub struct LaneWorker<S: Simd> {
    simd: S,
    model: Architecture,
    /// One per copy of each example, more for shared vectors. The first also does everything else.
    blocks: Vec<Block<S>>,
    network: Box<dyn Network<S>>,
    /// Set if an envelope needs gradients one by one.
    ranker: Option<(Ranker, Vec<f32>)>,
}

impl<S: Simd> LaneWorker<S> {
    pub fn new(simd: S, model: Architecture, encoding: &Encoding, copies: u32) -> Self {
        let ranker = match encoding {
            Encoding::Envelope { psi, .. } => Some((Ranker::new(&psi.envelope), vec![0.0; padded(model.parameters())])),
            _ => None,
        };
        let blocks = (0..copies.max(1)).map(|_| Block::new(simd, model)).collect();
        Self { simd, model, blocks, network: network(simd, model), ranker }
    }

    /// sum += the encoded gradients of `lot`. `sum` has [`padded`] length and starts at
    /// [`Encoding::base`]; on a grid it takes at most a slot's examples.
    pub fn add_encoded(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        lot: Lot<'_>,
        shifts: &[Shift],
        sum: &mut [f32],
    ) -> Seen {
        let mut seen = Seen::default();
        for start in (0..lot.len()).step_by(S::LANES) {
            let part = lot.part(start..lot.len().min(start + S::LANES));
            let used = self.load(examples, part, shifts);
            let blocks = &self.blocks[..used];
            let Squares { whole, layers, scores } = self.network.gradients(parameters, blocks);
            let (norms, layers) = ([whole], S::flat(&layers));
            let norms = &S::flat(&norms)[..part.len()];
            let scores = S::flat(scores);
            let mut own = [0.0; MOST_CLASSES];
            let own = &mut own[..scores.len() / S::LANES];
            for (lane, &square) in norms.iter().enumerate() {
                if !square.is_finite() {
                    seen.non_finite += 1;
                    continue;
                }
                let (right, digit) = match part {
                    Lot::Alone(indices) => {
                        own.iter_mut().zip(scores.iter().skip(lane).step_by(S::LANES)).for_each(|(own, &z)| *own = z);
                        let digit = examples.data.labels[indices[lane] as usize];
                        (best(own) == digit, digit)
                    }
                    Lot::Shared { .. } => (false, 0),
                };
                seen.counts.add(encoding.is_within(square), right, digit);
            }
            if let (Encoding::Envelope { psi, pre_scale, grid }, Some((ranker, row))) = (encoding, &mut self.ranker) {
                self.network.prepare_rows();
                for (lane, _) in norms.iter().enumerate().filter(|(_, n)| n.is_finite()) {
                    self.network.row(blocks, lane, *pre_scale, row);
                    ranker.add_encoded(self.simd, psi, *grid, row, sum);
                }
            } else {
                let mut scales = [[0.0; MOST_LANES]; MOST_LAYERS];
                for (lane, &square) in norms.iter().enumerate() {
                    let own = std::array::from_fn(|layer| layers[layer * S::LANES + lane]);
                    for (scales, scale) in scales.iter_mut().zip(encoding.scales(square, own)) {
                        scales[lane] = scale;
                    }
                }
                self.network.add_scaled(blocks, &scales, encoding.base(), sum);
            }
        }
        seen
    }

    /// sum += a given vector, encoded as gradients are: by the same factors, or by the same ranks.
    pub fn add_vector(&mut self, encoding: &Encoding, vector: &[f32], sum: &mut [f64]) {
        if let (Encoding::Envelope { psi, pre_scale, grid }, Some((ranker, row))) = (encoding, &mut self.ranker) {
            let base = encoding.base();
            row.iter_mut().zip(vector).for_each(|(row, v)| *row = pre_scale * v);
            let mut encoded = vec![base; sum.len()];
            ranker.add_encoded(self.simd, psi, *grid, row, &mut encoded);
            sum.iter_mut().zip(encoded).for_each(|(sum, v)| *sum += f64::from(v) - f64::from(base));
            return;
        }
        // In f64: a million roundings in a row in f32 would exceed the clip's margin.
        let square = |part: &[f32]| part.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() as f32;
        let (mut squares, mut rest) = ([0.0; MOST_LAYERS], vector);
        let lengths = self.model.lengths();
        for (own, &length) in squares.iter_mut().zip(&lengths) {
            let (part, after) = rest.split_at(length);
            (*own, rest) = (square(part), after);
        }
        let scales = encoding.scales(square(vector), squares);
        let grid = encoding.grid();
        let mut first = 0;
        for (length, scale) in lengths.into_iter().zip(scales) {
            for (sum, v) in sum[first..].iter_mut().zip(&vector[first..first + length]) {
                *sum += f64::from(grid.map_or(scale * v, |grid| grid.round(scale * v)));
            }
            first += length;
        }
    }

    /// Loads a lot of at most [`Simd::LANES`] vectors. Returns the number of blocks used.
    fn load(&mut self, examples: Examples<'_>, lot: Lot<'_>, shifts: &[Shift]) -> usize {
        let (simd, model) = (self.simd, self.model);
        let (units, rate) = match lot {
            Lot::Alone(indices) => {
                let copies = shifts.len() as f32;
                for (block, &shift) in self.blocks.iter_mut().zip(shifts) {
                    block.load(examples, indices.iter().map(|&i| i as usize), shift);
                    (block.share, block.terms) = (simd.splat(1.0 / copies), simd.splat(copies));
                }
                return shifts.len();
            }
            Lot::Shared { units, rate } => (units, rate),
        };
        // At least two: a lane's vector must not depend, in any bit, on the size of another's unit.
        let most = units.iter().fold(1, |most, unit| most.max(unit.len()));
        let used = (most * shifts.len()).max(2);
        self.blocks.resize_with(self.blocks.len().max(used), || Block::new(simd, model));
        for (k, block) in self.blocks[..used].iter_mut().enumerate() {
            let (place, shift) = (k / shifts.len(), shifts[k % shifts.len()]);
            // Beyond a unit's last example its first is loaded again, with no share.
            let at = |unit: &&[u32]| unit.get(place).or(unit.first()).map_or(0, |&i| i as usize);
            block.load(examples, units.iter().map(at), shift);
            let [mut share, mut terms] = [[0.0; MOST_LANES]; 2];
            for ((share, terms), unit) in share.iter_mut().zip(&mut terms).zip(units) {
                let gradients = (unit.len() * shifts.len()) as f32;
                *share = if place < unit.len() { rate / gradients } else { 0.0 };
                *terms = gradients;
            }
            (block.share, block.terms) = (simd.load(&share), simd.load(&terms));
        }
        used
    }

    /// Logits of the examples from `first` on, as many as `out` holds.
    pub fn scores(&mut self, parameters: &[f32], examples: Examples<'_>, first: usize, out: &mut [f32]) {
        let classes = self.model.classes();
        for (start, out) in (first..).step_by(S::LANES).zip(out.chunks_mut(S::LANES * classes)) {
            self.blocks[0].load(examples, start..start + out.len() / classes, Shift::NONE);
            let logits = S::flat(self.network.logits(parameters, &self.blocks[0]));
            for (lane, scores) in out.chunks_exact_mut(classes).enumerate() {
                scores.iter_mut().zip(logits.iter().skip(lane).step_by(S::LANES)).for_each(|(out, &z)| *out = z);
            }
        }
    }

    /// Features of the examples `range` of `data`, if the model takes features.
    pub fn features(&mut self, data: &Dataset, range: std::ops::Range<usize>, out: &mut [u8]) {
        self.blocks[0].features(data, range, out);
    }

    pub fn predict(&mut self, parameters: &[f32], image: &[f32]) -> Probabilities {
        self.blocks[0].load_image(image);
        let logits = self.network.logits(parameters, &self.blocks[0]);
        self.simd.run(Softmax { logits: &mut *logits });
        S::flat(logits).iter().step_by(S::LANES).copied().collect()
    }
}
