//! How many helpers pay: measured on images that are made up, before an engine's first step. What a step draws has no part in it, and nothing is released.

use std::time::Duration;

use web_time::Instant;

use super::assistance::{Assistance, Sought};
use crate::{
    cpu::{
        simd::padded,
        threads::{Encoding, Kernels},
    },
    data::Shift,
    made_up::made_up,
    model::Architecture,
};

/// What all measurements together may take, but for the last that is under way, and the first by itself.
const IN_ALL: Duration = Duration::from_millis(100);
const ONE: Duration = Duration::from_millis(20);
/// Examples of the first measurement, which tells how many the others may have.
const FEW: usize = 16;
/// Lots beyond are measured as this.
const MOST: usize = 1024;
/// Helpers have to make a sum at least so much shorter.
const WORTH: f64 = 0.9;

/// What is measured: an engine's sums.
pub struct Measured<'a> {
    pub kernels: &'a mut dyn Kernels,
    pub encoding: &'a Encoding,
    pub parameters: &'a [f32],
    pub model: Architecture,
    pub copies: u32,
    pub lot: usize,
}

impl Assistance {
    /// Finds out how many of the helpers make this engine's steps shorter, and uses those from then on. Answers whether that is another number than before. Waits until all
    /// helpers are there; looks anew when one is lost, or lots become others.
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
            let sought = Sought { model, encoding, bounded: true, parameters, data: &data, lot, shifts: &shifts };
            let start = Instant::now();
            self.sum_anyway(&mut *kernels, &sought, sum).await;
            start.elapsed()
        };
        // Once without a look at the clock: what is allocated or compiled then is there.
        timed(0, few, &mut sum).await;
        let each = timed(0, few, &mut sum).await / few.len().max(1) as u32;
        let fit = (ONE.as_nanos() / each.as_nanos().max(1)) as usize;
        let lot = &all[..all.len().min(fit.max(FEW))];
        let mut best = (timed(0, lot, &mut sum).await.min(timed(0, lot, &mut sum).await).mul_f64(WORTH), 0);
        let mut most = there;
        while most > 0 {
            // What helpers must know is sent with the first order.
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
