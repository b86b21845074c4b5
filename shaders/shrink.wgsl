// mechanism::denoise::{james_stein, linear}: 1 − release.denoise / ‖noisy‖², at least 0, in place
// of the distance. One workgroup; 256 partial sums and a tree keep rounding below the noise.

var<workgroup> partial: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) t: u32) {
    var sum = 0.0;
    for (var i = t; i < release.dimension; i += 256u) {
        sum += noisy[i] * noisy[i];
    }
    partial[t] = sum;
    workgroupBarrier();
    for (var half = 128u; half > 0u; half /= 2u) {
        if (t < half) {
            partial[t] += partial[t + half];
        }
        workgroupBarrier();
    }
    if (t > 0u) {
        return;
    }
    // A non-finite sum gives 0: the first comparison fails for a NaN, the second for an infinity.
    let all = partial[0];
    var factor = 0u;
    if (all > release.denoise && all < 3.0e38) {
        factor = u32(min((1.0 - release.denoise / all) / UNIT, 4294967040.0));
    }
    atomicStore(&bins[DISTANCE], factor);
}
