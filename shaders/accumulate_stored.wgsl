// mechanism::encode::{clip, clamp_by_rank} and the sum over the lot, for gradients that lie in `work` (the
// convolutions'): Σ over the chunk of the encoded coordinate. An invocation owns a coordinate. Sums that noise is added to are of whole
// steps, which no compiler can round or reorder to others; without a guarantee they are f32's, in the lot's order.

override STORED: u32;
override STORED_LENGTH: u32;
// First coordinate of the sum.
override TARGET: u32;
// Clamp into the example's envelope, what histogram_stored.wgsl has scaled; else multiply by its factor.
override ENVELOPE: bool;
// Add the gradients as they are (the teaching view's first picture).
override RAW: bool;

fn in_steps(e: u32, factor: f32, g: f32) -> i32 {
    if (ENVELOPE) {
        return clamped_steps(g, bound_word(e, bucket(abs(g), run.first_bucket)));
    }
    return i32(round((factor * run.inverse_step) * g));
}

fn encoded(e: u32, factor: f32, g: f32) -> f32 {
    if (RAW) {
        return g;
    }
    if (ENVELOPE) {
        return clamped(g, bound_word(e, bucket(abs(g), run.first_bucket)));
    }
    return factor * g;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= STORED_LENGTH) {
        return;
    }
    let count = chunk_count();
    var sum = 0.0;
    var exact = 0;
    for (var e = 0u; e < count; e++) {
        let factor = work[e * STRIDE + STATUS + 1u];
        if (factor == 0.0) {
            continue;
        }
        let g = work[e * STRIDE + STORED + i];
        if (EXACT) {
            exact += in_steps(e, factor, g);
        } else {
            sum += encoded(e, factor, g);
        }
    }
    if (EXACT) {
        add_steps(TARGET + i, exact);
    } else {
        add_float(TARGET + i, sum);
    }
}
