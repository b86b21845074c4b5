//! What an example's own bytes decide of it, the same on every machine and for ever: runs are continued by it.

/// FNV-1a of bytes.
pub(super) fn fnv_1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    bytes.into_iter().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A bijection of the 64-bit words that leaves no pattern but that of 0: the last part of SplitMix64's finaliser (Steele, Lea & Flood 2014).
pub(super) const fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
