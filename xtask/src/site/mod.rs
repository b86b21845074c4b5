//! The static site: built, measured, served and photographed.

pub mod build;
pub mod bundle;
mod pages;
pub mod pictures;
pub mod serve;
pub mod sharing;
pub mod shrink;
pub mod sizes;
mod threads;

/// Profile of shipped programs, except the page and the training thread.
pub const PROFILE: &str = "dist";

/// How a site is built. `www/index.html` has the same profiles for `trunk serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// For development and tests; quick to build.
    Quick,
    /// For release: link-time optimised and shrunk.
    Shipped,
}

impl Kind {
    /// Default folder within cargo's target folder.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Quick => "site",
            Self::Shipped => "shipped-site",
        }
    }

    /// A program's profile: the page is optimised for size, the training thread for speed.
    fn profile(self, program: &str) -> &'static str {
        match (self, program) {
            (Self::Quick, _) => "quick",
            (Self::Shipped, "app") => "dist-page",
            (Self::Shipped, "worker") => "dist-training",
            (Self::Shipped, _) => PROFILE,
        }
    }
}
