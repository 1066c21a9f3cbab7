"""How long the peers take to make large graphs ready. Cases and sizes are those of bench/compile_cases.h.

A case is "mlp/1000": a deep network with its gradient and updates (about 20 nodes a layer), a chain of elementwise
functions, or a wide sum (4 nodes a term). Rates are nodes a second. A case that would take over two minutes, going by a
smaller one before it, is refused. "cold/mlp_digits" is a start (start.py).
"""
import time

import start
from worker import Form

UNITS, NODES_OF_LAYER, NODES_OF_TERM = 16, 20, 4
MOST_SECONDS = 120.0


def parts(case):
    kind, nodes = case.split("/")
    if kind not in ("mlp", "chain", "sum"):
        raise RuntimeError("has no such case")
    nodes = int(nodes)
    return kind, nodes, {"mlp": max(1, nodes // NODES_OF_LAYER), "chain": nodes,
                         "sum": max(1, nodes // NODES_OF_TERM)}[kind]


def forward(kind, count, x, W, b, package):
    """The value of a graph, in the words of JAX's numpy or PyTensor's tensor."""
    if kind == "mlp":
        for i in range(count):
            x = package.tanh(x @ W[i] + b[i])
        return (x * x).mean()
    if kind == "chain":
        for i in range(count):
            x = package.sin(x) if i % 2 else package.tanh(x)
        return x
    total = x
    for i in range(count):
        total = total + package.sin(x * float(i + 2))
    return total


def jax_seconds(case, dtype, with_compiler):
    import jax
    import jax.numpy as jnp
    kind, _, count = parts(case)
    dtype = jnp.dtype(dtype)
    jax.clear_caches()
    if kind == "mlp":
        x = jax.ShapeDtypeStruct((60, UNITS), dtype)
        W = [jax.ShapeDtypeStruct((UNITS, UNITS), dtype)] * count
        b = [jax.ShapeDtypeStruct((UNITS,), dtype)] * count

        def step(x, W, b):
            cost, gradients = jax.value_and_grad(lambda p: forward(kind, count, x, *p, jnp))((W, b))
            return cost, jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, (W, b), gradients)
        arguments = (x, W, b)
    else:
        arguments = (jax.ShapeDtypeStruct((60,), dtype),)

        def step(x):
            return forward(kind, count, x, None, None, jnp)
    begin = time.perf_counter()
    lowered = jax.jit(step).lower(*arguments)
    if with_compiler:
        lowered.compile()
    return time.perf_counter() - begin


def pytensor_seconds(case, dtype):
    """Rewriting only: the graph and its gradient are there."""
    import sys
    import numpy as np
    import pytensor
    import pytensor.tensor as pt
    sys.setrecursionlimit(1_000_000)
    kind, _, count = parts(case)
    if kind == "mlp":
        x = pt.matrix("x", dtype=dtype)
        W = [pytensor.shared(np.zeros((UNITS, UNITS), dtype)) for _ in range(count)]
        b = [pytensor.shared(np.zeros(UNITS, dtype)) for _ in range(count)]
        cost = forward(kind, count, x, W, b, pt)
        rate = pt.constant(0.01, dtype=dtype)
        outputs = [cost] + [p - rate * g for p, g in zip(W + b, pytensor.grad(cost, W + b))]
    else:
        x = pt.vector("x", dtype=dtype)
        outputs = [forward(kind, count, x, None, None, pt)]
    graph = pytensor.graph.FunctionGraph(outputs=outputs, clone=True)
    rewriter = pytensor.compile.mode.get_default_mode().optimizer
    begin = time.perf_counter()
    rewriter.rewrite(graph)
    return time.perf_counter() - begin


SECONDS = {
    "jax_jit": (lambda case, dtype: jax_seconds(case, dtype, True), "user", "jax"),
    "jax_lower": (lambda case, dtype: jax_seconds(case, dtype, False), "best", "jax"),
    "pytensor_rewrite": (pytensor_seconds, "user", "pytensor"),
    "torch_compile": (None, "user", "torch"),
}


def form_of(name, seconds_of, kind, needs):
    per_node = {}  # of each kind of graph: seconds, at the largest size met

    def make_rate(case, dtype, threads):
        if case.startswith("cold/"):
            return start.rate(name, case.removeprefix("cold/"), dtype)
        graph, nodes, _ = parts(case)
        if seconds_of is None:
            raise RuntimeError("has no such case")
        if per_node.get(graph, 0) * nodes > MOST_SECONDS:
            raise RuntimeError(f"{case} would take over two minutes")
        rates = []
        while len(rates) < 3 and (not rates or nodes / rates[-1] < 2):
            seconds = seconds_of(case, dtype)
            rates.append(nodes / seconds)
        per_node[graph] = 1 / rates[-1]
        rates.sort()
        return {"value": rates[len(rates) // 2], "low": rates[0], "high": rates[-1]}
    form = Form(None, kind, needs)
    form.rate = make_rate
    return form


FORMS = {name: form_of(name, *row) for name, row in SECONDS.items()}


def check():
    """The graphs of all kinds can be made ready."""
    import importlib.util
    import sys
    import worker
    ready = []
    for name, (seconds_of, _, needs) in SECONDS.items():
        if importlib.util.find_spec(needs) is None:
            continue
        if seconds_of is None:
            continue
        worker.prepare(needs, "float64", 1)
        for case in ("mlp/40", "chain/10", "sum/10"):
            assert seconds_of(case, "float64") > 0
        if name == "jax_jit":
            for case in start.BATCH:
                assert start.jax_seconds(case, "float32") > 0
        ready.append(name)
    print(f"{', '.join(ready) or 'nobody'}: ready")
    sys.exit(0 if ready else 77)
