#!/usr/bin/env python3
"""Writes index_ops.txt: what NumPy reads and writes by indices, for tests/compiler/ops/index_golden_test.cpp.

Run: python3 tests/golden/index_ops.py. A line is a case: name, arguments without spaces, "=", the result's shape, its
values, or "= error". x is arange(size).reshape(shape), y is -1 - arange(size).reshape(shape).
"""
import itertools
import pathlib

import numpy as np

lines = [f"# written by index_ops.py with NumPy {np.__version__}"]


def show(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def case(name, *arguments, result):
    try:
        value = result()
    except IndexError:
        lines.append(" ".join([name, *arguments, "= error"]))
        return
    value = np.asarray(value)
    lines.append(" ".join([name, *arguments, "=", show(value.shape), *map(str, value.ravel().tolist())]))


def numbers(shape):
    return np.arange(int(np.prod(shape))).reshape(shape)


def parse(text):
    def one(part):
        if ":" not in part:
            return int(part)
        return slice(*[int(end) if end else None for end in part.split(":")])
    return tuple(one(part) for part in text.split(","))


def getitem(shape, text):
    case("get", show(shape), text, result=lambda: numbers(shape)[parse(text)])


def setitem(name, shape, text, y_shape):
    def result():
        x = numbers(shape)
        y = -1 - numbers(y_shape)
        x[parse(text)] = y if name == "set" else x[parse(text)] + y
        return x
    case(name, show(shape), text, show(y_shape), result=result)


for index in range(-9, 9):
    getitem((8,), str(index))


def slices(length, ends, steps):
    for start, stop, step in itertools.product(ends, ends, steps):
        getitem((length,), f"{start}:{stop}:{step}")


slices(8, ["", -9, -8, -3, -1, 0, 1, 5, 7, 8, 9], [1, 3, -1, -2])
slices(8, ["", -9, -2, 0, 6, 9], [2, 9, -3, -9])
for length in (0, 1, 3):
    slices(length, ["", -4, -1, 0, 1, 2], [1, 2, -1, -2])

for text in ["1", "-1,2", "1:3", ":,1", "::-1,::2", "1:-1,1:-1", "2:,-2", ":0,3", "-9:9,-9:9:3", "3,0:1", "5,0",
             "0,-6"]:
    getitem((4, 5), text)
for text in ["1", ":,1", "::2,0,::-1", "-1,-1,-1", ":,:,1:", "0,0,4", "1:,2:,3:"]:
    getitem((2, 3, 4), text)
for name in ("set", "inc"):
    for text, y_shape in [("2", (5,)), ("-1,2", ()), ("1:3", (2, 5)), (":,1", (4,)), ("::-1,::2", (4, 3)),
                          ("1:-1,1:-1", ()), ("3:1", (0, 5)), ("::2", (5,)), ("::2", (2, 1)), ("::-2,4:0:-3", (2, 2))]:
        setitem(name, (4, 5), text, y_shape)


def take(shape, axis, index_shape, indices):
    picked = np.array(indices, dtype=np.int64).reshape(index_shape)
    words = show(shape), str(axis), show(index_shape), show(indices)
    case("take", *words, result=lambda: np.take(numbers(shape), picked, axis))

    def added():
        x = numbers(shape)
        index = (slice(None),) * (axis % len(shape)) + (picked,)
        np.add.at(x, index, -1 - numbers(x[index].shape))
        return x
    case("scatter_add", *words, result=added)


take((8,), 0, (5,), [3, 3, -1, 0, 3])
take((8,), 0, (0,), [])
take((8,), 0, (), [-8])
take((8,), 0, (1,), [8])
take((8,), 0, (2,), [0, -9])
take((4, 3), 0, (6,), [1, 1, -4, 3, -1, 1])
take((4, 3), 1, (4,), [2, 0, -3, 2])
take((4, 3), -1, (2, 2), [2, 0, 1, 2])
take((2, 4, 3), 1, (3,), [-1, 3, 0])
take((2, 4, 3), 1, (2, 3), [0, 0, 1, 1, 1, -1])
take((2, 4, 3), 2, (), [1])
take((3, 0), 0, (2,), [1, 1])
take((0, 3), 0, (0,), [])
take((0, 3), 0, (1,), [0])


def at(shape, *indices):
    picked = tuple(np.array(numbers, dtype=np.int64).reshape(index_shape) for index_shape, numbers in indices)
    words = show(shape), *(show(part) for index in indices for part in index)
    case("at", *words, result=lambda: numbers(shape)[picked])

    def added():
        x = numbers(shape)
        np.add.at(x, picked, -1 - numbers(x[picked].shape))
        return x
    case("inc_at", *words, result=added)


at((4, 5), ((3,), [1, -4, 3]), ((3,), [0, -1, 4]))
at((4, 5), ((4,), [1, 1, -3, 1]), ((4,), [2, 2, 2, -3]))
at((4, 5), ((2, 1), [3, 0]), ((3,), [0, -5, 1]))
at((4, 5), ((2,), [3, 0]), ((), [2]))
at((4, 5), ((0,), []), ((0,), []))
at((4, 5), ((2,), [3, 4]), ((2,), [0, 0]))
at((4, 5), ((2,), [3, 0]), ((2,), [0, -6]))
at((4, 5), ((2,), [3, 0]), ((3,), [0, 1, 2]))
at((2, 4, 3), ((2, 2), [0, 1, -1, 0]), ((2, 2), [3, -1, 0, 2]))
at((2, 4, 3), ((2,), [1, 0]), ((1,), [2]), ((2,), [0, -1]))
at((2, 4, 0), ((2,), [1, 0]), ((2,), [2, 2]))


def mask(shape, mask_shape, bools, y_shapes):
    chosen = np.array(bools, dtype=bool).reshape(mask_shape)
    words = show(shape), show(mask_shape), show(bools)
    case("get_mask", *words, result=lambda: numbers(shape)[chosen])
    for name in ("set_mask", "inc_mask"):
        for y_shape in y_shapes:
            def result():
                x = numbers(shape)
                y = -1 - numbers(y_shape)
                x[chosen] = y if name == "set_mask" else x[chosen] + y
                return x
            case(name, *words, show(y_shape), result=result)


mask((8,), (8,), [0, 1, 1, 0, 0, 0, 1, 0], [(), (3,)])
mask((3,), (3,), [0, 0, 0], [(), (0,)])
mask((0,), (0,), [], [()])
mask((2,), (2,), [1, 1], [(2,)])
mask((4, 3), (4,), [1, 0, 0, 1], [(), (3,), (2, 3), (2, 1), (1, 3)])
mask((4, 3), (4, 3), [0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1], [(), (5,)])
mask((2, 4, 3), (2,), [0, 1], [(), (1, 4, 3), (4, 1)])
mask((2, 2, 3), (2, 2, 3), [1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1], [(5,)])


def pick(shape, labels):
    def added():
        x = numbers(shape)
        x[np.arange(shape[0]), labels] += -1 - np.arange(shape[0])
        return x
    index = np.arange(shape[0]), np.array(labels, dtype=int)
    case("pick", show(shape), show(labels), result=lambda: numbers(shape)[index])
    case("inc_pick", show(shape), show(labels), result=added if labels else lambda: numbers(shape))


pick((5, 3), [0, 2, 1, 1, 2])
pick((1, 4), [3])
pick((0, 4), [])
pick((3, 1), [0, 0, 0])
pick((2, 3), [1, 3])

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
