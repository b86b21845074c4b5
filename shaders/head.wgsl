// model::reference::{dense, softmax, dense_backward} at the end of every named model: the last
// layer's logits if not yet computed, softmax cross-entropy's delta, and the delta of the hidden
// layer before it. One workgroup per example.

// Hidden units before the last layer; 0: the logits are already computed (linear model).
override HIDDEN: u32;
override HIDDEN_SOURCE: u32;
override HIDDEN_DELTA: u32;
override WEIGHTS: u32;
override LOGITS: u32;
override DELTA: u32;
override ACTIVATION: u32;

var<workgroup> logits: array<f32, 10>;
var<workgroup> deltas: array<f32, 10>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let base = group.y * STRIDE;
    if (t < 10u) {
        var logit = 0.0;
        if (HIDDEN > 0u) {
            logit = parameters[WEIGHTS + 10u * HIDDEN + t];
            for (var h = 0u; h < HIDDEN; h++) {
                logit += parameters[WEIGHTS + t * HIDDEN + h] * work[base + HIDDEN_SOURCE + h];
            }
            work[base + LOGITS + t] = logit;
        } else {
            logit = work[base + LOGITS + t];
        }
        logits[t] = logit;
    }
    workgroupBarrier();
    var largest = logits[0];
    var all_finite = finite(logits[0]);
    for (var k = 1u; k < 10u; k++) {
        largest = max(largest, logits[k]);
        all_finite = all_finite && finite(logits[k]);
    }
    if (t == 0u) {
        work[base + STATUS] = select(0.0, 1.0, all_finite);
    }
    if (t < 10u) {
        var total = 0.0;
        for (var k = 0u; k < 10u; k++) {
            total += exp(logits[k] - largest);
        }
        let label = examples[example(group.y) + EXAMPLE_WORDS - 1u];
        let delta = exp(logits[t] - largest) / total - select(0.0, 1.0, t == label);
        deltas[t] = delta;
        work[base + DELTA + t] = delta;
    }
    workgroupBarrier();
    for (var h = t; h < HIDDEN; h += 32u) {
        var delta = 0.0;
        for (var k = 0u; k < 10u; k++) {
            delta += parameters[WEIGHTS + k * HIDDEN + h] * deltas[k];
        }
        work[base + HIDDEN_DELTA + h] = delta * slope(ACTIVATION, work[base + HIDDEN_SOURCE + h]);
    }
}
