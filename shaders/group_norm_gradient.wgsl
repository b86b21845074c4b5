// model::reference::group_norm_backward, ∂ℓ/∂γ and ∂ℓ/∂β from the output's delta (SOURCE). One
// invocation per channel.

override AREA: u32;
override UNIT_SLOT: u32;

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
    var factor = 0.0;
    var summand = 0.0;
    for (var i = channel * AREA; i < (channel + 1u) * AREA; i++) {
        let delta = work[base + SOURCE + i];
        factor += delta * work[base + UNIT_SLOT + i];
        summand += delta;
    }
    work[base + TARGET + channel] = factor;
    work[base + TARGET + EACH + channel] = summand;
}
