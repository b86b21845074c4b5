//! A = ⅛Σφφᵀ and B = Σφ(t − ½)ᵀ, exactly in whole numbers: neighbours differ by one image's part.

use super::{
    error::FunctionalError,
    features::{Map, Scratch, UNIT},
};
use crate::{data::Dataset, model::CLASSES};

/// Images whose features are kept until their products are added.
const BLOCK: usize = 256;
/// Number of products that are summed in 32 bits: each is at most [`UNIT`]².
const NARROW: usize = 64;
const _: () = assert!(NARROW as i64 * (UNIT as i64).pow(2) <= i32::MAX as i64);

/// The sums, in grid steps. The number of images is as private as the images.
#[derive(Clone, Debug)]
pub struct Sums {
    dimension: usize,
    /// Σφ_iφ_j, the upper triangle in row-major order.
    products: Vec<i64>,
    /// Σφ of the images of each class: `[class][feature]`.
    classes: Vec<i64>,
    /// Features of the images not in `products` yet: `[feature][image]`.
    block: Vec<i16>,
    waiting: usize,
    /// Whether anything was added.
    any: bool,
    scratch: Scratch,
    phi: Vec<i16>,
}

impl Sums {
    /// Creates empty sums for `dimension` features.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            products: vec![0; dimension * (dimension + 1) / 2],
            classes: vec![0; CLASSES * dimension],
            block: vec![0; dimension * BLOCK],
            waiting: 0,
            any: false,
            scratch: Scratch::default(),
            phi: vec![0; dimension],
        }
    }

    /// Sums all of `data`.
    ///
    /// # Errors
    /// No images, or an invalid one.
    pub fn of(map: &Map, data: &Dataset) -> Result<Self, FunctionalError> {
        let part = |range: std::ops::Range<usize>| -> Result<Self, FunctionalError> {
            let mut sums = Self::new(map.dimension());
            sums.add_images(map, data, range)?;
            Ok(sums)
        };
        #[cfg(not(target_arch = "wasm32"))]
        let sums = {
            use rayon::prelude::*;
            let share = data.len().div_ceil(rayon::current_num_threads()).max(1);
            let parts: Vec<_> = (0..data.len()).step_by(share).collect();
            let summed: Result<Vec<Self>, _> =
                parts.into_par_iter().map(|from| part(from..(from + share).min(data.len()))).collect();
            summed?.into_iter().reduce(Self::and)
        };
        #[cfg(target_arch = "wasm32")]
        let sums = Some(part(0..data.len())?);
        sums.filter(|sums| sums.any).ok_or(FunctionalError::Empty)
    }

    /// Adds images of `data`.
    ///
    /// # Errors
    /// An invalid image; those before it are added.
    pub fn add_images(
        &mut self,
        map: &Map,
        data: &Dataset,
        range: std::ops::Range<usize>,
    ) -> Result<(), FunctionalError> {
        for i in range {
            map.write_image(data, i, &mut self.scratch, &mut self.phi)?;
            self.take(data.labels[i])?;
        }
        Ok(())
    }

    /// Adds one image.
    ///
    /// # Errors
    /// Invalid pixels or an invalid label; nothing is added then.
    pub fn add(&mut self, map: &Map, pixels: &[f32], label: u8) -> Result<(), FunctionalError> {
        map.write(pixels, &mut self.scratch, &mut self.phi)?;
        self.take(label)
    }

    /// Adds the image whose features were computed last.
    fn take(&mut self, label: u8) -> Result<(), FunctionalError> {
        let class = usize::from(label);
        if class >= CLASSES {
            return Err(FunctionalError::Label(label));
        }
        let sums = self.classes[class * self.dimension..].iter_mut();
        for (place, (phi, sum)) in self.phi.iter().zip(sums).enumerate() {
            *sum += i64::from(*phi);
            self.block[place * BLOCK + self.waiting] = *phi;
        }
        self.any = true;
        self.waiting += 1;
        if self.waiting == BLOCK {
            self.add_products();
        }
        Ok(())
    }

    /// Adds the products of the waiting images.
    pub fn add_products(&mut self) {
        if std::mem::take(&mut self.waiting) == 0 {
            return;
        }
        let mut sums = self.products.iter_mut();
        for (i, row) in self.block.chunks_exact(BLOCK).enumerate() {
            for (column, sum) in self.block[i * BLOCK..].chunks_exact(BLOCK).zip(&mut sums) {
                *sum += product(row, column);
            }
        }
        self.block.fill(0);
    }

    /// Returns both sums together.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.add_products();
        other.add_products();
        self.products.iter_mut().zip(&other.products).for_each(|(sum, more)| *sum += more);
        self.classes.iter_mut().zip(&other.classes).for_each(|(sum, more)| *sum += more);
        self.any |= other.any;
        self
    }

    /// Returns d.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the upper triangle of A in row-major order and B by feature, before noise.
    ///
    /// # Errors
    /// [`FunctionalError::Empty`] if nothing was added.
    pub(super) fn exact(&mut self) -> Result<(Vec<f64>, Vec<[f64; CLASSES]>), FunctionalError> {
        if !self.any {
            return Err(FunctionalError::Empty);
        }
        self.add_products();
        let unit = f64::from(UNIT);
        let products = self.products.iter().map(|sum| *sum as f64 / (8.0 * unit * unit)).collect();
        let of = |class: usize, feature: usize| self.classes[class * self.dimension + feature];
        let residuals = |feature: usize| {
            let all: i64 = (0..CLASSES).map(|class| of(class, feature)).sum();
            // Σφ(t − ½): half of the class's sum, less half of the others'.
            std::array::from_fn(|class| (2 * of(class, feature) - all) as f64 / (2.0 * unit))
        };
        Ok((products, (0..self.dimension).map(residuals).collect()))
    }
}

/// Returns Σ a·b of one block. Nothing wraps; the wrapping operations spare the checks.
fn product(a: &[i16], b: &[i16]) -> i64 {
    let narrow = |(a, b): (&[i16; NARROW], &[i16; NARROW])| {
        a.iter().zip(b).fold(0_i32, |sum, (a, b)| sum.wrapping_add(i32::from(*a).wrapping_mul(i32::from(*b))))
    };
    a.as_chunks().0.iter().zip(b.as_chunks().0).map(|part| i64::from(narrow(part))).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        data::synthetic,
        functional::features::{Ball, Features},
        model::PIXELS,
    };

    /// Straight loops over images and products.
    pub fn plainly(map: &Map, data: &Dataset) -> (Vec<Vec<f64>>, Vec<[f64; CLASSES]>) {
        let d = map.dimension();
        let (mut a, mut b) = (vec![vec![0.0; d]; d], vec![[0.0; CLASSES]; d]);
        for i in 0..data.len() {
            let pixels: Vec<f32> = data.image(i).iter().map(|byte| f32::from(*byte) / 255.0).collect();
            let mut phi = vec![0; d];
            map.write(&pixels, &mut Scratch::default(), &mut phi).unwrap();
            let phi: Vec<f64> = phi.iter().map(|x| f64::from(*x) / f64::from(UNIT)).collect();
            for j in 0..d {
                for k in 0..d {
                    a[j][k] += phi[j] * phi[k] / 8.0;
                }
                for (class, sum) in b[j].iter_mut().enumerate() {
                    let target = if usize::from(data.labels[i]) == class { 1.0 } else { 0.0 };
                    *sum += phi[j] * (target - 0.5);
                }
            }
        }
        (a, b)
    }

    /// To the last bit: both are exact.
    #[test]
    fn the_sums_are_those_of_straight_loops() {
        let data = synthetic::dataset(5, 0, 300);
        for (features, ball) in
            [(Features::Pixels14, Ball::L2), (Features::Pixels14, Ball::L1), (Features::Cosines, Ball::L2)]
        {
            let map = Map::new(features, ball);
            let (a, b) = plainly(&map, &data);
            let mut sums = Sums::of(&map, &data).unwrap();
            let (products, residuals) = sums.exact().unwrap();
            let upper: Vec<f64> = (0..a.len()).flat_map(|i| a[i][i..].to_vec()).collect();
            assert!(products == upper && residuals == b, "{features:?}");
        }
    }

    #[test]
    fn nothing_and_what_is_no_digit_are_refused() {
        let map = Map::new(Features::Pixels14, Ball::L2);
        let none = Dataset::new("none", vec![], vec![]);
        assert!(matches!(Sums::of(&map, &none), Err(FunctionalError::Empty)));
        let mut sums = Sums::new(map.dimension());
        assert!(matches!(sums.add(&map, &[0.0; PIXELS], 10), Err(FunctionalError::Label(10))));
        assert!(matches!(sums.add(&map, &[f32::NAN; PIXELS], 1), Err(FunctionalError::Pixel { .. })));
        assert!(matches!(sums.exact(), Err(FunctionalError::Empty)), "what is refused adds nothing");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Adding or removing a worst-case image moves A and B by at most the price's bounds.
        #[test]
        fn neighbours_are_no_further_apart_than_the_price_says(
            kind in 0..4, few in 1..12_usize, places in prop::collection::vec(0..PIXELS, 12), label in 0..10_u8, l1: bool, add: bool,
        ) {
            // One pixel, a few, half, all: sparse images have large entries, dense ones many.
            let mut pixels = [0.0; PIXELS];
            match kind {
                0 => pixels.fill(1.0),
                1 => pixels.iter_mut().step_by(2).for_each(|pixel| *pixel = 1.0),
                2 => {}
                _ => places[..few].iter().for_each(|place| pixels[*place] = 1.0),
            }
            let map = Map::new(Features::Pixels14, if l1 { Ball::L1 } else { Ball::L2 });
            let data = synthetic::dataset(6, 0, 40);
            let mut without = Sums::of(&map, &data).unwrap();
            let mut with = without.clone();
            with.add(&map, &pixels, label).unwrap();
            let (from, to) = if add { (&mut without, &mut with) } else { (&mut with, &mut without) };
            let ((a, b), (more_a, more_b)) = (from.exact().unwrap(), to.exact().unwrap());
            let moved_a = a.iter().zip(&more_a).map(|(a, b)| a - b);
            let moved_b = b.iter().flatten().zip(more_b.iter().flatten()).map(|(a, b)| a - b);
            let length = |moved: &mut dyn Iterator<Item = f64>| -> f64 {
                if l1 { moved.map(f64::abs).sum() } else { moved.map(|x| x * x).sum::<f64>().sqrt() }
            };
            let (moved_a, moved_b) = (length(&mut moved_a.into_iter()), length(&mut moved_b.into_iter()));
            let (most_a, most_b) = (0.125, if l1 { 5.0 } else { 10.0_f64.sqrt() / 2.0 });
            prop_assert!(moved_a <= most_a && moved_b <= most_b, "{moved_a} {moved_b}");
            // The bound is not far off: noise is no larger than necessary.
            prop_assert!(moved_b > 0.05 * most_b);
        }
    }
}
