//! The static site: how it is made, measured, served and shown.

pub mod build;
mod pages;
pub mod pictures;
pub mod serve;
pub mod sharing;
pub mod shrink;
pub mod sizes;
mod threads;

/// What visitors download is compiled so, but for the page and the training thread, which are smaller.
pub const PROFILE: &str = "dist";

/// How a site is built. `www/index.html` says to Trunk what profiles say here.
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

    /// Of the page, where bytes count most, of the training thread, and of the other threads.
    const fn profiles(self) -> [&'static str; 3] {
        match self {
            Self::Quick => ["quick"; 3],
            Self::Shipped => ["dist-page", "dist-training", PROFILE],
        }
    }
}
