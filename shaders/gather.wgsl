// engine::task::LocalSteps of one step: a unit's vector is η times the mean gradient of its
// members, and then replaces an example's gradient in `work`. Adds the chunk's members to the
// vectors of a block of units; one row of workgroups per unit.

// Stored gradients (convolutions), or a dense layer's, the product of two slices.
override STORED: u32 = 0;
override DENSE: bool;
override INPUTS: u32 = 1;
override OUTPUTS: u32 = 0;
override DELTA: u32 = 0;
override BYTES: bool = false;
override SOURCE: u32 = 0;
// Number of coordinates, and the first of them.
override LENGTH: u32;
override TARGET: u32;
// As STRIDE and STATUS of an example, for a unit's vector.
override VECTOR_STRIDE: u32;
override VECTOR_STATUS: u32;

// Ends of the units' members in `lot`, after a zero.
@group(0) @binding(2) var<storage, read> ends: array<u32>;
@group(0) @binding(4) var<storage, read_write> vectors: array<f32>;

fn gradient(e: u32, i: u32) -> f32 {
    let base = e * STRIDE;
    if (!DENSE) {
        return work[base + STORED + i];
    }
    let weights = INPUTS * OUTPUTS;
    if (i >= weights) {
        return work[base + DELTA + i - weights];
    }
    let delta = work[base + DELTA + i / INPUTS];
    let k = i % INPUTS;
    if (BYTES) {
        return delta * unit(BYTES) * whole(examples[example(e) + k / 4u])[k % 4u];
    }
    return delta * work[base + SOURCE + k];
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let i = id.x;
    let first = ends[chunk.unit + group.y];
    let end = ends[chunk.unit + group.y + 1u];
    let here = max(first, chunk.first);
    let last = min(end, chunk.first + chunk.length);
    if (i >= LENGTH || here >= last) {
        return;
    }
    let base = group.y * VECTOR_STRIDE;
    let at = base + TARGET + i;
    let share = run.rate / f32(end - first);
    var sum = 0.0;
    if (here > first) {
        sum = vectors[at];
    }
    for (var place = here; place < last; place++) {
        sum += share * gradient(place - chunk.first, i);
    }
    vectors[at] = sum;
    // One member with non-finite logits makes the unit non-finite.
    if (TARGET + i == 0u) {
        var whole_unit = 1.0;
        if (here > first) {
            whole_unit = vectors[base + VECTOR_STATUS];
        }
        for (var place = here; place < last; place++) {
            whole_unit *= work[(place - chunk.first) * STRIDE + STATUS];
        }
        vectors[base + VECTOR_STATUS] = whole_unit;
    }
}
