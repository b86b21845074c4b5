//! Fourier transforms of real sequences: pairs of reals as complex numbers, rustfft, and a final
//! stage of butterflies (Press et al. 2007, §12.3.2).

use std::{cell::RefCell, f64::consts::TAU, rc::Rc, sync::Arc};

use num_complex::Complex64;
use rustfft::Fft;

thread_local! {
    /// A cache, as twiddle factors cost as much as a transform.
    static KEPT: RefCell<Vec<Rc<RealTransform>>> = const { RefCell::new(Vec::new()) };
}

/// Longer transforms are rare, and their twiddle factors would fill the memory.
const LONGEST_KEPT: usize = 1 << 20;

/// The transforms of one length n, forward and back.
pub(super) struct RealTransform {
    /// Forward transform of n/2 pairs.
    half: Arc<dyn Fft<f64>>,
    /// e^{−2πik/n} for k = 0..=n/4.
    twiddles: Vec<Complex64>,
    scratch: usize,
}

/// A transform length ≥ `points`: 2ᵏ, 3·2ᵏ or 5·2ᵏ.
pub(super) fn length(points: usize) -> usize {
    let two = points.max(64).next_power_of_two();
    [two / 8 * 5, two / 4 * 3, two].into_iter().find(|n| *n >= points).unwrap_or(two)
}

/// Half of a [`length`], forward. The planner uses vector instructions; in the browser, which has
/// none, its transforms of all other lengths would be a quarter of the accountant's size.
#[cfg(not(target_arch = "wasm32"))]
fn half(n: usize) -> Arc<dyn Fft<f64>> {
    rustfft::FftPlanner::new().plan_fft_forward(n / 2)
}

#[cfg(target_arch = "wasm32")]
use by_fours as half;

/// The same by radix 4, from a short transform.
#[cfg(any(target_arch = "wasm32", test))]
fn by_fours(n: usize) -> Arc<dyn Fft<f64>> {
    use rustfft::{
        FftDirection::Forward,
        algorithm::{MixedRadixSmall, Radix4, butterflies},
    };

    let (odd, twos) = (n >> n.trailing_zeros(), n.trailing_zeros() - 1);
    let five = || Arc::new(butterflies::Butterfly5::new(Forward));
    let (short, short_twos): (Arc<dyn Fft<f64>>, u32) = match (odd, twos.is_multiple_of(2)) {
        (3, true) => (Arc::new(butterflies::Butterfly12::new(Forward)), 2),
        (3, false) => (Arc::new(butterflies::Butterfly24::new(Forward)), 3),
        (5, true) => (Arc::new(MixedRadixSmall::new(five(), Arc::new(butterflies::Butterfly4::new(Forward)))), 2),
        (5, false) => (Arc::new(MixedRadixSmall::new(five(), Arc::new(butterflies::Butterfly8::new(Forward)))), 3),
        (_, true) => (Arc::new(butterflies::Butterfly16::new(Forward)), 4),
        (_, false) => (Arc::new(butterflies::Butterfly32::new(Forward)), 5),
    };
    Arc::new(Radix4::new_with_base((twos - short_twos) / 2, short))
}

impl RealTransform {
    /// The transforms for a [`length`].
    pub fn of(n: usize) -> Rc<Self> {
        KEPT.with_borrow_mut(|kept| {
            if let Some(known) = kept.iter().find(|known| known.len() == n) {
                return known.clone();
            }
            let new = Rc::new(Self::new(n, half(n)));
            if n <= LONGEST_KEPT {
                kept.push(new.clone());
            }
            new
        })
    }

    fn new(n: usize, half: Arc<dyn Fft<f64>>) -> Self {
        let twiddles = (0..=n / 4).map(|k| Complex64::cis(-TAU * k as f64 / n as f64)).collect();
        Self { twiddles, scratch: half.get_outofplace_scratch_len(), half }
    }

    fn len(&self) -> usize {
        2 * self.half.len()
    }

    fn transform_pairs(&self, from: &mut [Complex64], to: &mut [Complex64]) {
        self.half.process_outofplace_with_scratch(from, to, &mut vec![Complex64::default(); self.scratch]);
    }

    /// Xₖ = Σⱼ xⱼ·e^{−2πijk/n} for k = 0..=n/2. Destroys `values` (n).
    pub fn forward(&self, values: &mut [f64], spectrum: &mut [Complex64]) {
        let h = self.half.len();
        self.transform_pairs(bytemuck::cast_slice_mut(values), &mut spectrum[..h]);
        spectrum[h] = spectrum[0];
        self.each_mirrored(spectrum, |z, mirrored, turn| {
            // Transforms of the even and the odd elements, by symmetry.
            let (even, odd) = (0.5 * (z + mirrored.conj()), 0.5 * (z - mirrored.conj()));
            let turned = Complex64::new(odd.im, -odd.re) * turn;
            (even + turned, (even - turned).conj())
        });
    }

    /// n times the sequence (n) of this `spectrum` (n/2 + 1, real at its ends), which is destroyed.
    pub fn back(&self, spectrum: &mut [Complex64], values: &mut [f64]) {
        let h = self.half.len();
        // Conjugates before and after, so that the forward transform serves for both.
        self.each_mirrored(spectrum, |x, mirrored, turn| {
            let (even, turned) = (x + mirrored.conj(), (x - mirrored.conj()) * turn.conj());
            let odd = Complex64::new(-turned.im, turned.re);
            ((even + odd).conj(), even - odd)
        });
        self.transform_pairs(&mut spectrum[..h], bytemuck::cast_slice_mut(values));
        values.as_chunks_mut::<2>().0.iter_mut().for_each(|[_, im]| *im = -*im);
    }

    /// Replaces Xₖ and Xₘ by `f(Xₖ, Xₘ, e^{−2πik/n})`, for k from 0 to the middle and m = n/2 − k.
    fn each_mirrored(
        &self,
        spectrum: &mut [Complex64],
        f: impl Fn(Complex64, Complex64, Complex64) -> (Complex64, Complex64),
    ) {
        let (front, back) = spectrum.split_at_mut(self.half.len() / 2);
        // The middle element is its own mirror image.
        if let (Some(middle), Some(turn)) = (back.first_mut(), self.twiddles.last()) {
            (*middle, _) = f(*middle, *middle, *turn);
        }
        for ((x, mirrored), turn) in front.iter_mut().zip(back.iter_mut().rev()).zip(&self.twiddles) {
            (*x, *mirrored) = f(*x, *mirrored, *turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn lengths_are_enough_and_not_much_more() {
        for points in (1..3000).chain([12_345, 1_000_000, 4_000_000]) {
            let n = length(points);
            assert!(n >= points && n as f64 <= (1.34 * points as f64).max(40.0), "{points}: {n}");
            assert_eq!(length(n), n);
        }
    }

    /// Compared with direct sums, within the error bound of compositions.
    #[test]
    fn transforms_are_their_sums() {
        let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(5);
        for n in [40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1280, 1536, 2048] {
            assert_eq!(length(n), n);
            let values: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
            let size: f64 = values.iter().map(|v| v.abs()).sum();
            let allowed = 10.0 * 0.5 * f64::EPSILON * (n as f64).log2() * size;
            for half in [half(n), by_fours(n)] {
                let transform = RealTransform::new(n, half);
                let (mut given, mut spectrum) = (values.clone(), vec![Complex64::default(); n / 2 + 1]);
                transform.forward(&mut given, &mut spectrum);
                for (k, x) in spectrum.iter().enumerate() {
                    let turned = |(j, v): (usize, &f64)| v * Complex64::cis(-TAU * ((j * k) % n) as f64 / n as f64);
                    let sum: Complex64 = values.iter().enumerate().map(turned).sum();
                    assert!((x - sum).norm() <= allowed, "{n}, {k}: {x} {sum}");
                }
                transform.back(&mut spectrum, &mut given);
                for (value, back) in values.iter().zip(&given) {
                    assert!((back / n as f64 - value).abs() <= 2.0 * allowed / (n as f64).sqrt(), "{n}");
                }
            }
        }
    }

    /// Lengths too long for direct sums: both plans of half a length agree.
    #[test]
    fn long_transforms_do_not_depend_on_their_plan() {
        let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(6);
        for n in [40_960, 49_152, 65_536, 81_920, 98_304, 131_072, 655_360] {
            let values: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..1.0)).collect();
            let size: f64 = values.iter().sum();
            let [one, other] = [half(n), by_fours(n)].map(|half| {
                let mut spectrum = vec![Complex64::default(); n / 2 + 1];
                RealTransform::new(n, half).forward(&mut values.clone(), &mut spectrum);
                spectrum
            });
            let apart = one.iter().zip(&other).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            assert!(apart <= 10.0 * f64::EPSILON * (n as f64).log2() * size, "{n}: {apart:e}");
        }
    }
}
