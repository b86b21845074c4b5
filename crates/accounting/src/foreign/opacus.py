"""DP-SGD as hushgrad ran it, with Opacus 1.6.

Without an argument it prints ε. With the path of an .npz file that holds the arrays x_train, y_train,
x_test and y_test (bytes; mnist.npz of Keras is one) it first trains on them. Lots, noise and first
weights are drawn anew, by PyTorch's generator, which is not cryptographic.
"""

import sys

from opacus.accountants import PRVAccountant

# Noise multiplier, sampling rate and number of steps, by phase.
PHASES = {PHASES}
DELTA = {DELTA}


def epsilon():
    accountant = PRVAccountant()
    accountant.history = list(PHASES)
    # eps_error widens the estimate to an upper bound.
    return accountant.get_epsilon(delta=DELTA, eps_error=0.001)

