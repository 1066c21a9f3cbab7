#!/usr/bin/env python3
"""Writes augmentation.txt: images changed at random, by NumPy and SciPy, for tests/datasets/augmentation_test.cpp.

Run: python3 tests/golden/augmentation.py, with NumPy and SciPy. Lines: images, float64 [4, 2, 5, 6]; and for each case
"change shift flip crop_height crop_width padding rotation noise border" what becomes of them as examples 7, 0, 3 and 9
in epoch 2 of part 1, drawn with the seed 1234. The draws are written from the formulas in datasets/augmentation.h.
Places between pixels are those of scipy.ndimage.map_coordinates, whose modes "grid-constant", "nearest" and "mirror"
are the borders constant, edge and reflect.
"""
import pathlib

import numpy as np
import scipy.ndimage

MASK = (1 << 64) - 1


class SplitMix:
    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return ((self.next() >> 32) * n) >> 32

    def uniform(self):
        return (self.next() >> 11) / 2**53


def generator(seed, part, index):
    key = SplitMix(SplitMix(seed).next() ^ part).next()
    return SplitMix(SplitMix(key ^ index).next())


MODES = {"constant": "grid-constant", "edge": "nearest", "reflect": "mirror"}


def change(image, random, shift, flip, crop_height, crop_width, padding, rotation, noise, border):
    channels, height, width = image.shape
    crop_height, crop_width = crop_height or height, crop_width or width
    down, right = random.below(2 * shift + 1) - shift, random.below(2 * shift + 1) - shift
    crop_y = random.below(height + 2 * padding - crop_height + 1)
    crop_x = random.below(width + 2 * padding - crop_width + 1)
    vertical, horizontal = random.below(2) == 1, random.below(2) == 1
    angle = np.deg2rad(rotation * (2 * random.uniform() - 1))
    a, b = np.mgrid[:crop_height, :crop_width].astype(np.float64)
    if vertical and flip in ("vertical", "both"):
        a = a[::-1]
    if horizontal and flip in ("horizontal", "both"):
        b = b[:, ::-1]
    p, q = a + crop_y - padding - down, b + crop_x - padding - right
    m, n = (height - 1) / 2, (width - 1) / 2
    y = m + (p - m) * np.cos(angle) + (q - n) * np.sin(angle)
    x = n - (p - m) * np.sin(angle) + (q - n) * np.cos(angle)
    out = np.stack([scipy.ndimage.map_coordinates(c, [y, x], order=1, mode=MODES[border]) for c in image])
    if noise > 0:
        normal = []
        while len(normal) < out.size:
            radius, turn = np.sqrt(-2 * np.log(1 - random.uniform())), 2 * np.pi * random.uniform()
            normal += [radius * np.cos(turn), radius * np.sin(turn)]
        out += noise * np.array(normal[:out.size]).reshape(out.shape)
    return out


def line(name, value):
    numbers = " ".join(repr(round(float(v), 12)) for v in value.reshape(-1))
    return f"{name} = [{','.join(map(str, value.shape))}] {numbers}"


images = np.random.RandomState(5).normal(0, 1, (4, 2, 5, 6)).round(3)
cases = [
    (0, "none", 0, 0, 0, 0, 0, "constant"),
    (2, "none", 0, 0, 0, 0, 0, "constant"),
    (4, "none", 0, 0, 0, 0, 0, "edge"),
    (4, "none", 0, 0, 0, 0, 0, "reflect"),
    (0, "horizontal", 0, 0, 0, 0, 0, "constant"),
    (0, "vertical", 0, 0, 0, 0, 0, "constant"),
    (1, "both", 0, 0, 0, 0, 0, "constant"),
    (0, "none", 3, 2, 0, 0, 0, "constant"),
    (0, "horizontal", 5, 6, 2, 0, 0, "constant"),
    (0, "both", 9, 4, 8, 0, 0, "reflect"),
    (0, "none", 0, 0, 0, 30, 0, "constant"),
    (0, "none", 0, 0, 0, 180, 0, "edge"),
    (1, "both", 4, 5, 1, 45, 0, "reflect"),
    (0, "none", 0, 0, 0, 0, 0.5, "constant"),
    (1, "horizontal", 3, 3, 0, 20, 0.25, "edge"),
]
lines = ["# written by augmentation.py", line("images", images)]
for case in cases:
    key = generator(1234, 1, 2).next()
    out = [change(image, generator(key, 0, example), *case) for image, example in zip(images, (7, 0, 3, 9))]
    lines.append(line("change " + " ".join(map(str, case)), np.stack(out)))
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
