#!/usr/bin/env python3
"""Writes suite_linalg.txt: what NumPy, SciPy and PyTensor make of matrices and spectra, for
tests/compiler/suites/linalg_*_test.cpp.

Run: python3 tests/golden/suite_linalg.py, with PyTensor. The cases follow NumPy's linalg/tests/test_linalg.py and
fft/tests/test_pocketfft.py, PyTensor's tests/tensor/test_nlinalg.py, test_slinalg.py and test_fft.py; they are written
anew, with numbers of their own. Complex results are two lines: real and imaginary parts.
"""
import numpy as np
import pytensor.tensor as pt
import scipy.linalg
from pytensor import grad
from pytensor.tensor import fft, nlinalg, slinalg

from suite import Suite, given, positive, spread

s = Suite(__file__)


def shortened(value):
    """Digits that the comparison needs."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value
    digits = 7 if value.dtype == np.float32 else 12
    return np.array([float(f"{v:.{digits}g}") for v in value.ravel()]).reshape(value.shape).astype(value.dtype)


def parts(*values):
    out = []
    for value in values:
        value = np.asarray(value)
        out += [value.real, value.imag] if np.iscomplexobj(value) else [value]
    return [shortened(value) for value in out]


def matrix(shape, dtype, seed):
    out = spread(*shape, seed=seed) + (1j * spread(*shape, seed=seed + 17) if dtype.startswith("complex") else 0)
    return (out + 3 * np.eye(*shape[-2:])).astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


SQUARE = [("single", (2, 2), "float32", 1), ("double", (2, 2), "float64", 2), ("double_2", (3, 3), "float64", 3),
          ("csingle", (2, 2), "complex64", 4), ("cdouble", (2, 2), "complex128", 5),
          ("cdouble_2", (3, 3), "complex128", 6), ("0x0", (0, 0), "float64", 0), ("8x8", (8, 8), "float64", 7),
          ("1x1", (1, 1), "float64", 8), ("double_tile213", (2, 1, 3, 3), "float64", 9),
          ("cdouble_tile213", (2, 1, 2, 2), "complex128", 10)]
s.group = "square"
for name, shape, dtype, seed in SQUARE:
    a, n = matrix(shape, dtype, seed), shape[-1]
    real = a.real.dtype
    b = spread(n, 3, seed=seed + 1).astype(real)
    s.values(f"TestSolve[{name}]", *parts(np.linalg.solve(a, b)))
    s.values(f"TestSolve[{name},vector]", *parts(np.linalg.solve(a, b)[..., 0]))
    s.values(f"TestInv[{name}]", *parts(np.linalg.inv(a)))
    s.values(f"TestDet[{name}]", *parts(np.linalg.det(a), *np.linalg.slogdet(a)))
    for power in (-3, 0, 2, 5) if n < 8 else (2,):
        s.values(f"TestMatrixPower[{name},{power}]", *parts(np.linalg.matrix_power(a, power)))
    if n == 0:
        continue
    w = np.linalg.eigvals(a)
    w = np.take_along_axis(w, np.lexsort((w.imag, np.round(w.real, 4))), -1)
    s.values(f"TestEigvals[{name}]", w.real, w.imag)
    s.values(f"TestSVDvals[{name}]", np.linalg.svd(a, compute_uv=False))
    s.values(f"TestPinv[{name}]", *parts(np.linalg.pinv(a)))
    s.values(f"TestCond[{name}]", *(np.linalg.cond(a, p) for p in (None, -2, 1, -1, np.inf, -np.inf)))
    q, r = np.linalg.qr(a)
    d = np.diagonal(r, axis1=-2, axis2=-1)
    s.values(f"TestQR[{name}]", *parts(q * (d / abs(d))[..., None, :], r * np.conj(d / abs(d))[..., None]))
    s.values(f"TestMatrixRank[{name}]", np.int64(np.linalg.matrix_rank(a)))

s.group = "hermitian"
for name, shape, dtype, seed in SQUARE:
    if 0 in shape:
        continue
    a = matrix(shape, dtype, seed)
    h, d = a + adjoint(a), a @ adjoint(a) + np.eye(shape[-1], dtype=dtype)
    w, v = np.linalg.eigh(h)
    s.values(f"TestEigvalsh[h{name}]", np.linalg.eigvalsh(h))
    s.values(f"TestEigh[h{name}]", w, *parts(h))  # which is v . w . v^H
    s.values(f"TestPinvHermitian[h{name}]", *parts(np.linalg.pinv(h)))
    s.values(f"TestCholesky[{name}]", *parts(np.linalg.cholesky(d), adjoint(np.linalg.cholesky(d))))
    s.values(f"test_cholesky_solve[{name}]", *parts(np.linalg.inv(d)))

s.group = "nonsquare"
TALL = [("single_nsq_2", (3, 2), "float32", 1), ("double_nsq_2", (3, 2), "float64", 2),
        ("csingle_nsq_2", (3, 2), "complex64", 3), ("cdouble_nsq_2", (3, 2), "complex128", 4),
        ("8x5", (8, 5), "float64", 5), ("5x1", (5, 1), "float64", 6), ("tile", (2, 1, 4, 2), "float64", 7)]
for name, shape, dtype, seed in TALL:
    for turned in (False, True):
        a = matrix(shape, dtype, seed)
        a, label = (np.swapaxes(a, -1, -2), name + ",wide") if turned else (a, name)
        s.values(f"TestSVD[{label}]", np.linalg.svd(a, compute_uv=False))
        s.values(f"TestPinvNonsquare[{label}]", *parts(np.linalg.pinv(a)))
        s.values(f"TestMatrixRank[{label}]", np.int64(np.linalg.matrix_rank(a)))
        s.values(f"TestCondNonsquare[{label}]", np.linalg.cond(a), np.linalg.cond(a, -2))
        b = spread(a.shape[-2], 2, seed=seed + 2).astype(a.real.dtype)
        wide = np.result_type(dtype, "float64")
        s.values(f"TestLstsq[{label}]", *parts((np.linalg.pinv(a.astype(wide)) @ b).astype(dtype)))

s.group = "norms"
for dtype in ("float64", "float32", "int64"):
    label = {"float64": "Double", "float32": "Single", "int64": "Int64"}[dtype]
    v = np.array([1, 2, -3, 4, 0]).astype(dtype)
    m = np.array([[1, 3, 2], [5, -7, 4]]).astype(dtype)
    cube = (np.arange(24) - 11).reshape(2, 3, 4).astype(dtype)
    out = "float32" if dtype == "float32" else "float64"
    for p in (None, np.inf, -np.inf, 0, 1, 2, 3, 0.5):
        s.values(f"TestNorm{label}.test_vector[{p}]", np.linalg.norm(v, p).astype(out))
    for p in (None, np.inf, -np.inf, 1, -1, 2, -2):
        s.values(f"TestNorm{label}.test_matrix[{p}]", np.linalg.norm(m, p).astype(out))
    s.values(f"TestNorm{label}.test_matrix[nuc]", np.linalg.norm(m, "nuc").astype(out))
    for axis in (0, 1, 2, -1) if dtype == "float64" else (1,):
        for p in (None, 1, 3, np.inf):
            s.values(f"TestNorm{label}.test_axis[{axis},{p}]", np.linalg.norm(cube, p, axis).astype(out),
                     np.linalg.norm(cube, p, axis, keepdims=True).astype(out))
    for axes in ((0, 1), (1, 2), (2, 0), (-1, -2)) if dtype == "float64" else ((2, 0),):
        for p in (None, 1, -1, np.inf, 2):
            s.values(f"TestNorm{label}.test_axis[{axes[0]},{axes[1]},{p}]", np.linalg.norm(cube, p, axes).astype(out))
    s.values(f"TestNorm{label}.test_empty", np.linalg.norm(np.zeros(0, dtype)).astype(out))

s.group = "others"
A, B, C, D = (spread(*shape, seed=k) for k, shape in enumerate(((6, 2), (2, 6), (6, 2), (2, 3))))
s.values("TestMultiDot.test_basic_function_with_two_arguments", np.linalg.multi_dot([A, B]))
s.values("TestMultiDot.test_basic_function_with_three_arguments", np.linalg.multi_dot([A, B, C]))
s.values("TestMultiDot.test_basic_function_with_dynamic_programming_optimization", np.linalg.multi_dot([A, B, C, D]))
s.values("TestMultiDot.test_vector_as_first_argument", np.linalg.multi_dot([A[0], B, C, D]))
s.values("TestMultiDot.test_vector_as_last_argument", np.linalg.multi_dot([A, B, C, D[:, 0]]))
s.values("TestMultiDot.test_vector_as_first_and_last_argument", np.linalg.multi_dot([A[0], B, C, D[:, 0]]))
for shape, ind in (((4, 6, 8, 3), 2), ((24, 8, 3), 1)):
    a = (spread(24, 24, seed=1) + 9 * np.eye(24)).reshape(shape)
    s.values(f"TestTensorinv.test_tensorinv_shape[{ind}]", np.linalg.tensorinv(a, ind))
    b = spread(*shape[:ind], seed=2)
    s.values(f"TestTensorinv.test_tensorinv_result[{ind}]", np.linalg.tensorsolve(a, b))
a = (spread(12, 12, seed=4) + 9 * np.eye(12)).reshape(2, 6, 3, 4)
s.values("TestTensorsolve.test_result", np.linalg.tensorsolve(a, spread(2, 6, seed=5)))
for k, scale in enumerate((0.01, 0.5, 3)):
    s.values(f"test_expm[{k}]", scipy.linalg.expm(scale * spread(4, 4, seed=k)))
s.values("test_expm[zero]", scipy.linalg.expm(np.zeros((3, 3))))
for lower in (True, False):
    for trans in (False, True):
        for unit in (True, False):
            a, b = spread(4, 4, seed=6) + 4 * np.eye(4), spread(4, 2, seed=7)
            flags = f"{lower},{trans},{unit}".lower()
            s.values(f"TestSolveTriangular.test_correctness[{flags}]",
                     scipy.linalg.solve_triangular(a, b, int(trans), lower, unit))
for k, (x, y) in enumerate((((2, 2), (2, 3)), ((1, 3), (3, 1)), ((3, 2), (2, 4)))):
    s.values(f"TestKron.test_perform[{k}]", np.kron(spread(*x, seed=k), spread(*y, seed=k + 1)))
a = spread(3, 4, seed=2)
for offset in (-2, -1, 0, 1, 3):
    s.values(f"test_trace[{offset}]", np.trace(a, offset))

s.group = "gradients"
for n in (1, 2, 4):
    x, b = given(matrix((n, n), "float64", n)), pt.as_tensor(spread(n, 2, seed=9))
    w = pt.as_tensor(positive(n, n))
    s.case(f"test_inverse_grad[{n}]", grad((nlinalg.matrix_inverse(x) * w).sum(), x))
    s.case(f"test_det_grad[{n}]", grad(nlinalg.det(x), x))
    s.case(f"test_trace_grad[{n}]", grad(nlinalg.trace(x @ x), x))
    s.case(f"TestSolveBase.test_solve_grad[{n}]", grad((slinalg.solve(x, b) * pt.as_tensor(positive(n, 2))).sum(), x))
    s.case(f"TestSolveBase.test_solve_triangular_grad[{n}]",
           grad((slinalg.solve_triangular(x, b, lower=True) * pt.as_tensor(positive(n, 2))).sum(), x))
    s.case(f"test_pinv_grad[{n}]", grad((nlinalg.pinv(x) * w).sum(), x))
    s.case(f"test_matrix_power_grad[{n}]", grad((nlinalg.matrix_power(x, 3) * w).sum(), x))
    s.case(f"test_slogdet_grad[{n}]", grad(nlinalg.slogdet(x)[1], x))

s.group = "fft"
NORMS = ("backward", "ortho", "forward")


def signal(*shape, seed=0):
    return spread(*shape, seed=seed) + 1j * spread(*shape, seed=seed + 3)


for n in (1, 2, 3, 4, 5, 6, 7, 9, 11, 16, 21, 30):
    for norm in NORMS if n < 4 else NORMS[n % 3:][:1]:
        s.values(f"TestFFT1D.test_fft[{n},{norm}]", *parts(np.fft.fft(signal(n), norm=norm)))
        s.values(f"TestFFT1D.test_ifft[{n},{norm}]", *parts(np.fft.ifft(signal(n), norm=norm)))
        s.values(f"TestFFT1D.test_rfft[{n},{norm}]", *parts(np.fft.rfft(spread(n), norm=norm)))
        s.values(f"TestFFT1D.test_irfft[{n},{norm}]", np.fft.irfft(signal(n // 2 + 1), n, norm=norm))
for n in (4, 8, 10):
    for axis in (0, 1, -1):
        s.values(f"TestFFT1D.test_axes_and_lengths[{n},{axis}]", *parts(np.fft.fft(signal(5, 6), n, axis),
                                                                        np.fft.rfft(spread(5, 6), n, axis)))
for norm in NORMS:
    x, r = signal(3, 4, 2), spread(3, 2, 6)
    s.values(f"TestFFT1D.test_fft2[{norm}]", *parts(np.fft.fft2(x, norm=norm), np.fft.ifft2(x, norm=norm)))
    s.values(f"TestFFT1D.test_fftn[{norm}]", *parts(np.fft.fftn(x, norm=norm), np.fft.ifftn(x, norm=norm)))
    s.values(f"TestFFT1D.test_rfft2[{norm}]", *parts(np.fft.rfft2(r, norm=norm)))
    s.values(f"TestFFT1D.test_rfftn[{norm}]", *parts(np.fft.rfftn(r, norm=norm)))
    s.values(f"TestFFT1D.test_irfftn[{norm}]", np.fft.irfftn(x, norm=norm))
for axes in ((0, 1), (0, 2), (2, 1), (2, 0, 1)):
    s.values(f"TestFFT1D.test_all_1d_norm_preserving[{','.join(map(str, axes))}]",
             *parts(np.fft.fftn(signal(3, 4, 2), axes=axes)))
for n in (8, 9):
    for name, function in (("fftshift", np.fft.fftshift), ("ifftshift", np.fft.ifftshift)):
        s.values(f"TestFFTShift.test_definition[{name},{n}]", function(np.arange(n) - 4.0))
    s.values(f"TestFFTFreq.test_definition[{n}]", np.fft.fftfreq(n), np.fft.fftfreq(n, 0.25), np.fft.rfftfreq(n))
x = given(spread(4, 10))
for norm in (None, "ortho", "no_norm"):
    s.case(f"TestFFT.test_norm_rfft[{norm}]", fft.rfft(x, norm=norm))
s.case("TestFFT.test_rfft_grad", grad((fft.rfft(x) ** 2).sum(), x))
s.write()
