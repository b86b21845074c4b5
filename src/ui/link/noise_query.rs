//! What is asked of the noise lab, as plain data.

use crate::{
    ui::text::{Text, text},
    worker::lab::Psi,
};

/// What can be compared, as links call it; the last two are the visitor's own.
pub const KEYS: [&str; 9] = [
    "gaussian",
    "student-t-9",
    "student-t-3",
    "laplace",
    "cauchy",
    "variance-gamma",
    "hyperbolic-secant",
    "exponent",
    "density",
];
/// Where the visitor's exponent stands among them.
pub const EXPONENT: usize = 7;
/// Where the visitor's formula stands among them.
pub const FORMULA: usize = 8;
/// What a link says where nothing is ticked.
const NOTHING: &str = "none";
/// Envelopes to choose from: as links call them, and in words.
pub const PSIS: [(&str, Psi, Text); 5] = [
    ("spread", Psi::Spread, text!("spread over all 7,850 coordinates")),
    ("heavy-tailed", Psi::HeavyTailed, text!("heavy-tailed")),
    ("260", Psi::Entries(260), text!("260 equal coordinates")),
    ("26", Psi::Entries(26), text!("26 equal coordinates")),
    ("1", Psi::Entries(1), text!("one coordinate")),
];

/// The questions.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseQuery {
    /// Which of [`KEYS`] are compared.
    pub chosen: [bool; 9],
    pub psi: Psi,
    /// What each may cost.
    pub epsilon: f64,
    /// Of the generalised Gaussian.
    pub exponent: f64,
    /// The visitor's density; empty: the one that is set for the run.
    pub formula: String,
}

impl Default for NoiseQuery {
    fn default() -> Self {
        let mut chosen = [false; 9];
        for which in [0, 1, 3, EXPONENT] {
            chosen[which] = true;
        }
        Self { chosen, psi: Psi::Spread, epsilon: 1.0, exponent: 3.0, formula: String::new() }
    }
}

impl NoiseQuery {
    /// What is compared, as links say it: `1` for what is compared at first.
    #[must_use]
    pub fn names(&self) -> String {
        if self.chosen == Self::default().chosen {
            return "1".to_owned();
        }
        let names: Vec<_> = KEYS.iter().zip(self.chosen).filter(|(_, chosen)| *chosen).map(|(key, _)| *key).collect();
        if names.is_empty() { NOTHING.to_owned() } else { names.join(",") }
    }

    /// Compares what a link names.
    ///
    /// # Errors
    /// The name that there is none of.
    pub fn choose<'a>(&mut self, names: &'a str) -> Result<(), &'a str> {
        let mut chosen = [false; 9];
        for name in names.split(',').filter(|name| *name != NOTHING) {
            chosen[KEYS.iter().position(|key| *key == name).ok_or(name)?] = true;
        }
        self.chosen = chosen;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_is_named_and_found_again() {
        let mut query = NoiseQuery::default();
        assert_eq!(query.names(), "1");
        query.choose("cauchy,gaussian,density").unwrap();
        assert_eq!(query.names(), "gaussian,cauchy,density");
        assert_eq!(query.choose("gaussian,magic"), Err("magic"));
        assert_eq!(query.names(), "gaussian,cauchy,density", "nothing is taken of a list that is wrong");
        query.choose("none").unwrap();
        assert_eq!((query.chosen, query.names().as_str()), ([false; 9], "none"));
    }
}
