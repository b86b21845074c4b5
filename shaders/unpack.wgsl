// model::reference::convolution's zero padding: the image as floats byte / 255 on a 34×34 field with a border of 3
// zeros.

override PADDED: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= 34u * 34u) {
        return;
    }
    let y = i / 34u;
    let x = i % 34u;
    var value = 0.0;
    if (y >= 3u && y < 31u && x >= 3u && x < 31u) {
        let pixel = (y - 3u) * 28u + x - 3u;
        let word = examples[example(id.y) + pixel / 4u];
        value = f32((word >> (8u * (pixel % 4u))) & 255u) / 255.0;
    }
    work[id.y * STRIDE + PADDED + i] = value;
}
