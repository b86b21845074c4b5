//! The query of the noise lab, as plain data.

use crate::{
    ui::text::{Text, text},
    worker::lab::Psi,
};

/// Keys in links of the noises to compare; the last two are the visitor's own.
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
/// Index of the visitor's exponent.
pub const EXPONENT: usize = 7;
/// Index of the visitor's formula.
pub const FORMULA: usize = 8;
/// Value in links if nothing is selected.
const NOTHING: &str = "none";
/// Envelopes to choose from: keys in links, and labels.
pub const PSIS: [(&str, Psi, Text); 5] = [
    ("spread", Psi::Spread, text!("spread over all 7,850 coordinates")),
    ("heavy-tailed", Psi::HeavyTailed, text!("heavy-tailed")),
    ("260", Psi::Entries(260), text!("260 equal coordinates")),
    ("26", Psi::Entries(26), text!("26 equal coordinates")),
    ("1", Psi::Entries(1), text!("one coordinate")),
];

/// The query.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseQuery {
    /// Which of [`KEYS`] are compared.
    pub chosen: [bool; 9],
    pub psi: Psi,
    /// ε that each may cost.
    pub epsilon: f64,
    /// Exponent of the generalised Gaussian.
    pub exponent: f64,
    /// The visitor's density; empty: that of the run.
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
    /// Returns the selected noises for a link; `1` is the default selection.
    #[must_use]
    pub fn names(&self) -> String {
        if self.chosen == Self::default().chosen {
            return "1".to_owned();
        }
        let names: Vec<_> = KEYS.iter().zip(self.chosen).filter(|(_, chosen)| *chosen).map(|(key, _)| *key).collect();
        if names.is_empty() { NOTHING.to_owned() } else { names.join(",") }
    }

    /// Selects the noises that a link names.
    ///
    /// # Errors
    /// The first unknown name; the selection then stays.
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
    fn selections_survive_their_names() {
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
