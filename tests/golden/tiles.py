#!/usr/bin/env python3
"""Writes tiles.txt: pictures side by side in NumPy, for tests/trainers/pictures_test.cpp.

Run: python3 tests/golden/tiles.py, with NumPy. Five pictures of 3 x 2 numbers, the third of them all alike, in 2 rows
of 3: each is scaled from its least to its largest number to 0 to 255, the fraction cut off; one black pixel is
between them, and black instead of a sixth. Lines: values, and pixels, the rows of the picture of 7 x 8 pixels.
"""
import pathlib

import numpy as np

values = np.random.RandomState(2).normal(0, 3, (5, 6)).round(4)
values[2] = 0.75
pixels = np.zeros((7, 8), dtype=np.uint8)
for i, picture in enumerate(values):
    share = (picture - picture.min()) * (1.0 / ((picture - picture.min()).max() + 1e-8))
    top, left = i // 3 * 4, i % 3 * 3
    pixels[top:top + 3, left:left + 2] = (share * 255).reshape(3, 2)
lines = ["# written by tiles.py"]
for name, value in {"values": values, "pixels": pixels}.items():
    numbers = " ".join(repr(v.item()) for v in value.reshape(-1))
    lines.append(f"{name} = [{','.join(map(str, value.shape))}] {numbers}")
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
