#!/usr/bin/env python3
"""Writes builders.txt: what NumPy computes where builders make a value of several ops, for
tests/compiler/ops/builders_golden_test.cpp.

Run: python3 tests/golden/builders.py. A line is a case: name, dtype of the result, arguments without spaces, "=", the
result's shape, its values. An operand is dtype[shape]:values.
"""
import math
import pathlib

import numpy as np

lines = [f"# written by builders.py with NumPy {np.__version__}"]


def number(value):
    return str(int(value)) if isinstance(value, (bool, np.bool_, int, np.integer)) else repr(float(value))


def show(argument):
    if isinstance(argument, np.ndarray):
        values = ",".join(number(v) for v in argument.ravel())
        return f"{argument.dtype}[{','.join(map(str, argument.shape))}]:{values}"
    if isinstance(argument, (tuple, list)):
        return "[" + ",".join(map(str, argument)) + "]"
    return "none" if argument is None else str(argument)


def case(name, *arguments, result):
    value = np.asarray(result)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    lines.append(" ".join([name, str(value.dtype), *map(show, arguments), "=", shape, *map(number, value.ravel())]))


def cases(name, *arguments, results):
    """Of a builder that gives several values: the case begins with the number of the value."""
    for k, result in enumerate(results):
        case(name, k, *arguments, result=result)


def values(*shape, dtype=np.float64, start=0):
    return ((7 * np.arange(math.prod(shape)) + start) % 11 - 5).astype(dtype).reshape(shape)


def ints(*numbers):
    return np.array(numbers, np.int64)


# ---- make values ----
for n, m, k in [(3, 3, 0), (3, 5, 1), (5, 3, -2), (2, 3, 7), (2, 3, -7), (0, 3, 0), (1, 4, 2)]:
    case("tri", n, m, k, result=np.tri(n, m, k))
for dtype in [np.float64, np.int64, np.bool_]:
    case("identity_like", values(3, 4, dtype=dtype), result=np.eye(3, 4, dtype=dtype))
    for k in [-1, 0, 2]:
        case("tril", values(4, 3, dtype=dtype), k, result=np.tril(values(4, 3, dtype=dtype), k))
        case("triu", values(4, 3, dtype=dtype), k, result=np.triu(values(4, 3, dtype=dtype), k))
        case("diag", values(3, dtype=dtype), k, result=np.diag(values(3, dtype=dtype), k))
        case("diag", values(4, 5, dtype=dtype), k, result=np.diag(values(4, 5, dtype=dtype), k))
for shape, k in [((2, 3, 4), 1), ((2, 3, 1), 0), ((0, 3), 0), ((2, 2, 4, 3), -2)]:
    case("tril", values(*shape), k, result=np.tril(values(*shape), k))
    case("triu", values(*shape), k, result=np.triu(values(*shape), k))
for n, k in [(1, 0), (0, 0), (0, 2), (2, -3)]:
    case("diag", values(n), k, result=np.diag(values(n), k))
for shape, k, a, b in [((3, 4), 0, 0, 1), ((3, 4), 2, 0, 1), ((3, 4), -2, 0, 1), ((3, 4), 9, 0, 1), ((3, 4), -9, 0, 1),
                       ((3, 4), 1, 1, 0), ((2, 3, 4), 0, 0, 1), ((2, 3, 4), 1, 1, 2), ((2, 3, 4), -1, 2, 0),
                       ((2, 3, 4), 0, -1, -2), ((2, 3, 4, 5), 1, 3, 1), ((0, 3), 0, 0, 1), ((1, 1), 0, 0, 1)]:
    case("diagonal", values(*shape), k, a, b, result=np.diagonal(values(*shape), k, a, b))


def filled(x, value, offset):
    out = x.copy()
    out[np.eye(*x.shape, offset, dtype=bool)] = value
    return out


for shape, offset in [((3, 3), 0), ((2, 4), 1), ((4, 2), -1), ((4, 2), 5), ((0, 2), 0)]:
    case("fill_diagonal", values(*shape), np.array(9.0), offset, result=filled(values(*shape), 9.0, offset))
wide = values(2, 3)
np.fill_diagonal(wide, 7.0)
case("fill_diagonal", values(2, 3), np.array(7.0), 0, result=wide)
for n in [-1, 0, 1, 2, 5, 8]:
    case("bartlett", n, result=np.bartlett(n))
for grid in [((0, 3, 1), (1, 6, 2)), ((4, 0, -1),), ((0, 2, 1), (0, 1, 1), (-2, 2, 1)), ((0, 0, 1), (0, 2, 1))]:
    slices = tuple(slice(*s) for s in grid)
    numbers = [n for s in grid for n in s]
    cases("ogrid", numbers, results=np.ogrid[slices] if len(grid) > 1 else [np.ogrid[slices[0]]])
    cases("mgrid", numbers, results=np.mgrid[slices])

# ---- shape ----
for shape, a, b in [((2, 3, 4), 0, 2), ((2, 3, 4), -1, 1), ((2, 3), 0, 1), ((2, 3), 1, 1)]:
    case("swapaxes", values(*shape), a, b, result=np.swapaxes(values(*shape), a, b))
for shape, a, b in [((2, 3, 4), (0,), (2,)), ((2, 3, 4), (-1,), (0,)), ((2, 3, 4), (0, 1), (-1, 0)), ((2, 3), (), ()),
                    ((2, 3, 4, 5), (3, 0), (1, 2)), ((2, 3, 4, 5), (2, 1, 0), (0, 1, 2))]:
    case("moveaxis", values(*shape), a, b, result=np.moveaxis(values(*shape), a, b))
for shape, n in [((2, 3), 1), ((2, 3), 2), ((), 2), ((2,), 0)]:
    case("shape_padleft", values(*shape), n, result=values(*shape).reshape((1,) * n + shape))
    case("shape_padright", values(*shape), n, result=values(*shape).reshape(shape + (1,) * n))
for shape in [(), (3,), (2, 3), (2, 3, 4)]:
    case("atleast_nd", values(*shape), 1, result=np.atleast_1d(values(*shape)))
    case("atleast_nd", values(*shape), 2, result=np.atleast_2d(values(*shape)))
for shapes in [((3,), (2,)), ((), (2,)), ((2, 3), (2, 1)), ((2, 3, 2), (2, 1, 2)), ((2, 3), (2, 0)), ((2, 3),)]:
    parts = [values(*s, start=k) for k, s in enumerate(shapes)]
    case("hstack", *parts, result=np.hstack(parts))
for shapes in [((3,), (3,)), ((), ()), ((2, 3), (3,)), ((2, 3, 2), (1, 3, 2)), ((0, 3), (2, 3)), ((2, 3),)]:
    parts = [values(*s, start=k) for k, s in enumerate(shapes)]
    case("vstack", *parts, result=np.vstack(parts))
for shape, axes in [((3,), ()), ((2, 3), ()), ((2, 3), (0,)), ((2, 3), (-1,)), ((2, 3, 4), (0, 2)), ((0, 3), (0,)),
                    ((), ())]:
    case("flip", values(*shape), axes, result=np.flip(values(*shape), axes or None))
for shape, shift, axis in [((5,), 2, 0), ((5,), -2, 0), ((5,), 0, 0), ((5,), 5, 0), ((5,), 13, 0), ((5,), -13, 0),
                           ((2, 3), 1, None), ((2, 3), 1, 0), ((2, 3), -1, 1), ((2, 3), 2, -1), ((2, 3, 4), -3, 2),
                           ((0, 3), 1, 0), ((3, 0), 1, None), ((1,), 3, 0)]:
    case("roll", values(*shape), shift, axis, result=np.roll(values(*shape), shift, axis))
    case("roll_by", values(*shape), np.array(shift), axis, result=np.roll(values(*shape), shift, axis))
for shape, copies in [((3,), (2,)), ((2, 3), (2,)), ((2, 3), (2, 1)), ((2, 3), (2, 3)), ((3,), (2, 2)), ((), (3,)),
                      ((), ()), ((2, 3), ()), ((2, 3), (0, 2)), ((2, 1, 3), (1, 3, 2)), ((2,), (2, 1, 3)),
                      ((0, 2), (2, 2))]:
    case("tile", values(*shape), copies, result=np.tile(values(*shape), copies))
for shape, counts, axis in [((3,), 2, 0), ((3,), 0, 0), ((2, 3), 2, None), ((2, 3), 2, 0), ((2, 3), 3, -1),
                            ((2, 3), 1, 1),
                            ((), 3, None), ((0, 2), 2, 0), ((3,), (2, 0, 1), 0), ((3,), (0, 0, 0), 0), ((0,), (), 0),
                            ((3,), (0, 0, 4), 0), ((3,), (4, 0, 0), 0), ((2, 3), (1, 2), 0), ((2, 3), (0, 3, 1), 1),
                            ((2, 2), (1, 0, 2, 1), None)]:
    case("repeat_elements", values(*shape), np.array(counts, np.int64), axis,
         result=np.repeat(values(*shape), np.array(counts, np.int64), axis))

# ---- elementwise ----
left = np.array([1.0, 1.0, 1.0, np.nan, np.nan, np.inf, np.inf, np.inf, 1.0, 0.0, 0.0, 100.0])
right = np.array([1.0, 1.0 + 5e-6, 1.0 + 5e-5, np.nan, 1.0, np.inf, -np.inf, 1.0, np.inf, 1e-9, 1e-7, 100.01])
for rtol, atol, equal_nan in [(1e-5, 1e-8, 0), (1e-5, 1e-8, 1), (0.0, 1e-6, 0), (1e-3, 0.0, 1)]:
    arguments = left, right, rtol, atol, bool(equal_nan)
    case("isclose", left, right, rtol, atol, equal_nan, result=np.isclose(*arguments))
    case("isclose", right, left, rtol, atol, equal_nan, result=np.isclose(right, left, *arguments[2:]))
    case("allclose", left[:2], right[:2], rtol, atol, equal_nan,
         result=np.allclose(left[:2], right[:2], *arguments[2:]))
    case("allclose", left, right, rtol, atol, equal_nan, result=np.allclose(*arguments))
case("isclose", ints(1, 2, 10**6), ints(1, 3, 10**6 + 1), 1e-5, 1e-8, 0,
     result=np.isclose(ints(1, 2, 10**6), ints(1, 3, 10**6 + 1)))
case("allclose", values(0), values(0), 1e-5, 1e-8, 0, result=np.allclose(values(0), values(0)))
x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan])
case("inopenrange", x, np.array(0.0), np.array(1.0), result=(0 < x) & (x < 1))
case("inclosedrange", x, np.array(0.0), np.array(1.0), result=(0 <= x) & (x <= 1))
truth = np.array([0.0, 0.0, 2.0, -1.0, np.nan]), np.array([0.0, 3.0, 0.0, 1.0, 0.0])
case("logical_xor", *truth, result=np.logical_xor(*truth))
for name, function in [("&", np.bitwise_and), ("|", np.bitwise_or), ("^", np.bitwise_xor)]:
    for dtype in [np.int64, np.bool_]:
        a, b = values(8, dtype=dtype), values(8, dtype=dtype, start=4)
        case(name, a, b, result=function(a, b))
case("~", ints(0, 5, -3), result=~ints(0, 5, -3))
case("~", np.array([True, False]), result=~np.array([True, False]))
a, b = ints(7, -7, 7, -7, 6, -6, 0), ints(3, 3, -3, -3, 3, 3, 2)
case("ceil_intdiv", a, b, result=-(-a // b))
case("ceil_intdiv", a.astype(float), b.astype(float), result=np.ceil(a / b))
case("ceil_intdiv", np.array([7, 6, 0], np.uint8), np.array([3, 3, 5], np.uint8), result=np.array([3, 2, 0], np.uint8))
halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, -0.2, 0.7, 4503599627370495.5, 1e300, np.inf,
                   -np.inf])
case("round_half_away", halves,
     result=np.array([1, 2, 3, -1, -2, 0, -0.0, 1, 4503599627370496, 1e300, np.inf, -np.inf]))
case("round_half_away", ints(2, -3), result=ints(2, -3))
case("deg2rad", np.array([0.0, 90.0, -180.0, 1.0]), result=np.deg2rad(np.array([0.0, 90.0, -180.0, 1.0])))
case("rad2deg", np.array([0.0, 1.0, -2.5]), result=np.rad2deg(np.array([0.0, 1.0, -2.5])))
re, im = np.array([3.0, 0.0, 0.0, -5.0, 1.0]), np.array([4.0, 0.0, -2.0, 12.0, 0.0])
case("sign_real", re, im, result=np.sign(re + 1j * im).real)
case("sign_imag", re, im, result=np.sign(re + 1j * im).imag)

# ---- reduce ----
for shape, axis in [((3, 4), None), ((3, 4), 0), ((3, 4), -1), ((5,), 0)]:
    cases("max_and_argmax", values(*shape), axis, results=[values(*shape).max(axis), values(*shape).argmax(axis)])
    case("ptp", values(*shape), axis, result=np.ptp(values(*shape), axis))
    case("ptp", values(*shape, dtype=np.int64), axis, result=np.ptp(values(*shape, dtype=np.int64), axis))
infinity = math.inf
for order in [None, 0, 1, 2, 3, -1, 0.5, infinity, -infinity]:
    case("norm", values(6, start=1), order, (), result=np.linalg.norm(values(6, start=1), order))
    case("norm", values(3, 4, start=2), order, (0,), result=np.linalg.norm(values(3, 4, start=2), order, 0))
    case("norm", values(3, 4, start=2), order, (-1,), result=np.linalg.norm(values(3, 4, start=2), order, -1))
for order in [None, 1, -1, infinity, -infinity]:
    case("norm", values(3, 4), order, (), result=np.linalg.norm(values(3, 4), order))
    for axes in [(0, 1), (1, 0), (2, 0), (-2, -1)]:
        case("norm", values(2, 3, 4), order, axes, result=np.linalg.norm(values(2, 3, 4), order, axes))
case("norm", values(2, 3, 4), None, (), result=np.linalg.norm(values(2, 3, 4)))
case("norm", values(5, dtype=np.int64), 1, (), result=np.linalg.norm(values(5, dtype=np.int64), 1))
for shape, ddof in [((3, 5), 1), ((3, 5), 0), ((1, 4), 1), ((6,), 1), ((3, 2), 1)]:
    case("cov", values(*shape), ddof, result=np.cov(values(*shape), ddof=ddof).reshape(shape[:-1] * 2))
re, im = values(3, 4), values(3, 4, start=5)
case("cov_real", re, im, result=np.cov(re + 1j * im).real)
case("cov_imag", re, im, result=np.cov(re + 1j * im).imag)

# ---- index ----
for shape, condition, axis in [((4,), (0, 1, 1, 0), 0), ((4,), (0, 1), 0), ((2, 3), (1, 0, 1), 1), ((2, 3), (0, 1), 0),
                               ((2, 3), (0, 1, 1, 0, 0, 1), None), ((2, 3), (0, 0), 0), ((0, 2), (), 0)]:
    chosen = np.array(condition, bool)
    case("compress", chosen, values(*shape), axis, result=np.compress(chosen, values(*shape), axis))
for shape, indices in [((2, 3), ((2, 0, 1), (1, 1, -1))), ((2, 3), ((0,), (2,))), ((2, 1, 3), (((2, 0),), ((1, 1),)))]:
    chosen = np.array(indices, np.int64)
    case("permute_row_elements", values(*shape), chosen, result=np.take_along_axis(values(*shape), chosen, -1))
case("permute_row_elements", values(2, 4), ints(3, 0, -2), result=values(2, 4)[:, [3, 0, 2]])
case("permute_row_elements", values(4), ints(3, 0, 1, 2), result=values(4)[[3, 0, 1, 2]])
for p in [(2, 0, 1), (0,), (), (3, 1, 0, 2)]:
    case("inverse_permutation", np.array(p, np.int64), result=np.argsort(np.array(p, np.int64)))
MODES = {"raise": 0, "wrap": 1, "clip": 2}
for indices, modes in [((0, 2, 1, 0), MODES), ((-1, 3, 7, 0), ["wrap", "clip"])]:
    for mode in modes:
        options = [values(4), values(4, start=3), values(4, start=6)]
        case("choose", np.array(indices, np.int64), MODES[mode], *options,
             result=np.choose(indices, options, mode=mode))
case("choose", ints(1, 0), 0, values(2, 1), np.array(5.0), result=np.choose(ints(1, 0), [values(2, 1), np.array(5.0)]))
case("choose", np.array([[0], [1]]), 0, values(3, dtype=np.int64), values(3, start=1, dtype=np.int64),
     result=np.choose(np.array([[0], [1]]), [values(3, dtype=np.int64), values(3, start=1, dtype=np.int64)]))
case("choose", ints(0, 0, 0), 0, np.array(2.5), result=np.choose(ints(0, 0, 0), [np.array(2.5)]))
for numbers, shape in [((22, 41, 37), (7, 6)), ((0, 119, 63), (2, 3, 4, 5)), ((3,), (4,)), ((), (2, 3))]:
    cases("unravel_index", np.array(numbers, np.int64), shape,
          results=np.unravel_index(np.array(numbers, np.int64), shape))
for mode, indices in [("raise", ((3, 6, 6), (4, 5, 1))), ("clip", ((3, 9, -6), (4, 5, 7))),
                      ("wrap", ((3, 9, -6), (4, 5, 7)))]:
    rows = [np.array(i, np.int64) for i in indices]
    case("ravel_multi_index", (7, 6), MODES[mode], *rows, result=np.ravel_multi_index(rows, (7, 6), mode=mode))
case("ravel_multi_index", (4, 5, 6), 0, ints(3, 0), ints(1, 4), ints(4, 5),
     result=np.ravel_multi_index((ints(3, 0), ints(1, 4), ints(4, 5)), (4, 5, 6)))

# ---- neural networks ----
x = np.array([-8.0, -3.5, -3.0, -2.5, -1.0, -0.25, 0.0, 0.25, 1.0, 2.0, 2.5, 3.0, 3.4, 5.0, 6.0, 9.0])
erf = np.vectorize(math.erf)
case("relu", x, result=np.maximum(0, x))
case("relu_slope", x, 0.1, result=np.where(x > 0, x, 0.1 * x))
case("elu", x, 1.0, result=np.where(x > 0, x, np.expm1(np.minimum(x, 0))))
case("elu", x, 0.5, result=np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0))))
case("selu", x, result=1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))))
case("gelu", x[3:], result=x[3:] * (1 + erf(x[3:] / math.sqrt(2))) / 2)
case("gelu_tanh", x[3:], result=x[3:] * (1 + np.tanh(math.sqrt(2 / math.pi) * (x[3:] + 0.044715 * x[3:] ** 3))) / 2)
case("swish", x, result=x / (1 + np.exp(-x)))
case("softsign", x, result=x / (1 + np.abs(x)))
case("hard_sigmoid", x, 0, result=np.clip((x + 3) / 6, 0, 1))
case("hard_sigmoid", x, 1, result=np.clip(0.2 * x + 0.5, 0, 1))
half = np.abs(x) / 2
z = np.where(half < 1.7, 1.5 * half / (1 + half),
             np.where(half < 3, 0.935409070603099 + 0.0458812946797165 * (half - 1.7), 0.99505475368673))
case("ultra_fast_sigmoid", x, result=(1 + np.sign(x) * z) / 2)

scores, labels = values(4, 3) / 4, ints(2, 0, 1, 1)
others = np.where(np.arange(3) == labels[:, None], -np.inf, scores).max(1)
for margin in [1, 0.25]:
    case("multiclass_hinge", scores, labels, margin,
         result=np.maximum(0, margin + others - scores[np.arange(4), labels]))
actual, predicted = ints(2, 0, 2, 7, 7, 2), ints(2, 2, 2, 7, 0, 3)
classes = np.union1d(actual, predicted)
counts = np.array([[np.sum((actual == a) & (predicted == p)) for p in classes] for a in classes])
cases("confusion_matrix", actual, predicted, results=[counts, classes])


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


x, w, b = values(5, 2) / 3, values(2, 3, start=3) / 4, values(3, start=1) / 5
v, c = values(3, 2, 4, start=2) / 4, values(3, 4, start=5) / 5
probabilities = (softmax(x @ w + b)[:, :, None] * softmax(np.einsum("ni,gik->ngk", x, v) + c)).reshape(5, 12)
case("h_softmax", x, w, b, v, c, 11, result=probabilities[:, :11])
labels = ints(0, 11, 5, 7, 4)
case("h_softmax_of_labels", x, w, b, v, c, labels, result=probabilities[np.arange(5), labels])

# ---- reductions in other dtypes ----
single, small = (values(3, 40) * 1e7 + 1).astype(np.float32), values(3, 5, dtype=np.int8)
for axis in [None, 1]:
    for name in ["sum", "mean"]:
        function = getattr(np, name)
        case(f"{name}_in", single, axis, "none", "float64",
             result=np.asarray(function(single, axis, dtype=np.float64)).astype(np.float32))
        case(f"{name}_in", single, axis, "float64", "none", result=function(single, axis, dtype=np.float64))
        case(f"{name}_in", small, axis, "float32", "float64",
             result=np.asarray(function(small, axis, dtype=np.float64)).astype(np.float32))
    case("sum_in", small, axis, "int16", "none", result=np.sum(small, axis, dtype=np.int16))
    case("prod_in", small + np.int8(6), axis, "float64", "none",
         result=np.prod(small + np.int8(6), axis, dtype=np.float64))

path = pathlib.Path(__file__).with_suffix(".txt")
path.write_text("\n".join(lines) + "\n")
