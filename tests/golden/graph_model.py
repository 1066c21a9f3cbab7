#!/usr/bin/env python3
"""Writes graph_model.txt: a model with branches computed by PyTorch, for tests/nn/graph_model_test.cpp.

Run: python3 tests/golden/graph_model.py, with PyTorch. 5 examples of 7 numbers in float64:

    left = x[:, 0:4]   right = x[:, 4:7]   hidden = tanh(left W + b)   pieces = maxout of 2 of right
    sum = hidden + pieces + hidden   bent = prelu(sum)   both = bent : right   out = both W + b   side = bent W + b

The loss is mean(out^2) + 3 mean(side^3). Lines: x, each weight, out, side, loss, and "grad/" + each weight.
"""
import pathlib

import torch
from torch.nn import functional

torch.manual_seed(3)
lines = [f"# written by graph_model.py with PyTorch {torch.__version__}"]


def write(name, value):
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in value.detach().reshape(-1).tolist()))


SHAPES = {"hidden/W": (4, 3), "hidden/b": (3,), "pieces/W": (3, 6), "pieces/b": (6,), "bent/slope": (3,),
          "out/W": (6, 2), "out/b": (2,), "side/W": (3, 1), "side/b": (1,)}
x = torch.rand(5, 7, dtype=torch.float64) * 2 - 1
p = {name: (torch.rand(shape, dtype=torch.float64) * 2 - 1).requires_grad_() for name, shape in SHAPES.items()}
left, right = x[:, 0:4], x[:, 4:7]
hidden = torch.tanh(left @ p["hidden/W"] + p["hidden/b"])
pieces = (right @ p["pieces/W"] + p["pieces/b"]).reshape(5, 3, 2).max(dim=2).values
bent = functional.prelu(hidden + pieces + hidden, p["bent/slope"])
out = torch.cat([bent, right], dim=1) @ p["out/W"] + p["out/b"]
side = bent @ p["side/W"] + p["side/b"]
loss = (out**2).mean() + 3 * (side**3).mean()
loss.backward()
write("x", x)
for name, value in p.items():
    write(name, value)
for name, value in (("out", out), ("side", side), ("loss", loss)):
    write(name, value)
for name, value in p.items():
    write("grad/" + name, value.grad)
pathlib.Path(__file__).with_name("graph_model.txt").write_text("\n".join(lines) + "\n")
