#!/usr/bin/env python3
"""Writes training.txt: a small network trained by a plain NumPy program, for tests/trainers/golden_training_test.cpp.

Run: python3 tests/golden/training.py. 47 examples of 6 numbers and 3 classes; 6-5-3 with tanh, L1 and L2, minibatches
of 10, 3 epochs in float64. Lines: "x" and "y", then for each run "run OPTIMIZER SHUFFLE FULL" (full minibatches only),
and after each of its epochs "loss" (the mean of the minibatches'), and the weights.
"""
import pathlib

import numpy as np

LAYERS, BATCH, EPOCHS, RATE, MOMENTUM, L1, L2 = (6, 5, 3), 10, 3, 0.3, 0.8, 0.002, 0.01
data = np.random.RandomState(7)
X = data.uniform(-1, 1, (47, LAYERS[0]))
Y = data.randint(0, LAYERS[2], 47)
lines = [f"# written by training.py with NumPy {np.__version__}"]


def write(name, array):
    array = np.asarray(array)
    shape = "[" + ",".join(map(str, array.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in array.ravel().tolist()))


def loss_and_gradients(p, x, y):
    h = np.tanh(x @ p["hidden/W"] + p["hidden/b"])
    z = h @ p["softmax/W"] + p["softmax/b"]
    z = z - z.max(1, keepdims=True)
    logs = z - np.log(np.exp(z).sum(1, keepdims=True))
    n = len(y)
    weights = [p["hidden/W"], p["softmax/W"]]
    loss = -logs[np.arange(n), y].mean()
    loss += L1 * sum(abs(w).sum() for w in weights) + L2 * sum((w**2).sum() for w in weights)
    dz = np.exp(logs)
    dz[np.arange(n), y] -= 1
    dz /= n
    dh = (dz @ p["softmax/W"].T) * (1 - h**2)
    g = {"hidden/W": x.T @ dh, "hidden/b": dh.sum(0), "softmax/W": h.T @ dz, "softmax/b": dz.sum(0)}
    for name in ("hidden/W", "softmax/W"):
        g[name] += L1 * np.sign(p[name]) + 2 * L2 * p[name]
    return loss, g


def train(optimizer, shuffle, full):
    rng = np.random.RandomState(1234)
    bound = np.sqrt(6 / (LAYERS[0] + LAYERS[1]))
    p = {"hidden/W": rng.uniform(-bound, bound, LAYERS[:2]), "hidden/b": np.zeros(LAYERS[1])}
    bound = np.sqrt(6 / (LAYERS[1] + LAYERS[2]))
    p |= {"softmax/W": rng.uniform(-bound, bound, LAYERS[1:]), "softmax/b": np.zeros(LAYERS[2])}
    v = {name: np.zeros_like(value) for name, value in p.items()}
    lines.append(f"run {optimizer} {int(shuffle)} {int(full)} = [0]")
    for _ in range(EPOCHS):
        order = rng.permutation(len(X)) if shuffle else np.arange(len(X))
        losses = []
        for begin in range(0, len(X) // BATCH * BATCH if full else len(X), BATCH):
            rows = order[begin:begin + BATCH]
            loss, g = loss_and_gradients(p, X[rows], Y[rows])
            losses.append(loss)
            for name in p:
                v[name] = (MOMENTUM * v[name] if optimizer != "plain" else 0) - RATE * g[name]
                p[name] = p[name] + (MOMENTUM * v[name] - RATE * g[name] if optimizer == "nesterov" else v[name])
        write("loss", np.mean(losses))
        for name, value in p.items():
            write(name, value)


write("x", X)
write("y", Y)
for case in [("plain", False, True), ("plain", True, False), ("momentum", False, True), ("nesterov", True, True)]:
    train(*case)
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
