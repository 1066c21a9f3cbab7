#!/usr/bin/env python3
"""Writes elemwise.txt: what NumPy gives for every elementwise op, for tests/compiler/ops/elemwise_golden_test.cpp.

Run: python3 tests/golden/elemwise.py. Each line is a case: op, dtypes of the inputs, dtype of each output, "outer"
(every value of the first input with every value of the second) or "zip", the inputs, "=", the outputs; separated by
" ; ". Floats are the shortest text that reads back, complex numbers "re,im". Functions of float32 are computed in
float64 and rounded once.
"""
import math
import pathlib

import numpy as np

np.seterr(all="ignore")
lines = [f"# written by elemwise.py with NumPy {np.__version__}"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEXES = ["complex64", "complex128"]
inf, nan = math.inf, math.nan


def show(value):
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, np.complexfloating):
        return show(value.real) + "," + show(value.imag)
    if isinstance(value, np.floating):
        return str(value).removesuffix(".0")
    return str(int(value))


def case(op, mode, inputs, outputs):
    words = [op, " ".join(x.dtype.name for x in inputs), " ".join(x.dtype.name for x in outputs), mode]
    words += [" ".join(show(v) for v in x.ravel()) for x in inputs] + ["="]
    words += [" ".join(show(v) for v in x.ravel()) for x in outputs]
    lines.append(" ; ".join(words))


def special(dtype):
    """Zeros, ones, both signs, fractions, limits, infinities, NaN."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTS:
        info = np.iinfo(dtype)
        signed = [-1, -2, -3, -7, -100] if info.min < 0 else [250]
        return np.array([0, 1, 2, 3, 7, 100, *signed, info.min, info.max], dtype)
    if dtype in FLOATS:
        info = np.finfo(dtype)
        return np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -3, 7.25, -100.5, 1e-5, info.max, -info.max, info.tiny,
                         info.smallest_subnormal, info.eps, inf, -inf, nan], dtype)
    return np.array([0, 1, -1, 1j, -2j, 0.5 + 0.25j, -3 + 2j, 1.5 - 0.75j, -0.1 - 0.2j], dtype)


def few(dtype):
    """Fewer, for pairs."""
    if dtype in FLOATS:
        info = np.finfo(dtype)
        return np.array([0.0, -0.0, 1, -1, 0.3, 3, -7.5, 1e10, -info.max, info.tiny, inf, -inf, nan], dtype)
    if dtype in INTS:
        info = np.iinfo(dtype)
        signed = [-1, -2, -7] if info.min < 0 else [250]
        return np.array([0, 1, 2, 3, 7, *signed, info.min, info.max], dtype)
    return special(dtype)


def outer(f, a, b):
    return f(a[:, None], b[None, :])


def in_double(f, *inputs):
    """f in float64 (or complex128), rounded to the dtype of the inputs."""
    wide = {"float32": "float64", "complex64": "complex128"}.get(inputs[0].dtype.name)
    if wide is None:
        return f(*inputs)
    return f(*(x.astype(wide) for x in inputs)).astype(inputs[0].dtype)


def unary(op, f, dtypes, values=special):
    for dtype in dtypes:
        x = values(dtype)
        case(op, "zip", [x], [np.asarray(f(x))])


def binary(op, f, dtypes, values=few):
    for dtype in dtypes:
        x = values(dtype)
        case(op, "outer", [x, x], [np.asarray(outer(f, x, x))])


def grid(low, high):
    """Ordinary values besides the special ones."""
    def values(dtype):
        if dtype in COMPLEXES:
            return special(dtype)
        return np.concatenate([special(dtype), np.linspace(low, high, 13).astype(dtype)])
    return values


# ---- Arithmetic.
binary("add", np.add, ["bool", *INTS, *FLOATS, *COMPLEXES])
binary("mul", np.multiply, ["bool", *INTS, *FLOATS, *COMPLEXES])
binary("sub", np.subtract, [*INTS, *FLOATS, *COMPLEXES])
binary("true_div", np.true_divide, [*FLOATS])
nonzero = few("complex128")[1:]
for dtype in COMPLEXES:
    case("true_div", "outer", [few(dtype), nonzero.astype(dtype)],
         [outer(np.true_divide, few(dtype), nonzero.astype(dtype))])
binary("floor_div", np.floor_divide, [*INTS, *FLOATS])
binary("mod", np.remainder, [*INTS, *FLOATS])
for dtype in [*INTS, *FLOATS]:
    x = few(dtype)
    quotient, remainder = outer(np.divmod, x, x)
    case("divmod", "outer", [x, x], [quotient, remainder])
for dtype in INTS:
    base, exponent = few(dtype), np.array([0, 1, 2, 3, 7, 13], dtype)
    case("pow", "outer", [base, exponent], [outer(np.power, base, exponent)])
for dtype in FLOATS:
    x = few(dtype)
    case("pow", "outer", [x, x], [in_double(np.power, np.repeat(x, len(x)), np.tile(x, len(x)))])
unary("neg", np.negative, [*INTS, *FLOATS, *COMPLEXES])
unary("sqr", np.square, [*INTS, *FLOATS, *COMPLEXES])
unary("abs", np.abs, ["bool", *INTS, *FLOATS, *COMPLEXES])
unary("sign", np.sign, [*INTS, *FLOATS])
unary("sqrt", np.sqrt, [*FLOATS, *COMPLEXES])
unary("reciprocal", np.reciprocal, FLOATS)
for name, f in [("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.rint)]:
    unary(name, f, FLOATS, grid(-2.5, 3.5))
    for dtype in ["bool", "int8", "uint64"]:
        case(name, "zip", [special(dtype)], [special(dtype)])

# ---- Functions.
def through(f):
    return lambda x: in_double(f, x)


for name, f, low, high in [("exp", np.exp, -20, 20), ("log", np.log, 0.1, 20), ("sin", np.sin, -10, 10),
                           ("cos", np.cos, -10, 10), ("tan", np.tan, -1.5, 1.5), ("arcsin", np.arcsin, -1, 1),
                           ("arccos", np.arccos, -1, 1), ("arctan", np.arctan, -9, 9), ("sinh", np.sinh, -20, 20),
                           ("cosh", np.cosh, -20, 20), ("tanh", np.tanh, -9, 9), ("arcsinh", np.arcsinh, -9, 9),
                           ("arccosh", np.arccosh, 1, 9), ("arctanh", np.arctanh, -1, 1)]:
    unary(name, through(f), FLOATS, grid(low, high))
for name, f in [("exp", np.exp), ("log", np.log), ("sin", np.sin), ("cos", np.cos), ("tan", np.tan), ("tanh", np.tanh),
                ("sinh", np.sinh), ("cosh", np.cosh), ("arctan", np.arctan), ("arcsin", np.arcsin),
                ("arccos", np.arccos), ("arcsinh", np.arcsinh), ("arccosh", np.arccosh), ("arctanh", np.arctanh),
                ("reciprocal", np.reciprocal)]:
    z = np.array([0.5, 0.5 + 0.25j, -1.5 + 0.5j, 1.5 - 0.75j, -0.1 - 0.2j, 1.001 + 0.001j, -30 + 2.5j])
    for dtype in COMPLEXES:
        case(name, "zip", [z.astype(dtype)], [f(z.astype(dtype))])
for name, f, low, high in [("exp2", np.exp2, -20, 20), ("expm1", np.expm1, -1, 1), ("log2", np.log2, 0.1, 20),
                           ("log10", np.log10, 0.1, 20), ("log1p", np.log1p, -0.9, 2),
                           ("softplus", lambda x: np.logaddexp(0, x), -20, 20),
                           ("erf", np.vectorize(math.erf), -4, 4), ("erfc", np.vectorize(math.erfc), -4, 6)]:
    unary(name, through(f), FLOATS, grid(low, high))
def sigmoid(x):
    return in_double(lambda x: 1 / (1 + np.exp(-x)), x)


unary("sigmoid", sigmoid, FLOATS, grid(-20, 20))
for dtype in FLOATS:
    x = few(dtype)
    case("arctan2", "outer", [x, x], [in_double(np.arctan2, np.repeat(x, len(x)), np.tile(x, len(x)))])

# ---- Choices.
binary("maximum", np.maximum, ["bool", *INTS, *FLOATS])
binary("minimum", np.minimum, ["bool", *INTS, *FLOATS])
for dtype in ["int8", "uint64", *FLOATS]:
    x = few(dtype)
    low, high = np.repeat(x, len(x)), np.tile(x, len(x))
    x = np.full_like(low, 3)
    case("clip", "zip", [x, low, high], [np.minimum(np.maximum(x, low), high)])
for dtype in ["bool", *INTS, *FLOATS, *COMPLEXES]:
    x = special(dtype)
    condition = np.arange(len(x)) % 3 == 0
    case("switch", "zip", [condition, x, x[::-1]], [np.where(condition, x, x[::-1])])

# ---- Questions, logic, bits.
for name, f in [("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal)]:
    binary(name, f, ["bool", "int8", "int64", "uint8", "uint64", *FLOATS])
for name, f in [("eq", np.equal), ("neq", np.not_equal)]:
    binary(name, f, ["bool", "int8", "int64", "uint8", "uint64", *FLOATS, *COMPLEXES])
unary("isnan", np.isnan, ["bool", "int8", "uint64", *FLOATS])
unary("isinf", np.isinf, ["bool", "int8", "uint64", *FLOATS])
for dtype in COMPLEXES:
    z = np.array([0, complex(nan, 0), complex(0, nan), complex(inf, 1), complex(1, -inf), complex(nan, inf)], dtype)
    case("isnan", "zip", [z], [np.isnan(z)])
    case("isinf", "zip", [z], [np.isinf(z)])
for name, f in [("logical_and", np.logical_and), ("logical_or", np.logical_or)]:
    binary(name, f, ["bool", "int8", "uint64", *FLOATS, *COMPLEXES])
unary("logical_not", np.logical_not, ["bool", "int8", "uint64", *FLOATS, *COMPLEXES])
for name, f in [("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)]:
    binary(name, f, ["bool", *INTS])
unary("bitwise_not", np.invert, ["bool", *INTS])

# ---- Complex numbers, conversions.
for name, f in [("real", np.real), ("imag", np.imag), ("conj", np.conj)]:
    unary(name, f, COMPLEXES)
for dtype in FLOATS:
    x = special(dtype)
    z = np.empty(len(x), "complex64" if dtype == "float32" else "complex128")
    z.real, z.imag = x, x[::-1]
    case("complex", "zip", [x, x[::-1]], [z])
ALL = ["bool", *INTS, *FLOATS, *COMPLEXES]
for source in ALL:
    for target in ALL:
        if source == target or (source in COMPLEXES and target not in COMPLEXES and target != "bool"):
            continue
        x = special(source)
        if source in FLOATS and target in INTS:
            negative = [-0.99, -1.5, -100.75] if target[0] == "i" else []
            x = np.array([0.0, -0.0, 0.99, 1.5, 2, 100.75] + negative, source)
        case("cast", "zip", [x], [x.astype(target)])

pathlib.Path(__file__).with_name("elemwise.txt").write_text("\n".join(lines) + "\n")
