"""Writes tests/golden/sparse/: matrices as SciPy and its Matrix Market writer save them.

    python3 tests/golden/sparse.py

The files there are of SciPy 1.17 and NumPy 2.4.
"""
import os

import numpy as np
import scipy.io
import scipy.sparse as sp

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sparse")
x = np.array([[1.5, 0, -2, 0], [0, 0, 0, 0], [0, 3, 0, 4]])

sp.save_npz(f"{folder}/csr.npz", sp.csr_matrix(x.astype(np.float32)), compressed=False)
sp.save_npz(f"{folder}/csc_deflated.npz", sp.csc_array(x))
sp.save_npz(f"{folder}/coo.npz", sp.coo_array((x * 2).astype(np.int64)), compressed=False)
sp.save_npz(f"{folder}/complex.npz", sp.csr_array(x * (1 + 2j)), compressed=False)
empty = sp.csr_array((2, 3), dtype=np.float64)
sp.save_npz(f"{folder}/empty.npz", empty, compressed=False)
sp.save_npz(f"{folder}/bsr.npz", sp.bsr_array(np.ones((2, 2))), compressed=False)

scipy.io.mmwrite(f"{folder}/real.mtx", sp.coo_array(x), comment="a comment")
square = np.array([[1, 0, 2], [0, 3, 0], [2, 0, 0]])
scipy.io.mmwrite(f"{folder}/symmetric.mtx", sp.coo_array(square))
skew = np.array([[0, -1.5], [1.5, 0]])
scipy.io.mmwrite(f"{folder}/skew.mtx", sp.coo_array(skew), symmetry="skew-symmetric")
scipy.io.mmwrite(f"{folder}/complex.mtx", sp.coo_array(np.array([[1, 2 - 1j], [2 + 1j, 0]])), symmetry="hermitian")
scipy.io.mmwrite(f"{folder}/pattern.mtx", sp.coo_array(x), field="pattern")
