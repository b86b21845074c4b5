//! The two directions of a sampled pair, and the sampled loss.

/// The neighbour that the release is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The neighbour lacks the example: the sampled mixture against the noise alone.
    Remove,
    /// The neighbour has one more: the noise alone against the sampled mixture.
    Add,
}

/// The sampled loss, in the direction "remove", of an unsampled loss `l`: ln(1 − q + q·e^l).
pub(super) fn sampled_loss(rate: f64, l: f64) -> f64 {
    if rate == 1.0 {
        return l;
    }
    let growth = rate * l.exp_m1();
    if l > 600.0 {
        l + rate.ln()
    } else if growth < -0.5 {
        // 1 − q keeps all its digits when the difference is small.
        ((1.0 - rate) + rate * l.exp()).ln()
    } else {
        growth.ln_1p()
    }
}
