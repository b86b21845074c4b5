//! A block of examples, one per lane.

use std::ops::Range;

use crate::{
    cpu::{
        kernels::features::FeatureMaker,
        simd::{Kernel, MOST_LANES, Simd},
    },
    data::{Dataset, Shift},
    model::{self, Architecture, scattering},
};

/// Examples, and features of as many of the first as are known, of the kind that the model takes.
#[derive(Clone, Copy)]
pub struct Examples<'a> {
    pub data: &'a Dataset,
    pub features: &'a [u8],
}

/// Up to [`Simd::LANES`] examples. Lanes beyond `live` hold blank images.
pub struct Block<S: Simd> {
    simd: S,
    pub live: usize,
    /// Labels as f32, one per lane.
    pub labels: S::F,
    /// Weight of each lane's gradient.
    pub share: S::F,
    /// In how many blocks each lane has a gradient. Read from the first of several blocks.
    pub terms: S::F,
    /// Numbers that the model takes per example.
    inputs: usize,
    /// A shifted image.
    moved: Vec<u8>,
    /// `[example][input]`.
    pub rows: Vec<f32>,
    /// `[input]` of lanes. Each image row has `margin` blank columns on either side.
    pub lanes: Vec<S::F>,
    margin: usize,
    /// Set if the model takes features.
    fixed: Option<Fixed<S>>,
}

/// Computes the features of a block from its images.
struct Fixed<S: Simd> {
    maker: FeatureMaker<S>,
    /// `[example][pixel]`, in [0, 1].
    pixels: Vec<f32>,
    /// `[example][feature]`.
    bytes: Vec<u8>,
}

impl<S: Simd> Block<S> {
    pub fn new(simd: S, model: Architecture) -> Self {
        let margin = match model {
            Architecture::Linear | Architecture::Scattering | Architecture::Mlp | Architecture::Built(_) => 0,
            Architecture::CnnTanh | Architecture::CnnRelu => 3,
        };
        let (zero, inputs) = (simd.splat(0.0), model.inputs());
        let fixed = model.features().map(|features| Fixed {
            maker: FeatureMaker::new(simd, features),
            pixels: vec![0.0; S::LANES * features.picture.pixels()],
            bytes: vec![0; S::LANES * features.len()],
        });
        Self {
            simd,
            live: 0,
            labels: zero,
            share: zero,
            terms: zero,
            inputs,
            moved: vec![0; model.picture().pixels()],
            rows: vec![0.0; S::LANES * inputs],
            lanes: vec![zero; inputs + 28 * 2 * margin],
            margin,
            fixed,
        }
    }

    /// Loads the examples in `indices`, at most as many as there are lanes, shifted by `shift`.
    pub fn load(&mut self, examples: Examples<'_>, indices: impl Iterator<Item = usize> + Clone, shift: Shift) {
        let mut labels = [0.0; MOST_LANES];
        self.live = 0;
        for index in indices.clone() {
            labels[self.live] = f32::from(examples.data.labels[index]);
            self.live += 1;
        }
        match &mut self.fixed {
            None => load_pixels(self.simd, examples.data, indices, shift, &mut self.moved, &mut self.rows),
            Some(Fixed { maker, pixels, bytes }) => {
                let length = maker.length();
                let known = |index: usize| examples.features.get(index * length..(index + 1) * length);
                let bytes = &mut bytes[..self.live * length];
                if shift == Shift::NONE && indices.clone().all(|index| known(index).is_some()) {
                    for (row, index) in self.rows.chunks_exact_mut(length).zip(indices) {
                        read(self.simd, known(index).unwrap_or_default(), row);
                    }
                } else {
                    load_pixels(self.simd, examples.data, indices, shift, &mut self.moved, pixels);
                    maker.features(pixels, bytes);
                    for (row, bytes) in self.rows.chunks_exact_mut(length).zip(bytes.chunks_exact(length)) {
                        read(self.simd, bytes, row);
                    }
                }
            }
        }
        self.finish(&labels);
    }

    /// Loads one image with pixels in [0, 1].
    pub fn load_image(&mut self, image: &[f32]) {
        self.live = 1;
        match &mut self.fixed {
            None => self.rows[..self.inputs].copy_from_slice(image),
            Some(Fixed { maker, bytes, .. }) => {
                let length = maker.length();
                maker.features(image, &mut bytes[..length]);
                read(self.simd, &bytes[..length], &mut self.rows[..length]);
            }
        }
        self.finish(&[0.0; MOST_LANES]);
    }

    /// Writes features of examples `range`, `[example][feature]`; none if the model takes pixels.
    pub fn features(&mut self, data: &Dataset, range: Range<usize>, out: &mut [u8]) {
        let Some(Fixed { maker, pixels, .. }) = &mut self.fixed else { return };
        let length = maker.length();
        for (start, out) in range.clone().step_by(S::LANES).zip(out.chunks_mut(S::LANES * length)) {
            let part = start..range.end.min(start + S::LANES);
            load_pixels(self.simd, data, part, Shift::NONE, &mut self.moved, pixels);
            maker.features(pixels, out);
        }
    }

    fn finish(&mut self, labels: &[f32; MOST_LANES]) {
        self.rows[self.live * self.inputs..].fill(0.0);
        self.labels = self.simd.load(labels);
        self.simd.run(ToLanes { rows: &self.rows, margin: self.margin, lanes: &mut self.lanes });
    }
}

fn load_pixels<S: Simd>(
    simd: S,
    data: &Dataset,
    indices: impl Iterator<Item = usize>,
    shift: Shift,
    moved: &mut [u8],
    rows: &mut [f32],
) {
    for (row, index) in rows.chunks_exact_mut(moved.len()).zip(indices) {
        if shift == Shift::NONE {
            simd.run(BytesToPixels { bytes: data.image(index), row });
        } else {
            shift.write(data.picture, data.image(index), moved);
            simd.run(BytesToPixels { bytes: moved, row });
        }
    }
}

fn read<S: Simd>(simd: S, bytes: &[u8], row: &mut [f32]) {
    simd.run(BytesToValues { bytes, row });
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
            *pixel = model::pixel(byte);
        }
    }
}

struct BytesToValues<'a> {
    bytes: &'a [u8],
    row: &'a mut [f32],
}

impl<S: Simd> Kernel<S> for BytesToValues<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { bytes, row } = self;
        for (input, &byte) in row.iter_mut().zip(bytes) {
            *input = scattering::value(byte);
        }
    }
}

/// Transposes rows to lanes. A nonzero margin requires images of 28×28 pixels.
struct ToLanes<'a, S: Simd> {
    rows: &'a [f32],
    margin: usize,
    lanes: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for ToLanes<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { rows, margin, lanes } = self;
        let inputs = rows.len() / S::LANES;
        let place = |i: usize| if margin == 0 { i } else { i + (2 * (i / 28) + 1) * margin };
        let mut tile = [s.splat(0.0); MOST_LANES];
        let whole = inputs - inputs % S::LANES;
        for k in (0..whole).step_by(S::LANES) {
            for e in 0..S::LANES {
                tile[e] = s.load(&rows[e * inputs + k..]);
            }
            s.transpose(&mut tile);
            for (j, &v) in tile[..S::LANES].iter().enumerate() {
                lanes[place(k + j)] = v;
            }
        }
        for i in whole..inputs {
            let mut column = [0.0; MOST_LANES];
            for (e, v) in column[..S::LANES].iter_mut().enumerate() {
                *v = rows[e * inputs + i];
            }
            lanes[place(i)] = s.load(&column);
        }
    }
}
