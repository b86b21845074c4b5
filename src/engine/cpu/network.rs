//! Per-example gradients of a block of examples, one example a lane.

use super::simd::{Kernel, MOST_LANES, Simd};
use crate::{
    data::{Dataset, Shift},
    model::{Architecture, CLASSES, PIXELS},
};

/// A model's forward and backward pass over a [`Block`], with all its buffers.
pub trait Network<S: Simd>: Send {
    /// Logits of the block's examples.
    fn logits(&mut self, parameters: &[f32], block: &Block<S>) -> &mut [S::F; CLASSES];

    /// Computes what the gradients are made of, and answers their squared norms; not finite where a gradient is not.
    ///
    /// `blocks` are copies of the same examples, one example a lane: its gradient is the mean over them.
    fn gradients(&mut self, parameters: &[f32], blocks: &[Block<S>]) -> S::F;

    /// sum += Σ over lanes of scale·gradient. A lane of scale 0 adds nothing, whatever it holds. Spoils the gradients.
    fn add_scaled(&mut self, blocks: &[Block<S>], scale: &[f32; MOST_LANES], sum: &mut [f32]);

    /// Makes [`Network::row`] possible.
    fn prepare_rows(&mut self);

    /// One lane's gradient times `factor`, in flat order.
    fn row(&self, blocks: &[Block<S>], lane: usize, factor: f32, out: &mut [f32]);
}

/// The network of an architecture.
pub fn network<S: Simd>(simd: S, model: Architecture) -> Box<dyn Network<S>> {
    match model {
        Architecture::Linear | Architecture::Mlp => Box::new(super::perceptron::Perceptron::new(simd, model)),
        Architecture::CnnTanh | Architecture::CnnRelu => Box::new(super::cnn::Cnn::new(simd, model)),
    }
}

/// As many examples as a vector has lanes. Lanes beyond `live` hold blank images.
pub struct Block<S: Simd> {
    simd: S,
    pub live: usize,
    /// Digits as f32, one a lane.
    pub labels: S::F,
    /// `[example][pixel]`, in [0, 1].
    pub rows: Vec<f32>,
    /// `[pixel]` of lanes; each row of the image has `margin` blank columns on either side.
    pub pixels: Vec<S::F>,
    margin: usize,
}

impl<S: Simd> Block<S> {
    pub fn new(simd: S, model: Architecture) -> Self {
        let margin = match model {
            Architecture::Linear | Architecture::Mlp => 0,
            Architecture::CnnTanh | Architecture::CnnRelu => 3,
        };
        let zero = simd.splat(0.0);
        Self {
            simd,
            live: 0,
            labels: zero,
            rows: vec![0.0; S::LANES * PIXELS],
            pixels: vec![zero; 28 * (28 + 2 * margin)],
            margin,
        }
    }

    /// Takes in the examples of `data` that `indices` names, at most as many as there are lanes, moved by `shift`.
    pub fn load(&mut self, data: &Dataset, indices: impl Iterator<Item = usize>, shift: Shift) {
        let mut labels = [0.0; MOST_LANES];
        self.live = 0;
        for index in indices {
            let row = &mut self.rows[self.live * PIXELS..][..PIXELS];
            match shift {
                Shift { right: 0, down: 0 } => self.simd.run(BytesToPixels { bytes: data.image(index), row }),
                shift => {
                    let moved = shift.of(data.image(index));
                    self.simd.run(BytesToPixels { bytes: &moved, row });
                }
            }
            labels[self.live] = f32::from(data.labels[index]);
            self.live += 1;
        }
        self.finish(&labels);
    }

    /// Takes in one image of pixels in [0, 1].
    pub fn load_image(&mut self, image: &[f32]) {
        self.live = 1;
        self.rows[..PIXELS].copy_from_slice(image);
        self.finish(&[0.0; MOST_LANES]);
    }

    fn finish(&mut self, labels: &[f32; MOST_LANES]) {
        self.rows[self.live * PIXELS..].fill(0.0);
        self.labels = self.simd.load(labels);
        self.simd.run(ToLanes { rows: &self.rows, margin: self.margin, pixels: &mut self.pixels });
    }
}

struct BytesToPixels<'a> {
    bytes: &'a [u8],
    row: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for BytesToPixels<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { bytes, row } = self;
        for (pixel, &byte) in row.iter_mut().zip(bytes) {
            *pixel = f32::from(byte) * (1.0 / 255.0);
        }
    }
}

/// Rows of 784 pixels to lanes.
struct ToLanes<'a, S: Simd> {
    rows: &'a [f32],
    margin: usize,
    pixels: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for ToLanes<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { rows, margin, pixels } = self;
        let mut tile = [s.splat(0.0); MOST_LANES];
        for k in (0..PIXELS).step_by(S::LANES) {
            for e in 0..S::LANES {
                tile[e] = s.load(&rows[e * PIXELS + k..]);
            }
            s.transpose(&mut tile);
            for (j, &v) in tile[..S::LANES].iter().enumerate() {
                let (y, x) = ((k + j) / 28, (k + j) % 28);
                pixels[y * (28 + 2 * margin) + margin + x] = v;
            }
        }
    }
}
