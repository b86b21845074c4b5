//! What a link claims of a submitted run: `handed-in=400,0.9063,0.536,1000&by=Ada` claims 0.9063
//! after 400 of 1000 planned steps, which cost 0.536; older links end after ε. The settings are
//! beside it, as in any link. All of it is the author's word: anybody can write a link.

use super::encoding::{encode, pairs};
use crate::{
    data::name::kept,
    plot::format,
    train::number::parse,
    ui::{settings::clipped, text::t},
};

pub const KEY: &str = "handed-in";
pub const BY: &str = "by";
/// In place of ε, without a guarantee.
const NONE: &str = "none";
/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 60;
/// More steps than anybody trains here.
const MOST_STEPS: f64 = 1e9;

/// The claim of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct HandedIn {
    /// Empty for an anonymous submission.
    pub name: String,
    pub steps: u64,
    /// Accuracy on the test digits, from 0 to 1.
    pub accuracy: f64,
    /// ε of all planned steps; `None`: no guarantee.
    pub epsilon: Option<f64>,
    /// Number of planned steps, if known.
    pub planned: Option<u64>,
}

/// Reads the claim of a query, if any, or returns a sentence on what is wrong with it.
#[must_use]
pub fn read(query: &str) -> (Option<HandedIn>, Vec<String>) {
    let pairs = pairs(query);
    let value = |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let Some(said) = value(KEY) else { return (None, vec![]) };
    match numbers(said) {
        Some(said) => (Some(HandedIn { name: kept(value(BY).unwrap_or_default(), LONGEST_NAME), ..said }), vec![]),
        None => {
            let problem = t!(
                "In the link, {key} must be steps, accuracy and ε, such as 400,0.906,0.536, with {none} for no ε; “{said}” is not, and is ignored.",
                key = KEY,
                none = NONE,
                said = clipped(said)
            );
            (None, vec![problem])
        }
    }
}

fn numbers(said: &str) -> Option<HandedIn> {
    let whole = |said: &str| parse(said).filter(|n| (1.0..=MOST_STEPS).contains(n) && n.fract() == 0.0);
    let mut parts = said.split(',');
    let steps = whole(parts.next()?)? as u64;
    let accuracy = parse(parts.next()?).filter(|share| (0.0..=1.0).contains(share))?;
    let epsilon = match parts.next()? {
        NONE => None,
        epsilon => Some(parse(epsilon).filter(|epsilon| *epsilon >= 0.0 && epsilon.is_finite())?),
    };
    let planned = match parts.next() {
        Some(planned) => Some(whole(planned).map(|planned| planned as u64).filter(|planned| *planned >= steps)?),
        None => None,
    };
    parts.next().is_none().then_some(HandedIn { name: String::new(), steps, accuracy, epsilon, planned })
}

impl HandedIn {
    /// Writes the claim for a link.
    #[must_use]
    pub fn write(&self) -> String {
        let epsilon = self.epsilon.map_or_else(|| NONE.to_owned(), format::exact);
        let by = if self.name.is_empty() { String::new() } else { format!("&{BY}={}", encode(&self.name)) };
        let planned = self.planned.map_or_else(String::new, |planned| format!(",{planned}"));
        format!("{KEY}={},{},{epsilon}{planned}{by}", self.steps, format::exact(self.accuracy))
    }

    /// States the claim in words.
    #[must_use]
    pub fn claim(&self) -> String {
        let (share, n) = (format::percent(self.accuracy), format::integer(self.steps));
        // Format ε as given: it is not a bound computed by this page.
        let more = self.planned.filter(|planned| *planned > self.steps);
        match (self.epsilon.map(format::budget), more) {
            (Some(epsilon), Some(all)) => t!(
                "{share} after {n} of {all} planned steps, which cost ε ≤ {epsilon}",
                share = share,
                n = n,
                all = format::integer(all),
                epsilon = epsilon
            ),
            (Some(epsilon), None) => t!(
                "{share} after {n} step at ε ≤ {epsilon} | {share} after {n} steps at ε ≤ {epsilon}",
                share = share,
                n = n,
                epsilon = epsilon
            ),
            (None, _) => t!(
                "{share} after {n} step without a guarantee | {share} after {n} steps without a guarantee",
                share = share,
                n = n
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_survive_their_link() {
        let said = |name: &str, epsilon| HandedIn {
            name: name.to_owned(),
            steps: 400,
            accuracy: 0.9063,
            epsilon,
            planned: None,
        };
        let early = HandedIn { planned: Some(1000), ..said("Ada", Some(0.9)) };
        assert_eq!(early.write(), "handed-in=400,0.9063,0.9,1000&by=Ada");
        assert_eq!(early.claim(), "90.6% after 400 of 1,000 planned steps, which cost ε ≤ 0.900");
        for each in [early, said("", Some(0.536)), said("Ada & Lovelace = 1/2", None), said("Zoë <b>", Some(12.0))] {
            assert_eq!(read(&each.write()), (Some(each.clone()), vec![]), "{}", each.write());
        }
        assert_eq!(said("", Some(0.536)).claim(), "90.6% after 400 steps at ε ≤ 0.536");
        assert_eq!(said("", Some(0.01)).claim(), "90.6% after 400 steps at ε ≤ 0.0100");
        assert_eq!(said("", None).claim(), "90.6% after 400 steps without a guarantee");
        assert_eq!(read("sigma=2&by=Ada"), (None, vec![]));
    }

    #[test]
    fn malformed_claims_are_reported() {
        for wrong in [
            "",
            "400",
            "400,0.9",
            "400,0.9,",
            "400,0.9,x",
            "400,1.1,1",
            "0,0.9,1",
            "1.5,0.9,1",
            "400,0.9,-1",
            "400,0.9,1,2",
            "400,0.9,1,400.5",
            "400,0.9,1,500,1",
            "1e10,0.9,1",
            "400,NaN,1",
        ] {
            let (read, problems) = read(&format!("handed-in={wrong}"));
            assert_eq!(read, None, "{wrong}");
            assert!(problems.len() == 1 && problems[0].starts_with("In the link, handed-in must be"), "{problems:?}");
        }
    }

    #[test]
    fn names_are_cut_and_lose_control_characters() {
        let name = |said: &str| read(&format!("handed-in=1,0,0&by={said}")).0.unwrap().name;
        assert_eq!(name("A%E2%80%AEda%0A"), "Ada");
        assert_eq!(name(&"x".repeat(100)).len(), 60);
    }
}
