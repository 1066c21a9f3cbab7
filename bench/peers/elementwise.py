"""The formulae of Fig. 7 of the Theano paper and 1/(1+exp(-a))*tanh(b).

A case is "poly2/100000": the formula and the number of elements. a and b are two arrays with the values 0, 1, 2, ...;
in float32 modulo 4096 (b**10 is finite there), and spread over [-4, 4) for the last formula. Rates are elements a
second. An implementation returns a new array ("owned") or fills one that stays ("borrowed").
"""
import importlib.util

import worker
from worker import Form

FORMULAE = {
    "a+1": "a+1",
    "2a+3b": "2*a+3*b",
    "poly2": "a**2+b**2+2*a*b",
    "2a+b^10": "2*a+b**10",
    "sigm_tanh": "1/(1+exp(-a))*tanh(b)",
}
BLOCK = 8192


def values(case, dtype):
    import numpy as np
    name, size = case.split("/")
    a = np.arange(int(size), dtype="float64")
    if name == "sigm_tanh":
        a = a % 4096 / 512 - 4
    elif dtype == "float32":
        a = a % 4096
    return name, a.astype(dtype), a.astype(dtype)


def function_of(name, package):
    """The formula as its user writes it, in NumPy, PyTorch, JAX or PyTensor."""
    names = {"exp": getattr(package, "exp"), "tanh": getattr(package, "tanh")}
    return eval(f"lambda a, b: {FORMULAE[name]}", names)


def numpy_steps(name, a, b, o, t):
    """The formula by hand with as few passes as NumPy has, into o; t is workspace."""
    import numpy as np
    if name == "a+1":
        np.add(a, 1, out=o)
    elif name == "2a+3b":
        np.multiply(a, 2, out=o)
        np.multiply(b, 3, out=t)
        np.add(o, t, out=o)
    elif name == "poly2":
        np.add(a, b, out=o)
        np.multiply(o, o, out=o)
    elif name == "2a+b^10":
        np.multiply(b, b, out=t)
        np.multiply(t, t, out=o)
        np.multiply(o, o, out=o)
        np.multiply(o, t, out=o)
        np.add(o, a, out=o)
        np.add(o, a, out=o)
    else:
        np.negative(a, out=o)
        np.exp(o, out=o)
        np.add(o, 1, out=o)
        np.tanh(b, out=t)
        np.divide(t, o, out=o)


def numpy_plain(name, a, b):
    import numpy as np
    f = function_of(name, np)
    return lambda: f(a, b)


def numpy_into(name, a, b):
    import numpy as np
    f, o = function_of(name, np), np.empty_like(a)

    def call():
        o[...] = f(a, b)
        return o
    return call


def numpy_hand(name, a, b):
    import numpy as np
    t = np.empty_like(a)

    def call():
        o = np.empty_like(a)
        numpy_steps(name, a, b, o, t)
        return o
    return call


def numpy_out(name, a, b):
    import numpy as np
    o, t = np.empty_like(a), np.empty_like(a)

    def call():
        numpy_steps(name, a, b, o, t)
        return o
    return call


def numpy_blocked(name, a, b, owned):
    """numpy_out in pieces that stay in the cache."""
    import numpy as np
    kept, t = np.empty_like(a), np.empty(min(BLOCK, a.size), a.dtype)

    def call():
        o = np.empty_like(a) if owned else kept
        for i in range(0, a.size, BLOCK):
            part = o[i:i + BLOCK]
            numpy_steps(name, a[i:i + BLOCK], b[i:i + BLOCK], part, t[:part.size])
        return o
    return call


def numexpr_evaluate(name, a, b, out, again):
    import numexpr
    import numpy as np
    text, arrays = FORMULAE[name], {"a": a, "b": b}
    o = np.empty_like(a) if out else None
    if again:
        numexpr.evaluate(text, local_dict=arrays, out=o)
        return lambda: numexpr.re_evaluate(local_dict=arrays)

    def call(a=a, b=b):
        return numexpr.evaluate(text, out=o)  # finds a and b in this frame, as its users let it
    return call


def torch_arrays(a, b):
    import torch
    return torch.from_numpy(a), torch.from_numpy(b)


def torch_plain(name, a, b):
    import torch
    f, (x, y) = function_of(name, torch), torch_arrays(a, b)

    @torch.no_grad()
    def call():
        return f(x, y)
    return call


def torch_into(name, a, b):
    import torch
    f, (x, y) = function_of(name, torch), torch_arrays(a, b)
    o = torch.empty_like(x)

    @torch.no_grad()
    def call():
        return o.copy_(f(x, y))
    return call


def torch_hand(name, a, b, owned):
    import torch
    x, y = torch_arrays(a, b)
    kept, t = torch.empty_like(x), torch.empty_like(x)

    @torch.inference_mode()
    def call():
        o = torch.empty_like(x) if owned else kept
        if name == "a+1":
            torch.add(x, 1, out=o)
        elif name == "2a+3b":
            torch.mul(x, 2, out=o)
            o.add_(y, alpha=3)
        elif name == "poly2":
            torch.add(x, y, out=o)
            o.mul_(o)
        elif name == "2a+b^10":
            torch.mul(y, y, out=t)
            torch.mul(t, t, out=o)
            o.mul_(o).mul_(t).add_(x, alpha=2)
        else:
            torch.sigmoid(x, out=o)
            torch.tanh(y, out=t)
            o.mul_(t)
        return o
    return call


def torch_compile(name, a, b, out):
    import torch
    f, (x, y) = function_of(name, torch), torch_arrays(a, b)
    o = torch.empty_like(x)
    compiled = worker.torch_compile((lambda o, x, y: o.copy_(f(x, y))) if out else f)

    @torch.no_grad()
    def call():
        return compiled(o, x, y) if out else compiled(x, y)
    return call


def jax_jit(name, a, b):
    import jax
    import jax.numpy as jnp
    f, x, y = jax.jit(function_of(name, jnp)), jnp.asarray(a), jnp.asarray(b)
    return lambda: f(x, y).block_until_ready()


def pytensor_function(name, a, b, borrow):
    import pytensor
    import pytensor.tensor as pt
    x, y = pt.vector("a", dtype=a.dtype.name), pt.vector("b", dtype=a.dtype.name)
    value = function_of(name, pt)(x, y)
    call = pytensor.function([x, y], pytensor.Out(value, borrow=borrow), on_unused_input="ignore")
    if borrow:
        call.trust_input = True
    return lambda: call(a, b)


def with_option(make, *options):
    return lambda name, a, b: make(name, a, b, *options)


# What makes the call, who writes so, on which package, and whose the output is.
CALLS = {
    "numpy": (numpy_plain, "user", "numpy", "owned"),
    "numpy_hand": (numpy_hand, "best", "numpy", "owned"),
    "numpy_blocked": (with_option(numpy_blocked, True), "best", "numpy", "owned"),
    "numpy_into": (numpy_into, "user", "numpy", "borrowed"),
    "numpy_out": (numpy_out, "best", "numpy", "borrowed"),
    "numpy_blocked_out": (with_option(numpy_blocked, False), "best", "numpy", "borrowed"),
    "numexpr": (with_option(numexpr_evaluate, False, False), "user", "numexpr", "owned"),
    "numexpr_again": (with_option(numexpr_evaluate, False, True), "best", "numexpr", "owned"),
    "numexpr_out": (with_option(numexpr_evaluate, True, False), "user", "numexpr", "borrowed"),
    "numexpr_again_out": (with_option(numexpr_evaluate, True, True), "best", "numexpr", "borrowed"),
    "torch": (torch_plain, "user", "torch", "owned"),
    "torch_hand": (with_option(torch_hand, True), "best", "torch", "owned"),
    "torch_into": (torch_into, "user", "torch", "borrowed"),
    "torch_out": (with_option(torch_hand, False), "best", "torch", "borrowed"),
    "torch_compile": (with_option(torch_compile, False), "user", "torch", "owned"),
    "torch_compile_out": (with_option(torch_compile, True), "best", "torch", "borrowed"),
    "jax_jit": (jax_jit, "user", "jax", "owned"),
    "pytensor": (with_option(pytensor_function, False), "user", "pytensor", "owned"),
    "pytensor_borrow": (with_option(pytensor_function, True), "user", "pytensor", "borrowed"),
}


def form_of(make, kind, needs, form):
    def make_run(case, dtype, threads):
        import numpy as np
        np.seterr(all="ignore")
        name, a, b = values(case, dtype)
        call = make(name, a, b)

        def run(calls):
            for _ in range(calls):
                call()
        return run, a.size
    return Form(make_run, kind, needs, form)


FORMS = {name: form_of(*row) for name, row in CALLS.items()}


def check():
    """Every installed implementation gives the plain one's values, in float64."""
    import numpy as np
    import os
    os.environ["JAX_ENABLE_X64"] = "1"
    for formula in FORMULAE:
        compared = []
        for name, (make, _, needs, _) in CALLS.items():
            if importlib.util.find_spec(needs) is None:
                continue
            if "compile" in name and not hasattr(importlib.import_module("torch"), "compile"):
                continue
            worker.prepare(needs, "float64", 1)
            for size in (4, 20000):
                _, a, b = values(f"{formula}/{size}", "float64")
                wanted = numpy_plain(formula, a, b)()
                call = make(formula, a, b)
                call()
                got = np.asarray(call())
                assert (np.abs(got - wanted) <= 1e-12 * np.abs(wanted) + 1e-300).all(), (formula, name, size)
            compared.append(name)
        print(f"{formula}: {', '.join(compared)} agree")
