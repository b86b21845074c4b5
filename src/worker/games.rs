//! The candidate game, played in pieces between other questions.

use serde::{Deserialize, Serialize};

use crate::{
    attack::{
        AttackError, Progress,
        game::{Game, Outcome},
    },
    train::config::RunConfig,
};

/// Candidates' steps simulated per piece: about an eighth of a second in a browser.
const STEPS: u64 = 6_000_000;
/// Most scores per piece, for short runs.
const MOST_SCORES: u64 = 20_000;

/// Progress of a game, and its outcome so far; `None` before its second round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Played {
    pub progress: Progress,
    pub outcome: Option<Outcome>,
}

/// The game asked for last.
#[derive(Default)]
pub struct Games(Option<(RunConfig, u32, u32, Game)>);

impl Games {
    /// Plays the next piece.
    ///
    /// # Errors
    /// If the game is not defined for the run.
    pub fn play(&mut self, config: &RunConfig, train: u32, candidates: u32) -> Result<Played, AttackError> {
        let begun =
            self.0.take().filter(|(of, examples, among, _)| (of, *examples, *among) == (config, train, candidates));
        let mut game = match begun {
            Some((.., game)) => game,
            // The seed affects only the simulation.
            None => Game::new(config, train, candidates, 0)?,
        };
        let scores = (STEPS / config.steps.unwrap_or(1).max(1)).clamp(1, MOST_SCORES);
        let progress = game.advance(scores as u32)?;
        let played = Played { progress, outcome: game.outcome() };
        self.0 = Some((config.clone(), train, candidates, game));
        Ok(played)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_is_played_piece_by_piece_and_another_begins_anew() {
        let (config, mut games) = (RunConfig { steps: Some(600), ..RunConfig::default() }, Games::default());
        let first = games.play(&config, 60_000, 10).unwrap();
        assert!(first.progress.done == 10_000 && !first.progress.complete() && first.outcome.is_some());
        let mut played = first;
        while !played.progress.complete() {
            let next = games.play(&config, 60_000, 10).unwrap();
            assert!(next.progress.done > played.progress.done);
            played = next;
        }
        let outcome = played.outcome.unwrap();
        assert!(
            outcome.attack.value > 0.1 && outcome.attack.value < outcome.bound + 3.0 * outcome.attack.standard_error
        );
        assert_eq!(games.play(&config, 60_000, 20).unwrap().progress.done, 10_000);
        assert!(games.play(&RunConfig { noise: None, ..config.clone() }, 60_000, 10).is_err());
        assert!(games.play(&config, 5, 10).is_err());
    }
}
