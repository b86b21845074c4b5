// mechanism::encode::{clip, clamp_by_rank} and the sum over the lot, for a dense layer, whose
// gradient δ aᵀ is computed on the fly: Σ over the chunk of the encoded coordinate. An invocation
// owns 4 outputs × 4 inputs of a slice; the bias follows the last four. Sums that noise is added to
// are of whole steps, which no compiler can round or reorder differently.

override INPUTS: u32;
override OUTPUTS: u32;
override DELTA: u32;
override TARGET: u32;
override BYTES: bool;
override SOURCE: u32 = 0;
override ENVELOPE: bool;
override RAW: bool;
// The deltas times the example's factor (norm.wgsl).
override SCALED: u32;

// Place of the bias among the inputs.
fn bias() -> u32 {
    return 4u * ((INPUTS + 3u) / 4u);
}

// Four inputs; from bytes, whole numbers.
fn inputs(e: u32, k: u32) -> vec4<f32> {
    if (k == bias()) {
        return vec4<f32>(one(BYTES), 0.0, 0.0, 0.0);
    }
    if (BYTES) {
        return whole(examples[example(e) + k / 4u]);
    }
    let i = e * STRIDE + SOURCE + k;
    return vec4<f32>(work[i], work[i + 1u], work[i + 2u], work[i + 3u]);
}

// Uses the buckets that histogram_dense.wgsl counted.
fn bounds(e: u32, delta: f32, a: vec4<f32>) -> vec4<f32> {
    let x = magnitude(delta);
    let y = bitcast<vec4<u32>>(a) & vec4<u32>(0x7fffffffu);
    return vec4<f32>(
        bound(e, bucket_of_product(x, y.x, BYTES, run.first_bucket)),
        bound(e, bucket_of_product(x, y.y, BYTES, run.first_bucket)),
        bound(e, bucket_of_product(x, y.z, BYTES, run.first_bucket)),
        bound(e, bucket_of_product(x, y.w, BYTES, run.first_bucket)),
    );
}

fn encoded(e: u32, o: u32, a: vec4<f32>) -> vec4<f32> {
    if (RAW) {
        return (unit(BYTES) * work[e * STRIDE + DELTA + o]) * a;
    }
    let delta = work[e * STRIDE + SCALED + o];
    var h = delta * a;
    if (ENVELOPE) {
        let psi = bounds(e, delta, a);
        h = clamp(h, -psi, psi);
    }
    if (EXACT) {
        return round(h);
    }
    return h;
}

fn put(o: u32, k: u32, v: vec4<f32>) {
    if (o >= OUTPUTS) {
        return;
    }
    let is_bias = k == bias();
    let at = TARGET + select(o * INPUTS + k, OUTPUTS * INPUTS + o, is_bias);
    // The number of features is no multiple of four.
    let count = select(min(4u, INPUTS - k), 1u, is_bias);
    for (var j = 0u; j < count; j++) {
        add(at + j, v[j]);
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
    let last = OUTPUTS - 1u - o;
    let end = min((id.y + 1u) * SLICE, chunk_count());
    for (var slot = id.y * SLICE; slot < end; slot += SLOT) {
        var s0 = vec4<f32>();
        var s1 = s0;
        var s2 = s0;
        var s3 = s0;
        for (var e = slot; e < min(slot + SLOT, end); e++) {
            if (work[e * STRIDE + STATUS + 1u] == 0.0) {
                continue;
            }
            let a = inputs(e, k);
            // An input of zero adds nothing, whatever its bound: most of an image is paper.
            if (all(a == vec4<f32>())) {
                continue;
            }
            s0 += encoded(e, o, a);
            s1 += encoded(e, o + min(1u, last), a);
            s2 += encoded(e, o + min(2u, last), a);
            s3 += encoded(e, o + min(3u, last), a);
        }
        put(o, k, s0);
        put(o + 1u, k, s1);
        put(o + 2u, k, s2);
        put(o + 3u, k, s3);
    }
}
