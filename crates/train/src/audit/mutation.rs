//! Promises that a run can break for an audit to find. Such a run stays marked and unsaved.

use super::super::plan::Plan;
use crate::{accounting::sampling::Sampling, engine::Task, mechanism::EncoderSpec};
use hushgrad_message::word;

/// What is broken. The privacy accounting goes on as if it were not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InjectedBug {
    /// The noise is half of what is claimed.
    HalfNoise,
    /// The clipping norm is doubled, with the noise of the single one.
    DoubleClip,
    /// Lots are drawn at twice the rate.
    DoubleSampling,
    /// Every epoch repeats its batches, priced as fresh lots (shuffled once; Chua et al. 2024).
    FixedBatches,
    /// The sum is divided by the lot drawn (a data-dependent divisor, as in opacus #819).
    DrawnLot,
    /// The sum gets the noise that the mean needs (sum and mean confused, as in jax_privacy #383).
    NoiseOfMean,
    /// Norms are counted and released unpaid: the gradient has the noise of the whole release.
    CountUnpaid,
}

impl InjectedBug {
    pub const ALL: [Self; 7] = [
        Self::HalfNoise,
        Self::DoubleClip,
        Self::DoubleSampling,
        Self::FixedBatches,
        Self::DrawnLot,
        Self::NoiseOfMean,
        Self::CountUnpaid,
    ];

    /// Returns the name used in commands and links.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HalfNoise => "half-noise",
            Self::DoubleClip => "double-clip",
            Self::DoubleSampling => "double-sampling",
            Self::FixedBatches => "fixed-batches",
            Self::DrawnLot => "drawn-lot",
            Self::NoiseOfMean => "noise-of-mean",
            Self::CountUnpaid => "count-unpaid",
        }
    }

    /// Returns the promise that it breaks.
    #[must_use]
    pub const fn promise(self) -> &'static str {
        match self {
            Self::HalfNoise => word!("the noise is as strong as the books say"),
            Self::DoubleClip => word!("no example adds more than the clip"),
            Self::DoubleSampling => word!("an example is drawn no more often than the books say"),
            Self::FixedBatches => word!("lots are drawn anew at each step"),
            Self::DrawnLot => word!("the divisor of a sum does not depend on the examples"),
            Self::NoiseOfMean => word!("noise is scaled to what is released, not to something smaller"),
            Self::CountUnpaid => word!("released counts are paid for with more noise"),
        }
    }

    /// Returns why this run cannot break the promise; `None` if it can.
    #[must_use]
    pub fn refused(self, plan: &Plan) -> Option<&'static str> {
        let clips = matches!(plan.task.encoder, EncoderSpec::Clip { .. });
        let counts = !plan.task.counting.is_none();
        let poisson = matches!(plan.sampling, Sampling::Poisson { .. });
        match self {
            _ if plan.task.canaries.is_none() => {
                Some(word!("an injected bug needs an audit to find it; choose some canaries"))
            }
            _ if plan.task.noise.is_none() => Some(word!("a run without noise makes no promise to break")),
            _ if plan.task.grid.is_some() => Some(word!("no bug can be injected into noise on a grid; choose no grid")),
            Self::DoubleClip if !clips => Some(word!("this bug needs one clip for the whole gradient; choose one")),
            Self::DoubleClip | Self::DrawnLot if counts => {
                Some(word!("this bug needs a fixed clip; choose one that does not follow the norms"))
            }
            Self::CountUnpaid if !counts => Some(word!(
                "this bug needs counts that are released with the gradient; choose a clip that follows the norms"
            )),
            Self::DoubleSampling if matches!(plan.sampling, Sampling::Shuffled { .. }) => Some(word!(
                "the price of a shuffled epoch ignores how seldom an example is drawn; choose Poisson sampling"
            )),
            Self::FixedBatches | Self::DrawnLot if !poisson => {
                Some(word!("this bug needs Poisson sampling; choose it"))
            }
            _ => None,
        }
    }
}

pub(crate) struct Broken {
    pub mutation: InjectedBug,
    /// With fixed batches: the batch of each unit, and the number of batches.
    pub batches: Option<(Vec<u32>, u32)>,
    /// Divisor of the last sum.
    pub divisor: f32,
}

impl Broken {
    /// Breaks the promise in what `plan` runs, but not in its price; `below(n)` draws below `n`.
    pub(crate) fn new(mutation: InjectedBug, plan: &mut Plan, mut below: impl FnMut(u32) -> u32) -> Self {
        let batches = (mutation == InjectedBug::FixedBatches).then(|| {
            let count = (plan.steps_per_epoch().ceil() as u32).max(1);
            ((0..plan.units()).map(|_| below(count)).collect(), count)
        });
        let break_task = |task: &mut Task| {
            let noise = |factor: f64| task.noise.as_ref().map(|noise| noise.with_scale(noise.scale() * factor));
            match mutation {
                InjectedBug::HalfNoise => task.noise = noise(0.5),
                InjectedBug::NoiseOfMean => task.noise = noise(1.0 / f64::from(task.expected_lot)),
                InjectedBug::DoubleClip => {
                    if let EncoderSpec::Clip { norm } = &mut task.encoder {
                        *norm *= 2.0;
                    }
                }
                InjectedBug::CountUnpaid => {
                    if let (EncoderSpec::Clip { norm }, Some(own)) = (&task.encoder, &task.noise) {
                        let of_both = task.counting.of_release(own.scale() / norm);
                        task.noise = Some(own.with_scale(of_both * norm));
                    }
                }
                InjectedBug::DoubleSampling | InjectedBug::FixedBatches | InjectedBug::DrawnLot => {}
            }
        };
        let break_sampling = |sampling: &mut Sampling| {
            if mutation == InjectedBug::DoubleSampling {
                *sampling = match *sampling {
                    Sampling::Poisson { rate } => Sampling::Poisson { rate: (2.0 * rate).min(1.0) },
                    Sampling::FixedSize { population, size } => {
                        Sampling::FixedSize { population, size: (2 * size).min(population) }
                    }
                    Sampling::RandomAllocation { batches } => {
                        Sampling::RandomAllocation { batches: batches.div_ceil(2) }
                    }
                    other => other,
                };
            }
        };
        break_task(&mut plan.task);
        break_sampling(&mut plan.sampling);
        for later in &mut plan.later {
            break_task(&mut later.task);
            break_sampling(&mut later.sampling);
        }
        Self { mutation, batches, divisor: plan.task.expected_lot }
    }

    /// With fixed batches, writes the batch of `step` to `lot`; returns whether batches are fixed.
    pub(crate) fn draw(&self, step: u64, lot: &mut Vec<u32>) -> bool {
        let Some((batch_of, count)) = &self.batches else { return false };
        let now = (step % u64::from(*count)) as u32;
        lot.clear();
        lot.extend((0..).zip(batch_of).filter(|(_, batch)| **batch == now).map(|(unit, _)| unit));
        true
    }

    /// Returns the task of a step that drew `drawn` examples, if the divisor follows the lot.
    pub(crate) fn task(&mut self, task: &Task, drawn: usize) -> Option<Task> {
        (self.mutation == InjectedBug::DrawnLot).then(|| {
            self.divisor = drawn.max(1) as f32;
            Task { expected_lot: self.divisor, ..task.clone() }
        })
    }
}
