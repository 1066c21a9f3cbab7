#!/usr/bin/env python3
"""Writes activations.txt: activation functions and their derivatives by PyTorch, for tests/nn/activations_test.cpp.

Run: python3 tests/golden/activations.py (with PyTorch). "x" and "rows" (of softmax) are the inputs; then for each
function "NAME" and "derivative NAME" (for softmax: of the sum of y times "cotangent"). float64.
"""
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
lines = [f"# written by activations.py with PyTorch {torch.__version__}"]


def write(name, value):
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in value.detach().ravel().tolist()))


def rounded(values):
    return torch.tensor(values).to(torch.float32).to(torch.float64)


FUNCTIONS = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": F.relu,
    "softplus": lambda x: F.softplus(x, threshold=700),
    "elu": F.elu,
    "selu": F.selu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "leaky_relu": F.leaky_relu,
    "swish": F.silu,
    "hard_sigmoid": lambda x: F.relu6(x + 3) / 6,  # the derivative of F.hardsigmoid is rounded to float32
    "softsign": F.softsign,
}
X = rounded([-1e4, -800, -100, -20, -5, -3, -2.5, -1, -0.75, -0.1, -1e-6, 0, 1e-6, 0.1, 0.5, 1, 2, 3, 4.5, 20, 100,
             800, 1e4])
ROWS = rounded([[0, 1, 2], [1e4, -1e4, 0], [-1e4, -1e4, -1e4], [0.5, -0.25, 3]])
COTANGENT = rounded([[1, -2, 0.5], [0.25, 1, 3], [2, -1, 1], [1.5, 0, -1]])
assert torch.equal(FUNCTIONS["hard_sigmoid"](X), F.hardsigmoid(X))
write("x", X)
for name, function in FUNCTIONS.items():
    x = X.clone().requires_grad_()
    y = function(x)
    y.sum().backward()
    write(name, y)
    write(f"derivative {name}", x.grad)
write("rows", ROWS)
write("cotangent", COTANGENT)
x = ROWS.clone().requires_grad_()
y = F.softmax(x, -1)
(y * COTANGENT).sum().backward()
write("softmax", y)
write("derivative softmax", x.grad)
assert all(math.isfinite(float(v)) for line in lines[1:] for v in line.split(" = ")[1].split()[1:])
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
