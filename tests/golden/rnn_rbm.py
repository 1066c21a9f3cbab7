#!/usr/bin/env python3
"""Writes rnn_rbm.txt: an RNN-RBM in PyTorch and NumPy, for tests/nn/layers/rnn_rbm_test.cpp.

Run: python3 tests/golden/rnn_rbm.py, with PyTorch. 3 sequences of 4 steps of 5 binary units in float64, 4 hidden and 3
recurrent units; sequences of "packed" cases have 4, 2 and 3 steps. Rows of steps come in the order [steps, batch].
Lines:

W, a, b, W_uh, W_uv, W_vu, W_uu, b_u   the weights
x [3,4,5], end [12,5]                  the sequences, and rows v* that stand for the ends of chains
visible_random, hidden_random          states of MRG31k3p
a_t, b_t                               biases of each row; of packed sequences behind the end those of the last u
hidden                                 P(h = 1 | v) of each row
free_energy, pseudo                    of each row: -log of the sum over all hidden states of exp(-energy), and the sum
                                       over all units k of log P(v_k | the other v), by the two whole states
CASE/WEIGHT                            for the cases full and packed: gradients of mean F(x) - mean F(end) over the
                                       steps that there are, by PyTorch
CASE/cd2/WEIGHT, .../shown             after three steps of CD-2 of learning rate 0.1, and what step t shows: minus the
                                       mean of 5 log P(v_k | the other v) over the rows r, with the unit k of a random
                                       order at t n + r for n rows; the generators after
generated [6,2,5]                      2 sequences of 6 steps, 3 steps of Gibbs sampling for each step
generated/visible_random, ...          the generators after them
"""
import itertools
import pathlib

import numpy as np
import torch

from mrg_uniform import M2, Mrg

STEPS, BATCH, IN, HIDDEN, RECURRENT = 4, 3, 5, 4, 3
NAMES = ["W", "a", "b", "W_uh", "W_uv", "W_vu", "W_uu", "b_u"]
LENGTHS = {"full": [4, 4, 4], "packed": [4, 2, 3]}
torch.set_default_dtype(torch.float64)

rng = np.random.RandomState(8)
SHAPES = [(IN, HIDDEN), (IN,), (HIDDEN,), (RECURRENT, HIDDEN), (RECURRENT, IN), (IN, RECURRENT), (RECURRENT, RECURRENT),
          (RECURRENT,)]
first = {name: rng.normal(0, 0.7, shape) for name, shape in zip(NAMES, SHAPES)}
x = (rng.uniform(size=(BATCH, STEPS, IN)) < 0.4) * 1.0
end = (rng.uniform(size=(STEPS * BATCH, IN)) < 0.5) * 1.0
visible_words, hidden_words = rng.randint(1, M2, (6, IN)), rng.randint(1, M2, (6, HIDDEN))
rows = x.transpose(1, 0, 2).reshape(-1, IN)


def biases(w, case):
    """a and b of each row [steps * batch, ...], step by step and sequence by sequence."""
    a, b = [], []
    u = [torch.zeros(RECURRENT) for _ in range(BATCH)]
    for t in range(STEPS):
        for i in range(BATCH):
            a.append(w["a"] + u[i] @ w["W_uv"])
            b.append(w["b"] + u[i] @ w["W_uh"])
            if t < LENGTHS[case][i]:
                u[i] = torch.tanh(w["b_u"] + torch.tensor(x[i, t]) @ w["W_vu"] + u[i] @ w["W_uu"])
    return torch.stack(a), torch.stack(b)


def mask_of(case):
    return np.array([t < LENGTHS[case][i] for t in range(STEPS) for i in range(BATCH)], dtype=float)


ORDER = np.random.RandomState(1).permutation(IN)  # in which examples are measured by single units


def energy(v, h, w, a, b):
    return -v @ a - h @ b - v @ w @ h


def free_energy(v, w, a, b):
    """Of rows: the sum over the states of hidden units."""
    states = [torch.tensor(h, dtype=torch.float64) for h in itertools.product([0, 1], repeat=HIDDEN)]
    return torch.stack([-torch.logsumexp(torch.stack([-energy(v[r], h, w, a[r], b[r]) for h in states]), 0)
                        for r in range(len(v))])


def gradients(w, case, chain_end):
    w = {name: torch.tensor(value, requires_grad=True) for name, value in w.items()}
    a, b = biases(w, case)
    mask = torch.tensor(mask_of(case))
    difference = (free_energy(torch.tensor(rows), w["W"], a, b) - free_energy(torch.tensor(chain_end), w["W"], a, b))
    ((difference * mask).sum() / mask.sum()).backward()
    return {name: value.grad.numpy() for name, value in w.items()}


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def plain(w, case):
    return [value.numpy() for value in biases({name: torch.tensor(value) for name, value in w.items()}, case)]


def chain(w, a, b, v, k, of_visible, of_hidden):
    n = len(v)
    h = (of_hidden.uniform(n, HIDDEN) < sigmoid(v @ w + b)) * 1.0
    for _ in range(k):
        z = h @ w.T + a
        v = (of_visible.uniform(n, IN) < sigmoid(z)) * 1.0
        h = (of_hidden.uniform(n, HIDDEN) < sigmoid(v @ w + b)) * 1.0
    return v


def log_conditional(w, a, b, unit):
    """log P(v_unit | the other v) of each row."""
    flipped = rows.copy()
    flipped[:, unit] = 1 - flipped[:, unit]
    own, other = (free_energy(torch.tensor(v), *map(torch.tensor, (w, a, b))).numpy() for v in (rows, flipped))
    return np.log(np.exp(-own) / (np.exp(-own) + np.exp(-other)))


def learn(case):
    w = {name: value.copy() for name, value in first.items()}
    of_visible, of_hidden, mask, shown = Mrg(visible_words), Mrg(hidden_words), mask_of(case), []
    for step in range(3):
        a, b = plain(w, case)
        v = chain(w["W"], a, b, rows, 2, of_visible, of_hidden)
        units = ORDER[(step * len(rows) + np.arange(len(rows))) % IN]
        of_units = np.stack([log_conditional(w["W"], a, b, unit) for unit in range(IN)])
        shown.append(-(IN * of_units[units, np.arange(len(rows))] * mask).sum() / mask.sum())
        change = gradients(w, case, v)
        w = {name: value - 0.1 * change[name] for name, value in w.items()}
    return w | {"shown": shown, "visible_random": of_visible.words(), "hidden_random": of_hidden.words()}


lines = [f"# written by rnn_rbm.py with PyTorch {torch.__version__}"]


def write(name, value):
    value = np.asarray(value)
    numbers = " ".join(repr(v.item()) for v in value.reshape(-1))
    lines.append(f"{name} = [{','.join(map(str, value.shape))}] {numbers}")


inputs = {"x": x, "end": end, "visible_random": visible_words, "hidden_random": hidden_words}
for name, value in (first | inputs).items():
    write(name, value)
a, b = plain(first, "full")
write("a_t", a)
write("b_t", b)
write("hidden", sigmoid(rows @ first["W"] + b))
a_packed, b_packed = plain(first, "packed")
write("packed/a_t", a_packed)
write("packed/b_t", b_packed)
tensors = [torch.tensor(value) for value in (first["W"], a, b)]
write("free_energy", free_energy(torch.tensor(rows), *tensors).numpy())
write("pseudo", sum(log_conditional(first["W"], a, b, unit) for unit in range(IN)))
for case in LENGTHS:
    for name, value in gradients(first, case, end).items():
        write(f"{case}/{name}", value)
    for name, value in learn(case).items():
        write(f"{case}/cd2/{name}", value)

of_visible, of_hidden = Mrg(visible_words), Mrg(hidden_words)
u, generated = np.zeros((2, RECURRENT)), []
for _ in range(6):
    v = chain(first["W"], first["a"] + u @ first["W_uv"], first["b"] + u @ first["W_uh"], np.zeros((2, IN)), 3,
                 of_visible, of_hidden)
    u = np.tanh(first["b_u"] + v @ first["W_vu"] + u @ first["W_uu"])
    generated.append(v)
write("generated", generated)
write("generated/visible_random", of_visible.words())
write("generated/hidden_random", of_hidden.words())
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
