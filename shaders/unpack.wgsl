// Zero padding of model::reference::convolution: the image as floats byte / 255, bordered by zeros.

override PADDED: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= FIELD * FIELD) {
        return;
    }
    let y = i / FIELD;
    let x = i % FIELD;
    var value = 0.0;
    if (y >= PADDING && y < PADDING + IMAGE && x >= PADDING && x < PADDING + IMAGE) {
        let pixel = (y - PADDING) * IMAGE + x - PADDING;
        let word = examples[example(id.y) + pixel / 4u];
        value = f32((word >> (8u * (pixel % 4u))) & 255u) / 255.0;
    }
    work[id.y * STRIDE + PADDED + i] = value;
}
