#!/usr/bin/env python3
"""Writes the arrays of tests/datasets/npy_test.cpp and npz_test.cpp with NumPy: python3 tests/golden/npy/generate.py.

Every array is float/int data 0, 1, 2, ... unless its name says otherwise; `expected.txt` records NumPy's version.
"""
import io
import pathlib
import struct
import zipfile
import zlib

import numpy as np
from numpy.lib import format as npy_format

HERE = pathlib.Path(__file__).parent
CODES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


def values(code, shape):
    count = int(np.prod(shape, dtype=int))
    base = np.arange(count)
    if code == "?":
        return (base % 3 == 1).reshape(shape)
    if code[0] == "c":
        return (base - 2 + 1j * (base + 0.5)).astype(code).reshape(shape)
    if code[0] == "f":
        return (base * 0.5 - 1).astype(code).reshape(shape)
    if code[0] == "i":
        return (base * 11 - 20).astype(code).reshape(shape)
    return (base * 40).astype(code).reshape(shape)


def save(name, array, version=None):
    with open(HERE / name, "wb") as file:
        npy_format.write_array(file, array, version=version)


for code in CODES:
    label = code.replace("?", "b1")
    array = values(code, (2, 3))
    save(f"{label}_little.npy", array.astype(np.dtype(code).newbyteorder("<")))
    save(f"{label}_big_fortran.npy", np.asfortranarray(array.astype(np.dtype(code).newbyteorder(">"))))
save("cube_fortran.npy", np.asfortranarray(values("f8", (2, 3, 4))))
save("version2.npy", values("f4", (2, 3)), (2, 0))
save("version3.npy", values("f4", (2, 3)), (3, 0))
save("scalar.npy", np.array(2.5))
save("vector.npy", values("i8", (5,)))
save("empty.npy", np.zeros((0, 3), np.float32))
save("half.npy", values("f2", (2, 3)))
save("text.npy", np.array(["a", "bc"]))
save("records.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
save("dates.npy", np.array(["2020-01-01"], dtype="M8[D]"))
with open(HERE / "objects.npy", "wb") as file:
    npy_format.write_array(file, np.array([None, 1], dtype=object), allow_pickle=True)

arrays = {"hidden/W": values("f4", (2, 3)), "hidden/b": values("f8", (3,)), "steps": np.array(7, np.int64)}


def fixed_times(data):
    """The same zip with the times that are in it set to 1980, so that the bytes do not change from run to run."""
    source = zipfile.ZipFile(io.BytesIO(data))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            fresh = zipfile.ZipInfo(info.filename)
            fresh.compress_type = info.compress_type
            with target.open(fresh, "w", force_zip64=True) as entry:
                entry.write(source.read(info.filename))
    return out.getvalue()


for name, writer in [("stored.npz", np.savez), ("deflated.npz", np.savez_compressed)]:
    buffer = io.BytesIO()
    writer(buffer, **arrays)
    (HERE / name).write_bytes(fixed_times(buffer.getvalue()))


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def zip64_archive(name, data):
    """A zip in which every size and offset that may be 64 bits wide is."""
    crc, size, name = zlib.crc32(data), len(data), name.encode()
    full = 0xFFFFFFFF
    extra = struct.pack("<HHQQ", 1, 16, size, size)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 45, 0, 0, 0, 33, crc, full, full, len(name), len(extra))
    local += name + extra
    extra = struct.pack("<HHQQQ", 1, 24, size, size, 0)
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 45, 45, 0, 0, 0, 33, crc, full, full, len(name), len(extra),
                          0, 0, 0, 0, full) + name + extra
    start = len(local) + size
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(central), start)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, start + len(central), 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, full, full, 0)
    return local + data + central + end64 + locator + end


archive = zip64_archive("big/x.npy", npy_bytes(values("f4", (2, 3))))
assert np.array_equal(np.load(io.BytesIO(archive))["big/x"], values("f4", (2, 3)))
(HERE / "zip64.npz").write_bytes(archive)

with zipfile.ZipFile(HERE / "bzip2.npz", "w", zipfile.ZIP_BZIP2) as target:
    target.writestr(zipfile.ZipInfo("x.npy"), npy_bytes(values("f4", (2, 3))), zipfile.ZIP_BZIP2)

(HERE / "expected.txt").write_text(f"written by generate.py with NumPy {np.__version__}\n")
