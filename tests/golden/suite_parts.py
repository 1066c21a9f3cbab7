#!/usr/bin/env python3
"""Writes suite_parts.txt: what PyTensor reads and writes by mixed indices, and its gradients, for
tests/compiler/suites/parts_test.cpp.

Run: python3 tests/golden/suite_parts.py, with PyTensor. The cases follow tests/tensor/test_subtensor.py and
test_inc_subtensor.py; they are written anew, with numbers of their own.
"""
import numpy as np
import pytensor.tensor as pt
from pytensor import grad
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor

from suite import Suite, count, given, positive, spread

s = Suite(__file__)
ALL, NEW = slice(None), None


def array(shape, *elements):
    return np.array(elements).reshape(shape)


def vector(*elements):
    return np.array(elements)


def mask(shape, ones_and_zeros):
    return np.array([digit == "1" for digit in ones_and_zeros]).reshape(shape)


def computed(*ends):
    return slice(*(None if end is None else given(np.int64(end)) for end in ends))


def place(index):
    return given(index) if isinstance(index, np.ndarray) else index


def row(name, shape, index, y_shape=None, values=False):
    """The lines of a PartCase (tests/compiler/suites/parts.h)."""
    x = given(spread(*shape))
    part = x[tuple(place(i) for i in index)]
    outputs = [part, grad((part ** 2).sum(), x)]
    if y_shape is not None:
        y = given(positive(*y_shape))
        for op in (set_subtensor, inc_subtensor):
            outputs.append(op(part, y).reshape(shape))  # PyTensor leaves new axes of the index in the result
            if not values:
                outputs += grad((outputs[-1] ** 2).sum(), [x, y])
    s.case(name, *outputs)


s.group = "mixed"
M = array((2, 2), 0, 1, 3, 2)
four = (2, 3, 4, 3)
A = "TestAdvancedSubtensor."
row(A + "test_adv_subtensor_w_int_and_matrix[writes]", four, [0, ALL, M, ALL], (2, 2, 3, 3))
row(A + "test_adv_subtensor_w_none_and_matrix[writes]", four, [ALL, NEW, ALL, M, ALL], (2, 2, 3))
row(A + "test_adv_subtensor_w_slice_and_matrix[writes]", four, [ALL, slice(0, 1), M, ALL], (2, 1, 2, 2, 3))
row(A + "test_adv_subtensor_w_matrix_and_int[writes]", four, [ALL, ALL, M, 0], (3, 2, 2))
row(A + "test_adv_subtensor_w_matrix_and_none[writes]", four, [ALL, ALL, M, NEW, ALL], (1, 3))
for k, (shape, index) in enumerate([((4, 5), [2, 3]), ((2, 4, 3), [0, 3]), ((2, 4, 3), [3, 3, 1, 1, 2, 2, 0, 0]),
                                    ((2, 4, 3), [3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4]),
                                    ((3, 4, 2, 2), [3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4])]):
    row(A + f"test_index_w_int_and_vec[direct,{k}]", shape, [0, np.array(index)])
ROWS = [([0, vector(1, 3, 2), 1], (3, 2)), ([vector(1, 2, 3)], (3, 4, 2, 2)),
        ([vector(0, 1, 2), 0, vector(0, 1, 0)], (3, 2)),
        ([array((2, 2), 0, 1, 2, 3), array((2, 2), 0, 1, 2, 3)], (2, 2, 2, 2))]
for k, (index, y_shape) in enumerate(ROWS):
    for dropped in range(len(y_shape) + 1):
        row(A + f"test_advinc_subtensor[{k},{dropped}]", (4, 4, 2, 2), index, y_shape[dropped:], dropped > 0)
row(A + "test_adv_grouped[two]", (3, 7, 4),
    [ALL, array((3, 4), 6, 0, 3, 1, 5, 2, 2, 4, 0, 0, 6, 3), vector(0, 1, 2, 3)],
    (3, 4), True)
row(A + "test_grad[numbers]", (5, 5), [vector(1, 3), vector(2, 4)], (2,))
row(A + "test_grad[mask]", (2, 2), [mask((2, 2), "1001")], (2,))
row(A + "test_grad[row]", (1, 3), [vector(0, 0), vector(2, 1)], (2,))
row(A + "test_adv_sub_3d[writes]", (3, 2, 2), [array((2, 2), 0, 1, 0, 2), array((2, 1), 0, 1), array((1, 2), 0, 1)],
    (2, 2))
row(A + "test_adv_sub_slice[computed]", (3, 3), [computed(1, 3)], (2, 3))
I = "TestInferShape."
for k, (index, y_shape) in enumerate([([slice(2, 4)], (1, 4)), ([2], (4,)), ([2, 3], ()), ([slice(1, 3), 2], ())]):
    row(I + f"test_IncSubtensor[matrix,{k}]", (5, 4), index, y_shape, k > 0)
for k, (index, y_shape) in enumerate([([ALL, slice(2, 4), ALL, ALL], (1, 1, 1, 5)), ([2, slice(2, 4), 1], (1, 5)),
                                      ([0, 1, ALL, 4], (2,)), ([slice(1, 3), 1, ALL, slice(2, 4)], ())]):
    row(I + f"test_IncSubtensor[tensor4,{k}]", (3, 4, 2, 5), index, y_shape, k > 1)
for k, (index, y_shape) in enumerate([((2, 3), (1, 4)), ((1, 3, 2), (4,)), ((0, 3, 0), ()), ((2, 3), (2, 4))]):
    row(I + f"test_AdvancedIncSubtensor1[matrix,{k}]", (5, 4), [vector(*index)], y_shape, k > 0)
for k, (index, y_shape) in enumerate([((2, 3), (1, 1, 1, 3)), ((1, 3, 2), (3,)), ((0, 3, 0), ()),
                                      ((2, 3), (2, 1, 1, 3)), ((1, 2, 1), (3,))]):
    row(I + f"test_AdvancedIncSubtensor1[tensor4,{k}]", (4, 2, 2, 3), [vector(*index)], y_shape, True)
row(I + "test_AdvancedIncSubtensor", (5, 4), [vector(1, 3, 2), vector(0, 3, 3)], (3,))
row(I + "test_AdvancedSubtensor[0]", (5, 4), [vector(1, 3, 2), vector(0, 3, 3)])
row(I + "test_AdvancedSubtensor[1]", (5, 4), [vector(1, 3, 2), slice(1, 3)], (3, 2))
row(I + "test_AdvancedSubtensor[2]", (5, 4), [slice(1, 3), vector(1, 3, 2)], (2, 3))
row(I + "test_AdvancedSubtensor_bool[both]", (2, 3), [mask(2, "11"), mask(3, "101")], (2,))
row(I + "test_AdvancedSubtensor_bool[rows]", (2, 3), [mask(2, "01")], (1, 3))
row(I + "test_AdvancedSubtensor_bool[columns]", (2, 3), [ALL, mask(3, "101")], (2, 2))
row(I + "test_AdvancedSubtensor_bool[none,1:]", (2, 3), [mask(2, "00"), slice(1, None)], (2,))
row(I + "test_AdvancedSubtensor_bool[all,0]", (2, 3), [mask(2, "11"), 0], (2,))
row(I + "test_AdvancedSubtensor_bool[whole]", (2, 3), [mask((2, 3), "011010")], (3,))
row(I + "test_AdvancedSubtensor_bool[None,whole,None]", (2, 3), [NEW, mask((2, 3), "011010"), NEW], (3, 1))
row(I + "test_AdvancedSubtensor_bool[5:,columns]", (2, 3), [slice(5, None), mask(3, "011")], (1,))
x = given(spread(3, 4))
part = x[~pt.isinf(1 / x)]
s.case(I + "test_AdvancedSubtensor_bool[isinf]", part, grad((part ** 2).sum(), x))
five = (3, 2, 3, 3, 2)
PAIR = mask((2, 3), "010101")
row(I + "test_AdvancedSubtensor_bool_mixed[0]", five, [slice(1, None), PAIR, 0, slice(1, None)], (2, 3, 1))
row(I + "test_AdvancedSubtensor_bool_mixed[1]", five, [slice(1, None), PAIR, slice(1, None), 0], (3, 2, 2))
row(I + "test_AdvancedSubtensor_bool_mixed[2]", five,
    [slice(1, None), mask(2, "11"), slice(1, None), NEW, array((4, 1), 0, 2, 1, 0)], (2, 1, 2), True)
row(I + "test_advanced_subtensor_constant_slice", (4, 5),
    [slice(1, None), array((2, 3), 0, 4, 1, 3, 2, 0)], (2, 3), True)
open_mesh = [array((2, 1, 1), 0, 1), array((1, 1, 1), 0), array((1, 1, 2), 0, 1)]
for k, (shape, index) in enumerate([
        ((3, 2, 2), [ALL]), ((3, 2, 2), [2]), ((3, 2, 2), open_mesh[:1]), ((3, 2, 2), open_mesh[:2]),
        ((3, 2, 2), open_mesh[:2] + [ALL]), ((3, 2, 2), [ALL] + open_mesh[:1]),
        ((3, 2, 2), [ALL, NEW] + open_mesh[1:2]),
        ((3, 2, 2), [array((), 1), ALL, NEW]), ((3, 2, 2), [ALL, NEW, array((), 1)]),
        ((3, 2, 2), open_mesh[:1] + [ALL] + open_mesh[1:2]),
        ((3, 2, 2, 2), open_mesh[:1] + [ALL] + open_mesh[1:2] + [ALL]),
        ((3, 2, 2), open_mesh[:1] + [NEW] + open_mesh[1:2]), ((5, 4), [vector(1, 3, 2), slice(1, 3)]),
        ((5, 4), [slice(1, 3), vector(1, 3, 2)]), ((3, 4, 2), [ALL, vector(1, 2, 3), ALL])]):
    row(f"test_indexed_result_shape[{k}]", shape, index, (), True)
for k, index in enumerate([[slice(2, 4)], [slice(2, None)], [slice(1, 4)], [slice(2, 2)], [slice(1, 10)],
                           [slice(1, 10, 2)], [slice(-1, 4)], [slice(-6, 4)], [slice(1, -2)], [slice(1, -1)]]):
    ends = [index[0].start, index[0].stop, index[0].step]
    row(f"test_get_vector_length[computed,{k}]", (4,), [computed(*ends)], (), k > 0)
row("test_subtensor_static_shapes[2]", (13,), [slice(-1, None)], (1,))
row("test_subtensor_static_shapes[3]", (5, 7), [slice(None, None, 2), slice(-1, 1, -1)], (3, 5))
row("test_subtensor_static_shapes[3,computed]", (5, 7), [computed(None, None, 2), computed(-1, 1, -1)], (3, 5))

s.group = "parts"
T = "TestSubtensor."
row(T + "test_boolean[0th,columns]", (2, 3), [vector(0), mask(3, "101")], (2,))
row(T + "test_boolean[0,columns]", (2, 3), [0, mask(3, "101")], (2,))
row(T + "test_boolean[1:,columns,None]", (2, 3), [slice(1, None), mask(3, "101"), NEW], (1, 2, 1))
row(T + "test_boolean[None,1:,columns]", (2, 3), [NEW, slice(1, None), mask(3, "101")], (2,))
pair = mask((2, 3), "000111")
for name, index, y_shape in [("", [], (3, 4, 2)), (",1", [..., 1], (4,)), (",0,1", [..., 0, 1], (3,)),
                             (",1:", [slice(1, None)], (3, 3, 2)), (",None", [NEW], (4, 2))]:
    row(T + f"test_boolean[four{name},direct]", (2, 3, 4, 2), [pair] + index, y_shape)
row(T + "test_boolean[:,three]", (3, 2, 3, 4), [ALL, mask((2, 3), "110010"), vector(0, 2, 1)], (3, 3))
row(T + "test_boolean[0d,mask]", (3, 4), [1, mask(4, "0110")], ())
n = count(2, 3)
for op in (set_subtensor, inc_subtensor):
    x = given(n)
    s.case(T + f"test_boolean[condition,{op.__name__[:3]}]", op(x[x > 2], 1), op(x[x > 2], x[x > 2] * 2),
           grad((op(x[x > 2], x[x > 2] * 2) ** 2).sum(), x))
    s.case(T + f"test_boolean[conditions,{op.__name__[:3]}]", op(x[x[:, 0] > 2, x[0] > 1], 5),
           op(x[x[:, 0] > 2][:, 1:], 7))
for k, index in enumerate([[...], [..., 1], [1, ...], [..., 1, 2, 1], [1, ..., 2, 1], [1, 2, 1, ...],
                           [..., vector(0, 2, 1)], [NEW, ...], [..., NEW, vector(1, 2)]]):
    row(T + f"test_ellipsis[{k},direct]", (2, 3, 3), index, None if k == 7 else ())
for k, index in enumerate([[NEW, ALL, ALL, ALL], [ALL, NEW, ALL, ALL], [ALL, ALL, NEW, ALL], [ALL, ALL, ALL, NEW]]):
    row(T + f"test_newaxis[{k},direct]", (2, 3, 2), index)
row(T + "test_newaxis[number]", (), [NEW])
row(T + "test_newaxis[between]", (2, 3), [NEW, 1, NEW, slice(None, None, -1), NEW])
row(T + "test_slice_symbol[computed]", (5, 4), [computed(None, 1), NEW, ALL])
row(T + "test_ok_strided[computed]", (5,), [computed(1, 4, 2)], (2,))
row(T + "test_ok_range_finite[computed,back]", (5, 3), [computed(4, 0, -2), 1], (2,))
row(T + "test_ok_rows_finite[computed]", (4, 3), [computed(1, 3), computed(None, None, -1)], (2, 3))
row(T + "test_grad_2d_inc_set_subtensor[computed]", (3, 3), [computed(None, 2), computed(1, None)], (2, 2))
row("TestIncSubtensor.test_grad_inc_set[leading]", (1, 6), [ALL, slice(1, 3)], (2,))
row("TestIncSubtensor.test_simple_2d[computed]", (3, 4), [ALL, computed(None, 2)], ())
row("TestIncSubtensor.test_simple_3d[computed,element]", (3, 3, 4), [ALL, 2, computed(None, 2)], ())
row("TestIncSubtensor.test_simple_3d[computed,rows]", (3, 3, 4), [ALL, computed(None, 2)], ())
DATA = [(10,), (4, 3), (1, 2, 3), (4, 2, 3, 2)]
for data in DATA:
    index = vector(0) if data[0] == 1 else vector(3, 1)
    for dropped in range(len(data) + 1):
        y_shape = data[dropped:] if dropped else (len(index),) + data[1:]
        row(T + f"test_advanced1_inc_and_set[written,{len(data)},{dropped}]", data, [index], y_shape, dropped > 0)
row(T + "test_adv1_inc_sub_notlastdim[written]", (3, 5), [ALL, vector(1, 3, 0)], ())
row(T + "test_adv1_inc_sub_notlastdim_2didx[written]", (3, 7), [ALL, array((3, 2), 1, 3, 0, 2, 6, 4)], ())
for rank, index in ((1, vector(1, 3, 0)), (2, array((2, 2), 1, 3, 0, 4))):
    row(T + f"test_adv1_inc_sub_notlastdim_1_2dval_broadcast[written,{rank}]", (3, 5), [ALL, index], (3,) + (1,) * rank)
    row(T + f"test_adv1_inc_sub_notlastdim_1_2dval_no_broadcast[written,{rank}]", (3, 5), [ALL, index],
        (3,) + index.shape)
v, index = given(np.array([0.5, 0.75, 0.125])), given(vector(1, 2))
s.case("TestIncSubtensor1.test_1d_set_adv_selection", set_subtensor(v[index], v[index]))
x = given(spread(2))
part = set_subtensor(pt.zeros_like(x)[1:], pt.exp(x[1:]))
s.case("TestIncSubtensor.test_grad_broadcastable_specialization", grad(part.sum(), x))
for mode in ("clip", "wrap"):
    for k, index in enumerate([array((), 1), vector(0, 2, -1, 7, -9), array((2, 2), 0, 11, -2, 2)]):
        for axis in (0, 1, 2, -1, None):
            if axis is None or k < 2 or axis == 1:
                s.values(f"TestTake.test_take[{mode},{k},{axis}]", np.take(count(3, 4, 5), index, axis, mode=mode))

s.group = "computed"
ENDS = [-8, -4, -1, 0, 2, 5]
FORMS = {"all_symbolic": (True, True), "start_None": (False, True), "stop_None": (True, False),
         "start_stop_None": (False, False)}
for name, (has_start, has_stop) in FORMS.items():
    for step in [-6, -3, -1, 2, 5]:
        parts = [np.arange(5.0)[start:stop:step] for start in (ENDS if has_start else [None])
                 for stop in (ENDS if has_stop else [None])]
        s.values(f"TestGetCanonicalFormSlice.test_{name}[computed,{step}]", np.concatenate(parts))

s.group = "batched"
x, starts = spread(4, 3, 2), np.array([0, 2, 1, 2])
s.values("test_vectorize_subtensor_without_batch_indices[x]", np.stack([each[1] for each in x]))
s.values("test_vectorize_subtensor_without_batch_indices[x,start]", np.stack([each[i] for each, i in zip(x, starts)]))
pairs = np.array([[0, 2], [1, 1], [2, 0], [-1, 1]])
x4, x5 = spread(4, 2, 3, 2), spread(4, 2, 3, 3, 2)
s.values("test_vectorize_adv_subtensor[core]", spread(2, 3, 2)[:, pairs[0]])
s.values("test_vectorize_adv_subtensor[x,:,idx]", x4[:, :, pairs[0]])
s.values("test_vectorize_adv_subtensor[x,idx,None]", x4[:, pairs[1]][:, :, None])
s.values("test_vectorize_adv_subtensor[x,:,idx,None]", x4[:, :, pairs[0]][:, :, :, None])
s.values("test_vectorize_adv_subtensor[x,:,idx,idx]", x5[:, :, pairs[0], pairs[0]])
s.values("test_vectorize_adv_subtensor[x,:,idx,:,idx]",
         np.stack([each[:, pairs[0], :, pairs[0]] for each in spread(4, 2, 3, 2, 3)]))
s.values("test_vectorize_adv_subtensor[idx]", np.stack([spread(3)[i] for i in pairs]))
s.values("test_vectorize_adv_subtensor[x,idx]", np.stack([each[i] for each, i in zip(spread(4, 3), pairs)]))
s.values("test_vectorize_adv_subtensor[x,:,idx,both]", np.stack([each[:, i] for each, i in zip(x4, pairs)]))

s.write()
