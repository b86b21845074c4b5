// mechanism::encode::histogram, for a dense layer's gradient δ aᵀ and δ. An invocation owns an input and runs over
// the outputs; the bias is the input after the last. The buckets are kept for accumulate_dense.wgsl, but those of an input of zero, which
// adds nothing.

override INPUTS: u32;
override OUTPUTS: u32;
override DELTA: u32;
override BYTES: bool;
override SOURCE: u32 = 0;
// Where the layer's words begin among an example's codes.
override CODES: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.y;
    let i = id.x;
    let factor = work[e * STRIDE + STATUS + 1u];
    if (i > INPUTS || factor == 0.0) {
        return;
    }
    var a = 1.0;
    if (i < INPUTS) {
        if (BYTES) {
            a = values(examples[example(e) + i / 4u])[i % 4u];
        } else {
            a = work[e * STRIDE + SOURCE + i];
        }
    }
    let counts = HISTOGRAMS + e * BUCKETS;
    if (a == 0.0) {
        atomicAdd(&tallies[counts], OUTPUTS);
        return;
    }
    var smallest = 0u;
    for (var o = 0u; o < OUTPUTS; o += 2u) {
        var word = 0u;
        for (var k = 0u; k < min(2u, OUTPUTS - o); k++) {
            let b = bucket(abs(factor * (work[e * STRIDE + DELTA + o + k] * a)), run.first_bucket);
            word |= b << (16u * k);
            if (b == 0u) {
                smallest++;
            } else {
                atomicAdd(&tallies[counts + b], 1u);
            }
        }
        atomicStore(&tallies[code_word(e, CODES, INPUTS, o / 2u, i)], word);
    }
    if (smallest > 0u) {
        atomicAdd(&tallies[counts], smallest);
    }
}
