"""Training steps of recurrent networks: tanh or LSTM over sequences, plain SGD.

A case is "lstm-128-256-100/32": the kind, inputs, hidden units, steps, and the batch. The cost is the sum of the
squares of the last state's distance from a target [batch, hidden]; it is returned at each call as a Python number. The
states begin with zeros. An LSTM is PyTorch's: gates in the order input, forget, cell, output. There is one bias, that
of the inputs. Inputs are standard normal, targets uniform in +-0.5, weights and biases in +-1 / sqrt(hidden); the
learning rate is 1e-5. The same minibatch comes in each call. Rates are sequences a second.
"""
import importlib
import importlib.util

from worker import Form, to_device, torch_array, torch_compile

RATE = 1e-5


class Task:
    def __init__(self, case, dtype):
        import numpy as np
        layers, batch = case.split("/")
        self.kind, *sizes = layers.split("-")
        self.inputs, self.hidden, self.steps = map(int, sizes)
        self.batch, self.dtype, self.gates = int(batch), dtype, 4 if self.kind == "lstm" else 1
        rng, limit, units = np.random.RandomState(2344), self.hidden ** -0.5, self.gates * self.hidden
        self.x = rng.normal(size=(self.steps, self.batch, self.inputs)).astype(dtype)
        self.target = rng.uniform(-0.5, 0.5, (self.batch, self.hidden)).astype(dtype)
        self.Wx = rng.uniform(-limit, limit, (self.inputs, units)).astype(dtype)
        self.Wh = rng.uniform(-limit, limit, (self.hidden, units)).astype(dtype)
        self.b = rng.uniform(-limit, limit, units).astype(dtype)


def sigmoid(x):
    import numpy as np
    return 1 / (1 + np.exp(-x))


def numpy_plain(task):
    """A step at a time, forward and backward."""
    import numpy as np
    x, target, Wx, Wh, b = task.x, task.target, task.Wx, task.Wh, task.b
    zeros = np.zeros((task.batch, task.hidden), task.dtype)

    def tanh_step():
        h = [zeros]
        for x_t in x:
            h.append(np.tanh(x_t @ Wx + b + h[-1] @ Wh))
        error = h[-1] - target
        dWx, dWh, db, dh = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b), 2 * error
        for t in reversed(range(task.steps)):
            da = dh * (1 - h[t + 1] ** 2)
            dWx += x[t].T @ da
            dWh += h[t].T @ da
            db += da.sum(0)
            dh = da @ Wh.T
        return error, dWx, dWh, db

    def lstm_step():
        h, c, gates = [zeros], [zeros], []
        for x_t in x:
            i, f, g, o = np.split(x_t @ Wx + b + h[-1] @ Wh, 4, axis=1)
            i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
            c.append(f * c[-1] + i * g)
            tc = np.tanh(c[-1])
            h.append(o * tc)
            gates.append((i, f, g, o, tc))
        error = h[-1] - target
        dWx, dWh, db, dh, dc = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b), 2 * error, zeros
        for t in reversed(range(task.steps)):
            i, f, g, o, tc = gates[t]
            dc = dc + dh * o * (1 - tc ** 2)
            da = np.concatenate([dc * g * i * (1 - i), dc * c[t] * f * (1 - f), dc * i * (1 - g ** 2),
                                 dh * tc * o * (1 - o)], axis=1)
            dWx += x[t].T @ da
            dWh += h[t].T @ da
            db += da.sum(0)
            dh, dc = da @ Wh.T, dc * f
        return error, dWx, dWh, db

    gradients = lstm_step if task.kind == "lstm" else tanh_step

    def step():
        error, dWx, dWh, db = gradients()
        for w, dw in ((Wx, dWx), (Wh, dWh), (b, db)):
            w -= task.Wx.dtype.type(RATE) * dw
        return float((error ** 2).sum())
    return step


def numpy_in_place(task):
    """The products of the inputs of all steps and of the weights' gradients at once, every array in place."""
    import numpy as np
    x, target, Wx, Wh, b, steps, n = task.x, task.target, task.Wx, task.Wh, task.b, task.steps, task.hidden
    rows = x.reshape(-1, task.inputs)
    a = np.empty((steps, task.batch, task.gates * n), task.dtype)
    h = np.zeros((steps + 1, task.batch, n), task.dtype)
    product, error, dh = np.empty_like(a[0]), np.empty_like(h[0]), np.empty_like(h[0])
    dWx, dWh, WhT, all_rows = np.empty_like(Wx), np.empty_like(Wh), np.empty_like(Wh.T), a.reshape(-1, task.gates * n)
    rate = task.Wx.dtype.type(RATE)
    if task.kind == "lstm":
        c, tc = np.zeros_like(h), np.empty_like(h[1:])
        dc, one, two = np.empty_like(h[0]), np.empty_like(h[0]), np.empty_like(h[0])

    def forward_tanh():
        for t in range(steps):
            np.matmul(h[t], Wh, out=product)
            np.add(a[t], product, out=a[t])
            np.tanh(a[t], out=h[t + 1])

    def backward_tanh():
        for t in range(steps - 1, -1, -1):
            np.multiply(h[t + 1], h[t + 1], out=a[t])
            np.subtract(1, a[t], out=a[t])
            np.multiply(a[t], dh, out=a[t])
            np.matmul(a[t], WhT, out=dh)

    def sigmoid_in(z):
        # By tanh, which NumPy has vectorized: sigmoid(z) = (1 + tanh(z / 2)) / 2.
        np.multiply(z, 0.5, out=z)
        np.tanh(z, out=z)
        np.multiply(z, 0.5, out=z)
        np.add(z, 0.5, out=z)

    def forward_lstm():
        for t in range(steps):
            z = a[t]
            np.matmul(h[t], Wh, out=product)
            np.add(z, product, out=z)
            sigmoid_in(z[:, :2 * n])
            np.tanh(z[:, 2 * n:3 * n], out=z[:, 2 * n:3 * n])
            sigmoid_in(z[:, 3 * n:])
            np.multiply(z[:, n:2 * n], c[t], out=c[t + 1])
            np.multiply(z[:, :n], z[:, 2 * n:3 * n], out=one)
            np.add(c[t + 1], one, out=c[t + 1])
            np.tanh(c[t + 1], out=tc[t])
            np.multiply(z[:, 3 * n:], tc[t], out=h[t + 1])

    def times_slope(cotangent, gate):
        # gate <- cotangent * gate * (1 - gate)
        np.multiply(cotangent, gate, out=cotangent)
        np.subtract(1, gate, out=gate)
        np.multiply(cotangent, gate, out=gate)

    def backward_lstm():
        dc[...] = 0
        for t in range(steps - 1, -1, -1):
            i, f, g, o = (a[t][:, k * n:(k + 1) * n] for k in range(4))
            np.multiply(tc[t], tc[t], out=one)
            np.subtract(1, one, out=one)
            np.multiply(one, o, out=one)
            np.multiply(one, dh, out=one)
            np.add(dc, one, out=dc)
            np.multiply(dh, tc[t], out=one)
            times_slope(one, o)
            np.multiply(dc, c[t], out=one)
            np.multiply(dc, f, out=two)
            times_slope(one, f)
            np.multiply(dc, g, out=one)
            np.multiply(g, g, out=g)
            np.subtract(1, g, out=g)
            np.multiply(g, i, out=g)
            np.multiply(g, dc, out=g)
            times_slope(one, i)
            dc[...] = two
            np.matmul(a[t], WhT, out=dh)

    forward, backward = (forward_lstm, backward_lstm) if task.kind == "lstm" else (forward_tanh, backward_tanh)

    def step():
        np.matmul(rows, Wx, out=all_rows)
        np.add(all_rows, b, out=all_rows)
        forward()
        np.subtract(h[-1], target, out=error)
        np.multiply(error, 2, out=dh)
        WhT[...] = Wh.T
        backward()
        np.matmul(rows.T, all_rows, out=dWx)
        np.matmul(h[:-1].reshape(-1, n).T, all_rows, out=dWh)
        db = all_rows.sum(0)
        for w, dw in ((Wx, dWx), (Wh, dWh), (b, db)):
            np.multiply(dw, rate, out=dw)
            np.subtract(w, dw, out=w)
        return float(np.dot(error.ravel(), error.ravel()))
    return step


def torch_module(task, compiled):
    """torch.nn.RNN or torch.nn.LSTM, and torch.optim.SGD. The second bias is zero and stays so."""
    import torch
    kind = torch.nn.LSTM if task.kind == "lstm" else torch.nn.RNN
    model = to_device(kind(task.inputs, task.hidden).to(getattr(torch, task.dtype)))
    with torch.no_grad():
        model.weight_ih_l0.copy_(torch.from_numpy(task.Wx.T.copy()))
        model.weight_hh_l0.copy_(torch.from_numpy(task.Wh.T.copy()))
        model.bias_ih_l0.copy_(torch.from_numpy(task.b))
        model.bias_hh_l0.zero_()
    model.bias_hh_l0.requires_grad_(False)
    x, target = torch_array(task.x), torch_array(task.target)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=RATE)

    def loss(x, target):
        return ((model(x)[0][-1] - target) ** 2).sum()
    if compiled:
        loss = torch_compile(loss)

    def step():
        optimizer.zero_grad(set_to_none=True)
        cost = loss(x, target)
        cost.backward()
        optimizer.step()
        return cost.item()
    return step


def torch_loop(task, how):
    """A loop of products and cells with autograd, scripted or compiled (which unrolls it); updates in place."""
    import torch

    def tanh_loss(x, target, Wx, Wh, b):
        # type: (Tensor, Tensor, Tensor, Tensor, Tensor) -> Tensor
        a = (torch.matmul(x, Wx) + b).unbind(0)
        h = torch.zeros_like(target)
        for a_t in a:
            h = torch.tanh(torch.addmm(a_t, h, Wh))
        return ((h - target) ** 2).sum()

    def lstm_loss(x, target, Wx, Wh, b):
        # type: (Tensor, Tensor, Tensor, Tensor, Tensor) -> Tensor
        a = (torch.matmul(x, Wx) + b).unbind(0)
        h, c = torch.zeros_like(target), torch.zeros_like(target)
        for a_t in a:
            i, f, g, o = torch.addmm(a_t, h, Wh).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return ((h - target) ** 2).sum()

    loss = lstm_loss if task.kind == "lstm" else tanh_loss
    loss = torch.jit.script(loss) if how == "script" else torch_compile(loss)
    x, target = torch.from_numpy(task.x), torch.from_numpy(task.target)
    parameters = [torch.from_numpy(w).requires_grad_() for w in (task.Wx, task.Wh, task.b)]

    def step():
        cost = loss(x, target, *parameters)
        gradients = torch.autograd.grad(cost, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients):
                parameter.sub_(gradient, alpha=RATE)
        return cost.item()
    return step


def torch_hand(task):
    """Gradients by hand: the weights' as one product after the loop, folded into the update."""
    import torch
    x, target, Wx, Wh, b = map(torch.from_numpy, (task.x, task.target, task.Wx, task.Wh, task.b))
    steps, n, rows = task.steps, task.hidden, x.reshape(-1, task.inputs)
    h = torch.zeros((steps + 1, task.batch, n), dtype=x.dtype)
    da = torch.empty((steps, task.batch, task.gates * n), dtype=x.dtype)
    tanh_backward, sigmoid_backward = torch.ops.aten.tanh_backward, torch.ops.aten.sigmoid_backward

    def tanh_pass():
        a = torch.addmm(b, rows, Wx).view(steps, task.batch, n).unbind(0)
        states = h.unbind(0)
        for t in range(steps):
            torch.tanh(torch.addmm(a[t], states[t], Wh), out=states[t + 1])
        error = states[-1] - target
        dh, slots, back = 2 * error, da.unbind(0), Wh.t().contiguous()
        for t in range(steps - 1, -1, -1):
            torch.ops.aten.tanh_backward.grad_input(dh, states[t + 1], grad_input=slots[t])
            dh = torch.mm(slots[t], back)
        return error

    def lstm_pass():
        a = torch.addmm(b, rows, Wx).view(steps, task.batch, 4 * n).unbind(0)
        states, c, kept = h.unbind(0), torch.zeros_like(h[0]), []
        for t in range(steps):
            z = torch.addmm(a[t], states[t], Wh)
            i, f = z[:, :2 * n].sigmoid_().chunk(2, 1)
            g, o = z[:, 2 * n:3 * n].tanh_(), z[:, 3 * n:].sigmoid_()
            before, c = c, torch.addcmul(i * g, f, c)
            tc = torch.tanh(c)
            torch.mul(o, tc, out=states[t + 1])
            kept.append((i, f, g, o, tc, before))
        error = states[-1] - target
        dh, dc, back = 2 * error, torch.zeros_like(c), Wh.t().contiguous()
        for t in range(steps - 1, -1, -1):
            i, f, g, o, tc, before = kept[t]
            dc = dc + tanh_backward(dh * o, tc)
            torch.cat((sigmoid_backward(dc * g, i), sigmoid_backward(dc * before, f), tanh_backward(dc * i, g),
                       sigmoid_backward(dh * tc, o)), 1, out=da[t])
            dh, dc = torch.mm(da[t], back), dc * f
        return error

    run = lstm_pass if task.kind == "lstm" else tanh_pass

    @torch.no_grad()
    def step():
        error = run()
        flat = da.view(-1, task.gates * n)
        Wx.addmm_(rows.t(), flat, alpha=-RATE)
        Wh.addmm_(h[:-1].reshape(-1, n).t(), flat, alpha=-RATE)
        b.sub_(flat.sum(0), alpha=RATE)
        return (error * error).sum().item()
    return step


def jax_cells(task):
    import jax
    import jax.numpy as jnp

    def tanh_cell(state, a):
        return (jnp.tanh(a(state[0])),)

    def lstm_cell(state, a):
        i, f, g, o = jnp.split(a(state[0]), 4, axis=1)
        c = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c
    return (lstm_cell, 2) if task.kind == "lstm" else (tanh_cell, 1)


def jax_scan(task, ahead, unroll):
    """lax.scan; with `ahead` the product of the inputs of all steps comes before it."""
    import functools
    import jax
    import jax.numpy as jnp
    cell, states = jax_cells(task)

    def loss(parameters, x, target):
        Wx, Wh, b = parameters
        start = (jnp.zeros_like(target),) * states

        def body(state, x_t):
            return cell(state, lambda h: (x_t if ahead else x_t @ Wx + b) + h @ Wh), None
        last, _ = jax.lax.scan(body, start, x @ Wx + b if ahead else x, unroll=unroll)
        return ((last[0] - target) ** 2).sum()

    @functools.partial(jax.jit, donate_argnums=0)
    def update(parameters, x, target):
        cost, gradients = jax.value_and_grad(loss)(parameters, x, target)
        return [p - RATE * g for p, g in zip(parameters, gradients)], cost
    return jax_step(task, update)


def jax_step(task, update):
    import jax.numpy as jnp
    parameters = [jnp.asarray(w) for w in (task.Wx, task.Wh, task.b)]
    x, target = jnp.asarray(task.x), jnp.asarray(task.target)

    def step():
        nonlocal parameters
        parameters, cost = update(parameters, x, target)
        return float(cost)
    return step


def jax_hand(task):
    """Two scans: the gradients of the states by hand, those of the weights as one product after the loop."""
    import functools
    import jax
    import jax.numpy as jnp
    cell, states = jax_cells(task)

    @functools.partial(jax.jit, donate_argnums=0)
    def update(parameters, x, target):
        Wx, Wh, b = parameters
        rows = x.reshape(-1, task.inputs)
        a = (rows @ Wx + b).reshape(task.steps, task.batch, -1)
        zeros = jnp.zeros_like(target)

        def forward(state, a_t):
            z = a_t + state[0] @ Wh
            return cell(state, lambda h: z), (state, z)
        last, (before, z) = jax.lax.scan(forward, (zeros,) * states, a)
        error = last[0] - target

        def backward(cotangents, kept):
            state, z_t = kept
            _, pull = jax.vjp(lambda state, z: cell(state, lambda h: z), state, z_t)
            through, da = pull(cotangents)
            return (da @ Wh.T, *through[1:]), da
        _, da = jax.lax.scan(backward, (2 * error,) + (zeros,) * (states - 1), (before, z), reverse=True)
        flat = da.reshape(rows.shape[0], -1)
        return [Wx - RATE * (rows.T @ flat), Wh - RATE * (before[0].reshape(-1, task.hidden).T @ flat),
                b - RATE * flat.sum(0)], (error ** 2).sum()
    return jax_step(task, update)


def pytensor_scan(task):
    import pytensor
    import pytensor.tensor as pt
    x, target, *parameters = [pytensor.shared(w) for w in (task.x, task.target, task.Wx, task.Wh, task.b)]
    Wx, Wh, b = parameters
    zeros, n = pt.zeros_like(target), task.hidden

    def lstm_step(a_t, h, c):
        z = a_t + h @ Wh
        i, f, g, o = (z[:, k * n:(k + 1) * n] for k in range(4))
        c = pt.sigmoid(f) * c + pt.sigmoid(i) * pt.tanh(g)
        return pt.sigmoid(o) * pt.tanh(c), c

    def tanh_step(a_t, h):
        return pt.tanh(a_t + h @ Wh)
    step, start = (lstm_step, [zeros, zeros]) if task.kind == "lstm" else (tanh_step, [zeros])
    states = pytensor.scan(step, sequences=[x @ Wx + b], outputs_info=start, return_updates=False)
    h = states[0] if task.kind == "lstm" else states
    cost = ((h[-1] - target) ** 2).sum()
    rate = pt.constant(RATE, dtype=task.dtype)
    call = pytensor.function([], cost, updates=[(p, p - rate * g) for p, g in zip(parameters,
                                                                               pytensor.grad(cost, parameters))])
    return lambda: float(call())


STEPS = {
    "numpy": (numpy_plain, "user", "numpy"),
    "numpy_out": (numpy_in_place, "best", "numpy"),
    "torch": (lambda task: torch_module(task, False), "user", "torch"),
    "torch_compile": (lambda task: torch_module(task, True), "user", "torch"),
    "torch_loop_jit": (lambda task: torch_loop(task, "script"), "best", "torch"),
    "torch_loop_compile": (lambda task: torch_loop(task, "compile"), "best", "torch"),
    "torch_hand": (torch_hand, "best", "torch"),
    "jax_scan": (lambda task: jax_scan(task, False, 1), "user", "jax"),
    "jax_scan_ahead": (lambda task: jax_scan(task, True, 1), "best", "jax"),
    "jax_scan_unrolled": (lambda task: jax_scan(task, True, 10), "best", "jax"),
    "jax_hand": (jax_hand, "best", "jax"),
    "pytensor": (pytensor_scan, "user", "pytensor"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        task = Task(case, dtype)
        step = make(task)

        def run(calls):
            for _ in range(calls):
                step()
        return run, task.batch
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in STEPS.items()}


def check():
    """The costs of three steps are the plain one's, in float64."""
    import os
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for case in ("tanh-5-6-4/3", "lstm-5-6-4/3"):
        step = numpy_plain(Task(case, "float64"))
        wanted = [step() for _ in range(3)]
        compared = []
        for name, (make, _, needs) in STEPS.items():
            if importlib.util.find_spec(needs) is None:
                continue
            if name.endswith("compile") and not hasattr(importlib.import_module("torch"), "compile"):
                continue
            worker.prepare(needs, "float64", 1)
            step = make(Task(case, "float64"))
            got = [step() for _ in range(3)]
            assert all(abs(one / other - 1) < 1e-11 for one, other in zip(got, wanted)), (case, name, got, wanted)
            compared.append(name)
        print(f"{case}: {', '.join(compared)} agree: {wanted[0]:.15g}, {wanted[1]:.15g}, {wanted[2]:.15g}")
