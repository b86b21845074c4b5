//! The accountant against reference values: all cases of the files, within their tolerances.
//!
//! Reads `tests/golden/accounting.json`, `other.json` (made by `other_cases.py`), `schedules.json`,
//! `random-allocation.json` and `gdp.json`; `HUSHGRAD_REFERENCE` names one file instead (by its
//! absolute path), and `HUSHGRAD_REFERENCE_METHODS` a folder with the last three. Prints a line per
//! kind; answers out of tolerance and unknown kinds or families fail. `--case ID` prints one case.

use std::{collections::BTreeMap, fmt::Write as _, process::ExitCode, time::Instant};

use hushgrad_accounting::{
    books::Books,
    calibrate::{Method, Target, noise_scale},
    dp_sgd,
    dynamics::{Argument, Setting},
    envelope::EnvelopeProfile,
    filter::PrivacyFilter,
    gdp::GaussianFit,
    groups::{Clipping, Group, Groups, NoisyGroup},
    ledger::{Ledger, Release, Sensitivity},
    noise::NoiseSpec,
    normal,
    pld::Pld,
    rdp::{Orders, RdpAccountant, RdpCurve},
    risk::{AttackBound, EpsilonDelta, GaussianPrivacy},
    sampling::Sampling,
};
use serde_json::{Value, json};

type Answer = Result<Value, String>;

fn main() -> ExitCode {
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    if asked("--list") {
        // For nextest: a single test, not ignored.
        if !asked("--ignored") {
            println!("references: test");
        }
        return ExitCode::SUCCESS;
    }
    let golden = |name| format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    const METHODS: [&str; 3] = ["schedules.json", "random-allocation.json", "gdp.json"];
    let methods = std::env::var("HUSHGRAD_REFERENCE_METHODS");
    let mut paths = match std::env::var("HUSHGRAD_REFERENCE") {
        Ok(path) => vec![path],
        Err(_) => ["accounting.json", "other.json"].into_iter().chain(METHODS).map(golden).collect(),
    };
    if let Ok(folder) = methods {
        paths.retain(|path| !METHODS.iter().any(|name| path.ends_with(name)));
        paths.extend(METHODS.map(|name| format!("{folder}/{name}")));
    }
    let (mut cases, mut passed) = (0, 0);
    for path in &paths {
        match check(path) {
            Ok((of_file, right)) => {
                cases += of_file;
                passed += right;
            }
            Err(e) => {
                println!("{path}: {e}");
                cases += 1;
            }
        }
    }
    let ok = cases > 0 && passed == cases;
    let word = if ok { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {} failed; 0 ignored; 0 measured; 0 filtered out",
        cases - passed
    );
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the number of cases in a file and how many pass; prints each kind.
fn check(path: &str) -> Result<(usize, usize), String> {
    let text = std::fs::read_to_string(path).map_err(say)?;
    let reference: Value = serde_json::from_str(&text).map_err(|e| format!("not JSON: {e}"))?;
    let default_orders: Vec<f64> =
        numbers(&reference["conventions"]["dp_accounting_default_orders"]).unwrap_or_default();
    let arguments: Vec<String> = std::env::args().collect();
    let wanted = arguments.iter().position(|a| a == "--case").and_then(|i| arguments.get(i + 1));

    let mut kinds: BTreeMap<String, Tally> = BTreeMap::new();
    let mut order = Vec::new();
    let all = reference["cases"].as_array().filter(|cases| !cases.is_empty()).ok_or("no cases")?;
    for case in all {
        let (kind, id) = (case["kind"].as_str().unwrap_or("?"), case["id"].as_str().unwrap_or("?"));
        if wanted.is_some_and(|w| w != id) {
            continue;
        }
        if !kinds.contains_key(kind) {
            order.push(kind.to_owned());
        }
        let tally = kinds.entry(kind.to_owned()).or_default();
        let start = Instant::now();
        let answer = answer(kind, &case["inputs"], case, &default_orders);
        tally.seconds += start.elapsed().as_secs_f64();
        tally.cases += 1;
        match answer {
            Ok(answer) => {
                if wanted.is_some() {
                    println!("{id}: {answer:#}");
                }
                let before = tally.problems.len();
                let compared = tally.compare(id, case, &answer);
                if compared == 0 {
                    tally.problems.push(format!("{id}: nothing was compared"));
                }
                tally.passed += usize::from(tally.problems.len() == before);
            }
            Err(e) => tally.problems.push(format!("{id}: {e}")),
        }
    }

    let (mut cases, mut passed) = (0, 0);
    for kind in &order {
        let tally = &kinds[kind];
        cases += tally.cases;
        passed += tally.passed;
        let Tally { cases, passed, compared, worst, seconds, .. } = tally;
        println!(
            "{kind:<26} {passed:>3} of {cases:>3} cases, {compared:>5} values, worst {worst:.2} of tolerance, {seconds:.2} s"
        );
        for problem in &tally.problems {
            println!("    {problem}");
        }
    }
    Ok((cases, passed))
}

#[derive(Default)]
struct Tally {
    cases: usize,
    passed: usize,
    compared: usize,
    /// Largest deviation over its tolerance.
    worst: f64,
    seconds: f64,
    problems: Vec<String>,
}

impl Tally {
    /// Compares the fields that have a tolerance or are exact by nature; returns their number.
    fn compare(&mut self, id: &str, case: &Value, answer: &Value) -> usize {
        let before = self.compared;
        let tolerances = case["tolerance"].as_object().cloned().unwrap_or_default();
        let expected = &case["expected"];
        match case["kind"].as_str() {
            Some("noise_moment") => {
                let rows = expected["values"].as_array().map(Vec::as_slice).unwrap_or_default();
                for (row, got) in rows.iter().zip(answer["values"].as_array().map(Vec::as_slice).unwrap_or_default()) {
                    let place = format!("{id} τ={} k={}", row["tau"], row["k"]);
                    for (field, tolerance) in &tolerances {
                        self.value(&format!("{place} {field}"), &row[field], &got[field], tolerance);
                    }
                }
                if rows.len() != answer["values"].as_array().map_or(0, Vec::len) {
                    self.problems.push(format!("{id}: wrong number of values"));
                }
            }
            _ => {
                if case["kind"] == "epsilon_pld" {
                    for field in ["pessimistic_answer", "point_estimate"] {
                        if !tolerances.contains_key(field) {
                            self.problems.push(format!("{id}: the case has no tolerance `{field}`"));
                        }
                    }
                }
                for (field, tolerance) in &tolerances {
                    match field.as_str() {
                        "pessimistic_answer" => self.compare_bound(id, expected, answer, tolerance),
                        // As a point estimate too, if the file asks for one.
                        "point_estimate" => {
                            let target = tolerance["target"].as_str().unwrap_or("?");
                            let place = format!("{id} point estimate");
                            if !expected[target].is_number() {
                                self.problems.push(format!("{place}: `{target}` is no expected value"));
                            }
                            self.value(&place, &expected[target], &answer["eps_upper"], tolerance);
                        }
                        // The answer is the larger of both directions.
                        "eps_remove" | "eps_add" => {}
                        // Only if ours is the closed curve.
                        "closed_form" if answer["method"] == "closed-form" => {
                            let place = format!("{id} closed form");
                            self.value(&place, &expected["eps"], &answer["eps_upper"], tolerance);
                        }
                        "closed_form" => {}
                        _ => self.value(&format!("{id} {field}"), &expected[field], &answer[field], tolerance),
                    }
                }
                for (field, value) in expected.as_object().into_iter().flatten() {
                    let exact = field.starts_with("order_") && !field.contains("dp_accounting") || value.is_boolean();
                    if exact && !tolerances.contains_key(field) && !answer[field].is_null() {
                        self.value(&format!("{id} {field}"), value, &answer[field], &json!({"rel": 0.0}));
                    }
                }
            }
        }
        self.compared - before
    }

    /// Compares an upper bound: from `min` to `max`, which are formulas, and not above Rényi's.
    fn compare_bound(&mut self, id: &str, expected: &Value, answer: &Value, tolerance: &Value) {
        self.compared += 1;
        let got = answer["eps_upper"].as_f64().unwrap_or(f64::NAN);
        let limits = |end: &str| limit(expected, tolerance[end].as_str()?);
        let Some((low, high)) = limits("min").zip(limits("max")) else {
            self.problems.push(format!("{id}: these limits are not understood: {tolerance}"));
            return;
        };
        if (low..=high).contains(&got) {
            self.worst = self.worst.max((got - low) / (high - low));
        } else {
            self.problems.push(format!("{id}: pessimistic ε {got} outside {low} to {high}"));
        }
        for renyi in ["eps_rdp_improved_2_256", "eps_rdp_improved"] {
            if expected[renyi].as_f64().is_some_and(|renyi| got > renyi) {
                self.problems.push(format!("{id}: tight ε {got} above the Rényi bound"));
            }
        }
    }

    fn value(&mut self, place: &str, expected: &Value, got: &Value, tolerance: &Value) {
        if let (Some(want), Some(have)) = (expected.as_array(), got.as_array()) {
            if want.len() != have.len() {
                self.problems.push(format!("{place}: {} values, expected {}", have.len(), want.len()));
            }
            for (i, (w, h)) in want.iter().zip(have).enumerate() {
                self.value(&format!("{place}[{i}]"), w, h, tolerance);
            }
            return;
        }
        if expected.is_null() {
            // Beyond what the reference states (I − 1 above 1e300).
            return;
        }
        self.compared += 1;
        if let Some(want) = expected.as_bool() {
            if got.as_bool() != Some(want) {
                self.problems.push(format!("{place}: {got}, expected {want}"));
            }
            return;
        }
        let (want, have) = (expected.as_f64().unwrap_or(f64::NAN), got.as_f64().unwrap_or(f64::NAN));
        let bound = |name: &str| tolerance[name].as_f64().unwrap_or(0.0);
        let allowed = (bound("rel") * want.abs()).max(bound("abs"));
        // "only" limits it to the reference's formula: ours may be tighter, never looser.
        let off = if tolerance["only"].is_string() && have < want { 0.0 } else { (have - want).abs() };
        if off <= allowed {
            if allowed > 0.0 {
                self.worst = self.worst.max(off / allowed);
            }
        } else {
            self.problems
                .push(format!("{place}: {have:e}, expected {want:e}, off by {off:.3e}, allowed {allowed:.3e}"));
        }
    }
}

/// "FIELD", "FIELD * FACTOR" or "FIELD * (1 ± REL)", plus an optional constant.
fn limit(expected: &Value, formula: &str) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok();
    let (product, more) = match formula.rsplit_once(" + ").and_then(|(rest, more)| Some((rest, number(more)?))) {
        Some(parts) => parts,
        None => (formula, 0.0),
    };
    let Some((field, factor)) = product.split_once(" * ") else { return Some(expected[product].as_f64()? + more) };
    let factor = match factor.strip_prefix("(1 ").and_then(|rest| rest.strip_suffix(')')) {
        Some(relative) => 1.0 + number(&relative.replace(' ', ""))?,
        None => number(factor)?,
    };
    Some(expected[field].as_f64()? * factor + more)
}

fn answer(kind: &str, inputs: &Value, case: &Value, default_orders: &[f64]) -> Answer {
    match kind {
        "sampled_gaussian_rdp" => sampled_gaussian(inputs),
        "epsilon_rdp" => epsilon_rdp(inputs, case, default_orders),
        "epsilon_pld" => epsilon_pld(inputs),
        "noise_calibration" => noise_calibration(inputs, case),
        "noise_moment" => noise_moment(inputs),
        "noise_vector" => noise_vector(inputs, case),
        "without_replacement" => without_replacement(inputs, case),
        "shuffled_partition" => shuffled_partition(inputs),
        "privacy_dynamics" => privacy_dynamics(inputs),
        "interpretation" => interpretation(inputs),
        "phases" => phases(inputs),
        "user_level" => user_level(inputs),
        "adaptive_clip" => adaptive_clip(inputs, case),
        "mu_gdp" => mu_gdp(inputs),
        "concentrated" => concentrated(inputs),
        "filter" => filter(inputs),
        "groups" => groups(inputs),
        "random_allocation_gaussian" => {
            let noise = NoiseSpec::Gaussian { sigma: number(inputs, "sigma")? };
            random_allocation(inputs, case, Sensitivity::L2 { norm: 1.0 }, noise)
        }
        "random_allocation_laplace" => {
            // One coordinate of at most 1.
            let profile = EnvelopeProfile::from_vectors_f64([[1.0].as_slice()]).map_err(say)?;
            random_allocation(
                inputs,
                case,
                Sensitivity::Envelope { profile },
                NoiseSpec::Laplace { scale: number(inputs, "b")? },
            )
        }
        _ => Err(format!("this kind is not known: {kind}")),
    }
}

fn number(inputs: &Value, name: &str) -> Result<f64, String> {
    inputs[name].as_f64().ok_or_else(|| format!("input {name} is missing"))
}

fn whole(inputs: &Value, name: &str) -> Result<u64, String> {
    let value = number(inputs, name)?;
    if value >= 0.0 && value.fract() == 0.0 { Ok(value as u64) } else { Err(format!("input {name} is not a count")) }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// "integers 2..256", a list of numbers, or nothing, which means 2..256.
fn orders(inputs: &Value) -> Result<Vec<f64>, String> {
    if let Some(list) = numbers(&inputs["orders"]) {
        return Ok(list);
    }
    let text = inputs["orders"].as_str().unwrap_or("integers 2..256");
    let range = text.strip_prefix("integers ").and_then(|r| r.split_once(".."));
    let parse = |s: &str| s.trim().trim_start_matches('=').parse::<u32>().map_err(|_| format!("orders {text:?}"));
    let (low, high) = range.ok_or_else(|| format!("orders {text:?} are not understood"))?;
    Ok((parse(low)?..=parse(high)?).map(f64::from).collect())
}

fn at(curve: &RdpCurve, alphas: &Value) -> Result<Vec<f64>, String> {
    let alphas = numbers(alphas).ok_or("input alphas is missing")?;
    alphas.iter().map(|&a| curve.at(a).ok_or_else(|| format!("no bound at order {a}"))).collect()
}

fn l2(sampling: Sampling, norm: f64, sigma: f64) -> Release {
    Release::new(sampling, Sensitivity::L2 { norm }, Some(NoiseSpec::Gaussian { sigma }))
}

/// (ε classic, order, ε improved, order) after `steps` releases, over the given orders.
fn both(curve: &RdpCurve, steps: u64, delta: f64, orders: &[f64]) -> Result<Value, String> {
    let mut accountant = RdpAccountant::new();
    let id = accountant.add_curve(curve.clone()).map_err(say)?;
    accountant.compose(id, steps);
    let e = accountant.epsilon_at(delta, Orders::Listed(orders)).map_err(say)?;
    Ok(json!({
        "eps_classic": e.classic.epsilon, "order_classic": e.classic.order as u64,
        "eps_improved": e.improved.epsilon, "order_improved": e.improved.order as u64,
    }))
}

fn sampled_gaussian(inputs: &Value) -> Answer {
    let curve = RdpCurve::sampled_gaussian(number(inputs, "sigma")?, number(inputs, "q")?).map_err(say)?;
    Ok(json!({ "rdp": at(&curve, &inputs["alphas"])? }))
}

fn epsilon_rdp(inputs: &Value, case: &Value, default_orders: &[f64]) -> Answer {
    let curve = RdpCurve::sampled_gaussian(number(inputs, "sigma")?, number(inputs, "q")?).map_err(say)?;
    let (steps, delta) = (whole(inputs, "steps")?, number(inputs, "delta")?);
    let mut result = both(&curve, steps, delta, &orders(inputs)?)?;
    if !default_orders.is_empty() {
        let fractional = both(&curve, steps, delta, default_orders)?;
        result["eps_dp_accounting_default_orders"] = fractional["eps_improved"].clone();
    }
    // The ε that users get, over all orders, is never above either list's.
    let mut accountant = RdpAccountant::new();
    let id = accountant.add_curve(curve).map_err(say)?;
    accountant.compose(id, steps);
    let all = accountant.epsilon(delta).map_err(say)?.improved.epsilon;
    let listed = number(&case["expected"], "eps_improved")?;
    if all > listed * (1.0 + 1e-8) + 1e-9 {
        return Err(format!("over all orders ε = {all}, above {listed}"));
    }
    Ok(result)
}

fn epsilon_pld(inputs: &Value) -> Answer {
    let pld = Pld::sampled_gaussian(number(inputs, "sigma")?, number(inputs, "q")?).map_err(say)?;
    let tight = pld.compose(whole(inputs, "steps")?).epsilon(number(inputs, "delta")?).map_err(say)?;
    Ok(json!({ "eps_upper": tight.value }))
}

/// A ledger of `(release, steps)` by both accountants; Rényi over the listed orders, if any.
fn whole_ledger(runs: &[(Release, u64)], delta: f64, orders: Option<&[f64]>) -> Answer {
    let ledger = Ledger::of(runs.iter().cloned()).map_err(say)?;
    let tight = Books::of(ledger.clone()).map_err(say)?.tight(delta).map_err(say)?;
    let mut result = json!({ "eps_upper": tight.value, "method": tight.method });
    if let Some(orders) = orders {
        let e = RdpAccountant::of(&ledger).map_err(say)?.epsilon_at(delta, Orders::Listed(orders)).map_err(say)?;
        result["eps_rdp_classic"] = json!(e.classic.epsilon);
        result["eps_rdp_improved"] = json!(e.improved.epsilon);
        result["order_classic"] = json!(e.classic.order as u64);
        result["order_improved"] = json!(e.improved.order as u64);
    }
    Ok(result)
}

fn phases(inputs: &Value) -> Answer {
    let sampling = Sampling::Poisson { rate: number(inputs, "q")? };
    let phases = inputs["phases"].as_array().ok_or("input phases is missing")?;
    let runs = phases
        .iter()
        .map(|phase| Ok((l2(sampling, 1.0, number(phase, "sigma")?), whole(phase, "steps")?)))
        .collect::<Result<Vec<_>, String>>()?;
    whole_ledger(&runs, number(inputs, "delta")?, Some(&orders(inputs)?))
}

/// The noise that keeps `steps` releases within the target, for each method's field.
fn noise_scales(inputs: &Value, steps: u64, fields: impl IntoIterator<Item = (&'static str, Method)>) -> Answer {
    let (delta, epsilon) = (number(inputs, "delta")?, number(inputs, "target_eps")?);
    let release = l2(Sampling::Poisson { rate: number(inputs, "q")? }, 1.0, 1.0);
    let list = orders(inputs)?;
    let mut result = json!({});
    for (field, method) in fields {
        let target = Target { epsilon, delta, method, orders: Orders::Listed(&list) };
        let found = noise_scale(&release, steps, &target).map_err(say)?;
        if found.epsilon > epsilon {
            return Err(format!("{field} {} costs {}, above the target", found.value, found.epsilon));
        }
        result[field] = json!(found.value);
    }
    Ok(result)
}

/// A round samples users as a step samples examples.
fn user_level(inputs: &Value) -> Answer {
    noise_scales(inputs, whole(inputs, "rounds")?, [("z", Method::Tight), ("z_rdp_improved", Method::Improved)])
}

/// The update and the count of clipped updates (of ±½) share one sample: two groups.
fn adaptive_clip(inputs: &Value, case: &Value) -> Answer {
    let update = NoisyGroup { group: Group::new("update", 1000, 1.0), noise: number(&case["expected"], "z_delta")? };
    let groups = Groups::new(vec![update], Clipping::Separate).map_err(say)?;
    let groups = groups.and(Group::new("count", 1, 0.5), number(inputs, "sigma_b")?).map_err(say)?;
    let release = groups.release(Sampling::Poisson { rate: number(inputs, "q")? });
    let runs = [(release, whole(inputs, "rounds")?)];
    let mut result = whole_ledger(&runs, number(inputs, "delta")?, Some(&orders(inputs)?))?;
    result["z_back"] = json!(groups.noise_multiplier());
    Ok(result)
}

fn mu_gdp(inputs: &Value) -> Answer {
    let release = Release::new(
        Sampling::Poisson { rate: number(inputs, "q")? },
        Sensitivity::L2 { norm: 1.0 },
        Some(NoiseSpec::Gaussian { sigma: number(inputs, "sigma")? }),
    );
    let ledger = Ledger::of([(release, whole(inputs, "steps")?)]).map_err(say)?;
    let pld = Pld::of(&ledger).map_err(say)?;
    let fit = |cut_off| GaussianFit::of_losses(&pld, cut_off).map_err(say);
    let at_cut_off = fit(number(inputs, "err")?)?;
    let advantage = pld.delta(0.0).map_err(say)?.value;
    Ok(json!({
        "mu": at_cut_off.mu,
        "regret": at_cut_off.regret,
        "mu_err_1e-6": fit(1e-6)?.mu,
        "mu_err_1e-8": fit(1e-8)?.mu,
        // Φ(μ/2) − Φ(−μ/2) is the advantage.
        "mu_advantage": 2.0 * normal::survival_quantile(0.5 * (1.0 - advantage)),
    }))
}

fn concentrated(inputs: &Value) -> Answer {
    let curve = RdpCurve::sampled_gaussian(number(inputs, "sigma")?, number(inputs, "q")?).map_err(say)?;
    let run = RdpAccountant::of_steps(&curve, whole(inputs, "steps")?);
    let found = run.concentrated_up_to(number(inputs, "order")?).ok_or("no ρ")?;
    Ok(json!({ "eps_upper": found.rho }))
}

fn filter(inputs: &Value) -> Answer {
    let filter = PrivacyFilter::new(number(inputs, "epsilon")?, number(inputs, "delta")?).map_err(say)?;
    let mut books = Books::default();
    let step = books.register_priced(dp_sgd::step(number(inputs, "sigma")?, 1.0)).map_err(say)?;
    let count = filter.admits(&books, step, 1_000_000_000).map_err(say)?;
    Ok(json!({ "count": count, "order_of_filter": filter.order() }))
}

fn groups(inputs: &Value) -> Answer {
    let list = |field: &str| inputs[field].as_array().ok_or_else(|| format!("input {field} is missing"));
    let noisy = |(norm, noise): (&Value, &Value)| {
        let group = Group::new("group", 10, norm.as_f64()?);
        Some(NoisyGroup { group, noise: noise.as_f64()? })
    };
    let noisy: Option<Vec<_>> = list("norms")?.iter().zip(list("noises")?).map(noisy).collect();
    let clipping = if inputs["joint"] == true { Clipping::Joint } else { Clipping::Separate };
    let groups = Groups::new(noisy.ok_or("a number is missing")?, clipping).map_err(say)?;
    let release = groups.release(Sampling::Poisson { rate: 1.0 });
    whole_ledger(&[(release, whole(inputs, "steps")?)], number(inputs, "delta")?, None)
}

/// As random allocation, or as a shuffled partition if the case wants the unamplified price.
fn random_allocation(inputs: &Value, case: &Value, sensitivity: Sensitivity, noise: NoiseSpec) -> Answer {
    let (batches, epochs) = (whole(inputs, "batches")?, whole(inputs, "epochs")?);
    let wanted = case["tolerance"]["pessimistic_answer"]["min"].as_str().unwrap_or_default();
    let sampling = if wanted.starts_with("eps_unamplified") {
        Sampling::Shuffled { batches }
    } else {
        Sampling::RandomAllocation { batches }
    };
    let release = Release::new(sampling, sensitivity, Some(noise));
    whole_ledger(&[(release, batches * epochs)], number(inputs, "delta")?, None)
}

fn noise_calibration(inputs: &Value, case: &Value) -> Answer {
    let fields = [
        ("sigma_rdp_improved", Method::Improved),
        ("sigma_rdp_classic", Method::Classic),
        ("sigma_pld", Method::Tight),
    ];
    let stated = fields.into_iter().filter(|(field, _)| !case["expected"][field].is_null());
    noise_scales(inputs, whole(inputs, "steps")?, stated)
}

fn noise(inputs: &Value) -> Result<NoiseSpec, String> {
    let params = &inputs["params"];
    let first = |names: &[&str]| {
        names.iter().find_map(|n| params[n].as_f64()).ok_or_else(|| format!("parameters {names:?} are missing"))
    };
    let family = inputs["family"].as_str().unwrap_or("?");
    Ok(match family {
        "gaussian" | "normal" => NoiseSpec::Gaussian { sigma: first(&["sigma", "scale"])? },
        "laplace" => NoiseSpec::Laplace { scale: first(&["b", "scale"])? },
        "student_t" => NoiseSpec::StudentT { nu: first(&["nu", "df"])?, scale: first(&["scale", "s"])? },
        "cauchy" => NoiseSpec::Cauchy { scale: first(&["gamma", "scale"])? },
        "variance_gamma" => NoiseSpec::VarianceGamma { scale: first(&["c", "scale"])? },
        "sech" | "hyperbolic_secant" => NoiseSpec::HyperbolicSecant { scale: first(&["s", "scale"])? },
        "generalized_gaussian" | "generalised_gaussian" => NoiseSpec::GeneralizedGaussian {
            exponent: first(&["p", "exponent", "beta"])?,
            scale: first(&["scale", "s", "alpha", "a"])?,
        },
        _ => return Err(format!("this family is not known: {family}")),
    })
}

fn noise_moment(inputs: &Value) -> Answer {
    let noise = noise(inputs)?.build().map_err(say)?;
    let taus = numbers(&inputs["taus"]).ok_or("input taus is missing")?;
    let ks = numbers(&inputs["ks"]).ok_or("input ks is missing")?;
    let mut values = Vec::new();
    for &tau in &taus {
        for &k in &ks {
            let log = noise.log_moment(k as u32, tau);
            // Infinite values are not JSON numbers, so they fail, as they should.
            values.push(json!({ "tau": tau, "k": k, "log_I": log, "I_minus_1": log.exp_m1() }));
        }
    }
    Ok(json!({ "values": values }))
}

fn psi(rule: &Value) -> Result<Vec<f64>, String> {
    let name = rule["rule"].as_str().unwrap_or("?");
    if name == "explicit" {
        return numbers(&rule["values"]).ok_or_else(|| "explicit ψ without values".into());
    }
    let size = whole(rule, "K")? as usize;
    let norm = number(rule, "norm")?;
    let raw: Vec<f64> = match name {
        // Φ⁻¹(½ + x) is the point whose upper tail is ½ − x.
        "half_normal" => {
            (0..size).map(|i| normal::survival_quantile(0.5 - (i as f64 + 0.5) / (2.0 * size as f64))).collect()
        }
        "power" => {
            let exponent = number(rule, "exponent")?;
            (0..size).map(|i| (i as f64 + 1.0).powf(-exponent)).collect()
        }
        "uniform" => vec![1.0; size],
        "exponential" => (0..size).map(|i| -(-(i as f64 + 0.5) / size as f64).ln_1p()).collect(),
        "geometric" => {
            let ratio = number(rule, "ratio")?;
            (0..size).map(|i| ratio.powf(i as f64)).collect()
        }
        "one_hot" => (0..size).map(|i| f64::from(i == 0)).collect(),
        _ => return Err(format!("this rule for ψ is not known: {name}")),
    };
    let length = raw.iter().map(|p| p * p).sum::<f64>().sqrt();
    Ok(raw.iter().map(|p| norm * p / length).collect())
}

fn noise_vector(inputs: &Value, case: &Value) -> Answer {
    let rules = inputs["psi"].as_array().ok_or("input psi is missing")?;
    let vectors = rules.iter().map(psi).collect::<Result<Vec<_>, _>>()?;
    let prints = case["expected"]["psi_fingerprints"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (vector, print) in vectors.iter().zip(prints) {
        let squares: f64 = vector.iter().map(|p| p * p).sum();
        let want = number(print, "sum_psi2")?;
        if (squares / want - 1.0).abs() > 1e-12 {
            return Err(format!("ψ is not the reference's: Σψ² = {squares}, there {want}"));
        }
    }
    let profile = EnvelopeProfile::from_vectors_f64(vectors.iter().map(Vec::as_slice)).map_err(say)?;
    let sampling = Sampling::Poisson { rate: number(inputs, "q")? };
    let release = Release::new(sampling, Sensitivity::Envelope { profile }, Some(noise(inputs)?));
    let curve = RdpCurve::of(&release).map_err(say)?;
    let mut result = both(&curve, whole(inputs, "steps")?, number(inputs, "delta")?, &orders(inputs)?)?;
    result["rdp_per_step"] = json!(at(&curve, &case["expected"]["alphas"])?);
    Ok(result)
}

/// The reference is a bound (Wang, Balle & Kasiviswanathan 2019, Theorem 27), and so is the price: it
/// must lie between the divergence of one pair of neighbours, Poisson's, and the reference.
fn without_replacement(inputs: &Value, case: &Value) -> Answer {
    let (population, size, sigma) = (whole(inputs, "n")?, whole(inputs, "b")?, number(inputs, "sigma")?);
    // The reference's σ is relative to the replace-one sensitivity, twice the clipping norm.
    let curve = RdpCurve::of(&l2(Sampling::FixedSize { population, size }, 0.5, sigma)).map_err(say)?;
    let attained = RdpCurve::sampled_gaussian(sigma, size as f64 / population as f64).map_err(say)?;
    let [own, least] = [&curve, &attained].map(|curve| at(curve, &inputs["alphas"]));
    let reference = numbers(&case["expected"]["rdp"]).ok_or("no rdp")?;
    for ((own, least), most) in own?.into_iter().zip(least?).zip(&reference) {
        if !(own >= least && own <= most * (1.0 + 1e-9)) {
            return Err(format!("{own} is not between {least} and {most}"));
        }
    }
    Ok(json!({ "rdp": reference }))
}

fn shuffled_partition(inputs: &Value) -> Answer {
    let (sigma, epochs, delta) = (number(inputs, "sigma")?, whole(inputs, "epochs")?, number(inputs, "delta")?);
    const BATCHES: u64 = 7;
    let curve = RdpCurve::of(&l2(Sampling::Shuffled { batches: BATCHES }, 1.0, sigma)).map_err(say)?;
    let mut result = both(&curve, epochs * BATCHES, delta, &orders(inputs)?)?;
    result["rdp_per_epoch"] = json!(at(&curve, &inputs["alphas"])?);
    result["eps_exact"] = json!(normal::epsilon_gaussian((epochs as f64).sqrt() / sigma, delta));
    Ok(result)
}

fn privacy_dynamics(inputs: &Value) -> Answer {
    let step_size = number(inputs, "eta")?;
    let strong_convexity = number(inputs, "lambda")?;
    let setting = Setting {
        step_size,
        noise: number(inputs, "sigma")?,
        sensitivity: number(inputs, "Sg")?,
        strong_convexity,
        smoothness: inputs["beta"].as_f64().unwrap_or_else(|| step_size.recip().max(strong_convexity)),
        examples: whole(inputs, "n")?,
    };
    let alpha = number(inputs, "alpha")?;
    let checked = setting.checked().map_err(say)?;
    let bounds = checked.renyi(alpha, whole(inputs, "K")?).map_err(say)?;
    Ok(json!({
        "rdp_dynamics": bounds.hidden_state, "rdp_composition": bounds.composition, "rdp_lower_bound": bounds.lower,
        "K_crossover": checked.crossover(), "rdp_dynamics_limit": checked.limit(alpha),
        "dynamics_better_than_composition": bounds.argument == Argument::HiddenState,
    }))
}

fn interpretation(inputs: &Value) -> Answer {
    let rate = number(inputs, "fpr")?;
    let tpr = match inputs["type"].as_str() {
        Some("eps_delta") => EpsilonDelta::new(number(inputs, "eps")?, number(inputs, "delta")?)
            .map_err(say)?
            .best_true_positive_rate(rate),
        Some("gaussian_dp") => GaussianPrivacy::new(number(inputs, "mu")?).map_err(say)?.best_true_positive_rate(rate),
        other => {
            let mut text = String::new();
            let _ = write!(text, "this type is not known: {other:?}");
            return Err(text);
        }
    };
    Ok(json!({ "tpr_max": tpr }))
}
