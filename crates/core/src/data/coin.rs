//! Hashes that let an example's bytes decide. They must never change: resumed runs rely on them.

/// FNV-1a hash of bytes.
pub(super) fn fnv_1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.into_iter().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A mixing bijection; 0 stays 0. The end of SplitMix64's finaliser (Steele, Lea & Flood 2014).
pub(super) const fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
