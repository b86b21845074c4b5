// model::reference::convolution_backward, ∂ℓ/∂w of the first layer: weights [16][8][8] and biases
// of one example. An invocation computes a row of 8 taps for 4 channels, sliding its 8 pixels
// along: 6 loads for 32 products.

override PADDED: u32;
override DELTA: u32;
override TARGET: u32;

// Rows of taps times groups of four channels; biases follow.
override ROWS: u32 = KERNEL_1 * CHANNELS_1 / 4u;

fn put(at: u32, low: vec4<f32>, high: vec4<f32>) {
    work[at] = low.x;
    work[at + 1u] = low.y;
    work[at + 2u] = low.z;
    work[at + 3u] = low.w;
    work[at + 4u] = high.x;
    work[at + 5u] = high.y;
    work[at + 6u] = high.z;
    work[at + 7u] = high.w;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.x / (ROWS + CHANNELS_1);
    if (e >= chunk_count()) {
        return;
    }
    let base = e * STRIDE;
    let part = id.x % (ROWS + CHANNELS_1);
    if (part >= ROWS) {
        let c = part - ROWS;
        var sum = 0.0;
        for (var p = 0u; p < AREA_1; p++) {
            sum += work[base + DELTA + c * AREA_1 + p];
        }
        work[base + TARGET + CHANNELS_1 * TAPS_1 + c] = sum;
        return;
    }
    let ky = part % KERNEL_1;
    let channel = 4u * (part / KERNEL_1);
    var l0 = vec4<f32>();
    var l1 = l0;
    var l2 = l0;
    var l3 = l0;
    var h0 = l0;
    var h1 = l0;
    var h2 = l0;
    var h3 = l0;
    for (var y = 0u; y < SIDE_1; y++) {
        let image = base + PADDED + (2u * y + ky) * FIELD;
        let delta = base + DELTA + channel * AREA_1 + y * SIDE_1;
        // Pixels 2x to 2x+7 of the row, from two columns before the first position.
        var low = vec4<f32>(0.0, 0.0, work[image], work[image + 1u]);
        var high = vec4<f32>(work[image + 2u], work[image + 3u], work[image + 4u], work[image + 5u]);
        for (var x = 0u; x < SIDE_1; x++) {
            low = vec4<f32>(low.zw, high.xy);
            high = vec4<f32>(high.zw, work[image + 2u * x + 6u], work[image + 2u * x + 7u]);
            let d = delta + x;
            let d0 = work[d];
            let d1 = work[d + AREA_1];
            let d2 = work[d + 2u * AREA_1];
            let d3 = work[d + 3u * AREA_1];
            l0 += d0 * low;
            h0 += d0 * high;
            l1 += d1 * low;
            h1 += d1 * high;
            l2 += d2 * low;
            h2 += d2 * high;
            l3 += d3 * low;
            h3 += d3 * high;
        }
    }
    let at = base + TARGET + channel * TAPS_1 + ky * KERNEL_1;
    put(at, l0, h0);
    put(at + TAPS_1, l1, h1);
    put(at + 2u * TAPS_1, l2, h2);
    put(at + 3u * TAPS_1, l3, h3);
}
