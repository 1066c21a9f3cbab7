"""The MLP step of Fig. 5 of the Theano paper in NumPy and PyTorch, as their users write it and at its best.

    mlp.py IMPLEMENTATION [--dtype float32|float64] [--threads N] [--batch N] [--rounds N]

IMPLEMENTATION: numpy (plain), numpy_blas (SciPy's BLAS, the weight update folded into the product), torch_sgd
(autograd and torch.optim.SGD), torch_hand (gradients by hand, addmm_ in place). Prints one JSON
object, as bench_mlp does.
The BLAS kernels are chosen by OPENBLAS_CORETYPE in the environment: compare_mlp.py sets it.
"""
import argparse
import json
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("implementation")
parser.add_argument("--dtype", default="float32")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--batch", type=int, default=60)
parser.add_argument("--rounds", type=int, default=15)
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(options.threads)

import numpy as np  # noqa: E402  (after the thread counts)

N, PIXELS, HIDDEN, CLASSES, RATE = 6000, 784, 500, 10, 0.01
rng = np.random.RandomState(2344)
x_all = rng.normal(size=(N, PIXELS)).astype(options.dtype)
y_all = rng.randint(0, CLASSES, N)
W0 = rng.uniform(-0.0683, 0.0683, (PIXELS, HIDDEN)).astype(options.dtype)
batch = options.batch


def numpy_plain():
    W, b = W0.copy(), np.zeros(HIDDEN, options.dtype)
    V, c = np.zeros((HIDDEN, CLASSES), options.dtype), np.zeros(CLASSES, options.dtype)
    rows = np.arange(batch)

    def step(at):
        nonlocal W, b, V, c
        x, y = x_all[at:at + batch], y_all[at:at + batch]
        h = np.tanh(x @ W + b)
        z = h @ V + c
        z -= z.max(axis=1, keepdims=True)
        e = np.exp(z)
        total = e.sum(axis=1, keepdims=True)
        cost = -(z[rows, y] - np.log(total[:, 0])).mean()
        d = e / total
        d[rows, y] -= 1
        d /= batch
        dh = (d @ V.T) * (1 - h * h)
        V -= RATE * (h.T @ d)
        c -= RATE * d.sum(axis=0)
        W -= RATE * (x.T @ dh)
        b -= RATE * dh.sum(axis=0)
        return cost
    return step


def numpy_blas():
    from scipy.linalg import blas
    gemm = blas.sgemm if options.dtype == "float32" else blas.dgemm
    W, b = W0.copy(), np.zeros(HIDDEN, options.dtype)
    V, c = np.zeros((HIDDEN, CLASSES), options.dtype), np.zeros(CLASSES, options.dtype)
    rows = np.arange(batch)
    h, d = np.empty((batch, HIDDEN), options.dtype), np.empty((batch, CLASSES), options.dtype)
    dh = np.empty((batch, HIDDEN), options.dtype)

    def step(at):
        # Row-major arrays are BLAS's transposed ones: C^T = B^T A^T, and W.T is Fortran-ordered without a copy.
        x, y = x_all[at:at + batch], y_all[at:at + batch]
        np.matmul(x, W, out=h)
        np.add(h, b, out=h)
        np.tanh(h, out=h)
        np.matmul(h, V, out=d)
        np.add(d, c, out=d)
        np.subtract(d, d.max(axis=1, keepdims=True), out=d)
        picked = d[rows, y].copy()
        np.exp(d, out=d)
        total = d.sum(axis=1, keepdims=True)
        cost = -(picked - np.log(total[:, 0])).mean()
        np.divide(d, total, out=d)
        d[rows, y] -= 1
        np.divide(d, batch, out=d)
        np.matmul(d, V.T, out=dh)
        dh_scale = 1 - h * h
        np.multiply(dh, dh_scale, out=dh)
        gemm(-RATE, d.T, h.T, beta=1, c=V.T, trans_b=1, overwrite_c=1)
        c[...] -= RATE * d.sum(axis=0)
        gemm(-RATE, dh.T, x.T, beta=1, c=W.T, trans_b=1, overwrite_c=1)
        b[...] -= RATE * dh.sum(axis=0)
        return cost
    return step


def torch_sgd():
    import torch
    torch.set_num_threads(options.threads)
    dtype = getattr(torch, options.dtype)
    model = torch.nn.Sequential(torch.nn.Linear(PIXELS, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, CLASSES))
    model = model.to(dtype)
    loss = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    x_t, y_t = torch.from_numpy(x_all), torch.from_numpy(y_all.astype(np.int64))

    def step(at):
        optimizer.zero_grad(set_to_none=True)
        cost = loss(model(x_t[at:at + batch]), y_t[at:at + batch])
        cost.backward()
        optimizer.step()
        return cost.item()
    return step


def torch_hand():
    import torch
    torch.set_num_threads(options.threads)
    W, b = torch.from_numpy(W0.copy()), torch.zeros(HIDDEN, dtype=getattr(torch, options.dtype))
    V, c = torch.zeros(HIDDEN, CLASSES, dtype=b.dtype), torch.zeros(CLASSES, dtype=b.dtype)
    x_t, y_t = torch.from_numpy(x_all), torch.from_numpy(y_all.astype(np.int64))
    rows = torch.arange(batch)

    @torch.no_grad()
    def step(at):
        x, y = x_t[at:at + batch], y_t[at:at + batch]
        h = torch.addmm(b, x, W).tanh_()
        logp = torch.log_softmax(torch.addmm(c, h, V), 1)
        cost = -logp[rows, y].mean()
        d = logp.exp_()
        d[rows, y] -= 1
        d.mul_(1.0 / batch)
        dh = torch.mm(d, V.t()).mul_(1 - h * h)
        V.addmm_(h.t(), d, alpha=-RATE)
        c.sub_(d.sum(0), alpha=RATE)
        W.addmm_(x.t(), dh, alpha=-RATE)
        b.sub_(dh.sum(0), alpha=RATE)
        return cost.item()
    return step


makers = {"numpy": numpy_plain, "numpy_blas": numpy_blas, "torch_sgd": torch_sgd, "torch_hand": torch_hand}
step = makers[options.implementation]()
rates = []
for r in range(-1, options.rounds):
    begin = time.perf_counter()
    for at in range(0, N - batch + 1, batch):
        step(at)
    seconds = time.perf_counter() - begin
    if r >= 0:
        rates.append(N // batch * batch / seconds)
rates.sort()
print(json.dumps({"bench": "mlp", "case": f"784_500_10_b{batch}", "dtype": options.dtype,
                  "threads": options.threads, "implementation": options.implementation, "unit": "examples/s",
                  "value": round(rates[len(rates) // 2]), "low": round(rates[0]), "high": round(rates[-1])}))
