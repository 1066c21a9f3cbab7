"""What the suite_*.py share: cases written with PyTensor (2.30.3 or 3.0.7) and NumPy, for tests/compiler/suites/.

A line is an output of a case: its name, its group, its dtype, "=", shape, values, or "name group = error".
"""
import logging
import pathlib
import warnings

import numpy as np
import pytensor
from pytensor.compile.mode import Mode

pytensor.config.cxx = ""
logging.disable()
warnings.simplefilter("ignore")
MODE = Mode(linker="py", optimizer="fast_compile")


def given(value):
    """A value as PyTensor's input: axes of one element broadcast."""
    value = np.asarray(value)
    return pytensor.shared(value, shape=tuple(1 if n == 1 else None for n in value.shape))


def count(*shape, start=0, dtype="float64"):
    return (start + np.arange(int(np.prod(shape)))).reshape(shape).astype(dtype)


def whole(*shape, start=0):
    return count(*shape, start=start, dtype="int64")


def spread(*shape, seed=0):
    return (((np.arange(int(np.prod(shape))) * 37 + seed * 11) % 41 - 20) / 8).reshape(shape)


def positive(*shape, seed=0):
    return (((np.arange(int(np.prod(shape))) * 37 + seed * 11) % 41 + 1) / 16).reshape(shape)


def compute(outputs):
    outputs = [pytensor.tensor.as_tensor_variable(output) for output in outputs]
    return pytensor.function([], outputs, mode=MODE)()


def change(value, x, direction, h=1e-3):
    """The derivative of `value` along a direction of the input x, by differences of fourth order. PyTensor 2.30.3's own
    second derivatives of loops with two states or with taps differ from it, in the first digits."""
    f, start = pytensor.function([], value, mode=MODE), x.get_value()

    def at(step):
        x.set_value(start + step * h * direction)
        return f()
    out = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
    x.set_value(start)
    return out


def changes(value, x):
    """The derivatives along each element of x, in the shape of x before that of the value."""
    size = x.get_value().size
    each = [change(value, x, np.eye(size)[k].reshape(x.get_value().shape)) for k in range(size)]
    return np.stack(each).reshape(x.get_value().shape + each[0].shape)


class Suite:
    """Collects the lines of a file."""

    def __init__(self, script):
        self.path = pathlib.Path(script).with_suffix(".txt")
        self.lines = [f"# written by {pathlib.Path(script).name} with PyTensor {pytensor.__version__} and "
                      f"NumPy {np.__version__}"]
        self.group = ""

    def case(self, name, *outputs):
        """Outputs that PyTensor computes."""
        self.values(name, *compute(outputs))

    def values(self, name, *values):
        """Values that a test of PyTensor's computes by NumPy, or states."""
        for value in values:
            value = np.asarray(value)
            shape = "[" + ",".join(map(str, value.shape)) + "]"
            elements = value.astype(int) if value.dtype == bool else value
            self.lines.append(" ".join([name, self.group, str(value.dtype), "=", shape,
                                        *map(str, elements.ravel().tolist())]))

    def error(self, name, build):
        try:
            compute(build())
        except Exception:  # pylint: disable=broad-except
            self.lines.append(f"{name} {self.group} = error")
            return
        raise AssertionError(f"{name} is no error")

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
