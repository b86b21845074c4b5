//! Fixed features of images, of whatever kind: [`crate::model::features`] says which.

use super::{extractor::Extractor, scattering::Scatterer};
use crate::{
    cpu::simd::{Dispatch, Simd, dispatch},
    data::FeatureKind,
    model::{features::FeatureMap, scattering::ZERO},
};

/// Computes features of as many images as there are lanes. Every instruction set computes the same bytes.
pub struct FeatureMaker<S: Simd> {
    map: FeatureMap,
    by: By<S>,
}

enum By<S: Simd> {
    Scattering(Box<Scatterer<S>>),
    /// Nothing while its file was not fetched: engines are not made then.
    Network(Option<Box<Extractor<S>>>),
}

impl<S: Simd> FeatureMaker<S> {
    pub fn new(simd: S, map: FeatureMap) -> Self {
        let by = match map.kind {
            FeatureKind::Scattering => By::Scattering(Box::new(Scatterer::new(simd, map.picture))),
            FeatureKind::Learned => By::Network(Extractor::new(simd, map.picture).map(Box::new)),
        };
        Self { map, by }
    }

    /// Of an image.
    pub const fn length(&self) -> usize {
        self.map.len()
    }

    /// Writes the bytes of each image's features: `out` is `[image][feature]`, at most as many as there are lanes; `rows` are the
    /// images' pixels in [0, 1], `[image][pixel]`.
    pub fn features(&mut self, rows: &[f32], out: &mut [u8]) {
        match &mut self.by {
            By::Scattering(scatterer) => scatterer.features(rows, out),
            By::Network(Some(extractor)) => extractor.features(rows, out),
            By::Network(None) => out.fill(ZERO as u8),
        }
    }
}

/// The bytes of several images' features, image by image; pixels in [0, 1]. As many are computed at a time as the machine has lanes.
#[must_use]
pub fn features(map: FeatureMap, images: &[f32]) -> Vec<u8> {
    struct All<'a>(FeatureMap, &'a [f32]);
    impl Dispatch for All<'_> {
        type Output = Vec<u8>;
        fn with<S: Simd>(self, simd: S) -> Vec<u8> {
            let Self(map, images) = self;
            let pixels = map.picture.pixels();
            let mut out = vec![0; images.len() / pixels * map.len()];
            let mut maker = FeatureMaker::new(simd, map);
            let parts = images.chunks(S::LANES * pixels).zip(out.chunks_mut(S::LANES * map.len()));
            parts.for_each(|(images, out)| maker.features(images, out));
            out
        }
    }
    dispatch(All(map, images))
}
