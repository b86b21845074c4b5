//! Lower bounds on ε against `tests/golden/audit.json`, or the file `HUSHGRAD_REFERENCE_AUDIT`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use hushgrad_accounting::{
    audit::{Errors, Guesses, clopper_pearson_lower, clopper_pearson_upper, step_level},
    normal::epsilon_gaussian,
    sampling::Sampling,
};
use serde_json::Value;

/// The answers, by the names of the file's outputs.
fn answers(kind: &str, inputs: &Value) -> BTreeMap<&'static str, f64> {
    let number = |key: &str| inputs[key].as_f64().unwrap_or_else(|| panic!("{kind} has no {key}"));
    let count = |key: &str| inputs[key].as_u64().unwrap_or_else(|| panic!("{kind} has no {key}")) as u32;
    match kind {
        "steinke" => {
            let guesses = Guesses::new(count("m"), count("r"), count("v")).unwrap();
            let delta = number("delta");
            BTreeMap::from([
                ("eps_lower", guesses.epsilon(number("beta"), delta).unwrap()),
                ("p_value_at_eps_1", guesses.p_value(1.0, delta)),
            ])
        }
        "fdp" => {
            let guesses = Guesses::new(count("m"), count("r"), count("v")).unwrap();
            let mu = guesses.mu(number("beta")).unwrap();
            let epsilon = if mu > 0.0 { epsilon_gaussian(mu, number("delta")) } else { 0.0 };
            BTreeMap::from([("eps_lower", epsilon), ("mu_at_eps_lower", mu)])
        }
        "clopper_pearson" | "step" => {
            let [wrong, missed] =
                [["false_positives", "negatives"], ["false_negatives", "positives"]].map(|keys| keys.map(count));
            let errors = Errors::new((wrong[0], wrong[1]), (missed[0], missed[1])).unwrap();
            let level = number(if kind == "step" { "level_each" } else { "level_each_side" });
            let mu = errors.mu(level).unwrap();
            let upper = |[errors, trials]: [u32; 2]| clopper_pearson_upper(errors, trials, level).unwrap();
            let lower = |[errors, trials]: [u32; 2]| clopper_pearson_lower(errors, trials, level).unwrap();
            let mut found =
                BTreeMap::from([("fpr_upper", upper(wrong)), ("fnr_upper", upper(missed)), ("mu_lower", mu)]);
            let delta = number("delta");
            if kind == "step" {
                let sampling = Sampling::Poisson { rate: number("q") };
                found.insert("sigma_plus", mu.recip());
                found.insert("eps_lower", step_level(errors, level, sampling, count("steps").into(), delta).unwrap());
            } else {
                found.extend([("fpr_lower", lower(wrong)), ("fnr_lower", lower(missed))]);
                found.insert("eps_lower_raw", errors.epsilon(level, delta).unwrap());
            }
            found
        }
        other => panic!("the kind {other} is not known"),
    }
}

#[test]
fn bounds_are_those_of_the_reference() {
    let text = match std::env::var("HUSHGRAD_REFERENCE_AUDIT") {
        Ok(path) => std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")),
        Err(_) => include_str!("golden/audit.json").to_owned(),
    };
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let mut checked = 0;
    for case in cases {
        let (id, kind) = (&case["id"], case["kind"].as_str().unwrap());
        let found = answers(kind, &case["inputs"]);
        for (key, tolerance) in case["tolerance"].as_object().unwrap() {
            let expected = case["expected"][key].as_f64().unwrap();
            let part = |name: &str| tolerance[name].as_f64().unwrap_or(0.0);
            let most = part("abs").max(part("rel") * expected.abs());
            let answer = found.get(key.as_str()).unwrap_or_else(|| panic!("{id}: no {key}"));
            assert!((answer - expected).abs() <= most, "{id}, {key}: {answer} where {expected} is expected");
            checked += 1;
        }
        // A lower bound must not exceed the optimistic ε.
        if let Some(optimistic) = case["expected"]["eps_pld_optimistic_h_5e-5"].as_f64() {
            assert!(found["eps_lower"] <= optimistic, "{id}: {} above {optimistic}", found["eps_lower"]);
        }
    }
    println!("{checked} numbers of {} cases", cases.len());
    assert!(checked > cases.len());
}
