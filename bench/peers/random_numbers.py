"""Random numbers into a new array ("owned") or one that stays ("borrowed").

A case is "mrg_normal/1000000": uniform numbers in [0, 1) or standard normal ones, and how many. Rates are numbers a
second. thtrain draws from the generator that the case names, MRG31k3p or NumPy's MT19937; peers from their own.
"""
from worker import Form


def parts(case):
    name, size = case.split("/")
    return name.split("_")[1], int(size)


def numpy_legacy(case, dtype, threads):
    import numpy as np
    name, size = parts(case)
    rng = np.random.RandomState(1)
    draw = rng.random_sample if name == "uniform" else rng.standard_normal
    if dtype == "float64":
        return lambda: draw(size), size
    return lambda: draw(size).astype("float32"), size


def numpy_generator(bits, out):
    def make(case, dtype, threads):
        import numpy as np
        name, size = parts(case)
        rng = np.random.Generator(getattr(np.random, bits)(1))
        draw = rng.random if name == "uniform" else rng.standard_normal
        if not out:
            return lambda: draw(size, dtype=dtype), size
        kept = np.empty(size, dtype)
        return lambda: draw(size, dtype=dtype, out=kept), size
    return make


def torch_draw(out):
    def make(case, dtype, threads):
        import torch
        name, size = parts(case)
        torch.manual_seed(1)
        kind = getattr(torch, dtype)
        if not out:
            draw = torch.rand if name == "uniform" else torch.randn
            return lambda: draw(size, dtype=kind), size
        kept = torch.empty(size, dtype=kind)
        draw = kept.uniform_ if name == "uniform" else kept.normal_
        return lambda: draw(), size
    return make


def jax_draw(implementation):
    def make(case, dtype, threads):
        import jax
        name, size = parts(case)
        draw = jax.random.uniform if name == "uniform" else jax.random.normal

        @jax.jit
        def step(key):
            key, own = jax.random.split(key)
            return key, draw(own, (size,), dtype)
        key = jax.random.key(1, impl=implementation)

        def call():
            nonlocal key
            key, x = step(key)
            return x.block_until_ready()
        return call, size
    return make


def repeated(make):
    """A function of the number of calls."""
    def run_of(case, dtype, threads):
        call, units = make(case, dtype, threads)

        def run(n):
            for _ in range(n):
                call()
        return run, units
    return run_of


FORMS = {
    "numpy RandomState": Form(repeated(numpy_legacy), "user", "numpy", "owned"),
    "numpy PCG64": Form(repeated(numpy_generator("PCG64", False)), "user", "numpy", "owned"),
    "numpy Philox": Form(repeated(numpy_generator("Philox", False)), "user", "numpy", "owned"),
    "numpy Philox out": Form(repeated(numpy_generator("Philox", True)), "best", "numpy", "borrowed"),
    "numpy SFC64 out": Form(repeated(numpy_generator("SFC64", True)), "best", "numpy", "borrowed"),
    "torch": Form(repeated(torch_draw(False)), "user", "torch", "owned"),
    "torch in place": Form(repeated(torch_draw(True)), "best", "torch", "borrowed"),
    "jax threefry": Form(repeated(jax_draw("threefry2x32")), "user", "jax", "owned"),
    "jax rbg": Form(repeated(jax_draw("unsafe_rbg")), "best", "jax", "owned"),
}


def check():
    """The peers' means and deviations are those of their distributions."""
    import importlib.util

    import numpy as np
    for label, form in FORMS.items():
        if importlib.util.find_spec(form.needs) is None:
            continue
        makers = {"numpy RandomState": numpy_legacy, "numpy PCG64": numpy_generator("PCG64", False),
                  "numpy Philox": numpy_generator("Philox", False), "numpy Philox out": numpy_generator("Philox", True),
                  "numpy SFC64 out": numpy_generator("SFC64", True), "torch": torch_draw(False),
                  "torch in place": torch_draw(True), "jax threefry": jax_draw("threefry2x32"),
                  "jax rbg": jax_draw("unsafe_rbg")}
        for name, mean, deviation in (("uniform", 0.5, 12**-0.5), ("normal", 0, 1)):
            call, _ = makers[label](f"any_{name}/100000", "float32", 1)
            x = np.asarray(call())
            assert x.dtype == np.float32 and x.shape == (100000,), (label, name, x.dtype, x.shape)
            assert abs(x.mean() - mean) < 0.02 and abs(x.std() - deviation) < 0.02, (label, name, x.mean(), x.std())
