//! Sums of gradients: f32 in a slot, f64 beyond. Exact on a grid ([`crate::mechanism::exact_sum`]).

use crate::cpu::simd::{Kernel, Simd, padded};
use crate::mechanism::exact_sum::SLOT;

/// A sum that kernels add to.
pub struct Sum {
    /// Start value of `slot`; 0 without a grid.
    base: f32,
    /// Number of examples in `slot`.
    held: usize,
    /// The base plus the sum of the latest examples.
    slot: Vec<f32>,
    /// The sum of all earlier examples.
    total: Vec<f64>,
    /// True if `total` holds any.
    begun: bool,
}

impl Sum {
    /// A zero sum of `parameters` coordinates and their padding.
    pub fn new(parameters: usize) -> Self {
        let n = padded(parameters);
        Self { base: 0.0, held: 0, slot: vec![0.0; n], total: vec![0.0; n], begun: false }
    }

    /// Resets to zero, with another base.
    pub fn clear(&mut self, base: f32) {
        self.base = base;
        self.held = 0;
        self.begun = false;
        self.slot.fill(base);
    }

    /// Returns the f32 sum to which the next `examples` are added; at most [`SLOT`] are exact.
    pub fn room_for<S: Simd>(&mut self, simd: S, examples: usize) -> &mut [f32] {
        if self.held > 0 && self.held + examples > SLOT {
            let Self { base, slot, total, begun, .. } = self;
            simd.run(Empty { base: *base, begun: *begun, slot, total });
            (self.begun, self.held) = (true, 0);
        }
        self.held += examples;
        &mut self.slot
    }

    /// out += the sum.
    pub fn add_to<S: Simd>(&self, simd: S, out: &mut [f64]) {
        let Self { base, slot, total, begun, .. } = self;
        simd.run(AddTo { base: *base, slot, total: begun.then_some(total), out });
    }
}

/// total += slot − base, and slot ← base.
struct Empty<'a> {
    base: f32,
    begun: bool,
    slot: &'a mut [f32],
    total: &'a mut [f64],
}

impl<S: Simd> Kernel<S> for Empty<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { base, begun, slot, total } = self;
        // Two loops, so that the compiler vectorises both.
        if begun {
            for (total, slot) in total.iter_mut().zip(slot) {
                *total += f64::from(*slot) - f64::from(base);
                *slot = base;
            }
        } else {
            for (total, slot) in total.iter_mut().zip(slot) {
                *total = f64::from(*slot) - f64::from(base);
                *slot = base;
            }
        }
    }
}

struct AddTo<'a> {
    base: f32,
    slot: &'a [f32],
    total: Option<&'a Vec<f64>>,
    out: &'a mut [f64],
}

impl<S: Simd> Kernel<S> for AddTo<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { base, slot, total, out } = self;
        match total {
            None => {
                for (out, &slot) in out.iter_mut().zip(slot) {
                    *out += f64::from(slot) - f64::from(base);
                }
            }
            Some(total) => {
                for ((out, &slot), &total) in out.iter_mut().zip(slot).zip(total) {
                    *out += total + (f64::from(slot) - f64::from(base));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Performance,
        cpu::{
            kernels::envelope::Psi,
            models::Examples,
            simd::{Dispatch, dispatch, for_each, sets},
            threads::{Encoding, Kernels, Lot, WorkerPool},
        },
        data::{Dataset, Shift},
        mechanism::{EnvelopeShape, envelope::Envelope, exact_sum::SumGrid},
        model::{Architecture, PIXELS, initial_parameters},
    };
    use hushgrad_testkit::rows;

    const MOVED: [Shift; 3] = [Shift::NONE, Shift { right: 1, down: -2 }, Shift { right: -3, down: 1 }];

    /// Images that stress f32 sums: half are one bright image (gradients pile up); most are nearly
    /// one dark image, each adding less than half a unit in the last place; some are noise.
    fn adversarial(count: usize) -> Dataset {
        let mut images = vec![0; count * PIXELS];
        for (example, image) in images.chunks_exact_mut(PIXELS).enumerate() {
            for (i, pixel) in image.iter_mut().enumerate() {
                let hash = ((example * PIXELS + i) as u32).wrapping_mul(2_654_435_761) >> 24;
                *pixel = match example {
                    _ if example < count / 2 => 255 - (i % 7) as u8,
                    _ if example % 97 == 3 => hash as u8,
                    _ => u8::from(i % 3 == 0) + u8::from(i == example % PIXELS),
                };
            }
        }
        let labels = (0..count).map(|example| if example < count / 2 { 3 } else { (example % 10) as u8 });
        Dataset::new("adversarial", images, labels.collect::<Vec<_>>())
    }

    struct Summed<'a> {
        pool: Box<dyn Kernels>,
        encoding: &'a Encoding,
        parameters: &'a [f32],
        data: &'a Dataset,
        shifts: &'a [Shift],
    }

    impl Summed<'_> {
        fn of(&mut self, lot: &[u32]) -> Vec<f64> {
            self.of_lot(Lot::Alone(lot))
        }

        fn of_lot(&mut self, lot: Lot<'_>) -> Vec<f64> {
            let examples = Examples { data: self.data, features: &[] };
            let mut sum = vec![f64::NAN; padded(self.parameters.len())];
            let Self { pool, encoding, parameters, shifts, .. } = self;
            assert_eq!(pool.sum_encoded(encoding, parameters, examples, lot, shifts, &mut sum).non_finite, 0);
            sum.truncate(parameters.len());
            sum
        }
    }

    fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a - b).collect()
    }

    /// Checks the bound exactly, in whole steps. Returns the sum of their squares, an integer.
    fn assert_inside(values: &[f64], grid: SumGrid, bound: f64, name: &str) -> u128 {
        let step = f64::from(grid.step());
        let square = |v: &f64| {
            let steps = v / step;
            assert_eq!(steps.fract(), 0.0, "{name}: {v:e} is no multiple of {step:e}");
            (steps as i128).unsigned_abs().pow(2)
        };
        let square: u128 = values.iter().map(square).sum();
        assert!(square as f64 <= (bound / step).powi(2), "{name}: {square} squares of {step:e}");
        square
    }

    /// Each with its grid, its bound, and the copies of an example that its gradient averages.
    fn encodings(p: usize) -> Vec<(Encoding, SumGrid, f64, &'static [Shift])> {
        let clip = |norm, shifts| (Encoding::clip(norm, p, Some(SumGrid::of(norm))), SumGrid::of(norm), norm, shifts);
        let envelope = |shape, vectors, shifts| {
            let envelope = Arc::new(Envelope::draw(shape, vectors, p, 1).unwrap());
            let grid = SumGrid::of(envelope.largest().into());
            (Encoding::Envelope { psi: Psi::new(envelope, 1.0), pre_scale: 1.0, grid: Some(grid) }, grid, 1.0, shifts)
        };
        vec![
            clip(1.0, Shift::ALONE),
            clip(1e-9, &MOVED),
            envelope(EnvelopeShape::Mixed, 3, Shift::ALONE),
            envelope(EnvelopeShape::Gaussian, 1, &MOVED),
        ]
    }

    /// A model and an encoding, whose sums one instruction set computes.
    struct Case {
        model: Architecture,
        parameters: Vec<f32>,
        encoding: Encoding,
        grid: SumGrid,
        bound: f64,
        shifts: &'static [Shift],
        name: String,
    }

    impl Case {
        fn summed<'a, S: Simd>(&'a self, simd: S, data: &'a Dataset, threads: u32) -> Summed<'a> {
            let Self { model, parameters, encoding, shifts, .. } = self;
            let performance = Performance { chunk: None, threads: Some(threads) };
            let pool = WorkerPool::new(simd, *model, encoding, shifts.len() as u32, performance).unwrap();
            Summed { pool: Box::new(pool), encoding, parameters, data, shifts }
        }
    }

    /// Cases of this instruction set: all pairs of sets, models and encodings occur.
    fn cases<S: Simd>() -> impl Iterator<Item = Case> {
        let own = S::LANES.ilog2() as usize - 2;
        let rows = rows([sets(), Architecture::ALL.len(), 4]).into_iter().filter(move |&[set, ..]| set == own);
        rows.map(|[_, model, encoding]| {
            let model = Architecture::ALL[model];
            let parameters: Vec<f32> = initial_parameters(model, 2).into_iter().map(|w| 1.5 * w).collect();
            let (encoding, grid, bound, shifts) = encodings(model.parameters()).swap_remove(encoding);
            let name = format!("{} {model:?} {bound} {} copies", S::NAME, shifts.len());
            Case { model, parameters, encoding, grid, bound, shifts, name }
        })
    }

    #[derive(Clone, Copy)]
    struct NeighboursDiffer;

    impl Dispatch for NeighboursDiffer {
        type Output = ();

        /// Models, encodings and copies, in all pairs: the sum over a lot minus the sum without one
        /// example equals, bit for bit, what this example adds alone, and keeps to the bound; in
        /// any order, on any number of threads.
        fn with<S: Simd>(self, simd: S) {
            const COUNT: u32 = 100;
            let data = adversarial(COUNT as usize);
            let lot: Vec<u32> = (0..COUNT).collect();
            for case in cases::<S>() {
                let (mut one, mut three) = (case.summed(simd, &data, 1), case.summed(simd, &data, 3));
                let (whole, name) = (one.of(&lot), &case.name);
                let reversed: Vec<u32> = lot.iter().rev().copied().collect();
                assert!(three.of(&reversed) == whole, "{name}");
                for example in [0, COUNT - 1] {
                    let without: Vec<u32> = lot.iter().copied().filter(|&i| i != example).collect();
                    let alone = one.of(&[example]);
                    assert!(minus(&whole, &one.of(&without)) == alone, "{name}, without {example}");
                    assert!(assert_inside(&alone, case.grid, case.bound, name) > 0, "{name}");
                }
            }
        }
    }

    #[test]
    fn neighbours_differ_by_one_rounded_gradient() {
        for_each(NeighboursDiffer);
    }

    #[derive(Clone, Copy)]
    struct UnitsDiffer;

    impl Dispatch for UnitsDiffer {
        type Output = ();

        /// Units of one to seven examples: the sum minus the sum without one unit equals, bit for
        /// bit, what this unit adds alone, and keeps to the bound. If it loses an example, the
        /// other units' vectors stay the same.
        fn with<S: Simd>(self, simd: S) {
            const UNITS: usize = 30;
            let data = adversarial(4 * UNITS);
            let mut examples = 0..(4 * UNITS) as u32;
            let all: Vec<Vec<u32>> = (0..UNITS).map(|unit| examples.by_ref().take(1 + unit % 7).collect()).collect();
            for case in cases::<S>() {
                let mut summed = case.summed(simd, &data, 2);
                let mut of = |units: &[Vec<u32>]| {
                    let units: Vec<&[u32]> = units.iter().map(Vec::as_slice).collect();
                    summed.of_lot(Lot::Shared { units: &units, rate: 0.7 })
                };
                let (sum, name) = (of(&all), &case.name);
                for changed in [2, 6, 13] {
                    let alone = of(&all[changed..=changed]);
                    assert_inside(&alone, case.grid, case.bound, name);
                    let rest = of(&[&all[..changed], &all[changed + 1..]].concat());
                    assert!(minus(&sum, &rest) == alone, "{name}, without {changed}");
                    // Removes an example, from a longest unit (6, 13) or a shorter one (2).
                    let mut with = all.clone();
                    with[changed].pop();
                    let less = match with[changed].len() {
                        0 => vec![0.0; sum.len()],
                        _ => of(&with[changed..=changed]),
                    };
                    assert!(minus(&of(&with), &less) == rest, "{name}, {changed} with one less");
                }
            }
        }
    }

    #[test]
    fn units_differ_by_one_rounded_vector() {
        for_each(UnitsDiffer);
    }

    /// The linear model's kernels, on this machine's widest vectors.
    struct Linear<'a> {
        encoding: &'a Encoding,
    }

    impl Dispatch for Linear<'_> {
        type Output = Box<dyn Kernels>;

        fn with<S: Simd>(self, simd: S) -> Box<dyn Kernels> {
            let performance = Performance { chunk: None, threads: Some(2) };
            Box::new(WorkerPool::new(simd, Architecture::Linear, self.encoding, 1, performance).unwrap())
        }
    }

    #[test]
    fn large_lots_have_exact_sums() {
        let p = Architecture::Linear.parameters();
        let parameters = initial_parameters(Architecture::Linear, 1);
        let (norm, grid) = (1.0, SumGrid::of(1.0));
        for count in [256, 2048, 20_000, 60_000] {
            let data = adversarial(count);
            let lot: Vec<u32> = (0..count as u32).collect();
            let differences = |grid| {
                let encoding = Encoding::clip(norm, p, grid);
                let pool = dispatch(Linear { encoding: &encoding });
                let (parameters, shifts) = (&parameters[..], Shift::ALONE);
                let mut summed = Summed { pool, encoding: &encoding, parameters, data: &data, shifts };
                let whole = summed.of(&lot);
                let of = |example: usize| {
                    let without = [&lot[..example], &lot[example + 1..]].concat();
                    (minus(&whole, &summed.of(&without)), summed.of(&[example as u32]))
                };
                [0, count / 2 - 1, count - 5].map(of)
            };
            for (difference, alone) in differences(Some(grid)) {
                assert!(difference == alone, "{count}");
                assert!(assert_inside(&difference, grid, norm, "linear") > 0);
            }
            // The lots are hard: in plain f32 the difference is not the example's own gradient.
            assert!(differences(None).iter().all(|(difference, alone)| difference != alone), "{count}");
        }
    }

    #[derive(Clone)]
    struct Random {
        seed: u64,
        model: Architecture,
        size: f32,
        norm: f64,
        count: u32,
    }

    impl Dispatch for &Random {
        type Output = ();

        fn with<S: Simd>(self, simd: S) {
            let &Random { seed, model, size, norm, count } = self;
            let p = model.parameters();
            let parameters: Vec<f32> = initial_parameters(model, seed).into_iter().map(|w| size * w).collect();
            let bytes = |i: u64| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(seed | 1);
            let images: Vec<u8> = (0..u64::from(count) * PIXELS as u64).map(|i| (bytes(i) >> 56) as u8).collect();
            let labels: Vec<u8> = (0..u64::from(count)).map(|i| (bytes(i) >> 40) as u8 % 10).collect();
            let data = Dataset::new("random", images, labels);
            let grid = SumGrid::of(norm);
            for shifts in [&MOVED[..1], &MOVED[..2]] {
                let encoding = &Encoding::clip(norm, p, Some(grid));
                let performance = Performance { chunk: None, threads: Some(1) };
                let pool = WorkerPool::new(simd, model, encoding, shifts.len() as u32, performance).unwrap();
                let parameters = &parameters;
                let mut summed = Summed { pool: Box::new(pool), encoding, parameters, data: &data, shifts };
                let whole: Vec<u32> = (0..count).collect();
                let example = (seed % u64::from(count)) as u32;
                let without: Vec<u32> = whole.iter().copied().filter(|&i| i != example).collect();
                let alone = summed.of(&[example]);
                let difference = minus(&summed.of(&whole), &summed.of(&without));
                assert!(difference == alone, "{} {model:?} {size} {norm} {count} {}", S::NAME, shifts.len());
                assert_inside(&alone, grid, norm, S::NAME);
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

        /// Any images and parameters, of any size, on every instruction set.
        #[test]
        fn random_neighbours_differ_by_one_rounded_gradient(
            seed in 1..u64::MAX, model in 0_usize..3, size in 0.1_f32..8.0, norm in 0.01_f64..30.0, count in 1_u32..90,
        ) {
            let model = [Architecture::Linear, Architecture::Mlp, Architecture::CnnRelu][model];
            for_each(&Random { seed, model, size, norm, count });
        }
    }
}
