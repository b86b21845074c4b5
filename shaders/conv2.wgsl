// model::reference::convolution, second layer: 32 channels of 16×4×4 taps, stride 2, then the
// activation. An invocation computes a row of 5 positions of 8 channels: 13 loads for 40 products.

override SOURCE: u32;
override TARGET: u32;
override WEIGHTS: u32;
override ACTIVATION: u32;

fn column(w: u32) -> vec4<f32> {
    return vec4<f32>(parameters[w], parameters[w + TAPS_2], parameters[w + 2u * TAPS_2], parameters[w + 3u * TAPS_2]);
}

fn put(at: u32, v: vec4<f32>) {
    work[at] = activate(ACTIVATION, v.x);
    work[at + AREA_2] = activate(ACTIVATION, v.y);
    work[at + 2u * AREA_2] = activate(ACTIVATION, v.z);
    work[at + 3u * AREA_2] = activate(ACTIVATION, v.w);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.x / (CHANNELS_2 / 8u * SIDE_2);
    if (e >= chunk_count()) {
        return;
    }
    let channel = 8u * ((id.x / SIDE_2) % (CHANNELS_2 / 8u));
    let y = id.x % SIDE_2;
    let biases = WEIGHTS + CHANNELS_2 * TAPS_2 + channel;
    var a0 = vec4<f32>(parameters[biases], parameters[biases + 1u], parameters[biases + 2u], parameters[biases + 3u]);
    var a1 = a0;
    var a2 = a0;
    var a3 = a0;
    var a4 = a0;
    var b0 =
        vec4<f32>(parameters[biases + 4u], parameters[biases + 5u], parameters[biases + 6u], parameters[biases + 7u]);
    var b1 = b0;
    var b2 = b0;
    var b3 = b0;
    var b4 = b0;
    // One row of taps of an input channel at a time.
    for (var r = 0u; r < CHANNELS_1 * KERNEL_2; r++) {
        let source = e * STRIDE + SOURCE + (r / KERNEL_2) * POOLED_AREA_1 + (2u * y + r % KERNEL_2) * POOLED_1;
        let weights = WEIGHTS + channel * TAPS_2 + KERNEL_2 * r;
        for (var k = 0u; k < KERNEL_2; k++) {
            let w = column(weights + k);
            let v = column(weights + k + 4u * TAPS_2);
            let x0 = work[source + k];
            let x1 = work[source + k + 2u];
            let x2 = work[source + k + 4u];
            let x3 = work[source + k + 6u];
            let x4 = work[source + k + 8u];
            a0 += x0 * w;
            a1 += x1 * w;
            a2 += x2 * w;
            a3 += x3 * w;
            a4 += x4 * w;
            b0 += x0 * v;
            b1 += x1 * v;
            b2 += x2 * v;
            b3 += x3 * v;
            b4 += x4 * v;
        }
    }
    let at = e * STRIDE + TARGET + channel * AREA_2 + y * SIDE_2;
    put(at, a0);
    put(at + 1u, a1);
    put(at + 2u, a2);
    put(at + 3u, a3);
    put(at + 4u, a4);
    put(at + 4u * AREA_2, b0);
    put(at + 4u * AREA_2 + 1u, b1);
    put(at + 4u * AREA_2 + 2u, b2);
    put(at + 4u * AREA_2 + 3u, b3);
    put(at + 4u * AREA_2 + 4u, b4);
}
