"""Operations on arrays: order, batched products, gathers and scatters, masks, reductions, gradients of each example.

A case is "sort/1000000" or "int64_argsort/1000x1000": what, and lengths. Values are standard normal numbers of the
run's dtype, or, for what orders them, integers below 10**9 with int64_, for unique such that many come several times.
Rates are elements of these lengths a second.

  sort argsort topk unique      of each row; argsort is stable, topk the 100 largest in descending order
  matmul/1000x4x4               products of matrices, in pairs
  attention/32x128x8x64         batch, steps, heads, features: two einsums
  take, scatter_add/ROWSxCOLUMNS  rows by as many drawn numbers, with repeats
  mask mask_rows set_mask       elements, or rows, where a number is positive
  sum0 max1 argmax0 cumsum1     along an axis
  per_example/128x784x100x10    batch, inputs, hidden units, classes: the gradient of the first weights for each example
"""
import importlib.util

from worker import Form

LARGEST = 100


def arguments(case, dtype):
    """The operation's name, and what it is computed of, drawn one after the other."""
    import numpy as np
    what, lengths = case.split("/")
    shape = tuple(int(n) for n in lengths.split("x"))
    rng = np.random.RandomState(7)
    name = what.removeprefix("int64_")

    def normal(*lengths):
        return rng.normal(0, 1, lengths).astype(dtype)
    if name in ("sort", "argsort", "topk", "unique"):
        if name != what:
            return name, [rng.randint(0, 100000 if name == "unique" else 10**9, shape)]
        x = rng.normal(0, 1, shape)
        return name, [(np.rint(1000 * x) if name == "unique" else x).astype(dtype)]
    if name == "matmul":
        return name, [normal(*shape), normal(*shape)]
    if name == "attention":
        return name, [normal(*shape), normal(*shape), normal(*shape)]
    if name == "take":
        return name, [normal(*shape), rng.randint(0, shape[0], shape[0])]
    if name == "scatter_add":
        return name, [normal(*shape), rng.randint(0, shape[0], shape[0]), normal(*shape)]
    if name == "mask_rows":
        return name, [normal(*shape), normal(shape[0])]
    if name == "per_example":
        batch, inputs, hidden, classes = shape
        return name, [normal(batch, inputs), rng.randint(0, classes, batch), normal(inputs, hidden),
                      normal(hidden, classes)]
    return name, [normal(*shape)]


def numpy_call(name, x, *rest):
    import numpy as np
    n, k = x.shape[-1], min(LARGEST, x.shape[-1])
    if name == "topk":
        return lambda: np.sort(np.partition(x, n - k)[..., n - k:])[..., ::-1]
    if name == "attention":
        q, k, v = x, *rest
        # einsum by products of matrices, which NumPy's einsum does not use for batches.
        turned = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)) for a in (q, k, v)]
        return lambda: (turned[0] @ turned[1].transpose(0, 1, 3, 2) @ turned[2]).transpose(0, 2, 1, 3)
    if name == "scatter_add":
        def added():
            out = x.copy()
            np.add.at(out, rest[0], rest[1])
            return out
        return added
    if name == "set_mask":
        def replaced():
            out = x.copy()
            out[out > 0] = 0
            return out
        return replaced
    if name == "per_example":
        labels, w, v = rest
        hot = np.eye(v.shape[1], dtype=x.dtype)[labels]

        def gradients():
            h = np.tanh(x @ w)
            e = np.exp(h @ v - (h @ v).max(1, keepdims=True))
            back = (e / e.sum(1, keepdims=True) - hot) @ v.T * (1 - h * h)
            return x[:, :, None] * back[:, None, :]
        return gradients
    axis = int(name[-1]) if name[-1].isdigit() else 0
    return {"sort": lambda: np.sort(x), "argsort": lambda: np.argsort(x, kind="stable"), "unique": lambda: np.unique(x),
            "matmul": lambda: x @ rest[0], "take": lambda: x[rest[0]], "mask": lambda: x[x > 0],
            "mask_rows": lambda: x[rest[0] > 0], "sum": lambda: x.sum(axis), "max": lambda: x.max(axis),
            "argmax": lambda: x.argmax(axis), "cumsum": lambda: x.cumsum(axis)}[name.rstrip("01")]


def torch_call(name, *given):
    import torch
    x, *rest = [torch.from_numpy(a) for a in given]
    k = min(LARGEST, x.shape[-1])
    if name == "set_mask":
        def replaced():
            out = x.clone()
            out[out > 0] = 0
            return out
        return replaced
    if name == "per_example":
        labels, w, v = rest

        def loss(first, one, label):
            return torch.nn.functional.cross_entropy(torch.tanh(one @ first) @ v, label)
        call = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
        return lambda: call(w, x, labels)
    axis = int(name[-1]) if name[-1].isdigit() else 0
    return {"sort": lambda: torch.sort(x)[0], "argsort": lambda: torch.argsort(x, stable=True),
            "topk": lambda: torch.topk(x, k)[0], "unique": lambda: torch.unique(x), "matmul": lambda: x @ rest[0],
            "attention": lambda: torch.einsum("bhqk,bkhd->bqhd", torch.einsum("bqhd,bkhd->bhqk", x, rest[0]), rest[1]),
            "take": lambda: x.index_select(0, rest[0]), "scatter_add": lambda: x.index_add(0, *rest),
            "mask": lambda: x[x > 0], "mask_rows": lambda: x[rest[0] > 0], "sum": lambda: x.sum(axis),
            "max": lambda: x.amax(axis), "argmax": lambda: x.argmax(axis),
            "cumsum": lambda: x.cumsum(axis)}[name.rstrip("01")]


def jax_call(name, *given):
    import jax
    import jax.numpy as jnp
    arrays = [jnp.asarray(a) for a in given]
    x = arrays[0]
    k = min(LARGEST, x.shape[-1])
    # Where data decides the length, nothing is compiled as a whole.
    plain = {"unique": jnp.unique, "mask": lambda v: v[v > 0], "mask_rows": lambda v, m: v[m > 0]}
    if name in plain:
        return lambda: plain[name](*arrays).block_until_ready()

    def gradients(v, labels, first, second):
        def loss(weights, one, label):
            return -jax.nn.log_softmax(jnp.tanh(one @ weights) @ second)[label]
        return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(first, v, labels)
    axis = int(name[-1]) if name[-1].isdigit() else 0
    compiled = jax.jit({
        "sort": jnp.sort, "argsort": jnp.argsort, "topk": lambda v: jax.lax.top_k(v, k)[0], "matmul": jnp.matmul,
        "attention": lambda q, k, v: jnp.einsum("bhqk,bkhd->bqhd", jnp.einsum("bqhd,bkhd->bhqk", q, k), v),
        "take": lambda v, i: v[i], "scatter_add": lambda v, i, y: v.at[i].add(y),
        "set_mask": lambda v: jnp.where(v > 0, 0, v), "per_example": gradients, "sum": lambda v: v.sum(axis),
        "max": lambda v: v.max(axis), "argmax": lambda v: v.argmax(axis),
        "cumsum": lambda v: v.cumsum(axis)}[name.rstrip("01")])
    return lambda: compiled(*arrays).block_until_ready()


CALLS = {"numpy": numpy_call, "torch": torch_call, "jax": jax_call}


def repeated(make):
    """A function of the number of calls."""
    def run_of(case, dtype, threads):
        import math
        name, given = arguments(case, dtype)
        call = make(name, *given)

        def run(n):
            for _ in range(n):
                call()
        return run, math.prod(int(n) for n in case.split("/")[1].split("x"))
    return run_of


FORMS = {name: Form(repeated(make), "user", name, "borrowed") for name, make in CALLS.items()}


def check():
    """Every installed peer gives NumPy's values."""
    import os

    import numpy as np
    os.environ["JAX_ENABLE_X64"] = "1"
    cases = [f"{name}/{lengths}" for lengths in ("1000", "7x120")
             for name in ("sort", "int64_sort", "argsort", "int64_argsort", "topk", "int64_topk", "unique",
                          "int64_unique", "mask", "set_mask", "sum0", "cumsum0")]
    cases += [f"{name}/7x12" for name in ("take", "scatter_add", "mask_rows", "sum1", "max0", "max1", "argmax0",
                                          "argmax1", "cumsum1")]
    for case in cases + ["matmul/5x4x4", "attention/2x5x3x4", "per_example/5x6x4x3"]:
        name, given = arguments(case, "float64")
        for peer, make in CALLS.items():
            if importlib.util.find_spec(peer) is not None:
                np.testing.assert_allclose(np.asarray(make(name, *given)()), numpy_call(name, *given)(), 1e-10, 1e-10,
                                           err_msg=f"{case} {peer}")
