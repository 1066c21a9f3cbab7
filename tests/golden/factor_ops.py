#!/usr/bin/env python3
"""Writes factor_ops.txt: what NumPy and SciPy make of matrices, for tests/compiler/ops/factor_golden_test.cpp.

Run: python3 tests/golden/factor_ops.py. "input NAME dtype = [shape] values", then cases: builder, names of its inputs,
part of the result, dtype, "=", shape and values. Complex values are pairs. The matrices are those of NumPy's
test_linalg.py (LinalgCase), and random ones.
"""
import pathlib

import numpy as np
import scipy
import scipy.linalg

random = np.random.RandomState(38)
lines = [f"# written by factor_ops.py with NumPy {np.__version__} and SciPy {scipy.__version__}"]
inputs = {}


def text(value):
    value = np.asarray(value)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    numbers = value.ravel()
    if np.iscomplexobj(numbers):
        numbers = numbers.view(numbers.real.dtype)
    digits = 7 if numbers.dtype == np.float32 else 12
    return " ".join([shape, *(f"{v:.{digits}g}" for v in numbers.tolist())])


def add_input(name, array):
    inputs[name] = np.round(array, 3)  # short texts
    lines.append(f"input {name} {inputs[name].dtype} = {text(inputs[name])}")


def case(name, keys, part, value):
    value = np.asarray(value)
    lines.append(f"{name} {','.join(keys)} {part} {value.dtype} = {text(value)}")


def batched(function, *arrays):
    batch = arrays[0].shape[:-2]
    flat = [a.reshape((-1,) + a.shape[-2:]) for a in arrays]
    out = np.array([function(*(a[i] for a in flat)) for i in range(flat[0].shape[0])])
    return out.reshape(batch + out.shape[1:])


def complex_of(shape):
    return random.normal(size=shape) + 1j * random.normal(size=shape)


# ---- matrices
matrices = {
    "single": np.array([[1., 2.], [3., 4.]], np.float32),
    "double": np.array([[1., 2.], [3., 4.]]),
    "double_3": np.array([[2., 1., 4.], [3., 5., 6.], [1., 8., 5.]]),
    "csingle": np.array([[1. + 2j, 2 + 3j], [3 + 4j, 4 + 5j]], np.complex64),
    "cdouble": np.array([[1. + 2j, 2 + 3j], [3 + 4j, 4 + 5j]]),
    "zero": np.empty((0, 0)),
    "one": np.array([[-2.5]]),
    "eight": random.rand(8, 8),
    "eleven": random.normal(size=(11, 11)),
    "exchanged": np.array([[0., 1., 0.], [0., 0., 2.], [3., 0., 0.]]),
    "batch": random.normal(size=(3, 4, 4)),
    "batches": random.normal(size=(2, 2, 3, 3)),
    "batch_32": random.normal(size=(5, 5, 5)).astype(np.float32),
    "large_batch": random.normal(size=(2, 9, 9)),
    "no_batch": np.empty((0, 3, 3)),
    "cbatch": complex_of((2, 3, 3)),
}
for name, a in matrices.items():
    add_input(name, a)
    a = inputs[name]
    n = a.shape[-1]
    case("inverse", [name], "0", np.linalg.inv(a))
    case("det", [name], "0", np.linalg.det(a))
    sign, log = np.linalg.slogdet(a)
    case("slogdet", [name], "sign", sign)
    case("slogdet", [name], "log", log)
    case("trace", [name], "0", np.trace(a, axis1=-2, axis2=-1))
    for power in (-2, 0, 3):
        case(f"power_{power}", [name], "0", np.linalg.matrix_power(a, power))
    if n > 0 and a.size > 0:
        case("lu", [name], "packed", batched(lambda x: scipy.linalg.lu_factor(x)[0], a))

        def rows(x):
            order = np.arange(x.shape[0])
            for i, pivot in enumerate(scipy.linalg.lu_factor(x)[1]):
                order[[i, pivot]] = order[[pivot, i]]
            return order

        case("lu", [name], "rows", batched(rows, a).astype(np.int64))
    a_h = np.conj(np.swapaxes(a, -1, -2))
    add_input("pd_" + name, a @ a_h + np.eye(n, dtype=a.dtype))
    pd = inputs["pd_" + name]
    case("cholesky", ["pd_" + name], "0", np.linalg.cholesky(pd))
    case("cholesky_upper", ["pd_" + name], "0", np.conj(np.swapaxes(np.linalg.cholesky(pd), -1, -2)))
    right = (complex_of((n, 2)) if np.iscomplexobj(a) else random.normal(size=(n, 2))).astype(a.dtype)
    add_input("b_" + name, right)
    right = inputs["b_" + name]
    add_input("v_" + name, right[:, 0])
    wide = np.broadcast_to(right, a.shape[:-2] + right.shape)
    case("solve", [name, "b_" + name], "0", np.linalg.solve(a, wide))
    case("solve", [name, "v_" + name], "0", np.linalg.solve(a, wide[..., :1])[..., 0])
    case("solve_definite", ["pd_" + name, "b_" + name], "0", np.linalg.solve(pd, wide))
    if name != "exchanged":  # which has 0 on its diagonal
        case("solve_lower", [name, "b_" + name], "0", np.linalg.solve(np.tril(a), wide))
        case("solve_upper", [name, "b_" + name], "0", np.linalg.solve(np.triu(a), wide))
    unit = np.tril(a, -1) + np.eye(n, dtype=a.dtype)
    case("triangular_unit", [name, "b_" + name], "0", np.linalg.solve(unit, wide))
    case("triangular_unit_transposed", [name, "b_" + name], "0", np.linalg.solve(np.swapaxes(unit, -1, -2), wide))


# ---- orthogonal factors, eigenvalues, singular values: with the signs that the ops define
def leading_signs(v):
    """Of the first element of each column whose modulus is at least 0.55 of the largest."""
    size = np.abs(v)
    at = np.argmax(size >= 0.55 * size.max(axis=-2, keepdims=True), axis=-2)[..., None, :]
    lead = np.take_along_axis(v, at, -2)
    return lead / np.abs(lead)


shapes = {"tall": (5, 3), "wide": (2, 3, 4), "tall_32": (3, 12, 4), "ctall": (4, 2), "narrow": (6, 1)}
for name, shape in shapes.items():
    value = complex_of(shape) if name[0] == "c" else random.normal(size=shape)
    add_input(name, value.astype(np.float32) if name.endswith("32") else value)
for name in [*matrices, *shapes]:
    a = inputs[name]
    if a.size == 0 or name == "exchanged":
        continue
    q, r = np.linalg.qr(a)
    d = np.diagonal(r, axis1=-2, axis2=-1)
    d = d / np.abs(d)
    case("qr", [name], "q", q * d[..., None, :])
    case("qr", [name], "r", r * np.conj(d)[..., None])
    if a.shape[-2] > a.shape[-1]:
        q, r = np.linalg.qr(a, "complete")
        k = d.shape[-1]
        case("qr_complete", [name], "q", np.concatenate([q[..., :k] * d[..., None, :], q[..., k:]], -1))
        case("qr_complete", [name], "r", np.concatenate([r[..., :k, :] * np.conj(d)[..., None], r[..., k:, :]], -2))
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    if a.shape[-2] >= a.shape[-1]:
        signs = leading_signs(u)
    else:
        signs = np.conj(leading_signs(np.conj(np.swapaxes(vh, -1, -2))))
    case("svd", [name], "u", u / signs)
    case("svd", [name], "s", s)
    case("svd", [name], "vh", vh * np.swapaxes(signs, -1, -2))
    case("pinv", [name], "0", np.linalg.pinv(a))
    case("rank", [name], "0", np.asarray(np.linalg.matrix_rank(a), np.int64))
    case("nuclear", [name], "0", np.linalg.norm(a, "nuc", axis=(-2, -1)))
    case("norm_2", [name], "0", np.linalg.norm(a, 2, axis=(-2, -1)))
    case("cond", [name], "0", np.linalg.cond(a))
    if name in shapes:
        continue
    case("norm_-2", [name], "0", np.linalg.norm(a, -2, axis=(-2, -1)))
    case("cond_1", [name], "0", np.linalg.cond(a, 1))
    h = inputs["pd_" + name]
    w, v = np.linalg.eigh(h)
    case("eigh", ["pd_" + name], "values", w)
    case("eigh", ["pd_" + name], "vectors", v / leading_signs(v))
    w, v = np.linalg.eig(a)
    w, v = np.asarray(w, np.result_type(w, np.complex64)), np.asarray(v, np.result_type(v, np.complex64))
    order = np.lexsort((w.imag, np.round(w.real, 4)))
    w, v = np.take_along_axis(w, order, -1), np.take_along_axis(v, order[..., None, :], -1)
    case("eig", [name], "values", w)
    case("eig", [name], "vectors", v / leading_signs(v))
    if np.abs(a).max() < 20 and a.dtype.char in "dD":
        case("expm", [name], "0", batched(scipy.linalg.expm, a))
    right = np.broadcast_to(inputs["b_" + name], a.shape[:-1] + (2,))
    case("lstsq", [name, "b_" + name], "0", np.linalg.solve(a, right))
for name, rows in (("tall", 5), ("ctall", 4)):
    right = complex_of((rows, 2)) if name[0] == "c" else random.normal(size=(rows, 2))
    add_input("b_" + name, right)
    case("lstsq", [name, "b_" + name], "0", np.linalg.lstsq(inputs[name], inputs["b_" + name], rcond=None)[0])
    case("lstsq_any", [name, "b_" + name], "0", np.linalg.lstsq(inputs[name], inputs["b_" + name], rcond=None)[0])
add_input("b_wide", random.normal(size=(3, 2)))
case("lstsq", ["wide", "b_wide"], "0",
     batched(lambda x: np.linalg.lstsq(x, inputs["b_wide"], rcond=None)[0], inputs["wide"]))
# Several matrices for one right-hand side and the other way round.
add_input("stack", random.normal(size=(4, 1, 3, 3)))
add_input("columns", random.normal(size=(5, 3, 2)))
case("solve", ["stack", "columns"], "0", np.linalg.solve(inputs["stack"], inputs["columns"]))
add_input("singular", np.array([[1., 2., 3.], [2., 4., 6.], [0., 0., 0.]]))
case("rank", ["singular"], "0", np.int64(1))
case("pinv", ["singular"], "0", np.linalg.pinv(inputs["singular"]))
case("det", ["singular"], "0", 0.0)
case("slogdet", ["singular"], "sign", 0.0)
case("slogdet", ["singular"], "log", -np.inf)
add_input("large_det", np.eye(9) * 1e60)
case("slogdet", ["large_det"], "sign", 1.0)
case("slogdet", ["large_det"], "log", np.linalg.slogdet(inputs["large_det"])[1])

path = pathlib.Path(__file__).with_name("factor_ops.txt")
path.write_text("\n".join(lines) + "\n")
print(f"{path.name}: {len(lines)} lines, {path.stat().st_size} bytes")
