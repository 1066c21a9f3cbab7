"""Maxima and means of square windows of images, and the gradients to the images.

A case is "max/16x64x56x48/w3s2p1": max, max_gradient, mean or mean_gradient; batch, channels, height and width of
the images; the window, the stride, and the padding on each side. Means count the padding. Rates are elements of the
images a second.

thtrain finds the maxima again for the gradient; PyTorch is given the positions that its forward pass wrote, as in
training, and JAX is given what its forward pass keeps. Of equal maxima the first has the gradient.
"""
import importlib.util
import re

from worker import Form


class Task:
    def __init__(self, case, dtype):
        import numpy as np
        what, lengths, windows = case.split("/")
        self.kind, self.is_gradient = what.split("_")[0], what.endswith("_gradient")
        self.shape = tuple(int(n) for n in lengths.split("x"))
        self.window, self.stride, self.padding = (int(n) for n in re.fullmatch(r"w(\d+)s(\d+)p(\d+)", windows).groups())
        self.pooled = self.shape[:2] + tuple((n + 2 * self.padding - self.window) // self.stride + 1
                                             for n in self.shape[2:])
        rng = np.random.RandomState(7)
        self.x = rng.uniform(-1, 1, self.shape).astype(dtype)
        self.dy = rng.uniform(-1, 1, self.pooled).astype(dtype)
        self.elements = self.x.size


def numpy_slices(task):
    """One element of all windows after the other: strided slices of the padded images."""
    import numpy as np
    (n, c, h, w), p, k, s = task.shape, task.padding, task.window, task.stride
    around = -np.inf if task.kind == "max" else 0
    slices = [np.s_[:, :, i:i + s * (task.pooled[2] - 1) + 1:s, j:j + s * (task.pooled[3] - 1) + 1:s]
              for i in range(k) for j in range(k)]
    share = task.x.dtype.type(1 / (k * k))

    def padded():
        return np.pad(task.x, ((0, 0), (0, 0), (p, p), (p, p)), constant_values=around)

    def forward():
        x = padded()
        out = x[slices[0]].copy()
        for at in slices[1:]:
            (np.maximum if task.kind == "max" else np.add)(out, x[at], out=out)
        return out if task.kind == "max" else out * share

    def gradient():
        dx = np.zeros((n, c, h + 2 * p, w + 2 * p), task.x.dtype)
        if task.kind == "mean":
            for at in slices:
                dx[at] += task.dy * share
        else:
            x, best, rest = padded(), forward(), task.dy.copy()
            for at in slices:
                given = np.where(x[at] == best, rest, 0)
                dx[at] += given
                rest -= given
        return dx[:, :, p:p + h, p:p + w]
    return gradient if task.is_gradient else forward


def torch_calls(task, convert):
    """`convert` gives an array the layout that is measured."""
    import torch
    k, s, p = ([n, n] for n in (task.window, task.stride, task.padding))
    x, dy = convert(torch.from_numpy(task.x)), convert(torch.from_numpy(task.dy))
    if not task.is_gradient:
        pool = torch.nn.functional.max_pool2d if task.kind == "max" else torch.nn.functional.avg_pool2d

        @torch.no_grad()
        def forward():
            return pool(x, k, s, p)
        return forward
    if task.kind == "mean":
        return lambda: torch.ops.aten.avg_pool2d_backward(dy, x, k, s, p, False, True, None)
    _, positions = torch.ops.aten.max_pool2d_with_indices(x, k, s, p)
    return lambda: torch.ops.aten.max_pool2d_with_indices_backward(dy, x, k, s, p, [1, 1], False, positions)


def torch_channels_last(task):
    import torch
    return torch_calls(task, lambda a: a.to(memory_format=torch.channels_last))


def jax_jit(task, is_nhwc):
    import jax
    import jax.numpy as jnp
    import numpy as np
    order = (0, 2, 3, 1) if is_nhwc else (0, 1, 2, 3)

    def spread(length, other):
        return tuple((other, other, length, length)[axis] for axis in order)
    window, stride, padding = (spread(task.window, 1), spread(task.stride, 1),
                               spread((task.padding, task.padding), (0, 0)))

    def pool(x):
        if task.kind == "max":
            return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, stride, padding)
        return jax.lax.reduce_window(x, 0.0, jax.lax.add, window, stride, padding) * (1 / task.window ** 2)
    x, dy = jnp.asarray(task.x.transpose(order)), jnp.asarray(task.dy.transpose(order))
    if task.is_gradient:
        compiled = jax.jit(lambda x, dy: jax.vjp(pool, x)[1](dy)[0])
        arguments = (x, dy)
    else:
        compiled, arguments = jax.jit(pool), (x,)

    def run():
        return compiled(*arguments).block_until_ready()
    run.plain = lambda a: np.asarray(a).transpose(np.argsort(order))
    return run


CALLS = {
    "numpy": (numpy_slices, "user", "numpy"),
    "torch": (lambda task: torch_calls(task, lambda a: a), "user", "torch"),
    "torch_cl": (torch_channels_last, "best", "torch"),
    "jax": (lambda task: jax_jit(task, False), "user", "jax"),
    "jax_nhwc": (lambda task: jax_jit(task, True), "best", "jax"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        task = Task(case, dtype)
        call = make(task)

        def run(calls):
            for _ in range(calls):
                call()
        return run, task.elements
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in CALLS.items()}


def by_definition(task):
    import numpy as np
    (n, c, h, w), p, k, s = task.shape, task.padding, task.window, task.stride
    y, dx = np.empty(task.pooled), np.zeros(task.shape)
    for at in np.ndindex(*task.pooled):
        i, j = at[2] * s - p, at[3] * s - p
        rows, columns = slice(max(i, 0), min(i + k, h)), slice(max(j, 0), min(j + k, w))
        inside = task.x[at[0], at[1], rows, columns]
        if task.kind == "mean":
            y[at] = inside.sum() / (k * k)
            dx[at[0], at[1], rows, columns] += task.dy[at] / (k * k)
        else:
            first = np.unravel_index(inside.argmax(), inside.shape)
            y[at] = inside[first]
            dx[at[0], at[1], rows.start + first[0], columns.start + first[1]] += task.dy[at]
    return dx if task.is_gradient else y


def check():
    """Every installed implementation gives what the definition gives, in float64."""
    import numpy as np
    import os
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for what in ("max", "max_gradient", "mean", "mean_gradient"):
        for windows in ("w2s2p0", "w3s2p1", "w3s1p1"):
            case, compared = f"{what}/2x3x9x10/{windows}", []
            wanted = by_definition(Task(case, "float64"))
            for name, (make, _, needs) in CALLS.items():
                if importlib.util.find_spec(needs) is None:
                    continue
                worker.prepare(needs, "float64", 1)
                call = make(Task(case, "float64"))
                got = call()
                got = call.plain(got) if hasattr(call, "plain") else np.asarray(got)
                assert got.shape == wanted.shape, (case, name, got.shape, wanted.shape)
                assert np.abs(got - wanted).max() < 1e-14, (case, name)
                compared.append(name)
            flat = wanted.ravel()
            print(f"{case}: {', '.join(compared)} agree; the sum is {flat.sum():.15g}, that of products with 1, 2, ... "
                  f"{flat @ np.arange(1, flat.size + 1):.15g}")
