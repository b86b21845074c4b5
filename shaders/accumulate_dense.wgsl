// mechanism::encode::{clip, clamp_by_rank} and the sum over the lot, for a dense layer, whose gradient δ aᵀ is
// made on the fly: Σ over the chunk of the encoded coordinate. An invocation owns 4 outputs × 4 inputs; the bias follows the last four.
// Sums that noise is added to are of whole steps, which no compiler can round or reorder to others; without a guarantee they are f32's, in
// the lot's order.

override INPUTS: u32;
override OUTPUTS: u32;
override DELTA: u32;
override TARGET: u32;
override BYTES: bool;
override SOURCE: u32 = 0;
override ENVELOPE: bool;
override RAW: bool;
// Where the layer's words begin among an example's codes.
override CODES: u32 = 0;

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

// Buckets of outputs 2·pair and 2·pair + 1 at four inputs. Those of an input of zero are none, and of no effect.
fn codes(e: u32, pair: u32, k: u32) -> vec4<u32> {
    if (!ENVELOPE) {
        return vec4<u32>();
    }
    let at = code_word(e, CODES, INPUTS, pair, min(k, INPUTS));
    return vec4<u32>(table[at], table[at + 1u], table[at + 2u], table[at + 3u]);
}

fn in_steps(e: u32, factor: f32, delta: f32, a: vec4<f32>, code: vec4<u32>) -> vec4<i32> {
    if (ENVELOPE) {
        let h = factor * (delta * a);
        return vec4<i32>(
            clamped_steps(h.x, bound_word(e, code.x)),
            clamped_steps(h.y, bound_word(e, code.y)),
            clamped_steps(h.z, bound_word(e, code.z)),
            clamped_steps(h.w, bound_word(e, code.w)),
        );
    }
    return vec4<i32>(round((factor * run.inverse_step * delta) * a));
}

fn encoded(e: u32, factor: f32, delta: f32, a: vec4<f32>, code: vec4<u32>) -> vec4<f32> {
    if (RAW) {
        return delta * a;
    }
    if (ENVELOPE) {
        let h = factor * (delta * a);
        return vec4<f32>(
            clamped(h.x, bound_word(e, code.x)),
            clamped(h.y, bound_word(e, code.y)),
            clamped(h.z, bound_word(e, code.z)),
            clamped(h.w, bound_word(e, code.w)),
        );
    }
    return (factor * delta) * a;
}

fn put(o: u32, k: u32, v: vec4<f32>, exact: vec4<i32>) {
    if (o >= OUTPUTS) {
        return;
    }
    let is_bias = k == bias();
    let at = TARGET + select(o * INPUTS + k, OUTPUTS * INPUTS + o, is_bias);
    // Features are no multiple of four.
    let count = select(min(4u, INPUTS - k), 1u, is_bias);
    for (var j = 0u; j < count; j++) {
        if (EXACT) {
            add_steps(at + j, exact[j]);
        } else {
            add_float(at + j, v[j]);
        }
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
    var t0 = vec4<i32>();
    var t1 = t0;
    var t2 = t0;
    var t3 = t0;
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
        let d0 = work[d];
        let d1 = work[d + min(1u, last)];
        let d2 = work[d + min(2u, last)];
        let d3 = work[d + min(3u, last)];
        let low = codes(e, o / 2u, k);
        let high = codes(e, o / 2u + 1u, k);
        if (EXACT) {
            t0 += in_steps(e, factor, d0, a, low & vec4<u32>(65535u));
            t1 += in_steps(e, factor, d1, a, low >> vec4<u32>(16u));
            t2 += in_steps(e, factor, d2, a, high & vec4<u32>(65535u));
            t3 += in_steps(e, factor, d3, a, high >> vec4<u32>(16u));
        } else {
            s0 += encoded(e, factor, d0, a, low & vec4<u32>(65535u));
            s1 += encoded(e, factor, d1, a, low >> vec4<u32>(16u));
            s2 += encoded(e, factor, d2, a, high & vec4<u32>(65535u));
            s3 += encoded(e, factor, d3, a, high >> vec4<u32>(16u));
        }
    }
    put(o, k, s0, t0);
    put(o + 1u, k, s1, t1);
    put(o + 2u, k, s2, t2);
    put(o + 3u, k, s3, t3);
}
