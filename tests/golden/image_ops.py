#!/usr/bin/env python3
"""Writes image_ops.txt: padding, windows of images and upsampling, for tests/compiler/ops/image_golden_test.cpp.

Run: python3 tests/golden/image_ops.py. Values are counted from 0 in the shape that a case names first. Padding is
NumPy's; windows and bilinear upsampling are written out from their definitions (Theano's images2neibs, the transposed
convolution of bilinear_upsampling, and the convolution of frac_bilinear_upsampling, of the kernel with the image).
Where PyTorch is installed, what it has too is compared with it.
"""
import pathlib

import numpy as np

try:
    import torch
except ImportError:
    torch = None

lines = [f"# written by image_ops.py with NumPy {np.__version__}"]


def spaceless(numbers):
    return "[" + ",".join(str(n) for n in numbers) + "]"


def counted(shape):
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape)


def add(name, shape, arguments, result):
    values = " ".join(repr(v) for v in np.asarray(result, np.float64).ravel().tolist())
    lines.append(" ".join([name, spaceless(shape), *map(str, arguments), "=", spaceless(np.shape(result)), values]))


def windows_of(x, window, step, mode):
    """images2neibs by its definition."""
    (rows, columns), (down, across) = window, step
    height, width = x.shape[2:]
    if mode == "half" or mode == "full":
        a, b = (rows // 2, columns // 2) if mode == "half" else (rows - 1, columns - 1)
        x = np.pad(x, [(0, 0), (0, 0), (a, a), (b, b)])
        height, width = x.shape[2:]
    if mode == "wrap_centered":
        firsts = range(-(rows // 2), height - rows // 2, down), range(-(columns // 2), width - columns // 2, across)
    else:
        firsts = range(0, height - rows + 1, down), range(0, width - columns + 1, across)
    out = []
    for image in x:
        for channel in image:
            for top in firsts[0]:
                for left in firsts[1]:
                    out.append([channel[(top + i) % height, (left + j) % width]
                                for i in range(rows) for j in range(columns)])
    return np.array(out)


def bilinear(x, ratio):
    """The transposed convolution, along one axis and then along the other."""
    kernel = np.concatenate([np.arange(1, ratio + 1), np.arange(ratio - 1, 0, -1)]) / ratio
    cut = 2 * ratio - (ratio - 1) // 2 - 1

    def along(row):
        row = np.concatenate([row[:1], row, row[-1:]])
        spread = np.zeros((len(row) - 1) * ratio + len(kernel))
        for i, value in enumerate(row):
            spread[i * ratio:i * ratio + len(kernel)] += value * kernel
        return spread[cut:cut + (len(row) - 2) * ratio]

    return np.apply_along_axis(along, 3, np.apply_along_axis(along, 2, x))


def fractional(x, rows, columns):
    """The kernel, with zeros around it, is the image of a convolution, and the image its filter, with dilation."""
    def along(row, ratio):
        divisor = np.gcd(*ratio)
        up, down = (n // divisor for n in ratio)
        kernel = np.concatenate([np.arange(1, up + 1), np.arange(up - 1, 0, -1)]) / up
        more = (2 * len(row) - 1) * up + 1
        kernel = np.pad(kernel, (more // 2, more - more // 2))
        row = np.concatenate([row[:1], row, row[-1:]])[::-1]
        positions = (len(kernel) - (len(row) - 1) * up - 1) // down + 1
        return np.array([sum(kernel[o * down + i * up] * value for i, value in enumerate(row))
                         for o in range(positions)])

    return np.apply_along_axis(along, 3, np.apply_along_axis(along, 2, x, rows), columns)


for shape, widths in [((4,), [(2, 3)]), ((3, 4), [(1, 0), (0, 3)]), ((2, 2, 3, 4), [(2, 1), (1, 2)]),
                      ((2, 3, 2), [(1, 2), (0, 0)])]:
    every = [(0, 0)] * (len(shape) - len(widths)) + widths
    flat = spaceless(n for pair in widths for n in pair)
    x = counted(shape)
    for mode in ["constant", "edge", "reflect", "wrap"]:
        if all(max(pair) < n for pair, n in zip(every, shape)) or mode in ("constant", "edge"):
            more = {"constant_values": -1.5} if mode == "constant" else {}
            add("pad", shape, [mode, flat], np.pad(x, every, mode=mode, **more))

for shape, window, step, mode in [
        ((2, 3, 4, 4), (2, 2), (2, 2), "valid"), ((1, 2, 5, 4), (3, 2), (1, 2), "valid"),
        ((1, 1, 5, 5), (2, 3), (2, 3), "ignore_borders"), ((2, 1, 5, 7), (2, 3), (2, 2), "ignore_borders"),
        ((1, 2, 4, 5), (3, 3), (1, 1), "wrap_centered"), ((1, 1, 5, 6), (3, 5), (3, 2), "wrap_centered"),
        ((2, 1, 4, 5), (3, 3), (1, 1), "half"), ((1, 1, 4, 4), (2, 2), (2, 2), "half"),
        ((1, 1, 3, 4), (2, 3), (1, 1), "full"), ((1, 2, 4, 4), (3, 3), (5, 5), "full")]:
    out = windows_of(counted(shape), window, step, mode)
    add("neighbours", shape, [mode, spaceless(window + step)], out)
    if torch and mode == "valid":
        columns = torch.nn.functional.unfold(torch.tensor(counted(shape)), window, stride=step).numpy()
        columns = columns.reshape(shape[0], shape[1], window[0] * window[1], -1).transpose(0, 1, 3, 2)
        assert np.array_equal(out, columns.reshape(out.shape))

for shape, ratio in [((2, 2, 3, 2), 2), ((1, 2, 2, 3), 3), ((1, 1, 3, 1), 4), ((1, 1, 1, 4), 5), ((1, 2, 2, 2), 1)]:
    x = counted(shape) ** 2
    near, smooth = x.repeat(ratio, axis=2).repeat(ratio, axis=3), bilinear(x, ratio)
    add("nearest", shape, [ratio], near)
    add("bilinear", shape, [ratio], smooth)
    if torch:
        scaled = {mode: torch.nn.functional.interpolate(torch.tensor(x), scale_factor=ratio, mode=mode).numpy()
                  for mode in ["nearest", "bilinear"]}
        assert np.array_equal(near, scaled["nearest"])
        assert np.allclose(smooth, scaled["bilinear"]) == (ratio % 2 == 1)

for shape, rows, columns in [((1, 3, 2, 2), (7, 4), (5, 3)), ((2, 1, 4, 5), (6, 5), (3, 2)),
                             ((1, 1, 5, 3), (8, 3), (2, 1)), ((1, 2, 6, 7), (2, 3), (4, 4)),
                             ((1, 1, 1, 4), (9, 4), (10, 4)), ((1, 1, 4, 4), (6, 2), (3, 1))]:
    add("fractional", shape, [spaceless(rows + columns)], fractional(counted(shape) ** 2, rows, columns))

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
