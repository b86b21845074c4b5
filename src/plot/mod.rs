//! Charts as text: numbers as people read them, ticks, curves, and the same as SVG. The page draws with it, and so does the native tool.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`mod@format`] | numbers as people read them |
//! | [`axis`], [`series`] | ticks, scales, thinned-out curves |
//! | [`drawing`], [`picture`] | what a chart shows, and the same as SVG |

#![warn(missing_docs)]

pub mod axis;
pub mod drawing;
pub mod format;
pub mod picture;
pub mod series;
