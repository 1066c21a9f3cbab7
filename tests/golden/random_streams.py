#!/usr/bin/env python3
"""Writes random_streams.txt: what NumPy's RandomState gives, for tests/compiler/runtime/random_streams_test.cpp.

Run: python3 tests/golden/random_streams.py
Each line is a case of a stream of seed 1234 whose only variable it is: name, "=", the numbers of a first call, "=",
those of a second one (doubles as hex floats), or the checksums of their bytes.
"""
import pathlib
import zlib

import numpy as np

SEED = 1234
lines = [f"# written by random_streams.py with NumPy {np.__version__}"]


def variable(seed=SEED):
    """The generator of a stream's first variable."""
    return np.random.RandomState(int(np.random.RandomState(seed).randint(2**30)))


def show(value):
    return float(value).hex() if isinstance(value, (float, np.floating)) else str(int(value))


def case(name, draw, crc=False):
    rng = variable()
    words = [name]
    for _ in range(2):
        values = np.asarray(draw(rng))
        words.append("=")
        if crc:
            words.append(str(zlib.crc32(np.ascontiguousarray(values).tobytes())))
        else:
            words += [show(value) for value in values.ravel()]
    lines.append(" ".join(words))


A, B = np.array([0.25, 1.0, 3.5]), np.array([[0.5], [2.0]])  # (3) and (2, 1)
P, Q = np.array([0.1, 0.5, 0.9]), np.array([[0.02], [0.75]])
N = np.array([1, 60, 1000])
C = np.array([[2.0, 0.5, -0.25], [0.5, 1.0, 0.125], [-0.25, 0.125, 3.0]])
L = np.array([[0.5 ** abs(i - j) + (i == j) * i / 8 for j in range(40)] for i in range(40)])

case("random_sample", lambda r: r.random_sample((2, 3)))
case("random_sample_crc", lambda r: r.random_sample(100001), True)
case("uniform", lambda r: r.uniform(-0.5, 2.25, 5))
case("uniform_arrays", lambda r: r.uniform(-A, B, (2, 3)))
case("uniform_float32_crc", lambda r: r.uniform(-2, 3, 5001).astype("float32"), True)
case("normal", lambda r: r.normal(0.5, 3.0, 7))
case("normal_arrays", lambda r: r.normal(A, B, (2, 3)))
case("normal_crc", lambda r: r.normal(0.5, 3.0, 70001), True)
case("normal_float32_crc", lambda r: r.normal(0.5, 3.0, 5001).astype("float32"), True)
case("standard_normal_crc", lambda r: r.standard_normal((71, 3)), True)
case("lognormal", lambda r: r.lognormal(0.5, 0.25, 5))
case("lognormal_arrays", lambda r: r.lognormal(A, B, (2, 3)))
case("exponential", lambda r: r.exponential(2.5, 5))
case("exponential_arrays", lambda r: r.exponential(A))
case("laplace", lambda r: r.laplace(0.5, 2.0, 5))
case("laplace_arrays", lambda r: r.laplace(A, B, (2, 3)))
case("logistic", lambda r: r.logistic(0.5, 2.0, 5))
case("logistic_arrays", lambda r: r.logistic(A, B, (2, 3)))
for shape in (0.0, 0.3, 1.0, 2.5):
    case(f"gamma_{shape}", lambda r: r.gamma(shape, 2.0, 5))
case("gamma_arrays_crc", lambda r: r.gamma(A, B, (2, 3)), True)
case("gamma_crc", lambda r: r.gamma(2.5, 2.0, 3000), True)
for a, b in ((0.4, 0.7), (2.0, 0.7), (3.0, 4.0)):
    case(f"beta_{a}_{b}", lambda r: r.beta(a, b, 5))
case("beta_arrays", lambda r: r.beta(A, B, (2, 3)))
case("beta_crc", lambda r: r.beta(0.4, 0.7, 3000), True)
case("chisquare", lambda r: r.chisquare(3.0, 5))
case("chisquare_arrays", lambda r: r.chisquare(A))
for rate in (0.0, 0.5, 9.5, 10.0, 1e6):
    case(f"poisson_{rate}", lambda r: r.poisson(rate, 6))
case("poisson_arrays", lambda r: r.poisson(A * B, (2, 3)))
case("poisson_crc", lambda r: r.poisson(31.5, 3000), True)
for n, p in ((0, 0.5), (10, 0.0), (10, 0.25), (10, 1.0), (1000, 0.25), (1000, 0.75), (10**6, 0.5)):
    case(f"binomial_{n}_{p}", lambda r: r.binomial(n, p, 6))
case("binomial_arrays", lambda r: r.binomial(N, Q, (2, 3)))
case("binomial_crc", lambda r: r.binomial(500, 0.4, 3000), True)
for p in (0.01, 0.3, 0.34, 1.0):
    case(f"geometric_{p}", lambda r: r.geometric(p, 6))
case("geometric_arrays", lambda r: r.geometric(P))
for low, high in ((0, 1), (0, 10), (-7, 6), (0, 2**32), (0, 2**32 + 5), (-2**63, 2**63 - 1)):
    case(f"randint_{low}_{high}", lambda r: r.randint(low, high, 5, dtype=np.int64))
case("randint_arrays", lambda r: r.randint(-N, N, dtype=np.int64))
case("random_integers", lambda r: r.randint(-3, 9, 7, dtype=np.int64))
case("choice_of_count", lambda r: r.choice(11, 7))
case("choice_of_vector", lambda r: r.choice(A, (2, 4)))
case("choice_with_p", lambda r: r.choice(5, (2, 4), p=[0.1, 0.3, 0.0, 0.4, 0.2]))
case("choice_with_p_crc", lambda r: r.choice(5, 3000, p=[0.1, 0.3, 0.0, 0.4, 0.2]), True)
case("choice_without_replacement", lambda r: r.choice(11, (2, 3), replace=False))
case("choice_without_replacement_with_p", lambda r: r.choice(6, 4, replace=False, p=[0.1, 0.3, 0.05, 0.3, 0.2, 0.05]))
case("permutation", lambda r: r.permutation(12))
case("permutation_rows", lambda r: [r.permutation(5) for _ in range(3)])
case("permutation_crc", lambda r: r.permutation(5000), True)
case("shuffle", lambda r: r.permutation(np.arange(15).reshape(5, 3)))
case("shuffle_row_elements", lambda r: [row[r.permutation(4)] for row in np.arange(12.0).reshape(3, 4)])
case("multinomial", lambda r: r.multinomial(40, [0.2, 0.3, 0.1, 0.4], 3))
case("multinomial_zero", lambda r: r.multinomial(40, [0.2, 0.0, 0.4, 0.4], 3))
case("multinomial_rows", lambda r: [r.multinomial(n, p) for n, p in zip((5, 0, 900), ((0.2, 0.8), (0.5, 0.5), (1, 0)))])

case("multivariate_normal", lambda r: r.multivariate_normal([1.0, -2.0, 0.5], C, (2, 2)))
case("multivariate_normal_large", lambda r: r.multivariate_normal(np.arange(40.0), L, 2))

# Two variables of one stream, and another seed by an array of words.
seeds = np.random.RandomState(SEED)
first, second = (np.random.RandomState(int(seeds.randint(2**30))) for _ in range(2))


def pair(name, first_call, second_call):
    lines.append(" ".join([name, "=", *map(show, first_call), "=", *map(show, second_call)]))


pair("two_variables", first.random_sample(2), second.normal(size=3))
words = variable([1, 2, 3, 4294967295])
pair("seeded_by_words", words.random_sample(3), words.random_sample(3))
raw = np.random.RandomState(SEED)
pair("raw", raw.uniform(size=3), raw.normal(size=3))

pathlib.Path(__file__).with_name("random_streams.txt").write_text("\n".join(lines) + "\n")
