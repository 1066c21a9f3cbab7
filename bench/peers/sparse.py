"""Products of sparse matrices, their gradients, and a training step.

A case is "dot/10000x10000x64/0.1": what, rows, columns, columns of the dense operand, and the percentage of elements
that are stored, in int32 indices. Rates are GFLOP/s: two operations for each multiply-add.

  dot         A X
  dense       A^T D, the gradient by the dense operand
  stored      (D X^T) at the stored elements, the gradient by these (a sampled dense-dense product)
  sparse/RxC/P    A B of two such matrices (B has C rows and columns), a sparse matrix with sorted indices
  logistic/BxF/P  a training step of logistic regression: batch, features. Four operations for each stored element

The matrix stays, so that what can be found out about it may be kept; "mkl_inspected" finds it out in each call. The
matrix of `logistic` is another one in each call, as minibatches are.
"""
import ctypes
import functools
import importlib.metadata

from worker import Form, mkl


def matrix(rng, rows, columns, percent, dtype):
    """As many draws in each row; those that come twice count once."""
    import numpy as np
    import scipy.sparse
    draws = max(1, round(columns * percent / 100))
    indices, indptr = [], [0]
    for _ in range(rows):
        indices.append(np.unique(rng.randint(0, columns, draws)))
        indptr.append(indptr[-1] + len(indices[-1]))
    data = rng.uniform(-1, 1, indptr[-1]).astype(dtype)
    return scipy.sparse.csr_matrix((data, np.concatenate(indices).astype(np.int32), np.array(indptr, np.int32)),
                                   (rows, columns))


class Case:
    def __init__(self, text, dtype):
        import numpy as np
        self.what, lengths, percent = text.split("/")
        lengths = [int(n) for n in lengths.split("x")]
        rng = np.random.RandomState(7)
        self.a = matrix(rng, lengths[0], lengths[1], float(percent), dtype)
        self.dtype = np.dtype(dtype)
        if self.what == "sparse":
            self.b = matrix(rng, lengths[1], lengths[1], float(percent), dtype)
            self.flops = 2 * float(np.diff(self.b.indptr)[self.a.indices].sum())
        elif self.what == "logistic":
            self.x = np.zeros(lengths[1], dtype)
            self.d = (rng.uniform(-1, 1, lengths[0]) > 0).astype(dtype)
            self.flops = 4 * self.a.nnz
        else:
            n = lengths[2]
            self.x, self.d = [rng.uniform(-1, 1, (m, n)).astype(dtype) for m in (lengths[1], lengths[0])]
            self.flops = 2 * self.a.nnz * n


def refuse(case, *what):
    if case.what in what:
        raise RuntimeError(f"has no product of the kind {case.what}")


def scipy_call(case):
    import numpy as np
    a, x, at = case.a, getattr(case, "x", None), case.a.T
    if case.what == "stored":
        rows, columns = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)), a.indices
        if a.nnz * x.shape[1] > 2e8:
            raise RuntimeError("two dense temporaries of all multiply-adds")
        return lambda: np.einsum("ek,ek->e", case.d[rows], x[columns])
    if case.what == "logistic":
        def step():
            p = 1 / (1 + np.exp(-(a @ x)))
            x[:] -= case.dtype.type(0.1 / a.shape[0]) * (at @ (p - case.d))
            return x
        return step
    if case.what == "sparse":
        def product():
            out = a @ case.b
            out.sort_indices()
            return out
        return product
    return {"dot": lambda: a @ x, "dense": lambda: at @ case.d}[case.what]


def torch_csr(a):
    import torch
    return torch.sparse_csr_tensor(torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data),
                                   a.shape)


def torch_call(case):
    import numpy as np
    import torch
    torch.set_grad_enabled(False)
    a, at = torch_csr(case.a), torch_csr(case.a.T.tocsr())
    if case.what == "sparse":
        b = torch_csr(case.b)
        return lambda: a @ b
    x, d = torch.from_numpy(case.x), torch.from_numpy(case.d)
    if case.what == "stored":
        ones = torch_csr(case.a.astype(bool).astype(case.dtype))
        xt = x.T
        return lambda: torch.sparse.sampled_addmm(ones, d, xt, beta=0.0)
    if case.what == "logistic":
        # The transpose of a new matrix: adding at its columns is faster than making it.
        rows = torch.from_numpy(np.repeat(np.arange(case.a.shape[0]), np.diff(case.a.indptr)))
        columns, values = torch.from_numpy(case.a.indices.astype(np.int64)), torch.from_numpy(case.a.data)

        def step():
            e = (torch.sigmoid(a @ x) - d) * (-0.1 / d.shape[0])
            return x.index_add_(0, columns, values * e[rows])
        return step
    return {"dot": lambda: a @ x, "dense": lambda: at @ d}[case.what]


def jax_call(case):
    import jax
    from jax.experimental import sparse
    refuse(case, "stored", "sparse")
    if case.what != "logistic" and case.a.nnz * case.x.shape[1] > 1e8:
        raise RuntimeError("a dense temporary of all multiply-adds")
    a = sparse.BCSR.from_scipy_sparse(case.a)
    if case.what == "logistic":
        weights = [jax.numpy.asarray(case.x)]
        labels = jax.numpy.asarray(case.d)

        @functools.partial(jax.jit, donate_argnums=1)
        def update(m, w, t):
            e = (jax.nn.sigmoid(m @ w) - t) * (-0.1 / t.shape[0])
            coordinates = m.to_bcoo()
            return w.at[coordinates.indices[:, 1]].add(coordinates.data * e[coordinates.indices[:, 0]])

        def step():
            weights[0] = update(a, weights[0], labels)
            return weights[0].block_until_ready()
        return step
    if case.what == "dense":
        a = sparse.BCSR.from_scipy_sparse(case.a.T.tocsr())
    x = jax.numpy.asarray(case.x if case.what == "dot" else case.d)
    f = jax.jit(lambda m, v: m @ v)
    return lambda: f(a, x).block_until_ready()


class Description(ctypes.Structure):
    """A general matrix."""
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


class Handle:
    """A matrix of MKL's; `calls` products are announced, 0: none."""
    GENERAL, ROW_MAJOR, NOT_TRANSPOSED, TRANSPOSED = 20, 101, 10, 11

    def __init__(self, a, calls, transposed=False, n=1):
        import numpy as np
        self.letter, self.a, self.handle = "s" if a.dtype == np.float32 else "d", a, ctypes.c_void_p()
        self.scalar = ctypes.c_float if a.dtype == np.float32 else ctypes.c_double
        self.description = Description(self.GENERAL, 0, 0)
        at = a.indptr.ctypes.data
        self.check(self.call("create_csr")(ctypes.byref(self.handle), 0, a.shape[0], a.shape[1], ctypes.c_void_p(at),
                                           ctypes.c_void_p(at + 4), ctypes.c_void_p(a.indices.ctypes.data),
                                           ctypes.c_void_p(a.data.ctypes.data)))
        self.operation = self.TRANSPOSED if transposed else self.NOT_TRANSPOSED
        if calls:
            if n == 1:
                self.check(mkl().mkl_sparse_set_mv_hint(self.handle, self.operation, self.description, calls))
            else:
                self.check(mkl().mkl_sparse_set_mm_hint(self.handle, self.operation, self.description, self.ROW_MAJOR,
                                                        n, calls))
            self.check(mkl().mkl_sparse_optimize(self.handle))

    def call(self, name):
        return getattr(mkl(), f"mkl_sparse_{self.letter}_{name}")

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"mkl_sparse gives the status {status}")

    def times(self, x, out):
        to = [ctypes.c_void_p(v.ctypes.data) for v in (x, out)]
        if x.ndim == 1 or x.shape[1] == 1:
            self.check(self.call("mv")(self.operation, self.scalar(1), self.handle, self.description, to[0],
                                       self.scalar(0), to[1]))
        else:
            n = x.shape[1]
            self.check(self.call("mm")(self.operation, self.scalar(1), self.handle, self.description, self.ROW_MAJOR,
                                       to[0], n, n, self.scalar(0), to[1], n))
        return out

    def __del__(self):
        mkl().mkl_sparse_destroy(self.handle)


def mkl_sparse_product(case, inspected):
    import numpy as np
    operands = [Handle(m, 0) for m in (case.a, case.b)]

    def product():
        a, b = [Handle(m, 0) for m in (case.a, case.b)] if inspected else operands
        out = Handle.__new__(Handle)
        out.handle = ctypes.c_void_p()
        a.check(mkl().mkl_sparse_spmm(a.operation, a.handle, b.handle, ctypes.byref(out.handle)))
        a.check(mkl().mkl_sparse_order(out.handle))
        rows, columns, first, end, indices, data = (ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p(),
                                                    ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p())
        base = ctypes.c_int()
        a.check(a.call("export_csr")(out.handle, ctypes.byref(base), ctypes.byref(rows), ctypes.byref(columns),
                                     ctypes.byref(first), ctypes.byref(end), ctypes.byref(indices),
                                     ctypes.byref(data)))

        def array(at, count, dtype):
            return np.ctypeslib.as_array(ctypes.cast(at, ctypes.POINTER(np.ctypeslib.as_ctypes_type(dtype))), (count,))
        ends = array(end, rows.value, np.int32)
        product.shown = lambda: dense_of(array(first, rows.value, np.int32), ends, array(indices, ends[-1], np.int32),
                                         array(data, ends[-1], case.dtype), (rows.value, columns.value))
        product.last = out
        return product
    return product


def dense_of(first, end, indices, data, shape):
    import numpy as np
    out = np.zeros(shape, data.dtype)
    for i, (begin, stop) in enumerate(zip(first, end)):
        out[i, indices[begin:stop]] = data[begin:stop]
    return out


def mkl_call(inspected, case):
    import numpy as np
    refuse(case, "stored")
    if case.what == "sparse":
        return mkl_sparse_product(case, inspected)
    calls = 0 if inspected else 1000
    if case.what == "logistic":
        out, e = np.empty_like(case.d), np.empty_like(case.x)

        def step():
            a = Handle(case.a, 0)
            p = 1 / (1 + np.exp(-a.times(case.x, out)))
            a.operation = Handle.TRANSPOSED
            case.x -= case.dtype.type(0.1 / case.a.shape[0]) * a.times(p - case.d, e)
            return case.x
        return step
    transposed = case.what == "dense"
    given = case.d if transposed else case.x
    out = np.empty_like(case.x if transposed else case.d)
    n = given.shape[1]
    if inspected:
        return lambda: Handle(case.a, 1, transposed, n).times(given, out)
    # The transpose as a matrix of its own is what MKL is fastest with.
    a = Handle(case.a.T.tocsr(), calls, False, n) if transposed else Handle(case.a, calls, False, n)
    return lambda: a.times(given, out)


CALLS = {
    "scipy": (scipy_call, "best", "scipy"),
    "torch": (torch_call, "best", "torch"),
    "jax": (jax_call, "user", "jax"),
    "mkl": (functools.partial(mkl_call, False), "best", "mkl"),
    "mkl_inspected": (functools.partial(mkl_call, True), "best", "mkl"),
}


def form_of(make, kind, needs):
    def make_run(text, dtype, threads):
        if make.__class__ is functools.partial:
            mkl().MKL_Set_Num_Threads(threads)
        case = Case(text, dtype)
        call = make(case)

        def run(calls):
            for _ in range(calls):
                call()
        return run, 1e-9 * case.flops
    return Form(make_run, kind, needs, "borrowed")


FORMS = {name: form_of(*row) for name, row in CALLS.items()}


def shown(result):
    import numpy as np
    if hasattr(result, "shown"):
        return result.shown()
    if hasattr(result, "toarray"):
        return result.toarray()
    if hasattr(result, "layout") and str(result.layout) == "torch.sparse_csr":
        return result.to_dense().numpy()
    return np.array(result)


def check():
    """Every installed peer gives what dense matrices give, in float64; tests/bench/workloads_test.cpp has the sums."""
    import numpy as np
    import os
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    installed = {d.name for d in importlib.metadata.distributions()}
    if "scipy" not in installed:
        print("SciPy is not installed: it makes the matrices")
        return
    for text in ("dot/30x40x1/10", "dot/30x40x5/10", "dense/30x40x1/10", "dense/30x40x5/10", "stored/30x40x5/10",
                 "sparse/30x40/10", "logistic/30x40/10"):
        compared = []
        for name, (make, _, needs) in CALLS.items():
            if needs not in installed:
                continue
            worker.prepare(needs, "float64", 1)
            case = Case(text, "float64")
            a = case.a.toarray()
            try:
                got = shown(make(case)())
            except (RuntimeError, AttributeError):  # an older version lacks it
                continue
            if case.what == "sparse":
                want = a @ case.b.toarray()
            elif case.what == "logistic":
                want = -0.1 / 30 * a.T @ (0.5 - case.d)
            elif case.what == "stored":
                want = case.d @ case.x.T
                want = want * (a != 0) if got.ndim == 2 else want[a != 0]
            else:
                want = a @ case.x if case.what == "dot" else a.T @ case.d
            np.testing.assert_allclose(got.reshape(want.shape), want, 1e-12, 1e-12, err_msg=f"{text} {name}")
            compared.append(name)
        print(f"{text}: {', '.join(compared)} agree, the sum is {want.sum():.15g}")
