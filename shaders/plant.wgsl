// mechanism::canaries::Canaries::gradient of the current canaries, as vectors that are bounded and
// summed like gradients. Other coordinates were cleared before; one row of workgroups per canary.

// Coordinates of a canary.
override EACH: u32;
// Words before the entries of the gradients.
override VALUES: u32;

// The canaries that a step drew: twice each number, plus one if it is turned round.
@group(0) @binding(1) var<storage, read> drawn: array<u32>;
// Coordinates of all canaries, one after another, then the bits of their gradients' entries.
@group(0) @binding(2) var<storage, read> canaries: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let k = id.x;
    if (k >= EACH) {
        return;
    }
    let canary = drawn[chunk.first + group.y];
    let at = (canary >> 1u) * EACH + k;
    let value = bitcast<f32>(canaries[VALUES + at]);
    work[group.y * STRIDE + canaries[at]] = select(value, -value, (canary & 1u) == 1u);
    if (k == 0u) {
        work[group.y * STRIDE + STATUS] = 1.0;
    }
}
