#!/usr/bin/env python3
"""Writes objectives.txt: losses, costs and gradients by PyTorch, for tests/nn/objectives_test.cpp.

Run: python3 tests/golden/objectives.py (with PyTorch and scikit-learn). "input NAME = [shape] values" (whole numbers
are labels), then for each case "losses", "cost" and "gradient", each with: the kind, its options (or -), the link of
the output, logits, targets, weights of examples and weights of classes (or -). The gradient is that of the cost by the
logits. float64; inputs are float32's numbers. PyTorch's own weighted means are compared where they divide by the sum of
the weights.
"""
import pathlib

import numpy as np
import sklearn
import torch
import torch.nn.functional as F
from sklearn.metrics import hinge_loss

torch.set_default_dtype(torch.float64)
lines = [f"# written by objectives.py with PyTorch {torch.__version__} and scikit-learn {sklearn.__version__}"]
rng = np.random.RandomState(1234)
inputs = {"-": None}


def text(value):
    value = value.detach()
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    return " ".join([shape, *(repr(v) for v in value.ravel().tolist())])


def add_input(name, array):
    array = np.asarray(array)
    inputs[name] = torch.tensor(array if array.dtype.kind == "i" else array.astype(np.float32).astype(np.float64))
    lines.append(f"input {name} = {text(inputs[name])}")


def hinge(z, t, margin, squared):
    if t.dtype == torch.int64 and z.shape[1] > 1:
        own = F.one_hot(t, z.shape[1]).bool()
        rival = z.masked_fill(own, -torch.inf).max(1).values
        loss = F.relu(margin + rival - z.gather(1, t[:, None])[:, 0])
    else:
        z = z[:, 0] if t.dtype == torch.int64 else z
        loss = F.relu(margin - torch.where(t > 0, z, -z))
    return loss**2 if squared else loss


def elements(kind, options, link, z, t):
    """The losses of each example (of classes), or of each example and output."""
    y = torch.sigmoid(z) if link == "sigmoid" else z
    t = t[:, None] if t.is_floating_point() and t.ndim < y.ndim else t
    if kind == "negative_log_likelihood":
        return F.cross_entropy(z, t, reduction="none")
    if kind == "binary_crossentropy":
        z, t = (z[:, 0], t.double()) if t.dtype == torch.int64 else (z, t)
        weight = torch.tensor(options["pos_weight"]) if options else None
        return F.binary_cross_entropy_with_logits(z, t, pos_weight=weight, reduction="none")
    if kind == "hinge":
        return hinge(z, t, options.get("margin", 1), options.get("squared", False))
    if kind == "squared_error":
        return F.mse_loss(y, t, reduction="none")
    if kind == "poisson":
        return F.poisson_nll_loss(y, t, log_input=True, full=False, reduction="none")
    if kind == "absolute_error":
        return F.l1_loss(y, t, reduction="none")
    return F.huber_loss(y, t, delta=options.get("delta", 1), reduction="none")


def add_case(kind, z_name, t_name, w_name="-", c_name="-", link="none", own_cost=None, **options):
    z = inputs[z_name].clone().requires_grad_()
    t, w, c = inputs[t_name], inputs[w_name], inputs[c_name]
    all_losses = elements(kind, options, link, z, t)
    losses, weights = all_losses, torch.ones(len(z)) if w is None else w
    if losses.ndim > 1:
        losses = losses.flatten(1).mean(1) if c is None else (losses * c).sum(1) / c.sum()
    elif c is not None:
        weights = weights * c[t]
    total = weights.sum()
    cost = all_losses.mean() if w is None and c is None else (losses * weights).sum() / (total if total != 0 else 1)
    if own_cost is not None:
        assert torch.allclose(own_cost(z, t, w, c), cost, rtol=1e-14), (kind, own_cost(z, t, w, c), cost)
    cost.backward()
    words = ",".join(f"{key}:{'/'.join(map(str, np.ravel(value).tolist()))}" for key, value in options.items()) or "-"
    key = " ".join([kind, words, link, z_name, t_name, w_name, c_name])
    lines.extend([f"losses {key} = {text(losses)}", f"cost {key} = {text(cost)}", f"gradient {key} = {text(z.grad)}"])


n, k = 6, 4
add_input("z", 2 * rng.normal(size=(n, k)))
add_input("steep", np.where(rng.rand(n, k) < 0.5, 1e4, -1e4) + rng.normal(size=(n, k)))
add_input("single", 2 * rng.normal(size=(n, 1)))
add_input("single_steep", np.array([[1e4], [-1e4], [1e4], [-1e4], [20], [-20]]))
add_input("cube", rng.normal(size=(3, 2, 4)))
add_input("classes", rng.randint(0, k, n))
add_input("one_missing", np.array([0, 1, 0, 3, 3, 1]))
add_input("two", np.array([0, 1, 0, 0, 1, 1]))
add_input("yes", rng.randint(0, 2, (n, k)).astype(float))
add_input("shares", rng.rand(n, k))
add_input("values", 2 * rng.normal(size=(n, k)))
add_input("vector", rng.normal(size=n))
add_input("share", rng.rand(n))
add_input("cube_values", rng.normal(size=(3, 2, 4)))
add_input("w", rng.rand(n))
add_input("w_some", np.array([0, 1, 0, 2.5, 0, 1]))
add_input("w_none", np.zeros(n))
add_input("w_three", np.array([0.5, 0, 2]))
add_input("c", rng.rand(k) + 0.5)
add_input("c_some", np.array([0, 1, 2, 0.5]))
add_input("c_two", np.array([0.25, 3]))
add_input("c_one", np.array([0.25]))

nll = "negative_log_likelihood"
add_case(nll, "z", "classes", own_cost=lambda z, t, w, c: F.cross_entropy(z, t))
add_case(nll, "z", "classes", link="softmax")
add_case(nll, "z", "one_missing", "w")
for c_name in ("c", "c_some"):
    add_case(nll, "z", "classes", "-", c_name, own_cost=lambda z, t, w, c: F.cross_entropy(z, t, weight=c))
add_case(nll, "z", "classes", "w_some", "c")
add_case(nll, "z", "classes", "w_none")
add_case(nll, "steep", "classes", "w")
bce = "binary_crossentropy"
add_case(bce, "z", "yes", own_cost=lambda z, t, w, c: F.binary_cross_entropy_with_logits(z, t))
add_case(bce, "z", "shares", link="sigmoid",
         own_cost=lambda z, t, w, c: F.binary_cross_entropy(torch.sigmoid(z), t))
add_case(bce, "z", "yes", "w_some", "c")
add_case(bce, "z", "shares", "w", pos_weight=[2.5])
add_case(bce, "z", "yes", pos_weight=[0, 1, 2.5, 10.0])
add_case(bce, "steep", "yes", "w")
add_case(bce, "steep", "yes", "w", pos_weight=[3.0])
add_case(bce, "single", "two", link="sigmoid")
add_case(bce, "single", "two", "w", "c_two")
add_case(bce, "single_steep", "two", pos_weight=[0.5])
add_case(bce, "single", "share", "-", "c_one")
for kind, torch_name in [("squared_error", "mse_loss"), ("absolute_error", "l1_loss"), ("huber", "huber_loss")]:
    of_torch = getattr(F, torch_name)
    add_case(kind, "z", "values", own_cost=lambda z, t, w, c: of_torch(z, t))
    by_weights = None if kind == "huber" else lambda z, t, w, c: of_torch(z, t, weight=w[:, None].expand(z.shape))
    add_case(kind, "z", "values", "w", own_cost=by_weights)
    add_case(kind, "z", "values", "w_some", "c")
    add_case(kind, "z", "values", "w_none")
    add_case(kind, "single", "vector")
    add_case(kind, "z", "shares", link="sigmoid")
    add_case(kind, "steep", "values")
    add_case(kind, "cube", "cube_values", "w_three")
add_case("huber", "z", "values", "w", delta=0.5)
for margin, squared in [(1, False), (0.5, False), (1, True)]:
    options = {"margin": margin} | ({"squared": True} if squared else {})
    add_case("hinge", "z", "one_missing", **options)
    add_case("hinge", "single", "two", **options)
add_case("hinge", "z", "classes", "w_some", "c", link="softmax",
         own_cost=lambda z, t, w, c: torch.tensor(hinge_loss(t, z.detach(), labels=range(k), sample_weight=w * c[t])))
add_case("hinge", "single", "two", "w", "c_two",
         own_cost=lambda z, t, w, c: torch.tensor(hinge_loss(t, z.detach()[:, 0], sample_weight=w * c[t])))
add_case("hinge", "z", "yes", "w", "c")
add_case("hinge", "steep", "classes")
add_input("counts", rng.poisson(2.0, (n, k)).astype(float))
add_case("poisson", "z", "counts", own_cost=lambda z, t, w, c: F.poisson_nll_loss(z, t))
add_case("poisson", "z", "counts", "w", "c")
pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
