"""Writes pairs.json: events that are no noisy sums of clipped vectors, with ε by dp_accounting 0.6.0.

Randomised response is unfolded: `SelfComposedDpEvent` of it counts once there, whatever its count.
"""

import json
import pathlib

from dp_accounting import NeighboringRelation, dp_event, pld

ADDED, REPLACED = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def times(count, event):
    return dp_event.SelfComposedDpEvent(event, count)


def sampled(rate, event):
    return dp_event.PoissonSampledDpEvent(rate, event)


mixture = dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 0.5, 1.0, 2.0], [0.9, 0.05, 0.03, 0.02])
CASES = [
    (ADDED, 1e-5, times(50, dp_event.LaplaceDpEvent(5.0))),
    (ADDED, 1e-5, sampled(0.1, dp_event.LaplaceDpEvent(0.7))),
    (ADDED, 1e-6, times(200, sampled(0.02, dp_event.LaplaceDpEvent(1.0)))),
    (ADDED, 1e-5, times(20, dp_event.DiscreteLaplaceDpEvent(0.2, 3))),
    (ADDED, 1e-5, times(100, mixture)),
    (
        ADDED,
        1e-6,
        dp_event.ComposedDpEvent([
            times(500, sampled(0.01, dp_event.GaussianDpEvent(1.0))),
            dp_event.LaplaceDpEvent(3.0),
            times(10, dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0], [0.5, 0.5])),
        ]),
    ),
    (REPLACED, 1e-5, dp_event.ComposedDpEvent([dp_event.RandomizedResponseDpEvent(0.8, 10)] * 30)),
    (REPLACED, 1e-6, dp_event.RandomizedResponseDpEvent(0.5, 3)),
]

cases = []
for relation, delta, event in CASES:
    epsilon = pld.PLDAccountant(relation).compose(event).get_epsilon(delta)
    cases.append({"event": repr(event), "delta": delta, "epsilon": epsilon})
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(cases, indent=1) + "\n")
