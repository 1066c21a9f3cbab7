"""What `thtrain bench device` measures, by PyTorch, JAX, CuPy and cuRAND on the same GPU, in float32.

A case begins with its kind. "mlp/784-500-10/60", "convnet/...", "rnn/..." and "rbm/..." are training steps, "conv/..."
the pass of a convolution: the rest is a case of net.py, convnet.py, rnn.py, rbm.py or conv.py, and so are its units.
"mrg_uniform/1000000" and "mrg_normal/..." are random numbers, in 10^9 a second: everybody's from the generator that it
has for a GPU, of cuRAND and CuPy MRG32k3a. "product/2048x2048x2048" is in 10^9 operations a second. The others are
formulas and reductions of arrays that lie on the device, in gigabytes a second that must be read and written; their
operands and results take turns among three, so that caches do not have them.

TF32 is off. torch.compile makes CUDA graphs of training steps (reduce-overhead). What is asked for is waited for at the
end of each stretch of time, and where a training step returns its cost.
"""
import ctypes
import importlib
import importlib.util
import os

import worker
from worker import Form

SETS = 3  # of operands and results
BYTES = {"copy": 8, "2a+3b": 12, "sigm_tanh": 12, "sum": 4, "sum0": 4, "sum1": 4, "argmax1": 4, "softmax": 8}
TRAINING = {"mlp": "net", "convnet": "convnet", "rnn": "rnn", "rbm": "rbm"}
NOT_MEASURED = "not measured"  # which bench/device.cpp does not repeat


def prepare(needs, dtype, threads):
    """The package on the GPU; THTRAIN_PEERS_DEVICE=cpu, for tests, where there is none."""
    worker.DEVICE = os.environ.get("THTRAIN_PEERS_DEVICE", "cuda")
    if needs == "torch":
        import torch
        if worker.DEVICE == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("PyTorch sees no GPU")
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
    elif needs == "jax":
        os.environ["JAX_PLATFORMS"] = worker.DEVICE
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # others need memory too
        import jax
        jax.config.update("jax_default_matmul_precision", "highest")
        jax.devices()
    elif needs == "cupy":
        import cupy
        cupy.cuda.runtime.getDeviceCount()


class Task:
    """The sets of operands, and what a call counts."""

    def __init__(self, case):
        self.kind, shape = case.split("/")
        lengths = [int(n) for n in shape.split("x")]
        self.is_product, self.is_random = self.kind == "product", self.kind.startswith("mrg_")
        if self.is_product:
            self.units, self.shape = 2e-9 * lengths[0] * lengths[1] * lengths[2], (lengths[0], lengths[0])
            if len(set(lengths)) != 1:
                raise RuntimeError(NOT_MEASURED)
        else:
            self.shape, size = tuple(lengths), 1
            for n in lengths:
                size *= n
            self.size, self.units = size, 1e-9 * size * (1 if self.is_random else BYTES[self.kind])

    def operands(self):
        import numpy as np
        rng = np.random.default_rng(1)
        return [[rng.uniform(-2, 2, self.shape).astype("float32") for _ in range(2)] for _ in range(SETS)]


def formula_of(kind, package, softmax, copy):
    return {"copy": lambda a, b: copy(a),
            "2a+3b": lambda a, b: 2 * a + 3 * b,
            "sigm_tanh": lambda a, b: 1 / (1 + package.exp(-a)) * package.tanh(b),
            "sum": lambda a, b: a.sum(),
            "sum0": lambda a, b: a.sum(0),
            "sum1": lambda a, b: a.sum(1),
            "argmax1": lambda a, b: a.argmax(1),
            "softmax": lambda a, b: softmax(a),
            "product": lambda a, b: a @ b}[kind]


def in_turn(f, sets):
    """A call by one set after the other. The results of a round stay, so that the next ones lie elsewhere."""
    results, at = [None] * len(sets), 0

    def call():
        nonlocal at
        results[at] = f(*sets[at])
        at = (at + 1) % len(sets)
        return results[at - 1]
    return call


def torch_wait():
    if worker.DEVICE == "cuda":
        import torch
        torch.cuda.synchronize()


def torch_call(task, compiled):
    import torch
    if task.is_random:
        name = torch.rand if task.kind == "mrg_uniform" else torch.randn

        def draw():
            return name(task.size, device=worker.DEVICE)
        return in_turn(worker.torch_compile(draw, "default") if compiled else draw, [()] * SETS), torch_wait
    f = formula_of(task.kind, torch, lambda a: torch.softmax(a, 1), torch.clone)
    # Without a CUDA graph, which would copy the operands first.
    f = worker.torch_compile(f, "default") if compiled else f
    return in_turn(f, [[worker.torch_array(x) for x in pair] for pair in task.operands()]), torch_wait


def jax_call(task):
    import jax
    import jax.numpy as jnp
    if task.is_random:
        draw = jax.random.uniform if task.kind == "mrg_uniform" else jax.random.normal

        @jax.jit
        def step(key):
            key, own = jax.random.split(key)
            return key, draw(own, (task.size,), "float32")
        key, x = jax.random.key(1), None

        def call():
            nonlocal key, x
            key, x = step(key)
            return x
        return call, lambda: x.block_until_ready()
    f = jax.jit(formula_of(task.kind, jnp, lambda a: jax.nn.softmax(a, 1), jnp.copy))
    call, last = in_turn(f, [[jnp.asarray(x) for x in pair] for pair in task.operands()]), None

    def kept():
        nonlocal last
        last = call()
        return last
    return kept, lambda: last.block_until_ready()


def cupy_call(task):
    import cupy
    wait = cupy.cuda.Device().synchronize
    if task.is_random:
        generator = cupy.random.RandomState(1, method=cupy.cuda.curand.CURAND_RNG_PSEUDO_MRG32K3A)
        draw = generator.random_sample if task.kind == "mrg_uniform" else generator.standard_normal
        return in_turn(lambda: draw(task.size, dtype="float32"), [()] * SETS), wait

    def softmax(a):
        e = cupy.exp(a - a.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    f = formula_of(task.kind, cupy, softmax, cupy.copy)
    if task.kind in ("2a+3b", "sigm_tanh"):
        f = cupy.fuse()(f)
    return in_turn(f, [[cupy.asarray(x) for x in pair] for pair in task.operands()]), wait


def curand_call(task):
    """cuRAND's own calls, into memory of PyTorch, which comes with the library."""
    import torch
    if not task.is_random or worker.DEVICE != "cuda":
        raise RuntimeError(NOT_MEASURED)
    curand, generator, mrg32k3a = ctypes.CDLL("libcurand.so.10"), ctypes.c_void_p(), 121
    sets = [(torch.empty(task.size, device="cuda"),) for _ in range(SETS)]

    def asked(status):
        if status != 0:
            raise RuntimeError(f"cuRAND: status {status}")
    asked(curand.curandCreateGenerator(ctypes.byref(generator), mrg32k3a))

    def draw(out):
        at, count = ctypes.c_void_p(out.data_ptr()), ctypes.c_size_t(task.size)
        if task.kind == "mrg_uniform":
            asked(curand.curandGenerateUniform(generator, at, count))
        else:
            asked(curand.curandGenerateNormal(generator, at, count, ctypes.c_float(0), ctypes.c_float(1)))
    return in_turn(draw, sets), torch_wait


def run_of(call, wait):
    def run(calls):
        for _ in range(calls):
            call()
        wait()
    return run


def form_of(name, needs, call_of, training=None, conv=None):
    """`training` and `conv`: the names of what measures them in their families."""
    def make_run(case, dtype, threads):
        kind, rest = case.split("/", 1)
        if kind in TRAINING or kind == "conv":
            own = (training or {}).get(kind) if kind != "conv" else conv
            if own is None:
                raise RuntimeError(NOT_MEASURED)
            run, units = importlib.import_module(TRAINING.get(kind, kind)).FORMS[own].make(rest, dtype, threads)
            return (lambda calls: (run(calls), torch_wait())) if needs == "torch" else run, units
        task = Task(case)
        return run_of(*call_of(task)), task.units
    return Form(make_run, "user", needs)


FORMS = {
    "torch": form_of("torch", "torch", lambda task: torch_call(task, False),
                     {"mlp": "torch_sgd", "convnet": "torch_sgd", "rnn": "torch", "rbm": "torch"}, "torch"),
    "torch_compile": form_of("torch_compile", "torch", lambda task: torch_call(task, True),
                             {"mlp": "torch_compile", "convnet": "torch_compile", "rnn": "torch_compile",
                              "rbm": "torch_compile"}),
    "jax": form_of("jax", "jax", jax_call,
                   {"mlp": "jax_jit", "convnet": "jax_jit", "rnn": "jax_scan", "rbm": "jax_scan"}, "jax"),
    "cupy": form_of("cupy", "cupy", cupy_call),
    "curand": form_of("curand", "torch", curand_call),
}


def check():
    """On the CPU every installed package gives NumPy's values for the formulas, draws as many numbers as are asked for,
    and has a run of each other kind."""
    import numpy as np
    os.environ["THTRAIN_PEERS_DEVICE"] = "cpu"
    calls = {"torch": ("torch", lambda task: torch_call(task, False)), "jax": ("jax", jax_call)}
    for name, (needs, call_of) in calls.items():
        if importlib.util.find_spec(needs) is None:
            continue
        prepare(needs, "float32", 1)
        for kind in (*BYTES, "product", "mrg_uniform", "mrg_normal"):
            task = Task(kind + ("/8x8x8" if kind == "product" else "/40" if kind.startswith("mrg") else "/6x7"))
            call, wait = call_of(task)
            got = [np.asarray(call()) for _ in range(SETS + 1)]
            wait()
            if task.is_random:
                assert got[0].shape == (40,) and (got[0] != got[1]).all(), (name, kind)
                continue

            def softmax(a):
                e = np.exp(a - a.max(1, keepdims=True))
                return e / e.sum(1, keepdims=True)
            f = formula_of(kind, np, softmax, np.copy)
            for value, pair in zip(got, task.operands() + task.operands()[:1]):
                assert np.abs(value - f(*pair)).max() < 1e-5, (name, kind)
        for case in ("mlp/20-15-10/12", "convnet/convsmall/1", "rnn/lstm-5-6-7/3", "rbm/20-15-3/12",
                     "conv/i2x9x8,k3x3x2,b2/weights"):
            run, units = FORMS[name].make(case, "float32", 1)
            run(2)
            assert units > 0, (name, case)
        print(f"{name} has all cases")
