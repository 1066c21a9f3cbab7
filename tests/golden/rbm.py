#!/usr/bin/env python3
"""Writes rbm.txt: restricted Boltzmann machines in NumPy, for tests/nn/rbm_test.cpp.

Run: python3 tests/golden/rbm.py, with NumPy. A machine of 6 visible and 4 hidden units in float64. Lines:

W, a, b, x                        the weights, and examples, of which those in x_gaussian are no shares
visible_random, hidden_random     states of MRG31k3p
free_energy, free_energy_gaussian of each example: -log of the sum over all hidden states of exp(-energy)
pseudo_K                          for the unit K: 6 log P(x_K | the other x) of each rounded example, by the
                                  probabilities of the two whole states, each a sum over all hidden states
pseudo                            the sum over all units K of log P(x_K | the other x) of each
RULE/W, RULE/a, RULE/b            after three steps of learning rate 0.1 on all examples, for the rules cd1, cd3,
RULE/visible_random, ...          pcd2, gaussian (CD-1 with Gaussian units) and gaussian_pcd2; the generators
RULE/shown                        what each step shows: of binary units minus the mean of pseudo_K, with the unit K of a
                                  random order at 5 t + e for the example e of step t; of Gaussian ones the error of
                                  the reconstruction
RULE/chains                       where the chains are

The uniform numbers of a draw of n elements from `streams` streams: number i is the next of stream i mod streams.
"""
import itertools
import pathlib

import numpy as np

from mrg_uniform import M2, Mrg


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


ORDER = np.random.RandomState(1).permutation(6)
rng = np.random.RandomState(5)
W, a, b = rng.normal(0, 0.8, (6, 4)), rng.normal(0, 0.5, 6), rng.normal(0, 0.5, 4)
x = np.where(rng.uniform(size=(5, 6)) < 0.3, rng.uniform(size=(5, 6)), rng.uniform(size=(5, 6)) < 0.5)
x_gaussian = rng.normal(0, 1.5, (5, 6))
visible_words, hidden_words = rng.randint(1, M2, (6, 6)), rng.randint(1, M2, (6, 4))


def log_sum(v, energy_of_v, W=W, b=b):
    """log of the sum over h of exp(-energy(v, h))."""
    terms = [-energy_of_v(v) + np.dot(b, h) + v @ W @ h for h in map(np.array, itertools.product([0, 1], repeat=4))]
    return np.log(np.sum(np.exp(terms)))


def pseudo(x, unit, W=W, a=a, b=b):
    out = []
    for v in np.round(x):
        other = v.copy()
        other[unit] = 1 - other[unit]
        p, q = (np.exp(log_sum(u, lambda u: -np.dot(a, u), W, b)) for u in (v, other))
        out.append(6 * np.log(p / (p + q)))
    return np.array(out)


def learn(x, k, persistent=False, gaussian=False):
    w, c, d = W.copy(), a.copy(), b.copy()  # d: of hidden units
    of_visible, of_hidden = Mrg(visible_words), Mrg(hidden_words)
    chains, shown = np.zeros((5, 4)), []
    for step in range(3):
        h = chains if persistent else (of_hidden.uniform(5, 4) < sigmoid(x @ w + d)) * 1.0
        for _ in range(k):
            z = h @ w.T + c
            if gaussian:
                u, v = of_visible.uniform(5, 6), of_visible.uniform(5, 6)
                sample = z + np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
            else:
                sample = (of_visible.uniform(5, 6) < sigmoid(z)) * 1.0
            h = (of_hidden.uniform(5, 4) < sigmoid(sample @ w + d)) * 1.0
        chains = h
        if persistent and gaussian:
            shown.append(0.5 * ((x - sigmoid(x @ w + d) @ w.T - c) ** 2).sum(1).mean())
        elif gaussian:
            shown.append(0.5 * ((x - z) ** 2).sum(1).mean())
        else:
            units = ORDER[(5 * step + np.arange(5)) % 6]
            shown.append(-np.mean([pseudo(x[e:e + 1], units[e], w, c, d) for e in range(5)]))
        # Minus the gradients of mean F(x) - mean F(sample).
        up, down = sigmoid(x @ w + d), sigmoid(sample @ w + d)
        w, c, d = (w + 0.1 * (x.T @ up - sample.T @ down) / 5, c + 0.1 * (x - sample).mean(0),
                   d + 0.1 * (up - down).mean(0))
    return {"W": w, "a": c, "b": d, "visible_random": of_visible.words(), "hidden_random": of_hidden.words(),
            "shown": shown} | ({"chains": chains} if persistent else {})


lines = [f"# written by rbm.py with NumPy {np.__version__}"]


def write(name, value):
    value = np.asarray(value)
    numbers = " ".join(repr(v.item()) for v in value.reshape(-1))
    lines.append(f"{name} = [{','.join(map(str, value.shape))}] {numbers}")


for name, value in {"W": W, "a": a, "b": b, "x": x, "x_gaussian": x_gaussian, "visible_random": visible_words,
                    "hidden_random": hidden_words}.items():
    write(name, value)
write("free_energy", [-log_sum(v, lambda v: -np.dot(a, v)) for v in x])
write("free_energy_gaussian", [-log_sum(v, lambda v: 0.5 * np.sum((v - a) ** 2)) for v in x_gaussian])
for unit in range(6):
    write(f"pseudo_{unit}", pseudo(x, unit))
write("pseudo", sum(pseudo(x, unit) for unit in range(6)) / 6)
for rule, result in {"cd1": learn(x, 1), "cd3": learn(x, 3), "pcd2": learn(x, 2, persistent=True),
                     "gaussian": learn(x_gaussian, 1, gaussian=True),
                     "gaussian_pcd2": learn(x_gaussian, 2, persistent=True, gaussian=True)}.items():
    for name, value in result.items():
        write(f"{rule}/{name}", value)
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
