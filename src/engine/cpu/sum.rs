//! Sums of encoded gradients: in f32 for a slot, in f64 beyond. On a grid both are exact ([`crate::mechanism::exact_sum`]).

use super::{
    simd::{Kernel, Simd},
    worker::padded,
};
use crate::mechanism::exact_sum::SLOT;

/// A sum that kernels add to.
pub struct Sum {
    /// Where `slot` starts; 0 without a grid.
    base: f32,
    /// Examples in `slot`.
    held: usize,
    /// The last examples, on top of the base.
    slot: Vec<f32>,
    /// Those before.
    total: Vec<f64>,
    /// Whether `total` holds any.
    begun: bool,
}

impl Sum {
    /// Zero, of so many coordinates and what pads them.
    pub fn new(parameters: usize) -> Self {
        let n = padded(parameters);
        Self { base: 0.0, held: 0, slot: vec![0.0; n], total: vec![0.0; n], begun: false }
    }

    /// Back to zero.
    pub fn clear(&mut self, base: f32) {
        self.base = base;
        self.held = 0;
        self.begun = false;
        self.slot.fill(base);
    }

    /// What the next `examples` are to be added to, in f32: at most [`SLOT`] are exact.
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
        // One loop for each: the compiler makes vectors of both.
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
        data::{Dataset, Shift},
        engine::{
            Performance,
            cpu::{
                envelope::Psi,
                network::Examples,
                simd::{Dispatch, dispatch, for_each},
                team::{Crew, Team},
                worker::Encoding,
            },
        },
        mechanism::{EnvelopeShape, envelope::Envelope, exact_sum::SumGrid},
        model::{Architecture, PIXELS, initial_parameters},
    };

    const MOVED: [Shift; 3] = [Shift::NONE, Shift { right: 1, down: -2 }, Shift { right: -3, down: 1 }];

    /// What pulls at sums in f32: `count` images of which the first half is one bright image, whose gradients pile up; most of the others
    /// are nearly the same dark one, each of which adds less than half a unit in the last place; a few are noise.
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

    /// Sums of lots, by one team.
    struct Summed<'a> {
        team: Box<dyn Team>,
        encoding: &'a Encoding,
        parameters: &'a [f32],
        data: &'a Dataset,
        shifts: &'a [Shift],
    }

    impl Summed<'_> {
        fn of(&mut self, lot: &[u32]) -> Vec<f64> {
            let examples = Examples { data: self.data, features: &[] };
            let mut sum = vec![f64::NAN; padded(self.parameters.len())];
            let Self { team, encoding, parameters, shifts, .. } = self;
            assert_eq!(team.sum_encoded(encoding, parameters, examples, lot, shifts, &mut sum), 0);
            sum.truncate(parameters.len());
            sum
        }
    }

    fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a - b).collect()
    }

    /// ‖v‖² in steps, an integer.
    fn square_in_steps(values: &[f64], step: f64) -> u128 {
        let steps = |v: &f64| {
            let steps = v / step;
            assert_eq!(steps.fract(), 0.0, "{v:e} is no multiple of {step:e}");
            (steps as i128).unsigned_abs().pow(2)
        };
        values.iter().map(steps).sum()
    }

    fn encodings(p: usize) -> Vec<(Encoding, SumGrid, f64)> {
        let clip = |norm| (Encoding::clip(norm, p, Some(SumGrid::of(norm))), SumGrid::of(norm), norm);
        let envelope = |shape, vectors| {
            let envelope = Arc::new(Envelope::draw(shape, vectors, p, 1).unwrap());
            let grid = SumGrid::of(envelope.largest().into());
            (Encoding::Envelope { psi: Psi::new(envelope, 1.0), pre_scale: 1.0, grid: Some(grid) }, grid, 1.0)
        };
        vec![clip(1.0), clip(0.3), clip(1e-9), envelope(EnvelopeShape::Gaussian, 1), envelope(EnvelopeShape::Mixed, 3)]
    }

    #[derive(Clone, Copy)]
    struct NeighboursDiffer;

    impl Dispatch for NeighboursDiffer {
        type Output = ();

        /// Every model, every encoder, one copy or several: the sum over a lot less that over the lot without one example is what this
        /// example adds by itself, bit for bit, and no longer than the bound; in any order, and on any number of threads.
        fn with<S: Simd>(self, simd: S) {
            let data = adversarial(150);
            let lot: Vec<u32> = (0..150).collect();
            for model in Architecture::ALL {
                let p = model.parameters();
                let parameters: Vec<f32> = initial_parameters(model, 2).into_iter().map(|w| 1.5 * w).collect();
                for ((encoding, grid, bound), shifts) in
                    encodings(p).iter().zip([&MOVED[..1], &MOVED].into_iter().cycle())
                {
                    let summed = |threads| {
                        let performance = Performance { chunk: None, threads: Some(threads) };
                        let team = Crew::new(simd, model, encoding, shifts.len() as u32, performance).unwrap();
                        Summed { team: Box::new(team), encoding, parameters: &parameters, data: &data, shifts }
                    };
                    let (mut one, mut three) = (summed(1), summed(3));
                    let whole = one.of(&lot);
                    let name = format!("{} {model:?} {bound} {} copies", S::NAME, shifts.len());
                    assert_eq!(three.of(&lot), whole, "{name}");
                    let reversed: Vec<u32> = lot.iter().rev().copied().collect();
                    assert_eq!(one.of(&reversed), whole, "{name}");
                    for example in [0, 74, 100, 149] {
                        let without: Vec<u32> = lot.iter().copied().filter(|&i| i != example).collect();
                        let alone = one.of(&[example]);
                        assert!(minus(&whole, &one.of(&without)) == alone, "{name}, without {example}");
                        let step = f64::from(grid.step());
                        let most = (bound / step).powi(2);
                        let square = square_in_steps(&alone, step);
                        assert!(
                            square > 0 && square as f64 <= most,
                            "{name}, {example}: {square} steps², at most {most}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn neighbours_differ_by_one_rounded_gradient() {
        for_each(NeighboursDiffer);
    }

    /// A sum of the linear model's clipped gradients, by this machine's widest vectors.
    struct Linear<'a> {
        encoding: &'a Encoding,
    }

    impl Dispatch for Linear<'_> {
        type Output = Box<dyn Team>;

        fn with<S: Simd>(self, simd: S) -> Box<dyn Team> {
            let performance = Performance { chunk: None, threads: Some(2) };
            Box::new(Crew::new(simd, Architecture::Linear, self.encoding, 1, performance).unwrap())
        }
    }

    #[test]
    fn large_lots_have_exact_sums() {
        let p = Architecture::Linear.parameters();
        let parameters = initial_parameters(Architecture::Linear, 1);
        let (norm, grid) = (1.0, SumGrid::of(1.0));
        let step = f64::from(grid.step());
        for count in [256, 2048, 20_000, 60_000] {
            let data = adversarial(count);
            let lot: Vec<u32> = (0..count as u32).collect();
            let differences = |grid| {
                let encoding = Encoding::clip(norm, p, grid);
                let team = dispatch(Linear { encoding: &encoding });
                let mut summed =
                    Summed { team, encoding: &encoding, parameters: &parameters, data: &data, shifts: Shift::ALONE };
                let whole = summed.of(&lot);
                let of = |example: usize| {
                    let without = [&lot[..example], &lot[example + 1..]].concat();
                    (minus(&whole, &summed.of(&without)), summed.of(&[example as u32]))
                };
                [0, count / 2 - 1, count - 5].map(of)
            };
            for (difference, alone) in differences(Some(grid)) {
                assert!(difference == alone, "{count}");
                let square = square_in_steps(&difference, step);
                assert!(square as f64 <= (norm / step).powi(2), "{count}: {square}");
            }
            // The lots are hard: in plain f32 what an example moves is no longer its own gradient, and can be more than its clip.
            let plain = differences(None);
            let length = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let longest = plain.iter().map(|(difference, _)| length(difference)).fold(0.0, f64::max);
            println!("{count}: {longest} in plain f32");
            assert!(plain.iter().all(|(difference, alone)| difference != alone), "{count}");
        }
    }
}
