//! One thread's share of a lot: gradients of a block at a time, encoded and added to a sum.

use super::encoding::Encoding;
use crate::{
    data::{Dataset, Shift},
    engine::{
        Probabilities, Scores,
        cpu::{
            kernels::{dense::Softmax, envelope::Ranker},
            models::{Block, Examples, Network, Squares, network},
            simd::{MOST_LANES, Simd, padded},
        },
    },
    mechanism::layers::MOST_LAYERS,
    model::Architecture,
};

/// Computes what one thread is given, a block of lanes at a time.
pub struct LaneWorker<S: Simd> {
    simd: S,
    /// As many as there are copies of each example; the first is for everything else, too.
    blocks: Vec<Block<S>>,
    network: Box<dyn Network<S>>,
    /// Where an envelope asks for gradients one by one.
    ranker: Option<(Ranker, Vec<f32>)>,
}

impl<S: Simd> LaneWorker<S> {
    pub fn new(simd: S, model: Architecture, encoding: &Encoding, copies: u32) -> Self {
        let ranker = match encoding {
            Encoding::Envelope { psi, .. } => Some((Ranker::new(&psi.envelope), vec![0.0; padded(model.parameters())])),
            _ => None,
        };
        let blocks = (0..copies.max(1)).map(|_| Block::new(simd, model)).collect();
        Self { simd, blocks, network: network(simd, model), ranker }
    }

    /// sum += the encoded gradients of `lot`; answers how many were not finite. `sum` is as long as [`padded`] says, and stands on
    /// [`Encoding::base`]; on a grid it takes in a slot's examples at most.
    pub fn add_encoded(
        &mut self,
        encoding: &Encoding,
        parameters: &[f32],
        examples: Examples<'_>,
        lot: &[u32],
        shifts: &[Shift],
        sum: &mut [f32],
    ) -> u64 {
        let mut non_finite = 0;
        for indices in lot.chunks(S::LANES) {
            for (block, &shift) in self.blocks.iter_mut().zip(shifts) {
                block.load(examples, indices.iter().map(|&i| i as usize), shift);
            }
            let Squares { whole, layers } = self.network.gradients(parameters, &self.blocks);
            let (norms, layers) = ([whole], S::flat(&layers));
            let norms = &S::flat(&norms)[..indices.len()];
            non_finite += norms.iter().filter(|n| !n.is_finite()).count() as u64;
            if let (Encoding::Envelope { psi, pre_scale, grid }, Some((ranker, row))) = (encoding, &mut self.ranker) {
                self.network.prepare_rows();
                for (lane, _) in norms.iter().enumerate().filter(|(_, n)| n.is_finite()) {
                    self.network.row(&self.blocks, lane, *pre_scale, row);
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
                self.network.add_scaled(&self.blocks, &scales, encoding.base(), sum);
            }
        }
        non_finite
    }

    /// Logits of the examples from number `first` on, as many as `out` takes.
    pub fn scores(&mut self, parameters: &[f32], examples: Examples<'_>, first: usize, out: &mut [Scores]) {
        for (start, out) in (first..).step_by(S::LANES).zip(out.chunks_mut(S::LANES)) {
            self.blocks[0].load(examples, start..start + out.len(), Shift::NONE);
            let logits = S::flat(self.network.logits(parameters, &self.blocks[0]));
            for (lane, scores) in out.iter_mut().enumerate() {
                *scores = std::array::from_fn(|class| logits[class * S::LANES + lane]);
            }
        }
    }

    /// Features of the examples `range` of `data`, where the model takes some.
    pub fn features(&mut self, data: &Dataset, range: std::ops::Range<usize>, out: &mut [u8]) {
        self.blocks[0].features(data, range, out);
    }

    /// Class probabilities of one image.
    pub fn predict(&mut self, parameters: &[f32], image: &[f32]) -> Probabilities {
        self.blocks[0].load_image(image);
        let logits = self.network.logits(parameters, &self.blocks[0]);
        self.simd.run(Softmax { logits });
        std::array::from_fn(|class| S::flat(&logits[class..=class])[0])
    }
}
