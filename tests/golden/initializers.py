#!/usr/bin/env python3
"""Writes initializers.txt: initial weights as NumPy gives them, for tests/nn/init_test.cpp.

Run: python3 tests/golden/initializers.py. Each line: law, n_in, n_out, seed, scale (or standard deviation, or range),
"=", shape and values. A second draw from the same generator follows as law "then".
"""
import pathlib

import numpy as np

lines = [f"# written by initializers.py with NumPy {np.__version__}"]


def text(array):
    return "[" + ",".join(map(str, array.shape)) + "] " + " ".join(repr(v) for v in array.ravel().tolist())


def orthogonal(rng, n_in, n_out, scale):
    drawn = rng.normal(0, 1, (n_in, n_out))
    q, r = np.linalg.qr(drawn if n_in >= n_out else drawn.T)
    q = q * np.sign(np.diag(r))
    return scale * (q if n_in >= n_out else q.T)


LAWS = {
    "glorot_uniform": lambda rng, i, o, a: rng.uniform(-a * np.sqrt(6 / (i + o)), a * np.sqrt(6 / (i + o)), (i, o)),
    "glorot_normal": lambda rng, i, o, a: rng.normal(0, a * np.sqrt(2 / (i + o)), (i, o)),
    "he_uniform": lambda rng, i, o, a: rng.uniform(-a * np.sqrt(6 / i), a * np.sqrt(6 / i), (i, o)),
    "he_normal": lambda rng, i, o, a: rng.normal(0, a * np.sqrt(2 / i), (i, o)),
    "normal": lambda rng, i, o, a: rng.normal(0, a, (i, o)),
    "uniform": lambda rng, i, o, a: rng.uniform(-a, a, (i, o)),
    "orthogonal": orthogonal,
}
for law, draw in LAWS.items():
    for n_in, n_out, seed, amount in [(5, 3, 1234, 1.0), (3, 7, 1, 4.0), (4, 4, 23455, 0.5), (1, 2, 0, 1.0)]:
        rng = np.random.RandomState(seed)
        lines.append(f"{law} {n_in} {n_out} {seed} {amount} = {text(draw(rng, n_in, n_out, amount))}")
        lines.append(f"then = {text(rng.uniform(0, 1, 3))}")
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
