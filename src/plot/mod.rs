//! Charts as text: number formats, ticks, curves and SVG, for the page and the native tool.
//!
//! | module | contents |
//! | --- | --- |
//! | [`mod@format`] | number formats for readers |
//! | [`axis`], [`series`] | scales and ticks, thinned-out curves |
//! | [`drawing`], [`picture`] | a chart as plain data, and as SVG |

#![warn(missing_docs)]

pub mod axis;
pub mod drawing;
pub mod format;
pub mod picture;
pub mod series;
