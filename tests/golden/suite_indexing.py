#!/usr/bin/env python3
"""Writes suite_indexing.txt: what NumPy reads and writes through indices, for tests/compiler/suites/indexing_test.cpp.

Run: python3 tests/golden/suite_indexing.py, with PyTensor (which suite.py needs). The cases follow NumPy's
_core/tests/test_indexing.py; they are written anew, with numbers of their own where those say nothing.
"""
import numpy as np

from suite import Suite, whole

s = Suite(__file__)
NEW = np.newaxis
I, A = "TestIndexing.", np.array


def row(name, x, index, y=None):
    """The part; with y what setting it and adding to it make of x, which keeps its dtype."""
    x = np.asarray(x)
    out = [x[index]]
    if y is not None:
        set_, inc = x.copy(), x.copy()
        set_[index] = y
        np.add.at(inc, index, np.broadcast_to(y, x[index].shape))
        out += [set_, inc]
    s.values(name, *out)


def error(name, x, index, y=None):
    x = np.array(x)
    try:
        if y is None:
            x[index]
        else:
            x[index] = y
    except (IndexError, ValueError, TypeError):
        s.lines.append(f"{name} {s.group} = error")
        return
    raise AssertionError(f"{name} is no error")


s.group = "read"
a, square = whole(3, start=1), whole(3, 3, start=1)
row(I + "test_none_index", a, None, 7)
row(I + "test_empty_tuple_index[vector]", a, (), 7)
row(I + "test_empty_tuple_index[scalar]", whole(), (), 7)
index = np.arange(5)
row(I + "test_same_kind_index_casting[vector]", whole(10), index.astype("uint64"), whole(5, start=20))
row(I + "test_same_kind_index_casting[matrix]", whole(5, 2), index.astype("uint64"), whole(5, 1, start=20))
row(I + "test_same_kind_index_casting[two]", whole(5, 5), (index.astype("uint32"),) * 2, whole(5, start=20))
row(I + "test_empty_fancy_index", a, np.zeros(0, int), 7)
row(I + "test_ellipsis_index[whole]", square, ..., 7)
row(I + "test_ellipsis_index[row]", square, (0, ...), 7)
row(I + "test_ellipsis_index[column]", square, (..., 0), 7)
row(I + "test_ellipsis_index[element]", square, (0, ..., 1), 7)
row(I + "test_ellipsis_index[scalar]", whole(), (...,), 2)
row(I + "test_single_int_index[0]", square, 0, whole(3, start=20))
row(I + "test_single_int_index[-1]", square, -1, whole(3, start=20))
row(I + "test_boolean_indexing_onedim", whole(1, 3), A([True]), 1)
few = np.arange(1000) < 10
row(I + "test_boolean_assignment_needs_api", whole(1000)[:40], few[:40], np.ones(10, int))
mask = A([[1, 0, 1], [0, 1, 0], [1, 0, 1]], bool)
row(I + "test_boolean_indexing_twodim[whole]", square, mask, 0)
row(I + "test_boolean_indexing_twodim[1]", square, mask[1], 0)
row(I + "test_boolean_indexing_twodim[0]", square, mask[0], 0)
row(I + "test_boolean_indexing_list[rows]", a, A([True, False, True]), 0)
row(I + "test_boolean_indexing_list[None]", a, (None, A([True, False, True])), 0)
back = np.zeros(5, int)[::-1]
row(I + "test_reverse_strides_and_subspace_bufferinit[vector]", whole(5), back, whole(5)[::-1])
row(I + "test_reverse_strides_and_subspace_bufferinit[rows]", whole(5, 2), (back, slice(None)), whole(5, 2)[::-1])
row(I + "test_reversed_strides_result_allocation", whole(10)[:, None], np.arange(10)[::-1], whole(10, 1))
row(I + "test_uncontiguous_subspace_assignment", whole(3, 4, 2), A([0, 1]), whole(2, 4, 2).T)
index = whole(2, 1, 3)[:, :, 0]
row(I + "test_trivial_fancy_not_possible", whole(6), index, -1)
row(I + "test_array_like_values[rows]", whole(5, 5), (np.arange(5), slice(None)), whole(5, 5, start=30))
row(I + "test_array_like_values[columns]", whole(5, 5), (slice(None), np.arange(5)), whole(5, 5, start=30))
row(I + "test_array_like_values[whole]", whole(5, 5), ..., whole(5, 5, start=30))
index = whole(5, 2).T
row(I + "test_memory_order[vector]", whole(10), index, whole(2, 5))
row(I + "test_memory_order[column]", whole(10, 1), (index, 0), whole(2, 5))
row(I + "test_scalar_return_type[()]", whole(), (), 1)
row(I + "test_scalar_return_type[z]", whole(1), 0, 1)
row(I + "test_scalar_return_type[z,0d]", whole(1, 1), (0, A(0)), 1)
row(I + "test_small_regressions[int64]", whole(1), A([0]), 1)
row(I + "test_small_regressions[uint8]", whole(1), np.uint8([0]), 1)
ind = np.broadcast_to(np.arange(4)[:, None, None, None], (4, 5, 2, 2))
row(I + "test_indexing_array_weird_strides[one]", whole(4), ind, 9)
row(I + "test_indexing_array_weird_strides[two]", whole(4, 2), (ind, np.zeros(2, int)), 9)
row(I + "test_indexing_array_negative_strides", whole(4, 4)[::-1, ::-1], (slice(None), np.arange(4)), 10)
row(I + "test_nontuple_ndindex[rows]", whole(5, 5), A([0, 1]), 9)
row(I + "test_nontuple_ndindex[two]", whole(5, 5), (A([0, 1]), A([0, 1])), 9)
B = "TestBroadcastedAssignments."
row(B + "test_index_is_larger", whole(5, 5), (A([[0], [1], [2]]), A([0, 1, 2])), A([2, 3, 4]))
row(B + "test_broadcast_subspace", whole(10, 10), np.arange(10)[::-1], whole(10, 1))
E = "TestFancyIndexingEquivalence."
row(E + "test_cast_equivalence[slice]", whole(5), slice(3), A([2, -3, -1]))
row(E + "test_cast_equivalence[fancy]", whole(5), A([0, 2, 1]), A([2, -1, -3]))
row(E + "test_cast_equivalence[subspace]", whole(1, 5), (A([0]), slice(3)), A([[2, -3, -1]]))
row(E + "test_object_assign[swapped]", whole(5, 1), (slice(3), A([0])), A([[1], [2], [3]]))
row(E + "test_object_assign[memory_order,slice]", whole(3, 4, 5), (slice(1), ...), A([[[1], [2], [3], [4]]]))
row(E + "test_object_assign[memory_order,fancy]", whole(3, 4, 5), (A([0]), ...), A([[[1], [2], [3], [4]]]))
one = A([[[5]]])
for k, index in enumerate([A([0]), A([0, 0]), (slice(None), A([0, 0])), (slice(None), 0, slice(None)),
                           (slice(None),) * 3]):
    row(f"TestFloatNonIntegerArgument.test_valid_indexing[{k}]", one, index)
for k, index in enumerate([slice(None), slice(0, None), slice(2), slice(0, 2), slice(None, None, 2),
                           slice(1, None, 2), slice(None, 2, 2), slice(1, 2, 2)]):
    row(f"TestFloatNonIntegerArgument.test_valid_slicing[{k}]", one, index)
row("TestCApiAccess.test_getitem[4]", whole(10), 4)
row("TestCApiAccess.test_getitem[-4]", whole(5, 2), -4)
row("TestCApiAccess.test_setitem[4]", whole(10), 4, 10)
row("TestCApiAccess.test_setitem[rows]", whole(5, 2), 4, 10)
flat, F = whole(9), "TestFlatiterIndexing.test_flatiter_"
for k in (0, 4, -1):
    row(F + f"assign_single_integer[{k}]", flat, k, 10)
for k, index in enumerate([slice(None), slice(5), slice(5, 10), slice(None, None, 2), slice(None, None, -1),
                           slice(10, 5), (), ...]):
    row(F + f"indexing_slice_assign[{k}]", flat, index, 20)
row(F + "indexing_boolean", flat, np.arange(9) % 2 == 0, 10)
for k, index in enumerate([A([1, 3, 5]), A([-1, -2]), A([[1, 2], [3, 4]]), np.zeros(0, int)]):
    row(F + f"indexing_fancy[{k}]", flat, index, 10)

s.group = "written"
a = whole(3)
a[A([2, 1, 0])] = a.copy()
s.values(I + "test_gh_26542", a)
a = whole(1, 3)
a[np.zeros(3, int), A([2, 1, 0])] = whole(3)
s.values(I + "test_gh_26542_2d", a)
a = whole(20)
a[10:] = a[:-10].copy()
s.values(I + "test_gh_26542_index_overlap", a)
for name, index in [("test_gh_26844", lambda a: a[:-2]), ("test_gh_26844_segfault", lambda a: (None, a[:-2]))]:
    a = whole(5)
    a[2:][index(a)] = 3
    s.values(I + name, a)

s.group = "automated"
b = whole(3, 1, 5, 6)
M = "TestMultiIndexingAutomated."
COMPLEX = [..., 0, A([True]), A([[False]]), slice(-5, 5, 2), slice(1, 1, 100), slice(4, -1, -2),
           slice(None, None, -3), np.empty((0, 1, 1), int), A([0, -1, 0]), A([[0], [-1], [0]]),
           np.int8([-1, 0])]
SIMPLE = [None, -1, A([1])]
# The masks of the third axis have its five elements, of the second its one.
for i, c in enumerate(COMPLEX):
    for j, simple in enumerate(SIMPLE):
        if isinstance(c, np.ndarray) and c.dtype == bool and c.ndim == 2:
            c = A([[True, False, True, False, False]])
        for k, fill in enumerate([slice(None), 0]):
            row(M + f"test_multidim[{i},{j},{k}]", b, (fill, c, simple), 1000)
for i, zeros in enumerate([np.zeros((3, 1, 5, 6), bool), np.zeros((3, 1, 5), bool)]):
    row(M + f"test_boolean[{i}]", b, zeros, 1000)
row(M + "test_multidim[0,0,0,0]", b, (0, 0, 0, 0), 1000)
for i, c in enumerate([..., 0, np.arange(10) == 0, slice(-5, 5, 2), slice(1, 1, 100), slice(4, -1, -2),
                       slice(None, None, -3), np.empty((0, 1, 1), int), A([0, 1, -2]), A([[2], [0], [1]]),
                       A([[0, -1], [0, 1]]), np.int8([2, -1])]):
    row(M + f"test_1d[{i}]", whole(10), c, 1000)

s.group = "errors"
half, cube = A([0.5]), whole(5, 4, 3)
for k, index in enumerate([0.0, (0, 0.0), (slice(None), 0.0), -1.4]):
    error(I + f"test_index_no_floats[{k}]", one, index)
error(I + "test_empty_fancy_index[float]", square, np.zeros(0))
error(I + "test_single_int_index[large]", square, 1 << 30)
error(I + "test_boolean_shape_mismatch[short]", cube, A([True]))
error(I + "test_boolean_shape_mismatch[long]", cube, np.zeros(6, bool))
error(I + "test_boolean_shape_mismatch[two]", cube, np.zeros((4, 4), bool))
error(I + "test_boolean_shape_mismatch[:,two]", cube, (slice(None), np.zeros((4, 4), bool)))
error(I + "test_boolean_assignment_value_mismatch[0]", whole(4), np.ones(4, bool), np.zeros(0))
error(I + "test_boolean_assignment_value_mismatch[3]", whole(4), np.ones(4, bool), A([1, 2, 3]))
error(I + "test_boolean_assignment_value_mismatch[1,3]", whole(1), np.ones(1, bool), A([1, 2, 3]))
error(I + "test_broaderrors_indexing[read]", whole(5, 5), (A([0, 1]), A([0, 1, 2])))
error(I + "test_broaderrors_indexing[set]", whole(5, 5), (A([0, 1]), A([0, 1, 2])), 0)
last, first = np.ones(20, int), np.ones(20, int)
last[-1], first[0] = 10, 11
for name, index in [("last", last), ("first", first)]:
    error(I + f"test_trivial_fancy_out_of_bounds[{name}]", whole(5), index)
    error(I + f"test_trivial_fancy_out_of_bounds[{name},set]", whole(5), index, 0)
error(I + "test_small_regressions[int64,set]", whole(1), A([1]), 1)
error(I + "test_small_regressions[uint8,set]", whole(1), np.uint8([1]), 1)
error(B + "test_prepend_not_one[...]", whole(5), ..., np.ones((2, 1)))
error(B + "test_prepend_not_one[fancy]", whole(5), (A([1, 2, 3]),), np.ones((2, 1)))
error(B + "test_prepend_not_one[two]", whole(5), (A([[1], [2]]),), np.ones((2, 2, 1)))
error(B + "test_simple_broadcasting_errors[...,2]", whole(5, 1), ..., np.zeros((5, 2)))
error(B + "test_simple_broadcasting_errors[...,0]", whole(5, 1), ..., np.zeros((5, 0)))
error(B + "test_simple_broadcasting_errors[columns,2]", whole(5, 1), (slice(None), A([0])), np.zeros((5, 2)))
error(B + "test_simple_broadcasting_errors[columns,0]", whole(5, 1), (slice(None), A([0])), np.zeros((5, 0)))
error(B + "test_simple_broadcasting_errors[rows]", whole(5, 1), (A([0]), slice(None)), np.zeros((2, 1)))
many = whole(3, 4, 5, 6, 7)
error(B + "test_broadcast_error_reports_correct_shape[0]", many, (..., A([1, 2]), slice(None)), np.zeros((100, 100)))
error(B + "test_broadcast_error_reports_correct_shape[1]", many, (A([0, 1]), ..., 0), np.zeros((100, 100)))
error(B + "test_broadcast_error_reports_correct_shape[2]", many, (..., A([1, 2]), A([1, 2])), np.zeros((100, 100)))
error(M + "test_multidim[five]", b, (0, 0, 0, 0, 0))
error(M + "test_multidim[five,fancy]", b, (0, 0, A([1]), 0, 0))
error("TestBooleanIndexing.test_boolean_indexing_fast_path[9]", whole(3, 3), np.zeros((1, 9), bool))
error("TestBooleanIndexing.test_boolean_indexing_fast_path[10]", whole(3, 3), np.zeros((1, 10), bool))
error("TestBooleanIndexing.test_boolean_indexing_fast_path[three]", whole(1, 1, 2), A([[[True], [False]]]))
error("TestNonIntegerArrayLike.test_basic", whole(10), A([0.5, 1.5]))
error("TestMultipleEllipsisError.test_basic[2]", whole(10), (..., ...))
error("TestMultipleEllipsisError.test_basic[3]", whole(10), (..., ..., ...))
error("TestCApiAccess.test_getitem[scalar]", whole(), 0)
for k in (11, -11):
    error(f"TestCApiAccess.test_getitem[vector,{k}]", whole(10), k)
    error(f"TestCApiAccess.test_setitem[matrix,{k}]", whole(10, 10), k, 0)
error(F + "indexing_boolean[long]", flat, np.zeros(10, bool))
error(F + "assign_single_integer[9]", flat, 9, 40)
error(F + "indexing_not_supported_newaxis_mutlidimensional_float", flat, (1, 2))

s.write()
