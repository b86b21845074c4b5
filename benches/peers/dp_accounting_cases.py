"""The tutorial case in dp_accounting (https://pypi.org/project/dp-accounting): a line each, name, seconds, value.

Run by `cargo xtask bench accounting`. Median of five, as the accountant of a fresh process is asked each time anew.
"""

import statistics
import time

import dp_accounting
from dp_accounting import pld, rdp

SIGMA, RATE, STEPS, DELTA = 1.1, 256 / 60_000, 14_062, 1e-5


def event(steps=STEPS):
    return dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(SIGMA)), steps)


def median(run, times=5):
    run()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        value = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), value


def renyi(orders):
    accountant = rdp.RdpAccountant(orders)
    return accountant.compose(event()).get_epsilon(DELTA)


def tight():
    accountant = pld.PLDAccountant(value_discretization_interval=1e-4)
    return accountant.compose(event()).get_epsilon(DELTA)


def one_more_step():
    accountant = rdp.RdpAccountant(range(2, 257))
    accountant.compose(event())
    return median(lambda: accountant.compose(event(1)))[0]


for name, (seconds, value) in {
        "RDP ε, orders 2 to 256": median(lambda: renyi(range(2, 257))),
        "RDP ε, its own orders": median(lambda: renyi(None)),
        "one more step": (one_more_step(), float("nan")),
        "PLD ε": median(tight),
}.items():
    print(f"{name}\t{seconds:e}\t{value}")
