#!/usr/bin/env python3
"""Writes suite_elemwise.txt: elementwise ops and reductions by PyTensor, for tests/compiler/suites/elemwise_test.cpp.

Run: python3 tests/golden/suite_elemwise.py, with PyTensor. The cases follow tests/tensor/test_elemwise.py and the
broadcasting tests of tests/tensor/test_math.py; they are written anew, with numbers of their own.
"""
import itertools

import numpy as np
import pytensor.tensor as pt
from pytensor import grad
from pytensor.tensor.elemwise import DimShuffle

from suite import Suite, compute, count, given, positive, spread, whole

s = Suite(__file__)

KINDS = {"same_shapes": ((2, 3), (2, 3)), "not_same_dimensions": ((2, 2), (2,)), "scalar": ((2, 3), ()),
         "1_scalar": ((2, 3), (1, 1)), "row": ((2, 3), (1, 3)), "column": ((2, 3), (2, 1)), "empty": ((0,), (1,))}
BINARY = {"Add": (pt.add, True), "Sub": (pt.sub, True), "Mul": (pt.mul, True), "TrueDiv": (pt.true_div, True),
          "IntDiv": (pt.int_div, False), "Mod": (pt.mod, False), "Maximum": (pt.maximum, True),
          "Minimum": (pt.minimum, True), "Pow": (pt.pow, True), "Arctan2": (pt.arctan2, True),
          "LT": (pt.lt, False), "GE": (pt.ge, False), "EQ": (pt.eq, False)}
s.group = "binary"
for (name, (op, has_gradient)), (kind, (of_x, of_y)) in itertools.product(BINARY.items(), KINDS.items()):
    x, y = given(positive(*of_x)), given(positive(*of_y, seed=1))
    z = op(x, y)
    s.case(f"Test{name}Broadcast.test_good[{kind}]", z, *(grad((z * z).sum(), [x, y]) if has_gradient else []))
for name in ("Add", "Sub", "Mul", "TrueDiv", "IntDiv", "Mod", "Maximum", "Minimum", "LT", "GE", "EQ"):
    z = BINARY[name][0](given(whole(2, 3, start=-2)), given(whole(2, 3, start=1)))
    s.case(f"Test{name}Broadcast.test_good[integers]", z)

ANY, POSITIVE, UNIT, ABOVE = spread(2, 3), positive(2, 3), spread(2, 3) / 4, positive(2, 3) + 1
UNARY = {"Neg": (pt.neg, ANY), "Sgn": (pt.sign, ANY), "Abs": (pt.abs, ANY), "Sqr": (pt.sqr, ANY),
         "Sqrt": (pt.sqrt, POSITIVE), "Exp": (pt.exp, ANY), "Exp2": (pt.exp2, ANY), "Expm1": (pt.expm1, ANY),
         "Log": (pt.log, POSITIVE), "Log2": (pt.log2, POSITIVE), "Log10": (pt.log10, POSITIVE),
         "Log1p": (pt.log1p, POSITIVE), "Floor": (pt.floor, ANY), "Ceil": (pt.ceil, ANY), "Trunc": (pt.trunc, ANY),
         "RoundHalfToEven": (pt.round_half_to_even, ANY), "Sin": (pt.sin, ANY), "Cos": (pt.cos, ANY),
         "Tan": (pt.tan, ANY), "Arcsin": (pt.arcsin, UNIT), "Arccos": (pt.arccos, UNIT), "Arctan": (pt.arctan, ANY),
         "Sinh": (pt.sinh, ANY), "Cosh": (pt.cosh, ANY), "Tanh": (pt.tanh, ANY), "Arcsinh": (pt.arcsinh, ANY),
         "Arccosh": (pt.arccosh, ABOVE), "Arctanh": (pt.arctanh, UNIT), "Reciprocal": (pt.reciprocal, POSITIVE),
         "Sigmoid": (pt.sigmoid, ANY), "Softplus": (pt.softplus, ANY), "Erf": (pt.erf, ANY), "Erfc": (pt.erfc, ANY)}
FLAT = ("Sgn", "Floor", "Ceil", "Trunc", "RoundHalfToEven")
s.group = "unary"
for name, (op, value) in UNARY.items():
    x = given(value)
    s.case(f"Test{name}Broadcast.test_good[normal]", op(x), *([] if name in FLAT else [grad((op(x) ** 2).sum(), x)]))
    s.case(f"Test{name}Broadcast.test_good[empty]", op(given(np.zeros((0, 2)))))

s.group = "shuffles"
for k, (shape, order) in enumerate([((2, 3), (1, 0)), ((1, 2, 3), (1, 2)), ((1, 2, 1, 3), (1, 3)),
                                    ((2, 3, 4), (2, 1, 0)),
                                    ((2, 3, 4), ("x", 2, 1, 0, "x")), ((1, 4, 3, 2, 1), (3, 2, 1)), ((1, 1, 4), (1, 2)),
                                    ((1, 1, 1), ()), ((1,), ("x", "x"))]):
    s.case(f"TestDimShuffle.test_perform[{k}]", given(positive(*shape)).dimshuffle(*order))
s.group = "reductions"
REDUCTIONS = {"sum": pt.sum, "prod": pt.prod, "max": pt.max, "min": pt.min, "mean": pt.mean, "var": pt.var,
              "any": pt.any, "all": pt.all}
CASES = [((5, 6), None), ((5, 6), (0, 1)), ((5, 6), (0,)), ((5, 6), (1,)), ((5, 6), (-1,)), ((5, 6), (-2,)),
         ((5, 6), ()),
         ((2, 3, 4, 5), (0, 1, 3)), ((2, 3, 4, 5), (-2, -3)), ((5, 0), (1,)), ((), ())]
for (name, op), (k, (shape, axes)) in itertools.product(REDUCTIONS.items(), enumerate(CASES)):
    if name in ("max", "min", "mean", "var") and 0 in shape or axes == () and (shape or name == "var"):
        continue
    value = spread(*shape) > 0.5 if name in ("any", "all") else positive(*shape)
    s.case(f"TestCAReduce.test_perform[{name},{k}]", op(given(value), axis=axes))
    if name in ("sum", "mean", "max", "prod"):
        x = given(value)
        s.case(f"TestCAReduce.test_perform[{name},{k},grad]", grad((op(x, axis=axes) ** 2).sum(), x))
nan = np.where(spread(3, 4) > 1.5, np.nan, spread(3, 4))
for name in ("sum", "prod", "max", "min"):
    s.case(f"TestCAReduce.test_perform_nan[{name}]", REDUCTIONS[name](given(nan), axis=1))
m = given(spread(2, 3, 4))
for name in ("sum", "mean", "max", "min", "var"):
    s.case(f"TestReduceAxes.test_{name}_axes",
           *[REDUCTIONS[name](m, axis=a) for a in (0, 1, -1, (0, 1), (-1, 0), None)])
s.case("TestReduceAxes.test_argmax_axes", *[pt.argmax(m, axis=a) for a in (0, 1, -1, None)])
s.case("TestReduceAxes.test_argmax_axes[argmin]", *[pt.argmin(m, axis=a) for a in (0, 1, -1, None)])
for k, value in enumerate([[[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1, 2, 3], [0, 5, 6], [0, 0, 9]],
                           [[0, 0, 0], [4, 5, 6], [7, 8, 0]]]):
    x = given(np.array(value, dtype="float64"))
    p = pt.prod(x, axis=1)
    s.case(f"TestProd.test_verify_grad_with_zeros[{k}]", p, grad(p.sum(), x), grad((p ** 2).sum(), x))
x = given(positive(3, 3))
s.case("TestProd.test_verify_grad", pt.prod(x), grad(pt.prod(x), x))
for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"):
    v = given(np.array([1, 0, 1]).astype(dtype))
    s.case(f"TestReduceDType.test_reduce_default_dtype[{dtype}]", pt.sum(v), pt.prod(v))
    if dtype not in ("bool", "uint64"):
        s.case(f"TestMeanDType.test_mean_default_dtype[{dtype}]", pt.mean(v))
for k, value in enumerate([np.inf, -np.inf, np.nan, 0.0, -1.0]):
    x = given(np.array([[value, 1.0], [2.0, value]]))
    s.case(f"TestIsInfIsNan.test_isinf[{k}]", pt.isinf(x))
    s.case(f"TestIsInfIsNan.test_isnan[{k}]", pt.isnan(x))
x = given(spread(3, 3))
flags = given(spread(3, 3) > 0)
s.case("TestBitOpReduceGrad.test_all_grad", grad((x * pt.all(flags)).sum(), x))
s.case("TestBitOpReduceGrad.test_any_grad", grad((x * pt.any(flags)).sum(), x))
s.case("TestElemwise.test_elemwise_grad_bool", grad((x * pt.cast(flags, "float64")).sum(), x))
u = given(positive(4))
s.case("test_gt_grad", grad(pt.sum(pt.maximum(0.5 - u, 0) ** 2), u))
a, b = given(np.float64(-0.5)), given(np.float64(1.0))
s.case("test_clip_grad", *grad(pt.clip(given(spread(6)), a, b).sum(), [a, b]))
x = given(spread(6))
s.case("test_clip_grad[x]", grad((pt.clip(x, a, b) ** 2).sum(), x))
s.case("test_clip_grad_int", pt.clip(given(whole(5)), 1, 3))
x = given(spread(5, 5))
s.case("test_grad_useless_sum", grad(pt.sum(pt.log(1 / (1 + pt.exp(-x)))), x))
t4, v3 = given(spread(2, 3, 4, 3)), given(spread(3))
s.case("test_elemwise_grad_broadcast", *grad((t4 * v3).sum(), [t4, v3]))
row, column = given(spread(1, 4)), given(spread(3, 1))
s.case("TestBroadcast.test_fill", pt.ones((3, 4)) * row, pt.second(column, row))
y = given(spread(5, 5, seed=1))
s.case("TestBroadcast.test_same_inputs", y + y)
s.case("TestBroadcast.test_perform", given(spread(3, 5)) + given(spread(3, 5, seed=1)),
       given(spread(3, 5)) + given(spread(1, 5, seed=1)), given(spread(1, 5)) + given(spread(3, 5, seed=1)),
       given(spread(1, 1)) + given(spread(1, 1)), given(spread(2, 3, 4, 5)) + given(spread(1, 3, 1, 5)),
       given(spread(0, 5)) + given(spread(1, 5)), given(np.float64(2)) + given(spread(3)))

s.group = "errors"
for k, (x, y) in enumerate([((2, 3), (3, 2)), ((2, 3), (4,)), ((2, 3, 4), (3, 3))]):
    s.error(f"TestAddBroadcast.test_bad_runtime[{k}]", lambda a=x, b=y: [given(spread(*a)) + given(spread(*b))])
s.error("TestDimShuffle.test_perform[same_axis_twice]", lambda: [given(spread(2, 3)).dimshuffle(0, 0)])
s.error("TestDimShuffle.test_perform[lost_axis]", lambda: [given(spread(2, 3)).dimshuffle(0)])
s.error("TestDimShuffle.test_perform[no_axis]", lambda: [given(spread(2, 3)).dimshuffle(0, 1, 2)])
s.error("TestCAReduce.test_repeated_axis", lambda: [pt.sum(given(spread(2, 3)), axis=(0, 0))])
s.error("TestCAReduce.test_perform[no_axis]", lambda: [pt.sum(given(spread(2, 3)), axis=2)])
s.error("TestReduceAxes.test_max_axes[empty]", lambda: [pt.max(given(np.zeros((0, 3))), axis=0)])

s.write()
