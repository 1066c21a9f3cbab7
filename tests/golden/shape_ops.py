#!/usr/bin/env python3
"""Writes shape_ops.txt: NumPy's shapes and values, for tests/compiler/ops/shape_golden_test.cpp.

Run: python3 tests/golden/shape_ops.py. A line is a case: name, arguments without spaces, "=", the result's shape, its
values (floats as hexadecimal), or "= error". x is arange(size).reshape(shape); value number k of several starts at
100 k.
"""
import pathlib

import numpy as np

lines = [f"# written by shape_ops.py with NumPy {np.__version__}"]


def show(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def number(value):
    return float(value).hex() if isinstance(value, float) else str(int(value))


def case(name, *arguments, result):
    words = [show(a) if isinstance(a, (tuple, list)) else str(a) for a in arguments]
    try:
        value = np.asarray(result())
    except ValueError:
        lines.append(" ".join([name, *words, "= error"]))
        return
    lines.append(" ".join([name, *words, "=", show(value.shape), *map(number, value.ravel().tolist())]))


def x(shape, base=0):
    return base + np.arange(int(np.prod(shape))).reshape(shape)


for shape, order in [((3, 5), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (1, 0, 2)), ((5,), (0,)), ((), ()),
                     ((0, 3, 2), (2, 1, 0))]:
    case("transpose", shape, order, result=lambda: np.transpose(x(shape), order))
for shape, axes in [((3,), (0,)), ((3,), (1,)), ((3,), (-1,)), ((2, 3), (0, 2)), ((2, 3), (-1, 0)), ((), (0, 1))]:
    case("expand_dims", shape, axes, result=lambda: np.expand_dims(x(shape), axes))
for shape, axes in [((1, 3), (0,)), ((2, 1, 3, 1), (1, -1)), ((1,), (0,)), ((1, 0, 1), (2,))]:
    case("squeeze", shape, axes, result=lambda: np.squeeze(x(shape), axes))
for shape, to in [((3, 4), (2, 6)), ((3, 4), (-1,)), ((3, 4), (2, -1, 2)), ((), (1, 1)), ((1,), ()), ((0, 3), (3, 0)),
                  ((0, 3), (-1, 3)), ((2, 3), (4, 2)), ((2, 3), (4, -1))]:
    case("reshape", shape, to, result=lambda: x(shape).reshape(to))
    if len(shape) == 2:
        case("reshape_transposed", shape, to, result=lambda: x(shape).T.reshape(to))
for shape, to in [((), (2, 3)), ((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 1), (0, 3)), ((2, 1, 3), (4, 2, 5, 3)),
                  ((3,), (3, 2)), ((0,), (2, 0))]:
    case("broadcast_to", shape, to, result=lambda: np.broadcast_to(x(shape), to))
for axis, shapes in [(0, [(2, 3), (1, 3)]), (1, [(2, 3), (2, 0), (2, 2)]), (-1, [(2, 1, 2), (2, 1, 3)]), (0, [(4,)]),
                     (0, [(0,), (3,)])]:
    case("join", axis, *shapes, result=lambda: np.concatenate([x(s, 100 * k) for k, s in enumerate(shapes)], axis))
for axis, shapes in [(0, [(2, 3), (2, 3)]), (1, [(2, 3)] * 3), (-1, [(2,), (2,)]), (0, [(), (), ()])]:
    case("stack", axis, *shapes, result=lambda: np.stack([x(s, 100 * k) for k, s in enumerate(shapes)], axis))
for n, m, k in [(3, 3, 0), (2, 4, 1), (4, 2, -1), (3, 2, 5), (0, 2, 0), (3, 5, -3)]:
    case("eye", n, m, k, result=lambda: np.eye(n, m, k, dtype=np.int64))
for start, stop, step in [(0, 5, 1), (2, 11, 3), (2, 12, 3), (5, -1, -2), (5, 5, 1), (3, 1, 1), (-3, 3, 2), (1, 3, -1)]:
    case("arange", start, stop, step, result=lambda: np.arange(start, stop, step))
for dtype in ("float64", "float32"):
    for start, stop, step in [(0.0, 1.0, 0.1), (0.5, 3.25, 0.25), (1.5, -2.0, -0.3), (0.0, 0.0, 1.0),
                              (1e10, 1e10 + 5, 1.5)]:
        case(f"arange_{dtype}", start.hex(), stop.hex(), step.hex(),
             result=lambda: np.arange(start, stop, step, dtype=dtype))

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
