// model::reference::normalised, then a factor and a summand per channel, and the activation. One
// workgroup per group of channels of an example.

override CHANNELS: u32;
override GROUPS: u32;
// Values of a channel.
override AREA: u32;
override WEIGHTS: u32;
// Values before factors and summands, and each group's inverse deviation.
override UNIT_SLOT: u32;
override INVERSE: u32;
override FLOOR: f32;

var<workgroup> partial: array<f32, 64>;

// The sum over the workgroup, for all invocations.
fn total(t: u32, own: f32) -> f32 {
    workgroupBarrier();
    partial[t] = own;
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (t < half) {
            partial[t] += partial[t + half];
        }
    }
    workgroupBarrier();
    return partial[0];
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let base = group.y * STRIDE;
    let size = CHANNELS / GROUPS * AREA;
    let first = group.x * size;
    // A pivot makes equal values exactly 0: a ReLU next would turn rounding errors into a step.
    let pivot = work[base + SOURCE + first];
    var own = 0.0;
    for (var i = t; i < size; i += 64u) {
        own += work[base + SOURCE + first + i] - pivot;
    }
    let mean = total(t, own) / f32(size);
    // A second mean removes the rounding error of the first.
    own = 0.0;
    for (var i = t; i < size; i += 64u) {
        own += (work[base + SOURCE + first + i] - pivot) - mean;
    }
    let rest = total(t, own) / f32(size);
    own = 0.0;
    for (var i = t; i < size; i += 64u) {
        let apart = ((work[base + SOURCE + first + i] - pivot) - mean) - rest;
        own += apart * apart;
    }
    let inverse = 1.0 / sqrt(total(t, own) / f32(size) + FLOOR);
    if (t == 0u) {
        work[base + INVERSE + group.x] = inverse;
    }
    for (var i = t; i < size; i += 64u) {
        let unit_value = (((work[base + SOURCE + first + i] - pivot) - mean) - rest) * inverse;
        let channel = (first + i) / AREA;
        work[base + UNIT_SLOT + first + i] = unit_value;
        put(base + TARGET + first + i, parameters[WEIGHTS + channel] * unit_value + parameters[WEIGHTS + CHANNELS + channel]);
    }
}
