// After PyTensor's tests/tensor/test_subtensor.py: elements that vectors of integers and masks name, and errors.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::subtensor_take_suite {
namespace {

using G = Given&;

Slice from_to(int64_t start, int64_t stop) {
  return {.start = start, .stop = stop};
}

Slice from(int64_t start) {
  return {.start = start};
}

Tensor integer_matrix(const std::vector<int64_t>& elements, const Shape& shape) {
  return Tensor::of(elements, shape);
}

const std::vector<int64_t> kTwice = {3, 3, 1, 1, 2, 2, 0, 0};
const std::vector<int64_t> kTwiceAndBack = {3, 3, 1, 1, 2, 2, 0, 0, -1, -2, -3, -4};

TEST(SubtensorSuite, Take) {
  std::vector<SuiteCase> cases = {
      {"TestSubtensor.test_ok_list[constant]",
       [](G g) {
         return take(g(spread({4, 2, 3})), make_constant(integers(kTwice)));
       }},
      {"TestSubtensor.test_noncontiguous_idx",
       [](G g) {
         return g(spread({4, 2, 3}))[g(integers({2, 2, 0, 0, 1, 1}))[Slice{.step = 2}]];
       }},
      {"TestSubtensor.test_adv_sub1_broadcast[1]",
       [](G g) {
         const Expr x = g(spread({1, 3})), t = x[g(integers({0}))];
         return All{t, grad(sum(t), x)};
       }},
      {"TestSubtensor.test_adv_sub1_broadcast[2]",
       [](G g) {
         const Expr x = g(spread({1, 3})), t = x[g(integers({0, 0}))];
         return All{t, grad(sum(t), x)};
       }},
      {"TestSubtensor.test_adv_sub1_idx_broadcast",
       [](G g) {
         const Expr x = g(Tensor::of(std::vector<double>(12, 5), {4, 3})), t = x[g(integers({0}))];
         return All{t, grad(sum(t), x)};
       }},
      {"TestSubtensor.test_adv1_inc_sub_notlastdim",
       [](G g) {
         return inc_subtensor(take(g(spread({5, 7})), g(integers({1, 3, 0, 3})), 1), 1);
       }},
      {"TestSubtensor.test_adv1_inc_sub_notlastdim_2didx",
       [](G g) {
         const Expr index = g(integer_matrix({1, 3, 0, 3, 6, 6, 2, 0}, {4, 2}));
         return inc_subtensor(take(g(spread({5, 7})), index, 1), 1);
       }},
      {"TestSubtensor.test_adv1_inc_sub_notlastdim_1_2dval_broadcast[1]",
       [](G g) {
         return inc_subtensor(take(g(spread({3, 5})), g(integers({1, 3, 0, 3})), 1), g(positive({3, 1})));
       }},
      {"TestSubtensor.test_adv1_inc_sub_notlastdim_1_2dval_no_broadcast[1]",
       [](G g) {
         return inc_subtensor(take(g(spread({3, 5})), g(integers({1, 3, 0, 3})), 1), g(positive({3, 4})));
       }},
      {"TestSubtensor.test_adv1_inc_sub_notlastdim_1_2dval_broadcast[2]",
       [](G g) {
         const Expr index = g(integer_matrix({1, 3, 0, 3, 4, 4, 2, 0}, {4, 2}));
         return inc_subtensor(take(g(spread({3, 5})), index, 1), g(positive({3, 1, 1})));
       }},
      {"TestSubtensor.test_adv1_inc_sub_notlastdim_1_2dval_no_broadcast[2]",
       [](G g) {
         const Expr index = g(integer_matrix({1, 3, 0, 3, 4, 4, 2, 0}, {4, 2}));
         return inc_subtensor(take(g(spread({3, 5})), index, 1), g(positive({3, 4, 2})));
       }},
      {"TestSubtensor.test_take",
       [](G g) {
         return take(g(spread({30, 4})), 0, -1);
       }},
      {"TestIncSubtensor1.test_index_into_vec_w_vec",
       [](G g) {
         return g(spread({3}))[g(integers({1, 2}))];
       }},
      {"TestIncSubtensor1.test_1d_inc_adv_selection",
       [](G g) {
         const Expr v = g(Tensor::vector({0.5, 0.75, 0.125})), i = g(integers({1, 2}));
         return inc_subtensor(v[i], v[i]);
       }},
      {"TestIncSubtensor1.test_1d_inc_adv_selection_w_broadcasting",
       [](G g) {
         return inc_subtensor(g(Tensor::vector({0.5, 0.75, 0.125}))[g(integers({1, 2}))], 3.0);
       }},
      {"TestIncSubtensor1.test_matrix_idx",
       [](G g) {
         const Expr m = g(spread({4, 10})), i = g(integer_matrix({1, 2, 3, 2}, {2, 2}));
         return inc_subtensor(take(m, i), take(m, i));
       }},
      {"TestIncSubtensor1.test_inc_bcastableidx",
       [](G g) {
         return inc_subtensor(take(g(spread({10, 5})), g(integers({0})), 1), g(positive({10, 1})));
       }},
  };
  const std::vector<std::pair<Shape, std::vector<int64_t>>> lists = {
      {{4}, {1, 0}},       {{4, 5}, {2, 3, -1}},       {{4, 2, 3}, {0, 3}},
      {{4, 2, 3}, kTwice}, {{4, 2, 3}, kTwiceAndBack}, {{4, 4, 2, 3}, kTwiceAndBack}};
  for (size_t k = 0; k < lists.size(); ++k)
    cases.push_back(made_case(str("TestSubtensor.test_ok_list[", k, "]"), [list = lists[k]](G g) {
      const Expr x = g(spread(list.first)), t = x[g(integers(list.second))];
      return All{t, grad(sum(sqr(t)), x)};
    }));
  for (const Shape& shape : {Shape{4}, Shape{4, 3}, Shape{4, 3, 2}})
    cases.push_back(made_case(str("TestSubtensor.test_grad_list[", shape.size(), "]"), [shape](G g) {
      std::vector<Operand> gradients;
      const auto add = [&](const std::vector<int64_t>& index) {
        const Expr x = g.known(positive(shape));
        gradients.push_back(grad(sum(exp(x[g(integers(index))])), x));
      };
      for (int64_t i = 0; i < 4; ++i) add({i});
      for (int64_t i = 0; i < 4; ++i)
        for (const int64_t j : {0, 2}) add({i, j, (i + 1) % 4});
      return All{stack(gradients)};
    }));
  const std::vector<std::pair<Shape, std::vector<int64_t>>> shapes = {
      {{4}, {1, 0}}, {{4, 2}, {2, 3}}, {{4, 2, 3}, {0, 3}}, {{4, 2, 3}, {3, 3, 1, 2, 2}}};
  for (size_t k = 0; k < shapes.size(); ++k)
    cases.push_back(made_case(str("TestSubtensor.test_shape_list[", k, "]"), [one = shapes[k]](G g) {
      const All lengths = shape(g(spread(one.first))[g(integers(one.second))]);
      return All{stack(std::vector<Operand>(lengths.begin(), lengths.end()))};
    }));
  const Tensor indices[] = {Tensor(int64_t{1}), integers({0, 2, -1}), integer_matrix({0, 1, 2, 2}, {2, 2})};
  for (size_t k = 0; k < 3; ++k) {
    for (const int64_t axis : {0, 1, 2, -1})
      cases.push_back(made_case(str("TestTake.test_take[", k, ",", axis, "]"), [index = indices[k], axis](G g) {
        return All{take(g(count({3, 4, 5})), g(index), axis)};
      }));
    cases.push_back(made_case(str("TestTake.test_take[", k, ",None]"), [index = indices[k]](G g) {
      return All{take(flatten(g(count({3, 4, 5}))), g(index))};
    }));
  }
  expect_suite("subtensor", "take", cases);
}

TEST(SubtensorSuite, Advanced) {
  std::vector<SuiteCase> cases = {
      {"TestAdvancedSubtensor.test_index_into_vec_w_vec",
       [](G g) {
         return g(spread({3}))[g(integers({1, 2, 1}))];
       }},
      {"TestAdvancedSubtensor.test_index_into_vec_w_matrix",
       [](G g) {
         return take(g(spread({3})), g(integer_matrix({1, 2, 0, 1}, {2, 2})));
       }},
      {"TestAdvancedSubtensor.test_index_into_mat_w_row",
       [](G g) {
         return take(g(spread({3, 2})), g(integer_matrix({1, 2}, {1, 2})));
       }},
      {"TestAdvancedSubtensor.test_inc_adv_subtensor_w_matrix",
       [](G g) {
         const Expr v = g(Tensor::vector({0.5, 0.75, 0.125})), i = g(integer_matrix({1, 2, 1, 2}, {2, 2}));
         return inc_subtensor(take(v, i), take(v, i));
       }},
      {"TestAdvancedSubtensor.test_adv_subtensor_w_int_and_matrix",
       [](G g) {
         const Expr i = g(integer_matrix({0, 1, 1, 0}, {2, 2}));
         return dimshuffle(take(g(spread({2, 3, 4, 5}))[0], i, 1), {1, 2, 0, 3});
       }},
      {"TestAdvancedSubtensor.test_adv_subtensor_w_none_and_matrix",
       [](G g) {
         const Expr i = g(integer_matrix({0, 1, 1, 0}, {2, 2}));
         return expand_dims(take(g(spread({2, 3, 4, 5})), i, 2), {1});
       }},
      {"TestAdvancedSubtensor.test_adv_subtensor_w_slice_and_matrix",
       [](G g) {
         const Expr i = g(integer_matrix({0, 1, 1, 0}, {2, 2}));
         return take(g(spread({2, 3, 4, 5}))[{all(), from_to(0, 1)}], i, 2);
       }},
      {"TestAdvancedSubtensor.test_adv_subtensor_w_matrix_and_int",
       [](G g) {
         const Expr i = g(integer_matrix({0, 1, 1, 0}, {2, 2}));
         return take(g(spread({2, 3, 4, 5}))[{all(), all(), all(), 0}], i, 2);
       }},
      {"TestAdvancedSubtensor.test_adv_subtensor_w_matrix_and_none",
       [](G g) {
         const Expr i = g(integer_matrix({0, 1, 1, 0}, {2, 2}));
         return expand_dims(take(g(spread({2, 3, 4, 5})), i, 2), {4});
       }},
      {"TestAdvancedSubtensor.test_inc_adv_subtensor_w_2vec",
       [](G g) {
         const Expr m = g(spread({3, 3})), i = g(integers({1, 2, 1})), j = g(integers({0, 1, 0}));
         return inc_subtensor(m[{i, j}], m[{i, j}]);
       }},
      {"TestAdvancedSubtensor.test_inc_adv_subtensor_with_broadcasting",
       [](G g) {
         const Expr m = g(spread({3, 3})), inc = g(number(2.125));
         const Expr a = inc_subtensor(m[{g(integers({1, 2, 1})), g(integers({0, 1, 0}))}], inc);
         return All{a, grad(sum(a), inc)};
       }},
      {"TestAdvancedSubtensor.test_inc_adv_subtensor1_with_broadcasting",
       [](G g) {
         const Expr inc = g(number(2.125)), a = inc_subtensor(g(spread({3, 3}))[g(integers({0, 1, 0}))], inc);
         return All{a, grad(sum(a), inc)};
       }},
      {"TestAdvancedSubtensor.test_inc_adv_subtensor_with_index_broadcasting",
       [](G g) {
         const Expr m = g(spread({3, 3})), i = g(integers({0, 2, 0}));
         return inc_subtensor(m[{i, g.known(integer_matrix({0, 1, 0, 2, 2, 2}, {2, 3}))}], 2.125);
       }},
      {"TestAdvancedSubtensor.test_advanced_indexing[matrix]",
       [](G g) {
         return g(spread({3, 3}))[stack({g(Tensor(int64_t{0})), g(Tensor(int64_t{1}))})];
       }},
      {"TestAdvancedSubtensor.test_advanced_indexing[tensor3]",
       [](G g) {
         const Expr i = g(Tensor(int64_t{0})), j = g(Tensor(int64_t{1})), k = g(Tensor(int64_t{2}));
         return take(g(spread({4, 2, 3})), stack({i, j, k}))[{all(), all(), Slice{.start = i, .stop = k}}];
       }},
      {"TestAdvancedSubtensor.test_adv_sub_3d",
       [](G g) {
         const Expr x = g(count({3, 2, 2})), b = make_constant(integer_matrix({0, 1, 0, 2}, {2, 2}));
         return x[{b, expand_dims(arange(2), {1}), arange(2)}];
       }},
      {"TestAdvancedSubtensor.test_advinc_subtensor[rows]",
       [](G g) {
         return inc_subtensor(g(count({9, 3, 2}))[g(integers({1, 2, 4, 8}))], g(count({4, 3, 2}, 1)));
       }},
      {"TestAdvancedSubtensor.test_advinc_subtensor[rows,broadcast]",
       [](G g) {
         return inc_subtensor(g(count({9, 3, 2}))[g(integers({1, 2, 4, 8}))], g(count({3, 2}, 1)));
       }},
      {"TestAdvancedSubtensor.test_advinc_subtensor[rows,number]",
       [](G g) {
         return inc_subtensor(g(count({9, 3, 2}))[g(integers({1, 2, 4, 8}))], g(number(1)));
       }},
      {"TestAdvancedSubtensor.test_grad[arange]",
       [](G g) {
         const Expr x = g(spread({4, 5})), t = pick_rows(x, g(integers({4, 0, -1, 2})));
         return All{t, grad(sum(sqr(t)), x)};
       }},
      {"TestAdvancedSubtensor.test_adv_grouped",
       [](G g) {
         return take(g(spread({3, 6, 4})), g(whole({5, 4})) % 3, 1);
       }},
  };
  const std::vector<std::pair<Shape, std::vector<int64_t>>> lists = {{{4, 5}, {2, 3}},
                                                                     {{2, 4, 3}, {0, 3}},
                                                                     {{2, 4, 3}, kTwice},
                                                                     {{2, 4, 3}, kTwiceAndBack},
                                                                     {{4, 4, 2, 3}, kTwiceAndBack}};
  for (size_t k = 0; k < lists.size(); ++k)
    cases.push_back(made_case(str("TestAdvancedSubtensor.test_index_w_int_and_vec[", k, "]"), [list = lists[k]](G g) {
      return All{g(spread(list.first))[0][g(integers(list.second))]};
    }));
  expect_suite("subtensor", "advanced", cases);
}

Expr two_rows(G g) {
  return g(count({2, 3}));
}

Expr first_row(G g) {
  return g(bools({2}, "10"));
}

Expr outer_columns(G g) {
  return g(bools({3}, "101"));
}

Expr columns_of(const Expr& x, const Expr& mask) {
  return masked(x.T(), mask).T();
}

Expr as_rows(const Expr& n4) {
  return reshape(n4, {6, 4, 2});
}

TEST(SubtensorSuite, Masks) {
  expect_suite(
      "subtensor", "masks",
      {
          {"TestSubtensor.test_boolean[rows]", [](G g) { return two_rows(g)[first_row(g)]; }},
          {"TestSubtensor.test_boolean[inc]", [](G g) { return inc_subtensor(two_rows(g)[first_row(g)], 1); }},
          {"TestSubtensor.test_boolean[inc_itself]",
           [](G g) {
             const Expr part = two_rows(g)[first_row(g)];
             return inc_subtensor(part, part);
           }},
          {"TestSubtensor.test_boolean[grad]",
           [](G g) {
             const Expr n = two_rows(g);
             return grad(sum(sqr(n[first_row(g)])), n);
           }},
          {"TestSubtensor.test_boolean[grad_inc]",
           [](G g) {
             const Expr n = two_rows(g);
             return grad(sum(sqr(inc_subtensor(n[first_row(g)], 1))), n);
           }},
          {"TestSubtensor.test_boolean[condition]",
           [](G g) {
             const Expr n = two_rows(g);
             return n[n > 2];
           }},
          {"TestSubtensor.test_boolean[row,mask]", [](G g) { return two_rows(g)[0][outer_columns(g)]; }},
          {"TestSubtensor.test_boolean[:,mask]", [](G g) { return columns_of(two_rows(g), outer_columns(g)); }},
          {"TestSubtensor.test_boolean[1:,mask]",
           [](G g) { return columns_of(two_rows(g)[from(1)], outer_columns(g)); }},
          {"TestSubtensor.test_boolean[:1,mask]",
           [](G g) { return columns_of(two_rows(g)[from_to(0, 1)], outer_columns(g)); }},
          {"TestSubtensor.test_boolean[1:,mask,newaxis]",
           [](G g) { return expand_dims(columns_of(two_rows(g)[from(1)], outer_columns(g)), {2}); }},
          {"TestSubtensor.test_boolean[newaxis,1:,mask]",
           [](G g) { return expand_dims(columns_of(two_rows(g)[from(1)], outer_columns(g)), {0}); }},
          {"TestSubtensor.test_boolean[inc,row,mask]",
           [](G g) {
             const Expr row = two_rows(g)[0];
             return set_subtensor(row, inc_subtensor(row[outer_columns(g)], 1));
           }},
          {"TestSubtensor.test_boolean[inc,:,mask]",
           [](G g) { return inc_subtensor(masked(two_rows(g).T(), outer_columns(g)), 1).T(); }},
          {"TestSubtensor.test_boolean[whole]",
           [](G g) {
             return two_rows(g)[g(bools({2, 3}, "101001"))];
           }},
          {"TestSubtensor.test_boolean[inc,whole]",
           [](G g) {
             return inc_subtensor(two_rows(g)[g(bools({2, 3}, "101001"))], 1);
           }},
          {"TestSubtensor.test_boolean[set,whole]",
           [](G g) {
             return set_subtensor(two_rows(g)[g(bools({2, 3}, "101001"))], g(Tensor::vector({9.0, 8.0, 7.0})));
           }},
          {"TestSubtensor.test_boolean[four]",
           [](G g) {
             return masked(as_rows(g(count({2, 3, 4, 2}))), flatten(two_rows(g) > 2));
           }},
          {"TestSubtensor.test_boolean[four,1]",
           [](G g) {
             return masked(as_rows(g(count({2, 3, 4, 2}))), flatten(two_rows(g) > 2))[{all(), all(), 1}];
           }},
          {"TestSubtensor.test_boolean[four,0,1]",
           [](G g) {
             return masked(as_rows(g(count({2, 3, 4, 2}))), flatten(two_rows(g) > 2))[{all(), 0, 1}];
           }},
          {"TestSubtensor.test_boolean[four,inc]",
           [](G g) {
             const Expr part = masked(as_rows(g(count({2, 3, 4, 2}))), flatten(two_rows(g) > 2));
             return reshape(inc_subtensor(part, 1), {2, 3, 4, 2});
           }},
          {"TestSubtensor.test_boolean[nonzero]",
           [](G g) {
             const Expr condition = two_rows(g) > 2;
             All out = nonzero(condition);
             out.push_back(flatnonzero(condition));
             return out;
           }},
      });
}

}  // namespace
}  // namespace thtrain::subtensor_take_suite
