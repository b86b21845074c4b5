// model::scattering::coefficients by Fourier transforms, like engine::cpu::scattering. A workgroup
// takes one angle of the first order of one image, and all that follows from it; its 32 invocations
// take one row or column each of a 32×32 map.

const SIDE: u32 = 32;
const AREA: u32 = 1024;
// Maps of the second order processed at a time, 16×16 places each.
const HALVES: u32 = 4;

// The current map, and the transform from which it is computed.
var<workgroup> re: array<f32, 1024>;
var<workgroup> im: array<f32, 1024>;
var<workgroup> spectrum_re: array<f32, 1024>;
var<workgroup> spectrum_im: array<f32, 1024>;

// The current row or column of this invocation.
var<private> line_re: array<f32, 32>;
var<private> line_im: array<f32, 32>;

// Index of a place in a map of side 2^bits: rotated rows, so that rows and columns share no bank.
fn at(base: u32, bits: u32, row: u32, column: u32) -> u32 {
    return base + (row << bits) + ((row + column) & ((1u << bits) - 1u));
}

// Transforms one row or column; `direction` is −1 for the inverse.
fn transform_line(base: u32, bits: u32, line: u32, down: bool, direction: f32) {
    let n = 1u << bits;
    for (var k = 0u; k < n; k++) {
        let source = reverseBits(k) >> (32u - bits);
        let i = select(at(base, bits, line, source), at(base, bits, source, line), down);
        line_re[k] = re[i];
        line_im[k] = im[i];
    }
    for (var half = 1u; half < n; half *= 2u) {
        for (var pair = 0u; pair < n / 2u; pair++) {
            let k = pair % half;
            let low = 2u * (pair - k) + k;
            let high = low + half;
            let turn = TURNS + 2u * k * (16u / half);
            let c = bank[turn];
            let s = direction * bank[turn + 1u];
            let x = line_re[high] * c - line_im[high] * s;
            let y = line_re[high] * s + line_im[high] * c;
            line_re[high] = line_re[low] - x;
            line_im[high] = line_im[low] - y;
            line_re[low] += x;
            line_im[low] += y;
        }
    }
    for (var k = 0u; k < n; k++) {
        let i = select(at(base, bits, line, k), at(base, bits, k, line), down);
        re[i] = line_re[k];
        im[i] = line_im[k];
    }
}

fn transform(t: u32, direction: f32) {
    transform_line(0u, 5u, t, false, direction);
    workgroupBarrier();
    transform_line(0u, 5u, t, true, direction);
    workgroupBarrier();
}

// The inverse transform of HALVES maps of 16×16.
fn transform_halves(t: u32) {
    for (var line = t; line < 16u * HALVES; line += 32u) {
        transform_line(256u * (line / 16u), 4u, line % 16u, false, -1.0);
    }
    workgroupBarrier();
    for (var line = t; line < 16u * HALVES; line += 32u) {
        transform_line(256u * (line / 16u), 4u, line % 16u, true, -1.0);
    }
    workgroupBarrier();
}

fn moduli(t: u32) {
    for (var i = t; i < AREA; i += 32u) {
        re[i] = sqrt(re[i] * re[i] + im[i] * im[i]);
    }
    workgroupBarrier();
}

// Averages of the real parts of `maps` maps at their 7×7 places, for channels from `channel` on.
// Overwrites the imaginary parts.
fn averages(t: u32, bits: u32, maps: u32, image: u32, channel: u32) {
    let side = 1u << bits;
    // Taps on either side, and the distance between places.
    let reach = side / 4u;
    let spacing = side / 8u;
    let taps = select(HALF_TAPS, TAPS, bits == 5u);
    for (var i = t; i < maps * GRID * side; i += 32u) {
        let base = (i / (GRID * side)) << (2u * bits);
        let row = i / side % GRID;
        let column = i % side;
        var sum = 0.0;
        for (var k = 0u; k <= 2u * reach; k++) {
            sum += re[at(base, bits, ((row + 1u) * spacing + side - reach + k) % side, column)] * bank[taps + k];
        }
        im[at(base, bits, row, column)] = sum;
    }
    workgroupBarrier();
    for (var i = t; i < maps * CELLS; i += 32u) {
        let base = (i / CELLS) << (2u * bits);
        let row = i / GRID % GRID;
        let column = i % GRID;
        var sum = 0.0;
        for (var k = 0u; k <= 2u * reach; k++) {
            sum += im[at(base, bits, row, ((column + 1u) * spacing + side - reach + k) % side)] * bank[taps + k];
        }
        coefficients[image * FEATURES + channel * CELLS + i] = sum;
    }
    workgroupBarrier();
}

// Replaces the spectrum by the transform of a real map.
fn analyse(t: u32) {
    for (var i = t; i < AREA; i += 32u) {
        im[i] = 0.0;
    }
    workgroupBarrier();
    transform(t, 1.0);
    for (var i = t; i < AREA; i += 32u) {
        let place = at(0u, 5u, i / SIDE, i % SIDE);
        spectrum_re[i] = re[place];
        spectrum_im[i] = im[place];
    }
    workgroupBarrier();
}

// |map ∗ wave| of the second scale for `maps` angles from `angle` on, at every second place: four
// frequencies alias to one.
fn second_scale(t: u32, angle: u32, maps: u32, image: u32, channel: u32) {
    for (var i = t; i < AREA; i += 32u) {
        let map = i / 256u;
        let row = i / 16u % 16u;
        let column = i % 16u;
        let first = row * SIDE + column;
        let wave = WAVES + (ANGLES + angle + map) * AREA + first;
        var sum = vec2<f32>();
        if (map < maps) {
            for (var fold = 0u; fold < 4u; fold++) {
                let offset = 16u * (fold % 2u) + 16u * SIDE * (fold / 2u);
                sum += bank[wave + offset] * vec2<f32>(spectrum_re[first + offset], spectrum_im[first + offset]);
            }
        }
        let place = at(256u * map, 4u, row, column);
        re[place] = sum.x;
        im[place] = sum.y;
    }
    workgroupBarrier();
    transform_halves(t);
    moduli(t);
    averages(t, 4u, maps, image, channel);
}

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let angle = group.x;
    let image = group.y;
    // Row t of the image, centred in a square whose opposite edges meet.
    for (var column = 0u; column < SIDE; column++) {
        var pixel = 0.0;
        if (t >= 2u && t < 30u && column >= 2u && column < 30u) {
            let i = (t - 2u) * 28u + column - 2u;
            pixel = f32((images[image * IMAGE_WORDS + i / 4u] >> (8u * (i % 4u))) & 255u) / 255.0;
        }
        re[at(0u, 5u, t, column)] = pixel;
    }
    workgroupBarrier();
    if (angle == 0u) {
        averages(t, 5u, 1u, image, 0u);
    }
    analyse(t);
    second_scale(t, angle, 1u, image, 1u + ANGLES + angle);
    for (var i = t; i < AREA; i += 32u) {
        let wave = bank[WAVES + angle * AREA + i];
        let place = at(0u, 5u, i / SIDE, i % SIDE);
        re[place] = wave * spectrum_re[i];
        im[place] = wave * spectrum_im[i];
    }
    workgroupBarrier();
    transform(t, -1.0);
    moduli(t);
    averages(t, 5u, 1u, image, 1u + angle);
    analyse(t);
    for (var second = 0u; second < ANGLES; second += HALVES) {
        second_scale(t, second, HALVES, image, 1u + 2u * ANGLES + ANGLES * angle + second);
    }
}
