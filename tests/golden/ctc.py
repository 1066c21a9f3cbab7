#!/usr/bin/env python3
"""Writes ctc.txt: losses and gradients of connectionist temporal classification, for tests/nn/objectives/ctc_test.cpp.

Run: python3 tests/golden/ctc.py, with PyTorch. Lines of a case: "logits" [steps, batch, classes], "labels" [batch, L]
(padded with -1), "lengths" [batch], "blank", "losses" [batch], "gradient" of their sum by the logits; float64.
The inputs and the costs of the cases "tutorial" and "two" are those of Theano's tests of its ctc, which come from the
tutorial of warp-ctc; the costs are compared here.
"""
import pathlib

import torch
from torch.nn import functional

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
lines = [f"# written by ctc.py with PyTorch {torch.__version__}"]


def write(name, value):
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in value.detach().reshape(-1).tolist()))


def case(name, logits, labels, lengths, blank=0):
    logits = torch.as_tensor(logits, dtype=torch.float64).clone().requires_grad_()
    labels, lengths = torch.tensor(labels), torch.tensor(lengths)
    counts = (labels >= 0).sum(1)
    losses = functional.ctc_loss(logits.log_softmax(-1), labels.clamp(min=0), lengths, counts, blank, reduction="none")
    losses.sum().backward()
    for key, value in (("logits", logits), ("labels", labels), ("lengths", lengths), ("blank", torch.tensor(blank)),
                       ("losses", losses), ("gradient", logits.grad)):
        write(f"{name}/{key}", value)
    return losses.tolist()


def compare(got, wanted):
    for a, b in zip(got, wanted):
        assert abs(a - b) < 1e-6 * b, (got, wanted)


tutorial = [[[0] * 5, [5 * t + k + 1 for k in range(5)], [k - 5 - 5 * t for k in range(5)]] for t in range(3)]
compare(case("tutorial", tutorial, [[1, -1], [3, 3], [2, 3]], [1, 3, 3]), [1.609437943, 7.355742931, 4.938849926])
two = [[[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.6, 0.1, 0.1]], [[0.6, 0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.5, 0.2, 0.1]]]
compare(case("two", two, [[1, 2], [1, 2]], [2, 2]), [2.962858438, 3.053659201])
labels = [[1, 1, 2], [0, -1, -1], [-1, -1, -1], [2, 1, 0], [3, 3, -1]]
case("random", torch.randn(6, 5, 5) * 2, labels, [6, 2, 4, 3, 5], blank=4)
case("sharp", torch.randn(6, 2, 3) * 50, [[1, 2], [2, 2]], [6, 6])
pathlib.Path(__file__).with_name("ctc.txt").write_text("\n".join(lines) + "\n")
