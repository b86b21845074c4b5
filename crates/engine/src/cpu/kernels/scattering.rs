//! Scattering features ([`crate::model::scattering`]) by Fourier transforms, one example per lane.
//!
//! No multiplication is fused with an addition, so all instruction sets compute the same bytes, and
//! an image has the same features on every engine.

use std::sync::OnceLock;

use crate::cpu::simd::{Kernel, MOST_LANES, Simd};
use crate::{
    data::Picture,
    model::scattering::{
        self, ANGLES, CHANNELS, FEATURES, FLOOR, GRID, POOL, SCALES, SIDE, SPACING, STEPS, ZERO, centre, placed,
        reduced, wavelet, window,
    },
};

const AREA: usize = SIDE * SIDE;
/// Side of maps that are sampled at every second place.
const HALF: usize = SIDE / 2;
const CELLS: usize = GRID * GRID;
/// Window taps on either side of a full and a half map; those beyond are below 1e-5 of the middle.
const REACH: usize = 8;
const HALF_REACH: usize = REACH / 2;

/// Tables that do not depend on the image.
pub(crate) struct Bank {
    /// e^(−2πik/32) for k < 16.
    pub turns: [[f32; 2]; SIDE / 2],
    /// Fourier transforms of the wavelets (real) over 32²: `[scale·8 + angle][row][column]`.
    pub waves: Vec<f32>,
    pub taps: [f32; 2 * REACH + 1],
    pub half_taps: [f32; 2 * HALF_REACH + 1],
}

pub(crate) fn bank() -> &'static Bank {
    static BANK: OnceLock<Bank> = OnceLock::new();
    BANK.get_or_init(|| {
        let waves = (0..SCALES * ANGLES).flat_map(|k| spectrum(&wavelet(k / ANGLES, k % ANGLES))).collect();
        Bank {
            turns: std::array::from_fn(|k| turn(k).map(|part| part as f32)),
            waves,
            taps: std::array::from_fn(|k| window(k.abs_diff(REACH)) as f32),
            half_taps: std::array::from_fn(|k| (2.0 * window(2 * k.abs_diff(HALF_REACH))) as f32),
        }
    })
}

/// e^(−2πik/32).
fn turn(k: usize) -> [f64; 2] {
    let (sin, cos) = (std::f64::consts::TAU * k as f64 / SIDE as f64).sin_cos();
    [cos, -sin]
}

/// Real part of a map's Fourier transform, over its area: rows, then columns.
fn spectrum(map: &[[f64; 2]]) -> Vec<f32> {
    let turns: [_; SIDE] = std::array::from_fn(turn);
    let along = |map: &[[f64; 2]], stride: usize| -> Vec<[f64; 2]> {
        let mut out = vec![[0.0; 2]; AREA];
        for (i, out) in out.iter_mut().enumerate() {
            let k = i / stride % SIDE;
            let start = i - k * stride;
            for n in 0..SIDE {
                let ([a, b], [c, s]) = (map[start + n * stride], turns[k * n % SIDE]);
                out[0] += a * c - b * s;
                out[1] += a * s + b * c;
            }
        }
        out
    };
    along(&along(map, 1), SIDE).iter().map(|v| (v[0] / AREA as f64) as f32).collect()
}

/// Computes features of up to [`Simd::LANES`] images at a time.
pub struct Scatterer<S: Simd> {
    simd: S,
    picture: Picture,
    /// One channel of the images, in the middle of its square.
    square: Vec<S::F>,
    image: Spectrum<S>,
    pair: [Spectrum<S>; 2],
    packed: Spectrum<S>,
    half: Spectrum<S>,
    moduli: Vec<S::F>,
    /// Averages of that channel: `[map][average]`.
    maps: Vec<S::F>,
    /// `[map][colour][cell]`.
    out: Vec<S::F>,
}

/// Real and imaginary parts, `[row][column]`.
struct Spectrum<S: Simd> {
    re: Vec<S::F>,
    im: Vec<S::F>,
}

impl<S: Simd> Spectrum<S> {
    fn new(simd: S, area: usize) -> Self {
        let part = || vec![simd.splat(0.0); area];
        Self { re: part(), im: part() }
    }
}

impl<S: Simd> Scatterer<S> {
    pub fn new(simd: S, picture: Picture) -> Self {
        let full = || Spectrum::new(simd, AREA);
        let zero = simd.splat(0.0);
        Self {
            simd,
            picture,
            square: vec![zero; AREA],
            image: full(),
            pair: [full(), full()],
            packed: full(),
            half: Spectrum::new(simd, HALF * HALF),
            moduli: vec![zero; AREA],
            maps: vec![zero; FEATURES],
            out: vec![zero; scattering::features(picture)],
        }
    }

    /// Writes features, `[image][feature]`, of images with pixels in [0, 1], `[image][pixel]`.
    pub fn features(&mut self, rows: &[f32], out: &mut [u8]) {
        let (s, picture) = (self.simd, self.picture);
        let (pixels, each, colours) = (picture.pixels(), scattering::features(picture), usize::from(picture.channels));
        let live = out.len() / each;
        for colour in 0..colours {
            let channel = |e: usize| &rows[e * pixels + colour * (pixels / colours)..][..pixels / colours];
            let (margin, inner, every) = placed(picture);
            for (row, column) in (0..inner).flat_map(|row| (0..inner).map(move |column| (row, column))) {
                let value = |e: usize| reduced(channel(e), picture.side.into(), every, row, column);
                let lanes: [f32; MOST_LANES] = std::array::from_fn(|e| if e < live { value(e) } else { 0.0 });
                self.square[(row + margin) * SIDE + column + margin] = s.load(&lanes);
            }
            self.transform();
            if colours == 1 {
                self.out.copy_from_slice(&self.maps);
            } else {
                let kept = self.out.chunks_exact_mut(POOL.len() * POOL.len()).skip(colour).step_by(colours);
                for (averages, out) in self.maps.chunks_exact(CELLS).zip(kept) {
                    s.run(Pool { averages, out });
                }
            }
        }
        s.run(Normalise { picture, values: &mut self.out });
        let flat = S::flat(&self.out);
        for (e, out) in out.chunks_exact_mut(each).enumerate() {
            for (out, lanes) in out.iter_mut().zip(flat.chunks_exact(S::LANES)) {
                *out = lanes[e] as u8;
            }
        }
    }

    /// maps ← the averages for the channel in `square`.
    fn transform(&mut self) {
        let (s, bank) = (self.simd, bank());
        let wave = |scale: usize, angle: usize| &bank.waves[(scale * ANGLES + angle) * AREA..][..AREA];
        let mut channels: Vec<&mut [S::F]> = self.maps.chunks_mut(CELLS).collect();
        s.run(Averages { values: &self.square, taps: &bank.taps, out: channels[0] });
        self.image.re.copy_from_slice(&self.square);
        self.image.im.fill(s.splat(0.0));
        s.run(Fourier::<S, SIDE> { re: &mut self.image.re, im: &mut self.image.im, turns: &bank.turns });
        for pair in 0..ANGLES / 2 {
            for (k, values) in [&mut self.packed.re, &mut self.packed.im].into_iter().enumerate() {
                let (first, map) = (2 * pair + k, &mut self.pair[k]);
                s.run(Filter { from: &self.image, wave: wave(0, first), to: map });
                // With its real and imaginary parts exchanged, a transform is its inverse.
                s.run(Fourier::<S, SIDE> { re: &mut map.im, im: &mut map.re, turns: &bank.turns });
                s.run(Moduli { re: &map.re, im: &map.im, out: values });
                s.run(Averages { values, taps: &bank.taps, out: channels[1 + first] });
            }
            // Two real maps are transformed as one complex one.
            s.run(Fourier::<S, SIDE> { re: &mut self.packed.re, im: &mut self.packed.im, turns: &bank.turns });
            s.run(Unpack { from: &self.packed, to: &mut self.pair });
            for (k, map) in self.pair.iter().enumerate() {
                for second in 0..ANGLES {
                    let channel = &mut *channels[17 + ANGLES * (2 * pair + k) + second];
                    second_scale(s, map, wave(1, second), &mut self.half, &mut self.moduli, channel);
                }
            }
        }
        for angle in 0..ANGLES {
            let channel = &mut *channels[1 + ANGLES + angle];
            second_scale(s, &self.image, wave(1, angle), &mut self.half, &mut self.moduli, channel);
        }
        debug_assert_eq!(channels.len(), CHANNELS);
    }
}

/// Averages of |map ∗ wave| at the second scale, whose moduli are sampled at every second place.
fn second_scale<S: Simd>(
    s: S,
    map: &Spectrum<S>,
    wave: &[f32],
    half: &mut Spectrum<S>,
    moduli: &mut [S::F],
    out: &mut [S::F],
) {
    let bank = bank();
    s.run(FilterToHalf { from: map, wave, to: half });
    s.run(Fourier::<S, HALF> { re: &mut half.im, im: &mut half.re, turns: &bank.turns });
    let moduli = &mut moduli[..HALF * HALF];
    s.run(Moduli { re: &half.re, im: &half.im, out: moduli });
    s.run(Averages { values: moduli, taps: &bank.half_taps, out });
}

/// Transforms `N`×`N` numbers in place.
struct Fourier<'a, S: Simd, const N: usize> {
    re: &'a mut [S::F],
    im: &'a mut [S::F],
    turns: &'a [[f32; 2]; SIDE / 2],
}

impl<S: Simd, const N: usize> Kernel<S> for Fourier<'_, S, N> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { re, im, turns } = self;
        let (re, im) = (&mut re[..N * N], &mut im[..N * N]);
        let zero = s.splat(0.0);
        let (mut a, mut b) = ([zero; N], [zero; N]);
        for (line, stride) in (0..2 * N).map(|k| if k < N { (k * N, 1) } else { (k - N, N) }) {
            for k in 0..N {
                let from = k.reverse_bits() >> (usize::BITS - N.trailing_zeros());
                (a[k], b[k]) = (re[line + from * stride], im[line + from * stride]);
            }
            let mut half = 1;
            while half < N {
                for start in (0..N).step_by(2 * half) {
                    for k in 0..half {
                        let [cos, sin] = turns[k * (SIDE / 2) / half];
                        let (low, high) = (start + k, start + k + half);
                        let (cos, sin) = (s.splat(cos), s.splat(sin));
                        let re = s.sub(s.mul(a[high], cos), s.mul(b[high], sin));
                        let im = s.add(s.mul(a[high], sin), s.mul(b[high], cos));
                        (a[high], b[high]) = (s.sub(a[low], re), s.sub(b[low], im));
                        (a[low], b[low]) = (s.add(a[low], re), s.add(b[low], im));
                    }
                }
                half *= 2;
            }
            for k in 0..N {
                (re[line + k * stride], im[line + k * stride]) = (a[k], b[k]);
            }
        }
    }
}

/// to = from·wave.
struct Filter<'a, S: Simd> {
    from: &'a Spectrum<S>,
    wave: &'a [f32],
    to: &'a mut Spectrum<S>,
}

impl<S: Simd> Kernel<S> for Filter<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { from, wave, to } = self;
        for (from, to) in [(&from.re, &mut to.re), (&from.im, &mut to.im)] {
            for ((to, &from), &wave) in to.iter_mut().zip(from).zip(wave) {
                *to = s.mul(from, s.splat(wave));
            }
        }
    }
}

/// to ← from·wave at half the sampling rate of both axes: four frequencies alias into one.
struct FilterToHalf<'a, S: Simd> {
    from: &'a Spectrum<S>,
    wave: &'a [f32],
    to: &'a mut Spectrum<S>,
}

impl<S: Simd> Kernel<S> for FilterToHalf<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { from, wave, to } = self;
        for (from, to) in [(&from.re, &mut to.re), (&from.im, &mut to.im)] {
            for (k, to) in to.iter_mut().enumerate() {
                let first = k / HALF * SIDE + k % HALF;
                let part = |at: usize| s.mul(from[at], s.splat(wave[at]));
                let upper = s.add(part(first), part(first + HALF));
                let lower = s.add(part(first + HALF * SIDE), part(first + HALF * SIDE + HALF));
                *to = s.add(upper, lower);
            }
        }
    }
}

struct Moduli<'a, S: Simd> {
    re: &'a [S::F],
    im: &'a [S::F],
    out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Moduli<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { re, im, out } = self;
        for ((out, &re), &im) in out.iter_mut().zip(re).zip(im) {
            *out = s.sqrt(s.add(s.mul(re, re), s.mul(im, im)));
        }
    }
}

/// Transforms of two real maps, from that of first + i·second: (Z(k) ± Z̄(−k))/2.
struct Unpack<'a, S: Simd> {
    from: &'a Spectrum<S>,
    to: &'a mut [Spectrum<S>; 2],
}

impl<S: Simd> Kernel<S> for Unpack<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { from, to: [first, second] } = self;
        let half = s.splat(0.5);
        for k in 0..AREA {
            let mirrored = (SIDE - k / SIDE) % SIDE * SIDE + (SIDE - k % SIDE) % SIDE;
            let (a, b) = (s.mul(from.re[k], half), s.mul(from.im[k], half));
            let (c, d) = (s.mul(from.re[mirrored], half), s.mul(from.im[mirrored], half));
            (first.re[k], first.im[k]) = (s.add(a, c), s.sub(b, d));
            (second.re[k], second.im[k]) = (s.add(b, d), s.sub(c, a));
        }
    }
}

/// Averages at 7×7 places of a square map with periodic edges. The number of `taps` is odd.
struct Averages<'a, S: Simd> {
    values: &'a [S::F],
    taps: &'a [f32],
    out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Averages<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { values, taps, out } = self;
        let side = if values.len() == AREA { SIDE } else { HALF };
        let spacing = SPACING * side / SIDE;
        let reach = taps.len() / 2;
        let mut down = [s.splat(0.0); SIDE];
        for (row, out) in out.chunks_exact_mut(GRID).enumerate() {
            let top = (row + 1) * spacing + side - reach;
            for (x, down) in down[..side].iter_mut().enumerate() {
                let mut sum = s.splat(0.0);
                for (k, &tap) in taps.iter().enumerate() {
                    sum = s.add(sum, s.mul(values[(top + k) % side * side + x], s.splat(tap)));
                }
                *down = sum;
            }
            for (column, out) in out.iter_mut().enumerate() {
                let left = (column + 1) * spacing + side - reach;
                let mut sum = s.splat(0.0);
                for (k, &tap) in taps.iter().enumerate() {
                    sum = s.add(sum, s.mul(down[(left + k) % side], s.splat(tap)));
                }
                *out = sum;
            }
        }
    }
}

/// Pools the 7×7 averages of a map to those kept for colour images: rows, then columns.
struct Pool<'a, S: Simd> {
    averages: &'a [S::F],
    out: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Pool<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { averages, out } = self;
        // Zero weights are skipped.
        let weighed = |weights: &[f32; GRID], at: &dyn Fn(usize) -> S::F| {
            let weights = weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
            weights.fold(s.splat(0.0), |sum, (k, &weight)| s.add(sum, s.mul(at(k), s.splat(weight))))
        };
        for (down, out) in POOL.iter().zip(out.chunks_exact_mut(POOL.len())) {
            let row: [_; GRID] = std::array::from_fn(|column| weighed(down, &|k| averages[k * GRID + column]));
            for (across, out) in POOL.iter().zip(out) {
                *out = weighed(across, &|k| row[k]);
            }
        }
    }
}

/// Normalises groups to mean 0 and variance 1, in steps of a byte, not yet rounded down.
struct Normalise<'a, S: Simd> {
    picture: Picture,
    values: &'a mut [S::F],
}

impl<S: Simd> Kernel<S> for Normalise<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self, s: S) {
        let Self { picture, values } = self;
        let (zero, top) = (s.splat(0.0), s.splat(255.0));
        let together = scattering::group(picture);
        let share = s.splat(1.0 / together as f32);
        for (number, group) in values.chunks_exact_mut(together).enumerate() {
            let mean = s.mul(group.iter().fold(zero, |sum, &v| s.add(sum, v)), share);
            let mut squares = zero;
            for v in group.iter_mut() {
                *v = s.sub(*v, mean);
                squares = s.add(squares, s.mul(*v, *v));
            }
            let deviation = s.sqrt(s.add(s.mul(squares, share), s.splat(FLOOR as f32)));
            let scale = s.div(s.splat(STEPS as f32), deviation);
            for (k, v) in group.iter_mut().enumerate() {
                let middle = (ZERO + 0.5) as f32 - f32::from(centre(picture, number * together + k));
                *v = s.min(s.max(s.add(s.mul(*v, scale), s.splat(middle)), zero), top);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cpu::simd::{Dispatch, Portable, for_each},
        data::synthetic::{self, colour},
        model::{
            pixel,
            scattering::{coefficients, normalise},
        },
    };

    /// Every placement in the square: with a margin, full, coloured, averaged, of odd side.
    const PICTURES: [Picture; 5] = [
        Picture::DIGIT,
        Picture { channels: 1, side: 32 },
        Picture { channels: 3, side: 32 },
        Picture { channels: 3, side: 64 },
        Picture { channels: 1, side: 35 },
    ];

    /// Digits or colour shapes, or their bytes cut to another size.
    fn images(picture: Picture, count: usize) -> Vec<f32> {
        let of = |bytes: &[u8]| bytes.iter().cycle().take(count * picture.pixels()).copied().map(pixel).collect();
        if picture.channels == 1 {
            of(&synthetic::dataset(3, 0, count).images)
        } else {
            of(&colour::dataset(3, 0, count).images)
        }
    }

    fn features<S: Simd>(simd: S, picture: Picture, images: &[f32]) -> Vec<u8> {
        let mut scatterer = Scatterer::new(simd, picture);
        let parts = images.chunks(S::LANES * picture.pixels());
        parts
            .flat_map(|part| {
                let mut out = vec![0; part.len() / picture.pixels() * scattering::features(picture)];
                scatterer.features(part, &mut out);
                out
            })
            .collect()
    }

    /// Images, blank, full and noise: within one step of the definition, nearly always the same.
    #[test]
    fn fourier_transforms_match_the_definition() {
        for picture in PICTURES {
            let pixels = picture.pixels();
            let mut images = images(picture, 2);
            images.extend(vec![0.0; pixels]);
            images.extend(vec![1.0; pixels]);
            images.extend((0..pixels).map(|i| (i * 7919 % 256) as f32 / 255.0));
            let fast = features(Portable::<4>, picture, &images);
            let mut other = 0;
            for (image, fast) in images.chunks(pixels).zip(fast.chunks(scattering::features(picture))) {
                let mut plain = coefficients(picture, image);
                normalise(picture, &mut plain);
                for (k, (z, &byte)) in plain.iter().zip(fast).enumerate() {
                    let exact = (STEPS * z + ZERO - f64::from(centre(picture, k))).clamp(0.0, 255.0);
                    assert!((exact - f64::from(byte)).abs() < 0.52, "{picture}, feature {k}: {exact} and {byte}");
                    other += usize::from((exact + 0.5) as u8 != byte);
                }
            }
            assert!(other < fast.len() / 200, "{picture}: {other} of {} bytes differ", fast.len());
        }
    }

    #[derive(Clone, Copy)]
    struct SameBytes;

    impl Dispatch for SameBytes {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            for picture in PICTURES {
                let images = images(picture, MOST_LANES + 3);
                let (here, plain) = (features(simd, picture, &images), features(Portable::<4>, picture, &images));
                assert!(here == plain, "{} {picture}", S::NAME);
            }
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same_bytes() {
        for_each(SameBytes);
    }
}
