#!/usr/bin/env python3
"""Writes indexing.txt: what NumPy reads and writes by mixed indices, for tests/compiler/ops/indexing_golden_test.cpp.

Run: python3 tests/golden/indexing.py. A line is a case: get, set or inc, the shape of x, the indices, for set and inc
the shape of y, "=", the result's shape, its values, or "= error". x is arange(size).reshape(shape), y is
-1 - arange(size).reshape(shape). Indices are separated by ";": 2, 1:7:2, "...", new, an integer tensor as
i[lengths](values), a mask as m[lengths](values).
"""
import itertools
import pathlib
import random

import numpy as np

lines = [f"# written by indexing.py with NumPy {np.__version__}"]


def show(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def numbers(shape):
    return np.arange(int(np.prod(shape))).reshape(shape)


def text_of(index):
    if index is Ellipsis:
        return "..."
    if index is None:
        return "new"
    if isinstance(index, slice):
        ends = [index.start, index.stop, index.step]
        return ":".join("" if end is None else str(end) for end in ends)
    if isinstance(index, np.ndarray):
        values = ",".join(str(int(i)) for i in index.ravel())
        return f"{'m' if index.dtype == bool else 'i'}{show(index.shape)}({values})"
    return str(index)


def case(kind, shape, index, y_shape=None):
    start = [kind, show(shape), ";".join(map(text_of, index))] + ([show(y_shape)] if kind != "get" else [])
    try:
        x = numbers(shape)
        if kind == "get":
            x = np.asarray(x[tuple(index)])
        elif kind == "set":
            # NumPy leaves open which of several values for one element stays; here it is the last.
            places = numbers(shape)[tuple(index)]
            values = np.broadcast_to(-1 - numbers(y_shape), places.shape)
            for place, value in zip(places.ravel(), values.ravel()):
                x.flat[place] = value
        else:
            np.add.at(x, tuple(index), -1 - numbers(y_shape))
    except (IndexError, ValueError):
        lines.append(" ".join([*start, "= error"]))
        return
    lines.append(" ".join([*start, "=", show(x.shape), *map(str, x.ravel().tolist())]))


def tensor(*shape, low=0, high=3):
    return np.array([draw.randrange(low, high) for _ in range(int(np.prod(shape)))], int).reshape(shape)


def mask(*shape):
    return np.array([draw.random() < 0.5 for _ in range(int(np.prod(shape)))], bool).reshape(shape)


draw = random.Random(34)
full = slice(None)
fixed = [
    ((5,), [...]), ((5,), [None]), ((5,), [None, ...]), ((5,), [..., None]), ((2, 3), [..., 0]), ((2, 3), [0, ...]),
    ((2, 3), [0, 1, ...]), ((2, 3), [..., None, 1]), ((2, 3, 4), [0, ..., 2]), ((2, 3, 4), [None, 1, None, ..., None]),
    ((2, 3, 4), [..., slice(None, None, -1)]), ((), [...]), ((), [None]), ((2, 3, 4), [slice(1), ..., None, 2]),
    # Where the axes of elements go.
    ((3, 4, 5), [tensor(2), full, tensor(2)]), ((3, 4, 5), [0, full, tensor(2)]), ((3, 4, 5), [full, 0, tensor(2)]),
    ((3, 4, 5), [full, tensor(2), tensor(2)]), ((3, 4, 5), [tensor(2), None, tensor(2)]),
    ((3, 4, 5), [None, tensor(2), tensor(2)]), ((3, 4, 5), [full, tensor(2), None, tensor(2)]),
    ((3, 4, 5), [full, None, tensor(2)]), ((3, 4, 5), [..., tensor(2), 1]), ((3, 4, 5), [tensor(2), ..., 1]),
    ((3, 4), [tensor(2), ..., tensor(2)]), ((3, 4), [0, ..., tensor(2)]), ((3, 4, 5), [tensor(2, 1), tensor(3), full]),
    ((3, 4, 5), [full, tensor(2, 2), slice(1, 4)]), ((3, 4, 5), [slice(1, 3), tensor(2, 1), tensor(1, 3)]),
    ((3, 4, 5), [1, tensor(2), slice(0, 5, 2)]), ((3, 4, 5), [tensor(2), slice(3, 0, -1), 1]),
    ((3, 4, 5, 6), [full, tensor(2), slice(1, 4), tensor(2)]), ((3, 4, 5, 6), [tensor(2), 0, full, 1]),
    ((3, 4, 5), [slice(None, None, -1), tensor(4, low=-4, high=4)]), ((3, 4), [tensor(0), full]),
    # Masks.
    ((3, 4, 5), [mask(3)]), ((3, 4, 5), [mask(3, 4)]), ((3, 4, 5), [mask(3, 4, 5)]), ((3, 4, 5), [full, mask(4)]),
    ((3, 4, 5), [full, mask(4, 5)]), ((3, 4, 5), [..., mask(5)]), ((3, 4, 5), [mask(3), 1]),
    ((3, 4, 5), [mask(3), full, 1]), ((3, 4, 5), [1, mask(4, 5)]), ((3, 4, 5), [slice(1, 3), mask(4), None]),
    ((3, 4, 5), [mask(3, 4), slice(1, 4)]), ((3, 4, 5), [slice(1, 3), mask(4, 5)]), ((4,), [mask(4), None]),
    ((3, 4, 5), [np.array([True, False, True]), np.array([0, 3])]),
    ((3, 4, 5), [np.array([True, False, True]), np.array([[0], [3], [1]])]),
    ((3, 4), [np.array([True, False, True]), np.array([True, False, False, True])]),
    ((3, 4), [np.zeros(3, bool)]), ((3, 4), [np.zeros((3, 4), bool)]), ((3, 4, 5), [np.zeros(3, bool), 0]),
    # Errors.
    ((3, 4), [mask(4)]), ((3, 4), [mask(3, 3)]), ((3, 4), [np.array([0, 3])]), ((3, 4), [0, 0, np.array([0])]),
    ((3, 4), [np.array([0, 1]), np.array([0, 1, 2])]), ((3, 4, 5), [full, np.array([-5, 0])]),
]
for shape, index in fixed:
    case("get", shape, index)
    part = None
    try:
        part = numbers(shape)[tuple(index)].shape
    except (IndexError, ValueError):
        part = (1,)
    case("set", shape, index, part)
    case("inc", shape, index, part)
    case("inc", shape, index, part[1:] if part[:1] else ())


def drawn_index(length):
    kind = draw.randrange(7)
    if kind == 0:
        return draw.randrange(-length, length)
    if kind <= 2:
        ends = [None, *range(-length - 1, length + 2)]
        return slice(draw.choice(ends), draw.choice(ends), draw.choice([None, 1, 2, -1, -2]))
    if kind == 3:
        return full
    if kind == 4:
        return mask(length)
    return tensor(*draw.choice([(2,), (2, 1), (1, 2), (1,), (2, 2)]), low=-length, high=length)


for _ in range(190):
    shape = tuple(draw.randrange(1, 5) for _ in range(draw.randrange(1, 5)))
    index = [drawn_index(length) for length in shape[:draw.randrange(1, len(shape) + 1)]]
    if draw.random() < 0.3:
        index.insert(draw.randrange(len(index) + 1), None)
    if draw.random() < 0.3:
        index.append(Ellipsis)
    # A length that only the data decides is not repeated where it is 1.
    arrays = [i for i in index if isinstance(i, np.ndarray)]
    if len(arrays) > 1 and any(i.dtype == bool and i.sum() == 1 for i in arrays):
        continue
    try:
        part = numbers(shape)[tuple(index)].shape
    except IndexError:
        continue
    case("get", shape, index)
    case(draw.choice(["set", "inc"]), shape, index, draw.choice([part, part[-1:], ()]))

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
