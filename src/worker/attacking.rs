//! Membership by the loss, in the training thread, a few steps at a time: on digits that the program draws, and one that the visitor has drawn, so that the attack looks at nobody's.

use std::time::Duration;

use rand::rand_core::Rng as _;
use serde::{Deserialize, Serialize};
use web_time::Instant;

use crate::{
    attack::{
        AttackError, Estimate, Progress,
        membership::{Membership, Own, OwnFound, Sought, Told},
    },
    data::{Dataset, synthetic},
    engine::EngineFactory,
    rng::SystemRng,
    train::{config::RunConfig, error::SessionError, projection::Point},
};

/// What decides the digits that are drawn: they are public, as the program is.
const SEED: u64 = 2;
/// Points of a ROC.
const POINTS: u32 = 120;

/// What is attacked: runs of this configuration, on a small town.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub config: RunConfig,
    pub own: Option<Own>,
}

/// How an attack goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Inferred {
    /// So many steps of the model are done.
    Training(Progress),
    /// It is done.
    Found(Box<Seen>),
}

/// What the model gives away of those whose label was wrong, and of those whose label was right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub mislabelled: Scored,
    pub labelled: Option<Scored>,
    pub own: Option<OwnFound>,
}

/// What scores tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub auc: Estimate,
    /// For logarithmic axes.
    pub roc: Vec<Point>,
    /// Of so many that are guessed to have been in, so many were.
    pub guesses: u32,
    pub right: u32,
    /// ε from below at 95 %: by guesses alone, and by those of a Gaussian curve.
    pub epsilon: f64,
    pub epsilon_gaussian: f64,
}

impl From<Told> for Scored {
    fn from(told: Told) -> Self {
        let Told { roc, guesses, right, epsilon, epsilon_gaussian } = told;
        Self { auc: roc.auc(), roc: roc.chart(POINTS), guesses, right, epsilon, epsilon_gaussian }
    }
}

/// An attack under way.
pub struct Attack {
    asked: Asked,
    digits: Option<Dataset>,
    membership: Option<Membership>,
    told: u64,
}

impl Attack {
    #[must_use]
    pub const fn new(asked: Asked) -> Self {
        Self { asked, digits: None, membership: None, told: 0 }
    }

    /// Works for about `time`; `Some` when there is something to tell.
    ///
    /// # Errors
    /// What is refused, and a model that fails.
    pub async fn piece(&mut self, time: Duration) -> Result<Option<Inferred>, AttackError> {
        let start = Instant::now();
        let sought = Sought::default();
        let Some(digits) = &self.digits else {
            // Drawn in a piece of their own.
            self.digits = Some(synthetic::digits(SEED, sought.examples()? as usize, 0).train);
            return Ok(None);
        };
        let Some(membership) = &mut self.membership else {
            // Coins that nobody knows beforehand.
            let seed = SystemRng::new().map_err(SessionError::from)?.next_u64();
            let (Asked { config, own }, factory) = (&self.asked, EngineFactory::cpu());
            let sought = Sought { seed, ..sought };
            // The town is of digits, whatever images the run is of.
            let config =
                config.clone().fitted(digits.picture, digits.classes.count()).unwrap_or_else(|_| config.clone());
            let begun = Membership::new(&factory, digits, config, &sought, own.as_ref()).await?;
            self.membership = Some(begun);
            return Ok(None);
        };
        let mut progress = membership.progress();
        while !progress.complete() {
            progress = membership.advance(1).await?;
            if start.elapsed() >= time {
                // As often as a bar moves by a hundredth.
                let news = progress.done / (progress.of / 100).max(1);
                let tells = std::mem::replace(&mut self.told, news) != news;
                return Ok(tells.then_some(Inferred::Training(progress)));
            }
        }
        // What such a run costs is the accountant's to say.
        let (mislabelled, labelled, own) = membership.told().await?;
        let seen = Seen { mislabelled: mislabelled.into(), labelled: labelled.map(Scored::from), own };
        Ok(Some(Inferred::Found(Box::new(seen))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::membership::small_town;

    fn all(asked: Asked) -> Result<(Vec<Progress>, Seen), AttackError> {
        let (mut attack, mut progress) = (Attack::new(asked), vec![]);
        loop {
            match pollster::block_on(attack.piece(Duration::from_millis(2)))? {
                None => {}
                Some(Inferred::Training(now)) => progress.push(now),
                Some(Inferred::Found(seen)) => return Ok((progress, *seen)),
            }
        }
    }

    #[test]
    fn small_towns_leak_piece_by_piece() {
        let own = Own { pixels: synthetic::digits(9, 1, 0).train.images.to_vec(), label: 3 };
        let open = Asked { config: small_town(None), own: Some(own) };
        let (progress, seen) = all(open).unwrap();
        assert!(progress.windows(2).all(|pair| pair[0].done < pair[1].done) && progress.len() <= 110);
        assert!(seen.mislabelled.auc.value > 0.95 && seen.mislabelled.roc.len() > 5);
        assert!(seen.own.is_some_and(|own| own.of == 1000));
        let (_, seen) = all(Asked { config: small_town(Some(1.1)), own: None }).unwrap();
        // Such a run costs ε = 3.07.
        assert!(seen.mislabelled.auc.value < 0.64 && seen.mislabelled.epsilon_gaussian < 3.07 && seen.own.is_none());
        assert!(all(Asked { config: RunConfig { steps: None, ..small_town(None) }, own: None }).is_err());
    }
}
