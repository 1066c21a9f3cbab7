"""Training steps of networks with convolutions: two of them with max pooling, tanh, two dense layers, softmax, mean
negative log-likelihood, plain SGD.

A case is "convlarge/60": the network and the batch. convsmall, convmed and convlarge are the Theano paper's (6 and 16
maps, pool(tanh(conv + b)) and tanh again, 120 hidden units, learning rate 0.01, weights uniform in [0, sqrt(6 / 25))
and [0, sqrt(6 / 16 / 25)), output weights zero); lenet is that of the Deep Learning Tutorials (20 and 50 maps,
tanh(pool(conv) + b), 500 hidden units, learning rate 0.1, weights uniform in +-sqrt(6 / (in + out))). Images of
standard normal numbers and random labels in memory, as many as the paper's scripts walk through. A step returns its
cost as a Python number. Convolutions are true ones in thtrain and Theano, and correlations here: the filters of both
are the same numbers, flipped.
"""
import importlib.util

from worker import Form, to_device, torch_array, torch_compile

# image, filters, windows of the poolings, maps, hidden units, examples, learning rate
NETWORKS = {"convsmall": (32, 5, (2, 2), (6, 16), 120, 600, 0.01), "convmed": (96, 7, (3, 3), (6, 16), 120, 120, 0.01),
            "convlarge": (256, 7, (5, 4), (6, 16), 120, 120, 0.01), "lenet": (28, 5, (2, 2), (20, 50), 500, 2000, 0.1)}


class Task:
    """`values`: filters, their biases, dense weights [in, out] and biases, in turn."""

    def __init__(self, case, dtype):
        import numpy as np
        name, batch = case.split("/")
        size, k, self.pools, maps, hidden, self.examples, self.rate = NETWORKS[name]
        self.batch, self.dtype, self.is_lenet = int(batch), dtype, name == "lenet"
        rng = np.random.RandomState(2344)
        self.x = rng.normal(size=(self.examples, 1, size, size)).astype(dtype)
        self.y = rng.randint(0, 10, self.examples)
        pooled = [(size - k + 1) // self.pools[0]]
        pooled.append((pooled[0] - k + 1) // self.pools[1])
        self.flat = maps[1] * pooled[1] ** 2
        shapes = [(maps[0], 1, k, k), (maps[1], maps[0], k, k), (self.flat, hidden)]
        if self.is_lenet:
            sums = [k * k + maps[0] * k * k // 4, maps[0] * k * k + maps[1] * k * k // 4, self.flat + hidden]
            limits = [(-(6 / n) ** 0.5, (6 / n) ** 0.5) for n in sums]
        else:
            limits = [(0, (6 / 25) ** 0.5), (0, (6 / 25) ** 0.5), (0, (6 / 16 / 25) ** 0.5)]
        self.values = []
        for shape, limit in zip(shapes, limits):
            weights = rng.uniform(*limit, shape)
            if len(shape) == 4:
                weights = weights[:, :, ::-1, ::-1]
            outputs = shape[0] if len(shape) == 4 else shape[1]
            self.values += [np.ascontiguousarray(weights, dtype), np.zeros(outputs, dtype)]
        self.values += [np.zeros((hidden, 10), dtype), np.zeros(10, dtype)]
        self.starts = range(0, self.examples - self.batch + 1, self.batch)


def runner(task, step, finish=None):
    """A function of a number of steps, which walks on through the examples."""
    starts, at = task.starts, 0

    def run(calls):
        nonlocal at
        for _ in range(calls):
            step(starts[at])
            at = (at + 1) % len(starts)
        if finish:
            finish()
    return run, task.batch


def numpy_plain(task):
    """Patches of each image and matrix products; the first of a window's maxima gets the gradient."""
    import numpy as np
    values, batch = task.values, task.batch

    def patches(x, k):
        windows = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))  # n c oh ow k k
        n, c, oh, ow = windows.shape[:4]
        return windows.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * k * k, oh * ow), (oh, ow)

    def pool(x, p):
        n, c, h, w = x.shape
        oh, ow = h // p, w // p
        windows = x[:, :, :oh * p, :ow * p].reshape(n, c, oh, p, ow, p).transpose(0, 1, 2, 4, 3, 5)
        windows = windows.reshape(n, c, oh, ow, p * p)
        return windows.max(-1), windows.argmax(-1)

    def unpool(d, at, p, shape):
        n, c, oh, ow = d.shape
        windows = np.zeros((n, c, oh, ow, p * p), d.dtype)
        np.put_along_axis(windows, at[..., None], d[..., None], -1)
        out = np.zeros(shape, d.dtype)
        out[:, :, :oh * p, :ow * p] = windows.reshape(n, c, oh, ow, p, p).transpose(0, 1, 2, 4, 3, 5).reshape(
            n, c, oh * p, ow * p)
        return out

    def step(start):
        x, y = task.x[start:start + batch], task.y[start:start + batch]
        kept = []
        for i, p in enumerate(task.pools):
            w, b = values[2 * i], values[2 * i + 1]
            columns, shape = patches(x, w.shape[2])
            z = (w.reshape(len(w), -1) @ columns).reshape(batch, len(w), *shape)
            if not task.is_lenet:
                z = np.tanh(z + b[:, None, None])
            pooled, at = pool(z, p)
            out = np.tanh(pooled + b[:, None, None] if task.is_lenet else pooled)
            kept.append((x, columns, z, at, out))
            x = out
        flat = x.reshape(batch, -1)
        h = np.tanh(flat @ values[4] + values[5])
        z = h @ values[6] + values[7]
        z = z - z.max(axis=1, keepdims=True)
        e = np.exp(z)
        total = e.sum(axis=1, keepdims=True)
        rows = np.arange(batch)
        cost = float((np.log(total[:, 0]) - z[rows, y]).mean())
        d = e / total
        d[rows, y] -= 1
        d /= batch
        gradients = [None] * 8
        gradients[6], gradients[7] = h.T @ d, d.sum(0)
        d = (d @ values[6].T) * (1 - h * h)
        gradients[4], gradients[5] = flat.T @ d, d.sum(0)
        d = (d @ values[4].T).reshape(x.shape)
        for i in (1, 0):
            below, columns, z, at, out = kept[i]
            w = values[2 * i]
            d = d * (1 - out * out)
            if task.is_lenet:
                gradients[2 * i + 1] = d.sum((0, 2, 3))
            d = unpool(d, at, task.pools[i], z.shape)
            if not task.is_lenet:
                d = d * (1 - z * z)
                gradients[2 * i + 1] = d.sum((0, 2, 3))
            d = d.reshape(batch, len(w), -1)
            gradients[2 * i] = (d @ columns.transpose(0, 2, 1)).sum(0).reshape(w.shape)
            if i:
                k, (oh, ow) = w.shape[2], z.shape[2:]
                parts = (w.reshape(len(w), -1).T @ d).reshape(batch, w.shape[1], k, k, oh, ow)
                d = np.zeros_like(below)
                for a in range(k):
                    for c in range(k):
                        d[:, :, a:a + oh, c:c + ow] += parts[:, :, a, c]
        for value, gradient in zip(values, gradients):
            value -= task.rate * gradient
        return cost
    return step, lambda: values


def torch_data(task, is_last):
    """The examples and the values, each image and filter in channels_last if asked for."""
    import torch
    x, y, values = torch_array(task.x), torch_array(task.y), [torch_array(v) for v in task.values]
    if is_last:
        values[:4:2] = [v.to(memory_format=torch.channels_last) for v in values[:4:2]]
        x = x.to(memory_format=torch.channels_last)
    return x, y, values


def torch_network(task, is_last):
    import torch
    x_all, y_all, values = torch_data(task, is_last)

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            kind = {"dtype": values[0].dtype}
            f1, f2 = values[0], values[2]
            self.conv1 = torch.nn.Conv2d(1, f1.shape[0], f1.shape[2], **kind)
            self.conv2 = torch.nn.Conv2d(f2.shape[1], f2.shape[0], f2.shape[2], **kind)
            self.dense1 = torch.nn.Linear(*values[4].shape, **kind)
            self.dense2 = torch.nn.Linear(*values[6].shape, **kind)

        def forward(self, x):
            for conv, window in ((self.conv1, task.pools[0]), (self.conv2, task.pools[1])):
                x = conv(x)
                if not task.is_lenet:
                    x = torch.tanh(x)
                # With LeNet's bias before the pooling the function is the same.
                x = torch.tanh(torch.nn.functional.max_pool2d(x, window))
            return self.dense2(torch.tanh(self.dense1(x.flatten(1))))

    model = to_device(Network())
    layers = (model.conv1, model.conv2, model.dense1, model.dense2)
    with torch.no_grad():
        for i, layer in enumerate(layers):
            layer.weight.copy_(values[2 * i] if i < 2 else values[2 * i].t())
            layer.bias.copy_(values[2 * i + 1])
    if is_last:
        model = model.to(memory_format=torch.channels_last)

    def result():
        out = []
        for i, layer in enumerate(layers):
            out += [layer.weight.detach().numpy() if i < 2 else layer.weight.detach().numpy().T,
                    layer.bias.detach().numpy()]
        return out
    return x_all, y_all, model, result


def torch_sgd(task, is_last=False, compiled=False):
    import torch
    x_all, y_all, model, result = torch_network(task, is_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=task.rate)
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
        return cost.item()
    return step, result


def torch_nograd(task):
    """Autograd, and the update by hand in place."""
    import torch
    x_all, y_all, model, result = torch_network(task, False)
    parameters, batch = list(model.parameters()), task.batch

    def step(start):
        cost = torch.nn.functional.cross_entropy(model(x_all[start:start + batch]), y_all[start:start + batch])
        gradients = torch.autograd.grad(cost, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                parameter.sub_(gradient, alpha=task.rate)
        return cost.item()
    return step, result


def torch_hand(task, is_last):
    """Gradients by hand, none to the images, and everything in place that can be."""
    import torch
    x_all, y_all, values = torch_data(task, is_last)
    batch, rate, aten = task.batch, task.rate, torch.ops.aten

    @torch.no_grad()
    def step(start):
        x, y = x_all[start:start + batch], y_all[start:start + batch].unsqueeze(1)
        kept = []
        for i, p in enumerate(task.pools):
            z = torch.conv2d(x, values[2 * i], values[2 * i + 1])
            if not task.is_lenet:
                z.tanh_()
            pooled, at = aten.max_pool2d_with_indices(z, [p, p])
            kept.append((x, z, at, pooled.tanh_()))
            x = pooled
        shape, flat = x.shape, x.flatten(1)
        h = torch.addmm(values[5], flat, values[4]).tanh_()
        logp = torch.log_softmax(torch.addmm(values[7], h, values[6]), 1)
        cost = -logp.gather(1, y).mean()
        d = logp.exp_()
        d.scatter_add_(1, y, torch.full_like(y, -1, dtype=d.dtype)).mul_(1.0 / batch)
        below = aten.tanh_backward(torch.mm(d, values[6].t()), h)
        values[6].addmm_(h.t(), d, alpha=-rate)
        values[7].sub_(d.sum(0), alpha=rate)
        d = torch.mm(below, values[4].t()).view(shape)
        values[4].addmm_(flat.t(), below, alpha=-rate)
        values[5].sub_(below.sum(0), alpha=rate)
        if is_last:
            d = d.contiguous(memory_format=torch.channels_last)
        for i in (1, 0):
            x, z, at, out = kept[i]
            p, w = task.pools[i], values[2 * i]
            d = aten.max_pool2d_with_indices_backward(aten.tanh_backward(d, out), z, [p, p], [p, p], [0, 0], [1, 1],
                                                      False, at)
            if not task.is_lenet:
                d = aten.tanh_backward(d, z)
            d, dw, db = aten.convolution_backward(d, x, w, [w.shape[0]], [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
                                                  [i > 0, True, True])
            w.sub_(dw, alpha=rate)
            values[2 * i + 1].sub_(db, alpha=rate)
        return cost.item()
    return step, lambda: [v.numpy() for v in values]


def jax_jit(task, is_last):
    import functools
    import jax
    import jax.numpy as jnp
    import numpy as np
    layout = "NHWC" if is_last else "NCHW"
    x_all, y_all = jnp.asarray(task.x.transpose(0, 2, 3, 1) if is_last else task.x), jnp.asarray(
        task.y.astype(np.int32))
    parameters, batch = [jnp.asarray(v) for v in task.values], task.batch

    def loss(parameters, x, y):
        for i, p in enumerate(task.pools):
            w, b = parameters[2 * i], parameters[2 * i + 1]
            b, window = (b, (1, p, p, 1)) if is_last else (b[:, None, None], (1, 1, p, p))
            x = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=(layout, "OIHW", layout))
            if not task.is_lenet:
                x = jnp.tanh(x + b)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
            x = jnp.tanh(x + b if task.is_lenet else x)
        x = (x.transpose(0, 3, 1, 2) if is_last else x).reshape(batch, -1)
        x = jnp.tanh(x @ parameters[4] + parameters[5])
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ parameters[6] + parameters[7]), y[:, None], axis=1).mean()

    @functools.partial(jax.jit, donate_argnums=0)
    def update(parameters, start):
        x = jax.lax.dynamic_slice_in_dim(x_all, start, batch)
        y = jax.lax.dynamic_slice_in_dim(y_all, start, batch)
        cost, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return [p - task.rate * g for p, g in zip(parameters, gradients)], cost

    def step(start):
        nonlocal parameters
        parameters, cost = update(parameters, start)
        return float(cost)
    return (step, lambda: [np.asarray(v) for v in parameters], lambda: jax.block_until_ready(parameters))


STEPS = {
    "numpy": (numpy_plain, "user", "numpy"),
    "torch_sgd": (torch_sgd, "user", "torch"),
    "torch_cl": (lambda task: torch_sgd(task, is_last=True), "best", "torch"),
    "torch_compile": (lambda task: torch_sgd(task, compiled=True), "user", "torch"),
    "torch_nograd": (torch_nograd, "best", "torch"),
    "torch_hand": (lambda task: torch_hand(task, False), "best", "torch"),
    "torch_hand_cl": (lambda task: torch_hand(task, True), "best", "torch"),
    "jax_jit": (lambda task: jax_jit(task, False), "user", "jax"),
    "jax_nhwc": (lambda task: jax_jit(task, True), "best", "jax"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        task = Task(case, dtype)
        step, _, *finish = make(task)
        return runner(task, step, *finish)
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in STEPS.items()}


def check():
    """After three steps, every installed implementation has the costs and the values of the plain one, in float64."""
    import numpy as np
    import os
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for case in ("convsmall/3", "convmed/1", "lenet/4"):
        step, values = numpy_plain(Task(case, "float64"))[:2]
        starts = [0, 4, 8]
        wanted = [step(start) for start in starts]
        compared = []
        for name, (make, _, needs) in STEPS.items():
            if importlib.util.find_spec(needs) is None:
                continue
            if "compile" in name and not hasattr(importlib.import_module("torch"), "compile"):
                continue
            worker.prepare(needs, "float64", 1)
            other, theirs = make(Task(case, "float64"))[:2]
            got = [other(start) for start in starts]
            assert np.abs(np.subtract(got, wanted)).max() < 1e-11, (case, name, got, wanted)
            for one, another in zip(values(), theirs()):
                assert np.abs(one - another).max() < 1e-11, (case, name)
            compared.append(name)
        step = numpy_plain(Task(case, "float64"))[0]
        batch = int(case.split("/")[1])
        costs = [step(batch * i) for i in range(3)]
        print(f"{case}: {', '.join(compared)} agree; costs of the first steps {costs}")
