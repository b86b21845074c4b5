// mechanism::encode::{clip, clamp_by_rank} and the sum over the lot, for gradients that lie in `work` (the
// convolutions'): Σ over the chunk of the encoded coordinate, in the lot's order, so that the sum is the same on
// every run. An invocation owns a coordinate.

override STORED: u32;
override STORED_LENGTH: u32;
// First coordinate of the sum.
override TARGET: u32;
// Clamp into the example's envelope; else multiply by its factor.
override ENVELOPE: bool;
// Add the gradients as they are (the teaching view's first picture).
override RAW: bool;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= STORED_LENGTH) {
        return;
    }
    let count = chunk_count();
    var sum = 0.0;
    for (var e = 0u; e < count; e++) {
        let factor = work[e * STRIDE + STATUS + 1u];
        if (factor == 0.0) {
            continue;
        }
        let g = work[e * STRIDE + STORED + i];
        if (RAW) {
            sum += g;
        } else if (ENVELOPE) {
            let h = factor * g;
            let bound = bitcast<f32>(table[HISTOGRAMS + e * BUCKETS + bucket(abs(h))]);
            sum += clamp(h, -bound, bound);
        } else {
            sum += factor * g;
        }
    }
    sums[TARGET + i] += sum;
}
