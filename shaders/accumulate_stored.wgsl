// mechanism::encode::{clip, clamp_by_rank} and the sum over the lot, for gradients in `work` (the
// convolutions'): Σ over the chunk of the encoded coordinate. An invocation owns a coordinate of a
// slice. Sums that noise is added to are of whole steps, which no compiler can round or reorder
// differently.

override STORED: u32;
override STORED_LENGTH: u32;
// Ends of the first stored layers, and whether there are more than four.
override FIRST_STORED: u32;
override SECOND_STORED: u32;
override THIRD_STORED: u32;
override MANY: bool = false;
override FOURTH_STORED: u32 = 0;
override FIFTH_STORED: u32 = 0;
override SIXTH_STORED: u32 = 0;
override SEVENTH_STORED: u32 = 0;
// First coordinate of the sum.
override TARGET: u32;
// Clamp what histogram_stored.wgsl scaled into the example's envelope; else multiply by its factor.
override ENVELOPE: bool;
// Add the gradients unchanged (the teaching view's first picture).
override RAW: bool;

fn encoded(e: u32, factor: f32, g: f32) -> f32 {
    if (RAW) {
        return g;
    }
    var h = factor * g;
    if (ENVELOPE) {
        let psi = bound(e, bucket(abs(g), run.first_bucket));
        h = clamp(g, -psi, psi);
    }
    if (EXACT) {
        return round(h);
    }
    return h;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= STORED_LENGTH) {
        return;
    }
    var layer = select(0u, 1u, i >= FIRST_STORED) + select(0u, 1u, i >= SECOND_STORED) + select(0u, 1u, i >= THIRD_STORED);
    if (MANY) {
        layer += select(0u, 1u, i >= FOURTH_STORED) + select(0u, 1u, i >= FIFTH_STORED);
        layer += select(0u, 1u, i >= SIXTH_STORED) + select(0u, 1u, i >= SEVENTH_STORED);
    }
    let end = min((id.y + 1u) * SLICE, chunk_count());
    for (var slot = id.y * SLICE; slot < end; slot += SLOT) {
        var sum = 0.0;
        for (var e = slot; e < min(slot + SLOT, end); e++) {
            let factor = work[e * STRIDE + STATUS + 1u + layer];
            if (factor != 0.0) {
                sum += encoded(e, factor, work[e * STRIDE + STORED + i]);
            }
        }
        add(TARGET + i, sum);
    }
}
