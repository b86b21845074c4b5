//! Turns a model's scores into classes, after one look at an image or, if unsure, several.

use serde::{Deserialize, Serialize};

use super::{
    error::EngineError,
    interface::Engine,
    scores::{Probabilities, best, softmax},
};
use crate::data::{Dataset, Picture, Shift};

/// How often each class (row) was read as each class (column).
pub type Confusion = Vec<Vec<u32>>;

/// How images are read. Post-processing of a released model, so it does not affect ε.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The class with the best score.
    #[default]
    Once,
    /// Test-time augmentation (Krizhevsky, Sutskever & Hinton 2012, §4.1) for unsure images: if no
    /// class has 99 %, the image is read again, shifted by a pixel to each side, and the mean
    /// probability decides.
    #[serde(rename = "second-look", alias = "test-time-augmentation")]
    TestTimeAugmentation,
}

/// Probability of the best class from which one look is enough.
const SURE: f32 = 0.99;
/// Shifts of the additional looks.
const MOVES: [Shift; 4] = [
    Shift { right: 1, down: 0 },
    Shift { right: -1, down: 0 },
    Shift { right: 0, down: 1 },
    Shift { right: 0, down: -1 },
];
/// Images that are shifted at a time.
const AT_A_TIME: usize = 1024;

/// Returns the class that each image of `data` is read as.
///
/// # Errors
/// As [`Engine::scores`].
pub async fn digits<E: Engine>(engine: &mut E, data: &Dataset, reading: Reading) -> Result<Vec<u8>, EngineError> {
    // A single look needs no probabilities.
    if reading == Reading::Once {
        return Ok(engine.scores(data).await?.iter().map(best).collect());
    }
    Ok(answers(engine, data, reading).await?.into_iter().map(|(digit, _)| digit).collect())
}

/// Returns the class that each image of `data` is read as, and all class probabilities.
///
/// # Errors
/// As [`Engine::scores`].
pub async fn answers<E: Engine>(
    engine: &mut E,
    data: &Dataset,
    reading: Reading,
) -> Result<Vec<(u8, Probabilities)>, EngineError> {
    let scores = engine.scores(data).await?;
    let mut answers: Vec<(u8, Probabilities)> = scores.iter().map(|scores| (best(scores), softmax(scores))).collect();
    if reading == Reading::Once {
        return Ok(answers);
    }
    let unsure: Vec<usize> = (0..answers.len()).filter(|&i| !is_sure(&answers[i].1)).collect();
    for unsure in unsure.chunks(AT_A_TIME) {
        let others = engine.scores(&data.moved(unsure, &MOVES)).await?;
        let mut others = others.iter().map(softmax);
        for &image in unsure {
            let mean = mean(&answers[image].1, others.by_ref().take(MOVES.len()));
            answers[image] = (best(&mean), mean);
        }
    }
    Ok(answers)
}

/// Counts the images of `data` that are read correctly.
///
/// # Errors
/// As [`Engine::scores`].
pub async fn count_correct<E: Engine>(engine: &mut E, data: &Dataset, reading: Reading) -> Result<u32, EngineError> {
    let digits = digits(engine, data, reading).await?;
    Ok(digits.iter().zip(data.labels.iter()).filter(|(digit, label)| digit == label).count() as u32)
}

/// Returns the class probabilities of one image of the model's size, with values in [0, 1].
///
/// # Errors
/// As [`Engine::predict`].
pub async fn predict<E: Engine>(
    engine: &mut E,
    picture: Picture,
    image: &[f32],
    reading: Reading,
) -> Result<Probabilities, EngineError> {
    let first = engine.predict(image).await?;
    if reading == Reading::Once || is_sure(&first) {
        return Ok(first);
    }
    let mut others = Vec::with_capacity(MOVES.len());
    for shift in MOVES {
        others.push(engine.predict(&shift.of(picture, image)).await?);
    }
    Ok(mean(&first, others.into_iter()))
}

/// True if some probability reaches [`SURE`]; false for NaN.
fn is_sure(look: &[f32]) -> bool {
    look.iter().any(|&p| p >= SURE)
}

fn mean(first: &[f32], others: impl ExactSizeIterator<Item = Probabilities>) -> Probabilities {
    let share = 1.0 / (others.len() + 1) as f32;
    let mut sum = first.to_vec();
    for look in others {
        sum.iter_mut().zip(look).for_each(|(sum, p)| *sum += p);
    }
    sum.iter().map(|p| p * share).collect()
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::{
        Backend, EngineInfo, Metrics, Scores, StepInput, StepTrace,
        mechanism::State,
        model::{CLASSES, PIXELS},
    };

    /// Reads an image by the position of its dot of ink: [`drawn`] at [`AT`], else `elsewhere`.
    struct Oracle {
        info: EngineInfo,
        elsewhere: [f32; CLASSES],
        asked: usize,
    }

    fn oracle(elsewhere: [f32; CLASSES]) -> Oracle {
        Oracle { info: EngineInfo { backend: Backend::Cpu, device: String::new() }, elsewhere, asked: 0 }
    }

    /// Logits that give `digit` this probability and `other` the rest.
    fn says(digit: usize, probability: f32, other: usize) -> [f32; CLASSES] {
        let mut scores = [-100.0; CLASSES];
        (scores[digit], scores[other]) = (probability.ln(), (1.0 - probability).ln());
        scores
    }

    const AT: usize = 14 * 28 + 14;
    /// Logits of an unshifted image, by the ink of its dot.
    fn drawn(ink: u8) -> [f32; CLASSES] {
        match ink {
            1 => says(3, 0.6, 5),
            2 => says(3, 0.995, 5),
            3 => [f32::NAN; CLASSES],
            _ => says(5, 0.98, 3),
        }
    }

    impl Oracle {
        fn of(&self, ink: u8, at: usize) -> [f32; CLASSES] {
            if at == AT { drawn(ink) } else { self.elsewhere }
        }
    }

    impl Engine for Oracle {
        fn info(&self) -> &EngineInfo {
            &self.info
        }
        async fn step(&mut self, _: StepInput<'_>) -> Result<(), EngineError> {
            Ok(())
        }
        async fn traced_step(&mut self, _: StepInput<'_>) -> Result<StepTrace, EngineError> {
            Ok(StepTrace::default())
        }
        async fn metrics(&mut self) -> Result<Metrics, EngineError> {
            Ok(Metrics::default())
        }
        async fn set_task(&mut self, _: &crate::Task) -> Result<(), EngineError> {
            Ok(())
        }
        async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
            self.asked += data.len();
            let one = |i| data.image(i).iter().position(|&ink| ink > 0).map(|at| self.of(data.image(i)[at], at));
            Ok(Scores::new(CLASSES, (0..data.len()).flat_map(|i| one(i).unwrap_or_default()).collect()))
        }
        async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
            let at = image.iter().position(|&ink| ink > 0.0).unwrap_or_default();
            Ok(softmax(&self.of((image[at] * 255.0).round() as u8, at)))
        }
        async fn state(&mut self) -> Result<State, EngineError> {
            Ok(State::start(vec![], false))
        }
        async fn set_state(&mut self, _: &State) -> Result<(), EngineError> {
            Ok(())
        }
    }

    fn dots(inks: &[u8]) -> Dataset {
        let mut images = vec![0; inks.len() * PIXELS];
        for (image, &ink) in images.chunks_mut(PIXELS).zip(inks) {
            image[AT] = ink;
        }
        Dataset::new("dots", images, vec![3; inks.len()])
    }

    #[test]
    fn unsure_images_get_a_second_look_and_the_mean_decides() {
        let data = dots(&[1, 2, 4, 1]);
        // Four looks at 0.8 for 5 outweigh one at 0.6 for 3; the sure image is not read again.
        let mut engine = oracle(says(5, 0.8, 3));
        assert_eq!(block_on(digits(&mut engine, &data, Reading::TestTimeAugmentation)).unwrap(), [5, 3, 5, 5]);
        assert_eq!(engine.asked, 4 + 4 * 3);
        assert_eq!(block_on(count_correct(&mut engine, &data, Reading::TestTimeAugmentation)).unwrap(), 1);
        // Nearly undecided looks do not.
        let mut engine = oracle(says(5, 0.51, 3));
        assert_eq!(block_on(digits(&mut engine, &data, Reading::TestTimeAugmentation)).unwrap(), [3, 3, 5, 3]);
        let mut engine = oracle(says(5, 0.8, 3));
        assert_eq!(block_on(digits(&mut engine, &data, Reading::Once)).unwrap(), [3, 3, 5, 3]);
        assert_eq!(engine.asked, 4);
    }

    #[test]
    fn a_drawing_is_read_as_a_test_image_is() {
        for reading in [Reading::Once, Reading::TestTimeAugmentation] {
            for ink in [1, 2, 4] {
                let mut engine = oracle(says(5, 0.8, 3));
                let data = dots(&[ink]);
                let image: Vec<f32> = data.image(0).iter().map(|&ink| f32::from(ink) / 255.0).collect();
                let probabilities = block_on(predict(&mut engine, Picture::DIGIT, &image, reading)).unwrap();
                assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-6);
                assert_eq!([best(&probabilities)], *block_on(digits(&mut engine, &data, reading)).unwrap());
            }
        }
        let mut engine = oracle(says(5, 0.8, 3));
        let image: Vec<f32> = dots(&[1]).image(0).iter().map(|&ink| f32::from(ink) / 255.0).collect();
        let looked = block_on(predict(&mut engine, Picture::DIGIT, &image, Reading::TestTimeAugmentation)).unwrap();
        assert!((looked[5] - (0.4 + 4.0 * 0.8) / 5.0).abs() < 1e-6, "{looked:?}");
    }

    #[test]
    fn nan_scores_read_as_digit_zero() {
        let mut engine = oracle(says(5, 0.8, 3));
        assert_eq!(block_on(digits(&mut engine, &dots(&[3]), Reading::TestTimeAugmentation)).unwrap(), [0]);
        assert_eq!(block_on(digits(&mut engine, &dots(&[]), Reading::TestTimeAugmentation)).unwrap(), [0; 0]);
    }
}
