//! Measures how many helpers pay off, on made-up images before an engine's first step. Uses none of
//! a step's random draws, and releases nothing.

use std::time::Duration;

use web_time::Instant;

use super::assistance::{HelperPool, PendingSum};
use crate::{
    cpu::{
        simd::padded,
        threads::{Encoding, Kernels},
    },
    data::Shift,
    made_up::made_up,
    model::Architecture,
};

/// Time for all measurements together (the last may overrun it), and for the first alone.
const IN_ALL: Duration = Duration::from_millis(100);
const ONE: Duration = Duration::from_millis(20);
/// Examples of the first measurement, which determines how many the others use.
const FEW: usize = 16;
/// Larger lots are measured at this size.
const MOST: usize = 1024;
/// Helpers must reduce the time of a sum to less than this fraction.
const WORTH: f64 = 0.9;

pub struct Measured<'a> {
    pub kernels: &'a mut dyn Kernels,
    pub encoding: &'a Encoding,
    pub parameters: &'a [f32],
    pub model: Architecture,
    pub copies: u32,
    pub lot: usize,
}

impl HelperPool {
    /// Finds how many helpers speed up this engine's steps, and uses as many. True if the number
    /// changed. Does nothing until all have started; measures again after a loss or for other lots.
    pub async fn measure(&mut self, measured: Measured<'_>) -> bool {
        let (whole, there) = self.there();
        let (kind, before) = (self.kind(measured.lot), self.most);
        if !whole || self.measured == Some((kind, there)) {
            return false;
        }
        self.measured = Some((kind, there));
        self.most = match self.paid(kind, there) {
            Some(paid) => paid,
            None if there == 0 || measured.lot == 0 => 0,
            None => {
                let paid = self.best(measured, there).await;
                self.set_paid(kind, there, paid);
                paid
            }
        };
        self.most != before
    }

    async fn best(&mut self, measured: Measured<'_>, there: usize) -> usize {
        let Measured { kernels, encoding, parameters, model, copies, lot } = measured;
        let shifts = vec![Shift::NONE; copies.max(1) as usize];
        let data = made_up(model, lot.min(MOST));
        let all: Vec<u32> = (0..data.len() as u32).collect();
        let length = padded(model.parameters());
        let mut sum = vec![0.0; length];
        let begin = Instant::now();
        let few = &all[..all.len().min(FEW)];
        let mut timed = async |most: usize, lot: &[u32], sum: &mut [f64]| {
            self.most = most;
            let sought = PendingSum { model, encoding, bounded: true, parameters, data: &data, lot, shifts: &shifts };
            let start = Instant::now();
            self.sum_anyway(&mut *kernels, &sought, sum).await;
            start.elapsed()
        };
        // Untimed, to exclude allocation and compilation.
        timed(0, few, &mut sum).await;
        let each = timed(0, few, &mut sum).await / few.len().max(1) as u32;
        let fit = (ONE.as_nanos() / each.as_nanos().max(1)) as usize;
        let lot = &all[..all.len().min(fit.max(FEW))];
        let mut best = (timed(0, lot, &mut sum).await.min(timed(0, lot, &mut sum).await).mul_f64(WORTH), 0);
        let mut most = there;
        while most > 0 {
            // Untimed, because the first order also sends the setup.
            timed(most, few, &mut sum).await;
            let took = timed(most, lot, &mut sum).await.min(timed(most, lot, &mut sum).await);
            if took < best.0 {
                best = (took, most);
            }
            if begin.elapsed() > IN_ALL {
                break;
            }
            most /= 2;
        }
        best.1
    }
}
