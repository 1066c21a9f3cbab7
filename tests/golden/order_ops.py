#!/usr/bin/env python3
"""Writes order_ops.txt: what NumPy makes of orders, for tests/compiler/ops/order_golden_test.cpp.

Run: python3 tests/golden/order_ops.py. "input NAME dtype = [shape] values", then cases: builder, input, further
arguments without spaces, dtype of the result, "=", its shape and values, or "= error". `all` is no axis.
"""
import pathlib
import warnings

import numpy as np

warnings.simplefilter("ignore")
lines = [f"# written by order_ops.py with NumPy {np.__version__}"]
inputs = {}


def text(value):
    value = np.asarray(value)
    values = value.astype(int) if value.dtype.kind == "b" else value
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    return " ".join([shape, *(repr(v) for v in values.ravel().tolist())])


def add_input(name, array):
    inputs[name] = np.asarray(array)
    lines.append(f"input {name} {inputs[name].dtype} = {text(array)}")


def case(name, key, *arguments, result):
    try:
        value = np.asarray(result(inputs[key]))
    except (ValueError, IndexError):
        lines.append(" ".join([name, key, *map(str, arguments), "- = error"]))
        return
    lines.append(" ".join([name, key, *map(str, arguments), str(value.dtype), "=", text(value)]))


def with_axis(axis):
    return "all" if axis is None else axis


def largest(x, k, axis, smallest):
    """By the stable order: of equal elements the first comes first."""
    def of_row(row):
        ranks = np.argsort(np.argsort(row, kind="stable"), kind="stable")
        equal = np.array([(row == v) | ((row != row) & (v != v)) for v in row]).reshape(row.size, row.size)
        least = np.array([ranks[e].min() for e in equal], dtype=int).reshape(row.size)
        order = np.argsort(least if smallest else -least, kind="stable")
        return order[:k]
    return np.apply_along_axis(of_row, axis, x)


def orders(key):
    x = inputs[key]
    for axis in [None, *range(x.ndim), -1]:
        word = with_axis(axis)
        case("sort", key, word, result=lambda x: np.sort(x, axis=axis, kind="stable"))
        case("argsort", key, word, result=lambda x: np.argsort(x, axis=axis, kind="stable"))
        for name in ("cumsum", "cumprod"):
            case(name, key, word, result=lambda x: getattr(np, name)(x, axis=axis))
        for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
            case(name, key, word, result=lambda x: ufunc.accumulate(x.ravel() if axis is None else x, axis=axis or 0))
        if axis is None or x.size == 0 or x.shape[axis] < 3:
            continue
        for k in (0, 1, 3):
            for smallest in (0, 1):
                case("argtopk", key, axis, k, smallest, result=lambda x: largest(x, k, axis, smallest))
        for n in (0, 1, 2):
            case("diff", key, n, axis, result=lambda x: np.diff(x, n=n, axis=axis))


rng = np.random.RandomState(99)
for dtype in ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]:
    kind = np.dtype(dtype).kind
    x = np.round(rng.uniform(-3, 3, (3, 4, 5)), 1)
    if kind in "iu":
        x = rng.randint(0 if kind == "u" else -9, 9, x.shape)
    elif kind == "b":
        x = rng.rand(*x.shape) < 0.5
    add_input(f"three_{dtype}", x.astype(dtype))
    orders(f"three_{dtype}")
special = np.array([[1, np.nan, 3, -2, np.nan, 0.5], [np.inf, 1, -np.inf, 3, 1, 3], [0.0, -0.0, 1, -1, -0.0, 0.0],
                    [np.nan, np.nan, np.inf, -np.inf, 2, 2]])
add_input("special", special)
add_input("special_float32", special.astype("float32"))
add_input("nothing", np.zeros(0))
add_input("no_rows", np.zeros((0, 3)))
add_input("one", np.array([2.5]))
for key in ("special", "special_float32", "nothing", "no_rows", "one"):
    orders(key)
for bits in (8, 16, 32, 64):
    for kind in ("int", "uint"):
        limits = np.iinfo(f"{kind}{bits}")
        add_input(f"limits_{kind}{bits}", np.array([limits.max, 0, limits.min, 1, limits.max - 1], f"{kind}{bits}"))
        case("sort", f"limits_{kind}{bits}", 0, result=lambda x: np.sort(x, kind="stable"))
        case("argsort", f"limits_{kind}{bits}", 0, result=lambda x: np.argsort(x, kind="stable"))

# Sorted vectors and what is searched in them.
add_input("sorted", np.array([-2.0, -0.5, -0.5, 0.0, 1.0, 1.0, 1.0, 4.0]))
add_input("sorted_ints", np.array([-3, 0, 0, 2, 7], dtype="int32"))
add_input("ends_in_nan", np.array([-1.0, 2.0, np.inf, np.nan, np.nan]))
add_input("searched", np.array([[-3.0, -2.0, -0.5, 0.2], [1.0, 4.0, 9.0, np.nan], [np.inf, -np.inf, -0.0, 0.0]]))
add_input("searched_ints", np.array([-4, -3, 0, 1, 7, 8], dtype="int32"))
for key, values in [("sorted", "searched"), ("sorted_ints", "searched_ints"), ("ends_in_nan", "searched"),
                    ("nothing", "searched"), ("one", "searched")]:
    for side in ("left", "right"):
        case("searchsorted", key, values, side, result=lambda x: np.searchsorted(x, inputs[values], side=side))
for values, key in [("searched", "sorted"), ("searched_ints", "sorted_ints")]:
    for right in (0, 1):
        case("digitize", values, key, right, result=lambda x: np.digitize(x, inputs[key], right=bool(right)))

add_input("numbers", np.array([3, 0, 3, 1, 6, 3], dtype="int64"))
add_input("small_numbers", np.array([1, 1, 4], dtype="uint8"))
add_input("no_numbers", np.zeros(0, dtype="int64"))
add_input("negative", np.array([1, -1], dtype="int64"))
add_input("weights", np.array([0.5, 1.5, 2.0, -1.0, 0.25, 4.0]))
for key in ("numbers", "small_numbers", "no_numbers", "negative"):
    for least in (0, 3, 9):
        case("bincount", key, least, result=lambda x: np.bincount(x, minlength=least))
case("bincount_weights", "numbers", 0, result=lambda x: np.bincount(x, weights=inputs["weights"]))

for key in ("three_float64", "three_float32", "three_int64", "one", "weights"):
    for bins in (1, 4, 10):
        case("histogram", key, bins, result=lambda x: np.histogram(x, bins)[0])
        case("histogram_edges", key, bins, result=lambda x: np.histogram(x, bins)[1])
        case("histogram_range", key, bins, -1.5, 2.5, result=lambda x: np.histogram(x, bins, range=(-1.5, 2.5))[0])
        case("histogram_density", key, bins, result=lambda x: np.histogram(x, bins, density=True)[0])
    case("histogram_of_edges", key, "sorted", result=lambda x: np.histogram(x, inputs["sorted"])[0])
case("histogram_weights", "weights", 3, result=lambda x: np.histogram(x, 3, weights=x * x)[0])

several = [k for k in inputs if k.startswith(("three", "special", "limits"))]
for key in several + ["nothing", "no_rows", "one", "numbers"]:
    case("unique", key, result=np.unique)
    case("unique_index", key, result=lambda x: np.unique(x, return_index=True)[1])
    case("unique_inverse", key, result=lambda x: np.unique(x, return_inverse=True)[1])
    case("unique_counts", key, result=lambda x: np.unique(x, return_counts=True)[1])

for axis in (0, 1, -1):
    order = np.argsort(special, axis=axis, kind="stable")
    name = f"order_{axis}".replace("-", "from_end_")
    add_input(name, order)
    case("take_along_axis", "special", name, axis, result=lambda x: np.take_along_axis(x, order, axis))

# Slices along an axis; and complex numbers, whose parts lie along a last axis of length 2: "input" and results.
rows = np.array([[2, 1, 0], [0, 1, 2], [2, 1, 0], [0, 1, 1], [0, 1, 2], [2, 0, 9]])
nans = np.array([[1, np.nan], [0.0, 2], [1, np.nan], [-0.0, 2], [1, 0.5], [np.nan, 0], [0, 2]])
for key, value in [("rows_int64", rows), ("rows_uint8", rows.astype("uint8")), ("rows_bool", rows > 0),
                   ("rows_float32", rows.astype("float32")), ("rows_nan", nans),
                   ("rows_three", rng.randint(0, 2, (4, 2, 3))),
                   ("rows_of_nothing", np.zeros((3, 0))), ("rows_of_one", np.array([[4.0], [2.0], [4.0]]))]:
    add_input(key, value)
for key in [k for k in inputs if k.startswith("rows_")] + ["no_rows", "three_int8", "special", "nothing", "one"]:
    for axis in range(-1, inputs[key].ndim):
        case("unique_along", key, axis, result=lambda x: np.unique(x, axis=axis))
        case("unique_along_index", key, axis, result=lambda x: np.unique(x, axis=axis, return_index=True)[1])
        case("unique_along_inverse", key, axis, result=lambda x: np.unique(x, axis=axis, return_inverse=True)[1])
        case("unique_along_counts", key, axis, result=lambda x: np.unique(x, axis=axis, return_counts=True)[1])


def parts(z):
    return np.stack([z.real, z.imag], -1) if np.iscomplexobj(z) else z


parted = np.round(rng.uniform(-2, 2, (3, 5, 2)))
parts_of_nan = np.array([[1, np.nan], [np.nan, -1], [1, 2], [np.nan, np.nan], [0.0, -0.0], [-0.0, 0.0], [np.inf, 1],
                         [1, -2], [-np.inf, np.nan], [np.nan, -1], [1, np.nan], [np.nan, 3], [0, -1], [1, 2],
                         [np.inf, np.nan]])
for key, value in [("complex", parted), ("complex_nan", parts_of_nan), ("complex_none", np.zeros((0, 2)))]:
    add_input(key, value)
    z = np.empty(value.shape[:-1], complex)
    z.real, z.imag = value[..., 0], value[..., 1]
    for dtype in ("complex64", "complex128"):
        at = z.astype(dtype)
        for axis in [None, *range(-1, z.ndim)]:
            word = with_axis(axis)
            case("complex_sort", key, dtype, word, result=lambda x: parts(np.sort(at, axis=axis, kind="stable")))
            case("complex_argsort", key, dtype, word, result=lambda x: np.argsort(at, axis=axis, kind="stable"))
        # By sorting, of which the index is asked for too; else any of the numbers with a NaN is given.
        case("complex_unique", key, dtype, result=lambda x: parts(np.unique(at, return_index=True)[0]))
        case("complex_unique_index", key, dtype, result=lambda x: np.unique(at, return_index=True)[1])
        case("complex_unique_inverse", key, dtype, result=lambda x: np.unique(at, return_inverse=True)[1])
        case("complex_unique_counts", key, dtype, result=lambda x: np.unique(at, return_counts=True)[1])
        case("complex_unique_along", key, dtype, 0, result=lambda x: parts(np.unique(at, axis=0, return_index=True)[0]))
        case("complex_unique_along_inverse", key, dtype, 0,
             result=lambda x: np.unique(at, axis=0, return_inverse=True)[1])

path = pathlib.Path(__file__).parent / "order_ops.txt"
path.write_text("\n".join(lines) + "\n")
print(len(lines), "lines")
