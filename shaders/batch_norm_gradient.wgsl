// model::reference::batch_norm_backward, the gradients of variances and means, which lead them to
// the example's. One invocation per channel.

override CHANNELS: u32;
override AREA: u32;
override WEIGHTS: u32;
override UNIT_SLOT: u32;
override FLOOR: f32;
override SHARE: f32;

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
    let channel = at % EACH;
    let base = e * STRIDE;
    let variance = parameters[WEIGHTS + channel];
    let inverse = inverse_deviation(variance, FLOOR);
    var sum = 0.0;
    var square = 0.0;
    for (var i = channel * AREA; i < (channel + 1u) * AREA; i++) {
        let apart = work[base + UNIT_SLOT + i] / inverse;
        sum += apart;
        square += apart * apart;
    }
    work[base + TARGET + channel] = SHARE * (variance - square / f32(AREA));
    work[base + TARGET + CHANNELS + channel] = -SHARE * sum / f32(AREA);
}
