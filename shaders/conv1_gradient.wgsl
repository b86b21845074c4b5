// model::reference::convolution_backward, ∂ℓ/∂w of the first layer: weights [16][8][8] and biases of one example.
// An invocation makes a row of 8 taps for 4 channels, sliding its 8 pixels along: 6 loads for 32 products.

override PADDED: u32;
override DELTA: u32;
override TARGET: u32;

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
    // 8 rows of taps × 4 groups of channels, then 16 biases.
    let e = id.x / 48u;
    if (e >= chunk_count()) {
        return;
    }
    let base = e * STRIDE;
    let part = id.x % 48u;
    if (part >= 32u) {
        let c = part - 32u;
        var sum = 0.0;
        for (var p = 0u; p < 196u; p++) {
            sum += work[base + DELTA + c * 196u + p];
        }
        work[base + TARGET + 1024u + c] = sum;
        return;
    }
    let ky = part % 8u;
    let channel = 4u * (part / 8u);
    var l0 = vec4<f32>();
    var l1 = l0;
    var l2 = l0;
    var l3 = l0;
    var h0 = l0;
    var h1 = l0;
    var h2 = l0;
    var h3 = l0;
    for (var y = 0u; y < 14u; y++) {
        let image = base + PADDED + (2u * y + ky) * 34u;
        let delta = base + DELTA + channel * 196u + y * 14u;
        // Pixels 2x to 2x+7 of the row, two columns short of the first position.
        var low = vec4<f32>(0.0, 0.0, work[image], work[image + 1u]);
        var high = vec4<f32>(work[image + 2u], work[image + 3u], work[image + 4u], work[image + 5u]);
        for (var x = 0u; x < 14u; x++) {
            low = vec4<f32>(low.zw, high.xy);
            high = vec4<f32>(high.zw, work[image + 2u * x + 6u], work[image + 2u * x + 7u]);
            let d = delta + x;
            let d0 = work[d];
            let d1 = work[d + 196u];
            let d2 = work[d + 392u];
            let d3 = work[d + 588u];
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
    let at = base + TARGET + channel * 64u + ky * 8u;
    put(at, l0, h0);
    put(at + 64u, l1, h1);
    put(at + 128u, l2, h2);
    put(at + 192u, l3, h3);
}
