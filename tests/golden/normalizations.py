#!/usr/bin/env python3
"""Writes normalizations.txt: normalizations and their derivatives, for tests/compiler/ops/normalization_test.cpp.

Run: python3 tests/golden/normalizations.py. "value NAME = [shape] numbers" are inputs; a case follows them: its name,
the input, axes or constants, the name of what it gives, "=", shape and numbers. Derivatives are those of sum(output *
weights), by autograd in float64 where PyTorch is installed, by the closed form otherwise; both are compared.
"""
import pathlib

import numpy as np

try:
    import torch
except ImportError:
    torch = None

rng = np.random.default_rng(8)
lines = [f"# written by normalizations.py with NumPy {np.__version__}"]


def spaceless(numbers):
    return "[" + ",".join(str(n) for n in numbers) + "]"


def text(value):
    value = np.asarray(value, np.float64)
    return spaceless(value.shape) + "".join(f" {v!r}" for v in value.ravel().tolist())


def add(name, key, arguments, what, result):
    lines.append(" ".join([name, key, *map(str, arguments), what, "=", text(result)]))


def value(name, shape, low=-2, high=2):
    out = np.round(rng.uniform(low, high, shape), 3)
    lines.append(f"value {name} = {text(out)}")
    return out


for key, shape, axes in [("rows", (5, 3), (0,)), ("images", (3, 2, 2, 3), (0, 2, 3)), ("units", (4, 2, 3), (0,)),
                         ("middle", (2, 3, 2), (1,)), ("every", (2, 3), (0, 1))]:
    epsilon, factor = 1e-4, 0.1
    x, weights = value(key, shape) + 3, value(key + "_weights", shape)
    lines[-2] = f"value {key} = {text(x)}"
    stay = [n for axis, n in enumerate(shape) if axis not in axes]
    scale, shift, old_mean, old_variance = (value(f"{key}_{what}", stay, 0.5) for what in
                                            ["scale", "shift", "running_mean", "running_variance"])
    wide = lambda p: np.expand_dims(p, axes)
    count = x.size // max(1, int(np.prod(stay)))
    mean, variance = x.mean(axes), x.var(axes)
    inverse = 1 / np.sqrt(variance + epsilon)
    normal = (x - wide(mean)) * wide(inverse)
    output = normal * wide(scale) + wide(shift)
    d_normal = weights * wide(scale)
    dx = wide(inverse) * (d_normal - d_normal.mean(axes, keepdims=True)
                          - normal * (d_normal * normal).mean(axes, keepdims=True))
    evaluated = (x - wide(old_mean)) / np.sqrt(wide(old_variance) + epsilon) * wide(scale) + wide(shift)
    if torch and len(stay) == 1 and axes[0] == 0:
        t = [torch.tensor(v, requires_grad=True) for v in (x, scale, shift)]
        running = [torch.tensor(old_mean.copy()), torch.tensor(old_variance.copy())]
        y = torch.nn.functional.batch_norm(t[0], *running, t[1], t[2], True, factor, epsilon)
        (y * torch.tensor(weights)).sum().backward()
        for ours, theirs in [(output, y.detach()), (dx, t[0].grad), ((weights * normal).sum(axes), t[1].grad),
                             (weights.sum(axes), t[2].grad), (0.9 * old_mean + 0.1 * mean, running[0]),
                             (0.9 * old_variance + 0.1 * variance * count / (count - 1), running[1])]:
            assert np.allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-12)
        y = torch.nn.functional.batch_norm(torch.tensor(x), torch.tensor(old_mean), torch.tensor(old_variance),
                                           t[1], t[2], False, factor, epsilon)
        assert np.allclose(evaluated, y.detach().numpy(), rtol=1e-12, atol=1e-12)
    for what, result in [("output", output), ("mean", mean), ("inverse_deviation", inverse),
                         ("running_mean", 0.9 * old_mean + 0.1 * mean),
                         ("running_variance", 0.9 * old_variance + 0.1 * variance * count / (count - 1)),
                         ("dx", dx), ("dscale", (weights * normal).sum(axes)), ("dshift", weights.sum(axes)),
                         ("evaluated", evaluated)]:
        add("batch", key, [spaceless(axes)], what, result)

for key, shape, count in [("layer_rows", (3, 5), 1), ("layer_images", (2, 3, 4), 2), ("layer_all", (6,), 1)]:
    x, weights = value(key, shape), value(key + "_weights", shape)
    axes = tuple(range(len(shape) - count, len(shape)))
    inverse = 1 / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
    output = (x - x.mean(axes, keepdims=True)) * inverse
    dx = inverse * (weights - weights.mean(axes, keepdims=True)
                    - output * (weights * output).mean(axes, keepdims=True))
    if torch:
        t = torch.tensor(x, requires_grad=True)
        y = torch.nn.functional.layer_norm(t, shape[-count:], eps=1e-5)
        (y * torch.tensor(weights)).sum().backward()
        assert np.allclose(output, y.detach().numpy(), rtol=1e-12, atol=1e-12)
        assert np.allclose(dx, t.grad.numpy(), rtol=1e-11, atol=1e-12)
    add("layer", key, [count], "output", output)
    add("layer", key, [count], "dx", dx)

for key, shape, n, k, alpha, beta in [("response_images", (2, 7, 2, 2), 5, 2, 1e-4, 0.75),
                                      ("response_few", (1, 3, 2, 1), 5, 1, 0.5, 0.75),
                                      ("response_even", (2, 5, 3), 4, 2, 0.3, 0.5),
                                      ("response_one", (2, 3), 1, 1, 1, 1)]:
    x, weights = value(key, shape), value(key + "_weights", shape)
    channels = shape[1]
    near = np.array([[j - n // 2 <= c <= j - n // 2 + n - 1 for c in range(channels)] for j in range(channels)], float)
    base = k + alpha * np.einsum("jc,nc...->nj...", near, x**2)
    output = x / base**beta
    dx = weights / base**beta - 2 * alpha * beta * x * np.einsum("jc,nj...->nc...", near,
                                                                 weights * x / base**(beta + 1))
    if torch:
        t = torch.tensor(x.reshape(*shape, 1), requires_grad=True)  # with three axes at least
        y = torch.nn.functional.local_response_norm(t, n, alpha * n, beta, k)
        (y * torch.tensor(weights.reshape(t.shape))).sum().backward()
        assert np.allclose(output, y.detach().numpy().reshape(shape), rtol=1e-12, atol=1e-12)
        assert np.allclose(dx, t.grad.numpy().reshape(shape), rtol=1e-11, atol=1e-12)
    add("response", key, [n, k, alpha, beta], "output", output)
    add("response", key, [n, k, alpha, beta], "dx", dx)

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
