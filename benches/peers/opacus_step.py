"""Times one private step of the 26,010-parameter CNN in Opacus: per-example gradients, flat clip, Gaussian noise, SGD.

Prints one JSON line. `cargo xtask bench` runs it; by hand: python opacus_step.py --threads 2 --lot 256
"""

import argparse
import json
import platform
import statistics
import time
import warnings

import opacus
import torch
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import nn

PARAMETERS = 26_010


def cnn():
    """Conv 16@8x8 stride 2 pad 3, max-pool, conv 32@4x4 stride 2, max-pool, dense 32, dense 10; tanh between."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        nn.MaxPool2d(2, 1),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.Tanh(),
        nn.Linear(32, 10),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lot", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)

    model = cnn()
    assert sum(p.numel() for p in model.parameters()) == PARAMETERS
    model = GradSampleModule(model, loss_reduction="sum")
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.1),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
        expected_batch_size=arguments.lot,
        loss_reduction="sum",
    )
    loss_of = nn.CrossEntropyLoss(reduction="sum")
    # Speed depends on no pixel.
    images = torch.rand(arguments.lot, 1, 28, 28)
    labels = torch.arange(arguments.lot) % 10

    def step():
        optimizer.zero_grad()
        loss_of(model(images), labels).backward()
        optimizer.step()

    for _ in range(10):
        step()
    times = []
    end = time.perf_counter() + arguments.seconds
    while time.perf_counter() < end or len(times) < 10:
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    print(
        json.dumps(
            {
                "milliseconds": {"median": statistics.median(times), "best": min(times)},
                "steps": len(times),
                "versions": {
                    "opacus": opacus.__version__,
                    "torch": torch.__version__.split("+")[0],
                    "python": platform.python_version(),
                },
            }
        )
    )


if __name__ == "__main__":
    main()
