//! Decodes bytes that were read back.

/// Decodes f32 numbers.
pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
}

/// Decodes sums of `add` of common.wgsl: all lower words, then all upper ones.
pub fn whole_steps(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let (low, high) = bytes.split_at(bytes.len() / 2);
    let words = |bytes: &[u8]| bytes.as_chunks::<4>().0.to_vec().into_iter().map(i32::from_le_bytes);
    words(low).zip(words(high)).map(|(low, high)| i64::from(high) * 65_536 + i64::from(low))
}

/// Decodes the first `N` i32 numbers.
pub fn signed<const N: usize>(bytes: &[u8]) -> [i64; N] {
    let (words, _) = bytes.as_chunks::<4>();
    std::array::from_fn(|place| words.get(place).map_or(0, |&word| i32::from_le_bytes(word).into()))
}

/// Decodes the first word.
pub fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |&b| u32::from_le_bytes(b))
}

/// Converts from units of 2^-32.
pub fn probability(fixed: u32) -> f32 {
    (f64::from(fixed) / 4_294_967_296.0) as f32
}
