//! What a model says of an image, and the digit that it names.

use crate::model::CLASSES;

/// Logits of one image.
pub type Scores = [f32; CLASSES];
/// Probabilities of the digits for one image.
pub type Probabilities = [f32; CLASSES];

/// The digit with the largest score, the lowest of equals.
pub(super) fn best(scores: &[f32; CLASSES]) -> u8 {
    (1..CLASSES).fold(0, |best, class| if scores[class] > scores[best] { class } else { best }) as u8
}

/// Probabilities of the digits, of an image's logits.
#[must_use]
pub fn softmax(scores: &Scores) -> Probabilities {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponentials = scores.map(|z| (z - largest).exp());
    let total: f32 = exponentials.iter().sum();
    exponentials.map(|e| e / total)
}

/// Mean cross-entropy of images' logits, in nats.
#[must_use]
pub fn cross_entropy(scores: &[Scores], labels: &[u8]) -> f64 {
    let loss =
        |(scores, label): (&_, &u8)| -f64::from(softmax(scores)[usize::from(*label)].max(f32::MIN_POSITIVE)).ln();
    scores.iter().zip(labels).map(loss).sum::<f64>() / scores.len() as f64
}
