// model::scattering::normalise, and the byte of each feature: groups of three channels get mean 0
// and variance 1. One workgroup per image.

const GROUP: u32 = 3 * CELLS;
const GROUPS: u32 = 27;
const FLOOR: f32 = 1e-5;
const STEPS: f32 = 24.0;
// Byte of a missing feature: an input of 0.
const NOTHING: u32 = 128;
const WORDS: u32 = (FEATURES + 3) / 4;

var<workgroup> means: array<f32, 27>;
var<workgroup> scales: array<f32, 27>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let image = group.y;
    if (t < GROUPS) {
        let start = image * FEATURES + t * GROUP;
        var sum = 0.0;
        for (var k = 0u; k < GROUP; k++) {
            sum += coefficients[start + k];
        }
        let mean = sum / f32(GROUP);
        var squares = 0.0;
        for (var k = 0u; k < GROUP; k++) {
            let v = coefficients[start + k] - mean;
            squares += v * v;
        }
        means[t] = mean;
        scales[t] = STEPS / sqrt(squares / f32(GROUP) + FLOOR);
    }
    workgroupBarrier();
    let to = (place.first + image) * (WORDS + 1u);
    for (var word = t; word < WORDS; word += 64u) {
        var packed = 0u;
        for (var k = 0u; k < 4u; k++) {
            let i = 4u * word + k;
            var value = NOTHING;
            if (i < FEATURES) {
                let z = (coefficients[image * FEATURES + i] - means[i / GROUP]) * scales[i / GROUP];
                value = u32(clamp(z + bank[MIDDLES + i], 0.0, 255.0));
            }
            packed |= value << (8u * k);
        }
        features[to + word] = packed;
    }
    if (t == 0u) {
        features[to + WORDS] = images[image * IMAGE_WORDS + IMAGE_WORDS - 1u];
    }
}
