// model::reference::convolution_backward, ∂ℓ/∂w of the second layer: weights [32][16][4][4] and biases of one
// example. An invocation makes a row of 4 taps for 8 channels: 12 loads for 32 products.

override SOURCE: u32;
override DELTA: u32;
override TARGET: u32;

fn put(at: u32, v: vec4<f32>) {
    work[at] = v.x;
    work[at + 1u] = v.y;
    work[at + 2u] = v.z;
    work[at + 3u] = v.w;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let base = id.y * STRIDE;
    if (id.x >= 256u) {
        let o = id.x - 256u;
        if (o < 32u) {
            var sum = 0.0;
            for (var p = 0u; p < 25u; p++) {
                sum += work[base + DELTA + o * 25u + p];
            }
            work[base + TARGET + 8192u + o] = sum;
        }
        return;
    }
    let row = id.x % 64u;
    let channel = 8u * (id.x / 64u);
    let source = base + SOURCE + (row / 4u) * 169u + (row % 4u) * 13u;
    let delta = base + DELTA + channel * 25u;
    var g0 = vec4<f32>();
    var g1 = g0;
    var g2 = g0;
    var g3 = g0;
    var g4 = g0;
    var g5 = g0;
    var g6 = g0;
    var g7 = g0;
    for (var p = 0u; p < 25u; p++) {
        let s = source + (p / 5u) * 26u + (p % 5u) * 2u;
        let x = vec4<f32>(work[s], work[s + 1u], work[s + 2u], work[s + 3u]);
        let d = delta + p;
        g0 += work[d] * x;
        g1 += work[d + 25u] * x;
        g2 += work[d + 50u] * x;
        g3 += work[d + 75u] * x;
        g4 += work[d + 100u] * x;
        g5 += work[d + 125u] * x;
        g6 += work[d + 150u] * x;
        g7 += work[d + 175u] * x;
    }
    let at = base + TARGET + channel * 256u + 4u * row;
    put(at, g0);
    put(at + 256u, g1);
    put(at + 512u, g2);
    put(at + 768u, g3);
    put(at + 1024u, g4);
    put(at + 1280u, g5);
    put(at + 1536u, g6);
    put(at + 1792u, g7);
}
