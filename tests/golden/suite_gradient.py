#!/usr/bin/env python3
"""Writes suite_gradient.txt: derivatives that PyTensor computes, for tests/compiler/suites/gradient_test.cpp.

Run: python3 tests/golden/suite_gradient.py, with PyTensor. The cases follow tests/test_gradient.py, tests/test_rop.py
and tests/compile/test_builders.py (and the tests of these names in Theano 1.0.5); they are written anew.
"""
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor import grad
from pytensor.compile.builders import OpFromGraph
from pytensor.gradient import (Lop, Rop, disconnected_grad, grad_clip, grad_scale, hessian, hessian_vector_product,
                               jacobian)
from pytensor.tensor.conv.abstract_conv import conv2d
from pytensor.tensor.special import softmax
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor

from suite import Suite, compute, count, given, positive, spread

s = Suite(__file__)

s.group = "grad"
x = given(spread(3, 4))
s.case("TestGrad.test_grad_keep_type", grad(x.sum(), x), grad(x.sum(), [x])[0])
s.case("TestGrad.test_zero_gradient_shape",
       grad(given(np.float64(2)), given(np.ones((3, 7))), disconnected_inputs="ignore"))
x, A = given(spread(2)), given(spread(2, 2, seed=1))
w = np.array([2.0, -3.0])
s.case("TestGrad.test_grad_duplicate_input", grad((x * x * w).sum(), x))
s.case("TestGrad.test_grad_quadratic", *grad(x.dot(A.dot(x)), [x, A]))
s.case("TestGrad.test_grad_quadratic_vector", *grad((pt.dot(x * x, A) * w).sum(), [x, A]))
s.case("TestGrad.test_grad_cubic", *grad(pt.dot(x * x, A.dot(x)), [x, A]))
s.case("TestGrad.test_grad_grad_quadratic", *grad((grad(x.dot(A.dot(x)), x) * w).sum(), [x, A]))
s.case("TestGrad.test_grad_grad_cubic", *grad((grad(pt.dot(x * x, A.dot(x)), x) * w).sum(), [x, A]))
x = given(spread(3))
s.case("TestGrad.test_grad_disconnected", grad(pt.alloc(x.sum() / x.shape[0], x.shape[0]).sum(), x))
x, z = given(np.float32(3)), given(np.int64(4))
s.case("TestGrad.test_downcast_dtype", grad(x * 2 + z, x))
x = given(np.float64(2))
s.case("TestGrad.test_grad_constant", grad(x + given(np.float64(0.5)), x, consider_constant=[x]))
x = given(np.float64(12))
s.case("test_dxdx", grad(x, x))
x, coefficients, t = given(np.float64(1.25)), given(spread(10)), 3
ct = coefficients[t]
p = x ** t
y = ct * p
cost = y ** 2
for name in ("cost", "y", "ct,p", "ct,x", "coeffs,x"):
    s.case(f"test_known_grads[{name}]", *grad(cost, [coefficients, x]))
x, target = given(positive(3)), given(spread(2))
w1, w2 = given(spread(3, 4, seed=1)), given(spread(4, 2, seed=2))
a1 = pt.tanh(x.dot(w1))
cost = ((pt.tanh(a1.dot(w2)) - target) ** 2).sum() + w2.sum() ** 2 + w1.sum() ** 2
s.case("test_subgraph_grad", *grad(cost, [w2, w1]))
x = given(spread(5, 5))
v = spread(5, 5)
s.values("TestConsiderConstant.test_grad[x,x]", v)
s.values("TestConsiderConstant.test_grad[x,exp]", np.exp(v))
s.values("TestConsiderConstant.test_grad[x^2,exp]", 2 * v * np.exp(v))
s.values("TestZeroGrad.test_grad[x,x]", v)
s.values("TestZeroGrad.test_grad[x,exp]", np.exp(v))
s.values("TestZeroGrad.test_grad[alone]", 0 * v)
s.values("TestZeroGrad.test_grad[x^2,x]", 2 * v ** 2)
s.values("TestZeroGrad.test_rop", np.zeros(5))
s.values("TestZeroGrad.test_op_removed", v * v)
for name, value in [("x,x", lambda x: x * disconnected_grad(x)),
                    ("x,exp", lambda x: x * disconnected_grad(pt.exp(x))),
                    ("x^2,x", lambda x: x ** 2 * disconnected_grad(x))]:
    s.case(f"TestDisconnectedGrad.test_grad[{name}]", grad(value(x).sum(), x))
s.case("TestDisconnectedGrad.test_disconnected_paths[x]", grad((x + disconnected_grad(x)).sum(), x))
a, b = given(spread(2, 2)), given(spread(2, 2, seed=1))
s.case("TestDisconnectedGrad.test_disconnected_paths[a]", grad((a + disconnected_grad(b)).sum(), a))
s.case("TestDisconnectedGrad.test_op_removed", x * disconnected_grad(x))
x = given(np.float64(2))
s.case("test_grad_clip", grad(grad_clip(x, -1, 1) ** 2, x), grad(x ** 2, x))
s.case("test_grad_scale", grad(grad_scale(x, 2) ** 2, x), grad(x ** 2, x))
ONE = np.ones((2, 3))
for name, count_in, count_out in [("1in_1out", 1, 1), ("1in_Nout", 1, 2), ("Nin_1out", 2, 1), ("Nin_Nout", 2, 2)]:
    s.values(f"TestGradSourcesInputs.test_{name}", *[spread(2, 3, seed=k) for k in range(count_in)])
s.values("TestGradSourcesInputs.test_some_None_ograds", spread(2, 3))
s.values("TestGradSourcesInputs.test_retNone1", np.zeros((2, 3)))

s.group = "jacobian"
x, z = given(spread(10)), given(positive(10))
s.case("test_jacobian_vector[one]", jacobian(x * 2, x))
s.case("test_jacobian_vector[list]", *jacobian(x * 2, [x]))
s.case("test_jacobian_vector[two]", *jacobian(x * z, [x, z]))
m, n = given(spread(4, 4)), given(positive(4, 4))
s.case("test_jacobian_matrix[one]", jacobian(2 * m.sum(axis=0), m))
s.case("test_jacobian_matrix[list]", *jacobian(2 * m.sum(axis=0), [m]))
s.case("test_jacobian_matrix[two]", *jacobian((m * n).sum(axis=1), [m, n]))
a, b = given(np.float64(1.5)), given(np.float64(-0.75))
s.case("test_jacobian_scalar[one]", jacobian(a * 2, a))
s.case("test_jacobian_scalar[list]", *jacobian(a * 2, [a]))
s.case("test_jacobian_scalar[two]", *jacobian(a * b, [a, b]))
x = given(count(10))
s.case("test_hessian", hessian((x ** 2).sum(), x))
x = given(count(4))
s.case("test_jacobian_disconnected_inputs[vector]", jacobian(1 + given(count(4)), x, disconnected_inputs="ignore"))
s.case("test_jacobian_disconnected_inputs[scalar]", jacobian(1 + a, b, disconnected_inputs="ignore"))
x, p = given(count(9) / 8), given(count(9) / 2)
rosen = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
s.case("TestHessianVectorProduct.test_rosen", hessian_vector_product(rosen, wrt=x, p=p))
x, y = given(spread(3)), given(spread(3, seed=1))
s.case("TestHessianVectorProduct.test_multiple_wrt",
       *hessian_vector_product((x ** 2 - y ** 2).sum(), wrt=[x, y],
                               p=[given(np.array([1.0, 2, 3])), given(np.array([3.0, 2, 1]))]))

s.group = "rop"
x, v = given(positive(20)), given(spread(20))
mx, mv = given(positive(4, 5)), given(spread(4, 5))
t3, t10 = given(spread(3, seed=2)), given(spread(10, seed=2))
W = given(spread(20, 20, seed=1))


def both(name, y, wrt, tangent):
    u = given(spread(*y.eval().shape, seed=3))
    s.case(f"TestRopLop.{name}", Rop(y, wrt, tangent, use_op_rop_implementation=True), Lop(y, wrt, u))


both("test_max[0]", pt.max(mx, axis=0), mx, mv)
both("test_max[1]", pt.max(mx, axis=1), mx, mv)
both("test_subtensor", x[:4], x, v)
both("test_incsubtensor1", inc_subtensor(x[:3], t3), x, v)
both("test_incsubtensor2", inc_subtensor(t10[:4], x[:4]), x, v)
both("test_setsubtensor1", set_subtensor(x[:3], t3), x, v)
both("test_setsubtensor2", set_subtensor(t10[:4], x[:4]), x, v)
both("test_dimshuffle", x[:4].dimshuffle("x", 0).sum(axis=0), x, v)
both("test_rebroadcast", x[:4].dimshuffle("x", 0).sum(axis=1), x, v)
both("test_specifyshape", pt.specify_shape(x, (20,)), x, v)
both("test_join", pt.join(0, x, t10), x, v)
both("test_dot", x.dot(W), x, v)
both("test_elemwise0", (x + 1) ** 2, x, v)
both("test_elemwise1", x + pt.cast(x, "int32"), x, v)
both("test_reshape", mx.reshape((20,)), mx, mv)
both("test_flatten", mx.flatten(), mx, mv)
both("test_sum", mx.sum(axis=1), mx, mv)
both("test_softmax", softmax(x, axis=-1), x, v)
both("test_alloc[1]", pt.alloc(x.sum(), 20), x, v)
both("test_alloc[3]", pt.alloc(x, 4, 5, 20).flatten(), x, v)
m, r, m_, r_ = given(spread(3, 7)), given(spread(7)), given(spread(3, 7, seed=4)), given(spread(7, seed=5))
s.case("TestRopLop.test_multiple_outputs", *Rop([m, r, m + r], [m, r], [m_, r_], use_op_rop_implementation=True))
a, b = given(count(20).reshape(1, 20)), given(np.ones(20))
s.case("TestRopLop.test_Rop_partially_differentiable_paths",
       Rop(pt.tanh(a.dot(b * b)), b, b, use_op_rop_implementation=True))
image, filters = given(spread(2, 2, 4, 5)), given(spread(2, 2, 2, 3, seed=1))
d_image, d_filters = given(spread(2, 2, 4, 5, seed=2)), given(spread(2, 2, 2, 3, seed=3))
for border in ("valid", "full"):
    s.case(f"TestRopLop.test_conv[{border}]", conv2d(d_image, filters, border_mode=border)
           + conv2d(image, d_filters, border_mode=border))


def pooled_tangent(x, dx, window, ignore_border):
    """The tangents of the largest elements of windows side by side along the last axes."""
    lead = x.shape[:-len(window)]
    lengths = [n // k if ignore_border else -(-n // k) for n, k in zip(x.shape[-len(window):], window)]
    out = np.zeros(lead + tuple(lengths))
    for position in np.ndindex(*out.shape):
        cut = position[:len(lead)] + tuple(slice(i * k, (i + 1) * k) for i, k in zip(position[len(lead):], window))
        part = x[cut]
        out[position] = dx[cut].ravel()[part.argmax()]
    return out


def permuted(*shape, seed):
    """Numbers of which no two are equal."""
    n = int(np.prod(shape))
    step = next(k for k in range(37 + seed, 37 + seed + n) if np.gcd(k, n) == 1)
    return ((np.arange(n) * step) % n / 16).reshape(shape)


for window, shape in [((2,), (16,)), ((2,), (4, 16)), ((2,), (4, 2, 16)), ((1, 1), (4, 2, 6, 6)),
                      ((2, 2), (2, 2, 8, 8)), ((3, 3), (2, 2, 8, 8)), ((3, 2), (2, 2, 8, 8)),
                      ((3, 2, 2), (2, 2, 7, 8, 6)), ((2, 3, 2), (2, 2, 7, 8, 6)), ((2, 2, 3), (2, 2, 7, 8, 6))]:
    for ignore in (True, False):
        name = ",".join(map(str, window)) + ":" + ",".join(map(str, shape))
        s.values(f"TestRopLop.test_downsample[{name},{str(ignore).lower()}]",
                 pooled_tangent(permuted(*shape, seed=0), spread(*shape), window, ignore))

s.group = "graph"
x, y, z = given(np.ones((2, 2))), given(3 * np.ones((2, 2))), given(5 * np.ones((2, 2)))
p, q, r = pt.matrices("pqr")
shared = given(spread(2, 2))


def op(x, y, z):
    return x + y * z


f = op(x, y, z)
s.case("TestOpFromGraph.test_straightforward", op(x, y, z) - op(y, z, x))
s.case("TestOpFromGraph.test_size_changes",
       given(np.ones((2, 3))).dot(given(3 * np.ones((3, 4))).dot(given(5 * np.ones((4, 5))))))
f = f - grad(f.sum(), y)
s.case("TestOpFromGraph.test_grad", f)
s.case("TestOpFromGraph.test_grad_grad", f - grad(f.sum(), y))
s.case("TestOpFromGraph.test_shared", (op(x, y, z) + shared) - (op(y, z, x) + shared))
f = op(x, y, z) + shared
s.case("TestOpFromGraph.test_shared_grad", f - grad(f.sum(), y), f - grad(f.sum(), shared))
a, b = positive(16), spread(16)
s.values("TestOpFromGraph.test_grad_override[two]", b * 2, a * 1.5)
s.values("TestOpFromGraph.test_grad_override[three]", b * 2, a * 1.5, np.ones(16))
sigma = 1 / (1 + np.exp(-b))
s.values("TestOpFromGraph.test_lop_override", 2 * sigma * (1 - sigma))
x, w, v = given(a), given(spread(16, 16, seed=1)), given(b)
u, m = pt.vector("u"), pt.matrix("m")
s.case("TestOpFromGraph.test_rop", v.dot(w))
s.values("TestOpFromGraph.test_nested", a, b)
s.case("TestOpFromGraph.test_infer_shape", given(positive(6, 6)) + 2, given(spread(7, 6)) * 3)
q1 = OpFromGraph([u], [u ** 2 * 3])
s.case("TestOpFromGraph.test_compute_test_value", q1(v), grad(q1(v).sum(), v))
two = OpFromGraph([u], [pt.exp(u).sum(), u * 2])
e, d = two(v)
s.case("TestOpFromGraph.test_outputs_consistency", e, d, grad(e + d.sum(), v), grad(d.sum(), v))
assert np.allclose(compute([e])[0], np.exp(b).sum())

s.group = "errors"
v, m = given(spread(3)), given(spread(2, 2))
s.error("TestGrad.test_cost_is_scalar[vector]", lambda: [grad(v, v)])
s.error("TestGrad.test_cost_is_scalar[matrix]", lambda: [grad(m, m)])
s.error("TestDisconnectedGrad.test_disconnected_paths[alone]", lambda: [grad(disconnected_grad(v).sum(), v)])
s.error("TestDisconnectedGrad.test_disconnected_paths[b]", lambda: [grad((v + disconnected_grad(w)).sum(), w)])
s.error("TestRopLop.test_invalid_input", lambda: Rop(0.0, [pt.matrix()], [pt.vector()]))
s.error("test_jacobian_disconnected_inputs", lambda: [jacobian(1 + v, given(spread(3)))])
s.error("TestOpFromGraph.test_explicit_input_from_shared",
        lambda: [OpFromGraph([u], [u * 2])(given(spread(2, 2)), given(spread(2)))])

s.write()
