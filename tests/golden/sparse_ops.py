#!/usr/bin/env python3
"""Writes sparse_ops.txt: what SciPy makes of sparse matrices, for tests/compiler/ops/sparse_golden_test.cpp.

Run: python3 tests/golden/sparse_ops.py. "input NAME dtype = [shape] values", then cases: builder, format, matrix, part
of the result, dtype, "=", shape and values. The numbers are small integers: sums are exact in any order.
"""
import pathlib

import numpy as np
import scipy
import scipy.sparse as sparse

lines = [f"# written by sparse_ops.py with SciPy {scipy.__version__}"]
inputs = {}
PARTS = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}


def text(value):
    value = np.asarray(value)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    numbers = value.ravel()
    if np.iscomplexobj(numbers):
        numbers = numbers.view(numbers.real.dtype)
    return " ".join([shape, *(repr(v) for v in numbers.tolist())])


def add_input(name, array):
    inputs[name] = np.asarray(array)
    lines.append(f"input {name} {inputs[name].dtype} = {text(array)}")


def dense_case(name, form, key, value):
    value = np.asarray(value)
    lines.append(f"{name} {form} {key} dense {value.dtype} = {text(value)}")


def sparse_case(name, form, key, value, dtype=None):
    value = PARTS[form](value).astype(dtype or inputs[key].dtype)
    value.sort_indices()
    value.eliminate_zeros()
    dense_case(name, form, key, value.toarray())
    for part in ("data", "indices", "indptr"):
        array = getattr(value, part)
        array = array if part == "data" else array.astype(np.int32)
        lines.append(f"{name} {form} {key} {part} {array.dtype} = {text(array)}")


def cases(form, key):
    a = PARTS[form](inputs[key])
    dtype = a.dtype
    tall, wide = inputs["tall"].astype(dtype), inputs["wide"].astype(dtype)
    row, column = tall[:, 0], wide[0]
    other = PARTS[form](inputs["other"].astype(dtype))
    sparse_case("same", form, key, a)
    dense_case("times_vector", form, key, a @ row)
    dense_case("times_matrix", form, key, a @ tall)
    dense_case("vector_times", form, key, a.T @ column)
    dense_case("matrix_times", form, key, (a.T @ wide.T).T)
    sparse_case("negated", form, key, -a)
    sparse_case("scaled", form, key, a * dtype.type(3))
    sparse_case("rows_scaled", form, key, sparse.diags(column) @ a)
    sparse_case("columns_scaled", form, key, a @ sparse.diags(row))
    sparse_case("times_dense", form, key, a.multiply(inputs["like"].astype(dtype)))
    dense_case("plus_dense", form, key, a + inputs["like"].astype(dtype))
    dense_case("sum", form, key, a.sum())
    dense_case("sum_0", form, key, np.asarray(a.sum(axis=0)).ravel())
    dense_case("sum_1", form, key, np.asarray(a.sum(axis=1)).ravel())
    dense_case("diagonal", form, key, a.diagonal())
    sparse_case("plus", form, key, a + other)
    sparse_case("minus", form, key, a - other)
    sparse_case("product", form, key, a.multiply(other))
    sparse_case("squared", form, key, a.power(2))
    both = PARTS["csr"](a @ other.T)
    both.sort_indices()
    dense_case("times_sparse", form, key, both.toarray())
    sparse_case("transposed_twice", form, key, a)
    sparse_case("rows_between", form, key, a[1:4])
    sparse_case("rows_backwards", form, key, a[::-2])
    sparse_case("rows_listed", form, key, a[[3, -1, 0, 3]])
    sparse_case("columns_between", form, key, a[:, 2:-1])
    sparse_case("columns_backwards", form, key, a[:, 5:1:-1])
    sparse_case("columns_listed", form, key, a[:, [6, 0, 0, -3]])
    sparse_case("part", form, key, a[2:][:, [1, 6]])
    sparse_case("no_rows", form, key, a[4:2])
    sparse_case("no_columns", form, key, a[:, 3:3])
    dense_case("element", form, key, a[4, 6])
    dense_case("elements", form, key, np.asarray(a[[0, 4, -2, 1], [0, 6, 5, -1]]).ravel())
    sparse_case("above", form, key, sparse.vstack([a, other, a[2:3]]))
    sparse_case("beside", form, key, sparse.hstack([a, other, a[:, 1:3]]))
    sparse_case("added_to_columns", form, key, sparse.csc_matrix(a.toarray() + (a.toarray() != 0) * row))
    sparse_case("different", form, key, a != other, np.int8)
    dense_case("equal", form, key, (a.toarray() == other.toarray()).astype(np.int8))
    if np.iscomplexobj(a.toarray()):
        return
    sparse_case("less", form, key, a < other, np.int8)
    sparse_case("greater", form, key, a > other, np.int8)
    sparse_case("maximum", form, key, a.maximum(other))
    dense_case("at_most", form, key, (a.toarray() <= other.toarray()).astype(np.int8))
    dense_case("at_least", form, key, (a.toarray() >= other.toarray()).astype(np.int8))
    dense_case("above_one", form, key, (a.toarray() > 1).astype(np.int8))


rng = np.random.default_rng(7)


def integers(*shape):
    return rng.integers(-4, 5, shape).astype(float)


add_input("tall", integers(7, 3))
add_input("wide", integers(3, 5))
add_input("like", integers(5, 7))
add_input("other", integers(5, 7) * (rng.random((5, 7)) < 0.4))
some = integers(5, 7) * (rng.random((5, 7)) < 0.4)
some[2] = 0
some[:, 3] = 0
add_input("some", some)
add_input("full", rng.integers(1, 5, (5, 7)).astype(float))
add_input("empty", np.zeros((5, 7)))
one = np.zeros((5, 7))
one[4, 6] = 3
add_input("one", one)
add_input("single", some.astype(np.float32))
add_input("integers", some.astype(np.int64))
add_input("complex", some + 1j * integers(5, 7) * (some != 0))
for key in ("some", "full", "empty", "one", "single", "integers", "complex"):
    for form in PARTS:
        cases(form, key)
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
