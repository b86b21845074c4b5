//! The static site: how it is made, measured, served and shown.

pub mod build;
mod bundle;
mod pages;
pub mod pictures;
pub mod serve;
pub mod sharing;
pub mod shrink;
pub mod sizes;
mod threads;

/// What visitors download is compiled so, but for the page and the training thread, which are smaller.
pub const PROFILE: &str = "dist";

/// How a site is built. `www/index.html` tells `trunk serve` the same profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To work on and to test: soon there.
    Quick,
    /// To ship: every program is linked as a whole and shrunk.
    Shipped,
}

impl Kind {
    /// Its folder in cargo's target folder, where nobody names another.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Quick => "site",
            Self::Shipped => "shipped-site",
        }
    }

    /// The profile of a program: bytes count most in the page, and speed in the training thread.
    fn profile(self, program: &str) -> &'static str {
        match (self, program) {
            (Self::Quick, _) => "quick",
            (Self::Shipped, "app") => "dist-page",
            (Self::Shipped, "worker") => "dist-training",
            (Self::Shipped, _) => PROFILE,
        }
    }
}
