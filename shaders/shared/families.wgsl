// accounting::noise::Noise::draw: one coordinate's noise from four words of ChaCha20.
//
// WGSL lets a device compute log, cos and tan with visible errors; here they are series on ranges
// reduced in integers, accurate to f32's last bits on every device. u1 = (w0·2^32 + w1 + ½)·2^-64,
// u2 = (w2 + ½)·2^-32 (in f64 an angle also has w3's bits, which are below f32's).

const NO_NOISE: u32 = 0;
const GAUSSIAN: u32 = 1;
const STUDENT_T: u32 = 2;
const LAPLACE: u32 = 3;
const CAUCHY: u32 = 4;
const VARIANCE_GAMMA: u32 = 5;
const HYPERBOLIC_SECANT: u32 = 6;
const BY_QUANTILE: u32 = 7;

// crates/engine/src/gpu/quantile.rs: cells of −ln u by its leading bits, the first of which ends at
// 2^-20; numbers per piece.
const CELL_SHIFT: u32 = 17;
const FIRST: u32 = 107u << 6u;
const CELLS: u32 = (26u << 6u) + 1u;
const PIECE: u32 = 6;

const LN_2: f32 = 0.6931472;
const HALF_PI: f32 = 1.5707964;

// A 64-bit fraction by its leading 32 bits, normalised first so that small ones stay precise.
struct Scaled {
    // In [2^31, 2^32).
    leading: u32,
    // Its value is leading · 2^-(32 + shift).
    shift: u32,
}

fn normalise(high: u32, low: u32) -> Scaled {
    if (high == 0u) {
        // u < 2^-32. The half unit matters if low is small; low = 0 is u = 2^-65.
        if (low == 0u) {
            return Scaled(0x80000000u, 64u);
        }
        let n = countLeadingZeros(low);
        if (n == 0u) {
            return Scaled(low, 32u);
        }
        return Scaled((low << n) | (1u << (n - 1u)), 32u + n);
    }
    let n = countLeadingZeros(high);
    if (n == 0u) {
        return Scaled(high, 0u);
    }
    return Scaled((high << n) | (low >> (32u - n)), n);
}

// (high·2^32 + low + ½)·2^-64.
fn fraction(high: u32, low: u32) -> f32 {
    let s = normalise(high, low);
    return ldexp(f32(s.leading), -32 - i32(s.shift));
}

// −ln u, for u = (high·2^32 + low + ½)·2^-64, precise at both ends.
fn negative_log(high: u32, low: u32) -> f32 {
    var f: f32;
    var octaves = 0.0;
    if (high >= 0xc0000000u) {
        // u = 1 − v with v ≤ ¼ exact: ln(1 − v) keeps the precision of v.
        f = -fraction(~high, ~low);
    } else {
        let s = normalise(high, low);
        // u = m·2^-k with m in [¾, 3/2): f = m − 1, exact before it is rounded to f32.
        var k = s.shift + 1u;
        if (s.leading >= 0xc0000000u) {
            k = s.shift;
            f = -f32(0u - s.leading) * UNIT;
        } else {
            f = f32(s.leading - 0x80000000u) * (2.0 * UNIT);
        }
        octaves = f32(k);
    }
    return octaves * LN_2 - log_near_1(f);
}

// ln(1 + f) for f in [−¼, ½): 2 atanh(f / (2 + f)).
fn log_near_1(f: f32) -> f32 {
    let s = f / (2.0 + f);
    return 2.0 * atanh_small(s);
}

// atanh(s) for |s| ≤ 0.42.
fn atanh_small(s: f32) -> f32 {
    let z = s * s;
    let tail = z * (0.07692308 + z * (0.06666667 + z * (0.05882353 + z * (0.05263158 + z * 0.04761905))));
    return s + s * z * (0.33333334 + z * (0.2 + z * (0.14285715 + z * (0.11111111 + z * (0.09090909 + tail)))));
}

// (sin a, cos a) for |a| ≤ π/4.
fn sin_cos_small(a: f32) -> vec2<f32> {
    let z = a * a;
    let s = a + a * z * (-0.16666667 + z * (8.3333333e-3 + z * (-1.984127e-4 + z * 2.7557319e-6)));
    let c = 1.0 + z * (-0.5 + z * (4.1666668e-2 + z * (-1.3888889e-3 + z * (2.4801587e-5 - z * 2.755732e-7))));
    return vec2<f32>(s, c);
}

// cos(2π (w + ½)·2^-32): the nearest quarter turn in integers, the rest by series.
fn cos_turns(w: u32) -> f32 {
    let quarter = (w + 0x20000000u) >> 30u;
    let rest = bitcast<i32>(w - (quarter << 30u));
    let sc = sin_cos_small((f32(rest) + 0.5) * (4.0 * UNIT * HALF_PI));
    switch quarter {
        case 0u: {
            return sc.y;
        }
        case 1u: {
            return -sc.x;
        }
        case 2u: {
            return -sc.y;
        }
        default: {
            return sc.x;
        }
    }
}

// e^y − 1 for y ≥ 0, below 88.
fn exp_minus_1(y: f32) -> f32 {
    let k = round(y / LN_2);
    // ln 2 in two parts, the first with few bits.
    let r = (y - k * 0.693359375) + k * 2.1219444e-4;
    let series = r + r * r * (0.5 + r * (0.16666667 + r * (4.1666668e-2
        + r * (8.3333333e-3 + r * (1.3888889e-3 + r * 1.984127e-4)))));
    if (k == 0.0) {
        return series;
    }
    return ldexp(series, i32(k)) + (ldexp(1.0, i32(k)) - 1.0);
}

// ±magnitude; the sign is the top bit of w.
fn signed(magnitude: f32, w: u32) -> f32 {
    return bitcast<f32>((bitcast<u32>(magnitude) & 0x7fffffffu) | (w & 0x80000000u));
}

fn gaussian(w: vec4<u32>) -> f32 {
    return release.scale * sqrt(2.0 * negative_log(w.x, w.y)) * cos_turns(w.z);
}

// Bailey 1994: exact for every ν.
fn student_t(w: vec4<u32>) -> f32 {
    let nu = release.shape;
    let y = negative_log(w.x, w.y) * (2.0 / nu);
    var radius: f32;
    if (y < 40.0) {
        radius = sqrt(nu * exp_minus_1(y));
    } else {
        radius = sqrt(nu) * exp_minus_1(min(0.5 * y, 80.0));
    }
    return release.scale * radius * cos_turns(w.z);
}

fn laplace(w: vec4<u32>) -> f32 {
    return signed(release.scale * negative_log(w.x, w.y), w.z);
}

// γ·cot(πu/2); above ½, tan(π(1−u)/2).
fn cauchy(w: vec4<u32>) -> f32 {
    var quotient: f32;
    if (w.x < 0x80000000u) {
        let sc = sin_cos_small(HALF_PI * fraction(w.x, w.y));
        quotient = sc.y / sc.x;
    } else {
        let sc = sin_cos_small(HALF_PI * fraction(~w.x, ~w.y));
        quotient = sc.x / sc.y;
    }
    return signed(release.scale * quotient, w.z);
}

fn variance_gamma(w: vec4<u32>) -> f32 {
    return signed(release.scale * negative_log(w.x, w.y), w.w)
        + signed(release.scale * negative_log(w.z, 0x80000000u), w.w << 1u);
}

// −(2s/π)·ln tan(πu/4); above ½, −ln of tan(π/4 − d) = (1 − tan d)/(1 + tan d) is 2 atanh(tan d).
fn hyperbolic_secant(w: vec4<u32>) -> f32 {
    var log_tan: f32;
    if (w.x >= 0x80000000u) {
        let sc = sin_cos_small(0.5 * HALF_PI * fraction(~w.x, ~w.y));
        log_tan = 2.0 * atanh_small(sc.x / sc.y);
    } else {
        // −ln u − ln(π/4) − ln(tan(a)/a); for a ≤ π/8 the last quotient is in [1, 1.055].
        let a = 0.5 * HALF_PI * fraction(w.x, w.y);
        let sc = sin_cos_small(a);
        log_tan = negative_log(w.x, w.y) + 0.24156447 - log_near_1((sc.x / sc.y) / a - 1.0);
    }
    return signed(release.scale / HALF_PI * log_tan, w.z);
}

// x with Pr[|X| > x] = u: a cubic in −ln u, by the piece that contains it.
fn by_quantile(w: vec4<u32>) -> f32 {
    let e = negative_log(w.x, w.y);
    let cell = clamp(bitcast<u32>(e) >> CELL_SHIFT, FIRST - 1u, FIRST + CELLS - 2u) - (FIRST - 1u);
    var low = u32(quantiles[cell]);
    var high = u32(quantiles[cell + 1u]);
    while (high - low > 1u) {
        let middle = (low + high) / 2u;
        if (e < quantiles[CELLS + 1u + PIECE * middle]) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let at = CELLS + 1u + PIECE * low;
    let t = (e - quantiles[at]) * quantiles[at + 1u];
    let x = quantiles[at + 2u]
        + t * (quantiles[at + 3u] + t * (quantiles[at + 4u] + t * quantiles[at + 5u]));
    return signed(x, w.z);
}

fn noise(family: u32, w: vec4<u32>) -> f32 {
    switch family {
        case GAUSSIAN: {
            return gaussian(w);
        }
        case STUDENT_T: {
            return student_t(w);
        }
        case LAPLACE: {
            return laplace(w);
        }
        case CAUCHY: {
            return cauchy(w);
        }
        case VARIANCE_GAMMA: {
            return variance_gamma(w);
        }
        case HYPERBOLIC_SECANT: {
            return hyperbolic_secant(w);
        }
        case BY_QUANTILE: {
            return by_quantile(w);
        }
        default: {
            return 0.0;
        }
    }
}
