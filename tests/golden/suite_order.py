#!/usr/bin/env python3
"""Writes suite_order.txt: what PyTensor and NumPy sort, search, count and accumulate, for
tests/compiler/suites/order_*_test.cpp.

Run: python3 tests/golden/suite_order.py, with PyTensor. The cases follow PyTensor's tests/tensor/test_sort.py and
test_extra_ops.py, Theano's Test_TopK, and NumPy's _core/tests/test_multiarray.py, lib/tests/test_function_base.py,
test_histograms.py and test_arraysetops.py; they are written anew, with numbers of their own.
"""
import numpy as np
import pytensor.tensor as pt
from pytensor import grad

from suite import Suite, count, given, positive, spread, whole

s = Suite(__file__)
NAN = np.nan
REALS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
GRADIENTS = {"1d": [(7,)], "2d": [(2, 3)], "3d": [(2, 3, 4)], "4d": [(2, 3, 2, 2)]}


def weighed(x, values):
    """The values, and the gradient of their sum with weights."""
    weights = pt.as_tensor(positive(*values.eval().shape))
    return values, grad((values * weights).sum(), x)


s.group = "sort"
for name, shape, axis in [("test1", (3, 2), -1), ("test2[0]", (3, 2), 0), ("test2[1]", (3, 2), 1), ("test3", (4,), -1),
                          ("test_None", (3, 2), None), ("test_grad_vector", (10,), -1),
                          ("test_grad_none_axis[0]", (10,), None), ("test_grad_none_axis[1]", (10,), 0),
                          ("test_grad_none_axis[2]", (2, 3), None), ("test_grad_none_axis[3]", (2, 3, 4), None)]:
    x = given(spread(*shape))
    s.case("TestSort." + name, *weighed(x, pt.sort(x, axis)))
for rank in (2, 3, 4):
    shape = (2, 3, 4, 2)[:rank]
    for axis in range(-rank, rank):
        sign = "negative" if axis < 0 else "nonnegative"
        x = given(spread(*shape, seed=axis + 41))
        s.case(f"TestSort.test_grad_{sign}_axis_{rank}d[{axis}]", *weighed(x, pt.sort(x, axis)))
for k, axis in enumerate((-1, None)):
    s.case(f"TestSortInferShape.test_sort[{k}]", pt.sort(given(spread(4, 6)), axis))
for name, shape, axis in [("1", (3, 2), -1), ("2,0", (3, 2), 0), ("2,1", (3, 2), 1), ("3", (4,), -1),
                          ("6", (3, 2), None)]:
    s.case(f"test_argsort[{name}]", pt.argsort(given(spread(*shape)), axis))
s.case("test_parse_sort_args[stable]", pt.argsort(given(whole(3, 7) % 3), stable=True))
s.values("TestMethods.test_sort[nan]", np.sort([NAN, 1, 0]), np.sort(np.float32([2, NAN, -np.inf, NAN, np.inf, 0])))
for dtype in REALS:
    a = np.arange(60) if dtype.startswith("u") else np.arange(-30, 30)
    name = "test_sort_unsigned" if dtype.startswith("u") else "test_sort_signed"
    s.values(f"TestMethods.{name}[{dtype}]", np.sort(a[::-1].astype(dtype)), np.sort(np.roll(a, 21).astype(dtype)))
a = np.array([[3, 2, 7], [1, 0, 5]])
s.values("TestMethods.test_sort_axis", np.sort(a, 0), np.sort(a, 1), np.sort(a))
for axis in (-4, -3, -2, -1, 0, 1, 2, 3, None):
    s.values(f"TestMethods.test_sort_size_0[{axis}]", np.sort(np.zeros((3, 2, 1, 0)), axis))
for dtype in ("int32", "uint32", "float32"):
    a = np.arange(60).astype(dtype)
    s.values(f"TestMethods.test_argsort[{dtype}]", np.argsort(a, kind="stable"), np.argsort(a[::-1], kind="stable"))
s.values("TestMethods.test_sort_degraded", np.sort(np.arange(90) % 10), np.argsort(np.arange(90) % 10, kind="stable"))
for k in (1, 2, 5):
    x = spread(5, seed=3)
    order = np.argsort(-x, kind="stable")[:k]
    low = np.argsort(x, kind="stable")[:k]
    g = np.zeros(5)
    g[order] = positive(k)
    s.values(f"Test_TopK.test_topk_1d[{k}]", x[order], x[low], g)
    s.values(f"Test_TopK.test_argtopk_1d[{k}]", order, low)
s.values("Test_TopK.test_argtopk_sanity", np.zeros(1, int))
s.values("Test_TopK.test_argtopk_1d_collision", np.argsort(-(np.arange(12) % 4), kind="stable")[:5])
for axis in (0, 1, 2, -1):
    x = spread(3, 4, 5, seed=1)
    order = np.take(np.argsort(-x, axis=axis, kind="stable"), [0, 1], axis)
    s.values(f"Test_TopK.test_argtopk_nd[{axis}]", order, np.take_along_axis(x, order, axis))

s.group = "search"
a, b = spread(20), positive(2, 3, 4)
ascending, sorter = np.sort(a), np.argsort(a)
s.case("TestSearchsortedOp.test_searchsortedOp_on_sorted_input[left]", pt.searchsorted(given(ascending), given(b)))
s.case("TestSearchsortedOp.test_searchsortedOp_on_sorted_input[right]",
       pt.searchsorted(given(ascending), given(b), side="right"))
s.case("TestSearchsortedOp.test_searchsortedOp_on_int_sorter",
       pt.searchsorted(given(a), given(b), sorter=given(sorter.astype("int32"))))
s.case("TestSearchsortedOp.test_infer_shape[side]",
       pt.searchsorted(given(np.ones(10)), given(np.ones((1, 2, 3))), side="right"))
for dtype in ("float32", "float64"):
    a = np.array([0, 1, NAN], dtype)
    s.values(f"TestMethods.test_searchsorted_floats[{dtype}]", np.searchsorted(a, a), np.searchsorted(a, a, "right"),
             np.searchsorted(a, a[-1]))
for n in (0, 1, 2):
    s.values(f"TestMethods.test_searchsorted_n_elements[{n}]", np.searchsorted(np.ones(n), [0, 1, 2]),
             np.searchsorted(np.ones(n), [0, 1, 2], "right"))
s.values("TestMethods.test_searchsorted_resetting", np.searchsorted(np.arange(5), [6, 5, 4]),
         np.searchsorted(np.arange(5), [6, 5, 4], "right"))
s.values("TestMethods.test_searchsorted_unaligned_array", np.searchsorted(np.arange(10), np.arange(10)),
         np.searchsorted(np.arange(10), np.arange(10), "right"))
for dtype in ["bool"] + REALS:
    a = np.arange(2 if dtype == "bool" else 5).astype(dtype)
    empty = a[:0]
    s.values(f"TestMethods.test_searchsorted_type_specific[{dtype}]", np.searchsorted(a, a),
             np.searchsorted(a, a, "right"), np.searchsorted(empty, a), np.searchsorted(a, empty))
a = np.array([5, 2, 1, 3, 4])
s.values("TestMethods.test_searchsorted_with_sorter[0]", np.searchsorted(a, [0, 1, 2, 3, 5, 6], sorter=np.argsort(a)))
a = (np.arange(30) * 7) % 11
s.values("TestMethods.test_searchsorted_with_sorter[1]",
         np.searchsorted(a, np.arange(-1, 12), sorter=np.argsort(a, kind="stable")),
         np.searchsorted(a, np.arange(-1, 12), "right", np.argsort(a, kind="stable")))
D = "TestDigitize."
s.values(D + "test_forward", np.digitize(np.arange(-6, 5), np.arange(-5, 5)))
s.values(D + "test_random", np.digitize(spread(10), np.linspace(-2.5, 2.5, 11)))
s.values(D + "test_right_basic[left]", np.digitize([1, 5, 4, 10, 8, 11, 0], [1, 5, 10]))
s.values(D + "test_right_basic[right]", np.digitize([1, 5, 4, 10, 8, 11, 0], [1, 5, 10], True))
s.values(D + "test_right_open", np.digitize(np.arange(-6, 5), np.arange(-6, 4), True))
s.values(D + "test_right_open_random", np.digitize(spread(10), np.linspace(-2.5, 2.5, 11), True))
for k, bins in enumerate([[0, 0, 1], [1, 1, 1, 1]]):
    for right in (False, True):
        s.values(D + f"test_monotonic[{k},{'right' if right else 'left'}]", np.digitize([-1, 0, 1, 2], bins, right))
s.values(D + "test_large_integers_increasing", np.digitize(np.array(2 ** 54), [2 ** 54 - 1, 2 ** 54 + 1]))

s.group = "counts"
for dtype in REALS[:8]:
    a, w = (whole(25) * 7 % 19).astype(dtype), positive(25)
    s.values(f"TestBinCount.test_bincountFn[{dtype}]", np.bincount(a.astype("int64")),
             np.bincount(a.astype("int64"), w), np.bincount(a.astype("int64"), minlength=30),
             np.bincount(a.astype("int64"), minlength=5))
B = "TestBincount."
s.values(B + "test_simple", np.bincount(np.arange(4)))
s.values(B + "test_simple2", np.bincount([1, 5, 2, 4, 1]))
s.values(B + "test_simple_weight", np.bincount(np.arange(4), [0.25, 0.5, 0.125, 1]))
s.values(B + "test_simple_weight2", np.bincount([1, 2, 4, 5, 2], [0.25, 0.5, 0.125, 1, 2]))
s.values(B + "test_with_minlength",
         np.bincount([0, 1, 0, 1, 1], minlength=3), np.bincount([0, 1, 0, 1, 1], minlength=0))
s.values(B + "test_with_minlength_smaller_than_maxvalue", np.bincount([0, 1, 1, 2, 2, 3, 3], minlength=2))
s.values(B + "test_with_minlength_and_weights", np.bincount([1, 2, 4, 5, 2], [0.25, 0.5, 0.125, 1, 2], 8))
s.values(B + "test_empty", np.bincount(np.zeros(0, int)))
s.values(B + "test_empty_with_minlength", np.bincount(np.zeros(0, int), minlength=5))
s.group = "histograms"
H = "TestHistogram."
s.values(H + "test_simple", *np.histogram(count(40) / 4))
s.values(H + "test_one_bin[edges]", *np.histogram([1, 2, 3, 4], [1, 2]))
s.values(H + "test_one_bin[count]", *np.histogram([1, 2], bins=1))
s.values(H + "test_density[even]", *np.histogram(spread(30), density=True))
s.values(H + "test_density[edges]", *np.histogram(np.arange(10), [0, 1, 3, 6, 10], density=True))
s.values(H + "test_density[False]", *np.histogram(np.arange(10), [0, 1, 3, 6, 10]))
s.values(H + "test_density[inf]", *np.histogram(np.arange(10), [0, 1, 3, 6, np.inf], density=True))
a = np.arange(10) + 0.5
s.values(H + "test_outliers[lower]", *np.histogram(a, range=[0, 9]))
s.values(H + "test_outliers[upper]", *np.histogram(a, range=[1, 10]))
s.values(H + "test_outliers[density]", *np.histogram(a, range=[1, 9], density=True))
s.values(H + "test_outliers[weights,density]", *np.histogram(a, range=[1, 9], weights=a, density=True))
s.values(H + "test_outliers[weights]", *np.histogram(a, bins=8, range=[1, 9], weights=a))
s.values(H + "test_weights[even]", *np.histogram(spread(30), weights=np.full(30, 5.0)))
s.values(H + "test_weights[edges]", *np.histogram(np.linspace(0, 10, 10), bins=np.arange(11), weights=positive(10)))
s.values(H + "test_weights[density]", *np.histogram([1.0, 2, 2, 4], bins=4, weights=[4.0, 3, 2, 1], density=True))
s.values(H + "test_weights[uneven]",
         *np.histogram(np.arange(9), [0, 1, 3, 6, 10], weights=[2.0, 1, 1, 1, 1, 1, 1, 1, 1], density=True))
s.values(H + "test_empty", *np.histogram([], bins=[0, 1]))
s.values(H + "test_finite_range", *np.histogram(np.linspace(0, 1, 50), range=[0.25, 0.75]))
s.values(H + "test_bin_edge_cases", *np.histogram(np.array([337, 404, 739, 806, 1007, 1811, 2012]), 200, (2, 2280)))
s.values(H + "test_last_bin_inclusive_range", *np.histogram([0.0, 0, 0, 1, 2, 3, 3, 4, 5], 30, (-0.5, 5)))
s.values(H + "test_some_nan_values[one]", *np.histogram([0, 1, NAN], bins=2, range=(0, 1)))
s.values(H + "test_some_nan_values[all]", *np.histogram([NAN, NAN], bins=2, range=(0, 1)))
s.values(H + "test_some_nan_values[edges]", *np.histogram([0, 1, NAN], bins=[0, 1]))
for dtype in ("int8", "int16", "int32"):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    s.values(H + f"test_signed_overflow_bounds[{dtype}]", np.histogram(np.array([low + 1, high], dtype), bins=2)[0])


def unique(name, x):
    values, index, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    s.values(name, values, index, inverse.reshape(np.shape(x)), counts)


s.group = "unique"
for dtype in REALS:
    unique(f"TestUnique.test_unique_1d[{dtype}]", np.array([5, 7, 1, 2, 1, 5, 7] * 5, dtype))
    unique(f"TestUnique.test_unique_zero_sized[{dtype}]", np.array([], dtype))
unique("TestUnique.test_unique_1d[bool]", np.array([True, False, True, True]))
unique("TestUnique.test_unique_1d[4785]", np.array([[1, 2], [1, 2], [2, 3]]))
unique("TestUnique.test_unique_1d[2111]", np.array([2.0, NAN, 1.0, NAN]))
unique("TestUnique.test_unique_1d[19300]", np.array([NAN] * 4))
unique("TestUnique.test_unique_nanequals", np.array([1, 1, NAN, NAN, NAN]))
unique("TestUnique.test_unique_inverse_shape", np.array([[1, 2, 3], [2, 3, 1]]))
unique("TestUnique.test_simple", np.array([4, 3, 2, 1, 1, 2, 3, 4, 0]))
unique("TestUnique.test_basic_vector[0]", np.array([2.0, 1, 3, 2]))
unique("TestUnique.test_basic_vector[1]", np.array([1.0, 2, 3]))
unique("TestUnique.test_basic_matrix[0]", np.array([[2.0, 1], [3, 2], [2, 1]]))
unique("TestUnique.test_basic_matrix[1]", whole(3, 4, 2) % 5)

s.group = "cumulative"
C = "TestCumOp."
for axis in (None, -3, -2, -1, 0, 1, 2):
    x = given(positive(3, 5, 2))
    total, product = pt.cumsum(x, axis), pt.cumprod(x, axis)
    s.case(C + f"test_cum_op[{axis}]", total, product)
    s.case(C + f"test_grad[{axis}]", weighed(x, total)[1], weighed(x, product)[1])
ba, ba2 = [1, 2, 10, 11, 6, 5, 4], [[1, 2, 3, 4], [5, 6, 7, 9], [10, 3, 4, 5]]
for dtype in REALS:
    a, a2 = np.array(ba, dtype), np.array(ba2, dtype)
    s.values(f"TestCumsum.test_basic[{dtype}]", np.cumsum(a), np.cumsum(a2, 0), np.cumsum(a2, 1))
    s.values(f"TestCumprod.test_basic[{dtype}]", np.cumprod(a), np.cumprod(a2, 0), np.cumprod(a2, -1))
s.values("TestDiff.test_basic[integers]", *(np.diff([1, 4, 6, 7, 12], n) for n in (1, 2, 3)))
s.values("TestDiff.test_basic[floats]", np.diff([1.125, 2.25, 3.0, -0.25, -0.125]))
s.values("TestDiff.test_basic[bools]", *(np.diff([True, True, False, False], n) for n in (1, 2)))
x = np.zeros((2, 4, 3))
x[:, 1::2, :] = 1
s.values("TestDiff.test_axis", *(np.diff(x, axis=axis) for axis in (-1, 0, 1, -2)))
x = spread(2, 4, 5)
s.values("TestDiff.test_nd", np.diff(x), np.diff(x, 2), np.diff(x, axis=0), np.diff(x, 2, 1))
for n in range(5):
    s.values(f"TestDiff.test_n[{n}]", np.diff(np.arange(3), n))
x = given(spread(6, 7))
s.case("TestDiff.test_basic", *weighed(x, pt.diff(x)))
for axis in (-2, -1, 0, 1):
    for n in (0, 1, 2, 5, 6):
        s.case(f"TestDiff.test_perform[{n},{axis}]", pt.diff(x, n=n, axis=axis))
for k, shape in enumerate([(1, 3), (1, 2, 3), (1, 5, 1, 1, 6)]):
    x = given(spread(*shape))
    s.case(f"TestSqueeze.test_op[{k}]", pt.squeeze(x))
    s.case(f"TestSqueeze.test_grad[{k}]", grad((pt.squeeze(x) ** 2).sum(), x))
for k, (shape, axes) in enumerate([((2, 1, 3), (1,)), ((2, 1, 3, 1), (1, 3)), ((1, 2, 1, 3, 1), (0, -1))]):
    s.case(f"TestSqueeze.test_axis[{k}]", pt.squeeze(given(spread(*shape)), axes))
for k, (axis, condition, shape) in enumerate([(None, [1, 0, 1, 0, 0, 1], (2, 3)), (-1, [0, 1, 1, 0], (3, 4)),
                                              (0, [0, 1, 1, 0], (4, 3)), (0, [], (4, 3)), (0, [0, 0, 0, 0], (4, 3)),
                                              (1, [1, 1, 0, 1, 0], (3, 5))]):
    s.values(f"TestCompress.test_op[{k}]", np.compress(np.array(condition, int), spread(*shape), axis))
for axis in (None, 0, 1, -1):
    x = spread(2, 3, 2)
    size = x.size if axis is None else x.shape[axis]
    s.values(f"TestRepeat.test_basic[scalar,{axis}]", np.repeat(x, 2, axis))
    s.values(f"TestRepeat.test_basic[vector,{axis}]", np.repeat(x, whole(size) % 3, axis))
    y = given(x)
    s.case(f"TestRepeat.test_grad[{axis}]", grad((pt.repeat(y, 3, axis=axis) ** 2).sum(), y))
for k, indices in enumerate([np.array(10), whole(4, start=3), np.array([[0, 59], [17, 5]])]):
    s.values(f"TestUnravelIndex.test_unravel_index[{k}]", *np.unravel_index(indices, (3, 4, 5)))
for mode in ("raise", "wrap", "clip"):
    i, j = np.array([0, 2, 1]), np.array([3, 0, 1])
    if mode != "raise":
        i, j = i + 3, j - 5
    s.values(f"TestRavelMultiIndex.test_ravel_multi_index[{mode}]", np.ravel_multi_index((i, j), (3, 4), mode=mode))

s.group = "errors"
x, v = given(positive(3, 5, 2)), given(spread(4))
for name, op in (("cumsum", pt.cumsum), ("cumprod", pt.cumprod)):
    for axis in (3, -4):
        s.error(f"TestCumOp.test_cum_op[{name},{axis}]", lambda o=op, a=axis: [o(x, a)])
s.error("TestSearchsortedOp.test_searchsortedOp_on_no_1d_inp", lambda: [pt.searchsorted(given(spread(2, 3)), v)])
s.error("TestSort.test2[axis]", lambda: [pt.sort(given(spread(3, 2)), 2)])
s.error("TestBinCount.test_bincountFn[negative]", lambda: [pt.bincount(given(np.array([1, -1])), assert_nonneg=True)])
s.error("TestBincount.test_with_incorrect_minlength", lambda: np.bincount([0], minlength=-1))
s.error("TestDiff.test_n", lambda: np.diff([1, 2], n=-1))
s.error("TestDiff.test_axis[3]", lambda: np.diff(np.zeros((2, 3)), axis=3))
s.error("TestDiff.test_axis[-4]", lambda: np.diff(np.zeros((2, 3)), axis=-4))
s.error("TestDiff.test_axis[scalar]", lambda: np.diff(np.array(1.5)))
s.error("TestHistogram.test_one_bin", lambda: np.histogram([1, 2], bins=0))
s.error("TestHistogram.test_arr_weights_mismatch", lambda: np.histogram(np.arange(10), weights=np.arange(11)))
s.error("TestHistogram.test_bin_array_dims", lambda: np.histogram(spread(5), bins=np.array([[0, 0.5], [0.6, 1]])))
s.error("TestDigitize.test_casting_error", lambda: np.digitize([1, 2, 3 + 1j], [1, 2, 3]))
s.error("TestSqueeze.test_invalid_input", lambda: [pt.squeeze(given(np.arange(3.0)), 0)])
s.error("TestSqueeze.test_scalar_input", lambda: np.squeeze(np.float64(5), axis=1))
s.error("TestUnravelIndex.test_unravel_index[high]", lambda: np.unravel_index(60, (3, 4, 5)))
s.error("TestRavelMultiIndex.test_ravel_multi_index[raise]", lambda: np.ravel_multi_index(([3], [0]), (3, 4)))
s.error("Test_TopK.test_argtopk_1d", lambda: np.argpartition(spread(4), 5))

s.write()
