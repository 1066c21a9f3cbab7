#!/usr/bin/env python3
"""Writes suite_scan.txt: loops that PyTensor runs and differentiates, for tests/compiler/suites/scan_*_test.cpp.

Run: python3 tests/golden/suite_scan.py, with PyTensor. The cases follow tests/scan/test_basic.py and test_rewriting.py
(and the tests of these names in Theano 1.0.5); they are written anew, with numbers of their own.
"""
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor import foldl, foldr, grad, map as scan_map, reduce as scan_reduce, scan
from pytensor.gradient import Rop, jacobian
from pytensor.scan.utils import until

from suite import Suite, change, changes, compute, count, given, positive, spread

s = Suite(__file__)


def loop(*arguments, **options):
    return scan(*arguments, **options)[0]


def taps(value, *steps):
    return {"initial": value, "taps": list(steps)}


def sequence(value, *steps):
    return {"input": value, "taps": list(steps)}


def weighted(outputs):
    """A cost of all elements of all outputs, each with a weight of its own."""
    return sum((out * given(spread(*out.eval().shape, seed=7 + k))).sum() for k, out in enumerate(outputs))


s.group = "values"
state = given(np.float64(0.75))
s.case("TestScan.test_generator_one_output_scalar", loop(lambda x: 2 * x, outputs_info=state, n_steps=5))
out = loop(lambda x: 2 * x, outputs_info=given(spread(3)), n_steps=4)
s.case("TestScan.test_subtensor_multiple_slices", pt.reshape(out, (2, 2, 3))[:-1], out[:-3])
inp = given(spread(2, 2))
out = loop(lambda x: x, non_sequences=[inp], n_steps=2)
s.case("TestScan.test_only_nonseq_inputs", out, grad(out.sum(), inp))
u, x0, w_in, w = given(spread(4)), given(np.float64(0.5)), given(np.float64(0.75)), given(np.float64(-0.25))


def rnn(u_t, x_1, w_in, w):
    return u_t * w_in + x_1 * w


out = loop(rnn, sequences=u, outputs_info=x0, non_sequences=[w_in, w])
s.case("TestScan.test_one_sequence_one_output_weights", out)
s.case("TestScan.test_one_sequence_one_output_weights_shared", out)
s.case("TestScan.test_backwards", loop(rnn, sequences=u, outputs_info=x0, non_sequences=[w_in, w], go_backwards=True))
u1, u2, y0 = given(spread(3, 2)), given(spread(3, seed=1)), given(np.float64(0.125))
x2, w_in1, w_in2 = given(spread(2, seed=2)), given(spread(2, 2, seed=3)), given(spread(2, seed=4))
W, w_out = given(spread(2, 2, seed=5) / 4), given(spread(2, seed=6) / 4)


def rnn2(u1_t, u2_t, x_1, y_1, w_in1):
    return [u1_t.dot(w_in1) + u2_t * w_in2 + x_1.dot(W), x_1.dot(w_out)]


s.case("TestScan.test_multiple_inputs_multiple_outputs", *loop(rnn2, [u1, u2], [x2, y0], w_in1))
v1, v2, y3 = given(spread(5, 2)), given(spread(7, 2, seed=1)), given(spread(3, seed=2))


def rnn3(u1_t, u2_a, u2_t, u2_b, x_1, y_1, y_3, w_in1):
    return [u1_t.dot(w_in1) + (u2_t + u2_a * u2_b) * w_in2 + x_1.dot(W), (y_1 + y_3) * x_1.dot(w_out), u1_t.dot(w_in1)]


TAPPED = ([v1, sequence(v2, -1, 0, 1)], [x2, taps(y3, -1, -3), None], w_in1)
s.case("TestScan.test_multiple_outs_taps", *loop(rnn3, *TAPPED))
x = given(count(5))
s.case("TestScan.test_using_taps_sequence", loop(lambda x: x, sequences=sequence(x, -1)))
s.case("TestScan.test_using_negative_taps_sequence",
       loop(lambda x, y: x, sequences=sequence(given(count(5, start=1, dtype="float32")), -2, -1)))
s.case("TestScan.test_using_taps_input_output",
       loop(lambda u_2, x_1, x_2: u_2 * w_in + x_1 * w + x_2, sequence(given(spread(4)), -2),
            taps(given(spread(2, seed=1)), -1, -2)))
s.case("TestScan.test_past_future_taps_shared",
       loop(lambda a, b, x_1, x_2: (a + b) * w_in + x_1 * w + x_2, sequence(given(spread(6)), -2, 2),
            taps(given(spread(2, seed=1)), -1, -2)))
a, b, c = (given(spread(n, seed=n)) for n in (3, 4, 5))
a3, b3, c3 = (given(spread(3, seed=n)) for n in (3, 4, 5))
z0, z1 = given(np.float64(0.5)), given(np.float64(-1.5))
s.case("TestScan.test_inplace1",
       *loop(lambda u0, u1, u2, x, y: [u0 * w_in + x * w + u1 * u2, u0 * w_in + y * w + u1 + u2], [a3, b3, c3],
             [z0, z1]))
s.case("TestScan.test_inplace2",
       *loop(lambda u0, u1, u1n, p, q, r, x, y: [u0 * w_in + x * w + u1 * u1n, u0 * w_in + y * w + p + q + r],
             [a, sequence(b, 0, 1), sequence(c, -1, 0, 1)], [z0, z1]))
s.case("TestScan.test_map_functionality", loop(lambda u: u + 3, x))
s.case("TestScan.test_map", scan_map(abs, given(spread(10)))[0])
s.case("TestScan.test_reduce", scan_reduce(lambda x, y: x + y, given(spread(10)), given(np.float64(0)))[0])
s.case("TestScan.test_scan_output_padding", loop(lambda a: a + 1, outputs_info=[given(spread(4))], n_steps=1))
y3v = given(spread(3, seed=8))
s.case("TestScan.test_reordering",
       *loop(lambda a, b, x_1, y_1, y_3, m: [y_3 + 1, y_3 + 2, a.dot(m) + b * w_in2 + x_1.dot(W), y_1 + x_1.dot(w_out)],
             [u1, u2], [None, None, x2, taps(y3v, -1, -3)], w_in1))
m1, m2 = given(spread(8, 2)), given(spread(8, seed=1))
long = loop(lambda a, b, x_1, y_1, y_3, m: [y_3 + 1, a.dot(m) + b * w_in2 + x_1.dot(W), y_1 + x_1.dot(w_out)],
            [m1, m2], [None, x2, taps(y3v, -1, -3)], w_in1)
s.group = "passes"
s.case("TestScan.test_save_mem", *[out[-1] for out in long])
s.case("TestScan.test_return_steps", long[0][-3:], long[1][-2:], long[2][-4:])
initial, inpt, ones = given(np.zeros(5)), given(np.ones((10, 5))), given(np.ones((5, 5)))
expr = loop(lambda x_t, h_1, w: h_1.dot(w) + x_t, [inpt], [initial], [ones])
s.group = "values"
s.values("TestScan.test_caching_nsteps_by_scan_op", np.full((5, 5), 5187989.0))
u = given(spread(20))
outs = loop(lambda u: [u + k for k in range(1, 8)], u)
s.case("TestScan.test_save_mem_reduced_number_of_steps", outs[0][:2], outs[1][4], outs[2][3], outs[3][:3], outs[4][-10],
       outs[5][-15], outs[6][:-15])
x1, x3, x30, x40 = given(spread(3, seed=1)), given(spread(2, seed=2)), given(spread(2, seed=3)), given(spread(2,
                                                                                                              seed=4))
outs = loop(lambda u, a1, a3, b1, c2, c1, d1:
            [u + 1, u + 2, u + 3, a1 + a3 + b1 + c2 + c1 + d1, c2 + c1 + u, b1 + u, d1 * 0.5 + u],
            u, [None, None, None, taps(x1, -1, -3), z0, taps(x3, -2, -1), z1])
s.case("TestScan.test_save_mem_store_steps", outs[0][5], outs[1][:4], outs[2][-2], outs[3][-2:], outs[4][-1],
       outs[5][-3:], outs[6][2])
start = given(np.float64(5))
outs = loop(lambda a, b, c: (a + b, b + c), count(4), [start, pt.zeros_like(start)])
s.case("TestScan.test_use_scan_direct_output", *outs)
column, columns = given(count(4, 1)), given(count(4, 1, start=4))
s.case("TestScan.test_use_scan_direct_output2",
       *loop(lambda a, b, c: (a + b, a + c), columns, [column, pt.zeros_like(column)]))
for k in range(-5, 5):
    start = given(np.float64(k))
    out = loop(lambda a: (a + 1, until(a > 5)), outputs_info=start, n_steps=10)
    s.group = "conditions"
    s.case(f"TestScan.test_infer_shape[{k}]", out, grad(out.sum(), start))
x, y = given(spread(6)), given(spread(5, seed=1))
s.group = "passes"
s.case("TestScan.test_merge[two]", loop(lambda s: s + 1, [x]), loop(lambda s: s + 1, [y]))
s.case("TestScan.test_merge[2,3]", loop(lambda s: s + 1, [x], n_steps=2), loop(lambda s: s + 1, [y], n_steps=3))
s.case("TestScan.test_merge[4,4]", loop(lambda s: s + 1, [x], n_steps=4), loop(lambda s: s + 1, [y], n_steps=4))
s.case("TestScan.test_merge[same]", loop(lambda s: s + 1, [x]), loop(lambda s: s + 1, [x]))
s.case("TestScan.test_merge[truncated]", loop(lambda s: s + 1, [x]), loop(lambda s: s + 1, [x], truncate_gradient=1))
sx = loop(lambda s: s + 1, [x], n_steps=4)
s.case("TestScan.test_merge_3scans", loop(lambda s: s + 1, [2 * y + 2], n_steps=4), loop(lambda s: s + 1, [sx],
                                                                                         n_steps=4))
X, targets = given(spread(10, 4)), given(spread(10, 3))
star, covariance, hyp = given(spread(4, seed=2)), given(np.eye(4)), given(spread(3, 5, seed=3))


def mean_of(i, x_star, s_star, X, beta, h):
    inner = (X - x_star) * h[i, :4]
    return ((inner * inner.dot(h[i, :4] * s_star * h[i, :4])).sum() + beta.sum()) * h[i, 4]


rows = X.sum(axis=1)
beta = loop(lambda i, X: (rows[:, None] + rows[None, :]).sum() + i * X[0, 0], pt.arange(3), non_sequences=[X])
M = loop(mean_of, pt.arange(3), non_sequences=[star, covariance, X, beta, hyp])
s.case("TestScan.test_pushout_seqs", M, jacobian(M, star),
       loop(lambda i, M, x: grad(M[i], x), pt.arange(3), non_sequences=[M, star]))
s.group = "values"
s.case("TestScan.test_sequence_dict", loop(lambda a: a + 1, sequences=[{"input": x}]))
s.case("TestScan.test_reduce_memory_consumption",
       scan_reduce(lambda v, acc: acc + v, given(spread(12)), given(np.float64(0)))[0])
v = given(spread(12))
left = foldl(lambda v, acc: acc * 0.5 + v, v, given(np.float64(0)))[0]
right = foldr(lambda v, acc: acc * 0.5 + v, v, given(np.float64(0)))[0]
s.case("TestScan.test_foldl_memory_consumption", left, grad(left, v))
s.case("TestScan.test_foldr_memory_consumption", right, grad(right, v))
h0, w1, w2 = given(spread(3)), given(spread(3, 3, seed=1)), given(spread(3, 3, seed=2))
s.group = "passes"
s.case("TestScan.test_alloc_inputs1",
       loop(lambda h, a, b: h.dot(a * b), outputs_info=h0, non_sequences=[w1, pt.zeros_like(w2)], n_steps=5))
s.case("TestScan.test_alloc_inputs3",
       loop(lambda a, h, b: a * h.dot(b), pt.zeros_like(w1), h0, [pt.zeros_like(w2)], n_steps=3))
flags = np.zeros(50)
flags[23] = 4
vx = given(flags)
ended = loop(lambda x: (x + 1, until(x > 3)), vx)
s.group = "conditions"
s.case("TestScan.test_while0", ended)
s.case("TestScan.test_while1", ended, loop(lambda x: x + 2, vx))
s.case("TestScan.test_while2", ended, loop(lambda x: (x + 2, until(x > 3)), vx))
s.case("TestScan.test_while_infershape", ended.shape[0])
coefficients, at = given(np.array([1.0, 0, 2])), given(np.float64(3))
powers = pt.arange(1000.0)
s.group = "values"
s.case("TestScan.test_outputs_info_not_typed[sum]",
       loop(lambda c, p, x: c * x ** p, [coefficients, powers], non_sequences=at).sum())
s.case("TestScan.test_outputs_info_not_typed[state]",
       loop(lambda c, p, acc, x: acc + c * x ** p, [coefficients, powers], given(np.float64(0)), at)[-1])
V, orig = given(spread(4, 2, 3)), given(spread(2, 3))
changed = orig + 2
OS = loop(lambda v, w: v + 1 + w.sum(), V, None, [changed])
s.case("TestScan.test_bugFunctioProvidesIntermediateNodesAsInputs", OS.sum() + changed.sum())
x = given(spread(30))
outs = loop(lambda x, y: (x + 1, y + x), x, [None, x[0]], n_steps=20)
s.case("TestScan.test_infershape_nsteps_smaller_seq_length", outs[0].shape[0], outs[1].shape[0])
s.case("TestScan.test_opt_order",
       loop(pt.dot, non_sequences=[given(np.array([[1.0, 1], [2, 2]])), given(np.array([[1.0, 1], [1, 0]]))],
            n_steps=2))
s.case("TestScan.test_savemem_opt",
       loop(lambda y: [y, y], outputs_info=[taps(given(np.ones((2, 10))), -2), None], n_steps=5)[1].sum())
seq = given(count(10, 1))
outs = loop(lambda x, x_4: (x, x_4), seq, [taps(given(np.zeros((4, 1))), -4), None])
s.case("TestScan.test_seq_tap_bug_jeremiah", outs[1])
s.case("TestScan.test_borrow_bug_jeremiah", outs[1], outs[0][-1:])
init = given(count(3, 3))
s.case("TestScan.test_memory_reuse_with_outputs_as_inputs",
       *loop(lambda a, b, c: (b, c * 1, pytensor.gradient.disconnected_grad(b), b * 1, a + b + c),
             outputs_info=[None, None, None, None, taps(init, -3, -2, -1)], n_steps=3))
A, B = given(spread(4, 5)), given(spread(4, 3, seed=1))
s.case("TestScan.test_dot_optimization",
       loop(lambda a, b, acc: acc + a.dot(b), [A[:, :, None], B[:, None, :]], [pt.zeros((5, 3))])[-1])
s.case("TestScan.test_pregreedy_optimizer",
       loop(lambda x: (x.dot(pt.zeros((5, 4))) + pt.zeros((3, 4))).dot(pt.zeros((4, 5))) + pt.zeros((3, 5)),
            outputs_info=given(np.zeros((3, 5))), n_steps=2))
one = given(np.float64(1))
s.group = "conditions"
s.case("TestScan.test_savemem_does_not_duplicate_number_of_scan_nodes",
       loop(lambda x: ([x], (), until(x > 0)), outputs_info=[one], n_steps=2))
Wm, index = given(spread(3, 3)), given(np.array([1, 2]))
for k in range(1, 7):
    s.group = "passes"
    s.case(f"TestScan.test_remove_constants_and_unused_inputs_scan_non_seqs[{k}]", loop(lambda i, w: w[i], index,
                                                                                        non_sequences=[Wm]))
for k in range(1, 8):
    s.case(f"TestScan.test_remove_constants_and_unused_inputs_scan_seqs[{k}]", loop(lambda i, w: w[i], index,
                                                                                    non_sequences=[Wm]))
s.group = "values"
s.case("TestScan.test_constant_folding_n_steps", loop(lambda x: x * 2, outputs_info=pt.ones(()), n_steps=10))
s.case("TestScan.test_compute_test_value", loop(lambda u, v: u + v, [given(np.ones(3)), given(count(3))]))
sums = loop(lambda a, b: ([a + b, b + 1], until(a + b > 100)),
            outputs_info=[given(np.int64(0)), given(np.int64(0))], n_steps=100)
s.group = "conditions"
s.case("test_condition_hidden_inp", *sums)
s.group = "values"
s.case("test_mintap_onestep", loop(lambda a, acc: acc + a, sequence(given(np.arange(20)), 2), given(np.int64(0)),
                                   n_steps=1))

s.group = "gradients"
a0 = given(count(2))
outs = loop(lambda a2, a1, b2, b1: (a1 * 1, b1 * 1),
            outputs_info=[taps(a0, -2, -1), taps(given(count(2)), -2, -1)], n_steps=2)
s.case("TestScan.test_connection_pattern", grad(outs[0][-1], a0))
x, seq = given(spread(2, 3)), given(spread(4, seed=1))
out = loop(lambda t, old, now: old * 2 + now + t, seq, taps(x, -2, -1))
s.case("TestScan.test_connection_pattern2", out, *grad(out.sum(), [seq, x]))
m, v = given(positive(2, 2)), given(positive(2, seed=1))


def two_states(m2, m1, one):
    total = (m2 + m1 + one) ** 1.05
    return total, total


outs = loop(two_states, outputs_info=[taps(m, -2, -1), v], n_steps=5)
firsts = grad(outs[0].sum(), m).sum() + grad(outs[1].sum(), v).sum()
s.group = "second"
s.values("TestScan.test_grad_grad_mitsot_sitsot", *compute([firsts]), changes(firsts, m))
inp = given(positive(3))
out = loop(lambda x: x * 2, outputs_info=[inp], n_steps=5)
s.case("TestScan.test_verify_second_grad_sitsot", grad(out.sum(), inp).sum())
m, v = given(positive(2, 3)), given(positive(3, seed=1))
outs = loop(lambda m2, one: ((m2 + one) ** 1.02,) * 2, outputs_info=[taps(m, -2), v], n_steps=3)
firsts = grad(outs[0].sum(), m).sum() + grad(outs[1].sum(), v).sum()
s.values("TestScan.test_verify_second_grad_mitsot1", *compute([firsts]), changes(firsts, m), changes(firsts, v))
x, W2, labels = given(positive(3, 2, 2)), given(spread(2, 2)), given(np.array([[0, 1], [1, 1], [0, 0]]))
y = loop(lambda x: pt.special.softmax(x.dot(W2), axis=-1), x)
L = loop(lambda y, t: -pt.log(y[pt.arange(2), t]).mean(), [y, labels]).mean()
s.group = "gradients"
s.case("TestScan.test_grad_two_scans", L, grad(L, W2))
c, p, q = given(np.int32(0)), given(np.float32(1)), given(np.float32(0.5))
outs = loop(lambda c, x, y: (pt.cast(pt.switch(c, x, y), "int32"), pt.switch(c, pt.sigmoid(y * x), x),
                             pt.switch(c, y, pt.sigmoid(x))), outputs_info=[c, p, q], n_steps=10)
s.case("TestScan.test_grad_dtype_change", *grad(outs[1].sum(), [p, q]))
u = given(spread(4))
out = loop(rnn, u, x0, [w_in, w])
s.case("TestScan.test_grad_one_output", *grad(weighted([out]), [u, x0, w_in, w]))
outs = loop(rnn2, [u1, u2], [x2, y0], w_in1)
s.case("TestScan.test_grad_multiple_outs", *grad(weighted(outs), [u1, u2, x2, y0, w_in1], disconnected_inputs="ignore"))
outs = loop(rnn3, *TAPPED)
s.case("TestScan.test_grad_multiple_outs_taps", *grad(weighted(outs), [v1, v2, x2, y3, w_in1]))
outs = loop(lambda *a: rnn3(*a)[:2], TAPPED[0], TAPPED[1][:2], w_in1, go_backwards=True)
s.case("TestScan.test_grad_multiple_outs_taps_backwards", *grad(weighted(outs), [v1, v2, x2, y3, w_in1]))
numbers = given(np.array([1, 3, 4, 6, 8], dtype="int32"))
outs = loop(lambda u, n, x, w: (pt.cast(n, "float64") + u.dot(w) + x, 2 * n), [v1, numbers], [x2, None], w_in1)
s.case("TestScan.test_grad_multiple_outs_some_uncomputable", outs[1], *grad(weighted(outs[:1]), [v1, x2, w_in1]))
out = loop(lambda u, x, w: u.dot(w) + x, v1, x2, w_in1, truncate_gradient=3)
s.case("TestScan.test_grad_multiple_outs_some_truncate", *grad(weighted([out]), [v1, x2, w_in1]))
xs, ts = given(spread(9, 1)), given(spread(9, 1, seed=1))
hidden0 = given(spread(2, 3, seed=2))
weights = [given(spread(*shape, seed=3 + k) / 4) for k, shape in enumerate([(1, 3), (3, 3), (3,), (3, 1), (1,)])]
outs = loop(lambda x, h2, h1, a, b, c, d, e: [pt.tanh(x.dot(a) + h2.dot(b) + c),
                                              pt.tanh(x.dot(a) + h2.dot(b) + c).dot(d) + e],
            [xs], [taps(hidden0, -2, -1), None], weights)
cost = 0.5 * ((outs[1] - ts) ** 2).mean() + 0.5 * (outs[1].std() - ts.std()) ** 2
s.case("TestScan.test_grad_multiple_outs_some_disconnected", cost, *grad(cost, weights + [hidden0]))
x1, x2s = given(np.float64(3)), given(np.array([2.0, 3]))
s.case("TestScan.test_grad_of_shared", grad(loop(lambda v: v * x1, x2s).sum(), x1))
K = given(count(5, start=1)) * x1
s.case("TestScan.test_computing_gradient", loop(lambda i, v: grad(K[i], v), pt.arange(K.shape[0]), non_sequences=x1))
xv, Am = given(np.array([1.0, 1])), given(np.array([[1.0, 1], [1, 0]]))
f1, f2 = given(np.float64(0.5)), given(np.float64(0.9))
gy = grad(f1 * pt.dot(xv * xv, Am.dot(xv)), xv)
s.values("TestScan.test_scan_extra_inputs_hessian", [[3.6, 1.8], [1.8, 0.9]])
to_scan, seqs, factor = given(spread(3)), given(spread(4, 3, seed=1)), given(np.float64(1.5))
out = loop(lambda a, b, c: b + c * a, [seqs], [to_scan], [factor])
s.case("TestScan.test_scan_as_tensor_on_gradients", *grad(out.sum(), [to_scan, factor]))
U, H0, Wr = given(spread(5, 3)), given(spread(3, seed=1)), given(spread(3, 3, seed=2))
eU, eH, eW = given(spread(5, 3, seed=3)), given(spread(3, seed=4)), given(spread(3, 3, seed=5))
o = loop(lambda u, y, w: pt.tanh(w.dot(u + y)), U, H0, Wr)[-1]
ROP = {"use_op_rop_implementation": False}
s.group = "second"
s.case("TestScan.test_rop", Rop(o, U, eU, **ROP), Rop(o, H0, eH, **ROP), Rop(o, Wr, eW, **ROP))
o = loop(lambda u, y, w: [pt.tanh(w.dot(u + y)), u + y], U, [H0, None], Wr)[0][-1]
s.case("TestScan.test_rop2", Rop(o, U, eU, **ROP), Rop(o, H0, eH, **ROP), Rop(o, Wr, eW, **ROP), o)
seq, out0, rest = given(spread(10, 3)), given(spread(3, 3, seed=1)), given(spread(3, seed=2))
outs = loop(lambda a, b, c: (a + b + c,) * 2, seq, [None, taps(out0, -3)], rest)
s.group = "gradients"
s.case("TestScan.test_grad_duplicate_outputs", *grad(outs[0].sum(), [seq, out0, rest]),
       *grad(outs[1].sum(), [seq, out0, rest]))
starts = [given(spread(2)), given(spread(2, seed=1)), given(spread(2, 2, seed=2)), given(spread(2, 2, seed=3))]
outs = loop(lambda *a: (sum(a) / 8,) * 6, outputs_info=[None, None, starts[0], starts[1], taps(starts[2], -2, -1),
                                                      taps(starts[3], -2, -1)], n_steps=10)
s.case("TestScan.test_grad_duplicate_outputs_connection_pattern", *grad(outs[0].sum(), starts))
c4, at = given(np.array([1.0, 2, -3, 4])), given(np.float64(2))
P = loop(lambda c, p, x: c * x ** p, [c4, pt.arange(1000.0)], None, at).sum()
s.case("TestScan.test_grad_multiple_seqs_different_nsteps", grad(P, at))
s.case("TestScan.test_grad_of_grad_of_state", grad(grad(P, at), at))
x3, w3 = given(spread(2, 2, 3)), given(spread(3, 3, seed=1))


def outer(x, w):
    return loop(lambda a, h, w: h.dot(w) + a, [x[1:]], [x[0]], [w])


s.case("TestScan.test_savemem_opt_0_step", grad(loop(outer, [x3], non_sequences=[w3]).sum(), w3))
xi, ws = given(spread(4, 2, 3)), given(spread(2, 3, seed=1))
out = loop(lambda a, b, w: w + b, outputs_info=[taps(xi, -4, -1)], non_sequences=ws, n_steps=10)
s.case("TestScan.test_grad_multiple_taps_state", *grad((out[-1] ** 2).sum(), [ws, xi], disconnected_inputs="ignore"))
s.values("TestScan.test_grad_numeric_shared", np.float32(1))
parameters, target, direction = given(spread(12)), given(spread(3, 2, 3, seed=1)), given(spread(12, seed=2))
W1, W22 = parameters[:3].reshape((1, 3)), parameters[3:].reshape((3, 3))
hidden = given(spread(3, 2, 1, seed=3)).reshape((6, 1)).dot(W1).reshape((3, 2, 3))
rec = loop(lambda x, h: pt.sigmoid(h.dot(W22) + x), hidden, [pt.zeros((2, 3))])
s.group = "second"
s.values("TestScan.test_rop_mitmot",
         change(grad(((rec - target) ** 2).mean(), parameters), parameters, direction.get_value()))
x0v, y0v, z0v = given(positive(3) / 2), given(spread(3)), given(spread(3, seed=1))
outs = loop(lambda x, y, z: (x ** 2, y, x + 1), outputs_info=[x0v, y0v, z0v], n_steps=4)
s.group = "gradients"
s.case("TestScan.test_grad_connectivity_matrix", *grad(sum(outs).sum(), [x0v, y0v]))
v7, m7 = given(spread(7)), given(spread(3, 7, seed=1))
outs = loop(lambda _, u: [u, v7 * 1], m7, [pt.zeros(7), None])
s.case("TestScan.test_disconnected_gradient", grad((m7 * outs[1]).sum(), v7))
outs = loop(lambda x, u: [x + u, u + v7], m7, [pt.zeros(7), None])
s.case("TestScan.test_disconnected_gradient2", grad(outs[1].sum(), m7))
v5 = given(spread(5))
outs = loop(lambda a: (a + 1, a + 1 + 1), v5)
s.case("TestScan.test_disconnected_gradient3", grad(outs[1].sum(), v5))
s.case("TestScan.test_grad_bug_disconnected_input", grad(loop(lambda i, w: w[i], index, None, Wm).sum(), Wm))
wf, initf = given(np.float32(0)), given(np.float32(2))
s.case("TestScan.test_grad_find_input", grad(loop(lambda p: wf * 1, outputs_info=initf, n_steps=2)[-1], wf))
W8 = given(np.ones(8))


def loss_outer(total, w):
    return total + loop(lambda t, w: t + (w ** 2).sum(), outputs_info=given(np.float64(0)), non_sequences=[w],
                        n_steps=1)[-1]


cost = loop(loss_outer, outputs_info=given(np.float64(0)), non_sequences=[W8], n_steps=1)[-1]
s.group = "second"
s.values("TestScan.test_hessian_bug_grad_grad_two_scans", 2 * np.eye(8))
x, y = given(np.ones(3)), given(count(3))
s.group = "gradients"
s.case("TestScan.test_compute_test_value[grad]", grad(loop(lambda u, v: u + v, [x, y]).sum(), x))
y33 = given(count(3, 3))
s.case("TestScan.test_compute_test_value_nonseq", grad(loop(lambda u, v: u + v, [x], None, [y33]).sum(), x))
flat = given(np.array([1, 2, 1, 3, 4, 1, 5, 6, 1, 7, 8, 1], dtype="float32"))
W223 = flat.reshape((2, 2, 3))
zero = given(np.float32(0))


def loss_mi(mi, total, W):
    return total + loop(lambda t, acc, W: W.sum() + acc, pt.arange(2), zero, [W])[-1]


s.case("TestScan.test_compute_test_value_grad", grad(loop(loss_mi, pt.arange(2), zero, [W223])[-1], flat))
h24, w43 = given(count(2, 4, start=1)), given(spread(4, 3))
out = loop(lambda i, h, w: h[i % 2].dot(w), pt.arange(3), None, [h24, w43])
s.case("TestScan.test_compute_test_value_grad_cast", grad(out.sum(), w43))
X2, W24 = given(spread(10, 2)), given(spread(2, 4, seed=1))
out = loop(lambda x, h: x.reshape((1, 2)).dot(W24), X2, [pt.zeros((1, 4))])
s.case("test_default_value_broadcasted", out.mean(), grad(out.mean(), W24))
fifteen, u5 = given(count(15)), given(np.int64(5))
grid = given(np.tile(count(15)[:, None], (1, 5)))
out = loop(lambda x, u: (x * x, until(x > u)), fifteen, None, [u5])
s.group = "ends"
s.case("TestGradUntil.test_grad_until", out, grad(out.sum(), fifteen))
out = loop(lambda x, u: (x * x, until(pt.all(x > u))), grid, None, [u5])
s.case("TestGradUntil.test_grad_until_ndim_greater_one", out, grad(out.sum(), grid))
out = loop(lambda x, u: (x * x, until(x > u)), fifteen, None, [u5], truncate_gradient=3)
s.case("TestGradUntil.test_grad_until_and_truncate", out, grad(out.sum(), fifteen))
out = loop(lambda x, y, u: (x * y, until(y > u)), sequence(fifteen, -2, 0), None, [given(np.int64(6))],
           truncate_gradient=3)
s.case("TestGradUntil.test_grad_until_and_truncate_sequence_taps", out, grad(out.sum(), fifteen))
zero10, x3d = given(np.zeros((1, 10))), given(spread(3, 1, 10))
s.group = "gradients"
s.case("TestInconsistentBroadcast.test_raise_error", grad(loop(lambda x, p: x + p, x3d, [zero10]).sum(), x3d))
V1, W55, b5, b3 = given(spread(4, 3)), given(spread(3, 5)), given(spread(5)), given(spread(3, seed=1))
wa, wb = given(spread(5, 5, seed=2)), given(spread(5, 5, seed=3))
out = loop(lambda v, p: (v.dot(W55) + p.dot(wa)).dot(wb), V1, given(spread(5)))
s.case("TestPushOutDot.test_dot_nitsot_output", *grad((loop(lambda v: pt.tanh(v.dot(W55)), V1) ** 2).sum(), [V1, W55]))
s.case("TestPushOutDot.test_dot_sitsot_output", out, *grad(out[-1].sum(), [W55, wa, wb]))
A4 = given(spread(4, 5, 3))
out = loop(lambda v, p, W: p + v.dot(W), A4, pt.zeros((5, 5)), W55)
s.case("TestPushOutSumOfDot.test_non_zero_init", out[-1], grad(out[-1].sum(), W55))
gates = [given(spread(3, 3, seed=k) / 4) for k in range(6)]


def gru(x, h):
    z = pt.sigmoid(x.dot(gates[0]) + h.dot(gates[1]))
    r = pt.sigmoid(x.dot(gates[2]) + h.dot(gates[3]))
    return (1 - z) * h + z * pt.tanh(x.dot(gates[4]) + (r * h).dot(gates[5]))


out = loop(gru, given(spread(5, 2, 3, seed=9)), pt.zeros((2, 3)))
s.case("TestPushOutSumOfDot.test_machine_translation", out[-1], *grad(out[-1].sum(), gates))
w4 = given(spread(4))
out = loop(lambda u, y: pt.tanh(w4.reshape((2, 2)).dot(u + y)), given(spread(3, 2)), pt.zeros(2))
s.group = "second"
s.values("TestGaussNewton.test_nobatch", changes(grad((out ** 2).sum(), w4), w4))
for save in (2, 3, 4):
    k, A3 = 10, given(positive(3))
    out = loop(lambda p, a: p * a, outputs_info=pt.ones_like(A3), non_sequences=A3, n_steps=k)[-1]
    s.group = "ends"
    s.case(f"TestScanCheckpoint.test_forward_pass[{save}]", out)
    s.case(f"TestScanCheckpoint.test_backward_pass[{save}]", grad(out.sum(), A3))

s.group = "errors"
x, y = given(spread(4)), given(spread(4, seed=1))
s.error("test_outputs_taps_check[0]", lambda: [loop(lambda x, y: [x], x, taps(y, 0))])
s.error("test_outputs_taps_check[-1,-1]", lambda: [loop(lambda x, y: [x], x, taps(y, -1, -1))])
s.error("TestScan.test_grad_connectivity_matrix[y0]",
        lambda: [grad(loop(lambda x, y, z: (x ** 2, y, x + 1), outputs_info=[x0v, y0v, z0v], n_steps=4)[0].sum(), y0v)])
s.error("TestScan.test_strict_mode",
        lambda: [loop(lambda x: x * w, x, strict=True)])
free = pt.dscalar("free")
s.error("TestMissingInputError.test_raise_error", lambda: [loop(lambda: free + 1, n_steps=20)])

s.write()
