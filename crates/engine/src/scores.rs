//! What a model says of images, and the class that it names.

/// Logits of images, a number for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    classes: usize,
    values: Vec<f32>,
}

/// Probabilities of the classes for one image.
pub type Probabilities = Vec<f32>;

impl Scores {
    /// `values` are image by image.
    ///
    /// # Panics
    /// When they are of no whole number of images.
    #[must_use]
    pub fn new(classes: usize, values: Vec<f32>) -> Self {
        assert!(classes > 0 && values.len().is_multiple_of(classes), "a number for each class of each image");
        Self { classes, values }
    }

    /// Images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / self.classes
    }

    /// Whether there is no image.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Classes.
    #[must_use]
    pub const fn classes(&self) -> usize {
        self.classes
    }

    /// Each image's logits, in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.classes)
    }

    /// All numbers, image by image.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

/// The class with the largest score, the lowest of equals.
#[must_use]
pub fn best(scores: &[f32]) -> u8 {
    (1..scores.len()).fold(0, |best, class| if scores[class] > scores[best] { class } else { best }) as u8
}

/// Probabilities of the classes, of an image's logits.
#[must_use]
pub fn softmax(scores: &[f32]) -> Probabilities {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponentials: Vec<f32> = scores.iter().map(|z| (z - largest).exp()).collect();
    let total: f32 = exponentials.iter().sum();
    exponentials.iter().map(|e| e / total).collect()
}

/// Mean cross-entropy of images' logits, in nats.
#[must_use]
pub fn cross_entropy(scores: &Scores, labels: &[u8]) -> f64 {
    let loss =
        |(scores, label): (&_, &u8)| -f64::from(softmax(scores)[usize::from(*label)].max(f32::MIN_POSITIVE)).ln();
    scores.iter().zip(labels).map(loss).sum::<f64>() / scores.len() as f64
}
