#!/usr/bin/env python3
"""Writes recurrent.txt: recurrent layers computed by PyTorch, for tests/nn/layers/recurrent_test.cpp.

Run: python3 tests/golden/recurrent.py, with PyTorch. 3 sequences of 4 steps of 2 numbers in float64, 2 units. Lines of
a case: each weight, "out" (of all steps, [steps, batch, units], 0 behind a sequence's end), "last" (the output after
the last step) and "grad/" + x and each weight, of the loss sum(out * c). The weights are those of thtrain: W and U are
PyTorch's matrices transposed, b the sum of its two biases but for the part of a GRU's that is inside of the reset
gate's product, b_n. Cases:

    rnn, rnn_relu, lstm, gru        all sequences have 4 steps
    packed_...                      they have 4, 2 and 3 steps
    gru_before                      reset gate before the product (Cho et al.), which PyTorch's layer has not
    bidirectional_...               both directions, packed; weights are "forward/W", "backward/W"
"""
import pathlib

import torch
from torch.nn.utils import rnn as packing

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
lines = [f"# written by recurrent.py with PyTorch {torch.__version__}"]
LENGTHS = torch.tensor([4, 2, 3])
STEPS, BATCH, IN, UNITS = 4, 3, 2, 2


def write(name, value):
    shape = "[" + ",".join(map(str, value.shape)) + "]"
    lines.append(f"{name} = {shape} " + " ".join(repr(v) for v in value.detach().reshape(-1).tolist()))


x_values = torch.rand(STEPS, BATCH, IN) * 4 - 2
c = torch.rand(STEPS, BATCH, 2 * UNITS) * 2 - 1
write("x", x_values)
write("c", c)


def weights_of(layer, suffix, of):
    """thtrain's weights, or their gradients, of one direction; `of` gives the tensor or its gradient."""
    w, u = of(getattr(layer, "weight_ih_l0" + suffix)), of(getattr(layer, "weight_hh_l0" + suffix))
    b1, b2 = of(getattr(layer, "bias_ih_l0" + suffix)), of(getattr(layer, "bias_hh_l0" + suffix))
    is_gradient = of(layer.weight_ih_l0) is not layer.weight_ih_l0
    b = b1 if is_gradient else b1 + b2
    out = {"W": w.T, "U": u.T, "b": b}
    if isinstance(layer, torch.nn.GRU):
        out["b"] = torch.cat([b[:2 * UNITS], b1[2 * UNITS:]])
        out["b_n"] = b2[2 * UNITS:]
    return out


def case(name, layer, packed):
    x = x_values.clone().requires_grad_()
    if packed:
        out, last = layer(packing.pack_padded_sequence(x, LENGTHS, enforce_sorted=False))
        out = packing.pad_packed_sequence(out, total_length=STEPS)[0]
    else:
        out, last = layer(x)
    last = last[0] if isinstance(last, tuple) else last
    (out * c[:, :, :out.shape[2]]).sum().backward()
    parts = {"forward/": "", "backward/": "_reverse"} if layer.bidirectional else {"": ""}
    for part, suffix in parts.items():
        for key, value in weights_of(layer, suffix, lambda w: w).items():
            write(f"{name}/{part}{key}", value)
    write(name + "/out", out)
    write(name + "/last", torch.cat(list(last), dim=1))
    write(name + "/grad/x", x.grad)
    for part, suffix in parts.items():
        for key, value in weights_of(layer, suffix, lambda w: w.grad).items():
            write(f"{name}/grad/{part}{key}", value)


def gru_before():
    x = x_values.clone().requires_grad_()
    weights = {key: (torch.rand(shape) * 2 - 1).requires_grad_()
               for key, shape in (("W", (IN, 3 * UNITS)), ("U", (UNITS, 3 * UNITS)), ("b", (3 * UNITS,)))}
    h, out = torch.zeros(BATCH, UNITS), []
    for t in range(STEPS):
        r, z, n = (x[t] @ weights["W"] + weights["b"]).chunk(3, dim=1)
        u_r, u_z, u_n = weights["U"].chunk(3, dim=1)
        r, z = torch.sigmoid(r + h @ u_r), torch.sigmoid(z + h @ u_z)
        h = z * h + (1 - z) * torch.tanh(n + (r * h) @ u_n)
        out.append(h)
    out = torch.stack(out)
    (out * c[:, :, :UNITS]).sum().backward()
    for key, value in weights.items():
        write("gru_before/" + key, value)
    write("gru_before/out", out)
    write("gru_before/last", h)
    write("gru_before/grad/x", x.grad)
    for key, value in weights.items():
        write("gru_before/grad/" + key, value.grad)


for prefix, packed in (("", False), ("packed_", True)):
    case(prefix + "rnn", torch.nn.RNN(IN, UNITS), packed)
    case(prefix + "rnn_relu", torch.nn.RNN(IN, UNITS, nonlinearity="relu"), packed)
    case(prefix + "lstm", torch.nn.LSTM(IN, UNITS), packed)
    case(prefix + "gru", torch.nn.GRU(IN, UNITS), packed)
gru_before()
case("bidirectional_rnn", torch.nn.RNN(IN, UNITS, bidirectional=True), True)
case("bidirectional_lstm", torch.nn.LSTM(IN, UNITS, bidirectional=True), True)
case("bidirectional_gru", torch.nn.GRU(IN, UNITS, bidirectional=True), True)
pathlib.Path(__file__).with_name("recurrent.txt").write_text("\n".join(lines) + "\n")
