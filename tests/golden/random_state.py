#!/usr/bin/env python3
"""Writes random_state.txt: what NumPy's RandomState gives, for tests/compiler/base/random_state_test.cpp.

Run: python3 tests/golden/random_state.py
Each line is a case: name, seed, arguments, "=", values (doubles as hex floats).
"""
import pathlib
import zlib

import numpy as np

SEEDS = [0, 1, 1234, 23455, 4294967295]
lines = [f"# written by random_state.py with NumPy {np.__version__}"]


def show(value):
    return float(value).hex() if isinstance(value, (float, np.floating)) else str(int(value))


def case(name, seed, arguments, values):
    values = list(values)
    lines.append(" ".join([name, str(seed), *map(show, arguments), "=", *map(show, values)]))


def checksum(array):
    return [zlib.crc32(np.ascontiguousarray(array).tobytes())]


for seed in SEEDS:
    def fresh():
        return np.random.RandomState(seed)

    case("random_sample", seed, [8], fresh().random_sample(8))
    case("random_sample_crc", seed, [2000], checksum(fresh().random_sample(2000)))
    case("uniform", seed, [6, -0.5, 2.25], fresh().uniform(-0.5, 2.25, 6))
    case("uniform_crc", seed, [784 * 500, -0.06835859, 0.06835859],
         checksum(fresh().uniform(-0.06835859, 0.06835859, (784, 500))))
    case("normal", seed, [7, 0.5, 3.0], fresh().normal(0.5, 3.0, 7))
    case("normal_crc", seed, [5001, 0.0, 0.01], checksum(fresh().normal(0.0, 0.01, 5001)))
    for low, high in [(0, 1), (0, 10), (-7, 6), (0, 2**32), (0, 2**32 + 5), (-2**63, 2**63 - 1), (5, 2**40)]:
        case("integers", seed, [5, low, high], fresh().randint(low, high, 5, dtype=np.int64))
    for n in [0, 1, 2, 11]:
        case("permutation", seed, [n], fresh().permutation(n))
    case("permutation_crc", seed, [50000], checksum(fresh().permutation(50000).astype(np.int64)))

# One generator through everything: the held-back normal number must survive the calls between.
rng = np.random.RandomState(99)
mixed = [rng.normal(), rng.random_sample(), rng.normal(1.0, 2.0), float(rng.randint(0, 1000, dtype=np.int64))]
order = np.arange(6)
rng.shuffle(order)
mixed += [float(i) for i in order] + [rng.normal(), rng.uniform(3.0, 4.0)]
case("mixed", 99, [], mixed)
state = rng.get_state()
case("state", 99, [], [state[2], state[3], float(state[4]), zlib.crc32(state[1].astype("<u4").tobytes())])

pathlib.Path(__file__).with_name("random_state.txt").write_text("\n".join(lines) + "\n")
