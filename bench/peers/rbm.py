"""Updates of restricted Boltzmann machines of binary units by contrastive divergence (CD-k).

A case is "784-500-15/20": visible units, hidden units, steps of the chain, and the batch. The hidden units'
probabilities of the data; then in each step hidden units, visible units, and the hidden units' probabilities of those.
The update is the difference of the statistics of the data and of the last step, with probabilities instead of
hidden units, times 0.01 / batch. Data are 1 with probability 0.3, weights uniform in +-4 sqrt(6 / (visible + hidden)),
biases zero. Each implementation draws from its own generator. The same minibatch comes in each call. Rates are
examples a second.
"""
import importlib.util

from worker import Form, torch_array, torch_compile

RATE = 0.01


class Task:
    def __init__(self, case, dtype):
        import numpy as np
        units, batch = case.split("/")
        self.visible, self.hidden, self.k = map(int, units.split("-"))
        self.batch, self.dtype = int(batch), dtype
        rng, limit = np.random.RandomState(2344), 4 * (6 / (self.visible + self.hidden)) ** 0.5
        self.v = (rng.uniform(0, 1, (self.batch, self.visible)) < 0.3).astype(dtype)
        self.W = rng.uniform(-limit, limit, (self.visible, self.hidden)).astype(dtype)
        self.b, self.c = np.zeros(self.visible, dtype), np.zeros(self.hidden, dtype)


def numpy_plain(task, draw=None):
    import numpy as np
    v0, W, b, c, rate = task.v, task.W, task.b, task.c, task.W.dtype.type(RATE / task.batch)
    rng = np.random.default_rng(1)
    draw = draw or (lambda units: rng.random((task.batch, units), dtype=task.dtype))

    def probability(z):
        return 1 / (1 + np.exp(-z))

    def step():
        first = h = probability(v0 @ W + c)
        for _ in range(task.k):
            hidden = (draw(task.hidden) < h).astype(task.dtype)
            v = (draw(task.visible) < probability(hidden @ W.T + b)).astype(task.dtype)
            h = probability(v @ W + c)
        W[...] += rate * (v0.T @ first - v.T @ h)
        b[...] += rate * (v0 - v).sum(0)
        c[...] += rate * (first - h).sum(0)
    return step, lambda: W


def numpy_in_place(task, draw=None):
    """Every array in place; numbers by SFC64, NumPy's fastest generator; sigmoid by tanh, which is vectorized."""
    import numpy as np
    v0, W, b, c, dtype = task.v, task.W, task.b, task.c, task.dtype
    rate = W.dtype.type(RATE / task.batch)
    rng = np.random.Generator(np.random.SFC64(1))
    h, hidden, first = (np.empty((task.batch, task.hidden), dtype) for _ in range(3))
    v, change, other = np.empty_like(v0), np.empty_like(W), np.empty_like(W)

    def fill(u):
        if draw:
            u[...] = draw(u.shape[1])
        else:
            rng.random(dtype=dtype, out=u)

    def probability(bias, z):
        np.add(z, bias, out=z)
        np.multiply(z, 0.5, out=z)
        np.tanh(z, out=z)
        np.multiply(z, 0.5, out=z)
        np.add(z, 0.5, out=z)

    uniform_v = np.empty_like(v)

    def step():
        np.matmul(v0, W, out=first)
        probability(c, first)
        h[...] = first
        for _ in range(task.k):
            fill(hidden)
            np.less(hidden, h, out=hidden, casting="unsafe")
            np.matmul(hidden, W.T, out=v)
            probability(b, v)
            fill(uniform_v)
            np.less(uniform_v, v, out=v, casting="unsafe")
            np.matmul(v, W, out=h)
            probability(c, h)
        np.matmul(v0.T, first, out=change)
        np.matmul(v.T, h, out=other)
        np.subtract(change, other, out=change)
        np.multiply(change, rate, out=change)
        np.add(W, change, out=W)
        b[...] += rate * (v0 - v).sum(0)
        c[...] += rate * (first - h).sum(0)
    return step, lambda: W


def torch_step(task, how, draw=None):
    import torch
    v0, W, b, c = map(torch_array, (task.v, task.W, task.b, task.c))
    torch.manual_seed(1)
    rate = RATE / task.batch

    def sample(p):
        return torch.bernoulli(p) if draw is None else (torch.from_numpy(draw(p.shape[1])) < p).to(p.dtype)

    def user(v0, W, b, c):
        first = h = torch.sigmoid(v0 @ W + c)
        for _ in range(task.k):
            v = sample(torch.sigmoid(sample(h) @ W.T + b))
            h = torch.sigmoid(v @ W + c)
        W += rate * (v0.T @ first - v.T @ h)
        b += rate * (v0 - v).sum(0)
        c += rate * (first - h).sum(0)

    def best(v0, W, b, c):
        def below(p):
            return torch.rand_like(p).lt_(p) if draw is None else sample(p)
        first = h = torch.addmm(c, v0, W).sigmoid_()
        for _ in range(task.k):
            v = below(torch.addmm(b, below(h), W.t()).sigmoid_())
            h = torch.addmm(c, v, W).sigmoid_()
        W.addmm_(v0.t(), first, alpha=rate).addmm_(v.t(), h, alpha=-rate)
        b.add_((v0 - v).sum(0), alpha=rate)
        c.add_((first - h).sum(0), alpha=rate)

    call = {"user": user, "best": best}[how] if how != "compile" else torch_compile(best)

    @torch.no_grad()
    def step():
        call(v0, W, b, c)
    return step, lambda: W.numpy()


def jax_step(task, implementation, draw=None):
    import functools
    import jax
    import jax.numpy as jnp
    v0, key, rate = jnp.asarray(task.v), jax.random.key(1, impl=implementation), RATE / task.batch
    parameters = [jnp.asarray(a) for a in (task.W, task.b, task.c)]

    @functools.partial(jax.jit, donate_argnums=0)
    def update(parameters, v0, key, uniform):
        W, b, c = parameters
        first = jax.nn.sigmoid(v0 @ W + c)

        def body(state, uniform):
            h, _, key = state
            if uniform is None:
                key, one, other = jax.random.split(key, 3)
                u, w = jax.random.uniform(one, h.shape, h.dtype), jax.random.uniform(other, v0.shape, h.dtype)
            else:
                u, w = uniform
            hidden = (u < h).astype(h.dtype)
            v = (w < jax.nn.sigmoid(hidden @ W.T + b)).astype(h.dtype)
            return (jax.nn.sigmoid(v @ W + c), v, key), None
        (h, v, key), _ = jax.lax.scan(body, (first, v0, key), uniform, length=task.k)
        return [W + rate * (v0.T @ first - v.T @ h), b + rate * (v0 - v).sum(0), c + rate * (first - h).sum(0)], key

    def step():
        nonlocal parameters, key
        uniform = None
        if draw:
            drawn = [(draw(task.hidden), draw(task.visible)) for _ in range(task.k)]
            uniform = tuple(jnp.stack([pair[i] for pair in drawn]) for i in (0, 1))
        parameters, key = update(parameters, v0, key, uniform)
    import numpy as np
    return step, lambda: np.asarray(parameters[0]), lambda: jax.block_until_ready(parameters)


def pytensor_step(task, draw=None):
    import numpy as np
    import pytensor
    import pytensor.tensor as pt
    v0, W, b, c = [pytensor.shared(a) for a in (task.v, task.W, task.b, task.c)]
    state, given = pytensor.shared(np.random.default_rng(1)), [pt.tensor3(dtype=task.dtype) for _ in range(2)]
    first = pt.sigmoid(v0 @ W + c)

    def chain(h, hidden, u):
        v = (u < pt.sigmoid(hidden @ W.T + b)).astype(task.dtype)
        return pt.sigmoid(v @ W + c), v

    def from_generator(h, v, rng):
        rng, u = pt.random.uniform(size=(task.batch, task.hidden), dtype=task.dtype, rng=rng).owner.outputs
        rng, w = pt.random.uniform(size=(task.batch, task.visible), dtype=task.dtype, rng=rng).owner.outputs
        return *chain(h, (u < h).astype(task.dtype), w), rng

    def from_given(u, w, h, v):
        return chain(h, (u < h).astype(task.dtype), w)
    updates = []
    if draw:
        h, v = pytensor.scan(from_given, sequences=given, outputs_info=[first, v0], return_updates=False)
    else:
        h, v, last = pytensor.scan(from_generator, outputs_info=[first, v0, state], n_steps=task.k,
                                   return_updates=False)
        updates.append((state, last))
    rate = pt.constant(RATE / task.batch, dtype=task.dtype)
    updates += [(W, W + rate * (v0.T @ first - v[-1].T @ h[-1])), (b, b + rate * (v0 - v[-1]).sum(0)),
                (c, c + rate * (first - h[-1]).sum(0))]
    call = pytensor.function(given if draw else [], [], updates=updates)

    def step():
        if not draw:
            return call()
        drawn = [(draw(task.hidden), draw(task.visible)) for _ in range(task.k)]
        return call(*(np.stack([pair[i] for pair in drawn]) for i in (0, 1)))
    return step, W.get_value


STEPS = {
    "numpy": (numpy_plain, "user", "numpy"),
    "numpy_out": (numpy_in_place, "best", "numpy"),
    "torch": (lambda task, draw=None: torch_step(task, "user", draw), "user", "torch"),
    "torch_in_place": (lambda task, draw=None: torch_step(task, "best", draw), "best", "torch"),
    "torch_compile": (lambda task, draw=None: torch_step(task, "compile", draw), "best", "torch"),
    "jax_scan": (lambda task, draw=None: jax_step(task, "threefry2x32", draw), "user", "jax"),
    "jax_scan_rbg": (lambda task, draw=None: jax_step(task, "unsafe_rbg", draw), "best", "jax"),
    "pytensor": (pytensor_step, "user", "pytensor"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        task = Task(case, dtype)
        step, _, *finish = make(task)

        def run(calls):
            for _ in range(calls):
                step()
            for wait in finish:
                wait()
        return run, task.batch
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in STEPS.items()}


def check():
    """With the same uniform numbers, the weights after two updates are the plain one's, in float64; and each one's own
    numbers give updates that are as large."""
    import os

    import numpy as np
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    case = "20-15-3/12"

    def numbers():
        rng = np.random.RandomState(7)
        waiting = []

        # thtrain draws the hidden units' numbers of all steps first.
        def draw(units):
            if not waiting:
                task = Task(case, "float64")
                each = [rng.uniform(0, 1, (task.k, task.batch, n)) for n in (task.hidden, task.visible)]
                waiting.extend(a[t] for t in range(task.k) for a in each)
            return waiting.pop(0)
        return draw

    def two_updates(make, *draw):
        step, weights, *_ = make(Task(case, "float64"), *draw)
        step()
        step()
        return np.array(weights())

    first, wanted = Task(case, "float64").W, two_updates(numpy_plain, numbers())
    compared = []
    for name, (make, _, needs) in STEPS.items():
        if importlib.util.find_spec(needs) is None:
            continue
        if name == "torch_compile" and not hasattr(importlib.import_module("torch"), "compile"):
            continue
        worker.prepare(needs, "float64", 1)
        if name != "torch_compile":  # which does not take NumPy's numbers
            assert np.abs(two_updates(make, numbers()) - wanted).max() < 1e-12, name
        size = np.abs(two_updates(make) - first).mean() / np.abs(wanted - first).mean()
        assert 0.8 < size < 1.25, (name, size)
        compared.append(name)
    print(f"{case}: {', '.join(compared)} agree: sum {wanted.sum():.15g}, sum of squares {(wanted ** 2).sum():.15g}")
