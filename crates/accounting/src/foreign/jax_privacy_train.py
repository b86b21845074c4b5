
EXAMPLES = {EXAMPLES}
CLIP = {CLIP}
LEARNING_RATE = {LEARNING_RATE}
MOMENTUM = {MOMENTUM}
# Lots are padded to a multiple of this, so that few sizes are compiled.
PADDING = 32


def train(path):
    import secrets

    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax
    from flax import linen as nn
    from jax_privacy import batch_selection, clipped_grad, noise_addition

    arrays = np.load(path)

    def images(name):
        pixels = arrays[f"x_{name}"].astype(np.float32) / 255
        return pixels.reshape(len(pixels), {SIDE}, {SIDE}, {CHANNELS}), arrays[f"y_{name}"].astype(np.int32)

    (pixels, labels), (test_pixels, test_labels) = images("train"), images("test")
    if len(pixels) != EXAMPLES:
        sys.exit(f"{path} has {len(pixels)} training images; the sampling rate is that of {EXAMPLES}")
    glorot = nn.initializers.glorot_uniform()
    model = nn.Sequential([
{NETWORK}    ])
    parameters = model.init(jax.random.key(secrets.randbits(32)), pixels[:1])

    def loss(parameters, pixels, labels):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(parameters, pixels), labels).mean()

    sgd = optax.sgd(LEARNING_RATE, momentum=MOMENTUM)
    state = sgd.init(parameters)
    for noise_multiplier, rate, steps in PHASES:
        lot = EXAMPLES * rate
        gradient = clipped_grad(loss, l2_clip_norm=CLIP, batch_argnums=(1, 2), normalize_by=lot)
        noise = noise_addition.gaussian_privatizer(
            stddev=noise_multiplier * CLIP / lot, prng_key=jax.random.key(secrets.randbits(32))
        )
        noise_state = noise.init(parameters)

        @jax.jit
        def step(parameters, state, noise_state, pixels, labels, padding):
            summed = gradient(parameters, pixels, labels, is_padding_example=padding)
            noisy, noise_state = noise.update(summed, noise_state)
            update, state = sgd.update(noisy, state)
            return optax.apply_updates(parameters, update), state, noise_state

        sampling = batch_selection.CyclicPoissonSampling(sampling_prob=rate, iterations=steps)
        for indices in sampling.batch_iterator(EXAMPLES, rng=secrets.randbits(128)):
            padded = np.full(max(1, -(-len(indices) // PADDING)) * PADDING, -1)
            padded[: len(indices)] = indices
            parameters, state, noise_state = step(
                parameters, state, noise_state, pixels[padded], labels[padded], padded == -1
            )
    right = (model.apply(parameters, test_pixels).argmax(1) == test_labels).mean()
    print(f"test accuracy {100 * right:.2f} %")


if len(sys.argv) > 1:
    train(sys.argv[1])
