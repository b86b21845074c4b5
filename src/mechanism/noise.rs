//! Noise by ChaCha20: coordinate i's noise is a function of the key and i alone, so every engine can make it in any order.
//!
//! One block (RFC 8439, section 2.3) serves four coordinates, four words each. Inverse distribution functions act on tail
//! probabilities, so that tails reach as far as 64 bits allow. As everywhere in machine learning, the sums are floating
//! point numbers: the guarantee is that of the real-valued mechanism (Mironov 2012 tells what rounding could leak).

use core::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, TAU};

use crate::privacy::noise::NoiseSpec;

/// Nonce of the noise stream: "nois".
pub const NONCE: [u32; 3] = [0x6e6f_6973, 0, 0];

/// The ChaCha20 block function: key, block counter and nonce as little-endian words. RFC 8439, section 2.3.
#[must_use]
pub fn chacha20_block(key: &[u32; 8], counter: u32, nonce: &[u32; 3]) -> [u32; 16] {
    let mut start = [0; 16];
    // "expand 32-byte k".
    start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    start[4..12].copy_from_slice(key);
    start[12] = counter;
    start[13..].copy_from_slice(nonce);
    let mut state = start;
    for _ in 0..10 {
        quarter_round(&mut state, 0, 4, 8, 12);
        quarter_round(&mut state, 1, 5, 9, 13);
        quarter_round(&mut state, 2, 6, 10, 14);
        quarter_round(&mut state, 3, 7, 11, 15);
        quarter_round(&mut state, 0, 5, 10, 15);
        quarter_round(&mut state, 1, 6, 11, 12);
        quarter_round(&mut state, 2, 7, 8, 13);
        quarter_round(&mut state, 3, 4, 9, 14);
    }
    for (word, first) in state.iter_mut().zip(start) {
        *word = word.wrapping_add(first);
    }
    state
}

/// RFC 8439, section 2.1.
#[inline]
fn quarter_round(state: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    state[a] = state[a].wrapping_add(state[b]);
    state[d] = (state[d] ^ state[a]).rotate_left(16);
    state[c] = state[c].wrapping_add(state[d]);
    state[b] = (state[b] ^ state[c]).rotate_left(12);
    state[a] = state[a].wrapping_add(state[b]);
    state[d] = (state[d] ^ state[a]).rotate_left(8);
    state[c] = state[c].wrapping_add(state[d]);
    state[b] = (state[b] ^ state[c]).rotate_left(7);
}

/// The four words of coordinate `i`.
#[must_use]
pub fn words_at(key: &[u32; 8], i: u32) -> [u32; 4] {
    let block = chacha20_block(key, i / 4, &NONCE);
    let first = 4 * (i as usize % 4);
    core::array::from_fn(|w| block[first + w])
}

/// Noise of coordinate `i`.
#[must_use]
pub fn noise_at(key: &[u32; 8], i: u32, spec: &NoiseSpec) -> f64 {
    from_words(spec, words_at(key, i))
}

/// sum_i + z_i, in f64 and rounded once.
///
/// # Panics
/// When the lengths differ.
pub fn add_noise(key: &[u32; 8], spec: &NoiseSpec, sum: &[f64], noisy: &mut [f32]) {
    assert_eq!(sum.len(), noisy.len(), "sum and noisy sum have the same length");
    for (counter, (sums, noisy)) in (0..).zip(sum.chunks(4).zip(noisy.chunks_mut(4))) {
        let block = chacha20_block(key, counter, &NONCE);
        for ((sum, noisy), words) in sums.iter().zip(noisy).zip(block.as_chunks::<4>().0) {
            *noisy = (sum + from_words(spec, *words)) as f32;
        }
    }
}

/// One draw of the noise from 128 uniform bits.
#[must_use]
pub fn from_words(spec: &NoiseSpec, words: [u32; 4]) -> f64 {
    let [w0, w1, w2, w3] = words;
    // In (0, 1); 64 and 32 bits.
    let u1 = ((f64::from(w0) * 4_294_967_296.0 + f64::from(w1)) + 0.5) / 18_446_744_073_709_551_616.0;
    let u2 = (f64::from(w2) + 0.5) / 4_294_967_296.0;
    match *spec {
        // Box & Muller 1958.
        NoiseSpec::Gaussian { sigma } => sigma * (-2.0 * u1.ln()).sqrt() * (TAU * u2).cos(),
        // Bailey 1994: the polar method, exact for every ν. expm1: u^(−2/ν) − 1 without cancellation near u = 1.
        NoiseSpec::StudentT { nu, scale } => scale * (nu * (-2.0 / nu * u1.ln()).exp_m1()).sqrt() * (TAU * u2).cos(),
        NoiseSpec::Laplace { scale } => with_sign(-scale * u1.ln(), w2),
        NoiseSpec::Cauchy { scale } => with_sign(scale / (FRAC_PI_2 * u1).tan(), w2),
        NoiseSpec::HyperbolicSecant { scale } => with_sign(-2.0 * scale / PI * (FRAC_PI_4 * u1).tan().ln(), w2),
        // λ = 2: the sum of two independent Laplace variables.
        NoiseSpec::VarianceGamma { scale } => with_sign(-scale * u1.ln(), w3) + with_sign(-scale * u2.ln(), w3 << 1),
        NoiseSpec::GeneralizedGaussian { exponent, scale } => {
            with_sign(scale * upper_gamma_quantile(1.0 / exponent, u1).powf(1.0 / exponent), w2)
        }
    }
}

/// `magnitude`, negative where the top bit of `bits` is set.
fn with_sign(magnitude: f64, bits: u32) -> f64 {
    if bits >> 31 == 1 { -magnitude } else { magnitude }
}

/// y with Pr[Gamma(shape, 1) > y] = u, by bisection: |x/scale|^exponent of a generalised Gaussian x is Gamma(1/exponent, 1).
fn upper_gamma_quantile(shape: f64, u: f64) -> f64 {
    // Beyond 64 the tail is below 2^−65 for every shape up to 1.
    let (mut low, mut high) = (0.0, 64.0);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if statrs::function::gamma::gamma_ur(shape, middle) > u { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8439, 2.1.1.
    #[test]
    fn rfc8439_quarter_round() {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&[0x1111_1111, 0x0102_0304, 0x9b8d_6f43, 0x0123_4567]);
        quarter_round(&mut state, 0, 1, 2, 3);
        assert_eq!(state[..4], [0xea2a_92f4, 0xcb1c_f8ce, 0x4581_472e, 0x5881_c4bb]);
    }

    /// RFC 8439, 2.3.2.
    #[test]
    fn rfc8439_block() {
        let key = core::array::from_fn(|i| u32::from_le_bytes(core::array::from_fn(|b| (4 * i + b) as u8)));
        let block = chacha20_block(&key, 1, &[0x0900_0000, 0x4a00_0000, 0]);
        #[rustfmt::skip]
        assert_eq!(block, [
            0xe4e7_f110, 0x1559_3bd1, 0x1fdd_0f50, 0xc471_20a3, 0xc7f4_d1c7, 0x0368_c033, 0x9aaa_2204, 0x4e6c_d4c3,
            0x4664_82d2, 0x09aa_9f07, 0x05d7_c214, 0xa202_8bd9, 0xd19c_12b5, 0xb94e_16de, 0xe883_d0cb, 0x4e3c_50a2,
        ]);
    }

    /// RFC 8439, A.1, test vectors 1 to 5: first and last words of each.
    #[test]
    fn rfc8439_appendix() {
        let zero = [0; 8];
        let mut one = zero;
        one[7] = 0x0100_0000;
        let mut ff = zero;
        ff[0] = 0x0000_ff00;
        for (key, counter, nonce, first, last) in [
            (zero, 0, [0; 3], 0xade0_b876, 0x8665_eeb2),
            (zero, 1, [0; 3], 0xbee7_079f, 0x6f4d_794b),
            (one, 1, [0; 3], 0x2452_eb3a, 0xa013_6c00),
            (ff, 2, [0; 3], 0xfb4d_d572, 0x96f0_992e),
            (zero, 0, [0, 0, 0x0200_0000], 0x374d_c6c2, 0x6ded_1b53_u32),
        ] {
            let block = chacha20_block(&key, counter, &nonce);
            assert_eq!((block[0], block[15]), (first, last));
        }
    }

    #[test]
    fn one_coordinate_needs_no_other() {
        let key = [1, 2, 3, 4, 5, 6, 7, 8];
        let spec = NoiseSpec::StudentT { nu: 9.0, scale: 1.0 };
        let noise = |p: usize| {
            let mut noisy = vec![0.0; p];
            add_noise(&key, &spec, &vec![0.0; p], &mut noisy);
            noisy
        };
        let long = noise(1003);
        for p in [0, 1, 3, 4, 5, 1000] {
            assert_eq!(noise(p), long[..p]);
        }
        for (i, &z) in (0..).zip(&long) {
            assert_eq!(noise_at(&key, i, &spec) as f32, z);
        }
    }
}
