#!/usr/bin/env python3
"""Writes convnets.txt: small networks of images computed by PyTorch, for tests/nn/layers/convnets_test.cpp.

Run: python3 tests/golden/convnets.py, with PyTorch. All in float64, each network with a prefix of its own:

lenet: 3 rows of 64 numbers, as images [1, 8, 8]
    maps = conv 3x3 of 2 filters, flipped, no bias   pooled = tanh(max of 2x2 + b)
    more = relu(conv 2x2 of 4 filters + b)   out = more W + b
residual: 4 images [2, 5, 6]
    first = relu(batch_norm(conv 3x3 of 4 filters, padding 1, no bias))   second = conv 3x3 of 4 filters in 2 groups,
    stride (2, 1), dilation (1, 2), padding above 2, below 0, left 1, right 3   same = conv 1x1 of 4 filters of first,
    stride (2, 1)   sum = relu(second + same)   row = average of each channel of relu(batch_norm(sum)), no g and b
    Then mean and variance after one step, and row in evaluation with these.
decoder: 2 images [4, 2, 3]
    wide = conv_transposed 3x2 of 2 channels in 2 groups, stride 2, padding 1   local = response norm of 3 channels
    large = each element of local twice two times   normed = layer_norm(large), over all, g and b
    out = average of 3x3 windows of normed, stride 2, padding 1, the padding counted

The loss is mean(out^3), of residual with row as out. Lines: x, each weight, out, loss, and "grad/" + each weight.
"""
import pathlib

import torch
from torch.nn import functional as F

torch.manual_seed(16)
lines = [f"# written by convnets.py with PyTorch {torch.__version__}"]


def write(name, value):
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in value.detach().reshape(-1).tolist()))


def uniform(*shape):
    return torch.rand(shape, dtype=torch.float64) * 2 - 1


def network(name, x, shapes, forward):
    weights = {key: uniform(*shape).requires_grad_() for key, shape in shapes.items()}
    out = forward(x, weights)
    loss = (out**3).mean()
    loss.backward()
    write(f"{name}:x", x)
    write(f"{name}:out", out)
    write(f"{name}:loss", loss)
    for key, value in weights.items():
        write(f"{name}:{key}", value)
        write(f"{name}:grad/{key}", value.grad)
    return weights


def per_channel(b):
    return b[None, :, None, None]


def lenet(x, p):
    maps = F.conv2d(x.reshape(3, 1, 8, 8), p["maps/W"].flip(2, 3))
    pooled = torch.tanh(F.max_pool2d(maps, 2) + per_channel(p["pooled/b"]))
    more = F.relu(F.conv2d(pooled, p["more/W"], p["more/b"]))
    return more.reshape(3, -1) @ p["out/W"] + p["out/b"]


network("lenet", uniform(3, 64),
        {"maps/W": (2, 1, 3, 3), "pooled/b": (2,), "more/W": (4, 2, 2, 2), "more/b": (4,), "out/W": (16, 2),
         "out/b": (2,)}, lenet)

running = {key: (torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)) for key in ("norm", "last")}


def residual(x, p, training=True):
    maps = F.conv2d(x, p["maps/W"], padding=1)
    first = F.relu(F.batch_norm(maps, *running["norm"], p["norm/g"], p["norm/b"], training, 0.25, 1e-3))
    padded = F.pad(first, (1, 3, 2, 0))
    second = F.conv2d(padded, p["second/W"], p["second/b"], stride=(2, 1), dilation=(1, 2), groups=2)
    same = F.conv2d(first, p["same/W"], p["same/b"], stride=(2, 1))
    total = F.relu(second + same)
    return F.relu(F.batch_norm(total, *running["last"], None, None, training, 0.1, 1e-5)).mean((2, 3))


x = uniform(4, 2, 5, 6)
weights = network("residual", x,
                  {"maps/W": (4, 2, 3, 3), "norm/g": (4,), "norm/b": (4,), "second/W": (4, 2, 3, 3), "second/b": (4,),
                   "same/W": (4, 4, 1, 1), "same/b": (4,)}, residual)
for key, (mean, variance) in running.items():
    write(f"residual:{key}/mean", mean)
    write(f"residual:{key}/variance", variance)
write("residual:evaluated", residual(x, weights, False))


def decoder(x, p):
    wide = F.conv_transpose2d(x, p["wide/W"], p["wide/b"], stride=2, padding=1, groups=2)
    local = F.local_response_norm(wide, 3, alpha=3 * 0.5, beta=0.75, k=2.0)  # PyTorch divides alpha by 3
    large = F.interpolate(local, scale_factor=2, mode="nearest")
    normed = F.layer_norm(large, large.shape[1:], p["normed/g"], p["normed/b"], 1e-5)
    return F.avg_pool2d(normed, 3, 2, 1, count_include_pad=True)


network("decoder", uniform(2, 4, 2, 3),
        {"wide/W": (4, 1, 3, 2), "wide/b": (2,), "normed/g": (2, 6, 8), "normed/b": (2, 6, 8)}, decoder)
pathlib.Path(__file__).with_name("convnets.txt").write_text("\n".join(lines) + "\n")
