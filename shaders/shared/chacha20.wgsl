// mechanism::noise::chacha20_block: the block function of RFC 8439, section 2.3. Row r holds the
// words 4r to 4r+3.

fn rotate_left(x: vec4<u32>, n: u32) -> vec4<u32> {
    return (x << vec4<u32>(n)) | (x >> vec4<u32>(32u - n));
}

fn chacha20_block(key_low: vec4<u32>, key_high: vec4<u32>, counter: u32, nonce: vec3<u32>) -> array<vec4<u32>, 4> {
    // "expand 32-byte k"
    let constants = vec4<u32>(0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u);
    let tail = vec4<u32>(counter, nonce);
    var a = constants;
    var b = key_low;
    var c = key_high;
    var d = tail;
    for (var i = 0u; i < 10u; i++) {
        // Column rounds: four quarter rounds in parallel.
        a += b;
        d = rotate_left(d ^ a, 16u);
        c += d;
        b = rotate_left(b ^ c, 12u);
        a += b;
        d = rotate_left(d ^ a, 8u);
        c += d;
        b = rotate_left(b ^ c, 7u);
        // Diagonal rounds: rotate the rows, do the same, rotate them back.
        b = b.yzwx;
        c = c.zwxy;
        d = d.wxyz;
        a += b;
        d = rotate_left(d ^ a, 16u);
        c += d;
        b = rotate_left(b ^ c, 12u);
        a += b;
        d = rotate_left(d ^ a, 8u);
        c += d;
        b = rotate_left(b ^ c, 7u);
        b = b.wxyz;
        c = c.zwxy;
        d = d.yzwx;
    }
    return array<vec4<u32>, 4>(a + constants, b + key_low, c + key_high, d + tail);
}
