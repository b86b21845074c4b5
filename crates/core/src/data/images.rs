//! The bytes of a set's images, held in memory or drawn on demand.

use std::{
    fmt,
    ops::{Deref, Range},
    sync::{Arc, OnceLock},
};

/// Draws image `index` of `seed` over `image`: the same bytes on any machine, in any order.
pub type Draw = fn(seed: u64, index: u64, image: &mut [u8]);

/// Bytes of images of one size, one after the other. Cheap to clone.
///
/// Dereferencing draws all images of a synthetic set; [`Images::one`] draws only one.
#[derive(Clone)]
pub struct Images(Held);

#[derive(Clone)]
enum Held {
    Bytes(Arc<Vec<u8>>),
    Drawn(Arc<Drawn>),
}

/// An image, once drawn; shared by a set and its parts.
type Shared = Arc<OnceLock<Box<[u8]>>>;

struct Drawn {
    draw: Draw,
    seed: u64,
    first: u64,
    pixels: usize,
    each: Box<[Shared]>,
    all: OnceLock<Arc<Vec<u8>>>,
}

impl Drawn {
    fn part(&self, range: Range<usize>) -> Self {
        let (first, each) = (self.first + range.start as u64, self.each[range].into());
        Self { draw: self.draw, seed: self.seed, first, pixels: self.pixels, each, all: OnceLock::new() }
    }

    fn one(&self, i: usize) -> &[u8] {
        if let Some(all) = self.all.get() {
            return &all[i * self.pixels..(i + 1) * self.pixels];
        }
        self.each[i].get_or_init(|| {
            let mut image = vec![0; self.pixels];
            (self.draw)(self.seed, self.first + i as u64, &mut image);
            image.into()
        })
    }

    fn all(&self) -> &Arc<Vec<u8>> {
        self.all.get_or_init(|| {
            let mut bytes = vec![0; self.each.len() * self.pixels];
            for (i, (image, drawn)) in bytes.chunks_exact_mut(self.pixels).zip(&self.each).enumerate() {
                match drawn.get() {
                    Some(drawn) => image.copy_from_slice(drawn),
                    None => (self.draw)(self.seed, self.first + i as u64, image),
                }
            }
            Arc::new(bytes)
        })
    }
}

impl Images {
    /// Images `first..first + len` of `seed`, `pixels` bytes each, drawn on demand.
    pub(super) fn drawn(draw: Draw, seed: u64, first: u64, len: usize, pixels: usize) -> Self {
        let each = (0..len).map(|_| Shared::default()).collect();
        Self(Held::Drawn(Arc::new(Drawn { draw, seed, first, pixels, each, all: OnceLock::new() })))
    }

    /// Bytes of image `i`, where each has `pixels` bytes.
    ///
    /// # Panics
    /// When there are fewer images.
    #[must_use]
    pub fn one(&self, i: usize, pixels: usize) -> &[u8] {
        match &self.0 {
            Held::Bytes(bytes) => &bytes[i * pixels..(i + 1) * pixels],
            Held::Drawn(drawn) => drawn.one(i),
        }
    }

    /// Images `range` of `pixels` bytes each: a copy, or a part that shares images drawn on demand.
    pub(super) fn part(&self, range: Range<usize>, pixels: usize) -> Self {
        match &self.0 {
            Held::Drawn(drawn) if drawn.all.get().is_none() => Self(Held::Drawn(Arc::new(drawn.part(range)))),
            _ => self[range.start * pixels..range.end * pixels].into(),
        }
    }

    /// Number of bytes; draws nothing.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Bytes(bytes) => bytes.len(),
            Held::Drawn(drawn) => drawn.each.len() * drawn.pixels,
        }
    }

    /// True if there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the two are clones of each other.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Held::Bytes(a), Held::Bytes(b)) => Arc::ptr_eq(a, b),
            (Held::Drawn(a), Held::Drawn(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Deref for Images {
    type Target = [u8];

    /// All bytes; draws what is missing.
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Bytes(bytes) => bytes,
            Held::Drawn(drawn) => drawn.all(),
        }
    }
}

impl fmt::Debug for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Images").field("bytes", &self.len()).finish_non_exhaustive()
    }
}

impl PartialEq for Images {
    fn eq(&self, other: &Self) -> bool {
        self.same(other) || **self == **other
    }
}

impl Eq for Images {}

/// Copies nothing: MNIST's images are 47 MB.
impl From<Vec<u8>> for Images {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Held::Bytes(Arc::new(bytes)))
    }
}

impl From<&[u8]> for Images {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl FromIterator<u8> for Images {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        bytes.into_iter().collect::<Vec<u8>>().into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::data::synthetic::{self, colour};

    /// Images drawn on demand, in any order, equal those drawn all at once.
    #[test]
    fn images_drawn_on_demand_equal_those_drawn_at_once() {
        for make in [synthetic::dataset, colour::dataset] {
            let (all, one_by_one, some) = (make(5, 3, 40), make(5, 3, 40), make(5, 3, 40));
            let pixels = all.pixels();
            assert_eq!(all.images.len(), 40 * pixels);
            for i in (0..40).rev() {
                assert_eq!(one_by_one.image(i), &all.images[i * pixels..(i + 1) * pixels], "{i}");
            }
            // Some drawn before, the rest with all.
            assert_eq!((some.image(7), some.image(39)), (all.image(7), all.image(39)));
            assert_eq!(&*some.images, &*all.images);
            for range in [0..0, 0..40, 5..9, 39..60] {
                assert_eq!(make(5, 3, 40).slice(range.clone()), all.slice(range));
            }
            assert!(!some.images.same(&all.images) && some.images.same(&some.clone().images));
        }
    }

    #[test]
    fn images_are_drawn_only_on_demand_and_only_once() {
        static DRAWN: AtomicUsize = AtomicUsize::new(0);
        let drawn = || DRAWN.load(Ordering::Relaxed);
        let draw = |seed: u64, index: u64, image: &mut [u8]| {
            DRAWN.fetch_add(1, Ordering::Relaxed);
            image.fill((10 * seed + index) as u8);
        };
        let images = Images::drawn(draw, 2, 5, 9, 4);
        let (part, len) = (images.part(3..5, 4), images.len());
        assert_eq!((len, part.len(), drawn()), (36, 8, 0));
        // A part and the whole share what either draws.
        let whole = Images::drawn(draw, 2, 5, 9, 4);
        assert_eq!((whole.part(6..9, 4).one(2, 4), whole.one(8, 4), drawn()), (&[33; 4][..], &[33; 4][..], 1));
        assert_eq!((whole.part(7..9, 4).part(1..2, 4)[0], drawn()), (33, 1));
        DRAWN.store(0, Ordering::Relaxed);
        assert_eq!(images.clone().one(8, 4), [33; 4]);
        assert_eq!((images.one(8, 4), drawn()), (&[33; 4][..], 1));
        assert_eq!((images[35], images[0], drawn()), (33, 25, 9));
        assert_eq!((images.one(4, 4), images.part(3..5, 4)[3], drawn()), (&[29; 4][..], 28, 9));
        assert_eq!((&*part, drawn()), (&[28, 28, 28, 28, 29, 29, 29, 29][..], 11));
    }
}
