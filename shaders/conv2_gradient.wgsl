// model::reference::convolution_backward, ∂ℓ/∂w of the second layer: weights [32][16][4][4] and
// biases of one example. An invocation computes a row of 4 taps for 8 channels: 12 loads for 32
// products.

override SOURCE: u32;
override DELTA: u32;
override TARGET: u32;

// Rows of taps of an output channel.
override ROWS: u32 = CHANNELS_1 * KERNEL_2;

fn put(at: u32, v: vec4<f32>) {
    work[at] = v.x;
    work[at + 1u] = v.y;
    work[at + 2u] = v.z;
    work[at + 3u] = v.w;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let base = id.y * STRIDE;
    let weights = ROWS * CHANNELS_2 / 8u;
    if (id.x >= weights) {
        let o = id.x - weights;
        if (o < CHANNELS_2) {
            var sum = 0.0;
            for (var p = 0u; p < AREA_2; p++) {
                sum += work[base + DELTA + o * AREA_2 + p];
            }
            work[base + TARGET + CHANNELS_2 * TAPS_2 + o] = sum;
        }
        return;
    }
    let row = id.x % ROWS;
    let channel = 8u * (id.x / ROWS);
    let source = base + SOURCE + (row / KERNEL_2) * POOLED_AREA_1 + (row % KERNEL_2) * POOLED_1;
    let delta = base + DELTA + channel * AREA_2;
    var g0 = vec4<f32>();
    var g1 = g0;
    var g2 = g0;
    var g3 = g0;
    var g4 = g0;
    var g5 = g0;
    var g6 = g0;
    var g7 = g0;
    for (var p = 0u; p < AREA_2; p++) {
        let s = source + (p / SIDE_2) * 2u * POOLED_1 + (p % SIDE_2) * 2u;
        let x = vec4<f32>(work[s], work[s + 1u], work[s + 2u], work[s + 3u]);
        let d = delta + p;
        g0 += work[d] * x;
        g1 += work[d + AREA_2] * x;
        g2 += work[d + 2u * AREA_2] * x;
        g3 += work[d + 3u * AREA_2] * x;
        g4 += work[d + 4u * AREA_2] * x;
        g5 += work[d + 5u * AREA_2] * x;
        g6 += work[d + 6u * AREA_2] * x;
        g7 += work[d + 7u * AREA_2] * x;
    }
    let at = base + TARGET + channel * TAPS_2 + KERNEL_2 * row;
    put(at, g0);
    put(at + TAPS_2, g1);
    put(at + 2u * TAPS_2, g2);
    put(at + 3u * TAPS_2, g3);
    put(at + 4u * TAPS_2, g4);
    put(at + 5u * TAPS_2, g5);
    put(at + 6u * TAPS_2, g6);
    put(at + 7u * TAPS_2, g7);
}
