"""How long the peers take from a new model to the end of its first training step. Cases are those of bench/start.cpp.

Packages are imported, and a small function was compiled, before a measurement begins; what is kept of compiled code is
forgotten. A rate is starts a second, the median of three.
"""
import math
import time

UNITS_OF_LAYERS = [67 + 7 * i for i in range(20)]
BATCH = {"mlp_digits": 50, "lenet_digits": 50, "lstm_adding": 50, "rbm_digits": 20, "layers_20": 60}
DENSE = {"mlp_digits": [784, 300, 10], "layers_20": [784, *UNITS_OF_LAYERS, 10]}
LSTM_UNITS, LSTM_STEPS = 64, 100
RBM_UNITS, RBM_STEPS = 100, 5


# ---- JAX -------------------------------------------------------------------------------------------------------------


def jax_parts(case, dtype):
    """First parameters, the loss of a minibatch, and the minibatch."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    rng = np.random.default_rng(1)

    def drawn(*shape):
        return jnp.asarray(rng.uniform(-0.1, 0.1, shape), dtype)

    def classes(scores, y):
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1))

    batch = BATCH[case]
    y = jnp.asarray(rng.integers(0, 10, batch))
    if case in DENSE:
        sizes = DENSE[case]
        p = [(drawn(a, b), jnp.zeros(b, dtype)) for a, b in zip(sizes, sizes[1:])]

        def loss(p, x, y):
            for W, b in p[:-1]:
                x = jnp.tanh(x @ W + b)
            return classes(x @ p[-1][0] + p[-1][1], y) + 1e-4 * sum((W * W).sum() for W, _ in p)
        return p, loss, (drawn(batch, 784), y)
    if case == "lenet_digits":
        p = [(drawn(8, 1, 5, 5), jnp.zeros(8, dtype)), (drawn(16, 8, 5, 5), jnp.zeros(16, dtype)),
             (drawn(256, 60), jnp.zeros(60, dtype)), (drawn(60, 10), jnp.zeros(10, dtype))]

        def loss(p, x, y):
            for W, b in p[:2]:
                x = jax.lax.conv(x, W, (1, 1), "VALID") + b[:, None, None]
                x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
                x = jax.nn.relu(x)
            x = jax.nn.relu(x.reshape(x.shape[0], -1) @ p[2][0] + p[2][1])
            return classes(x @ p[3][0] + p[3][1], y)
        return p, loss, (drawn(batch, 1, 28, 28), y)
    n = LSTM_UNITS
    p = [drawn(2, 4 * n), drawn(n, 4 * n), jnp.zeros(4 * n, dtype), drawn(n, 1), jnp.zeros(1, dtype)]

    def loss(p, x, y):
        Wx, Wh, b, V, c = p

        def step(state, x):
            h, s = state
            i, f, o, g = jnp.split(x @ Wx + h @ Wh + b, 4, axis=1)
            s = jax.nn.sigmoid(f) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(s), s), None
        zero = jnp.zeros((x.shape[1], n), x.dtype)
        (h, _), _ = jax.lax.scan(step, (zero, zero), x)
        return jnp.mean((h @ V + c - y) ** 2)
    return p, loss, (drawn(LSTM_STEPS, batch, 2), drawn(batch, 1))


def jax_sgd(loss):
    import jax
    tree = jax.tree_util.tree_map

    def step(p, v, *batch):
        cost, g = jax.value_and_grad(loss)(p, *batch)
        v = tree(lambda v, g: 0.9 * v - 0.05 * g, v, g)
        return cost, tree(lambda p, v: p + v, p, v), v
    return step


def jax_adam(loss):
    import jax
    import jax.numpy as jnp
    tree = jax.tree_util.tree_map

    def step(p, state, *batch):
        m, v, t = state
        cost, g = jax.value_and_grad(loss)(p, *batch)
        norm = jnp.sqrt(sum((x * x).sum() for x in jax.tree_util.tree_leaves(g)))
        g = tree(lambda x: x * jnp.minimum(1, 1 / norm), g)
        m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        t = t + 1
        rate = 0.002 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
        return cost, tree(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), p, m, v), (m, v, t)
    return step


def jax_rbm(dtype):
    import jax
    import jax.numpy as jnp
    import numpy as np
    rng = np.random.default_rng(1)
    W = jnp.asarray(rng.uniform(-0.1, 0.1, (784, RBM_UNITS)), dtype)
    p = (W, jnp.zeros(784, dtype), jnp.zeros(RBM_UNITS, dtype))
    x = jnp.asarray(rng.uniform(0, 1, (BATCH["rbm_digits"], 784)), dtype)

    def step(p, chain, key, x):
        W, a, b = p

        def gibbs(_, state):
            v, key = state
            key, one, two = jax.random.split(key, 3)
            h = jax.random.bernoulli(one, jax.nn.sigmoid(v @ W + b)).astype(v.dtype)
            return jax.random.bernoulli(two, jax.nn.sigmoid(h @ W.T + a)).astype(v.dtype), key
        chain, key = jax.lax.fori_loop(0, RBM_STEPS, gibbs, (chain, key))

        def energy(p, v):
            W, a, b = p
            return -v @ a - jax.nn.softplus(v @ W + b).sum(1)
        cost, g = jax.value_and_grad(lambda p: jnp.mean(energy(p, x)) - jnp.mean(energy(p, chain)))(p)
        return cost, jax.tree_util.tree_map(lambda p, g: p - 0.05 * g, p, g), chain, key
    return step, (p, jnp.zeros_like(x), jax.random.key(1), x)


def jax_seconds(case, dtype):
    import jax
    import jax.numpy as jnp
    jax.jit(lambda x: x + 1)(jnp.zeros(3)).block_until_ready()
    jax.clear_caches()
    if case == "rbm_digits":
        step, arguments = jax_rbm(dtype)
    else:
        p, loss, batch = jax_parts(case, dtype)
        zeros = jax.tree_util.tree_map(jnp.zeros_like, p)
        is_adam = case == "lstm_adding"
        step = jax_adam(loss) if is_adam else jax_sgd(loss)
        arguments = (p, (zeros, zeros, 0) if is_adam else zeros, *batch)
    begin = time.perf_counter()
    jax.block_until_ready(jax.jit(step)(*arguments))
    return time.perf_counter() - begin


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def torch_model(case):
    from torch import nn
    if case in DENSE:
        layers = []
        for a, b in zip(DENSE[case], DENSE[case][1:]):
            layers += [nn.Linear(a, b), nn.Tanh()]
        return nn.Sequential(*layers[:-1])
    if case == "lenet_digits":
        return nn.Sequential(nn.Conv2d(1, 8, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(8, 16, 5), nn.MaxPool2d(2),
                             nn.ReLU(), nn.Flatten(), nn.Linear(256, 60), nn.ReLU(), nn.Linear(60, 10))

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.last = nn.LSTM(2, LSTM_UNITS), nn.Linear(LSTM_UNITS, 1)

        def forward(self, x):
            return self.last(self.lstm(x)[0][-1])
    return Lstm()


def torch_step(case, dtype):
    import torch
    from torch.nn.functional import cross_entropy, mse_loss, softplus
    torch.manual_seed(1)
    dtype = getattr(torch, dtype)
    batch = BATCH[case]
    if case == "rbm_digits":
        W = (torch.rand(784, RBM_UNITS, dtype=dtype) - 0.5).requires_grad_()
        a, b = (torch.zeros(n, dtype=dtype, requires_grad=True) for n in (784, RBM_UNITS))
        x, chain = torch.rand(batch, 784, dtype=dtype), torch.zeros(batch, 784, dtype=dtype)
        optimizer = torch.optim.SGD([W, a, b], 0.05)

        def loss():
            v = chain
            with torch.no_grad():
                for _ in range(RBM_STEPS):
                    h = torch.bernoulli(torch.sigmoid(v @ W + b))
                    v = torch.bernoulli(torch.sigmoid(h @ W.T + a))
            def energy(v):
                return (-v @ a - softplus(v @ W + b).sum(1)).mean()
            return energy(x) - energy(v)
        return loss, optimizer, []
    model = torch_model(case).to(dtype)
    if case == "lstm_adding":
        x, y = torch.rand(LSTM_STEPS, batch, 2, dtype=dtype), torch.rand(batch, 1, dtype=dtype)
        optimizer, clipped = torch.optim.Adam(model.parameters(), 0.002), list(model.parameters())
    else:
        shape = (batch, 1, 28, 28) if case == "lenet_digits" else (batch, 784)
        x, y = torch.rand(*shape, dtype=dtype), torch.randint(0, 10, (batch,))
        optimizer, clipped = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9), []
    return lambda: (mse_loss if clipped else cross_entropy)(model(x), y), optimizer, clipped


def torch_seconds(case, dtype):
    import torch
    torch._inductor.config.force_disable_caches = True
    torch._dynamo.reset()
    torch.compile(lambda x: x + 1)(torch.zeros(3))
    loss, optimizer, clipped = torch_step(case, dtype)
    begin = time.perf_counter()
    compiled = torch.compile(loss)
    cost = compiled()
    cost.backward()
    if clipped:
        torch.nn.utils.clip_grad_norm_(clipped, 1)
    optimizer.step()
    cost = cost.item()
    seconds = time.perf_counter() - begin
    assert math.isfinite(cost)
    return seconds


SECONDS = {"jax_jit": jax_seconds, "torch_compile": torch_seconds}


def rate(form, case, dtype):
    if form not in SECONDS or case not in BATCH:
        raise RuntimeError("has no such case")
    rates = sorted(1 / SECONDS[form](case, dtype) for _ in range(3))
    return {"value": rates[1], "low": rates[0], "high": rates[2]}
