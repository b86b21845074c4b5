//! ChaCha20 noise: coordinate i's noise is a function of the key and i, computable in any order.
//!
//! One block (RFC 8439, section 2.3) serves four coordinates, four words each; [`Noise::draw`]
//! turns them into a real number. Sums are exact ([`crate::mechanism::exact_sum`]), but noise and
//! releases are floating-point numbers: the guarantee is that of the real-valued mechanism (Mironov
//! 2012 shows what low bits can leak). On a grid (`grid.rs`) it is that of the actual mechanism.

use crate::accounting::noise::Noise;

/// Nonce of the noise stream: "nois".
pub const NONCE: [u32; 3] = [0x6e6f_6973, 0, 0];

/// Computes the ChaCha20 block function of key, counter and nonce (RFC 8439, section 2.3).
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

/// Returns the four words of coordinate `i`.
#[must_use]
pub fn words_at(key: &[u32; 8], i: u32) -> [u32; 4] {
    let block = chacha20_block(key, i / 4, &NONCE);
    let first = 4 * (i as usize % 4);
    core::array::from_fn(|w| block[first + w])
}

/// Returns the noise of coordinate `i`.
#[must_use]
pub fn noise_at(key: &[u32; 8], i: u32, noise: &dyn Noise) -> f64 {
    noise.draw(words_at(key, i))
}

/// Writes sum_i + z_i to `noisy`, added in f64 and rounded to f32 once, with z_i from [`noise_at`].
///
/// # Panics
/// When the lengths differ.
pub fn add_noise(key: &[u32; 8], noise: &dyn Noise, sum: &[f64], noisy: &mut [f32]) {
    assert_eq!(sum.len(), noisy.len(), "sum and noisy sum have the same length");
    for (counter, (sums, noisy)) in (0..).zip(sum.chunks(4).zip(noisy.chunks_mut(4))) {
        let block = chacha20_block(key, counter, &NONCE);
        for ((sum, noisy), words) in sums.iter().zip(noisy).zip(block.as_chunks::<4>().0) {
            *noisy = (sum + noise.draw(*words)) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::noise::NoiseSpec;

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
    fn coordinates_do_not_depend_on_the_length() {
        let key = [1, 2, 3, 4, 5, 6, 7, 8];
        let noise = NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }.build().unwrap();
        let noises = |p: usize| {
            let mut noisy = vec![0.0; p];
            add_noise(&key, &*noise, &vec![0.0; p], &mut noisy);
            noisy
        };
        let long = noises(1003);
        for p in [0, 1, 3, 4, 5, 1000] {
            assert_eq!(noises(p), long[..p]);
        }
        for (i, &z) in (0..).zip(&long) {
            assert_eq!(noise_at(&key, i, &*noise) as f32, z);
        }
    }
}
