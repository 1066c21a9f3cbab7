"""Operations on arrays: sort, argsort and topk (the 100 largest) of each row, unique of all elements.

A case is "sort/1000000" or "int64_argsort/1000x1000": what, and the lengths; values are standard normal numbers of the
run's dtype, or integers below 10**9 with int64_, for unique such that many come several times. Rates are elements a
second. NumPy's and PyTorch's argsort are the stable ones; the largest elements come in descending order.
"""
import importlib.util

from worker import Form

LARGEST = 100


def parts(case, dtype):
    import numpy as np
    what, lengths = case.split("/")
    shape = tuple(int(n) for n in lengths.split("x"))
    rng = np.random.RandomState(7)
    name = what.removeprefix("int64_")
    if name != what:
        return name, rng.randint(0, 100000 if name == "unique" else 10**9, shape)
    x = rng.normal(0, 1, shape)
    return name, (np.rint(1000 * x) if name == "unique" else x).astype(dtype)


def numpy_call(name, x):
    import numpy as np
    k = min(LARGEST, x.shape[-1])
    n = x.shape[-1]
    if name == "sort":
        return lambda: np.sort(x)
    if name == "argsort":
        return lambda: np.argsort(x, kind="stable")
    if name == "topk":
        return lambda: np.sort(np.partition(x, n - k)[..., n - k:])[..., ::-1]
    return lambda: np.unique(x)


def torch_call(name, x):
    import torch
    t = torch.from_numpy(x)
    k = min(LARGEST, x.shape[-1])
    if name == "sort":
        return lambda: torch.sort(t)[0]
    if name == "argsort":
        return lambda: torch.argsort(t, stable=True)
    if name == "topk":
        return lambda: torch.topk(t, k)[0]
    return lambda: torch.unique(t)


def jax_call(name, x):
    import jax
    import jax.numpy as jnp
    t = jnp.asarray(x)
    if name == "unique":
        return lambda: jnp.unique(t).block_until_ready()  # its length is no constant: not compiled as a whole
    k = min(LARGEST, x.shape[-1])
    compiled = jax.jit({"sort": jnp.sort, "argsort": jnp.argsort, "topk": lambda v: jax.lax.top_k(v, k)[0]}[name])
    return lambda: compiled(t).block_until_ready()


CALLS = {"numpy": numpy_call, "torch": torch_call, "jax": jax_call}


def repeated(make):
    """A function of the number of calls."""
    def run_of(case, dtype, threads):
        name, x = parts(case, dtype)
        call = make(name, x)

        def run(n):
            for _ in range(n):
                call()
        return run, x.size
    return run_of


FORMS = {name: Form(repeated(make), "user", name, "borrowed") for name, make in CALLS.items()}


def check():
    """Every installed peer gives NumPy's values."""
    import os

    import numpy as np
    os.environ["JAX_ENABLE_X64"] = "1"
    for name in ("sort", "int64_sort", "argsort", "int64_argsort", "topk", "int64_topk", "unique", "int64_unique"):
        for lengths in ("1000", "7x120"):
            what, x = parts(f"{name}/{lengths}", "float64")
            for peer, make in CALLS.items():
                if importlib.util.find_spec(peer) is not None:
                    assert (np.asarray(make(what, x)()) == numpy_call(what, x)()).all(), (name, lengths, peer)
