"""Factorizations and equations of one matrix, or of a batch of small ones.

A case is "qr/500", one matrix, or "svd/10000x6", so many of side 6. Rates are 10^9 operations a second, counted as
n^3 / 3 for cholesky, 2/3 n^3 for solve (of one vector), 8/3 n^3 for qr, 9 n^3 for eigh and 20 n^3 for svd.
"""
import importlib.util

from worker import form_of_task

OPERATIONS = {"cholesky": 1 / 3, "solve": 2 / 3, "qr": 8 / 3, "eigh": 9, "svd": 20}


class Task:
    def __init__(self, case, dtype):
        import numpy as np
        self.what, lengths = case.split("/")
        lengths = [int(n) for n in lengths.split("x")]
        n = lengths[-1]
        shape = (*lengths[:-1], n, n)
        rng = np.random.RandomState(7)
        a = rng.uniform(-1, 1, shape)
        if self.what in ("cholesky", "eigh"):
            a = a @ np.swapaxes(a, -1, -2) / n + np.eye(n)
        self.a = a.astype(dtype)
        self.b = rng.uniform(-1, 1, (*shape[:-1], 1)).astype(dtype) if self.what == "solve" else None
        self.units = 1e-9 * OPERATIONS[self.what] * a.size * n


def numpy_call(task, _):
    import numpy as np
    functions = {"cholesky": np.linalg.cholesky, "qr": np.linalg.qr, "eigh": np.linalg.eigh,
                 "svd": lambda a: np.linalg.svd(a, full_matrices=False)}
    if task.what == "solve":
        return lambda: np.linalg.solve(task.a, task.b)
    return lambda: functions[task.what](task.a)


def scipy_call(task, _):
    import scipy.linalg as linalg
    if task.a.ndim > 2:
        raise RuntimeError("of one matrix at a time")
    functions = {"cholesky": lambda a: linalg.cholesky(a, lower=True, check_finite=False),
                 "qr": lambda a: linalg.qr(a, mode="economic", check_finite=False),
                 "eigh": lambda a: linalg.eigh(a, driver="evd", check_finite=False),
                 "svd": lambda a: linalg.svd(a, full_matrices=False, check_finite=False)}
    if task.what == "solve":
        return lambda: linalg.solve(task.a, task.b, check_finite=False, assume_a="gen")
    return lambda: functions[task.what](task.a)


def torch_call(task, _):
    import torch
    functions = {"cholesky": torch.linalg.cholesky, "qr": torch.linalg.qr, "eigh": torch.linalg.eigh,
                 "svd": lambda a: torch.linalg.svd(a, full_matrices=False)}
    a = torch.from_numpy(task.a)
    if task.what == "solve":
        b = torch.from_numpy(task.b)
        return lambda: torch.linalg.solve(a, b)
    return lambda: functions[task.what](a)


def jax_call(task, _):
    import jax
    import jax.numpy as jnp
    functions = {"cholesky": jnp.linalg.cholesky, "qr": jnp.linalg.qr, "eigh": jnp.linalg.eigh,
                 "svd": lambda a: jnp.linalg.svd(a, full_matrices=False), "solve": jnp.linalg.solve}
    call = jax.jit(functions[task.what])
    arguments = [jnp.asarray(task.a)] + ([] if task.b is None else [jnp.asarray(task.b)])
    return lambda: jax.block_until_ready(call(*arguments))


CALLS = {"numpy": numpy_call, "scipy": scipy_call, "torch": torch_call, "jax": jax_call}


FORMS = {name: form_of_task(Task, make, "user", name) for name, make in CALLS.items()}


def outcome(task, got):
    """What signs of vectors do not change: a solution, the factor, or the product of the factors."""
    import numpy as np
    got = [np.asarray(part, float) for part in (got if isinstance(got, (tuple, list)) else [got])]
    if task.what == "eigh":
        return (got[1] * got[0][..., None, :]) @ np.swapaxes(got[1], -1, -2)
    if task.what == "svd":
        return (got[0] * got[1][..., None, :]) @ got[2]
    return got[0] @ got[1] if task.what == "qr" else got[0]


def check():
    """Every installed implementation gives what NumPy gives, in float64."""
    import os
    import numpy as np
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for what in OPERATIONS:
        for lengths in ("7", "5x3"):
            task, compared, wanted = Task(f"{what}/{lengths}", "float64"), [], None
            for name, make in CALLS.items():
                if importlib.util.find_spec(name) is None:
                    continue
                try:
                    worker.prepare(name, "float64", 1)
                    got = outcome(task, make(task, 1)())
                except RuntimeError:
                    continue
                wanted = got if wanted is None else wanted
                assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-12, (what, lengths, name)
                compared.append(name)
            flat = wanted.ravel() * np.arange(1, wanted.size + 1)
            print(f"{what}/{lengths}: {', '.join(compared)} agree; the sum of products with 1, 2, ... is "
                  f"{flat.sum():.15g}")
