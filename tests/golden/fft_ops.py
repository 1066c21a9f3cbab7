#!/usr/bin/env python3
"""Writes fft_ops.txt: what NumPy and SciPy make of transforms, for tests/compiler/ops/fft_golden_test.cpp.

Run: python3 tests/golden/fft_ops.py. "input NAME dtype = [shape] values", then cases: builder, input, settings, dtype,
"=", shape and values. Complex values are pairs. The lengths, axes and norms are those of NumPy's test_pocketfft.py and
test_helper.py, SciPy's test_real_transforms.py and PyTensor's test_fft.py, and lengths of every radix.
"""
import itertools
import pathlib

import numpy as np
import scipy
import scipy.fft

random = np.random.RandomState(38)
lines = [f"# written by fft_ops.py with NumPy {np.__version__} and SciPy {scipy.__version__}"]
inputs = {}


def text(value):
    value = np.asarray(value)
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    numbers = value.ravel()
    if np.iscomplexobj(numbers):
        numbers = numbers.view(numbers.real.dtype)
    digits = 8 if numbers.dtype == np.float32 else 13
    return " ".join([shape, *(f"{v:.{digits}g}" for v in numbers.tolist())])


def add_input(name, array):
    inputs[name] = np.round(array, 3)  # short texts
    lines.append(f"input {name} {inputs[name].dtype} = {text(inputs[name])}")


def list_of(numbers):
    return "[" + ",".join(map(str, numbers)) + "]"


def case(name, key, settings, value):
    lines.append(f"{name} {key} {settings} {value.dtype} = {text(value)}")


def complex_of(*shape):
    return random.normal(size=shape) + 1j * random.normal(size=shape)


for n in (1, 2, 3, 7, 8, 15, 30, 67):
    add_input(f"c{n}", complex_of(n))
    add_input(f"r{n}", random.normal(size=n))
add_input("cs", complex_of(3, 12).astype(np.complex64))
add_input("rs", random.normal(size=(3, 12)).astype(np.float32))
add_input("matrix", complex_of(6, 5))
add_input("real", random.normal(size=(4, 6)))
add_input("cube", complex_of(3, 2, 5))
add_input("real_cube", random.normal(size=(4, 3, 6)))
add_input("four", complex_of(2, 3, 2, 4))
add_input("ints", np.arange(10).reshape(2, 5))

NORMS = ("backward", "ortho", "forward")
# One axis. Settings: n (0: none), axis, norm.
for key in [k for k in inputs if k[0] in "cr" and k[1:].isdigit()] + ["cs", "rs"]:
    x = inputs[key]
    for norm in NORMS if x.shape[-1] < 10 else NORMS[len(key) % 2:][:1]:  # of long ones backward or ortho
        if np.iscomplexobj(x):
            case("fft", key, f"0,-1,{norm}", np.fft.fft(x, norm=norm))
            case("ifft", key, f"0,-1,{norm}", np.fft.ifft(x, norm=norm))
            for n in ({2 * (x.shape[-1] - 1) or 1, 2 * x.shape[-1] - 1} if key != "c67" else {133}):
                case("irfft", key, f"{n},-1,{norm}", np.fft.irfft(x, n, norm=norm))
        else:
            case("rfft", key, f"0,-1,{norm}", np.fft.rfft(x, norm=norm))
for norm in NORMS:
    for n in (3, 5, 8):
        for axis in (0, 1):
            case("fft", "matrix", f"{n},{axis},{norm}", np.fft.fft(inputs["matrix"], n, axis, norm))
            case("ifft", "matrix", f"{n},{axis},{norm}", np.fft.ifft(inputs["matrix"], n, axis, norm))
            case("irfft", "matrix", f"{n},{axis},{norm}", np.fft.irfft(inputs["matrix"], n, axis, norm))
            case("rfft", "real", f"{n},{axis},{norm}", np.fft.rfft(inputs["real"], n, axis, norm))
case("fft", "ints", "0,-1,backward", np.fft.fft(inputs["ints"]))
case("rfft", "ints", "0,0,backward", np.fft.rfft(inputs["ints"], axis=0))
case("fft", "real", "0,-1,backward", np.fft.fft(inputs["real"]))
case("irfft", "real", "0,-1,backward", np.fft.irfft(inputs["real"]))


def norms_of(axes):
    return NORMS if axes == (0, 1, 2) else NORMS[sum(axes) % 3:][:1]


# Several. Settings: axes, lengths, norm.
for key, axes in [("cube", a) for a in ((0,), (2,), (0, 1), (1, 2), (2, 0), (0, 1, 2))] + [
        ("four", a) for a in ((0, 1, 2, 3), (0, 1, 3), (3, 1))]:
    for norm in norms_of(axes):
        case("fftn", key, f"{list_of(axes)},[],{norm}", np.fft.fftn(inputs[key], axes=axes, norm=norm))
        case("ifftn", key, f"{list_of(axes)},[],{norm}", np.fft.ifftn(inputs[key], axes=axes, norm=norm))
        case("irfftn", key, f"{list_of(axes)},[],{norm}", np.fft.irfftn(inputs[key], axes=axes, norm=norm))
for axes in ((0,), (2,), (0, 1), (1, 2), (2, 0), (0, 1, 2)):
    for norm in norms_of(axes):
        case("rfftn", "real_cube", f"{list_of(axes)},[],{norm}",
             np.fft.rfftn(inputs["real_cube"], axes=axes, norm=norm))
for lengths in ((2, 6), (4, 3), (7, 5)):
    case("fftn", "cube", f"[1,2],{list_of(lengths)},backward", np.fft.fftn(inputs["cube"], lengths, (1, 2)))
    case("ifftn", "cube", f"[0,2],{list_of(lengths)},ortho", np.fft.ifftn(inputs["cube"], lengths, (0, 2), "ortho"))
    case("rfftn", "real_cube", f"[1,2],{list_of(lengths)},backward", np.fft.rfftn(inputs["real_cube"], lengths, (1, 2)))
    case("irfftn", "cube", f"[1,2],{list_of(lengths)},forward",
         np.fft.irfftn(inputs["cube"], lengths, (1, 2), "forward"))
for norm in NORMS:
    case("fft2", "cube", f"[],[],{norm}", np.fft.fft2(inputs["cube"], norm=norm))
    case("ifft2", "cube", f"[],[],{norm}", np.fft.ifft2(inputs["cube"], norm=norm))
    case("rfft2", "real_cube", f"[],[],{norm}", np.fft.rfft2(inputs["real_cube"], norm=norm))
    case("irfft2", "cube", f"[],[],{norm}", np.fft.irfft2(inputs["cube"], norm=norm))
# Shifts: axes.
for key, axes in (("r7", (0,)), ("r8", (0,)), ("matrix", (0, 1)), ("matrix", (1,)), ("cube", (0, 2))):
    case("fftshift", key, list_of(axes), np.fft.fftshift(inputs[key], axes))
    case("ifftshift", key, list_of(axes), np.fft.ifftshift(inputs[key], axes))
case("fftshift", "cube", "[]", np.fft.fftshift(inputs["cube"]))
# Frequencies: n, spacing; the input is not read.
for n, spacing in itertools.product((1, 2, 8, 9), (1.0, 0.25)):
    case("fftfreq", "r1", f"{n},{spacing}", np.fft.fftfreq(n, spacing))
    case("rfftfreq", "r1", f"{n},{spacing}", np.fft.rfftfreq(n, spacing))
# Cosines: type, n, axis, norm.
for key in ("r1", "r2", "r3", "r7", "r8", "r15", "rs"):
    for kind, norm in itertools.product((2, 3), NORMS):
        case("dct", key, f"{kind},0,-1,{norm}", scipy.fft.dct(inputs[key], kind, norm=norm))
        case("idct", key, f"{kind},0,-1,{norm}", scipy.fft.idct(inputs[key], kind, norm=norm))
for n, axis in ((3, 0), (7, 0), (4, 1)):
    case("dct", "real", f"2,{n},{axis},ortho", scipy.fft.dct(inputs["real"], 2, n, axis, "ortho"))
    case("idct", "real", f"2,{n},{axis},backward", scipy.fft.idct(inputs["real"], 2, n, axis))

pathlib.Path(__file__).with_name("fft_ops.txt").write_text("\n".join(lines) + "\n")
print(sum(not line.startswith(("#", "input")) for line in lines), "cases")
