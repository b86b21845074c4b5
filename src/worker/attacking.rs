//! Membership inference by the loss, in pieces, on drawn digits and one that the visitor drew.

use std::time::Duration;

use rand::rand_core::Rng as _;
use serde::{Deserialize, Serialize};
use web_time::Instant;

use crate::{
    attack::{
        AttackError, Estimate, Progress,
        membership::{Membership, MembershipResult, MembershipTarget, Own, OwnFound},
    },
    data::{Dataset, synthetic},
    engine::EngineFactory,
    rng::SystemRng,
    train::{config::RunConfig, error::SessionError, projection::Point},
};

/// Seed of the drawn digits; they are public, as the program is.
const SEED: u64 = 2;
/// Points of a ROC.
const POINTS: u32 = 120;

/// The target of an attack: runs of this configuration, on a small town.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackRequest {
    pub config: RunConfig,
    pub own: Option<Own>,
}

/// Progress of an attack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AttackProgress {
    /// Steps of the model done so far.
    Training(Progress),
    Found(Box<Seen>),
}

/// Results for candidates with a wrong label, with a right label, and for the visitor's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub mislabelled: Scored,
    pub labelled: Option<Scored>,
    pub own: Option<OwnFound>,
}

/// Results of an attack's scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    pub auc: Estimate,
    /// For logarithmic axes.
    pub roc: Vec<Point>,
    /// How many are guessed to be members, and how many of those are.
    pub guesses: u32,
    pub right: u32,
    /// Lower bounds on ε at 95 %: from guesses alone, and assuming a Gaussian curve.
    pub epsilon: f64,
    pub epsilon_gaussian: f64,
}

impl From<MembershipResult> for Scored {
    fn from(told: MembershipResult) -> Self {
        let MembershipResult { roc, guesses, right, epsilon, epsilon_gaussian } = told;
        Self { auc: roc.auc(), roc: roc.chart(POINTS), guesses, right, epsilon, epsilon_gaussian }
    }
}

pub struct Attack {
    asked: AttackRequest,
    digits: Option<Dataset>,
    membership: Option<Membership>,
    told: u64,
}

impl Attack {
    #[must_use]
    pub const fn new(asked: AttackRequest) -> Self {
        Self { asked, digits: None, membership: None, told: 0 }
    }

    /// Works for about `time`; `Some` when there is something to report.
    ///
    /// # Errors
    /// If something is refused, or a model fails.
    pub async fn piece(&mut self, time: Duration) -> Result<Option<AttackProgress>, AttackError> {
        let start = Instant::now();
        let sought = MembershipTarget::default();
        let Some(digits) = &self.digits else {
            // Drawn in a piece of their own.
            self.digits = Some(synthetic::digits(SEED, sought.examples()? as usize, 0).train);
            return Ok(None);
        };
        let Some(membership) = &mut self.membership else {
            // Coins must be unpredictable.
            let seed = SystemRng::new().map_err(SessionError::from)?.next_u64();
            let (AttackRequest { config, own }, factory) = (&self.asked, EngineFactory::cpu());
            let sought = MembershipTarget { seed, ..sought };
            // The town consists of digits, whatever the images of the run.
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
                // Reports each time a bar moves by a hundredth.
                let news = progress.done / (progress.of / 100).max(1);
                let tells = std::mem::replace(&mut self.told, news) != news;
                return Ok(tells.then_some(AttackProgress::Training(progress)));
            }
        }
        // The accountant states the cost of such a run.
        let (mislabelled, labelled, own) = membership.told().await?;
        let seen = Seen { mislabelled: mislabelled.into(), labelled: labelled.map(Scored::from), own };
        Ok(Some(AttackProgress::Found(Box::new(seen))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::membership::leaky_settings;

    fn all(asked: AttackRequest) -> Result<(Vec<Progress>, Seen), AttackError> {
        let (mut attack, mut progress) = (Attack::new(asked), vec![]);
        loop {
            match pollster::block_on(attack.piece(Duration::from_millis(2)))? {
                None => {}
                Some(AttackProgress::Training(now)) => progress.push(now),
                Some(AttackProgress::Found(seen)) => return Ok((progress, *seen)),
            }
        }
    }

    #[test]
    fn attacks_on_a_small_town_run_in_pieces() {
        let own = Own { pixels: synthetic::digits(9, 1, 0).train.images.to_vec(), label: 3 };
        let open = AttackRequest { config: leaky_settings(None), own: Some(own) };
        let (progress, seen) = all(open).unwrap();
        assert!(progress.windows(2).all(|pair| pair[0].done < pair[1].done) && progress.len() <= 110);
        assert!(seen.mislabelled.auc.value > 0.95 && seen.mislabelled.roc.len() > 5);
        assert!(seen.own.is_some_and(|own| own.of == 1000));
        let (_, seen) = all(AttackRequest { config: leaky_settings(Some(1.1)), own: None }).unwrap();
        // This run costs ε = 3.07.
        assert!(seen.mislabelled.auc.value < 0.64 && seen.mislabelled.epsilon_gaussian < 3.07 && seen.own.is_none());
        assert!(all(AttackRequest { config: RunConfig { steps: None, ..leaky_settings(None) }, own: None }).is_err());
    }
}
