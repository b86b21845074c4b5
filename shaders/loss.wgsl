// model::reference::{softmax, cross_entropy} backward, for any number of classes: from logits
// (SOURCE) to their delta (TARGET). One workgroup per example.

var<workgroup> logits: array<f32, 128>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let base = group.y * STRIDE;
    for (var k = t; k < CLASSES; k += 64u) {
        logits[k] = work[base + SOURCE + k];
    }
    workgroupBarrier();
    // A few reads per invocation cost less than the barriers of a tree.
    var largest = logits[0];
    var all_finite = finite(logits[0]);
    for (var k = 1u; k < CLASSES; k++) {
        largest = max(largest, logits[k]);
        all_finite = all_finite && finite(logits[k]);
    }
    if (t == 0u) {
        work[base + STATUS] = select(0.0, 1.0, all_finite);
    }
    var total = 0.0;
    for (var k = 0u; k < CLASSES; k++) {
        total += exp(logits[k] - largest);
    }
    let label = examples[example(group.y) + EXAMPLE_WORDS - 1u];
    for (var k = t; k < CLASSES; k += 64u) {
        work[base + TARGET + k] = exp(logits[k] - largest) / total - select(0.0, 1.0, k == label);
    }
}
