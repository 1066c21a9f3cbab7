#!/usr/bin/env python3
"""Writes nnet_ops.txt: softmax, log-softmax and cross-entropies by NumPy, for tests/compiler/ops/nnet_golden_test.cpp.

Run: python3 tests/golden/nnet_ops.py. "input NAME dtype = [shape] values", then cases: name, inputs, axis (of softmax),
"=", shape and values. Computed from the formulas in long double and rounded once.
"""
import pathlib
import warnings

import numpy as np

warnings.simplefilter("ignore")
lines = [f"# written by nnet_ops.py with NumPy {np.__version__}"]
inputs = {}


def text(value):
    value = np.asarray(value)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    return " ".join([shape, *(repr(v) for v in value.ravel().tolist())])


def add_input(name, array):
    inputs[name] = array
    lines.append(f"input {name} {array.dtype} = {text(array)}")


def add_case(name, keys, result, *extra):
    dtype = inputs[keys[0]].dtype
    lines.append(" ".join([name, *keys, *map(str, extra), "=", text(result.astype(dtype))]))


def log_softmax(x, axis):
    away = x - x.max(axis=axis, keepdims=True)
    return away - np.log(np.exp(away).sum(axis=axis, keepdims=True))


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def softmaxes(key):
    x = inputs[key].astype(np.longdouble)
    for axis in range(-x.ndim, x.ndim):
        if x.shape[axis] == 0:
            result = x, x
        else:
            result = softmax(x, axis), log_softmax(x, axis)
        add_case("softmax", [key], result[0], axis)
        add_case("log_softmax", [key], result[1], axis)


rng = np.random.RandomState(1234)
for dtype in ["float32", "float64"]:
    add_input(f"three_{dtype}", rng.normal(size=(2, 3, 4)).astype(dtype))
    add_input(f"rows_{dtype}", (20 * rng.normal(size=(3, 17))).astype(dtype))
    huge = np.array([[1e4, 0, -1e4], [88, 89, 90], [-1000, -1000, -1000], [3e38, -3e38, 0]])
    add_input(f"huge_{dtype}", huge.astype(dtype))
    inf, nan = np.inf, np.nan
    special = np.array([[-inf, 0, 1], [-inf, -inf, -inf], [inf, 0, 1], [nan, 0, 1], [-inf, 5, -inf], [0, inf, -inf]])
    add_input(f"special_{dtype}", special.astype(dtype))
add_input("vector", np.array([0.5, -1, 3, 0.25, 0]))
add_input("one", np.array([[7.0]]))
add_input("no_rows", np.zeros((0, 3)))
add_input("no_columns", np.zeros((3, 0)))
for key in list(inputs):
    softmaxes(key)


def crossentropies(p_key, z_key, t_key, labels_key):
    p, z, t = (inputs[key].astype(np.longdouble) for key in (p_key, z_key, t_key))
    labels = inputs[labels_key]

    def picked(x):
        return np.take_along_axis(x, labels[..., None].astype(int), -1)[..., 0]
    add_case("categorical", [p_key, labels_key], -picked(np.log(p)))
    add_case("categorical", [p_key, t_key], -(t * np.log(p)).sum(-1))
    add_case("categorical_logits", [z_key, labels_key], -picked(log_softmax(z, -1)))
    add_case("categorical_logits", [z_key, t_key], -(t * log_softmax(z, -1)).sum(-1))


for name, shape, dtype in [("matrix", (4, 5), "float64"), ("narrow", (3, 10), "float32"),
                           ("cube", (2, 3, 4), "float64"), ("line", (6,), "float64"), ("empty", (0, 5), "float64")]:
    z = (4 * rng.normal(size=shape)).astype(dtype)
    add_input(f"z_{name}", z)
    add_input(f"p_{name}", softmax(z, -1) if z.size else z)
    add_input(f"t_{name}", rng.dirichlet(np.ones(shape[-1]), shape[:-1]).astype(dtype))
    add_input(f"labels_{name}", np.asarray(rng.randint(0, shape[-1], shape[:-1])).astype("int32"))
    crossentropies(f"p_{name}", f"z_{name}", f"t_{name}", f"labels_{name}")
add_input("z_steep", np.array([[1e4, -1e4, 0], [-800, 800, 800]]))
add_input("labels_steep", np.array([1, 0]))
add_case("categorical_logits", ["z_steep", "labels_steep"], np.array([2e4, 1600 + np.log(2)]))
add_input("one_hot", np.eye(5)[[2, 0, 4, 4]].astype("uint8"))
t = inputs["one_hot"].astype(np.longdouble)
add_case("categorical", ["p_matrix", "one_hot"], -(t * np.log(inputs["p_matrix"].astype(np.longdouble))).sum(-1))

for dtype in ["float32", "float64"]:
    z = np.concatenate([4 * rng.normal(size=9), [0, 1000, -1000, 30, -30, 1e-20]]).astype(dtype)
    t = np.concatenate([rng.rand(9), [0.5, 1, 0, 0, 1, 0]]).astype(dtype)
    p = np.clip(rng.rand(15), 0.01, 0.99).astype(dtype)
    add_input(f"z_binary_{dtype}", z)
    add_input(f"t_binary_{dtype}", t)
    add_input(f"p_binary_{dtype}", p)
    z, t, p = z.astype(np.longdouble), t.astype(np.longdouble), p.astype(np.longdouble)
    add_case("binary", [f"p_binary_{dtype}", f"t_binary_{dtype}"], -(t * np.log(p) + (1 - t) * np.log1p(-p)))
    add_case("binary_logits", [f"z_binary_{dtype}", f"t_binary_{dtype}"],
             np.maximum(z, 0) - z * t + np.log1p(np.exp(-abs(z))))

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
