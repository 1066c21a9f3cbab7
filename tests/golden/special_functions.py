#!/usr/bin/env python3
"""Writes special_functions.txt: special functions by mpmath, for tests/compiler/ops/special_functions_test.cpp.

Run: python3 tests/golden/special_functions.py. Lines "NAME = [n] arguments" and "NAME values = [n] values"; arguments
are floats of 24 bits, so that they are the same numbers in float32.
"""
import pathlib
import struct

import mpmath as mp

mp.mp.dps = 40


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def erfcx(x):
    x = mp.mpf(x)
    if x < 20:
        return mp.exp(x * x) * mp.erfc(x)
    return mp.quad(lambda t: mp.exp(-t * t - 2 * x * t), [0, 1 / x, 10 / x, 100 / x]) * 2 / mp.sqrt(mp.pi)


def erfcinv(p):
    p = mp.mpf(p)
    return -erfcinv(2 - p) if p > 1 else mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(p),
                                                    mp.sqrt(-mp.log(p)) * mp.mpf("0.8") + mp.mpf("0.01"))


POSITIVE = [1e-30, 1e-5, 0.01, 0.1, 0.3, 0.5, 0.74, 0.76, 0.9, 0.999, 1.001, 1.25, 1.4, 1.46, 1.5, 1.75, 1.99, 2.01,
            2.5, 3.0, 3.2, 3.3, 4.0, 5.5, 7.7, 9.9, 10.1, 15.0, 33.3, 171.5, 1e3, 1e5, 1e10, 1e30]
NEGATIVE = [-0.1, -0.5, -0.9, -1.1, -1.5, -2.75, -5.3, -20.4]
ANY = [-9.0, -5.5, -2.0, -1.0, -0.1, -1e-5, 1e-20, 1e-3, 0.1, 0.5, 0.9, 1.1, 1.9, 2.1, 3.3, 5.0, 7.9, 8.1, 9.0, 12.0,
       20.0, 29.0, 31.0, 80.0, 600.0]
UNIT = [-0.999999, -0.99, -0.7, -0.1, 1e-20, 1e-6, 0.05, 0.3, 0.5, 0.9, 0.95, 0.998, 0.9995, 0.9999999]
TAIL = [1e-37, 1e-30, 1e-20, 1e-10, 1e-5, 1e-3, 0.01, 0.1, 0.4, 0.7, 0.9, 1.1, 1.5, 1.9, 1.999, 1.9999999]
FUNCTIONS = {
    "gammaln": (lambda x: mp.log(abs(mp.gamma(x))) if abs(x) < 1e4 else mp.loggamma(x), POSITIVE + NEGATIVE),
    "psi": (mp.digamma, POSITIVE + NEGATIVE),
    "trigamma": (lambda x: mp.polygamma(1, x), [x for x in POSITIVE if 1e-5 <= x <= 1e10]),
    "polygamma4": (lambda x: mp.polygamma(4, x), [x for x in POSITIVE if 0.01 <= x <= 1e5]),
    "erfcx": (erfcx, ANY + [1e5]),
    "erfinv": (mp.erfinv, UNIT),
    "erfcinv": (erfcinv, TAIL),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(mp.mpf(x))), ANY),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(mp.mpf(x))), ANY),
    "i0": (lambda x: mp.besseli(0, x), [x for x in ANY if abs(x) < 85]),
    "i1": (lambda x: mp.besseli(1, x), [x for x in ANY if abs(x) < 85]),
    "logit": (lambda x: mp.log(x) - mp.log1p(-x), [1e-10, 0.1, 0.4, 0.6, 0.9, 0.999]),
    "log1mexp": (lambda x: mp.log(-mp.expm1(-x)), [1e-10, 0.01, 0.5, 0.69, 0.7, 2.0, 20.0]),
}

lines = [f"# written by special_functions.py with mpmath {mp.__version__}"]
for name, (function, arguments) in FUNCTIONS.items():
    arguments = [single(x) for x in arguments]
    values = [function(mp.mpf(x)) for x in arguments]
    lines.append(f"{name} arguments = [{len(arguments)}] " + " ".join(f"{x!r}" for x in arguments))
    lines.append(f"{name} values = [{len(values)}] " + " ".join(mp.nstr(v, 20) for v in values))
pathlib.Path(__file__).with_name("special_functions.txt").write_text("\n".join(lines) + "\n")
