
EXAMPLES = {EXAMPLES}
CLIP = {CLIP}
LEARNING_RATE = {LEARNING_RATE}
MOMENTUM = {MOMENTUM}


def train(path):
    import numpy as np
    import torch
    from opacus import GradSampleModule
    from opacus.data_loader import DPDataLoader
    from opacus.optimizers import DPOptimizer
    from torch import nn

    class Logistic(nn.Module):
        def __init__(self, scale, inverse_temperature, offset):
            super().__init__()
            self.scale, self.inverse_temperature, self.offset = scale, inverse_temperature, offset

        def forward(self, x):
            return self.scale * torch.sigmoid(self.inverse_temperature * x) - self.offset

    arrays = np.load(path)

    def images(name):
        pixels = torch.from_numpy(arrays[f"x_{name}"].astype(np.float32) / 255)
        pixels = pixels.reshape(len(pixels), {SIDE}, {SIDE}, {CHANNELS}).permute(0, 3, 1, 2).contiguous()
        return torch.utils.data.TensorDataset(pixels, torch.from_numpy(arrays[f"y_{name}"].astype(np.int64)))

    examples, tests = images("train"), images("test")
    if len(examples) != EXAMPLES:
        sys.exit(f"{path} has {len(examples)} training images; the sampling rate is that of {EXAMPLES}")
    model = nn.Sequential(
{NETWORK}    )
    for layer in model:
        if hasattr(layer, "weight"):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    model = GradSampleModule(model)
    sgd = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    for noise_multiplier, rate, steps in PHASES:
        # Not by PrivacyEngine, whose sampling rate is one over a whole number of batches.
        optimizer = DPOptimizer(
            sgd, noise_multiplier=noise_multiplier, max_grad_norm=CLIP, expected_batch_size=EXAMPLES * rate
        )
        loader = DPDataLoader(examples, sample_rate=rate)
        taken = 0
        while taken < steps:
            for pixels, labels in loader:
                if taken == steps:
                    break
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(pixels), labels).backward()
                optimizer.step()
                taken += 1
    with torch.no_grad():
        right = (model(tests.tensors[0]).argmax(1) == tests.tensors[1]).float().mean()
    print(f"test accuracy {100 * right:.2f} %")


if len(sys.argv) > 1:
    train(sys.argv[1])
