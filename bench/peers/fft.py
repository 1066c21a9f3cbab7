"""Transforms of Fourier of one array.

A case is "fft/1000x1000" or "rfft/1048576": of complex or of real numbers, along all axes. Rates are 10^9 operations a
second, counted as 5 N log2(N), of real numbers half of it.
"""
import importlib.util
import math

from worker import form_of_task, mkl


class Task:
    def __init__(self, case, dtype):
        import numpy as np
        what, lengths = case.split("/")
        self.is_real = what == "rfft"
        self.shape = tuple(int(n) for n in lengths.split("x"))
        rng = np.random.RandomState(7)
        self.x = rng.uniform(-1, 1, self.shape)
        if not self.is_real:
            self.x = self.x + 1j * rng.uniform(-1, 1, self.shape)
        self.x = self.x.astype({("float32", True): "float32", ("float64", True): "float64",
                                ("float32", False): "complex64", ("float64", False): "complex128"}[dtype, self.is_real])
        n = math.prod(self.shape)
        self.units = 1e-9 * (2.5 if self.is_real else 5) * n * math.log2(max(n, 2))


def numpy_fft(task, _):
    import numpy as np
    transform = np.fft.rfftn if task.is_real else np.fft.fftn
    return lambda: transform(task.x)


def scipy_fft(task, threads):
    import scipy.fft
    transform = scipy.fft.rfftn if task.is_real else scipy.fft.fftn
    return lambda: transform(task.x, workers=threads)


def torch_fft(task, _):
    import torch
    x, transform = torch.from_numpy(task.x), torch.fft.rfftn if task.is_real else torch.fft.fftn
    return lambda: transform(x)


def jax_fft(task, _):
    import jax
    import jax.numpy as jnp
    transform, x = jax.jit(jnp.fft.rfftn if task.is_real else jnp.fft.fftn), jnp.asarray(task.x)
    return lambda: transform(x).block_until_ready()


def mkl_fft(task, threads):
    """MKL's own interface, with a plan that stays; the result is written to one array."""
    import ctypes
    import numpy as np
    library = mkl()
    single, real, rank = task.x.dtype.name in ("float32", "complex64"), task.is_real, len(task.shape)
    plan = ctypes.c_void_p()
    longs = ctypes.c_long * (rank + 1)

    def require(status):
        assert status == 0, status
    precision, domain = ctypes.c_int(35 if single else 36), ctypes.c_int(33 if real else 32)
    last = ctypes.c_long(task.shape[0]) if rank == 1 else longs(*task.shape, 0)
    require(library.DftiCreateDescriptor(ctypes.byref(plan), precision, domain, ctypes.c_long(rank), last))
    require(library.DftiSetValue(plan, ctypes.c_int(11), ctypes.c_int(44)))  # DFTI_NOT_INPLACE
    require(library.DftiSetValue(plan, ctypes.c_int(27), ctypes.c_long(threads)))  # DFTI_THREAD_LIMIT
    shape = task.shape[:-1] + (task.shape[-1] // 2 + 1,) if real else task.shape
    out = np.zeros(shape, "complex64" if single else "complex128")
    if real:
        require(library.DftiSetValue(plan, ctypes.c_int(10), ctypes.c_int(39)))  # DFTI_COMPLEX_COMPLEX
        for key, array in ((12, task.x), (13, out)):
            strides = longs(0, *(s // array.itemsize for s in array.strides))
            require(library.DftiSetValue(plan, ctypes.c_int(key), strides))
    require(library.DftiCommitDescriptor(plan))
    source, result = ctypes.c_void_p(task.x.ctypes.data), ctypes.c_void_p(out.ctypes.data)

    def run():
        require(library.DftiComputeForward(plan, source, result))
        return out
    run.operand = task.x  # which has to live as long as its address is used
    return run


CALLS = {
    "numpy": (numpy_fft, "user", "numpy"),
    "scipy": (scipy_fft, "user", "scipy"),
    "torch": (torch_fft, "user", "torch"),
    "jax": (jax_fft, "user", "jax"),
    "mkl": (mkl_fft, "best", "mkl"),
}


FORMS = {name: form_of_task(Task, make, kind, needs, "borrowed" if needs == "mkl" else "none")
         for name, (make, kind, needs) in CALLS.items()}


def check():
    """Every installed implementation gives what the definition gives, in float64."""
    import os
    import numpy as np
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for case in ("fft/12", "rfft/15", "fft/6x5", "rfft/4x3x6"):
        task, compared = Task(case, "float64"), []
        wanted = task.x.astype(complex)
        for axis, n in enumerate(task.shape):
            roots = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
            wanted = np.moveaxis(np.moveaxis(wanted, axis, -1) @ roots, -1, axis)
        if task.is_real:
            wanted = wanted[..., :task.shape[-1] // 2 + 1]
        for name, (make, _, needs) in CALLS.items():
            if needs != "mkl" and importlib.util.find_spec(needs) is None:
                continue
            try:
                worker.prepare(needs, "float64", 1)
                got = np.asarray(make(task, 1)())
            except ImportError:
                continue
            assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-12, (case, name)
            compared.append(name)
        flat = wanted.ravel() * np.arange(1, wanted.size + 1)
        print(f"{case}: {', '.join(compared)} agree; the sum of products with 1, 2, ... is "
              f"{flat.sum().real:.15g} and {flat.sum().imag:.15g} i")
