#!/usr/bin/env python3
"""Writes suite_ifelse.txt: branches by PyTensor, for tests/compiler/suites/ifelse_test.cpp.

Run: python3 tests/golden/suite_ifelse.py, with PyTensor. The cases follow tests/test_ifelse.py; they are written anew,
with numbers of their own. Each is computed with a condition that holds and with one that does not.
"""
import numpy as np
import pytensor.tensor as pt
from pytensor import grad
from pytensor.ifelse import ifelse

from suite import Suite, count, given, spread

s = Suite(__file__)
s.group = "branches"
x, y = given(spread(5)), given(spread(5, seed=1))
p, q = given(spread(5, seed=2)), given(spread(5, seed=3))
ints, others = given(np.arange(5, dtype="int32")), given(np.arange(5, 10, dtype="int32"))
t = [given(np.float64(value)) for value in (1.5, 2.5, -0.5, 3.0, 0.25, -2.0)]
w, b, target = given(spread(5)), given(np.float64(0.5)), given(np.float64(1))
A, B = given(spread(5, 4)), given(spread(5, 4, seed=1))
for c in (1, 0):
    condition = given(np.int32(c))
    s.case(f"TestIfelse.test_lazy_if[{c}]", ifelse(condition, x, y))
    s.case(f"TestIfelse.test_const_false_branch[{c}]", ifelse(condition, x, pt.constant(count(5, start=2))))
    s.case(f"TestIfelse.test_not_lazy_if_inplace[{c}]", ifelse(condition, x, y + sum(range(200))))
    s.case(f"TestIfelse.test_mixed_dtype[{c}]", *ifelse(condition, (ints, x), (others, y)))
    s.case(f"TestIfelse.test_grad_lazy_if[{c}]", *grad(ifelse(condition, x, y).sum(), [x, y]))
    s.case(f"TestIfelse.test_grad_lazy_if[{c},of_functions]", *grad(ifelse(condition, pt.exp(x) * y, x - y).sum(),
                                                                    [x, y]))
    s.case(f"TestIfelse.test_multiple_out[{c}]", *ifelse(condition, (x, p), (y, q)))
    z = ifelse(condition, (x, p), (y, q))
    s.case(f"TestIfelse.test_multiple_out_grad[{c}]", *grad(z[0].sum() + z[1].sum(), [x, p, y, q]))
    s.case(f"TestIfelse.test_multiple_out_crash[{c}]", *ifelse(condition, (A[-1], x * 2), (B[-1], y)))
    s.case(f"TestIfelse.test_merge[{c}]", ifelse(condition, x + 1, y + 1) + ifelse(condition, x + 2, y + 2))
    s.case(f"TestIfelse.test_remove_useless_inputs1[{c}]", *ifelse(condition, (x, x), (y, y)))
    s.case(f"TestIfelse.test_remove_useless_inputs2[{c}]", *ifelse(condition, (x, x, x, p, p), (y, y, q, q, q)))
    f, g = ifelse(condition, (t[0], t[1]), (t[2], t[3]))
    s.case(f"TestIfelse.test_pushout1[{c}]", f * ifelse(condition, t[4], t[5]) * g)
    s.case(f"TestIfelse.test_pushout2[{c}]", f * ifelse(f > g, t[4], t[5]) * g)
    two = pt.constant(np.float64(2))
    f, g = ifelse(condition, (t[0], t[1]), (two, t[3]))
    s.case(f"TestIfelse.test_pushout3[{c}]", f * ifelse(condition, pt.constant(np.float64(0.3)),
                                                        pt.constant(np.float64(0.2))) * g)
    inner = ifelse(condition, t[0], t[1]) + ifelse(condition, t[2], t[3])
    s.case(f"TestIfelse.test_merge_ifs_true_false[{c}]", ifelse(condition, inner + t[4], inner + t[5]))
    s.case(f"TestIfelse.test_grad_test_values[{c}]", grad(ifelse(condition, t[0], t[0]), t[0]))
    t1 = ifelse(condition, t[0], t[1])
    s.case(f"test_nested[{c}]", ifelse(t1 > 2, t1 * 10, t[0] + ifelse(condition, t1, t[5])))
    s.case(f"TestIfelse.test_dtype_mismatch[{c},cast]", ifelse(condition, x, pt.cast(ints, "float64")))
    short = given(spread(3, seed=4))
    s.case(f"TestIfelse.test_lazy_if[{c},lengths]", ifelse(condition, x, short))
    s.case(f"TestIfelse.test_grad_lazy_if[{c},lengths]", *grad(ifelse(condition, x, short).sum(), [x, short]))
    s.case(f"TestIfelse.test_static_branch_shapes[{c},1]", ifelse(condition, pt.constant(count(1)), short))
    s.case(f"TestIfelse.test_static_branch_shapes[{c},matrix]",
           ifelse(condition, given(count(2, 1)), given(count(3, 1))))
score = w.dot(x) + b
s.case("TestIfelse.test_grad_int_value", ifelse(score * target > 0, np.float64(0), np.float64(1)), score)

s.group = "errors"
c = given(np.int32(1))
s.error("TestIfelse.test_ndim_mismatch[x,y]", lambda: [ifelse(c, x, given(spread(5, 1)))])
s.error("TestIfelse.test_ndim_mismatch[y,x]", lambda: [ifelse(c, given(spread(5, 1)), x)])
s.error("TestIfelse.test_broadcast_mismatch", lambda: [ifelse(c, x, given(spread(1, 5)))])
s.error("TestIfelse.test_nonscalar_condition", lambda: [ifelse(given(np.array([1, 0])), x, y)])
s.error("TestIfelse.test_wrong_n_outs", lambda: ifelse(c, (x, y), (x,)))
s.write()
