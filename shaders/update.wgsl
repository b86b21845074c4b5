// The end of mechanism::Algorithm::release with a denoiser: denoises each coordinate, then updates
// momentum and parameters.

// Coordinates below this were smoothed.
override SMOOTHED: u32 = 0;
// Whether the sum is multiplied by the factor at DISTANCE; whether coordinates are
// soft-thresholded.
override SCALED: bool = false;
override SOFT: bool = false;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= release.dimension) {
        return;
    }
    var g = noisy[i];
    if (i < SMOOTHED) {
        g = bitcast<f32>(values[i]);
    }
    if (SCALED) {
        g *= f32(atomicLoad(&bins[DISTANCE])) * UNIT;
    }
    if (SOFT) {
        g = sign(g) * max(abs(g) - release.denoise, 0.0);
    }
    update(i, g);
}
