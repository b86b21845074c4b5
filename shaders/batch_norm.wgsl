// model::reference::Stage::BatchNorm: channels minus released means, over released deviations, and
// the activation; backward, the output's delta (SOURCE) over the deviation. One invocation per value.

override BACK: bool;
override CHANNELS: u32;
// Values of a channel.
override AREA: u32;
// Variances, then means.
override WEIGHTS: u32;
// Values before the activation.
override UNIT_SLOT: u32;
override FLOOR: f32;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) t: u32,
) {
    let at = invocation(group, groups, t);
    let e = at / EACH;
    if (e >= chunk_count()) {
        return;
    }
    let i = at % EACH;
    let base = e * STRIDE;
    let place = WEIGHTS + i / AREA;
    let inverse = inverse_deviation(parameters[place], FLOOR);
    if (BACK) {
        put_delta(base + TARGET + i, work[base + SOURCE + i] * inverse);
    } else {
        let unit_value = (work[base + SOURCE + i] - parameters[place + CHANNELS]) * inverse;
        work[base + UNIT_SLOT + i] = unit_value;
        put(base + TARGET + i, unit_value);
    }
}
