"""docs/weights.md: its two functions turn weights of thtrain into those of PyTorch's modules, and back.

77 says that there is no NumPy.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    sys.exit(77)

THTRAIN = sys.argv.pop(1)
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

EXPERIMENT = """
[data]
source = "npy"
train = "x.npy"
train_labels = "y.npy"
sequences = true
[[model.layers]]
name = "l"
type = "lstm"
units = 5
[[model.layers]]
name = "g"
type = "gru"
units = 6
[[model.layers]]
name = "r"
type = "rnn"
units = 4
output = "last"
[[model.layers]]
name = "out"
type = "softmax"
[trainer]
epochs = 3
batch_size = 10
learning_rate = 0.5
"""


def functions_of_the_page():
    with open(os.path.join(ROOT, "docs", "weights.md"), encoding="utf-8") as file:
        block = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
    names = {}
    exec(block, names)  # pylint: disable=exec-used
    return names["to_torch"], names["from_torch"]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# PyTorch's documentation of nn.LSTM, nn.GRU and nn.RNN, by its names of weights.
def lstm(t, x):
    h = c = np.zeros((len(x), t["weight_hh_l0"].shape[1]))
    out = []
    for step in range(x.shape[1]):
        z = x[:, step] @ t["weight_ih_l0"].T + t["bias_ih_l0"] + h @ t["weight_hh_l0"].T + t["bias_hh_l0"]
        i, f, g, o = np.split(z, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.stack(out, 1)


def gru(t, x):
    h = np.zeros((len(x), t["weight_hh_l0"].shape[1]))
    out = []
    for step in range(x.shape[1]):
        ir, iz, in_ = np.split(x[:, step] @ t["weight_ih_l0"].T + t["bias_ih_l0"], 3, axis=1)
        hr, hz, hn = np.split(h @ t["weight_hh_l0"].T + t["bias_hh_l0"], 3, axis=1)
        r, z = sigmoid(ir + hr), sigmoid(iz + hz)
        h = (1 - z) * np.tanh(in_ + r * hn) + z * h
        out.append(h)
    return np.stack(out, 1)


def rnn(t, x):
    h = np.zeros((len(x), t["weight_hh_l0"].shape[1]))
    for step in range(x.shape[1]):
        h = np.tanh(x[:, step] @ t["weight_ih_l0"].T + t["bias_ih_l0"] + h @ t["weight_hh_l0"].T + t["bias_hh_l0"])
    return h


def probabilities(t, x):
    z = rnn(t["r"], gru(t["g"], lstm(t["l"], x))) @ t["out"]["weight"].T + t["out"]["bias"]
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


KINDS = {"l": "lstm", "g": "gru", "r": "rnn", "out": "softmax"}


class WeightsPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.to_torch, cls.from_torch = (staticmethod(function) for function in functions_of_the_page())
        random = np.random.RandomState(1)
        cls.x = random.randn(40, 7, 3)
        np.save(cls.path("x.npy"), cls.x)
        np.save(cls.path("y.npy"), random.randint(0, 4, 40))
        with open(cls.path("mine.toml"), "w", encoding="utf-8") as file:
            file.write(EXPERIMENT)
        cls.run_it("train", "mine.toml", "--run-dir", "run", "--quiet")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def run_it(cls, *arguments):
        subprocess.run([THTRAIN, *arguments], cwd=cls.folder, stdout=subprocess.DEVNULL, check=True)

    def predicted(self, weights):
        self.run_it("predict", "run", "--weights", weights, "--input", "x.npy", "--output", "p.npz")
        return np.load(self.path("p.npz"))["probabilities"]

    def arrays_of_layers(self):
        weights = np.load(self.path("run/best.npz"))
        return {layer: {key.split("/")[-1]: weights[key] for key in weights if key.startswith(layer + "/")}
                for layer in KINDS}

    def test_weights_of_thtrain_in_pytorchs_formulas(self):
        theirs = {layer: self.to_torch(KINDS[layer], a) for layer, a in self.arrays_of_layers().items()}
        np.testing.assert_allclose(self.predicted("run/best.npz"), probabilities(theirs, self.x), atol=1e-6)

    # Both biases of PyTorch's modules have numbers of their own.
    def test_weights_of_pytorch_in_thtrain(self):
        random = np.random.RandomState(2)
        theirs = {layer: {key: random.uniform(-0.5, 0.5, value.shape)
                          for key, value in self.to_torch(KINDS[layer], a).items()}
                  for layer, a in self.arrays_of_layers().items()}
        np.savez(self.path("from_torch.npz"),
                 **{f"{layer}/{key}": value.astype(np.float32) for layer, t in theirs.items()
                    for key, value in self.from_torch(KINDS[layer], t).items()})
        np.testing.assert_allclose(self.predicted("from_torch.npz"), probabilities(theirs, self.x), atol=1e-6)

    def test_back_and_forth(self):
        random = np.random.RandomState(3)
        cases = {"conv": ("W", "b"), "conv_transposed": ("W",), "embedding": ("W",), "layer_norm": ("g", "b"),
                 "batch_norm": ("g", "b", "mean", "variance"), "dense": ("W",), "gru": ("W", "U")}
        for kind, names in cases.items():
            a = {name: random.randn(6, 6) for name in names}
            back = self.from_torch(kind, self.to_torch(kind, a))
            self.assertEqual(sorted(back), sorted(a), kind)
            for name, value in a.items():
                np.testing.assert_array_equal(back[name], value)


if __name__ == "__main__":
    unittest.main()
