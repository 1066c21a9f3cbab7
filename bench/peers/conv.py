"""Convolutions of images and their two gradients, without flipped filters.

A case is "i64x56x48,k128x5x3,b16,s2x1,p1x2/fprop": channels, width and height of the images; how many filters, their
width and height; the batch; strides; zeros around the image; the horizontal number first. After the slash fprop,
inputs (the gradient to the images) or weights (to the filters). Rates are GFLOP/s, padding counted.

PyTorch has oneDNN inside, which computes its convolutions of float32: `torch` gives it plain arrays, `torch_cl` those
of channels_last, `torch_mkldnn` those of oneDNN's own choice, which stay in that layout from call to call.
"""
import importlib.util

from worker import Form, to_device, torch_array

MOST_OF_SCIPY = 2e7  # elements of what the transformed images of all pairs have together


class Task:
    def __init__(self, case, dtype):
        import numpy as np
        config, self.which = case.split("/")
        parts = {part[0]: [int(n) for n in part[1:].split("x")] for part in config.split(",")}
        (self.c, w, h), (self.f, kw, kh) = parts["i"], parts["k"]
        self.n = parts.get("b", [128])[0]
        stride, pad = (parts.get("s", [1]) + [1])[:2], parts.get("p", [0, 0])
        self.stride, self.pad = (stride[1], stride[0]), (pad[1], pad[0])
        self.out = tuple((size + 2 * p - k) // s + 1
                         for size, k, s, p in zip((h, w), (kh, kw), self.stride, self.pad))
        x, weights, dy = (self.n, self.c, h, w), (self.f, self.c, kh, kw), (self.n, self.f, *self.out)
        self.shapes = {"x": x, "w": weights, "dy": dy}
        self.operands = {"fprop": ("x", "w"), "inputs": ("dy", "w"), "weights": ("x", "dy")}[self.which]
        rng = np.random.RandomState(7)
        for name in self.operands:
            setattr(self, name, rng.uniform(-1, 1, self.shapes[name]).astype(dtype))
        self.dtype = dtype
        self.flops = 2e-9 * self.n * self.f * self.out[0] * self.out[1] * self.c * kh * kw


def numpy_patches(task):
    """Each image's patches as a matrix, and a matrix product: patches of one image stay in a cache."""
    import numpy as np
    (n, c, h, w), (f, _, kh, kw), (oh, ow) = task.shapes["x"], task.shapes["w"], task.out
    (sh, sw), (ph, pw) = task.stride, task.pad
    padded = np.zeros((c, h + 2 * ph, w + 2 * pw), task.dtype)
    inside = padded[:, ph:ph + h, pw:pw + w]
    patches = np.empty((c, kh, kw, oh, ow), task.dtype)
    as_matrix = patches.reshape(c * kh * kw, oh * ow)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kh, kw), axis=(1, 2))[:, ::sh, ::sw]
    windows = windows.transpose(0, 3, 4, 1, 2)  # sees what is written into `padded`

    def forward():
        out, filters = np.empty((n, f, oh * ow), task.dtype), task.w.reshape(f, -1)
        for image, result in zip(task.x, out):
            inside[...] = image
            patches[...] = windows
            np.matmul(filters, as_matrix, out=result)
        return out.reshape(task.shapes["dy"])

    def inputs():
        out, filters = np.empty(task.shapes["x"], task.dtype), task.w.reshape(f, -1).T
        for gradient, result in zip(task.dy.reshape(n, f, -1), out):
            np.matmul(filters, gradient, out=as_matrix)
            padded[...] = 0
            for i in range(kh):
                for j in range(kw):
                    padded[:, i:i + sh * (oh - 1) + 1:sh, j:j + sw * (ow - 1) + 1:sw] += patches[:, i, j]
            result[...] = inside
        return out

    def weights():
        out = np.zeros((f, c * kh * kw), task.dtype)
        for image, gradient in zip(task.x, task.dy.reshape(n, f, -1)):
            inside[...] = image
            patches[...] = windows
            out += gradient @ as_matrix.T
        return out.reshape(task.shapes["w"])
    return {"fprop": forward, "inputs": inputs, "weights": weights}[task.which]


def scipy_fft(task):
    """All pairs of images and filters at once by Fourier transforms: fftconvolve, where that is not too large."""
    import numpy as np
    from scipy.signal import fftconvolve
    (n, c, h, w), (ph, pw) = task.shapes["x"], task.pad
    if task.stride != (1, 1):
        raise RuntimeError("SciPy has no convolution with strides")
    if n * c * task.f * (h + 2 * ph) * (w + 2 * pw) > MOST_OF_SCIPY:
        raise RuntimeError("too large for SciPy: not measured")

    def around(x):
        return np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))

    def flipped(a):
        return a[..., ::-1, ::-1]

    def forward():
        return fftconvolve(around(task.x)[:, None], flipped(task.w)[None], "valid", axes=(3, 4)).sum(2)

    def inputs():
        full = fftconvolve(task.dy[:, :, None], task.w[None], "full", axes=(3, 4)).sum(1)
        return full[:, :, ph:ph + h, pw:pw + w]

    def weights():
        return fftconvolve(around(task.x)[:, None], flipped(task.dy)[:, :, None], "valid", axes=(3, 4)).sum(0)
    return {"fprop": forward, "inputs": inputs, "weights": weights}[task.which]


def torch_calls(task, convert):
    """`convert` gives an operand the layout that is measured."""
    import torch
    given = {name: convert(torch_array(getattr(task, name))) for name in task.operands}
    if task.which == "fprop":
        x, w = given["x"], given["w"]

        @torch.no_grad()
        def forward():
            return torch.nn.functional.conv2d(x, w, stride=task.stride, padding=task.pad)
        return forward
    # What is not given is asked for its shape only.
    for name in ("x", "w"):
        if name not in given:
            given[name] = convert(to_device(torch.empty(task.shapes[name], dtype=getattr(torch, task.dtype))))
    at = 0 if task.which == "inputs" else 1
    mask = [at == 0, at == 1, False]

    @torch.no_grad()
    def backward():
        return torch.ops.aten.convolution_backward(given["dy"], given["x"], given["w"], None, task.stride, task.pad,
                                                   (1, 1), False, (0, 0), 1, mask)[at]
    return backward


def torch_plain(task):
    return torch_calls(task, lambda a: a)


def torch_channels_last(task):
    import torch
    return torch_calls(task, lambda a: a.to(memory_format=torch.channels_last))


def torch_mkldnn(task):
    """Arrays in layouts that oneDNN chooses, the filters' by mkldnn_reorder_conv2d_weight. Forward only: gradients
    take plain filters."""
    import torch
    if task.dtype != "float32" or task.which != "fprop":
        raise RuntimeError("oneDNN's own layouts are measured forward in float32")
    x = torch.from_numpy(task.x).to_mkldnn()
    reorder, given = torch._C._nn.mkldnn_reorder_conv2d_weight, torch.from_numpy(task.w).to_mkldnn()
    try:
        w = reorder(given, task.pad, task.stride, (1, 1), 1, x.shape)
    except TypeError:  # before 2.0 it was not told the images
        w = reorder(given, task.pad, task.stride, (1, 1), 1)

    @torch.no_grad()
    def forward():
        return torch.nn.functional.conv2d(x, w, stride=task.stride, padding=task.pad)
    return forward


def jax_jit(task, layout):
    import jax
    import jax.numpy as jnp
    import numpy as np
    order = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 2, 3, 1)}[layout]
    filter_order = {"NCHW": (0, 1, 2, 3), "NHWC": (2, 3, 1, 0)}[layout]
    names = (layout, {"NCHW": "OIHW", "NHWC": "HWIO"}[layout], layout)
    orders = {"x": order, "dy": order, "w": filter_order}
    first, second = [jnp.asarray(getattr(task, name).transpose(orders[name])) for name in task.operands]

    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, task.stride, [(p, p) for p in task.pad], dimension_numbers=names)

    def zeros(name):
        return jnp.zeros([task.shapes[name][axis] for axis in orders[name]], task.dtype)
    call = {"fprop": conv,
            "inputs": lambda dy, w: jax.vjp(lambda x: conv(x, w), zeros("x"))[1](dy)[0],
            "weights": lambda x, dy: jax.vjp(lambda w: conv(x, w), zeros("w"))[1](dy)[0]}[task.which]
    compiled = jax.jit(call)
    result = {"fprop": "dy", "inputs": "x", "weights": "w"}[task.which]

    def run():
        return compiled(first, second).block_until_ready()
    run.plain = lambda a: np.asarray(a).transpose(np.argsort(orders[result]))
    return run


CALLS = {
    "numpy": (numpy_patches, "user", "numpy"),
    "scipy_fft": (scipy_fft, "user", "scipy"),
    "torch": (torch_plain, "user", "torch"),
    "torch_cl": (torch_channels_last, "best", "torch"),
    "torch_mkldnn": (torch_mkldnn, "best", "torch"),
    "jax": (lambda task: jax_jit(task, "NCHW"), "user", "jax"),
    "jax_nhwc": (lambda task: jax_jit(task, "NHWC"), "best", "jax"),
}


def form_of(make, kind, needs):
    def make_run(case, dtype, threads):
        task = Task(case, dtype)
        call = make(task)

        def run(calls):
            for _ in range(calls):
                call()
        return run, task.flops
    return Form(make_run, kind, needs)


FORMS = {name: form_of(*row) for name, row in CALLS.items()}


def by_definition(task):
    import numpy as np
    (n, c, h, w), (f, _, kh, kw), (oh, ow) = task.shapes["x"], task.shapes["w"], task.out
    (sh, sw), (ph, pw) = task.stride, task.pad
    arrays = {name: np.zeros(shape) for name, shape in task.shapes.items()}
    for name in task.operands:
        arrays[name] = getattr(task, name)
    x, weights, dy = arrays["x"], arrays["w"], arrays["dy"]
    padded, around = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw))), np.zeros((n, c, h + 2 * ph, w + 2 * pw))
    for oy in range(oh):
        for ox in range(ow):
            for i in range(kh):
                for j in range(kw):
                    at = np.s_[:, :, oy * sh + i, ox * sw + j]
                    if task.which == "fprop":
                        dy[:, :, oy, ox] += padded[at] @ weights[:, :, i, j].T
                    elif task.which == "inputs":
                        around[at] += dy[:, :, oy, ox] @ weights[:, :, i, j]
                    else:
                        weights[:, :, i, j] += dy[:, :, oy, ox].T @ padded[at]
    return {"fprop": dy, "inputs": around[:, :, ph:ph + h, pw:pw + w], "weights": weights}[task.which]


def check():
    """Every installed implementation gives what the definition gives, in float64 (oneDNN's own layouts in float32)."""
    import numpy as np
    import os
    import worker
    os.environ["JAX_ENABLE_X64"] = "1"
    for config in ("i2x7x6,k3x3x2,b4", "i2x7x6,k3x3x2,b4,p1x0", "i2x7x6,k3x3x2,b4,s2x1,p1x0", "i1x5x8,k2x1x1,b1,s2"):
        for which in ("fprop", "inputs", "weights"):
            compared = []
            for name, (make, _, needs) in CALLS.items():
                if importlib.util.find_spec(needs) is None:
                    continue
                dtype = "float32" if name == "torch_mkldnn" else "float64"
                worker.prepare(needs, dtype if needs != "jax" else "float64", 1)
                task = Task(f"{config}/{which}", dtype)
                try:
                    call = make(task)
                except RuntimeError as why:
                    assert "SciPy" in str(why) or "oneDNN" in str(why), why
                    continue
                got = call()
                if name == "torch_mkldnn":
                    got = got.to_dense()
                got = call.plain(got) if hasattr(call, "plain") else np.asarray(got)
                wanted = by_definition(task)
                assert got.shape == wanted.shape, (config, which, name, got.shape, wanted.shape)
                assert np.abs(got - wanted).max() < (1e-5 if dtype == "float32" else 1e-12), (config, which, name)
                compared.append(name)
            wanted = by_definition(Task(f"{config}/{which}", "float64")).ravel()
            print(f"{config}/{which}: {', '.join(compared)} agree; the sum is {wanted.sum():.15g}, that of products "
                  f"with 1, 2, ... {wanted @ np.arange(1, wanted.size + 1):.15g}")
