// model::reference::convolution_backward, ∂ℓ/∂x of the second layer: the delta of conv2's 16×13×13
// inputs, which it overwrites: run after conv2_gradient. An invocation computes two rows of an
// input channel. At stride 2 the four parities of a cell (y, x) share the same four output deltas,
// so a vec4 holds the cells (2Y, 2X), (2Y, 2X+1), (2Y+1, 2X), (2Y+1, 2X+1).

override DELTA: u32;
override TARGET: u32;
override WEIGHTS: u32;

// Pairs of rows of an input channel; if the number of rows is odd, the last has one.
override PAIRS: u32 = (POOLED_1 + 1u) / 2u;

// The taps (ky, kx), (ky, kx+1), (ky+1, kx), (ky+1, kx+1) from w = (ky, kx).
fn taps(w: u32) -> vec4<f32> {
    return vec4<f32>(parameters[w], parameters[w + 1u], parameters[w + KERNEL_2], parameters[w + KERNEL_2 + 1u]);
}

fn put(at: u32, below: bool, v: vec4<f32>) {
    work[at] = v.x;
    work[at + 1u] = v.y;
    if (below) {
        work[at + POOLED_1] = v.z;
        work[at + POOLED_1 + 1u] = v.w;
    }
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.x / (CHANNELS_1 * PAIRS);
    if (e >= chunk_count()) {
        return;
    }
    let channel = (id.x / PAIRS) % CHANNELS_1;
    let y = id.x % PAIRS;
    var g0 = vec4<f32>();
    var g1 = g0;
    var g2 = g0;
    var g3 = g0;
    var g4 = g0;
    var g5 = g0;
    // Row y of the deltas meets the taps ky = 0, 1; row y−1 the taps ky = 2, 3. The last row of
    // cells gets nothing.
    for (var above = 0u; above < 2u; above++) {
        if (y < above || y - above >= SIDE_2) {
            continue;
        }
        var w = WEIGHTS + channel * KERNEL_2 * KERNEL_2 + above * 2u * KERNEL_2;
        var d = e * STRIDE + DELTA + (y - above) * SIDE_2;
        for (var o = 0u; o < CHANNELS_2; o++) {
            let near = taps(w);
            let far = taps(w + 2u);
            let d0 = work[d];
            let d1 = work[d + 1u];
            let d2 = work[d + 2u];
            let d3 = work[d + 3u];
            let d4 = work[d + 4u];
            g0 += d0 * near;
            g1 += d1 * near + d0 * far;
            g2 += d2 * near + d1 * far;
            g3 += d3 * near + d2 * far;
            g4 += d4 * near + d3 * far;
            g5 += d4 * far;
            w += TAPS_2;
            d += AREA_2;
        }
    }
    let below = 2u * y + 1u < POOLED_1;
    let at = e * STRIDE + TARGET + channel * POOLED_AREA_1 + 2u * POOLED_1 * y;
    put(at, below, g0);
    put(at + 2u, below, g1);
    put(at + 4u, below, g2);
    put(at + 6u, below, g3);
    put(at + 8u, below, g4);
    put(at + 10u, below, g5);
    work[at + POOLED_1 - 1u] = 0.0;
    if (below) {
        work[at + 2u * POOLED_1 - 1u] = 0.0;
    }
}
