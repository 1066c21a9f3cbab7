#!/usr/bin/env python3
"""Writes reductions.txt: what NumPy's reductions give, for tests/compiler/ops/reduce_golden_test.cpp.

Run: python3 tests/golden/reductions.py. "input NAME dtype = [shape] values", then cases: reduction, input,
axes ("all" or
numbers without spaces), keepdims (0 or 1), dtype of the result, "=", its shape and values, or "= error". A complex
number is two values, and its shape has one axis more. Floats are computed in a wider type and rounded once.
"""
import itertools
import pathlib
import warnings

import numpy as np

warnings.simplefilter("ignore")
lines = [f"# written by reductions.py with NumPy {np.__version__}"]
inputs = {}
WIDE = {"float32": np.float64, "float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}


def text(value):
    value = np.asarray(value)
    if value.dtype.kind == "c":
        value = np.stack([value.real, value.imag], -1)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    values = value.astype(int) if value.dtype.kind == "b" else value
    return " ".join([shape, *(repr(v) for v in values.ravel().tolist())])


def add_input(name, array):
    inputs[name] = array
    lines.append(f"input {name} {array.dtype} = {text(array)}")


def wide(x):
    return x.astype(WIDE[str(x.dtype)]) if str(x.dtype) in WIDE else x


REDUCTIONS = {
    "sum": lambda x, **k: wide(x).sum(**k),
    "prod": lambda x, **k: wide(x).prod(**k),
    "mean": lambda x, **k: wide(x).mean(**k),
    "var": lambda x, **k: wide(x).var(**k),
    "var1": lambda x, **k: wide(x).var(ddof=1, **k),
    "std": lambda x, **k: wide(x).std(**k),
    "min": lambda x, **k: x.min(**k),
    "max": lambda x, **k: x.max(**k),
    "any": lambda x, **k: x.any(**k),
    "all": lambda x, **k: x.all(**k),
    "max_abs": lambda x, **k: np.abs(x).max(initial=0, **k),
    "argmin": lambda x, **k: x.argmin(**k),
    "argmax": lambda x, **k: x.argmax(**k),
    "cumsum": lambda x, axis, keepdims: x.cumsum(axis=axis),
}

ONE_AXIS = ("argmin", "argmax", "cumsum")


def result_dtype(name, x):
    if name == "max_abs":
        return x.dtype
    if name in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "cumsum"):
        return getattr(np.ones(1, x.dtype), name)().dtype
    if name != "mean" and x.dtype.kind == "c":
        return x.real.dtype
    return np.dtype("float64") if x.dtype.kind in "biu" else x.dtype


def case(name, key, axes, keepdims):
    x = inputs[key]
    if x.dtype.kind == "c" and name in ("min", "max", "argmin", "argmax"):
        return
    if x.dtype.kind != "f" and name == "max_abs":
        return
    dtype = result_dtype(name, x)
    axis = None if axes is None else axes[0] if name in ONE_AXIS else axes
    words = "all" if axes is None else "[" + ",".join(map(str, axes)) + "]"
    head = f"{name} {key} {words} {int(keepdims)} {dtype} ="
    try:
        value = np.asarray(REDUCTIONS[name](x, axis=axis, keepdims=keepdims)).astype(dtype)
        lines.append(f"{head} {text(value)}")
    except ValueError:
        lines.append(f"{head} error")


def every_axis(key):
    rank = inputs[key].ndim
    subsets = [None]
    for size in range(1, rank + 1):
        subsets += itertools.combinations(range(rank), size)
    for name in REDUCTIONS:
        for number, axes in enumerate(subsets):
            if name in ONE_AXIS and axes is not None and len(axes) > 1:
                continue
            case(name, key, axes, keepdims=number % 2 == 1)
            if axes is not None and len(axes) == 1 and key == "three_float64":
                case(name, key, (axes[0] - rank,), keepdims=number % 2 == 0)


rng = np.random.RandomState(1234)
for dtype in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
              "complex64", "complex128"]:
    kind = np.dtype(dtype).kind
    x = rng.uniform(-2, 2, (2, 3, 4))
    if kind == "c":
        x = x + 1j * rng.uniform(-2, 2, x.shape)
    elif kind in "iu":
        x = rng.randint(0 if kind == "u" else -5, 6, x.shape)
    elif kind == "b":
        x = rng.rand(*x.shape) < 0.6
    add_input(f"three_{dtype}", x.astype(dtype))
    every_axis(f"three_{dtype}")

add_input("scalar", np.array(-1.5))
add_input("one", np.array([[0.25]]))
add_input("vector", np.round(rng.normal(size=7), 3))
add_input("no_rows", np.zeros((0, 3)))
add_input("no_middle", np.zeros((2, 0, 3), dtype="float32"))
add_input("no_counts", np.zeros((4, 0), dtype="int32"))
special = np.array([[1, np.nan, 3, -2, np.nan], [np.inf, 1, 2, 3, 4], [-np.inf, 0, 1, 0, 5], [np.inf, -np.inf, 1, 2, 3],
                    [0.0, -1, 2, 0, 2], [7, 7, 7, 7, 7]])
add_input("special", special)
add_input("special32", special.astype("float32"))
add_input("ties", np.array([[3, 1, 3, 1], [0, 0, 0, 0], [-1, -1, -2, -2]], dtype="int16"))
add_input("four", rng.randint(-9, 10, (2, 3, 1, 2)).astype("int64"))
add_input("far_from_zero", (1000 + rng.uniform(0, 0.1, (3, 50))).astype("float32"))
for key in inputs:
    if not key.startswith("three_"):
        every_axis(key)

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
