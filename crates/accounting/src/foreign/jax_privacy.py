"""DP-SGD as hushgrad ran it, with JAX Privacy 2.0 and dp_accounting 0.6.

Without an argument it prints ε. With the path of an .npz file that holds the arrays x_train, y_train,
x_test and y_test (bytes; mnist.npz of Keras is one) it first trains on them. Lots, noise and first
weights are drawn anew, by the generators of NumPy and JAX, which are not cryptographic.
"""

import sys

from dp_accounting import pld
from dp_accounting.dp_event import *

# Noise multiplier, sampling rate and number of steps, by phase.
PHASES = {PHASES}
DELTA = {DELTA}
EVENT = {EVENT}


def epsilon():
    return pld.PLDAccountant().compose(EVENT).get_epsilon(DELTA)

