"""A loop of 1,000 iterations of s = s + c s (1 - s) on vectors, and the gradient of the last s's sum by s and c.

A case is "state/100" or "gradient/100": what is computed, and the length of the vectors. Rates are iterations a second.
"""
import importlib
import importlib.util

import worker
from worker import Form

ITERATIONS = 1000


def values(case, dtype):
    import numpy as np
    what, size = case.split("/")
    n = int(size)
    part = (np.arange(n, dtype="float64") + 1) / (n + 1)
    return what == "gradient", part.astype(dtype), (part / 100).astype(dtype)


def numpy_loop(gradient, s, c):
    """The iterations as NumPy's users write them, and their gradient by hand."""
    import numpy as np

    def call():
        states = [s]
        for _ in range(ITERATIONS):
            last = states[-1]
            following = last + c * last * (1 - last)
            if gradient:
                states.append(following)
            else:
                states[0] = following
        if not gradient:
            return (states[-1],)
        ds, dc = np.ones_like(s), np.zeros_like(c)
        for old in reversed(states[:-1]):
            dc += ds * old * (1 - old)
            ds += ds * c * (1 - 2 * old)
        return ds, dc
    return call


def torch_loop(gradient, s, c):
    import torch
    s, c = torch.from_numpy(s).requires_grad_(gradient), torch.from_numpy(c).requires_grad_(gradient)

    def call():
        last = s
        for _ in range(ITERATIONS):
            last = last + c * last * (1 - last)
        return torch.autograd.grad(last.sum(), (s, c)) if gradient else (last,)
    return call


def jax_loop(gradient, s, c):
    import jax
    import jax.numpy as jnp

    def last(s, c):
        return jax.lax.scan(lambda state, _: (state + c * state * (1 - state), None), s, None, length=ITERATIONS)[0]
    made = jax.grad(lambda s, c: last(s, c).sum(), (0, 1)) if gradient else lambda s, c: (last(s, c),)
    f, s, c = jax.jit(made), jnp.asarray(s), jnp.asarray(c)
    return lambda: jax.block_until_ready(f(s, c))


CALLS = {
    "numpy": (numpy_loop, "user", "numpy"),
    "torch": (torch_loop, "user", "torch"),
    "jax_scan": (jax_loop, "user", "jax"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        call = make(*values(case, dtype))

        def run(calls):
            for _ in range(calls):
                call()
        return run, ITERATIONS
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in CALLS.items()}


def check():
    """Every installed implementation gives NumPy's values, in float64."""
    import numpy as np
    import os
    os.environ["JAX_ENABLE_X64"] = "1"
    for case in ("state/5", "gradient/5"):
        compared = []
        for name, (make, _, needs) in CALLS.items():
            if importlib.util.find_spec(needs) is None:
                continue
            worker.prepare(needs, "float64", 1)
            wanted = numpy_loop(*values(case, "float64"))()
            got = make(*values(case, "float64"))()
            for one, other in zip(got, wanted):
                one = one.detach() if hasattr(one, "detach") else one
                assert np.allclose(np.asarray(one), other, rtol=1e-10), (case, name)
            compared.append(name)
        print(f"{case}: {', '.join(compared)} agree")
