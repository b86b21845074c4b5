// model::reference::dense: activation(W x + b) for the whole chunk. An invocation computes 4
// examples × 4 outputs: 20 loads (bytes) for 64 products. If the inputs are not a multiple of four,
// they are followed by zeros, which meet weights of the next row, or biases.

override INPUTS: u32;
override OUTPUTS: u32;
override WEIGHTS: u32;
override TARGET: u32;
override ACTIVATION: u32;
// Whether inputs are the example's bytes, or floats at SOURCE.
override BYTES: bool;
override SOURCE: u32 = 0;

fn start(e: u32) -> u32 {
    if (BYTES) {
        return example(e);
    }
    return e * STRIDE + SOURCE;
}

fn inputs(base: u32, k: u32) -> vec4<f32> {
    if (BYTES) {
        return values(examples[base + k / 4u]);
    }
    let i = base + k;
    return vec4<f32>(work[i], work[i + 1u], work[i + 2u], work[i + 3u]);
}

fn weights(i: u32) -> vec4<f32> {
    return vec4<f32>(parameters[i], parameters[i + 1u], parameters[i + 2u], parameters[i + 3u]);
}

fn put(e: u32, o: u32, v: vec4<f32>) {
    let at = e * STRIDE + TARGET + o;
    for (var k = 0u; k < min(4u, OUTPUTS - o); k++) {
        work[at + k] = activate(ACTIVATION, v[k] + parameters[WEIGHTS + OUTPUTS * INPUTS + o + k]);
    }
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let count = chunk_count();
    let tiles = (count + 3u) / 4u;
    let e = 4u * (id.x % tiles);
    let o = 4u * (id.x / tiles);
    if (o >= OUTPUTS) {
        return;
    }
    let x0 = start(e);
    let x1 = start(min(e + 1u, count - 1u));
    let x2 = start(min(e + 2u, count - 1u));
    let x3 = start(min(e + 3u, count - 1u));
    let w0 = WEIGHTS + INPUTS * o;
    let w1 = WEIGHTS + INPUTS * min(o + 1u, OUTPUTS - 1u);
    let w2 = WEIGHTS + INPUTS * min(o + 2u, OUTPUTS - 1u);
    let w3 = WEIGHTS + INPUTS * min(o + 3u, OUTPUTS - 1u);
    var y0 = vec4<f32>();
    var y1 = y0;
    var y2 = y0;
    var y3 = y0;
    for (var k = 0u; k < INPUTS; k += 4u) {
        let u0 = weights(w0 + k);
        let u1 = weights(w1 + k);
        let u2 = weights(w2 + k);
        let u3 = weights(w3 + k);
        let v0 = inputs(x0, k);
        y0 += vec4<f32>(dot(u0, v0), dot(u1, v0), dot(u2, v0), dot(u3, v0));
        let v1 = inputs(x1, k);
        y1 += vec4<f32>(dot(u0, v1), dot(u1, v1), dot(u2, v1), dot(u3, v1));
        let v2 = inputs(x2, k);
        y2 += vec4<f32>(dot(u0, v2), dot(u1, v2), dot(u2, v2), dot(u3, v2));
        let v3 = inputs(x3, k);
        y3 += vec4<f32>(dot(u0, v3), dot(u1, v3), dot(u2, v3), dot(u3, v3));
    }
    put(e, o, y0);
    if (e + 1u < count) {
        put(e + 1u, o, y1);
    }
    if (e + 2u < count) {
        put(e + 2u, o, y2);
    }
    if (e + 3u < count) {
        put(e + 3u, o, y3);
    }
}
