"""Training steps of dense networks: tanh hidden layers, softmax, mean negative log-likelihood, plain SGD.

A case is "784-500-10/60": the layers and the batch. 6,000 standard normal examples and random labels in memory,
learning rate 0.01, hidden weights uniform in +-sqrt(6 / (in + out)), output weights and biases zero. A network with
hidden layers returns its cost at each call as a Python number; one without (logistic regression) returns nothing.
"""
import importlib.util

from worker import Form, to_device, torch_array, torch_compile

EXAMPLES, RATE = 6000, 0.01


class Task:
    def __init__(self, case, dtype):
        import numpy as np
        layers, batch = case.split("/")
        self.sizes, self.batch, self.dtype = [int(n) for n in layers.split("-")], int(batch), dtype
        rng = np.random.RandomState(2344)
        self.x = rng.normal(size=(EXAMPLES, self.sizes[0])).astype(dtype)
        self.y = rng.randint(0, self.sizes[-1], EXAMPLES)
        self.W, self.b = [], []
        for n, m in zip(self.sizes, self.sizes[1:]):
            self.W.append(rng.uniform(-(6 / (n + m)) ** 0.5, (6 / (n + m)) ** 0.5, (n, m)).astype(dtype))
            self.b.append(np.zeros(m, dtype))
        self.W[-1][...] = 0
        self.has_cost = len(self.sizes) > 2
        self.starts = range(0, EXAMPLES - self.batch + 1, self.batch)


def runner(task, step, finish=None):
    """A function of a number of steps, which walks on through the examples."""
    starts, at = task.starts, 0

    def run(calls):
        nonlocal at
        while calls > 0:
            some = starts[at:at + calls]
            for start in some:
                step(start)
            calls -= len(some)
            at = (at + len(some)) % len(starts)
        if finish:
            finish()
    return run, task.batch


def numpy_plain(task):
    import numpy as np
    x_all, y_all, W, b, batch = task.x, task.y, task.W, task.b, task.batch
    rows, last = np.arange(batch), len(task.W) - 1

    def step(start):
        y = y_all[start:start + batch]
        h = [x_all[start:start + batch]]
        for i in range(last):
            h.append(np.tanh(h[i] @ W[i] + b[i]))
        z = h[last] @ W[last] + b[last]
        z = z - z.max(axis=1, keepdims=True)
        e = np.exp(z)
        total = e.sum(axis=1, keepdims=True)
        cost = float((np.log(total[:, 0]) - z[rows, y]).mean()) if task.has_cost else None
        d = e / total
        d[rows, y] -= 1
        d /= batch
        for i in range(last, -1, -1):
            below = (d @ W[i].T) * (1 - h[i] * h[i]) if i else None
            W[i] -= RATE * (h[i].T @ d)
            b[i] -= RATE * d.sum(axis=0)
            d = below
        return cost
    return step, lambda: (W, b)


def numpy_in_place(task, fold_updates):
    """Every intermediate in a buffer that stays; with `fold_updates` W -= rate x.T d is one BLAS call in place."""
    import numpy as np
    x_all, y_all, W, b, batch, dtype = task.x, task.y, task.W, task.b, task.batch, task.dtype
    rows, last = np.arange(batch), len(W) - 1
    h = [None] + [np.empty((batch, n), dtype) for n in task.sizes[1:-1]]
    d = [np.empty((batch, n), dtype) for n in task.sizes[1:]]
    slope = [np.empty_like(a) for a in d]
    change = None if fold_updates else [np.empty_like(w) for w in W]
    row = np.empty((batch, 1), dtype)
    if fold_updates:
        from scipy.linalg import blas
        gemm, ger = (blas.sgemm, blas.sger) if dtype == "float32" else (blas.dgemm, blas.dger)

    def update(i):
        if not fold_updates:
            np.matmul(h[i].T, d[i], out=change[i])
            np.multiply(change[i], RATE, out=change[i])
            np.subtract(W[i], change[i], out=W[i])
        elif batch == 1:
            ger(-RATE, d[i][0], h[i][0], a=W[i].T, overwrite_a=1)
        else:  # a row-major array is BLAS's transposed one, so W.T is taken without a copy
            gemm(-RATE, d[i].T, h[i].T, beta=1, c=W[i].T, trans_b=1, overwrite_c=1)
        sums = d[i].sum(axis=0)
        sums *= RATE
        np.subtract(b[i], sums, out=b[i])

    def step(start):
        y = y_all[start:start + batch]
        h[0] = x_all[start:start + batch]
        for i in range(last):
            np.matmul(h[i], W[i], out=h[i + 1])
            np.add(h[i + 1], b[i], out=h[i + 1])
            np.tanh(h[i + 1], out=h[i + 1])
        z = d[last]
        np.matmul(h[last], W[last], out=z)
        np.add(z, b[last], out=z)
        np.max(z, axis=1, keepdims=True, out=row)
        np.subtract(z, row, out=z)
        picked = z[rows, y] if task.has_cost else None
        np.exp(z, out=z)
        np.sum(z, axis=1, keepdims=True, out=row)
        cost = float((np.log(row[:, 0]) - picked).mean()) if task.has_cost else None
        np.multiply(row, batch, out=row)
        np.divide(z, row, out=z)
        z[rows, y] -= 1 / batch
        for i in range(last, -1, -1):
            if i:
                np.matmul(d[i], W[i].T, out=d[i - 1])
                np.multiply(h[i], h[i], out=slope[i - 1])
                np.subtract(1, slope[i - 1], out=slope[i - 1])
                np.multiply(d[i - 1], slope[i - 1], out=d[i - 1])
            update(i)
        return cost
    return step, lambda: (W, b)


def torch_data(task):
    return torch_array(task.x), torch_array(task.y)


def torch_model(task):
    import torch
    layers = []
    for i, (W, b) in enumerate(zip(task.W, task.b)):
        layer = to_device(torch.nn.Linear(*W.shape).to(getattr(torch, task.dtype)))
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(W.T.copy()))
            layer.bias.copy_(torch.from_numpy(b))
        layers += [layer] + ([torch.nn.Tanh()] if i < len(task.W) - 1 else [])

    def values():
        linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
        return [layer.weight.detach().numpy().T for layer in linear], [layer.bias.detach().numpy() for layer in linear]
    return torch.nn.Sequential(*layers), values


def torch_sgd(task, compiled):
    import torch
    x_all, y_all = torch_data(task)
    model, values = torch_model(task)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    criterion, batch = torch.nn.CrossEntropyLoss(), task.batch

    def loss(x, y):
        return criterion(model(x), y)
    if compiled:
        loss = torch_compile(loss)

    def step(start):
        optimizer.zero_grad(set_to_none=True)
        cost = loss(x_all[start:start + batch], y_all[start:start + batch])
        cost.backward()
        optimizer.step()
        return cost.item() if task.has_cost else None
    return step, values


def torch_nograd(task):
    """Autograd, and the update by hand in place."""
    import torch
    x_all, y_all = torch_data(task)
    model, values = torch_model(task)
    parameters, batch = list(model.parameters()), task.batch

    def step(start):
        cost = torch.nn.functional.cross_entropy(model(x_all[start:start + batch]), y_all[start:start + batch])
        gradients = torch.autograd.grad(cost, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                parameter.sub_(gradient, alpha=RATE)
        return cost.item() if task.has_cost else None
    return step, values


def torch_hand(task, how):
    """Gradients by hand and addmm_ in place; as it is, scripted, or compiled."""
    import torch
    x_all, y_all = torch_data(task)
    W, b = [torch.from_numpy(w) for w in task.W], [torch.from_numpy(v) for v in task.b]
    batch = task.batch

    def all_of(W, b, x_all, y_all, start, batch):
        # type: (List[Tensor], List[Tensor], Tensor, Tensor, int, int) -> Tensor
        x, y = x_all[start:start + batch], y_all[start:start + batch].unsqueeze(1)
        last = len(W) - 1
        h = [x]
        for i in range(last):
            h.append(torch.addmm(b[i], h[i], W[i]).tanh_())
        logp = torch.log_softmax(torch.addmm(b[last], h[last], W[last]), 1)
        cost = -logp.gather(1, y).mean()
        d = logp.exp()
        d.scatter_add_(1, y, torch.full_like(y, -1, dtype=d.dtype)).mul_(1.0 / batch)
        for j in range(last + 1):
            i = last - j
            below = d
            if i > 0:
                below = torch.ops.aten.tanh_backward(torch.mm(d, W[i].t()), h[i])
            W[i].addmm_(h[i].t(), d, alpha=-0.01)
            b[i].sub_(d.sum(0), alpha=0.01)
            d = below
        return cost

    if how == "script":
        all_of = torch.jit.script(all_of)
    elif how == "compile":
        inner = torch_compile(lambda W, b, x, y, batch: all_of(W, b, x, y, 0, batch))

        def all_of_compiled(W, b, x_all, y_all, start, batch):
            return inner(W, b, x_all[start:start + batch], y_all[start:start + batch], batch)

    call = all_of_compiled if how == "compile" else all_of

    @torch.no_grad()
    def step(start):
        cost = call(W, b, x_all, y_all, start, batch)
        return cost.item() if task.has_cost else None
    return step, lambda: (task.W, task.b)


def jax_jit(task):
    import functools
    import jax
    import jax.numpy as jnp
    import numpy as np
    x_all, y_all = jnp.asarray(task.x), jnp.asarray(task.y.astype(np.int32))
    parameters = [(jnp.asarray(W), jnp.asarray(b)) for W, b in zip(task.W, task.b)]
    batch = task.batch

    def loss(parameters, x, y):
        for W, b in parameters[:-1]:
            x = jnp.tanh(x @ W + b)
        W, b = parameters[-1]
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ W + b), y[:, None], axis=1).mean()

    @functools.partial(jax.jit, donate_argnums=0)
    def update(parameters, start):
        x = jax.lax.dynamic_slice_in_dim(x_all, start, batch)
        y = jax.lax.dynamic_slice_in_dim(y_all, start, batch)
        cost, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return jax.tree_util.tree_map(lambda p, g: p - RATE * g, parameters, gradients), cost

    def step(start):
        nonlocal parameters
        parameters, cost = update(parameters, start)
        return float(cost) if task.has_cost else None
    return (step, lambda: ([np.asarray(W) for W, _ in parameters], [np.asarray(b) for _, b in parameters]),
            lambda: jax.block_until_ready(parameters))


def pytensor_function(task):
    import pytensor
    import pytensor.tensor as pt
    x_all, y_all = pytensor.shared(task.x, borrow=True), pytensor.shared(task.y, borrow=True)
    W, b = [pytensor.shared(w) for w in task.W], [pytensor.shared(v) for v in task.b]
    start = pt.lscalar("start")
    h, y = x_all[start:start + task.batch], y_all[start:start + task.batch]
    for i in range(len(W) - 1):
        h = pt.tanh(h @ W[i] + b[i])
    logp = pt.special.log_softmax(h @ W[-1] + b[-1], axis=1)
    cost = -logp[pt.arange(y.shape[0]), y].mean()
    gradients = pytensor.grad(cost, W + b)
    rate = pt.constant(RATE, dtype=task.dtype)
    call = pytensor.function([start], cost if task.has_cost else [],
                             updates=[(p, p - rate * g) for p, g in zip(W + b, gradients)])
    call.trust_input = True
    import numpy as np

    def step(at):
        cost = call(np.asarray(at))
        return float(cost) if task.has_cost else None
    return step, lambda: ([w.get_value() for w in W], [v.get_value() for v in b])


STEPS = {
    "numpy": (numpy_plain, "user", "numpy"),
    "numpy_out": (lambda task: numpy_in_place(task, False), "best", "numpy"),
    "numpy_blas": (lambda task: numpy_in_place(task, True), "best", "scipy"),
    "torch_sgd": (lambda task: torch_sgd(task, False), "user", "torch"),
    "torch_compile": (lambda task: torch_sgd(task, True), "user", "torch"),
    "torch_nograd": (torch_nograd, "best", "torch"),
    "torch_hand": (lambda task: torch_hand(task, "eager"), "best", "torch"),
    "torch_jit": (lambda task: torch_hand(task, "script"), "best", "torch"),
    "torch_compile_hand": (lambda task: torch_hand(task, "compile"), "best", "torch"),
    "jax_jit": (jax_jit, "user", "jax"),
    "pytensor": (pytensor_function, "user", "pytensor"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        task = Task(case, dtype)
        step, _, *finish = make(task)
        return runner(task, step, *finish)
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in STEPS.items()}


def check():
    """After two steps, every installed implementation has the cost and the weights of the plain one, in float64."""
    import numpy as np
    import os
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for case in ("20-15-10/12", "20-15-10/1", "20-16-15-14-10/12", "20-10/12"):
        step, values = numpy_plain(Task(case, "float64"))[:2]
        wanted = [step(0), step(12)]
        W, b = values()
        compared = []
        for name, (make, _, needs) in STEPS.items():
            if importlib.util.find_spec(needs) is None:
                continue
            if "compile" in name and not hasattr(importlib.import_module("torch"), "compile"):
                continue
            worker.prepare(needs, "float64", 1)
            step, values = make(Task(case, "float64"))[:2]
            got = [step(0), step(12)]
            for one, other in zip(wanted, got):
                assert one is other is None or abs(one - other) < 1e-12, (case, name, one, other)
            for ours, theirs in zip([*W, *b], [*values()[0], *values()[1]]):
                assert np.abs(ours - theirs).max() < 1e-12, (case, name)
            compared.append(name)
        print(f"{case}: {', '.join(compared)} agree")
