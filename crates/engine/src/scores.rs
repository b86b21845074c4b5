//! Logits, probabilities, and the class they select.

/// Logits of images, one for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    classes: usize,
    values: Vec<f32>,
}

/// Class probabilities of one image.
pub type Probabilities = Vec<f32>;

impl Scores {
    /// Wraps logits in image order.
    ///
    /// # Panics
    /// If `classes` is 0 or does not divide the number of values.
    #[must_use]
    pub fn new(classes: usize, values: Vec<f32>) -> Self {
        assert!(classes > 0 && values.len().is_multiple_of(classes), "a number for each class of each image");
        Self { classes, values }
    }

    /// Number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / self.classes
    }

    /// True if there are no images.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of classes.
    #[must_use]
    pub const fn classes(&self) -> usize {
        self.classes
    }

    /// Iterates over each image's logits, in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.classes)
    }

    /// All logits, in image order.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

/// Returns the class with the largest score, the lowest if several tie.
#[must_use]
pub fn best(scores: &[f32]) -> u8 {
    (1..scores.len()).fold(0, |best, class| if scores[class] > scores[best] { class } else { best }) as u8
}

/// Converts one image's logits to class probabilities.
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
