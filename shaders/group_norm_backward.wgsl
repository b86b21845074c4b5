// model::reference::group_norm_backward, ∂ℓ/∂x from the output's delta (SOURCE) and the sums that
// group_norm_gradient.wgsl stored for each channel. One workgroup per group of an example.

override CHANNELS: u32;
override GROUPS: u32;
override AREA: u32;
override WEIGHTS: u32;
override UNIT_SLOT: u32;
override INVERSE: u32;
// ∂ℓ/∂γ of each channel, then ∂ℓ/∂β.
override SUMS: u32;

var<workgroup> partial: array<vec2<f32>, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let base = group.y * STRIDE;
    let own = CHANNELS / GROUPS;
    // Σ e and Σ e·u over the group, with e = γ·δ.
    var sums = vec2<f32>();
    for (var channel = group.x * own + t; channel < (group.x + 1u) * own; channel += 64u) {
        let both = vec2<f32>(work[base + SUMS + CHANNELS + channel], work[base + SUMS + channel]);
        sums += parameters[WEIGHTS + channel] * both;
    }
    partial[t] = sums;
    for (var half = 32u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if (t < half) {
            partial[t] += partial[t + half];
        }
    }
    workgroupBarrier();
    let size = own * AREA;
    let means = partial[0] / f32(size);
    let inverse = work[base + INVERSE + group.x];
    for (var i = group.x * size + t; i < (group.x + 1u) * size; i += 64u) {
        let e = parameters[WEIGHTS + i / AREA] * work[base + SOURCE + i];
        put_delta(base + TARGET + i, (e - means.x - work[base + UNIT_SLOT + i] * means.y) * inverse);
    }
}
