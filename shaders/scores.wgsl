// model::reference::logits of the chunk's examples, CLASSES consecutive words each, for the host.

override LOGITS: u32;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let e = id.x;
    if (e >= chunk_count()) {
        return;
    }
    let logits = e * STRIDE + LOGITS;
    for (var k = 0u; k < CLASSES; k++) {
        table[HISTOGRAMS + CLASSES * e + k] = bitcast<u32>(work[logits + k]);
    }
}
