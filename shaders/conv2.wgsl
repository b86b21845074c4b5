// model::reference::convolution, second layer: 32 channels of 16×4×4 taps, stride 2, then the activation.
// An invocation makes a row of 5 positions of 8 channels: 13 loads for 40 products.

override SOURCE: u32;
override TARGET: u32;
override WEIGHTS: u32;
override ACTIVATION: u32;

fn column(w: u32) -> vec4<f32> {
    return vec4<f32>(parameters[w], parameters[w + 256u], parameters[w + 512u], parameters[w + 768u]);
}

fn put(at: u32, v: vec4<f32>) {
    work[at] = activate(ACTIVATION, v.x);
    work[at + 25u] = activate(ACTIVATION, v.y);
    work[at + 50u] = activate(ACTIVATION, v.z);
    work[at + 75u] = activate(ACTIVATION, v.w);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.x / 20u;
    if (e >= chunk_count()) {
        return;
    }
    let channel = 8u * ((id.x / 5u) % 4u);
    let y = id.x % 5u;
    let biases = WEIGHTS + 8192u + channel;
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
    // 64 rows of 4 taps: 16 input channels by 4.
    for (var r = 0u; r < 64u; r++) {
        let source = e * STRIDE + SOURCE + (r / 4u) * 169u + (2u * y + r % 4u) * 13u;
        let weights = WEIGHTS + channel * 256u + 4u * r;
        for (var k = 0u; k < 4u; k++) {
            let w = column(weights + k);
            let v = column(weights + k + 1024u);
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
    let at = e * STRIDE + TARGET + channel * 25u + y * 5u;
    put(at, a0);
    put(at + 1u, a1);
    put(at + 2u, a2);
    put(at + 3u, a3);
    put(at + 4u, a4);
    put(at + 100u, b0);
    put(at + 101u, b1);
    put(at + 102u, b2);
    put(at + 103u, b3);
    put(at + 104u, b4);
}
