// mechanism::encode::histogram for a dense layer's gradient δ aᵀ and δ. An invocation owns an input
// and loops over the outputs; the bias is the input after the last.

override INPUTS: u32;
override OUTPUTS: u32;
// The deltas times the example's factor (norm.wgsl).
override SCALED: u32;
override BYTES: bool;
override SOURCE: u32 = 0;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.y;
    let i = id.x;
    if (i > INPUTS || work[e * STRIDE + STATUS + 1u] == 0.0) {
        return;
    }
    var a = magnitude(one(BYTES));
    if (i < INPUTS) {
        if (BYTES) {
            a = magnitude(whole(examples[example(e) + i / 4u])[i % 4u]);
        } else {
            a = magnitude(work[e * STRIDE + SOURCE + i]);
        }
    }
    let counts = HISTOGRAMS + e * BUCKETS;
    // An input of zero adds nothing, whatever its bound.
    if (a == 0u) {
        atomicAdd(&tallies[counts], OUTPUTS);
        return;
    }
    // The smallest bucket, by far the fullest, is counted separately.
    var smallest = 0u;
    for (var o = 0u; o < OUTPUTS; o++) {
        let b = bucket_of_product(magnitude(work[e * STRIDE + SCALED + o]), a, BYTES, run.first_bucket);
        if (b == 0u) {
            smallest++;
        } else {
            atomicAdd(&tallies[counts + b], 1u);
        }
    }
    if (smallest > 0u) {
        atomicAdd(&tallies[counts], smallest);
    }
}
