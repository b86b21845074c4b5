// mechanism::denoise::smooth: a workgroup smooths the weights of a unit of the first layer for its
// pixels: transform (H x H), multiply by gains, transform back. `tails` holds (cos +
// sin)(2πj/SIDE), then 2 − 2cos(2πk/SIDE).

override SIDE: u32;

const MOST: u32 = 784;
var<workgroup> plane: array<f32, MOST>;
var<workgroup> turned: array<f32, MOST>;

// Entry `at` of the columns' transforms of `plane`, one per row.
fn columns(at: u32) -> f32 {
    let k = at % SIDE;
    let column = at / SIDE;
    var sum = 0.0;
    var angle = 0u;
    for (var row = 0u; row < SIDE; row++) {
        sum += tails[angle] * plane[row * SIDE + column];
        angle += k;
        angle = select(angle, angle - SIDE, angle >= SIDE);
    }
    return sum;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let area = SIDE * SIDE;
    let first = group.x * area;
    for (var at = t; at < area; at += 256u) {
        plane[at] = noisy[first + at];
    }
    // Each pass transposes: two passes give coefficients, four the plane again.
    for (var times = 0u; times < 4u; times++) {
        workgroupBarrier();
        for (var at = t; at < area; at += 256u) {
            turned[at] = columns(at);
        }
        workgroupBarrier();
        for (var at = t; at < area; at += 256u) {
            var value = turned[at];
            if (times == 1u) {
                let curvature = tails[SIDE + at / SIDE] + tails[SIDE + at % SIDE];
                value /= f32(area) * (1.0 + release.denoise * curvature);
            }
            plane[at] = value;
        }
    }
    workgroupBarrier();
    for (var at = t; at < area; at += 256u) {
        values[first + at] = bitcast<u32>(plane[at]);
    }
}
