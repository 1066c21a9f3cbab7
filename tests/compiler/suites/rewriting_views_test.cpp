// After PyTensor's tests/tensor/rewriting: reductions, views, parts, joins and branches of elements.
#include <gtest/gtest.h>

#include "tests/compiler/suites/rewriting.h"

namespace thtrain::rewriting_suite {
namespace {

using O = const Operands&;

TEST(RewritingSuite, Reductions) {
  expect_rewritten(
      "reductions",
      {
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[sum,0]", [](O o) { return Expr(sum(3 * o.x)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[sum,1]", [](O o) { return Expr(sum(o.x * o.t)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[sum,2]", [](O o) { return Expr(sum(-o.x)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[sum,3]", [](O o) { return Expr(sum(o.x / 2)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[sum,4]", [](O o) { return Expr(sum(o.a * o.t, 0)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[sum,5]", [](O o) { return Expr(sum(o.a * o.x, 1)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[sum,6]", [](O o) { return Expr(sum(o.t * o.x * 2)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[sum,0]",
           [](O o) {
             return Expr(sum(o.a, {0, 1}));
           }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[sum,1]", [](O o) { return Expr(sum(sum(o.cube, 0), 0)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[sum,2]", [](O o) { return Expr(sum(sum(o.cube, 2), 0)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[sum,3]",
           [](O o) {
             return Expr(sum(sum(o.cube, {0, 1})));
           }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[sum,4]",
           [](O o) { return Expr(sum(sum(sum(o.cube, 2), 1), 0)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[sum,5]", [](O o) { return Expr(sum(sum(o.cube))); }},
          {"TestLocalSumProd.test_local_sum_prod_alloc[sum,0]", [](O o) { return Expr(sum(zeros_like(o.cube), 0)); }},
          {"TestLocalSumProd.test_local_sum_prod_alloc[sum,1]", [](O o) { return Expr(sum(ones_like(o.cube), 1)); }},
          {"TestLocalSumProd.test_local_sum_prod_alloc[sum,2]",
           [](O o) {
             return Expr(sum(2 * ones_like(o.a), {0, 1}));
           }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[prod,0]", [](O o) { return Expr(prod(3 * o.x)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[prod,1]", [](O o) { return Expr(prod(o.x * o.t)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[prod,2]", [](O o) { return Expr(prod(-o.x)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[prod,3]", [](O o) { return Expr(prod(o.x / 2)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[prod,4]", [](O o) { return Expr(prod(o.a * o.t, 0)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[prod,5]", [](O o) { return Expr(prod(o.a * o.x, 1)); }},
          {"TestLocalSumProd.test_local_sum_prod_mul_by_scalar[prod,6]", [](O o) { return Expr(prod(o.t * o.x * 2)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[prod,0]",
           [](O o) {
             return Expr(prod(o.a, {0, 1}));
           }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[prod,1]", [](O o) { return Expr(prod(prod(o.cube, 0), 0)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[prod,2]", [](O o) { return Expr(prod(prod(o.cube, 2), 0)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[prod,3]",
           [](O o) {
             return Expr(prod(prod(o.cube, {0, 1})));
           }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[prod,4]",
           [](O o) { return Expr(prod(prod(prod(o.cube, 2), 1), 0)); }},
          {"TestLocalSumProd.test_local_sum_sum_prod_prod[prod,5]", [](O o) { return Expr(prod(prod(o.cube))); }},
          {"TestLocalSumProd.test_local_sum_prod_alloc[prod,0]", [](O o) { return Expr(prod(zeros_like(o.cube), 0)); }},
          {"TestLocalSumProd.test_local_sum_prod_alloc[prod,1]", [](O o) { return Expr(prod(ones_like(o.cube), 1)); }},
          {"TestLocalSumProd.test_local_sum_prod_alloc[prod,2]",
           [](O o) {
             return Expr(prod(2 * ones_like(o.a), {0, 1}));
           }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[0]", [](O o) { return Expr(sum(o.a.T())); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[1]", [](O o) { return Expr(max(o.a.T())); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[2]", [](O o) { return Expr(sum(o.a.T(), 0)); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[3]", [](O o) { return Expr(max(o.a.T(), 1)); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[4]", [](O o) { return Expr(sum(-o.a)); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[5]", [](O o) { return Expr(max(-o.a)); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[6]", [](O o) { return Expr(min(-o.a, 0)); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[7]", [](O o) { return Expr(sum(o.a / o.x, 0)); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[8]", [](O o) { return Expr(sum(o.a / o.t)); }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[9]",
           [](O o) {
             return Expr(sum(dimshuffle(o.a, {0, -1, 1}), 1));
           }},
          {"TestLocalReduce.test_local_reduce_broadcast_some_0[10]",
           [](O o) {
             return Expr(sum(dimshuffle(o.a, {-1, 0, 1})));
           }},
          {"TestLocalReduce.test_local_reduce_join[0]",
           [](O o) {
             return Expr(sum(stack({o.x, o.y}), 0));
           }},
          {"TestLocalReduce.test_local_reduce_join[1]",
           [](O o) {
             return Expr(max(stack({o.x, o.y, o.z}), 0));
           }},
          {"TestLocalReduce.test_local_reduce_join[2]",
           [](O o) {
             return Expr(sum(join(0, {o.x, o.y})));
           }},
          {"TestLocalReduce.test_local_reduce_join[3]",
           [](O o) {
             return Expr(min(stack({o.x, 2 * o.y}), 0));
           }},
          {"TestLocalReduce.test_local_reduce_join[4]",
           [](O o) {
             return Expr(sum(stack({o.x, o.y}), 1));
           }},
      });
}

TEST(RewritingSuite, ViewsAndParts) {
  expect_rewritten(
      "views",
      {
          {"TestDimshuffleLift.test_double_transpose", [](O o) { return Expr(o.a.T().T()); }},
          {"TestDimshuffleLift.test_merge2",
           [](O o) {
             return Expr(dimshuffle(dimshuffle(o.a, {1, -1, 0}), {2, 0, -1, 1}));
           }},
          {"TestDimshuffleLift.test_elim3",
           [](O o) {
             return Expr(dimshuffle(dimshuffle(dimshuffle(o.cube, {0, -1, 1, 2}), {1, 0, 2, 3}), {1, 2, 3}));
           }},
          {"TestDimshuffleLift.test_lift", [](O o) { return Expr((o.a + exp(o.a)).T()); }},
          {"TestDimshuffleLift.test_recursive_lift",
           [](O o) {
             return Expr(dimshuffle((2 * o.a) + (3 * o.a + 1), {1, 0, -1}));
           }},
          {"TestDimshuffleLift.test_useless_dimshuffle",
           [](O o) {
             return Expr(dimshuffle(o.a, {0, 1}));
           }},
          {"TestLiftTransposeThroughDot.test_matrix_matrix", [](O o) { return Expr(dot(o.a, o.b).T()); }},
          {"TestLiftTransposeThroughDot.test_row_matrix",
           [](O o) {
             return Expr(dot(dimshuffle(o.x, {-1, 0}), o.b).T());
           }},
          {"TestLiftTransposeThroughDot.test_matrix_col",
           [](O o) {
             return Expr(dot(o.a, dimshuffle(o.x, {0, -1})).T());
           }},
          {"TestReshape.test_local_reshape",
           [](O o) {
             return Expr(reshape(reshape(o.cube, {6, 4}), {4, 6}));
           }},
          {"TestLocalReshapeToDimshuffle.test_basic[0]",
           [](O o) {
             return Expr(reshape(o.x, {1, 7, 1}));
           }},
          {"TestLocalUselessReshape.test_0", [](O o) { return Expr(reshape(o.x, {7})); }},
          {"TestLocalUselessReshape.test_m1",
           [](O o) {
             return Expr(reshape(o.a, {5, -1}));
           }},
          {"TestLocalReshapeLift.test_local_reshape_lift",
           [](O o) {
             return Expr(reshape(exp(o.cube), {2, 12}));
           }},
          {"test_local_flatten_lift", [](O o) { return Expr(flatten(exp(o.cube), 2)); }},
          {"test_local_join_1", [](O o) { return Expr(join(0, {o.a})); }},
          {"test_local_join_empty",
           [](O o) {
             return Expr(join(0, {o.x[Slice{.stop = 0}], o.y, o.z[Slice{.start = 7}]}));
           }},
          {"test_local_join_make_vector",
           [](O o) {
             return Expr(join(0, {stack({o.t, o.t}), stack({2 * o.t})}));
           }},
          {"test_local_subtensor_of_dot[0]", [](O o) { return Expr(dot(o.a, o.b)[2]); }},
          {"test_local_subtensor_of_dot[1]",
           [](O o) {
             return Expr(dot(o.a, o.b)[{Slice{.start = 1, .stop = 3}, 2}]);
           }},
          {"test_local_subtensor_of_dot[2]",
           [](O o) {
             return Expr(dot(o.a, o.b)[{all(), Slice{.start = 1}}]);
           }},
          {"TestLocalSubtensorLift.test_basic[0]", [](O o) { return Expr(exp(o.x)[2]); }},
          {"TestLocalSubtensorLift.test_basic_1", [](O o) { return Expr(exp(o.a)[0]); }},
          {"TestLocalSubtensorLift.test_basic_2",
           [](O o) { return Expr(exp(o.x + o.y)[Slice{.start = 1, .stop = 4}]); }},
          {"TestLocalSubtensorLift.test_basic_4",
           [](O o) {
             return Expr(exp(o.a * o.x)[{all(), 3}]);
           }},
          {"TestLocalSubtensorLift.test_basic_5", [](O o) { return Expr((o.a + o.t)[Slice{.step = 2}]); }},
          {"TestLocalSubtensorLift.test_basic_7", [](O o) { return Expr((exp(o.x)[Slice{.stop = 3}] + 1)[0]); }},
          {"TestLocalSubtensorMerge.test_const", [](O o) { return Expr(o.x[Slice{.start = 1}][-1]); }},
          {"TestLocalSubtensorMerge.test_const2", [](O o) { return Expr(o.x[Slice{.step = -1}][2]); }},
          {"TestLocalSubtensorMerge.test_const3", [](O o) { return Expr(o.x[Slice{.step = -1}][-3]); }},
          {"TestLocalSubtensorMerge.test_const4", [](O o) { return Expr(o.x[Slice{.start = 1}][Slice{.start = 2}]); }},
          {"TestLocalSubtensorMerge.test_const5",
           [](O o) { return Expr(o.x[Slice{.start = 1, .stop = 6}][Slice{.stop = -1}]); }},
          {"TestLocalSubtensorMerge.test_const6", [](O o) { return Expr(o.x[Slice{.step = -1}][Slice{.step = -2}]); }},
          {"TestLocalSubtensorMerge.test_const_general",
           [](O o) { return Expr(o.x[Slice{.start = 6, .stop = 0, .step = -2}][Slice{.start = 1, .stop = 3}]); }},
          {"TestLocalSubtensorMerge.test_none_slice",
           [](O o) {
             return Expr(o.a[{all(), Slice{.start = 1}}][{Slice{.start = 1}, all()}]);
           }},
          {"TestLocalSubtensorMakeVector.test_scalar_idx",
           [](O o) {
             return Expr(stack({o.t, 2 * o.t, 3 * o.t})[1]);
           }},
          {"TestLocalSubtensorMakeVector.test_slice_idx_stop",
           [](O o) {
             return Expr(stack({o.t, 2 * o.t, 3 * o.t})[Slice{.stop = 2}]);
           }},
          {"TestLocalSubtensorMakeVector.test_slice_idx_step",
           [](O o) {
             return Expr(stack({o.t, 2 * o.t, 3 * o.t})[Slice{.step = 2}]);
           }},
          {"TestLocalSubtensorMakeVector.test_AdvancedSubtensor1_idx",
           [](O o) {
             return Expr(take(stack({o.t, 2 * o.t, 3 * o.t}), make_constant(integers({0, 2}))));
           }},
          {"TestSubtensorIncSubtensor.test_basic", [](O o) { return Expr(set_subtensor(o.x[3], o.t)[3]); }},
          {"TestSubtensorIncSubtensor.test_multiple_idx",
           [](O o) {
             return Expr(set_subtensor(o.a[{Slice{.start = 2, .stop = 4}, 1}], o.t)[{Slice{.start = 2, .stop = 4}, 1}]);
           }},
          {"TestSubtensorIncSubtensor.test_not_applied", [](O o) { return Expr(set_subtensor(o.x[3], o.t)[2]); }},
          {"TestSubtensorIncSubtensor.test_fewer_dims", [](O o) { return Expr(set_subtensor(o.a[3], o.x)[3]); }},
          {"TestSubtensorIncSubtensor.test_broadcasted", [](O o) { return Expr(set_subtensor(o.a[3], o.t)[3]); }},
          {"TestAllocZero.test_setsubtensor_allocs0",
           [](O o) {
             return Expr(set_subtensor(zeros_like(o.x)[Slice{.stop = 3}], zeros_like(o.y)[Slice{.stop = 3}]));
           }},
          {"TestAllocZero.test_incsubtensor_allocs0",
           [](O o) { return Expr(inc_subtensor(o.x[Slice{.stop = 3}], zeros_like(o.y)[Slice{.stop = 3}])); }},
          {"TestAllocZero.test_incsubtensor_x_zeros",
           [](O o) { return Expr(inc_subtensor(zeros_like(o.x)[Slice{.stop = 3}], o.y[Slice{.stop = 3}])); }},
          {"TestAllocZero.test_advancedincsubtensor1_allocs0",
           [](O o) {
             return Expr(inc_subtensor(take(o.x, make_constant(integers({0, 1}))), 0.0));
           }},
          {"TestAllocZero.test_dot_allocs_0", [](O o) { return Expr(dot(zeros_like(o.a), o.b)); }},
          {"test_local_set_to_inc_subtensor",
           [](O o) {
             return Expr(set_subtensor(o.x[Slice{.stop = 3}], o.x[Slice{.stop = 3}] + o.y[Slice{.stop = 3}]));
           }},
          {"test_local_useless_inc_subtensor", [](O o) { return Expr(set_subtensor(o.x[Slice{.step = -1}], o.y)); }},
          {"test_local_useless_subtensor",
           [](O o) {
             return Expr(o.a[{Slice{.stop = 5}, Slice{.stop = 7}}]);
           }},
          {"test_local_useless_slice",
           [](O o) {
             return Expr(o.a[{Slice{.start = 0, .stop = 5, .step = 1}, Slice{.step = -1}}]);
           }},
          {"TestLocalUselessSwitch.test_const_0", [](O o) { return Expr(switch_(false, o.x, o.y)); }},
          {"TestLocalUselessSwitch.test_const_1", [](O o) { return Expr(switch_(true, o.x, o.y)); }},
          {"TestLocalUselessSwitch.test_left_is_right", [](O o) { return Expr(switch_(o.x > 1, o.y, o.y)); }},
          {"TestLocalSwitchSink.test_local_mul_switch_sink", [](O o) { return Expr(switch_(o.x > 1, o.y, 0) * o.z); }},
          {"TestLocalSwitchSink.test_local_div_switch_sink", [](O o) { return Expr(switch_(o.x > 1, o.y, 0) / o.z); }},
          {"TestLocalMergeSwitchSameCond.test_elemwise",
           [](O o) { return Expr(switch_(o.x > 1, o.y, o.z) + switch_(o.x > 1, o.z, o.y)); }},
          {"TestLocalUselessElemwiseComparison.test_inequality_with_self",
           [](O o) { return Expr((o.x < o.x) + (o.x <= o.x)); }},
          {"TestIntDivByOne.test1", [](O o) { return Expr(floor_div(o.i, 1)); }},
          {"TestUselessElemwise.test_eq", [](O o) { return Expr(eq(o.i, o.i)); }},
          {"TestUselessElemwise.test_neq", [](O o) { return Expr(neq(o.i, o.i)); }},
          {"TestCastCast.test_consecutive",
           [](O o) { return Expr(cast(cast(o.i, DType::kFloat64), DType::kFloat64)); }},
          {"TestCastCast.test_upcast", [](O o) { return Expr(cast(cast(o.i, DType::kInt64), DType::kFloat64)); }},
          {"test_assert_op_gradient", [](O o) { return Expr(grad(sum(check(o.x, true, "never")), o.x)); }},
      });
}

}  // namespace
}  // namespace thtrain::rewriting_suite
