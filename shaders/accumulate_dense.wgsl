// mechanism::encode::{clip, clamp_by_rank} and the sum over the lot, for a dense layer, whose gradient δ aᵀ is
// made on the fly: Σ over the chunk of the encoded coordinate, in the lot's order. An invocation owns 4 outputs ×
// 4 inputs; the bias follows the last four.

override INPUTS: u32;
override OUTPUTS: u32;
override DELTA: u32;
override TARGET: u32;
override BYTES: bool;
override SOURCE: u32 = 0;
override ENVELOPE: bool;
override RAW: bool;

// Where the bias stands among the inputs.
fn bias() -> u32 {
    return 4u * ((INPUTS + 3u) / 4u);
}

fn inputs(e: u32, k: u32) -> vec4<f32> {
    if (k == bias()) {
        return vec4<f32>(1.0, 0.0, 0.0, 0.0);
    }
    if (BYTES) {
        return values(examples[example(e) + k / 4u]);
    }
    let i = e * STRIDE + SOURCE + k;
    return vec4<f32>(work[i], work[i + 1u], work[i + 2u], work[i + 3u]);
}

fn clamped(e: u32, h: f32) -> f32 {
    let bound = bitcast<f32>(table[HISTOGRAMS + e * BUCKETS + bucket(abs(h))]);
    return clamp(h, -bound, bound);
}

fn encoded(e: u32, factor: f32, delta: f32, a: vec4<f32>) -> vec4<f32> {
    if (RAW) {
        return delta * a;
    }
    if (ENVELOPE) {
        let h = factor * (delta * a);
        return vec4<f32>(clamped(e, h.x), clamped(e, h.y), clamped(e, h.z), clamped(e, h.w));
    }
    return (factor * delta) * a;
}

fn put(o: u32, k: u32, v: vec4<f32>) {
    if (o >= OUTPUTS) {
        return;
    }
    if (k == bias()) {
        sums[TARGET + OUTPUTS * INPUTS + o] += v.x;
        return;
    }
    let at = TARGET + o * INPUTS + k;
    // Features are no multiple of four.
    for (var j = 0u; j < min(4u, INPUTS - k); j++) {
        sums[at + j] += v[j];
    }
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let columns = bias() / 4u + 1u;
    let k = 4u * (id.x % columns);
    let o = 4u * (id.x / columns);
    if (o >= OUTPUTS) {
        return;
    }
    let count = chunk_count();
    let last = OUTPUTS - 1u - o;
    var s0 = vec4<f32>();
    var s1 = s0;
    var s2 = s0;
    var s3 = s0;
    for (var e = 0u; e < count; e++) {
        let factor = work[e * STRIDE + STATUS + 1u];
        if (factor == 0.0) {
            continue;
        }
        let a = inputs(e, k);
        // An input of zero adds nothing, whatever its bound: most of an image is paper.
        if (all(a == vec4<f32>())) {
            continue;
        }
        let d = e * STRIDE + DELTA + o;
        s0 += encoded(e, factor, work[d], a);
        s1 += encoded(e, factor, work[d + min(1u, last)], a);
        s2 += encoded(e, factor, work[d + min(2u, last)], a);
        s3 += encoded(e, factor, work[d + min(3u, last)], a);
    }
    put(o, k, s0);
    put(o + 1u, k, s1);
    put(o + 2u, k, s2);
    put(o + 3u, k, s3);
}
