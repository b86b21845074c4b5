//! Benchmark cases, run natively (`main.rs`) and in a browser (`in_browser.rs`).

use std::{cell::OnceCell, rc::Rc};

use hushgrad_accounting::{
    envelope::EnvelopeProfile,
    gdp::{CUT_OFF, GaussianFit},
    ledger::{Release, Sensitivity},
    noise::{CustomDensity, NoiseSpec},
    normal,
    pld::Pld,
    rdp::{Orders, RdpAccountant, RdpCurve},
    sampling::Sampling,
};
use rand::rand_core::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

const RATE: f64 = 256.0 / 60_000.0;
const STEPS: u64 = 14_062;
const DELTA: f64 = 1e-5;
const VECTORS: usize = 1000;
const COORDINATES: usize = 26_010;

/// A case to time; `run` returns its result, so that nothing is optimised away.
pub struct Case {
    pub name: &'static str,
    pub run: Box<dyn FnMut() -> f64>,
}

/// The cases, in the table's order.
pub fn cases() -> Vec<Case> {
    let case = |name, run: Box<dyn FnMut() -> f64>| Case { name, run };
    let psi = Psi::default();
    let mut cases = vec![
        case(
            "RDP ε, orders 2 to 256",
            Box::new(|| renyi(&RdpCurve::sampled_gaussian(1.1, RATE).expect("valid"), Orders::Integers)),
        ),
        case(
            "RDP ε, fractional orders too",
            Box::new(|| renyi(&RdpCurve::sampled_gaussian(1.1, RATE).expect("valid"), Orders::All)),
        ),
        case("one more step", one_more_step()),
        case(
            "PLD ε",
            Box::new(|| {
                let run = Pld::sampled_gaussian(1.1, RATE).expect("valid").compose(STEPS).with_tolerance(1e-4);
                run.epsilon(DELTA).expect("valid").value
            }),
        ),
        case("prepare Ψ, 1000 × 26,010", {
            let psi = psi.clone();
            Box::new(move || profile(psi.vectors()).norm())
        }),
    ];
    let formula = |formula, scale| NoiseSpec::Custom {
        density: CustomDensity::from_formula(formula).expect("a possible density"),
        scale,
    };
    for (name, noise) in [
        ("RDP ε, Ψ, Gaussian", NoiseSpec::Gaussian { sigma: 1.1 }),
        ("RDP ε, Ψ, Student-t", NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
        ("RDP ε, Ψ, Laplace", NoiseSpec::Laplace { scale: 1.1 }),
        ("RDP ε, Ψ, Cauchy", NoiseSpec::Cauchy { scale: 0.8 }),
        ("RDP ε, Ψ, variance gamma", NoiseSpec::VarianceGamma { scale: 0.6 }),
        ("RDP ε, Ψ, hyperbolic secant", NoiseSpec::HyperbolicSecant { scale: 1.2 }),
        ("RDP ε, Ψ, generalised Gaussian", NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 1.2 }),
        ("RDP ε, Ψ, exponent 3", NoiseSpec::GeneralizedGaussian { exponent: 3.0, scale: 3.0 }),
        ("RDP ε, Ψ, exponent 8", NoiseSpec::GeneralizedGaussian { exponent: 8.0, scale: 10.0 }),
        ("RDP ε, Ψ, exponent 100", NoiseSpec::GeneralizedGaussian { exponent: 100.0, scale: 30.0 }),
        ("RDP ε, Ψ, a formula", formula("1/cosh(x)", 1.0)),
        ("RDP ε, Ψ, a steep formula", formula("exp(-x^20)", 30.0)),
        ("RDP ε, Ψ, a cusped formula", formula("exp(-sqrt(abs(x)))", 1.0)),
        // The best order is far beyond 64, so all orders count.
        ("RDP ε below 0.1, Ψ, Student-t", NoiseSpec::StudentT { nu: 9.0, scale: 20.0 }),
        ("RDP ε below 0.1, Ψ, generalised Gaussian", NoiseSpec::GeneralizedGaussian { exponent: 1.5, scale: 24.0 }),
    ] {
        let psi = psi.clone();
        cases.push(case(
            name,
            Box::new(move || {
                let curve = RdpCurve::of(&psi.release(noise.clone())).expect("valid");
                renyi(&curve, Orders::Integers)
            }),
        ));
    }
    for (name, noise) in [
        ("PLD ε, Ψ, Student-t", NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
        ("PLD ε, Ψ, Laplace", NoiseSpec::Laplace { scale: 1.1 }),
        ("PLD ε, Ψ, hyperbolic secant", NoiseSpec::HyperbolicSecant { scale: 1.2 }),
    ] {
        let psi = psi.clone();
        cases.push(case(
            name,
            Box::new(move || {
                let step = Pld::for_release(&psi.release(noise.clone())).expect("valid");
                step.compose(STEPS).epsilon(DELTA).expect("valid").value
            }),
        ));
    }
    cases.push(case(
        "PLD ε, one ψ, Student-t",
        Box::new(move || {
            let release = under(profile(&psi.vectors()[..1]), NoiseSpec::StudentT { nu: 9.0, scale: 1.0 });
            Pld::for_release(&release).expect("valid").compose(STEPS).epsilon(DELTA).expect("valid").value
        }),
    ));
    for (name, sigma, batches, epochs) in [
        ("PLD ε, random allocation", 1.1, 234, 15),
        ("PLD ε, random allocation, 60 epochs", 1.1, 235, 60),
        ("PLD ε, random allocation, best-3", 1.328, 30, 20),
        ("PLD ε, random allocation, one epoch", 0.5, 1000, 1),
    ] {
        cases.push(case(
            name,
            Box::new(move || {
                let step = Pld::for_release(&allocated(batches, sigma)).expect("valid");
                step.compose(batches * epochs).epsilon(DELTA).expect("valid").value
            }),
        ));
    }
    cases.push(case(
        "μ, regret",
        Box::new(|| {
            let run = Pld::sampled_gaussian(1.1, RATE).expect("valid").compose(STEPS);
            GaussianFit::of_losses(&run, CUT_OFF).expect("valid").mu
        }),
    ));
    cases.push(case(
        "RDP ε, random allocation",
        Box::new(|| {
            let curve = RdpCurve::of(&allocated(234, 1.1)).expect("valid");
            RdpAccountant::of_steps(&curve, 234 * 15).epsilon(DELTA).expect("finite").improved.epsilon
        }),
    ));
    cases
}

fn allocated(batches: u64, sigma: f64) -> Release {
    let noise = Some(NoiseSpec::Gaussian { sigma });
    Release::new(Sampling::RandomAllocation { batches }, Sensitivity::L2 { norm: 1.0 }, noise)
}

fn renyi(curve: &RdpCurve, orders: Orders<'_>) -> f64 {
    let mut accountant = RdpAccountant::new();
    let id = accountant.add_curve(curve.clone()).expect("one curve");
    accountant.compose(id, STEPS);
    accountant.epsilon_at(DELTA, orders).expect("finite").improved.epsilon
}

fn one_more_step() -> Box<dyn FnMut() -> f64> {
    let mut accountant = RdpAccountant::new();
    let id = accountant.add_curve(RdpCurve::sampled_gaussian(1.1, RATE).expect("valid")).expect("one curve");
    Box::new(move || {
        accountant.compose(id, 1);
        accountant.steps() as f64
    })
}

fn profile(vectors: &[Vec<f32>]) -> EnvelopeProfile {
    EnvelopeProfile::from_vectors(vectors.iter().map(Vec::as_slice)).expect("valid")
}

/// 1000 vectors of 26,010 coordinates: sorted |N(0,1)| of norm 1, drawn on first use.
#[derive(Clone, Default)]
struct Psi(Rc<Drawn>);

#[derive(Default)]
struct Drawn {
    vectors: OnceCell<Vec<Vec<f32>>>,
    profile: OnceCell<EnvelopeProfile>,
}

impl Psi {
    fn vectors(&self) -> &[Vec<f32>] {
        self.0.vectors.get_or_init(|| {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            (0..VECTORS).map(|_| sorted_normal(&mut rng)).collect()
        })
    }

    fn release(&self, noise: NoiseSpec) -> Release {
        under(self.0.profile.get_or_init(|| profile(self.vectors())).clone(), noise)
    }
}

fn under(profile: EnvelopeProfile, noise: NoiseSpec) -> Release {
    Release::new(Sampling::Poisson { rate: RATE }, Sensitivity::Envelope { profile }, Some(noise))
}

/// |N| in descending order: sorted uniforms are ratios of sums of exponentials (Rényi 1953).
fn sorted_normal(rng: &mut ChaCha20Rng) -> Vec<f32> {
    let mut sum = 0.0;
    let mut next = || {
        sum -= ((f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0).ln();
        sum
    };
    let sums: Vec<f64> = (0..COORDINATES).map(|_| next()).collect();
    let total = next();
    let row: Vec<f64> = sums.iter().map(|s| normal::survival_quantile(0.5 * s / total)).collect();
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    row.iter().map(|x| (x / norm) as f32).collect()
}
