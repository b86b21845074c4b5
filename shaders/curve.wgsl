// model::reference::activated of values with a slot of their own; backward,
// model::reference::slope. One invocation per value.

// Forward, f(SOURCE) goes to TARGET; backward, the output's delta (SOURCE) times f′ at VALUES.
override BACK: bool;
override CURVE: u32;
// s, T and o of a logistic curve.
override HEIGHT: f32 = 1.0;
override STEEPNESS: f32 = 1.0;
override OFFSET: f32 = 0.0;

const LOGISTIC: u32 = 5;

fn curve(x: f32) -> f32 {
    if (CURVE != LOGISTIC) {
        return activate(CURVE, x);
    }
    if (magnitude(x) > 0x7f800000u) {
        return x;
    }
    let z = exp(-min(abs(STEEPNESS * x), 80.0));
    return HEIGHT * (select(1.0, z, x < 0.0) / (1.0 + z)) - OFFSET;
}

fn steep(x: f32) -> f32 {
    if (CURVE != LOGISTIC) {
        return slope(CURVE, activate(CURVE, x));
    }
    let z = exp(-min(abs(STEEPNESS * x), 80.0));
    return HEIGHT * STEEPNESS * (z / (1.0 + z)) / (1.0 + z);
}

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
    let source = e * STRIDE + SOURCE + at % EACH;
    let target_value = e * STRIDE + TARGET + at % EACH;
    if (BACK) {
        put_delta(target_value, work[source] * steep(value(target_value)));
    } else {
        put(target_value, curve(work[source]));
    }
}
