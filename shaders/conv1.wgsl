// model::reference::convolution, first layer: 16 channels of 8×8 taps, stride 2, on the padded
// image, then the activation. An invocation computes 4 neighbouring positions of all channels: 20
// loads for 64 products.

override PADDED: u32;
override TARGET: u32;
override ACTIVATION: u32;

// First pixel of the window of position `p`.
fn corner(p: u32) -> u32 {
    return (p / SIDE_1) * 2u * FIELD + (p % SIDE_1) * 2u;
}

fn taps(channel: u32, t: u32) -> vec4<f32> {
    let w = channel * TAPS_1 + t;
    return vec4<f32>(parameters[w], parameters[w + TAPS_1], parameters[w + 2u * TAPS_1], parameters[w + 3u * TAPS_1]);
}

fn put(at: u32, v: vec4<f32>) {
    work[at] = activate(ACTIVATION, v.x);
    work[at + AREA_1] = activate(ACTIVATION, v.y);
    work[at + 2u * AREA_1] = activate(ACTIVATION, v.z);
    work[at + 3u * AREA_1] = activate(ACTIVATION, v.w);
}

fn put_four(at: u32, v0: vec4<f32>, v1: vec4<f32>, v2: vec4<f32>, v3: vec4<f32>) {
    put(at, v0);
    put(at + 1u, v1);
    put(at + 2u, v2);
    put(at + 3u, v3);
}

fn bias(channel: u32) -> vec4<f32> {
    let b = CHANNELS_1 * TAPS_1 + channel;
    return vec4<f32>(parameters[b], parameters[b + 1u], parameters[b + 2u], parameters[b + 3u]);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.x / (AREA_1 / 4u);
    if (e >= chunk_count()) {
        return;
    }
    let p = 4u * (id.x % (AREA_1 / 4u));
    let image = e * STRIDE + PADDED;
    let c0 = image + corner(p);
    let c1 = image + corner(p + 1u);
    let c2 = image + corner(p + 2u);
    let c3 = image + corner(p + 3u);
    var a0 = bias(0u);
    var a1 = a0;
    var a2 = a0;
    var a3 = a0;
    var b0 = bias(4u);
    var b1 = b0;
    var b2 = b0;
    var b3 = b0;
    var d0 = bias(8u);
    var d1 = d0;
    var d2 = d0;
    var d3 = d0;
    var f0 = bias(12u);
    var f1 = f0;
    var f2 = f0;
    var f3 = f0;
    for (var t = 0u; t < TAPS_1; t++) {
        let shift = (t / KERNEL_1) * FIELD + t % KERNEL_1;
        let x0 = work[c0 + shift];
        let x1 = work[c1 + shift];
        let x2 = work[c2 + shift];
        let x3 = work[c3 + shift];
        let wa = taps(0u, t);
        a0 += x0 * wa;
        a1 += x1 * wa;
        a2 += x2 * wa;
        a3 += x3 * wa;
        let wb = taps(4u, t);
        b0 += x0 * wb;
        b1 += x1 * wb;
        b2 += x2 * wb;
        b3 += x3 * wb;
        let wd = taps(8u, t);
        d0 += x0 * wd;
        d1 += x1 * wd;
        d2 += x2 * wd;
        d3 += x3 * wd;
        let wf = taps(12u, t);
        f0 += x0 * wf;
        f1 += x1 * wf;
        f2 += x2 * wf;
        f3 += x3 * wf;
    }
    let at = e * STRIDE + TARGET + p;
    put_four(at, a0, a1, a2, a3);
    put_four(at + 4u * AREA_1, b0, b1, b2, b3);
    put_four(at + 8u * AREA_1, d0, d1, d2, d3);
    put_four(at + 12u * AREA_1, f0, f1, f2, f3);
}
