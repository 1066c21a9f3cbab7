"""Matrix products. A case is "60x784x500/NN": rows, inner length, columns, and which operands are stored transposed.

The result goes into a matrix that stays. Rates are GFLOP/s.
"""
import importlib.util

from worker import Form


def operands(case, dtype):
    import numpy as np
    shape, transposed = case.split("/")
    m, k, n = [int(length) for length in shape.split("x")]
    rng = np.random.RandomState(7)
    a = rng.uniform(-1, 1, (m, k) if transposed[0] == "N" else (k, m)).astype(dtype)
    b = rng.uniform(-1, 1, (k, n) if transposed[1] == "N" else (n, k)).astype(dtype)
    return a if transposed[0] == "N" else a.T, b if transposed[1] == "N" else b.T, 2e-9 * m * k * n


def numpy_matmul(a, b):
    import numpy as np
    o = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return lambda: np.matmul(a, b, out=o)


def numpy_plain(a, b):
    return lambda: a @ b


def scipy_gemm(a, b):
    """o.T = b.T a.T: BLAS's matrices are column-major."""
    import numpy as np
    from scipy.linalg import blas
    gemm = blas.sgemm if a.dtype == np.float32 else blas.dgemm
    o = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    first, trans_a = (b.T, 0) if b.flags.c_contiguous else (b, 1)
    second, trans_b = (a.T, 0) if a.flags.c_contiguous else (a, 1)

    def call():
        gemm(1, first, second, beta=0, c=o.T, trans_a=trans_a, trans_b=trans_b, overwrite_c=1)
        return o
    return call


def torch_mm(a, b):
    import torch
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    o = torch.empty((a.shape[0], b.shape[1]), dtype=x.dtype)

    @torch.inference_mode()
    def call():
        return torch.mm(x, y, out=o)
    return call


def jax_jit(a, b):
    import jax
    import jax.numpy as jnp
    f, x, y = jax.jit(jnp.matmul), jnp.asarray(a), jnp.asarray(b)
    return lambda: f(x, y).block_until_ready()


CALLS = {
    "numpy": (numpy_plain, "user", "numpy"),
    "numpy_out": (numpy_matmul, "best", "numpy"),
    "numpy_blas": (scipy_gemm, "best", "scipy"),
    "torch_mm": (torch_mm, "user", "torch"),
    "jax_jit": (jax_jit, "user", "jax"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        a, b, flops = operands(case, dtype)
        call = make(a, b)

        def run(calls):
            for _ in range(calls):
                call()
        return run, flops
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in CALLS.items()}


def check():
    """Every installed implementation gives NumPy's product, in float64."""
    import numpy as np
    import os
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for case in ("5x7x3/NN", "5x7x3/TN", "5x7x3/NT", "1x7x3/NN"):
        compared = []
        for name, (make, _, needs) in CALLS.items():
            if importlib.util.find_spec(needs) is None:
                continue
            worker.prepare(needs, "float64", 1)
            a, b, _ = operands(case, "float64")
            got = np.asarray(make(a, b)())
            assert np.abs(got - np.einsum("ik,kj->ij", a, b)).max() < 1e-13, (case, name)
            compared.append(name)
        print(f"{case}: {', '.join(compared)} agree")
