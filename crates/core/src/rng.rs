//! Random number generators. Private randomness is ChaCha20 keyed by the operating system or the
//! browser; a replayable stream is a separate type, named as not private.

use rand::rand_core::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// A random generator for sampling and noise, implemented by [`SystemRng`] and [`NotPrivateReplay`]
/// alone. A run that uses the latter has no privacy guarantee.
pub trait RandomSource: Rng {}

/// The system's entropy could not be read.
#[derive(Debug, hushgrad_message::Error)]
#[error(
    "the system gave no entropy ({0}): without it neither sampling nor noise would be private, so nothing was started"
)]
pub struct EntropyError(String);

/// ChaCha20 (20 rounds), keyed with 256 bits of the system's entropy.
pub struct SystemRng(ChaCha20Rng);

impl SystemRng {
    /// Draws a fresh key.
    ///
    /// # Errors
    /// When the operating system or the browser gives no entropy.
    pub fn new() -> Result<Self, EntropyError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|e| EntropyError(e.to_string()))?;
        Ok(Self(ChaCha20Rng::from_seed(key)))
    }
}

/// ChaCha20 from a public seed, for lessons, tests and comparisons. **Not private.**
pub struct NotPrivateReplay(ChaCha20Rng);

impl NotPrivateReplay {
    /// Seeds the generator; the same seed gives the same stream on every machine.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }

    /// Draws uniformly from `0..n`, with a bias of at most 2^-32·n.
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(n)) >> 32) as u32
    }
}

macro_rules! stream {
    ($name:ident) => {
        impl rand::rand_core::TryRng for $name {
            type Error = core::convert::Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
                Ok(self.0.next_u32())
            }
            fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
                Ok(self.0.next_u64())
            }
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
                self.0.fill_bytes(bytes);
                Ok(())
            }
        }
        impl RandomSource for $name {}
    };
}
stream!(SystemRng);
stream!(NotPrivateReplay);
