//! The standard normal distribution, to full relative precision in both tails.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// ln √(2π).
const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// P(N ≤ x).
#[must_use]
pub fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// P(N > x), relatively precise where it is tiny, unlike `1 − cdf(x)`.
#[must_use]
pub fn survival(x: f64) -> f64 {
    0.5 * libm::erfc(x * FRAC_1_SQRT_2)
}

/// Mills' ratio P(N > x)/φ(x), for x ≥ −5; below, it grows as e^{x²/2}.
#[must_use]
pub fn mills(x: f64) -> f64 {
    if x < FRACTION_FROM {
        return survival(x) * (2.0 * PI).sqrt() * (0.5 * x * x).exp();
    }
    // Laplace's continued fraction 1/(x + 1/(x + 2/(x + …))), evaluated from its tail.
    let tail = (1..=terms(x)).rev().fold(x, |below, k| x + f64::from(k) / below);
    1.0 / tail
}

/// From here on [`mills`] uses a continued fraction.
const FRACTION_FROM: f64 = 2.0;

/// Terms of the fraction; n terms leave out about e^{−2x√(2n)}.
fn terms(x: f64) -> u32 {
    (40.0 + 600.0 / x) as u32
}

/// ln P(N > x), for any x.
#[must_use]
pub fn ln_survival(x: f64) -> f64 {
    if x < 6.0 {
        // Below 0, ln_1p of the other tail keeps its digits.
        if x < 0.0 { (-cdf(x)).ln_1p() } else { survival(x).ln() }
    } else {
        -0.5 * x * x - LN_SQRT_2PI + mills(x).ln()
    }
}

/// The x with P(N > x) = p, for p in [0, 1]. Newton steps on ln P keep the tail's digits.
#[must_use]
pub fn survival_quantile(p: f64) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p >= 1.0 {
        return f64::NEG_INFINITY;
    }
    if p > 0.5 {
        return -survival_quantile_upper(1.0 - p);
    }
    survival_quantile_upper(p)
}

/// The x with P(N ≤ x) = p.
#[must_use]
pub fn quantile(p: f64) -> f64 {
    -survival_quantile(p)
}

fn survival_quantile_upper(p: f64) -> f64 {
    let goal = p.ln();
    // Starts from the tail's leading term; Newton steps on the concave ln P(N > x) refine it.
    let mut x = if p > 0.02 { (0.5 - p) * 2.5 } else { (-2.0 * goal - (2.0 * PI * -2.0 * goal).ln()).max(1.0).sqrt() };
    for _ in 0..60 {
        // d/dx ln P(N > x) = −1/mills(x).
        let step = (ln_survival(x) - goal) * mills(x);
        x = (x + step).max(0.0);
        if step.abs() <= 4.0 * f64::EPSILON * x.abs().max(1e-300) {
            break;
        }
    }
    x
}

/// ln δ(ε) of the Gaussian mechanism, `mu` = sensitivity/σ: δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ).
/// Balle & Wang 2018, Theorem 8. Under composition μ² adds up (Dong, Roth & Su 2022).
#[must_use]
pub fn ln_delta_gaussian(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 {
        return if epsilon >= 0.0 { f64::NEG_INFINITY } else { (-epsilon.exp_m1()).ln() };
    }
    if epsilon == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    let near = epsilon / mu - 0.5 * mu;
    if near < -4.0 {
        // δ is near 1; its complement is small.
        let far = epsilon / mu + 0.5 * mu;
        let complement = cdf(near) + (epsilon + ln_survival(far)).exp();
        return (-complement).ln_1p();
    }
    // As φ(far)·e^ε = φ(near), both terms share a factor; where the difference of Mills' ratios
    // would cancel, it is the integral of −mills′(x) = 1 − x·mills(x) > 0.
    let difference =
        if mu < 0.25 * (1.0 + near.abs()) { integrate_mills_slope(near, mu) } else { mills(near) - mills(near + mu) };
    -0.5 * near * near - LN_SQRT_2PI + difference.ln()
}

/// More than twice the rounding error of [`ln_delta_gaussian`]: units in the last place of the
/// exponent's parts (near δ = 1, of the complement's), and 1e-13 for Mills' ratios and differences.
fn ln_delta_rounding(mu: f64, epsilon: f64) -> f64 {
    let (near, far) = (epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu);
    let exponent = 4.0 * f64::EPSILON * (near.abs() * (far + mu) + near * near);
    if near < -4.0 {
        let complement = -ln_delta_gaussian(mu, epsilon).exp_m1();
        return complement * (exponent + 4.0 * f64::EPSILON * (epsilon + far * far) + 1e-12) + f64::MIN_POSITIVE;
    }
    exponent + 1e-12
}

/// Upper bound on δ(ε), in [0, 1], of the Gaussian mechanism with `mu` = sensitivity/σ, including
/// rounding. 0 only if `mu` is 0 or `epsilon` is infinite.
#[must_use]
pub fn delta_gaussian(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 || epsilon == f64::INFINITY {
        return 0.0;
    }
    // δ(ε) ≤ P(N > near), here below all positive f64.
    if epsilon / mu - 0.5 * mu - 4.0 * f64::EPSILON * (epsilon / mu + mu) > 100.0 {
        return f64::MIN_POSITIVE;
    }
    let above = ln_delta_gaussian(mu, epsilon) + ln_delta_rounding(mu, epsilon);
    // NaN is unknown and gives 1. In the subnormal range exp has few digits.
    if above < 0.0 { (above.exp() * (1.0 + 4.0 * f64::EPSILON) + f64::MIN_POSITIVE).min(1.0) } else { 1.0 }
}

/// ∫_near^{near+width} (1 − x·mills(x)) dx by Gauss–Legendre (5 points on 8 panels; the integrand
/// is entire and varies on the scale of `near`).
fn integrate_mills_slope(near: f64, width: f64) -> f64 {
    const NODES: [(f64, f64); 3] = [
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    let panels = 8;
    let half = 0.5 * width / f64::from(panels);
    let mut total = 0.0;
    for panel in 0..panels {
        let centre = near + half * f64::from(2 * panel + 1);
        for (node, weight) in NODES {
            total += weight * mills_slope(centre + half * node);
            if node > 0.0 {
                total += weight * mills_slope(centre - half * node);
            }
        }
    }
    total * half
}

/// 1 − x·mills(x) > 0.
fn mills_slope(x: f64) -> f64 {
    if x < FRACTION_FROM {
        return 1.0 - x * mills(x);
    }
    // 1 − x/(x + r) = r/(x + r), r = 1/(x + 2/(x + …)) of the continued fraction: no cancellation.
    let below = (2..=terms(x)).rev().fold(x, |below, k| x + f64::from(k) / below);
    let r = 1.0 / below;
    r / (x + r)
}

/// Upper bound on the smallest ε ≥ 0 with δ(ε) ≤ `delta` for the Gaussian mechanism: bisection that
/// returns the safe end, with the rounding error added to δ(ε).
#[must_use]
pub fn epsilon_gaussian(mu: f64, delta: f64) -> f64 {
    if delta >= 1.0 || mu == 0.0 {
        return 0.0;
    }
    if delta <= 0.0 || mu == f64::INFINITY {
        return f64::INFINITY;
    }
    // ln δ within two units in the last place; near 1 the complement has the digits.
    let goal = if delta > 0.5 { (-(1.0 - delta)).ln_1p() } else { delta.ln() } * (1.0 + 2.0 * f64::EPSILON);
    let missed = |epsilon: f64| {
        let above = ln_delta_gaussian(mu, epsilon) + ln_delta_rounding(mu, epsilon);
        epsilon < f64::INFINITY && (above.is_nan() || above > goal)
    };
    if !missed(0.0) {
        return 0.0;
    }
    // δ(ε) ≤ P(L > ε), with L ~ N(μ²/2, μ²).
    let (mut low, mut high) = (0.0, mu * (0.5 * mu + survival_quantile(delta).max(0.0)));
    while missed(high) {
        high = high * 2.0 + f64::MIN_POSITIVE;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if missed(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance * want.abs(), "got {got:e}, want {want:e}");
    }

    // Reference values below: 40-digit arithmetic.
    /// Found by fuzzing: rounding up passed 1.
    #[test]
    fn no_delta_exceeds_1() {
        for mu in [8.0, 12.0, 16.0, 20.0, 40.0, 1e3] {
            for epsilon in [0.0, 0.03, 1.0, 8.0, 100.0] {
                assert!(delta_gaussian(mu, epsilon) <= 1.0, "{mu} {epsilon}");
            }
        }
    }

    #[test]
    fn tails_keep_their_digits() {
        close(survival(10.0), 7.619_853_024_160_526e-24, 1e-13);
        close(ln_survival(100.0), -5_005.524_208_694_205, 1e-14);
        close(ln_survival(-10.0), -7.619_853_024_160_526e-24, 1e-13);
        close(mills(0.0), 1.253_314_137_315_500_3, 1e-14);
        // Mills' ratio and its slope are continuous.
        close(mills(FRACTION_FROM - 1e-9), mills(FRACTION_FROM + 1e-9), 1e-9);
        close(mills_slope(6.0 - 1e-9), mills_slope(6.0 + 1e-9), 1e-8);
    }

    #[test]
    fn quantile_inverts_the_tail() {
        for p in [1e-300, 1e-100, 1e-20, 1e-5, 0.01, 0.02, 0.3, 0.5, 0.7, 0.99] {
            let x = survival_quantile(p);
            close(survival(x), p, 1e-12);
        }
        assert_eq!(survival_quantile(0.0), f64::INFINITY);
        assert_eq!(survival_quantile(1.0), f64::NEG_INFINITY);
        close(quantile(0.001), -3.090_232_306_167_813_5, 1e-14);
    }

    #[test]
    fn gaussian_curve_matches_its_formula_and_its_inverse() {
        for mu in [1e-9, 1e-3, 0.1, 1.0, 4.0, 30.0, 1000.0] {
            for delta in [1e-300, 1e-40, 1e-5, 0.1] {
                let epsilon = epsilon_gaussian(mu, delta);
                assert!(epsilon >= 0.0 && epsilon.is_finite());
                assert!(ln_delta_gaussian(mu, epsilon) <= f64::ln(delta));
                if epsilon > 0.0 {
                    assert!(ln_delta_gaussian(mu, epsilon * (1.0 - 1e-9)) > f64::ln(delta));
                }
            }
        }
        let (mu, epsilon) = (1.0_f64, 0.5_f64);
        let direct = cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * cdf(-mu / 2.0 - epsilon / mu);
        close(ln_delta_gaussian(mu, epsilon).exp(), direct, 1e-13);
    }

    /// (μ, δ, ε): δ(ε) = δ to 25 digits, ε rounded down; 0 where δ(0) ≤ δ. 80-digit arithmetic.
    #[rustfmt::skip]
    const KNOWN: &[(f64, f64, f64)] = &[
        (0.00045230217028754456, 1.799679419187246e-13, 0.0026461891989576357),
        (0.21760189790755352, 5.336594274469228e-279, 7.754844232775831),
        (0.024787483339802532, 2.931226024584673e-10, 0.13103616879402524),
        (2.9894492367710846e-06, 1.604531214136572e-148, 7.565181257732759e-05),
        (2.029852118316493e-06, 3.040905826650222e-09, 5.262875568266412e-06),
        (3.739508057320763e-06, 1.619453015365889e-273, 0.0001303585301603587),
        (0.003027313175017121, 0.002298472245073573, 0.0),
        (1.0355619423670493e-05, 9.131191141368822e-234, 0.00033307506742084105),
        (0.13962153994871962, 0.14731558331013955, 0.0),
        (0.053981404341780705, 9.645136350119132e-182, 1.5401832230332628),
        (101.22595106574725, 4.970625863416795e-15, 5905.872416714475),
        (10.950686958671271, 7.384233737020917e-214, 401.0326105559086),
        (1.523672690417856e-05, 5.767584410353796e-14, 8.340707251730916e-05),
        (0.00033849398648881114, 6.267602109462001e-56, 0.005083507350400655),
        (3.0335860278202956e-05, 4.953617247024678e-07, 5.29708493371709e-05),
        (0.17341651134871788, 5.0192975342619015e-189, 5.065904514076995),
        (0.03101020368398049, 8.683507342556424e-15, 0.21554569425460363),
        (3.0812688517706634e-06, 5.988470440053559e-239, 0.00010012501994470348),
        (0.3795594250399565, 2.468908357178139e-09, 2.1099548736448805),
        (0.00037670969477501863, 4.3579371152700397e-125, 0.008774196586526737),
        (0.005201299791065378, 3.030516152443606e-11, 0.028096521153454748),
        (3.2652147410388537, 4.606598874864379e-91, 70.97921899557441),
        (0.00010036710278828964, 3.8693183980367596e-07, 0.00022907833618133897),
        (0.020258688711137243, 3.144067036037973e-38, 0.25076447814228053),
        (0.9581894248189857, 2.0168313575862174e-11, 6.4863353700735),
        (109.00182000917258, 2.5931652166676453e-265, 9730.723265240782),
        (0.0026829163902686638, 0.00020857242809187916, 0.0027817526631617223),
        (1.763084730695692e-05, 4.6182983719223305e-154, 0.0004561537974223677),
        (2.0965224041807248e-06, 9.768481428842059e-06, 0.0),
        (1.8598636349322373, 7.570608468122384e-129, 46.387524726117505),
        (15.09795258062117, 4.9037160803860997e-11, 210.8244803451296),
        (0.502830952466014, 1.9109293800703788e-122, 11.861560987997619),
        (0.056903722149792765, 6.611038753200503e-09, 0.2776787392703669),
        (7.722106735937133, 2.2755924156138732e-17, 93.98775261798488),
        (0.007719805649116534, 8.49328058738342e-06, 0.020780301545709912),
        (3.1440490028819726e-06, 2.585424085118351e-90, 6.0764457947475896e-05),
        (0.2025147252542965, 0.7027232052929766, 0.0),
        (5.492666747579895, 2.314354335368171e-215, 186.67285583788313),
        (0.0014571015764612647, 9.91649283601017e-06, 0.0030338238916459708),
        (1.5311439055204621e-06, 3.058448173459048e-162, 4.0570065721524454e-05),
        (1e-09, 1e-12, 2.7178055156453226e-09),
        (1e-09, 3e-10, 2.165134977704891e-10),
        (1e-12, 1e-300, 3.619517737605931e-11),
        (1.0, 0.38, 0.009486405961084982),
        (1.0, 0.382, 0.002998400792364026),
        (10.0, 0.9999, 11.569622014084493),
        (30.0, 0.999999999999, 237.82658316836708),
        (0.5, 1e-300, 18.590234297297755),
        (3.0, 0.86, 0.09401494817481713),
        (1000.0, 1e-05, 504263.89292065403),
        (10000.0, 1e-300, 50370469.9648414),
        (10000.0, 0.999999999, 49940020.92950397),
        (8.0, 0.9999, 0.9253000869332123),
        (8.0, 0.99, 12.219270022945066),
        (2.0, 5e-324, 78.77843493794687),
        (0.7, 1e-16, 5.783596757177563),
    ];

    #[test]
    fn epsilon_is_never_below_the_truth_and_hardly_above() {
        for &(mu, delta, want) in KNOWN {
            let got = epsilon_gaussian(mu, delta);
            assert!(got >= want, "μ {mu:e}, δ {delta:e}: {got:e} below {want:e}");
            // A small ε has few digits relative to the loss, as has ln δ near δ = 1.
            let slack = 1e-8 * want + 1e-11 * mu / (1.0 - delta);
            assert!(got <= want + slack, "μ {mu:e}, δ {delta:e}: {got:e} far above {want:e}");
            // The inverse.
            let back = delta_gaussian(mu, want);
            let close = back >= delta && back <= delta * (1.0 + 1e-6) + 1e-300;
            assert!(close || want <= 0.0, "μ {mu:e}, ε {want:e}: {back:e} {delta:e}");
        }
    }

    /// A tiny loss must not round to a claim of perfect privacy.
    #[test]
    fn losses_below_the_smallest_f64_stay_positive() {
        assert!(epsilon_gaussian(1e-300, 1e-310) > 0.0);
        assert!(delta_gaussian(1e-200, 1.0) > 0.0 && delta_gaussian(5e-324, 0.0) > 0.0);
        assert_eq!((epsilon_gaussian(0.0, 1e-310), delta_gaussian(0.0, 0.0)), (0.0, 0.0));
    }
}
