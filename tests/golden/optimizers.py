#!/usr/bin/env python3
"""Writes optimizers.txt: steps of PyTorch's optimizers, factors of its schedules, minima by SciPy.

Run: python3 tests/golden/optimizers.py (needs torch and scipy); for the tests in tests/nn. All in float64.
- "x", "y", and the first "hidden/W", "hidden/b", "softmax/W", "softmax/b" of a network 6-5-3: tanh, softmax, mean
  negative log-likelihood; step t takes the rows 5 k to 5 k + 5, k = t mod 4. Weight decay acts on the two W only.
- "optimizer NAME KEY=VALUE...", and then "loss" of steps 1 to 50, and "after STEPS PARAMETER".
- "schedule NAME KEY=VALUE... = [n] factors" after 0, 1, ... epochs; plateau: also "observed".
- "around NAME": the same of what surrounds SGD with a momentum; "average PARAMETER".
- "logistic/x", "logistic/y"; "quadratic NAME = d", for sum_i d_i x_i^2 / 2 - x_i; "start PROBLEM";
  "minimum PROBLEM METHOD GTOL EVALUATIONS VALUE = x".
"""
import pathlib

import numpy as np
import scipy
import scipy.optimize
import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
lines = [f"# written by optimizers.py with PyTorch {torch.__version__}, SciPy {scipy.__version__}, "
         f"NumPy {np.__version__}"]
STEPS, BATCH = 50, 5


def write(name, array):
    array = np.asarray(array)
    shape = "[" + ",".join(map(str, array.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in array.ravel().tolist()))


# ---- first-order methods -------------------------------------------------------------------------------------------

data = np.random.RandomState(11)
X, Y = data.uniform(-1, 1, (20, 6)), data.randint(0, 3, 20)
START = {"hidden/W": data.uniform(-0.8, 0.8, (6, 5)), "hidden/b": data.uniform(-0.1, 0.1, 5),
         "softmax/W": data.uniform(-0.8, 0.8, (5, 3)), "softmax/b": data.uniform(-0.1, 0.1, 3)}
write("x", X)
write("y", Y)
for key, value in START.items():
    write(key, value)


def fresh():
    return {name: torch.tensor(value, requires_grad=True) for name, value in START.items()}


def cost(p, step):
    rows = slice(step % 4 * BATCH, step % 4 * BATCH + BATCH)
    hidden = torch.tanh(torch.tensor(X[rows]) @ p["hidden/W"] + p["hidden/b"])
    return torch.nn.functional.cross_entropy(hidden @ p["softmax/W"] + p["softmax/b"], torch.tensor(Y[rows]))


def groups(p, weight_decay):
    weights = [p["hidden/W"], p["softmax/W"]]
    biases = [p["hidden/b"], p["softmax/b"]]
    return [{"params": weights, "weight_decay": weight_decay}, {"params": biases, "weight_decay": 0.0}]


def train(p, optimizer, before=None, after=None):
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = cost(p, step)
        loss.backward()
        losses.append(loss.item())
        if before:
            before(step)
        optimizer.step()
        if after:
            after(step)
        if step + 1 in (1, 10, STEPS):
            for name, value in p.items():
                write(f"after {step + 1} {name}", value.detach().numpy())
    write("loss", losses)


def run(name, cls, ours, weight_decay=0.0, **theirs):
    """`ours`: the options as thtrain calls them."""
    p = fresh()
    if weight_decay or name == "adamw":
        ours = {**ours, "weight_decay": weight_decay}
    lines.append(" ".join([f"optimizer {name}"] + [f"{k}={float(v)!r}" for k, v in ours.items()]) + " = [0]")
    train(p, cls(groups(p, weight_decay), **theirs))


o = torch.optim
run("sgd", o.SGD, {"learning_rate": 0.2}, lr=0.2)
run("sgd", o.SGD, {"learning_rate": 0.1, "momentum": 0.9}, 0.02, lr=0.1, momentum=0.9)
run("sgd", o.SGD, {"learning_rate": 0.1, "momentum": 0.8, "nesterov": 1}, lr=0.1, momentum=0.8, nesterov=True)
run("adagrad", o.Adagrad, {"learning_rate": 0.1}, lr=0.1)
run("adagrad", o.Adagrad, {"learning_rate": 0.05, "initial_square": 0.1, "epsilon": 1e-6}, 0.02, lr=0.05,
    initial_accumulator_value=0.1, eps=1e-6)
run("rmsprop", o.RMSprop, {}, lr=0.01)
run("rmsprop", o.RMSprop, {"learning_rate": 0.005, "rho": 0.9, "momentum": 0.7, "epsilon": 1e-6}, 0.02, lr=0.005,
    alpha=0.9, momentum=0.7, eps=1e-6)
run("rmsprop", o.RMSprop, {"rho": 0.95, "centered": 1, "epsilon": 1e-4}, alpha=0.95, centered=True, eps=1e-4)
run("rmsprop", o.RMSprop, {"momentum": 0.5, "centered": 1, "epsilon": 1e-4}, momentum=0.5, centered=True, eps=1e-4)
run("adadelta", o.Adadelta, {}, lr=1.0)
run("adadelta", o.Adadelta, {"learning_rate": 0.5, "rho": 0.8, "epsilon": 1e-4}, 0.02, lr=0.5, rho=0.8, eps=1e-4)
run("adam", o.Adam, {}, lr=0.001)
run("adam", o.Adam, {"learning_rate": 0.05, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-5}, 0.02, lr=0.05,
    betas=(0.8, 0.9), eps=1e-5)
run("adam", o.Adam, {"learning_rate": 0.05, "beta2": 0.5, "amsgrad": 1}, lr=0.05, betas=(0.9, 0.5), amsgrad=True)
run("adamw", o.AdamW, {"learning_rate": 0.02}, 0.1, lr=0.02)
run("adamw", o.AdamW, {"learning_rate": 0.02, "amsgrad": 1}, 0.3, lr=0.02, amsgrad=True)
run("adamax", o.Adamax, {}, lr=0.002)
run("adamax", o.Adamax, {"learning_rate": 0.03, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-4}, 0.02, lr=0.03,
    betas=(0.8, 0.9), eps=1e-4)
run("radam", o.RAdam, {}, lr=0.001)
run("radam", o.RAdam, {"learning_rate": 0.02, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-4}, 0.02, lr=0.02,
    betas=(0.8, 0.9), eps=1e-4)

# ---- what surrounds a step: SGD with momentum --------------------------------------------------------------------


def sgd(p, **options):
    return o.SGD(p.values(), **{"lr": 0.1, "momentum": 0.9, **options})


def around(name):
    lines.append(f"around {name} = [0]")
    return fresh()


p = around("rate_factors")  # of softmax/W and softmax/b
train(p, o.SGD([{"params": [p["hidden/W"], p["hidden/b"]]}, {"params": [p["softmax/W"]], "lr": 0.025},
                {"params": [p["softmax/b"]], "lr": 0.2}], lr=0.1, momentum=0.9))
p = around("layer_decays")  # 0.02, but 0.1 of softmax/W, 0.05 of softmax/b
train(p, o.SGD([{"params": [p["hidden/W"]], "weight_decay": 0.02}, {"params": [p["hidden/b"]]},
                {"params": [p["softmax/W"]], "weight_decay": 0.1},
                {"params": [p["softmax/b"]], "weight_decay": 0.05}], lr=0.1, momentum=0.9))
p = around("decoupled_adam")  # Adam with decoupled_weight_decay
train(p, o.Adam(groups(p, 0.1), lr=0.02, decoupled_weight_decay=True))
p = around("clip_value")
train(p, sgd(p), before=lambda step: torch.nn.utils.clip_grad_value_(p.values(), 0.05))
p = around("clip_norm")
train(p, sgd(p), before=lambda step: torch.nn.utils.clip_grad_norm_(p.values(), 0.1))


def limit(step):
    """Columns: torch.renorm along axis 1, by the definition, as its own adds 1e-7 to the norm."""
    with torch.no_grad():
        for name in ("hidden/W", "softmax/W"):
            norm = p[name].norm(dim=0, keepdim=True)
            p[name].mul_(torch.where(norm > 0.9, 0.9 / norm, torch.ones_like(norm)))


p = around("max_norm")
train(p, sgd(p), after=limit)


def averaged(name, start, **options):
    """The averages are in the lines "average"."""
    global p
    p = around(name)
    holder = torch.nn.ParameterDict({k.replace("/", "_"): torch.nn.Parameter(v.detach()) for k, v in p.items()})
    p = {k: holder[k.replace("/", "_")] for k in p}
    model = AveragedModel(holder, **options)
    train(p, sgd(p), after=lambda step: model.update_parameters(holder) if step + 1 >= start else None)
    for k in p:
        write(f"average {k}", model.module[k.replace("/", "_")].detach().numpy())


averaged("average_equal", 1)
averaged("average_equal_from_20", 20)
averaged("average_exponential", 1, avg_fn=get_ema_avg_fn(0.9))

p = around("accumulate")  # a step with the mean gradient of 3 minibatches, 51 of which make 17 steps
optimizer = sgd(p)
for step in range(51):
    (cost(p, step) / 3).backward()
    if step % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
    if step + 1 in (2, 3, 51):
        for name, value in p.items():
            write(f"after {step + 1} {name}", value.detach().numpy())

# ---- schedules -------------------------------------------------------------------------------------------------------


def schedule(name, ours, make, count=40):
    weight = torch.nn.Parameter(torch.zeros(()))
    optimizer = o.SGD([weight], lr=1.0)
    theirs, factors = make(optimizer), []
    for _ in range(count):
        factors.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if len(factors) < getattr(theirs, "total_steps", count):  # a cycle is over after its last step
            theirs.step()
    write(" ".join(["schedule", name] + [f"{k}={v}" for k, v in ours.items()]), factors)


s = lr_scheduler
schedule("constant", {}, lambda opt: s.LambdaLR(opt, lambda t: 1.0))
schedule("step", {"every": 7, "decay": 0.3}, lambda opt: s.StepLR(opt, 7, 0.3))
schedule("multistep", {"milestones": "3,4,20", "decay": 0.5}, lambda opt: s.MultiStepLR(opt, [3, 4, 20], 0.5))
schedule("exponential", {"decay": 0.9}, lambda opt: s.ExponentialLR(opt, 0.9))
schedule("polynomial", {"length": 30, "power": 2.5}, lambda opt: s.PolynomialLR(opt, 30, 2.5))
schedule("polynomial", {"length": 12, "first": 0.25, "last": 0.875}, lambda opt: s.LinearLR(opt, 0.25, 0.875, 12))
schedule("cosine", {"length": 39, "last": 0.1}, lambda opt: s.CosineAnnealingLR(opt, 39, 0.1))
schedule("cosine", {"length": 5, "restarts": 1}, lambda opt: s.CosineAnnealingWarmRestarts(opt, 5))
schedule("cosine", {"length": 3, "restarts": 1, "growth": 2, "last": 0.01},
         lambda opt: s.CosineAnnealingWarmRestarts(opt, 3, 2, 0.01))
schedule("one_over_epoch", {"decay": 0.4}, lambda opt: s.LambdaLR(opt, lambda t: 1 / (1 + 0.4 * t)))
schedule("one_cycle", {"length": 40}, lambda opt: s.OneCycleLR(opt, 1.0, 40, cycle_momentum=False))
schedule("one_cycle", {"length": 30, "rise": 0.4, "start": 0.1, "last": 0.001}, lambda opt: s.OneCycleLR(
    opt, 1.0, 30, pct_start=0.4, div_factor=10, final_div_factor=100, cycle_momentum=False))
schedule("exponential", {"decay": 0.9, "warmup": 6, "warmup_start": 0.2}, lambda opt: s.SequentialLR(
    opt, [s.LinearLR(opt, 0.2, 1.0, 6), s.ExponentialLR(opt, 0.9)], [6]))


def plateau(ours, observed, **theirs):
    weight = torch.nn.Parameter(torch.zeros(()))
    optimizer = o.SGD([weight], lr=1.0)
    scheduler, factors = s.ReduceLROnPlateau(optimizer, eps=0.0, **theirs), []
    for value in observed:
        optimizer.step()
        scheduler.step(value)
        factors.append(optimizer.param_groups[0]["lr"])
    write("observed", observed)
    write(" ".join(["schedule plateau"] + [f"{k}={v!r}" for k, v in ours.items()]), factors)


noisy = np.random.RandomState(5)
falling = [float(v) for v in 1 / np.arange(1, 61) + 0.02 * noisy.normal(size=60)]
plateau({"decay": 0.5, "patience": 3}, falling, factor=0.5, patience=3)
plateau({"decay": 0.2, "patience": 1, "threshold": 0.05, "cooldown": 4, "last": 0.01}, falling, factor=0.2, patience=1,
        threshold=0.05, cooldown=4, min_lr=0.01)
plateau({"decay": 0.5, "patience": 0, "threshold": 0.01, "abs": 1}, falling, factor=0.5, patience=0, threshold=0.01,
        threshold_mode="abs")
plateau({"decay": 0.5, "patience": 2, "larger": 1}, [1 - v for v in falling], factor=0.5, patience=2, mode="max")

# ---- batch methods ---------------------------------------------------------------------------------------------------

# The cost of each problem is in the test too: L2 of 0.05, labels 0 and 1, numbers as they are written.
batch = np.random.RandomState(3)
A = np.round(batch.normal(size=(80, 8)) * np.array([1, 2, 0.5, 1, 3, 1, 0.2, 1]), 3)
B = (A @ batch.normal(size=8) + batch.normal(size=80) > 0).astype(float)
write("logistic/x", A)
write("logistic/y", B)


def logistic(w, l2=0.05):
    z = A @ w[:-1] + w[-1]
    value = np.mean(np.logaddexp(0, z) - B * z) + l2 * w[:-1] @ w[:-1]
    d = (1 / (1 + np.exp(-z)) - B) / len(B)
    return value, np.append(A.T @ d + 2 * l2 * w[:-1], d.sum())


problems = {"logistic": (logistic, np.zeros(9)),
            "logistic_weak": (lambda w: logistic(w, 0.001), np.zeros(9)),
            "logistic_strong": (lambda w: logistic(w, 1.0), np.ones(9))}
for n, condition in ((10, 10), (10, 1000), (50, 100), (50, 3000)):
    d = np.round(condition ** (np.arange(n) / (n - 1)), 4)
    write(f"quadratic quadratic{n}_{condition}", d)
    problems[f"quadratic{n}_{condition}"] = (lambda x, d=d: (d @ (x * x) / 2 - x.sum(), d * x - 1), np.zeros(n))
starts = [np.array([-1.2, 1.0]), np.tile([-1.2, 1.0], 5)] + [np.round(batch.uniform(0, 2, n), 2) for n in (3, 4, 5, 6)]
for n, start in enumerate(starts):
    problems[f"rosenbrock{n}"] = (lambda x: (scipy.optimize.rosen(x), scipy.optimize.rosen_der(x)), start)

for problem, (f, start) in problems.items():
    write(f"start {problem}", start)
    for method, name in (("CG", "conjugate_gradient"), ("L-BFGS-B", "lbfgs")):
        for gtol in (1e-5, 1e-8):
            calls = 0

            def counted(x):
                global calls
                calls += 1
                return f(x)

            options = {"gtol": gtol, "maxiter": 10000}
            if name == "lbfgs":
                options |= {"ftol": 0.0, "maxcor": 10}
            found = scipy.optimize.minimize(counted, start, jac=True, method=method, options=options)
            # Of an ill-conditioned form SciPy's search may end before: there is nothing to compare with then.
            if problem.startswith("quadratic") and abs(f(found.x)[1]).max() > gtol:
                continue
            assert abs(f(found.x)[1]).max() <= gtol * 1.0001, (problem, method, gtol, found)
            write(f"minimum {problem} {name} {gtol!r} {calls} {float(found.fun)!r}", found.x)

pathlib.Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
