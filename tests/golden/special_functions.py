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
WAVES = [1e-10, 0.001, 0.1, -0.7, 1.0, 2.0, 2.4048, -3.0, 3.8317, 5.52, 7.0, 7.99, 8.01, 12.3, -15.0, 19.9, 20.1, 33.3,
         75.0, 300.5]
ABOVE = [1e-6, 0.01, 0.2, 0.9, 1.2, 1.3, 2.0, 3.5, 6.0, 7.9, 8.1, 12.0, 20.0, 40.0]
ORDERS = [0.125, 0.5, 1.0, 1.9, 2.1, 4.0, 9.5, 10.5, 20.0, 60.0, 98.5, 99.5, 110.0, 150.0]


def scaled(n):
    return lambda x: mp.besseli(n, x) * mp.exp(-abs(mp.mpf(x)))


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
    "gamma": (mp.gamma, [x for x in POSITIVE if 1e-30 <= x < 171.6] + [13.5, 35.0, 100.25] + NEGATIVE),
    "j0": (lambda x: mp.besselj(0, x), WAVES),
    "j1": (lambda x: mp.besselj(1, x), WAVES),
    "jv_2": (lambda x: mp.besselj(2, x), WAVES),
    "jv_-3": (lambda x: mp.besselj(-3, x), WAVES),
    "jv_20": (lambda x: mp.besselj(20, x), [x for x in WAVES if abs(x) > 0.05]),
    "iv_2": (lambda x: mp.besseli(2, x), [x for x in ANY if abs(x) < 85]),
    "ive_3": (scaled(3), [x for x in ANY if abs(x) > 1e-4]),
    "ive_20": (scaled(20), [x for x in ANY if abs(x) > 0.05]),
    "gammainc_0.25": (lambda x: mp.gammainc(0.25, 0, x, regularized=True), ABOVE),
    "gammainc_7": (lambda x: mp.gammainc(7, 0, x, regularized=True), ABOVE),
    "gammainc_of_3": (lambda a: mp.gammainc(a, 0, 3, regularized=True), ORDERS),
    "gammainc_of_100": (lambda a: mp.gammainc(a, 0, 100, regularized=True), ORDERS),
    "gammaincc_0.25": (lambda x: mp.gammainc(0.25, x, mp.inf, regularized=True), ABOVE),
    "gammaincc_7": (lambda x: mp.gammainc(7, x, mp.inf, regularized=True), ABOVE),
    "gammaincc_of_3": (lambda a: mp.gammainc(a, 3, mp.inf, regularized=True), ORDERS),
    "gammal_3": (lambda x: mp.gammainc(3, 0, x), ABOVE),
    "gammau_3": (lambda x: mp.gammainc(3, x, mp.inf), ABOVE),
    "chi2sf_5": (lambda x: mp.gammainc(2.5, x / 2, mp.inf, regularized=True), ABOVE),
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
