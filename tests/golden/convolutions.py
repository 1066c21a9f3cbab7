#!/usr/bin/env python3
"""Writes convolutions.txt: convolutions and their gradients by PyTorch, for tests/compiler/ops/conv_golden_test.cpp.

Run: python3 tests/golden/convolutions.py, with PyTorch. The cases are those of Theano's test_abstract_conv.py: the
tables of two and three axes, groups, filters of their own for every position, other paddings before than behind,
gradients with strides and dilation, causal convolutions.

A line: conv [images] [filters] padding [stride] [dilation] groups flip = [result] and two sums each of the result, of
the gradient to the images and of that to the filters. padding: valid, half, full, causal, or zeros [before, after] of
each axis. Filters of more axes than the images are [F, O..., C / groups, K...]. Element k of images, filters, result's
gradient and the two weights of the sums is (3 k k + 7 k + s) % 13 - 6, for s = 1 ... 5: all sums are exact.
"""
import itertools
import pathlib

import torch
from torch.nn import functional as F

lines = [f"# written by convolutions.py with PyTorch {torch.__version__}"]


def pattern(shape, s):
    k = torch.arange(int(torch.tensor(shape).prod()))
    return ((3 * k * k + 7 * k + s) % 13 - 6).double().reshape(shape)


def spaceless(numbers):
    return "[" + ",".join(str(n) for n in numbers) + "]"


def sums(value):
    return [int((value * pattern(value.shape, s)).sum()) for s in (4, 5)]


def zeros_of(padding, spans):
    named = {"valid": lambda span: (0, 0), "half": lambda span: (span // 2, span // 2),
             "full": lambda span: (span - 1, span - 1), "causal": lambda span: (span - 1, 0)}
    if isinstance(padding, str):
        return [named[padding](span) for span in spans]
    return [zeros if isinstance(zeros, tuple) else (zeros, zeros) for zeros in padding]


def unshared(x, w, stride, dilation, groups):
    """A filter of its own for every position: the sum of each window, one position after the other."""
    rank = x.dim() - 2
    positions, taps = w.shape[1:1 + rank], w.shape[2 + rank:]
    out = []
    for position in itertools.product(*map(range, positions)):
        window = x
        for axis, (o, s, d, k) in enumerate(zip(position, stride, dilation, taps)):
            window = window.narrow(2 + axis, o * s, (k - 1) * d + 1)
            window = window.index_select(2 + axis, torch.arange(0, (k - 1) * d + 1, d))
        filters = w[(slice(None), *position)]
        products = [torch.einsum("nc...,fc...->nf", a, b) if rank == 0 else
                    torch.tensordot(a.flatten(1), b.flatten(1), dims=([1], [1]))
                    for a, b in zip(window.chunk(groups, 1), filters.chunk(groups, 0))]
        out.append(torch.cat(products, 1))
    return torch.stack(out, 2).reshape(x.shape[0], w.shape[0], *positions)


def add(images, filters, padding="valid", stride=None, dilation=None, groups=1, flip=True):
    rank = len(images) - 2
    stride, dilation = stride or (1,) * rank, dilation or (1,) * rank
    x, w = (pattern(shape, s).requires_grad_() for s, shape in ((1, images), (2, filters)))
    spans = [(k - 1) * d + 1 for k, d in zip(filters[-rank:], dilation)]
    zeros = zeros_of(padding, spans)
    if any(n + sum(pair) < span for n, pair, span in zip(images[2:], zeros, spans)):
        return
    turned = w.flip(*range(w.dim() - rank, w.dim())) if flip else w
    padded = F.pad(x, [n for pair in reversed(zeros) for n in pair])
    if len(filters) > len(images):
        y = unshared(padded, turned, stride, dilation, groups)
    else:
        y = (F.conv1d, F.conv2d, F.conv3d)[rank - 1](padded, turned, None, stride, 0, dilation, groups)
    y.backward(pattern(y.shape, 3))
    name = padding if isinstance(padding, str) else spaceless(n for pair in zeros for n in pair)
    numbers = [*sums(y.detach()), *sums(x.grad), *sums(w.grad)]
    lines.append(" ".join(["conv", spaceless(images), spaceless(filters), name, spaceless(stride), spaceless(dilation),
                           str(groups), str(int(flip)), "=", spaceless(y.shape), *map(str, numbers)]))


def table(shapes, strides, dilations, paddings):
    for images, filters in shapes:
        for dilation, stride, padding in itertools.product(dilations, strides, paddings):
            add(images, filters, padding, stride, dilation)
        add(images, filters, flip=False)


table([((8, 1, 6, 6), (5, 1, 2, 2)), ((8, 1, 8, 8), (4, 1, 3, 3)), ((2, 1, 7, 7), (2, 1, 3, 3)),
       ((6, 1, 10, 11), (1, 1, 2, 3)), ((2, 1, 6, 5), (4, 1, 1, 3)), ((1, 5, 9, 9), (4, 5, 3, 2))],
      [(1, 1), (2, 2), (2, 4)], [(1, 1), (1, 2), (2, 1)], ["valid", "half", "full", (1, 1), (5, 5), (5, 2)])
table([((2, 1, 5, 5, 5), (2, 1, 2, 2, 2)), ((1, 2, 7, 5, 6), (1, 2, 2, 1, 3))],
      [(1, 1, 1), (2, 2, 2), (1, 2, 3)], [(1, 1, 1), (1, 2, 1), (2, 1, 2)], ["valid", "half", "full", (2, 2, 3)])
for padding in ("valid", "half", "full", (1, 2)):
    add((3, 2, 12, 9), (4, 2, 5, 6), padding, (1, 2), (2, 1))
for padding in ("valid", "half", "full", (1, 2, 3)):
    add((3, 2, 12, 9, 7), (4, 2, 5, 6, 4), padding, (1, 2, 1), (2, 1, 1))
for images, filters in (((8, 1, 12, 12), (5, 1, 2, 2)), ((1, 1, 5, 5), (1, 1, 3, 3))):
    for padding, stride, dilation, flip in itertools.product(("valid", "full"), ((1, 1), (2, 2)), ((1, 1), (2, 2)),
                                                             (True, False)):
        add(images, filters, padding, stride, dilation, flip=flip)
for images, filters, groups in [
        ((5, 6, 5, 5), (6, 2, 3, 3), 3), ((4, 4, 7, 5), (6, 2, 5, 3), 2), ((3, 8, 5, 3), (4, 2, 3, 3), 4),
        ((2, 4, 7, 7), (4, 1, 3, 5), 4), ((2, 6, 5, 5, 5), (3, 2, 3, 3, 3), 3), ((1, 4, 7, 5, 7), (6, 2, 5, 3, 5), 2),
        ((1, 8, 5, 3, 5), (4, 2, 3, 3, 3), 4), ((2, 4, 7, 7, 7), (4, 1, 3, 5, 3), 4)]:
    add(images, filters, groups=groups)
for images, filters, padding, stride, groups in [
        ((2, 2, 4, 4), (2, 2, 2, 2, 3, 3), "valid", (1, 1), 1), ((3, 2, 4, 2), (2, 4, 2, 2, 4, 2), "full", (2, 2), 1),
        ((3, 3, 5, 3), (3, 2, 1, 1, 3, 3), "valid", (2, 1), 3), ((3, 4, 4, 4), (4, 3, 3, 2, 4, 2), "full", (3, 2), 2)]:
    for flip in (True, False):
        add(images, filters, padding, stride, groups=groups, flip=flip)
add((2, 2, 7, 6), (3, 2, 3, 2, 3, 2), ((0, 1), (1, 0)), (2, 2), (2, 1))
for images, filters, padding in [((2, 2, 4, 4), (4, 2, 2, 2), ((1, 2), (2, 1))),
                                 ((3, 2, 4, 2), (2, 2, 4, 2), ((1, 1), (0, 3))),
                                 ((3, 3, 5, 3), (2, 3, 3, 3), ((2, 1), (0, 0)))]:
    for stride, dilation in (((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 1))):
        add(images, filters, padding, stride, dilation)
for stride, dilation, groups in (((1,), (2,), 1), ((2,), (1,), 1), ((3,), (2,), 2)):
    add((3, 2, 5), (2, 2 // groups, 3), "causal", stride, dilation, groups)
add((1, 2, 4, 5), (3, 2, 2, 3), "causal", (1, 1), (2, 1))

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
