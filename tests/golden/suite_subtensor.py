#!/usr/bin/env python3
"""Writes suite_subtensor.txt: what PyTensor reads and writes by indices, for
tests/compiler/suites/subtensor_*_test.cpp.

Run: python3 tests/golden/suite_subtensor.py, with PyTensor. The cases follow tests/tensor/test_subtensor.py and
test_inc_subtensor.py; they are written anew, with numbers of their own.
"""
import numpy as np
import pytensor.tensor as pt
from pytensor import grad
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor

from suite import Suite, count, given, positive, spread, whole

s = Suite(__file__)
ENDS = [-8, -5, -4, -1, 0, 1, 4, 5, 8]

s.group = "slices"
s.case("TestSubtensor.test_ok_range_finite", given(count(3))[0:2])
for i in (3, -1, -4):
    s.case(f"TestSubtensor.test_ok_range_finite_2[{i}]", given(count(3, 4))[0:2, i])
s.case("TestSubtensor.test_0_dims", given(np.float64(3)) * 1)
s.case("TestSubtensor.test_ok_elem", given(count(1, start=5))[0])
s.case("TestSubtensor.test_ok_range_infinite", given(count(3))[1:])
s.case("TestSubtensor.test_ok_strided", given(count(5))[1:4:2])
s.case("TestSubtensor.test_ok_elem_2", given(count(2, 3))[0, 2])
s.case("TestSubtensor.test_ok_row", given(count(2, 3))[1])
s.case("TestSubtensor.test_ok_col", given(count(2, 3))[:, 0])
s.case("TestSubtensor.test_ok_rows_finite", given(count(4, 3))[1:3, 0])
s.case("TestSubtensor.test_ok_cols_infinite", given(count(4, 3))[1, 2:])
s.case("TestSubtensor.test_ok_strided_2", given(count(4, 5))[1:4:2, 1:5:2])
s.case("TestSubtensor.test_ok_mat", given(count(2, 3, 4))[0, 0, 0])
s.case("TestSubtensor.test_long", given(count(12))[np.int64(1):np.int64(7):np.int64(2)])
x, y = given(count(5, 4)), given(count(1, 2, 3))
s.case("TestSubtensor.test_slice_symbol", x[:y.shape[0], None, :])
n = given(count(2, 3, 4))
for k, index in enumerate([np.index_exp[...], np.index_exp[..., 1], np.index_exp[1, ...], np.index_exp[..., 1, 2, 3],
                           np.index_exp[1, ..., 2, 3], np.index_exp[1, 2, 3, ...], np.index_exp[..., [0, 2, 3]],
                           np.index_exp[np.newaxis, ...], np.index_exp[..., np.newaxis, [1, 2]]]):
    if k != 5 and k != 3 and k != 4:
        s.case(f"TestSubtensor.test_ellipsis[{k}]", n[index])
    else:
        s.case(f"TestSubtensor.test_ellipsis[{k}]", given(count(2, 3, 4))[1, 2, 3])
for k, index in enumerate([np.index_exp[None, :, :, :], np.index_exp[:, None, :, :], np.index_exp[:, :, None, :],
                           np.index_exp[:, :, :, None]]):
    s.case(f"TestSubtensor.test_newaxis[{k}]", n[index])
s.case("TestSubtensor.test_newaxis[flat]", n.flatten()[None, :, None])
s.case("TestSubtensor.test_newaxis[scalar]", given(np.float64(-2))[None])
x = given(count(5))
for start in [None, -8, -5, -1, 0, 1, 5, 8]:
    s.values(f"TestSubtensor.test_shape_i_const[{start}]",
             [len(np.arange(5)[start:stop:step]) for stop in [None, -8, -5, -1, 0, 1, 5, 8]
              for step in [None, -3, -1, 2]])
for step in [-3, -1, 2, 5]:
    s.values(f"TestSubtensor.test_shape_i_scalar[{step}]",
             [len(np.arange(5)[start:stop:step]) for start in ENDS for stop in ENDS])
s.group = "canonical"
CANONICAL = {"all_symbolic": (True, True, True), "start_None": (False, True, True), "stop_None": (True, False, True),
             "step_None": (True, True, False), "start_stop_None": (False, False, True),
             "stop_step_None": (True, False, False), "start_step_None": (False, True, False)}
for name, (has_start, has_stop, has_step) in CANONICAL.items():
    for step in [-6, -3, -1, 2, 5] if has_step else [None]:
        parts = [np.arange(5.0)[start:stop:step] for start in (ENDS if has_start else [None])
                 for stop in (ENDS if has_stop else [None])]
        s.values(f"TestGetCanonicalFormSlice.test_{name}[{step}]", np.concatenate(parts))
s.group = "slices"
s.case("test_flip[0]", pt.flip(given(count(3, 4)), 0))
s.case("test_flip[1]", pt.flip(given(count(3, 4)), 1))
s.case("test_flip[all]", pt.flip(given(count(3, 4))))
s.case("test_slice_at_axis[0]", given(count(3, 4, 2))[1:2])
s.case("test_slice_at_axis[1]", given(count(3, 4, 2))[:, 1:3])
s.case("test_slice_at_axis[2]", given(count(3, 4, 2))[:, :, :1])
s.case("TestSubtensor.test_adv_sub_slice", given(count(3, 3))[1:3])
s.case("test_pprint_Subtensor[s]", given(count(6))[1:4], given(count(6, 6))[1:4:2, 3:])

s.group = "gradients"
x = given(positive(2, 3))
s.case("TestSubtensor.test_grad_1d", grad(pt.exp(x[0:, 0]).sum(), x))
s.case("TestSubtensor.test_grad_0d", grad(pt.exp(x[1, 0]).sum(), x))
for n_shape, m_shape in [((2, 3), (2, 2)), ((3, 2), (2, 2)), ((3, 2), (1, 2)), ((3, 2), (2,))]:
    for op in (inc_subtensor, set_subtensor):
        n, m = given(spread(*n_shape)), given(spread(*m_shape, seed=1))
        t = op(n[:2, :2], m)
        name = f"{op.__name__[:3]},{n_shape},{m_shape}".replace(" ", "")
        s.case(f"TestSubtensor.test_grad_2d_inc_set_subtensor[{name}]", t, *grad((t ** 2).sum(), [n, m]))
for k, (a, b, index) in enumerate([((6,), (2,), np.index_exp[2:4]), ((3, 2), (1, 2), np.index_exp[1:2, :]),
                                   ((3, 2), (), np.index_exp[2, 1])]):
    a, b = given(count(*a)), given(spread(*b, seed=2))
    s.case(f"TestSubtensor.test_grad_advanced_inc_subtensor[{k}]", *grad((a[index] + b).sum(), [a, b]))
for op in (inc_subtensor, set_subtensor):
    for k, (a, b, index) in enumerate([((6,), (2,), np.index_exp[2:4]), ((3, 2), (1, 2), np.index_exp[1:2, :]),
                                       ((3, 2), (), np.index_exp[2, 1]), ((3, 2), (), np.index_exp[2])]):
        a, b = given(count(*a)), given(spread(*b, seed=2))
        t = op(a[index], b)
        s.case(f"TestIncSubtensor.test_grad_inc_set[{op.__name__[:3]},{k}]", t, *grad((t ** 3).sum(), [a, b]))

s.group = "writes"
s.case("TestSubtensor.test_inc_and_set_subtensor", set_subtensor(given(np.ones((9, 9)))[1:, 1:], 0))
stop = given(np.int64(2))
for op in (set_subtensor, inc_subtensor):
    kind = op.__name__[:3]
    s.case(f"TestIncSubtensor.test_simple_2d[{kind}]", op(given(np.ones((5, 5)))[:, :stop], given(np.float64(2.25))))
    a = given(np.ones((5, 3, 4)))
    s.case(f"TestIncSubtensor.test_simple_3d[{kind},element]", op(a[:, 2, :stop], given(np.float64(2.25))))
    s.case(f"TestIncSubtensor.test_simple_3d[{kind},rows]", op(a[:, :stop], given(np.float64(2.25))))
    a, b = given(spread(3, 1)), given(spread(1, seed=3))
    s.case(f"TestIncSubtensor.test_wrong_broadcast[{kind},all]", op(a[:], b))
    s.case(f"TestIncSubtensor.test_wrong_broadcast[{kind},row]", op(a[0], b))
for data_shape in [(10,), (4, 5), (1, 2, 3), (4, 5, 6, 7)]:
    index = np.array([0, 0] if data_shape[0] == 1 else [3, 1, 3])
    for inc_shape in [data_shape[i:] for i in range(len(data_shape) + 1)] + [(1,)]:
        shape = (len(index),) + inc_shape[1:] if len(inc_shape) == len(data_shape) and inc_shape != (1,) else inc_shape
        x, y = count(*data_shape), positive(*shape)
        np.add.at(x, index, y)
        name = f"{data_shape},{inc_shape}".replace(" ", "")
        s.values(f"TestSubtensor.test_advanced1_inc_and_set[inc,{name}]", x)

s.group = "take"
for k, (shape, index) in enumerate([((4,), [1, 0]), ((4, 5), [2, 3, -1]), ((4, 2, 3), [0, 3]),
                                    ((4, 2, 3), [3, 3, 1, 1, 2, 2, 0, 0]),
                                    ((4, 2, 3), [3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4]),
                                    ((4, 4, 2, 3), [3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4])]):
    x = given(spread(*shape))
    t = x[given(np.array(index))]
    s.case(f"TestSubtensor.test_ok_list[{k}]", t, grad((t ** 2).sum(), x))
s.case("TestSubtensor.test_ok_list[constant]", given(spread(4, 2, 3))[pt.constant([3, 3, 1, 1, 2, 2, 0, 0])])
s.case("TestSubtensor.test_noncontiguous_idx", given(spread(4, 2, 3))[given(np.array([2, 2, 0, 0, 1, 1]))[::2]])
for index in ([0], [0, 0]):
    x = given(spread(1, 3))
    t = x[given(np.array(index))]
    s.case(f"TestSubtensor.test_adv_sub1_broadcast[{len(index)}]", t, grad(t.sum(), x))
x = given(np.full((4, 3), 5.0))
t = x[given(np.array([0]))]
s.case("TestSubtensor.test_adv_sub1_idx_broadcast", t, grad(t.sum(), x))
INDICES = [[i] for i in range(4)] + [[i, j, (i + 1) % 4] for i in range(4) for j in (0, 2)]
for shape in [(4,), (4, 3), (4, 3, 2)]:
    gradients = []
    for index in INDICES:
        x = given(positive(*shape))
        gradients.append(grad(pt.exp(x[given(np.array(index))]).sum(), x))
    s.case(f"TestSubtensor.test_grad_list[{len(shape)}]", pt.stack(gradients))
for k, (shape, index) in enumerate([((4,), [1, 0]), ((4, 2), [2, 3]), ((4, 2, 3), [0, 3]),
                                    ((4, 2, 3), [3, 3, 1, 2, 2])]):
    s.case(f"TestSubtensor.test_shape_list[{k}]", given(spread(*shape))[given(np.array(index))].shape)
for k, index in enumerate([[1, 3, 0, 3], [[1, 3], [0, 3], [6, 6], [2, 0]]]):
    x = given(spread(5, 7))
    s.case(f"TestSubtensor.test_adv1_inc_sub_notlastdim{['', '_2didx'][k]}",
           inc_subtensor(x[:, given(np.array(index))], 1))
for k, index in enumerate([[1, 3, 0, 3], [[1, 3], [0, 3], [4, 4], [2, 0]]]):
    index = np.array(index)
    for name, shape in [("broadcast", (3,) + (1,) * index.ndim), ("no_broadcast", (3,) + index.shape)]:
        x = given(spread(3, 5))
        s.case(f"TestSubtensor.test_adv1_inc_sub_notlastdim_1_2dval_{name}[{index.ndim}]",
               inc_subtensor(x[:, given(index)], given(positive(*shape))))
s.case("TestSubtensor.test_take", given(spread(30, 4)).take(0, axis=-1))
x = given(count(3, 4, 5))
for k, index in enumerate([np.array(1), np.array([0, 2, -1]), np.array([[0, 1], [2, 2]])]):
    for axis in (0, 1, 2, -1):
        s.case(f"TestTake.test_take[{k},{axis}]", pt.take(x, given(index), axis=axis))
    s.case(f"TestTake.test_take[{k},None]", pt.take(x, given(index)))
s.case("TestIncSubtensor1.test_index_into_vec_w_vec", given(spread(3))[given(np.array([1, 2]))])
v, index = given(np.array([0.5, 0.75, 0.125])), given(np.array([1, 2]))
s.case("TestIncSubtensor1.test_1d_inc_adv_selection", inc_subtensor(v[index], v[index]))
s.case("TestIncSubtensor1.test_1d_inc_adv_selection_w_broadcasting", inc_subtensor(v[index], 3.0))
m, index = given(spread(4, 10)), given(np.array([[1, 2], [3, 2]]))
s.case("TestIncSubtensor1.test_matrix_idx", inc_subtensor(m[index], m[index]))
s.case("TestIncSubtensor1.test_inc_bcastableidx", inc_subtensor(given(spread(10, 5))[:, [0]], given(positive(10, 1))))

s.group = "advanced"
s.case("TestAdvancedSubtensor.test_index_into_vec_w_vec", given(spread(3))[given(np.array([1, 2, 1]))])
s.case("TestAdvancedSubtensor.test_index_into_vec_w_matrix", given(spread(3))[given(np.array([[1, 2], [0, 1]]))])
s.case("TestAdvancedSubtensor.test_index_into_mat_w_row", given(spread(3, 2))[given(np.array([[1, 2]]))])
for k, (shape, index) in enumerate([((4, 5), [2, 3]), ((2, 4, 3), [0, 3]), ((2, 4, 3), [3, 3, 1, 1, 2, 2, 0, 0]),
                                    ((2, 4, 3), [3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4]),
                                    ((4, 4, 2, 3), [3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4])]):
    s.case(f"TestAdvancedSubtensor.test_index_w_int_and_vec[{k}]", given(spread(*shape))[0, given(np.array(index))])
v, index = given(np.array([0.5, 0.75, 0.125])), given(np.array([[1, 2], [1, 2]]))
s.case("TestAdvancedSubtensor.test_inc_adv_subtensor_w_matrix", inc_subtensor(v[index], v[index]))
f = given(spread(2, 3, 4, 5))
index = given(np.array([[0, 1], [1, 0]]))
s.case("TestAdvancedSubtensor.test_adv_subtensor_w_int_and_matrix", f[0, :, index, :])
s.case("TestAdvancedSubtensor.test_adv_subtensor_w_none_and_matrix", f[:, None, :, index, :])
s.case("TestAdvancedSubtensor.test_adv_subtensor_w_slice_and_matrix", f[:, 0:1, index, :])
s.case("TestAdvancedSubtensor.test_adv_subtensor_w_matrix_and_int", f[:, :, index, 0])
s.case("TestAdvancedSubtensor.test_adv_subtensor_w_matrix_and_none", f[:, :, index, None, :])
m = given(spread(3, 3))
i, j, inc = given(np.array([1, 2, 1])), given(np.array([0, 1, 0])), given(np.float64(2.125))
s.case("TestAdvancedSubtensor.test_inc_adv_subtensor_w_2vec", inc_subtensor(m[i, j], m[i, j]))
a = inc_subtensor(m[i, j], inc)
s.case("TestAdvancedSubtensor.test_inc_adv_subtensor_with_broadcasting", a, grad(a.sum(), inc))
a = inc_subtensor(m[given(np.array([0, 1, 0]))], inc)
s.case("TestAdvancedSubtensor.test_inc_adv_subtensor1_with_broadcasting", a, grad(a.sum(), inc))
s.case("TestAdvancedSubtensor.test_inc_adv_subtensor_with_index_broadcasting",
       inc_subtensor(m[given(np.array([0, 2, 0])), given(np.array([[0, 1, 0], [2, 2, 2]]))], 2.125))
i, j, k = (given(np.int64(value)) for value in (0, 1, 2))
s.case("TestAdvancedSubtensor.test_advanced_indexing[matrix]", given(spread(3, 3))[pt.stack([i, j]), :])
s.case("TestAdvancedSubtensor.test_advanced_indexing[tensor3]", given(spread(4, 2, 3))[pt.stack([i, j, k]), :, i:k])
s.case("TestAdvancedSubtensor.test_adv_sub_3d",
       given(count(3, 2, 2))[np.array([[0, 1], [0, 2]]), np.arange(2)[:, None], np.arange(2)[None, :]])
s.case("TestAdvancedSubtensor.test_advinc_subtensor[rows]",
       inc_subtensor(given(count(9, 3, 2))[given(np.array([1, 2, 4, 8]))], given(count(4, 3, 2, start=1))))
s.case("TestAdvancedSubtensor.test_advinc_subtensor[rows,broadcast]",
       inc_subtensor(given(count(9, 3, 2))[given(np.array([1, 2, 4, 8]))], given(count(3, 2, start=1))))
s.case("TestAdvancedSubtensor.test_advinc_subtensor[rows,number]",
       inc_subtensor(given(count(9, 3, 2))[given(np.array([1, 2, 4, 8]))], given(np.float64(1))))
x = given(spread(4, 5))
rows, columns = given(np.array([0, 1, 2, 3])), given(np.array([4, 0, -1, 2]))
t = x[pt.arange(4), columns]
s.case("TestAdvancedSubtensor.test_grad[arange]", t, grad((t ** 2).sum(), x))
s.case("TestAdvancedSubtensor.test_adv_grouped", given(spread(3, 6, 4))[:, given(whole(5, 4) % 3)])

s.group = "masks"
N, m2 = count(2, 3), np.array([True, False])
n = given(N)
mask = given(m2)
s.case("TestSubtensor.test_boolean[rows]", n[mask])
s.case("TestSubtensor.test_boolean[inc]", inc_subtensor(n[mask], 1))
s.case("TestSubtensor.test_boolean[inc_itself]", inc_subtensor(n[mask], n[mask]))
s.case("TestSubtensor.test_boolean[grad]", grad((n[mask] ** 2).sum(), n))
s.case("TestSubtensor.test_boolean[grad_inc]", grad((inc_subtensor(n[mask], 1) ** 2).sum(), n))
s.case("TestSubtensor.test_boolean[condition]", n[n > 2])
mask = given(np.array([True, False, True]))
s.case("TestSubtensor.test_boolean[row,mask]", n[0, mask])
s.case("TestSubtensor.test_boolean[:,mask]", n[:, mask])
s.case("TestSubtensor.test_boolean[1:,mask]", n[1:, mask])
s.case("TestSubtensor.test_boolean[:1,mask]", n[:1, mask])
s.case("TestSubtensor.test_boolean[1:,mask,newaxis]", n[1:, mask, None])
s.case("TestSubtensor.test_boolean[newaxis,1:,mask]", n[None, 1:, mask])
s.case("TestSubtensor.test_boolean[inc,row,mask]", inc_subtensor(n[0, mask], 1))
s.case("TestSubtensor.test_boolean[inc,:,mask]", inc_subtensor(n[:, mask], 1))
mask = given(np.array([[True, False, True], [False, False, True]]))
s.case("TestSubtensor.test_boolean[whole]", n[mask])
s.case("TestSubtensor.test_boolean[inc,whole]", inc_subtensor(n[mask], 1))
s.case("TestSubtensor.test_boolean[set,whole]", set_subtensor(n[mask], given(np.array([9.0, 8.0, 7.0]))))
n4 = given(count(2, 3, 4, 2))
s.case("TestSubtensor.test_boolean[four]", n4[n > 2])
s.case("TestSubtensor.test_boolean[four,1]", n4[n > 2, ..., 1])
s.case("TestSubtensor.test_boolean[four,0,1]", n4[n > 2, ..., 0, 1])
s.case("TestSubtensor.test_boolean[four,inc]", inc_subtensor(n4[n > 2], 1))
s.case("TestSubtensor.test_boolean[nonzero]", *pt.nonzero(n > 2), pt.flatnonzero(n > 2))

s.group = "errors"
x = given(count(3))
s.error("TestSubtensor.test_err_invalid", lambda: [given(np.ones(()))[0]])
s.error("TestSubtensor.test_err_bounds", lambda: [given(np.ones(3))[7]])
s.error("TestSubtensor.test_err_invalid_2", lambda: [given(np.ones(3))[0, 0]])
s.error("TestSubtensor.test_err_bounds0[0,-3]", lambda: [given(np.ones((2, 3)))[-3, 0]])
s.error("TestSubtensor.test_err_bounds0[0,2]", lambda: [given(np.ones((2, 3)))[2, 0]])
s.error("TestSubtensor.test_err_bounds1[0,3]", lambda: [given(np.ones((2, 3)))[0, 3]])
s.error("TestSubtensor.test_err_bounds1[0,-4]", lambda: [given(np.ones((2, 3)))[0, -4]])
s.error("TestSubtensor.test_err_invalid_list", lambda: [given(np.float64(5))[[0, 0]]])
for index in ([0, 4], [0, -3], [-10]):
    name = str(index).replace(" ", "")
    s.error(f"TestSubtensor.test_err_bound_list[{name}]", lambda i=index: [given(np.ones((2, 3)))[given(np.array(i))]])
    s.error(f"TestSubtensor.test_err_bound_list[inc,{name}]",
            lambda i=index: [inc_subtensor(given(np.ones((2, 3)))[given(np.array(i))], 1.0)])
s.error("TestSubtensor.test_adv_sub1_broadcast", lambda: [given(np.ones((1, 3)))[given(np.array([0, 1]))]])
s.error("TestSubtensor.test_wrong_exception_regression[start:stop]",
        lambda: [x[given(np.float64(1)):given(np.float64(2))]])
s.error("TestSubtensor.test_wrong_exception_regression[start:]", lambda: [x[given(np.float64(1)):]])
s.error("TestSubtensor.test_wrong_exception_regression[:stop]", lambda: [x[:given(np.float64(1))]])
s.error("TestSubtensor.test_boolean[long]", lambda: [given(N)[given(np.array([True, False, True]))]])
s.error("TestSubtensor.test_boolean[long,inc]",
        lambda: [inc_subtensor(given(N)[given(np.array([True, False, True]))], 1)])
s.error("TestSubtensor.test_boolean[wide]", lambda: [given(N)[given(np.ones((2, 4), bool))]])
s.error("TestSubtensor.test_boolean[short]", lambda: [pt.as_tensor(N)[np.array([True])]])
s.error("TestSubtensor.test_boolean[three]", lambda: [given(N)[given(np.ones((1, 2, 3), bool))]])
s.error("TestIncSubtensor1.test_cant_adv_idx_into_scalar", lambda: [given(np.int64(5))[given(np.array([0]))]])
s.error("TestIncSubtensor1.test_assigning_matrix_to_vector_selection",
        lambda: [inc_subtensor(given(spread(3))[given(np.array([1, 2]))], given(spread(2, 2)))])
for op in (set_subtensor, inc_subtensor):
    kind = op.__name__[:3]
    s.error(f"TestIncSubtensor.test_wrong_dims[{kind}]", lambda o=op: [o(given(spread(2, 3))[0], given(spread(3, 3)))])
    for n in (2, 3, 0):
        s.error(f"TestIncSubtensor.test_wrong_broadcast[{kind},{n}]",
                lambda o=op, k=n: [o(given(spread(3, 1))[0], given(spread(k)))])
s.error("TestSubtensor.test_err_invalid_2list_dtype", lambda: [given(np.ones((3, 3)))[[0.0, 0.0]]])

s.write()
