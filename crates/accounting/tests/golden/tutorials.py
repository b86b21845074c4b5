"""Writes tutorials.json: settings of public tutorials, with ε by dp_accounting 0.6.0.

Where a tutorial names a target ε, its noise multiplier is dp_accounting's calibration for it.
"""

import json
import pathlib

from dp_accounting import calibrate_dp_mechanism, dp_event, pld, rdp

TF, OPACUS, JAX = "tensorflow/privacy: ", "pytorch/opacus: ", "google-deepmind/jax_privacy: "
# Source, noise multiplier (or target ε, negative), lot, examples, steps, δ.
TUTORIALS = [
    (TF + "tutorials/README.md, first row", 1.12, 256, 60000, 60 * 234, 1e-5),
    (TF + "tutorials/README.md, second row", 0.6, 256, 60000, 30 * 234, 1e-5),
    (TF + "tutorials/README.md, third row", 1.2, 256, 60000, 10 * 234, 1e-5),
    (TF + "tutorials/mnist_dpsgd_tutorial.py, 1 epoch", 1.12, 256, 60000, 234, 1e-5),
    (TF + "tutorials/mnist_dpsgd_tutorial.py, 2 epochs", 1.12, 256, 60000, 2 * 234, 1e-5),
    (TF + "research/GDP_2019/adult_tutorial.py", 0.55, 256, 29305, 20 * 114, 1e-5),
    (TF + "research/GDP_2019/imdb_tutorial.py", 0.56, 512, 25000, 25 * 48, 1e-5),
    (OPACUS + "examples/mnist_README.md, (1.19, 1e-5)", 1.3, 240, 60000, 15 * 250, 1e-5),
    (OPACUS + "examples/mnist_README.md, (3.01, 1e-5)", 1.1, 240, 60000, 60 * 250, 1e-5),
    (OPACUS + "examples/mnist_README.md, (7.10, 1e-5)", 0.7, 240, 60000, 45 * 250, 1e-5),
    (OPACUS + "examples/char-lstm_README.md", 1.0, 1, 20, 50 * 20, 8e-5),
    (OPACUS + "examples/cifar10.py", 1.5, 2000, 50000, 90 * 25, 1e-5),
    (OPACUS + "examples/imdb.py", 0.56, 64, 25000, 10 * 391, 1e-5),
    (OPACUS + "examples/imdb_README.md, 100 epochs", 0.56, 64, 25000, 100 * 391, 1e-5),
    (JAX + "configs/cifar10_wrn_16_4_eps1.py", 10.0, 4096, 50000, 725, 1e-5),
    (JAX + "configs/cifar100_wrn_28_10_eps1_finetune.py", 21.1, 16384, 50000, 250, 1e-5),
    (JAX + "configs/imagenet_nf_resnet_50_eps8.py", 2.5, 16384, 1281167, 71589, 8e-7),
    (JAX + "configs/mnist.py", 10.0, 256, 60000, 1000, 1e-5),
    (JAX + "examples/dp_sgd_flax_linen_mnist.py", -1.0, 256, 60000, 5000, 1e-5),
    (JAX + "examples/keras_api_example.py", -1.1, 512, 59904, 5 * 117, 1e-5),
]


def case(source, noise, lot, examples, steps, delta):
    def event(multiplier):
        step = dp_event.PoissonSampledDpEvent(lot / examples, dp_event.GaussianDpEvent(multiplier))
        return dp_event.SelfComposedDpEvent(step, steps)

    if noise < 0:
        noise = calibrate_dp_mechanism(pld.PLDAccountant, event, -noise, delta)
    renyi = rdp.RdpAccountant().compose(event(noise)).get_epsilon(delta)
    above = pld.PLDAccountant().compose(event(noise)).get_epsilon(delta)
    # Rounded down at each step, so the grid is finer the more steps there are.
    below = pld.privacy_loss_distribution.from_gaussian_mechanism(
        noise,
        sampling_prob=lot / examples,
        value_discretization_interval=min(1e-4, 0.05 / steps),
        pessimistic_estimate=False,
        use_connect_dots=False,
    )
    below = below.self_compose(steps).get_epsilon_for_delta(delta)
    print(source, noise, renyi, above, below, flush=True)
    return {
        "source": source,
        "noise-multiplier": noise,
        "lot": lot,
        "examples": examples,
        "steps": steps,
        "delta": delta,
        "rdp": renyi,
        "pld-pessimistic": above,
        "pld-optimistic": below,
        "event": repr(event(noise)),
    }


cases = [case(*tutorial) for tutorial in TUTORIALS]
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(cases, indent=1) + "\n")
