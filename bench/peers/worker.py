"""Measures one implementation of one family of benchmarks, case by case, on request.

    worker.py FAMILY --list                                          the implementations, one JSON object each
    worker.py FAMILY --check                                         do all that are installed compute the same?
    worker.py FAMILY IMPLEMENTATION [--dtype float32|float64] [--threads N] [--isa sse2|avx2|avx512]

The last form says on its first line what it is, or what is missing. Then it reads lines "CASE SECONDS" and answers each
with one JSON object: the median rate, the lowest and the highest of nine stretches of time (three, where a call takes
longer than one). `thtrain bench` starts one such process for each implementation in each repetition,
and asks them in turn. The last case stays ready.
"""
import argparse
import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import sys
import time

import instructions


class Form:
    """An implementation. `make(case, dtype, threads)` gives a function of the number of calls, which runs them, and
    what one counts. Where single runs are measured, `rate(case, dtype, threads)` gives the answer itself."""

    def __init__(self, make, kind, needs, form="none"):
        assert kind in ("best", "user") and form in ("owned", "borrowed", "none")
        self.make, self.kind, self.needs, self.form, self.rate = make, kind, needs, form, None


DEVICE = "cpu"  # where PyTorch computes; bench/peers/device.py has a GPU


def to_device(x):
    """An array or a module of PyTorch, which the CPU leaves as it is."""
    return x.to(DEVICE)


def torch_array(array):
    import torch
    return to_device(torch.from_numpy(array))


def form_of_task(task_of, make, kind, needs, form="none"):
    """Of a benchmark whose `task_of(case, dtype)` has what is computed and its `units`: `make(task, threads)` gives
    what computes it once."""
    def make_run(case, dtype, threads):
        task = task_of(case, dtype)
        call = make(task, threads)

        def run(calls):
            for _ in range(calls):
                call()
        return run, task.units
    return Form(make_run, kind, needs, form)


def measure(run, units, seconds):
    """run(n) does n calls of `units` each. Rates in units a second: median, lowest, highest."""
    run(1)
    calls, spent = 1, 0.0
    while True:  # warm-up, which finds how many calls fill a ninth of the time
        begin = time.perf_counter()
        run(calls)
        last = time.perf_counter() - begin
        spent += last
        if spent > seconds / 3:
            break
        calls *= 2
    fitting = calls * seconds / 9 / last
    calls = max(1, round(fitting))
    rates = []
    for _ in range(9 if fitting >= 1 else 3):
        begin = time.perf_counter()
        run(calls)
        rates.append(calls * units / (time.perf_counter() - begin))
    rates.sort()
    return {"value": rates[len(rates) // 2], "low": rates[0], "high": rates[-1]}


def loaded_blas():
    """The BLAS library in this process, with OpenBLAS's choice of kernels."""
    import ctypes
    found = []
    for line in open("/proc/self/maps", encoding="utf-8"):
        path = line.split()[-1]
        name = os.path.basename(path)
        if "mkl_rt" in name and "mkl" not in found:
            found.insert(0, "mkl")
        elif "openblas" in name and path.startswith("/"):
            library = ctypes.CDLL(path)
            for symbol in ("openblas_get_corename", "scipy_openblas_get_corename64_", "scipy_openblas_get_corename"):
                call = getattr(library, symbol, None)
                if call is not None:
                    call.restype = ctypes.c_char_p
                    text = "openblas " + call().decode()
                    if text not in found:
                        found.append(text)
                    break
    return found[0] if found else ""


@functools.cache
def mkl():
    """PyPI's mkl has libraries and no module. (That of torch lacks the hints of the inspector.)"""
    found = [f for f in importlib.metadata.files("mkl") if f.name.startswith("libmkl_rt.so")]
    return ctypes.CDLL(str(pathlib.Path(found[0].locate()).resolve()), ctypes.RTLD_GLOBAL)


def describe(needs):
    """Version and setting of the package that an implementation uses."""
    if needs == "mkl":  # libraries without a module
        return {"version": f"mkl {importlib.metadata.version('mkl')}", "setting": ""}
    module = importlib.import_module(needs)
    setting = ""
    if needs == "torch":
        setting = "mkl" if module.backends.mkl.is_available() else loaded_blas()
    elif needs == "jax":
        setting = "xla"
    elif needs == "numexpr":
        setting = "vml" if module.use_vml else ""
    elif needs == "pytensor":
        setting = module.config.blas__ldflags or "numpy"
    else:
        setting = loaded_blas()
    return {"version": f"{needs} {module.__version__}", "setting": setting}


def prepare(needs, dtype, threads):
    """Thread counts and dtypes that a package wants before or right after it is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                 "NUMEXPR_MAX_THREADS"):
        os.environ[name] = str(threads)
    if needs == "torch":
        import torch
        torch.set_num_threads(threads)
    elif needs == "jax":
        # XLA takes as many threads as it sees cores. They may move afterwards, as everybody else's.
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, sorted(cores)[:threads])
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        jax.config.update("jax_enable_x64", dtype == "float64")
        jax.devices()
        for task in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(task), cores)
    elif needs == "pytensor":
        os.environ["PYTENSOR_FLAGS"] = f"floatX={dtype},openmp={threads > 1}," + os.environ.get("PYTENSOR_FLAGS", "")
    elif needs == "scipy":
        import scipy.linalg  # noqa: F401  (so that describe() finds its library)


def torch_compile(function, mode=None):
    """torch.compile, each case by itself: no code for shapes in general because others were met before. On a GPU a call
    is a CUDA graph, unless another mode is asked for."""
    import torch
    if not hasattr(torch, "compile"):
        raise RuntimeError(f"torch {torch.__version__} has no torch.compile")
    torch.compiler.reset()
    return torch.compile(function, mode=mode or ("default" if DEVICE == "cpu" else "reduce-overhead"))


def serve(family, name, dtype, threads, isa):
    # A library may print what it likes: answers go to the real standard output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(what):
        print(json.dumps(what), file=answers, flush=True)

    form = family.FORMS[name]
    try:
        if isa:
            instructions.restrict(isa)
        getattr(family, "prepare", prepare)(form.needs, dtype, threads)
        description = describe(form.needs)
        if isa:
            instructions.verify(form.needs, isa, loaded_blas())
        answer({"ready": name, **description})
    except Exception as error:
        answer({"missing": str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__})
        return
    ready, run = None, None
    for line in sys.stdin:
        case, seconds = line.split()
        try:
            if form.rate:
                answer(form.rate(case, dtype, threads))
                continue
            if case != ready:
                ready, run = None, None  # the arrays of one case go before the next one's come
                run, units = form.make(case, dtype, threads)
                ready = case
            answer(measure(run, units, float(seconds)))
        except Exception as error:
            answer({"error": (str(error).strip() or type(error).__name__).splitlines()[0]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=("net", "elementwise", "gemm", "loops", "random_numbers", "language", "rnn",
                                           "rbm", "conv", "pool", "convnet", "sparse", "fft", "factor",
                                           "device", "compile"))
    parser.add_argument("implementation", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", choices=("sse2", "avx2", "avx512"))
    options = parser.parse_args()
    family = importlib.import_module(options.family)
    if options.list:
        for name, form in family.FORMS.items():
            print(json.dumps({"name": name, "kind": form.kind, "form": form.form, "needs": form.needs}))
    elif options.check:
        if importlib.util.find_spec("numpy") is None:
            print("NumPy is not installed: there is nothing to compare with")
            sys.exit(77)
        family.check()
    else:
        serve(family, options.implementation, options.dtype, options.threads, options.isa)


if __name__ == "__main__":
    # The families say `from worker import Form`: one module, not two.
    sys.modules["worker"] = sys.modules["__main__"]
    main()
