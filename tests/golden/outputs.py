#!/usr/bin/env python3
"""Writes outputs.txt: a model of three outputs trained by PyTorch, for tests/trainers/outputs_test.cpp.

Run: python3 tests/golden/outputs.py, with PyTorch. 10 examples of 6 numbers in float64, with weights:

    hidden = tanh(x W + b)   kind = hidden W + b (logits)   numbers = hidden W + b   copy = hidden W + b

y holds four numbers for each example: three that `numbers` should give and the class of `kind`, whose classes have
weights; `copy` should give x. The loss of a minibatch is

    cross_entropy(kind) + 0.25 huber(numbers) + 0.5 mean_squared_error(copy)

each the weighted mean over the examples. 20 steps of SGD with momentum, on minibatches of 5 in their order. Lines: x,
y, weights, each weight before and ("end/") after, the losses of each epoch's minibatches, and the three losses and
their sum over all examples at the end.
"""
import pathlib

import torch
from torch.nn import functional

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
lines = [f"# written by outputs.py with PyTorch {torch.__version__}"]


def write(name, value):
    value = torch.as_tensor(value)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in value.detach().reshape(-1).tolist()))


def weighted_mean(losses, weights):
    return (losses * weights).sum() / weights.sum()


CLASS_WEIGHTS = torch.tensor([1.0, 2.5, 0.5])
SHAPES = {"hidden": (6, 5), "kind": (5, 3), "numbers": (5, 3), "copy": (5, 6)}
x = torch.rand(10, 6) * 2 - 1
y = torch.cat([torch.rand(10, 3) * 4 - 2, torch.randint(0, 3, (10, 1)).double()], dim=1)
weights = torch.rand(10) + 0.25
p = {}
for layer, (rows, columns) in SHAPES.items():
    p[layer + "/W"] = (torch.rand(rows, columns) * 2 - 1).requires_grad_()
    p[layer + "/b"] = (torch.rand(columns) * 2 - 1).requires_grad_()


def losses_of(rows):
    hidden = torch.tanh(x[rows] @ p["hidden/W"] + p["hidden/b"])
    kind, numbers, copy = (hidden @ p[name + "/W"] + p[name + "/b"] for name in ("kind", "numbers", "copy"))
    classes, w = y[rows, 3].long(), weights[rows]
    return [weighted_mean(functional.cross_entropy(kind, classes, reduction="none"), w * CLASS_WEIGHTS[classes]),
            weighted_mean(functional.huber_loss(numbers, y[rows, 0:3], reduction="none", delta=0.5).mean(1), w),
            weighted_mean(functional.mse_loss(copy, x[rows], reduction="none").mean(1), w)]


def total(losses):
    return losses[0] + 0.25 * losses[1] + 0.5 * losses[2]


for name, value in (("x", x), ("y", y), ("weights", weights), *p.items()):
    write(name, value)
optimizer = torch.optim.SGD(p.values(), lr=0.1, momentum=0.5)
epochs = []
for epoch in range(10):
    steps = []
    for begin in (0, 5):
        optimizer.zero_grad()
        loss = total(losses_of(slice(begin, begin + 5)))
        loss.backward()
        optimizer.step()
        steps.append(loss.item())
    epochs.append(sum(steps) / 2)
write("epochs", epochs)
for name, value in p.items():
    write("end/" + name, value)
end = losses_of(slice(0, 10))
write("losses", torch.stack([*end, total(end)]))
pathlib.Path(__file__).with_name("outputs.txt").write_text("\n".join(lines) + "\n")
