//! Fixed features of images; [`crate::model::features`] lists the kinds.

use super::{extractor::Extractor, scattering::Scatterer};
use crate::{
    cpu::simd::{Dispatch, Simd, dispatch},
    data::FeatureKind,
    model::{features::FeatureMap, scattering::ZERO},
};

/// Computes features of up to [`Simd::LANES`] images. All instruction sets compute the same bytes.
pub struct FeatureMaker<S: Simd> {
    map: FeatureMap,
    by: By<S>,
}

enum By<S: Simd> {
    Scattering(Box<Scatterer<S>>),
    /// `None` until the network's file is fetched; no engine is created before.
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

    /// Number of features of an image.
    pub const fn length(&self) -> usize {
        self.map.len()
    }

    /// Writes features, `[image][feature]`, of images with pixels in [0, 1], `[image][pixel]`.
    pub fn features(&mut self, rows: &[f32], out: &mut [u8]) {
        match &mut self.by {
            By::Scattering(scatterer) => scatterer.features(rows, out),
            By::Network(Some(extractor)) => extractor.features(rows, out),
            By::Network(None) => out.fill(ZERO as u8),
        }
    }
}

/// Features of several images as bytes, image by image; pixels are in [0, 1].
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
