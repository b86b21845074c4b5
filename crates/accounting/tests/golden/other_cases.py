"""Reference values at other parameter values than accounting.json's, of the same kinds and schema.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install mpmath dp-accounting
    /tmp/reference/bin/python crates/accounting/tests/golden/other_cases.py [SEED [KIND ...]] > /tmp/other.json
    HUSHGRAD_REFERENCE=/tmp/other.json cargo test -p hushgrad-accounting --test accounting

Moments, sums and conversions are computed by mpmath from the definitions, in 40 digits or more; tight values come from
dp_accounting. Nothing is shared with this crate's code.
"""

import json
import math
import random
import sys

import mpmath as mp

mp.mp.dps = 40
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
draw = random.Random(SEED)
cases = []


def between(low, high, digits=4):
    """Log-uniform, of few digits."""
    return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.{digits}g}")


def add(kind, inputs, expected, tolerance):
    number = 1 + sum(case["kind"] == kind for case in cases)
    case = {"id": f"{kind}-{SEED}.{number:02}", "kind": kind, "inputs": inputs, "expected": expected}
    cases.append({**case, "tolerance": tolerance})
    print(cases[-1]["id"], file=sys.stderr, flush=True)


def number(x):
    """A double, or nothing where none holds it."""
    return float(x) if abs(x) < mp.mpf(10) ** 300 else None


# --- Lemma 4 and the conversions ---------------------------------------------------------------------------------------


def lemma4(alpha, q, log_moment):
    """Of integer order; `log_moment(k)` is sum_i ln I_k(psi_i)."""
    q = mp.mpf(q)
    if q == 0:
        return mp.mpf(0)
    terms = [mp.binomial(alpha, k) * q**k * (1 - q) ** (alpha - k) * mp.exp(log_moment(k)) for k in range(alpha + 1)]
    return mp.log(mp.fsum(terms)) / (alpha - 1)


def gaussian_moment(sigma):
    return lambda k: mp.mpf(k) * (k - 1) / (2 * mp.mpf(sigma) ** 2)


def convert(rdp, delta):
    """{order: total} -> what the reference calls classic and improved."""
    delta = mp.mpf(delta)
    classic = min((total + mp.log(1 / delta) / (a - 1), a) for a, total in rdp.items())
    improved = min((total + mp.log1p(-mp.mpf(1) / a) - mp.log(delta * a) / (a - 1), a) for a, total in rdp.items())
    floor = lambda pair: (max(pair[0], mp.mpf(0)), pair[1])
    return floor(classic), floor(improved)


def sampled_gaussian_rdp(q, sigma):
    alphas = [2, 3, 4, 5, 7, 11, 16, 23, 32, 47, 64, 100, 128, 200, 256]
    rdp = [number(lemma4(a, q, gaussian_moment(sigma))) for a in alphas]
    add("sampled_gaussian_rdp", {"q": q, "sigma": sigma, "alphas": alphas}, {"rdp": rdp}, {"rdp": {"rel": 1e-9}})


def epsilon_rdp(q, sigma, steps, delta):
    rdp = {a: steps * lemma4(a, q, gaussian_moment(sigma)) for a in range(2, 257)}
    (classic, at_classic), (improved, at_improved) = convert(rdp, delta)
    add(
        "epsilon_rdp",
        {"q": q, "sigma": sigma, "steps": steps, "delta": delta, "orders": "integers 2..256"},
        {
            "eps_classic": float(classic), "order_classic": at_classic,
            "eps_improved": float(improved), "order_improved": at_improved,
        },
        {"eps_classic": {"rel": 1e-8}, "eps_improved": {"rel": 1e-8, "abs": 1e-9}},
    )  # fmt: skip


# --- The tight value of the sampled Gaussian ---------------------------------------------------------------------------


def dp_accounting_epsilon(q, sigma, steps, delta, interval):
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_gaussian_mechanism(
        sigma, sampling_prob=q, value_discretization_interval=interval, pessimistic_estimate=True, use_connect_dots=True
    )
    return one.self_compose(steps).get_epsilon_for_delta(delta)


def epsilon_pld(q, sigma, steps, delta):
    coarse, fine = (dp_accounting_epsilon(q, sigma, steps, delta, h) for h in (1e-4, 5e-5))
    # The error is of second order in the interval.
    best = fine - (coarse - fine) / 3
    rdp = {a: steps * lemma4(a, q, gaussian_moment(sigma)) for a in range(2, 257)}
    add(
        "epsilon_pld",
        {"q": q, "sigma": sigma, "steps": steps, "delta": delta, "adjacency": "add_or_remove_one"},
        {
            "eps_upper": fine, "eps_best": best, "eps_lower": best - (coarse - best),
            "eps_rdp_improved_2_256": float(convert(rdp, delta)[1][0]),
        },
        {
            "pessimistic_answer": {"min": "eps_lower", "max": "eps_upper * (1 + 2e-3) + 1e-3"},
            "point_estimate": {"target": "eps_best", "rel": 1e-4},
        },
    )  # fmt: skip


def noise_calibration(q, steps, delta, target):
    def rdp_epsilon(sigma):
        return convert({a: steps * lemma4(a, q, gaussian_moment(sigma)) for a in range(2, 257)}, delta)[1][0]

    def root(epsilon, low, high, digits):
        while high / low > 1 + digits:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if epsilon(middle) <= target else (middle, high)
        return high

    with mp.workdps(25):
        renyi = root(rdp_epsilon, 0.2, 60.0, 1e-9)
    tight = root(lambda sigma: dp_accounting_epsilon(q, sigma, steps, delta, 1e-4), renyi / 1.6, renyi * 1.01, 1e-5)
    add(
        "noise_calibration",
        {"q": q, "steps": steps, "delta": delta, "target_eps": target, "orders": "integers 2..256"},
        {"sigma_rdp_improved": renyi, "sigma_pld": tight},
        {"sigma_rdp_improved": {"rel": 1e-6}, "sigma_pld": {"rel": 1e-3}},
    )


# --- Moments of one coordinate -----------------------------------------------------------------------------------------


def density(family, p):
    """ln z(x), and where it has a kink."""
    p = {name: mp.mpf(value) for name, value in p.items()}
    if family == "gaussian":
        s = p["sigma"]
        return lambda x: -(x**2) / (2 * s**2) - mp.log(s * mp.sqrt(2 * mp.pi))
    if family == "laplace":
        b = p["b"]
        return lambda x: -abs(x) / b - mp.log(2 * b)
    if family == "student_t":
        nu, s = p["nu"], p["scale"]
        norm = mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2) - mp.log(mp.sqrt(nu * mp.pi) * s)
        return lambda x: norm - (nu + 1) / 2 * mp.log1p(x**2 / (nu * s**2))
    if family == "cauchy":
        g = p["gamma"]
        return lambda x: -mp.log(mp.pi * g) - mp.log1p(x**2 / g**2)
    if family == "variance_gamma":
        c = p["c"]
        # (|x|/c)^(3/2) K_{3/2}(|x|/c) = sqrt(pi/2) (1 + |x|/c) e^(-|x|/c), and its integral is 4 c sqrt(pi/2).
        return lambda x: mp.log1p(abs(x) / c) - abs(x) / c - mp.log(4 * c)
    if family == "sech":
        s = p["s"]
        u = lambda x: mp.pi * abs(x) / (2 * s)
        return lambda x: mp.log(2) - u(x) - mp.log1p(mp.exp(-2 * u(x))) - mp.log(2 * s)
    if family == "generalized_gaussian":
        e, s = p["p"], p["scale"]
        norm = mp.log(e / (2 * s * mp.gamma(1 / e)))
        return lambda x: norm - (abs(x) / s) ** e
    raise ValueError(family)


SCALE = {
    "gaussian": "sigma", "laplace": "b", "student_t": "scale", "cauchy": "gamma",
    "variance_gamma": "c", "sech": "s", "generalized_gaussian": "scale",
}  # fmt: skip


def log_moment(family, params, tau, k):
    """ln I_k(tau), I_k(tau) - 1, from the definition; the Gaussian's in closed form."""
    tau = mp.mpf(tau)
    if tau == 0 or k in (0, 1):
        return mp.mpf(0), mp.mpf(0)
    scale = mp.mpf(params[SCALE[family]])
    if family == "gaussian":
        log = k * (k - 1) * tau**2 / (2 * scale**2)
        return log, mp.expm1(log)
    ln_z = density(family, params)
    # The integrand is large between the kinks and around (1 - k) tau and k tau; the tails are integrated as such.
    far = {mp.mpf(0), tau, tau / 2, k * tau, (1 - k) * tau}
    far |= {place + side * width * scale for place in list(far) for side in (-1, 1) for width in (1, 4, 12, 40)}
    points = [-mp.inf, *sorted(far), mp.inf]
    # (r^k - k r + k - 1) z integrates to I_k - 1 without loss for small tau.
    def excess(x):
        lz = ln_z(x)
        d = ln_z(x - tau) - lz
        return (mp.expm1(k * d) - k * mp.expm1(d)) * mp.exp(lz)
    value = mp.quad(excess, points)
    return mp.log1p(value), value


def noise_moment(family, params, taus, ks):
    values = []
    for tau in taus:
        for k in ks:
            log, excess = log_moment(family, params, tau, k)
            # Of such noise an order that high is of no use to anybody, and both sides may leave it open.
            if family == "generalized_gaussian" and log > 100:
                log = excess = mp.inf
            values.append({"tau": tau, "k": k, "log_I": number(log), "I_minus_1": number(excess)})
    add(
        "noise_moment",
        {"family": family, "params": params, "taus": taus, "ks": ks},
        {"values": values},
        {"log_I": {"rel": 1e-9}, "I_minus_1": {"rel": 1e-9}},
    )


def psi_of(rule):
    if rule["rule"] == "explicit":
        return [mp.mpf(v) for v in rule["values"]]
    n = rule["K"]
    raw = {
        "half_normal": lambda i: mp.sqrt(2) * mp.erfinv((i + mp.mpf(1) / 2) / n),
        "power": lambda i: mp.mpf(i + 1) ** -mp.mpf(rule.get("exponent", 1)),
        "uniform": lambda i: mp.mpf(1),
    }[rule["rule"]]
    values = [raw(i) for i in range(n)]
    length = mp.sqrt(mp.fsum(v**2 for v in values))
    return [mp.mpf(rule["norm"]) * v / length for v in values]


def noise_vector(family, params, rules, q, steps, delta, alphas):
    with mp.workdps(25):
        curves = []
        for rule in rules:
            psi = psi_of(rule)
            sums = {
                k: mp.fsum(log_moment(family, params, v, k)[0] * n for v, n in ((v, psi.count(v)) for v in set(psi)))
                for k in range(max(alphas) + 1)
            }
            curves.append({a: lemma4(a, q, sums.__getitem__) for a in alphas})
        rdp = {a: max(curve[a] for curve in curves) for a in alphas}
        (classic, at_classic), (improved, at_improved) = convert({a: steps * r for a, r in rdp.items()}, delta)
    add(
        "noise_vector",
        {
            "family": family, "params": params, "psi": rules, "q": q, "steps": steps, "delta": delta, "orders": alphas,
        },
        {
            "alphas": alphas, "rdp_per_step": [number(rdp[a]) for a in alphas],
            "eps_classic": float(classic), "order_classic": at_classic,
            "eps_improved": float(improved), "order_improved": at_improved,
        },
        {name: {"rel": 1e-7} for name in ("rdp_per_step", "eps_classic", "eps_improved")},
    )  # fmt: skip


# --- Fixed size, shuffled, hidden states, risk -------------------------------------------------------------------------


def without_replacement(n, b, sigma):
    """Wang, Balle, Kasiviswanathan 2019, Theorem 27, with the Gaussian's ternary moments."""
    alphas = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    with mp.workdps(260):
        g, s2 = mp.mpf(b) / n, mp.mpf(sigma) ** 2

        def ternary(l):
            return mp.fsum((-1) ** (l - i) * mp.binomial(l, i) * mp.exp(i * (i - 1) / (2 * s2)) for i in range(l + 1))

        def moment(j):
            if j == 2:
                return min(4 * mp.expm1(1 / s2), 2 * mp.exp(1 / s2))
            pair = 4 * mp.sqrt(ternary(2 * (j // 2)) * ternary(2 * ((j + 1) // 2)))
            return min(pair, 2 * mp.exp(j * (j - 1) / (2 * s2)))

        moments = {j: moment(j) for j in range(2, max(alphas) + 1)}
        rdp = [
            mp.log1p(mp.fsum(mp.binomial(a, j) * g**j * moments[j] for j in range(2, a + 1))) / (a - 1) for a in alphas
        ]
        rdp = [number(r) for r in rdp]
    inputs = {"n": n, "b": b, "sigma": sigma, "alphas": alphas, "adjacency": "replace_one"}
    add("without_replacement", inputs, {"rdp": rdp}, {"rdp": {"rel": 1e-6}})


def gaussian_delta(mu, eps):
    return mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)


def shuffled_partition(sigma, epochs, delta):
    alphas = [2, 4, 8, 16, 32, 64]
    per_epoch = lambda a: a / (2 * mp.mpf(sigma) ** 2)
    (classic, at_classic), (improved, at_improved) = convert({a: epochs * per_epoch(a) for a in range(2, 257)}, delta)
    mu = mp.sqrt(epochs) / mp.mpf(sigma)
    low, high = mp.mpf(0), mu**2 / 2 + mu * 40
    if gaussian_delta(mu, mp.mpf("1e-60")) <= delta:
        high = low
    while high - low > mp.mpf(10) ** -25:
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
    add(
        "shuffled_partition",
        {"sigma": sigma, "epochs": epochs, "delta": delta, "orders": "integers 2..256", "alphas": alphas},
        {
            "rdp_per_epoch": [float(per_epoch(a)) for a in alphas],
            "eps_classic": float(classic), "order_classic": at_classic,
            "eps_improved": float(improved), "order_improved": at_improved, "eps_exact": float(high),
        },
        {
            "rdp_per_epoch": {"rel": 1e-13}, "eps_classic": {"rel": 1e-10}, "eps_improved": {"rel": 1e-10},
            "eps_exact": {"rel": 1e-8, "abs": 1e-10},
        },
    )  # fmt: skip


def privacy_dynamics(alpha, sigma, sensitivity, eta, lam, n, steps):
    """Chourasia, Ye, Shokri 2021, closed forms as accounting.json states them."""
    a, s, g, e, l = (mp.mpf(x) for x in (alpha, sigma, sensitivity, eta, lam))
    unit = a * g**2 / (s**2 * n**2)
    dynamics = unit / l * -mp.expm1(-l * e * steps / 2)
    composition = unit * steps * e / 4
    crossover = 2 * mp.findroot(lambda z: 2 * -mp.expm1(-z) - z, mp.mpf("1.59")) / (l * e)
    add(
        "privacy_dynamics",
        {"alpha": alpha, "sigma": sigma, "Sg": sensitivity, "eta": eta, "lambda": lam, "n": n, "K": steps},
        {
            "rdp_dynamics": float(dynamics), "rdp_lower_bound": float(unit / 4 * -mp.expm1(-e * steps)),
            "rdp_composition": float(composition), "K_crossover": float(crossover),
            "dynamics_better_than_composition": bool(dynamics < composition), "rdp_dynamics_limit": float(unit / l),
        },
        {
            "rdp_dynamics": {"rel": 1e-12}, "rdp_lower_bound": {"rel": 1e-12}, "rdp_composition": {"rel": 1e-12},
            "K_crossover": {"rel": 1e-9},
        },
    )  # fmt: skip


def concentrated(q, sigma, steps, order):
    """The largest D_alpha/alpha for 1 < alpha <= order, by quadrature."""
    q, s = mp.mpf(q), mp.mpf(sigma)

    def divergence(alpha):
        ratio = lambda x: 1 - q + q * mp.exp((2 * x - 1) / (2 * s**2))
        # The integrand is large around 0 and around alpha.
        places = sorted({side * k * s + at for at in (0, alpha) for k in (0, 3, 9) for side in (-1, 1)})
        mean = mp.quad(lambda x: ratio(x) ** alpha * mp.npdf(x, 0, s), [-mp.inf, *places, mp.inf])
        return mp.log(mean) / (alpha - 1)

    with mp.workdps(25):
        grid = {1 + (order - 1) * mp.mpf(10) ** (-mp.mpf(i) / 8) for i in range(25)}
        rho = steps * max(divergence(alpha) / alpha for alpha in grid)
    add(
        "concentrated",
        {"q": float(q), "sigma": sigma, "steps": steps, "order": order},
        {"rho": float(rho)},
        {"pessimistic_answer": {"min": "rho * (1 - 1e-9)", "max": "rho * (1 + 2e-2)"}},
    )


def privacy_filter(sigma, epsilon, delta):
    """How many unsampled Gaussian releases fit, at the order that leaves them the most."""
    d, e = mp.mpf(delta), mp.mpf(epsilon)
    left = {a: e - mp.log1p(-mp.mpf(1) / a) + mp.log(d * a) / (a - 1) for a in range(2, 257)}
    order = max(left, key=lambda a: left[a] / a)
    count = int(mp.floor(left[order] / (order / (2 * mp.mpf(sigma) ** 2))))
    inputs = {"sigma": sigma, "epsilon": epsilon, "delta": delta}
    add("filter", inputs, {"order_of_filter": order, "count": count}, {"count": {"rel": 0.0}})


def groups(norms, noises, joint, steps, delta):
    """Groups of coordinates, each moved by its norm (of a joint clip: one alone), by the loss's distribution."""
    d = mp.mpf(delta)
    means = [(mp.mpf(c) / mp.mpf(s)) ** 2 / 2 for c, s in zip(norms, noises)]
    # The loss of a group and a step is N(m, 2m), and losses add up.
    mean = steps * (max(means) if joint else mp.fsum(means))
    density = lambda loss: mp.npdf(loss, mean, mp.sqrt(2 * mean))
    places = lambda eps: [eps, *sorted(p for k in range(-12, 13) if (p := mean + 2 * k * mp.sqrt(2 * mean)) > eps), mp.inf]
    excess = lambda eps: mp.log(mp.quad(lambda loss: (1 - mp.exp(eps - loss)) * density(loss), places(eps)) / d)
    with mp.workdps(20):
        eps = mp.findroot(excess, (mp.mpf(0), mean + 20 * mp.sqrt(2 * mean) + 1), solver="anderson", tol=1e-30)
    inputs = {"norms": norms, "noises": noises, "joint": joint, "steps": steps, "delta": delta}
    add(
        "groups",
        inputs,
        {"eps": float(eps)},
        {"pessimistic_answer": {"min": "eps * (1 - 1e-12)", "max": "eps * (1 + 1e-6)"}},
    )


def interpretation(inputs):
    f = mp.mpf(inputs["fpr"])
    if inputs["type"] == "eps_delta":
        e, d = mp.mpf(inputs["eps"]), mp.mpf(inputs["delta"])
        best = min(mp.mpf(1), mp.exp(e) * f + d, 1 - mp.exp(-e) * (1 - d - f))
    else:
        quantile = mp.sqrt(2) * mp.erfinv(2 * (1 - f) - 1)
        best = 1 - mp.ncdf(quantile - mp.mpf(inputs["mu"]))
    add("interpretation", inputs, {"tpr_max": float(best)}, {"tpr_max": {"rel": 1e-12}})


def params_of(family):
    params = {SCALE[family]: between(0.3, 3)}
    if family == "student_t":
        params["nu"] = draw.choice([2.5, 3.0, 5.0, 7.3, 12.0, 50.0])
    if family == "generalized_gaussian":
        params["p"] = draw.choice([1.0, 1.2, 1.5, 2.0, 3.0, 4.0])
    return params


def main():
    wanted = sys.argv[2:]
    delta = lambda: between(1e-9, 1e-3, 2)

    def sampled_gaussian_rdps():
        for q, sigma in [(1e-7, 0.8), (0.3, 0.5), (0.9, 8.0), (1.0, 0.3)]:
            sampled_gaussian_rdp(q, sigma)
        for _ in range(8):
            sampled_gaussian_rdp(between(1e-5, 0.9), between(0.3, 30))

    def epsilon_rdps():
        for _ in range(10):
            epsilon_rdp(between(1e-4, 0.5), between(0.5, 10), round(between(1, 50_000)), delta())
        epsilon_rdp(1.0, 30.0, 1, 1e-5)
        epsilon_rdp(0.01, 50.0, 10, 1e-3)

    def epsilon_plds():
        for _ in range(5):
            q = between(1e-3, 0.1)
            sigma = between(0.7, 4)
            # So that ε is neither 0 nor beyond all use.
            steps = round(min(between(10, 20_000), 6 * (sigma / q) ** 2 + 5))
            epsilon_pld(q, sigma, steps, delta())

    def noise_calibrations():
        for _ in range(3):
            noise_calibration(between(2e-3, 0.05), round(between(100, 10_000)), delta(), between(0.7, 6, 2))

    def noise_moments():
        for family in SCALE:
            for _ in range(2):
                taus = [0.0005, between(0.002, 0.2), between(0.3, 3)]
                noise_moment(family, params_of(family), taus, [2, 4, 5, 17, 48])

    def noise_vectors():
        vectors = [
            [{"rule": "half_normal", "K": 12, "norm": 0.9}],
            [{"rule": "power", "K": 20, "exponent": 0.5, "norm": 1.3}],
            [{"rule": "uniform", "K": 400, "norm": 1.0}],
            [{"rule": "uniform", "K": 9, "norm": 1.1}, {"rule": "explicit", "values": [0.9, 0, 0.3, 0, 0, 0, 0, 0.1, 0.2]}],
        ]  # fmt: skip
        for i, family in enumerate(family for family in SCALE if family != "gaussian"):
            q, steps, alphas = between(1e-3, 0.05), round(between(50, 5_000)), [2, 3, 4, 6, 8, 11, 16]
            noise_vector(family, params_of(family), vectors[i % 4], q, steps, delta(), alphas)

    def without_replacements():
        for n, b in [(70_000, 128), (5_000, 250), (123_456, 64), (200, 20)]:
            without_replacement(n, b, between(0.6, 5))

    def shuffled_partitions():
        for _ in range(5):
            shuffled_partition(between(0.8, 40), round(between(1, 300)), delta())

    def all_privacy_dynamics():
        for _ in range(8):
            privacy_dynamics(
                round(between(2, 60)), between(0.01, 0.5), between(0.5, 8), between(0.001, 0.1), between(0.05, 2),
                round(between(500, 90_000)), round(between(1, 20_000)),
            )  # fmt: skip

    def interpretations():
        for _ in range(10):
            interpretation({"type": "eps_delta", "eps": between(0.01, 9), "delta": delta(), "fpr": between(1e-5, 0.9)})
            interpretation({"type": "gaussian_dp", "mu": between(0.01, 6), "fpr": between(1e-6, 0.9)})

    def all_concentrated():
        for q, sigma, order in [(1.0, 5.0, 40.0), (0.9, 2.0, 6.5), (0.004, 1.1, 15.5)]:
            concentrated(q, sigma, round(between(1, 3_000)), order)
        for _ in range(5):
            concentrated(between(1e-4, 0.5), between(0.6, 8), round(between(1, 20_000)), between(2, 60, 3))

    def privacy_filters():
        for _ in range(8):
            privacy_filter(between(2, 300), between(0.1, 8, 3), delta())

    def all_groups():
        for i in range(8):
            count = 1 + i % 4
            norms, noises = [between(0.1, 5) for _ in range(count)], [between(2, 60) for _ in range(count)]
            groups(norms, noises, i >= 5, round(between(1, 50)), delta())

    kinds = {
        "interpretation": interpretations, "privacy_dynamics": all_privacy_dynamics,
        "concentrated": all_concentrated, "filter": privacy_filters,
        "groups": all_groups,
        "shuffled_partition": shuffled_partitions, "without_replacement": without_replacements,
        "sampled_gaussian_rdp": sampled_gaussian_rdps, "noise_moment": noise_moments, "noise_vector": noise_vectors,
        "epsilon_rdp": epsilon_rdps, "epsilon_pld": epsilon_plds, "noise_calibration": noise_calibrations,
    }  # fmt: skip
    for kind, make in kinds.items():
        if not wanted or kind in wanted:
            # A kind's cases do not depend on which others are made.
            draw.seed(SEED)
            make()
    json.dump({"schema_version": 1, "set": f"other-{SEED}", "cases": cases}, sys.stdout, indent=1)


main()
