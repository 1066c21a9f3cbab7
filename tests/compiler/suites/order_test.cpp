// After PyTensor's tests/tensor/test_sort.py and test_extra_ops.py, Theano's Test_TopK, and NumPy's tests of sort,
// argsort, searchsorted and digitize.
//
// Not expressed: descending bins (test_reverse, test_right_open_reverse), complex numbers, axes that the graph
// computes; PyTensor's test_argsort_grad, whose gradients are 0, and tests of arguments' names.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/order_values.h"

namespace thtrain::order_suite {
namespace {

using G = Given&;
Shape sorted_shape(const Shape& shape, const Axis& axis) {
  return axis ? shape : Shape{count(shape).size()};
}

void add_sorts(std::vector<SuiteCase>& cases) {
  struct Row {
    const char* name;
    Shape shape;
    Axis axis;
    int64_t seed = 0;
  };
  const auto add = [&](const std::string& name, const Shape& shape, Axis axis, int64_t seed) {
    cases.push_back(made_case("TestSort." + name, [=](G g) {
      const Expr x = g(spread(shape, seed)), y = sort(x, axis);
      return All{y, weighed(x, y, sorted_shape(shape, axis))};
    }));
  };
  for (const Row& row : {Row{"test1", {3, 2}, -1}, Row{"test2[0]", {3, 2}, 0}, Row{"test2[1]", {3, 2}, 1},
                         Row{"test3", {4}, -1}, Row{"test_None", {3, 2}, {}}, Row{"test_grad_vector", {10}, -1},
                         Row{"test_grad_none_axis[0]", {10}, {}}, Row{"test_grad_none_axis[1]", {10}, 0},
                         Row{"test_grad_none_axis[2]", {2, 3}, {}}, Row{"test_grad_none_axis[3]", {2, 3, 4}, {}}})
    add(row.name, row.shape, row.axis, row.seed);
  const Shape longest = {2, 3, 4, 2};
  for (int64_t rank = 2; rank <= 4; ++rank)
    for (int64_t axis = -rank; axis < rank; ++axis)
      add(str("test_grad_", axis < 0 ? "negative" : "nonnegative", "_axis_", rank, "d[", axis, "]"),
          Shape(longest.begin(), longest.begin() + rank), axis, axis + 41);
  for (const auto& [k, axis] : {std::pair<int, Axis>{0, -1}, {1, {}}})
    cases.push_back(made_case(str("TestSortInferShape.test_sort[", k, "]"), [axis = axis](G g) {
      return All{sort(g(spread({4, 6})), axis)};
    }));
}

void add_argsorts(std::vector<SuiteCase>& cases) {
  for (const auto& [name, shape, axis] : {std::tuple<const char*, Shape, Axis>{"1", {3, 2}, -1},
                                          {"2,0", {3, 2}, 0},
                                          {"2,1", {3, 2}, 1},
                                          {"3", {4}, -1},
                                          {"6", {3, 2}, {}}})
    cases.push_back(made_case(str("test_argsort[", name, "]"),
                              [shape = shape, axis = axis](G g) { return All{argsort(g(spread(shape)), axis)}; }));
  cases.push_back({"test_parse_sort_args[stable]", [](G g) { return argsort(g(residues({3, 7}, 1, 3))); }});
  for (const DType dtype : {DType::kInt32, DType::kUInt32, DType::kFloat32})
    cases.push_back(made_case(str("TestMethods.test_argsort[", name_of(dtype), "]"), [dtype](G g) {
      return All{argsort(g(steps(0, 1, 60).cast(dtype))), argsort(g(steps(59, -1, 60).cast(dtype)))};
    }));
}

void add_methods(std::vector<SuiteCase>& cases) {
  cases.push_back(
      {"TestMethods.test_sort[nan]", [](G g) {
         return All{sort(g(numbers({kNan, 1, 0}))), sort(g(numbers({2, kNan, -kInf, kNan, kInf, 0}, DType::kFloat32)))};
       }});
  for (const DType dtype : kReals) {
    const bool is_unsigned = name_of(dtype)[0] == 'u';
    const int64_t first = is_unsigned ? 0 : -30;
    cases.push_back(
        made_case(str("TestMethods.test_sort_", is_unsigned ? "unsigned[" : "signed[", name_of(dtype), "]"), [=](G g) {
          Tensor rolled = whole({60});
          for (int64_t i = 0; i < 60; ++i) rolled.data<int64_t>()[i] = first + (i + 39) % 60;
          return All{sort(g(steps(first + 59, -1, 60).cast(dtype))), sort(g(rolled.cast(dtype)))};
        }));
  }
  cases.push_back({"TestMethods.test_sort_axis", [](G g) {
                     const Expr a = g(Tensor::of(std::vector<int64_t>{3, 2, 7, 1, 0, 5}, {2, 3}));
                     return All{sort(a, 0), sort(a, 1), sort(a)};
                   }});
  for (const Axis axis : {Axis(-4), Axis(-3), Axis(-2), Axis(-1), Axis(0), Axis(1), Axis(2), Axis(3), Axis()})
    cases.push_back(made_case(str("TestMethods.test_sort_size_0[", shown(axis), "]"), [axis](G g) {
      return All{sort(g(count({3, 2, 1, 0})), axis)};
    }));
  cases.push_back({"TestMethods.test_sort_degraded", [](G g) {
                     const Expr x = g(residues({90}, 1, 10));
                     return All{sort(x), argsort(x)};
                   }});
}

void add_topk(std::vector<SuiteCase>& cases) {
  for (const int64_t k : {1, 2, 5}) {
    cases.push_back(made_case(str("Test_TopK.test_topk_1d[", k, "]"), [k](G g) {
      const Expr x = g(spread({5}, 3)), y = topk(x, k);
      return All{y, topk(x, k, -1, Extreme::kSmallest), weighed(x, y, {k})};
    }));
    cases.push_back(made_case(str("Test_TopK.test_argtopk_1d[", k, "]"), [k](G g) {
      const Expr x = g(spread({5}, 3));
      return All{argtopk(x, k), argtopk(x, k, -1, Extreme::kSmallest)};
    }));
  }
  cases.push_back({"Test_TopK.test_argtopk_sanity", [](G g) { return argtopk(g(spread({1})), 1); }});
  cases.push_back({"Test_TopK.test_argtopk_1d_collision", [](G g) { return argtopk(g(residues({12}, 1, 4)), 5); }});
  for (const int64_t axis : {0, 1, 2, -1})
    cases.push_back(made_case(str("Test_TopK.test_argtopk_nd[", axis, "]"), [axis](G g) {
      const Expr x = g(spread({3, 4, 5}, 1));
      return All{argtopk(x, 2, axis), topk(x, 2, axis)};
    }));
}

TEST(OrderSuite, Sort) {
  std::vector<SuiteCase> cases;
  add_sorts(cases);
  add_argsorts(cases);
  add_methods(cases);
  add_topk(cases);
  expect_suite("order", "sort", cases);
}

All both_sides(const Expr& sorted, const Expr& values) {
  return {searchsorted(sorted, values), searchsorted(sorted, values, Side::kRight)};
}

Expr ordered(const Expr& x) {
  return take(x, argsort(x));
}

void add_searches(std::vector<SuiteCase>& cases) {
  const std::string op = "TestSearchsortedOp.", method = "TestMethods.test_searchsorted_";
  cases.push_back({op + "test_searchsortedOp_on_sorted_input[left]", [](G g) {
                     return searchsorted(sort(g(spread({20}))), g(positive({2, 3, 4})));
                   }});
  cases.push_back({op + "test_searchsortedOp_on_sorted_input[right]", [](G g) {
                     return searchsorted(sort(g(spread({20}))), g(positive({2, 3, 4})), Side::kRight);
                   }});
  cases.push_back({op + "test_searchsortedOp_on_int_sorter", [](G g) {
                     return searchsorted(ordered(g(spread({20}))), g(positive({2, 3, 4})));
                   }});
  cases.push_back({op + "test_infer_shape[side]", [](G g) {
                     const Expr ones = g(numbers(std::vector<double>(10, 1)));
                     return searchsorted(ones, g(Tensor::of(std::vector<double>(6, 1), {1, 2, 3})), Side::kRight);
                   }});
  for (const DType dtype : {DType::kFloat32, DType::kFloat64})
    cases.push_back(made_case(str(method, "floats[", name_of(dtype), "]"), [dtype](G g) {
      const Expr a = g(numbers({0, 1, kNan}, dtype));
      All out = both_sides(a, a);
      out.push_back(searchsorted(a, a[-1]));
      return out;
    }));
  for (const int64_t n : {0, 1, 2})
    cases.push_back(made_case(str(method, "n_elements[", n, "]"), [n](G g) {
      return both_sides(g(numbers(std::vector<double>(static_cast<size_t>(n), 1))), g(integers({0, 1, 2})));
    }));
  cases.push_back({method + "resetting", [](G g) { return both_sides(g(whole({5})), g(integers({6, 5, 4}))); }});
  cases.push_back({method + "unaligned_array", [](G g) {
                     const Expr a = g(whole({10}));
                     return both_sides(a, a);
                   }});
  std::vector<DType> dtypes = kReals;
  dtypes.push_back(DType::kBool);
  for (const DType dtype : dtypes)
    cases.push_back(made_case(str(method, "type_specific[", name_of(dtype), "]"), [dtype](G g) {
      const Expr a = g(whole({dtype == DType::kBool ? 2 : 5}).cast(dtype)), empty = g(whole({0}).cast(dtype));
      All out = both_sides(a, a);
      out.push_back(searchsorted(empty, a));
      out.push_back(searchsorted(a, empty));
      return out;
    }));
  cases.push_back({method + "with_sorter[0]", [](G g) {
                     return searchsorted(ordered(g(integers({5, 2, 1, 3, 4}))), g(integers({0, 1, 2, 3, 5, 6})));
                   }});
  cases.push_back({method + "with_sorter[1]",
                   [](G g) { return both_sides(ordered(g(residues({30}, 7, 11))), g(steps(-1, 1, 13))); }});
}

void add_bins(std::vector<SuiteCase>& cases) {
  const auto add = [&](const std::string& name, const Tensor& x, const Tensor& bins, Side closed) {
    cases.push_back(made_case("TestDigitize." + name, [=](G g) { return All{digitize(g(x), g(bins), closed)}; }));
  };
  const Tensor basic = integers({1, 5, 4, 10, 8, 11, 0}), line = steps(-6, 1, 11), even = evenly(-2.5, 2.5, 11);
  add("test_forward", line, steps(-5, 1, 10), Side::kLeft);
  add("test_random", spread({10}), even, Side::kLeft);
  add("test_right_basic[left]", basic, integers({1, 5, 10}), Side::kLeft);
  add("test_right_basic[right]", basic, integers({1, 5, 10}), Side::kRight);
  add("test_right_open", line, steps(-6, 1, 10), Side::kRight);
  add("test_right_open_random", spread({10}), even, Side::kRight);
  const std::vector<Tensor> bins = {integers({0, 0, 1}), integers({1, 1, 1, 1})};
  for (size_t k = 0; k < bins.size(); ++k)
    for (const Side side : {Side::kLeft, Side::kRight})
      add(str("test_monotonic[", k, side == Side::kLeft ? ",left]" : ",right]"), integers({-1, 0, 1, 2}), bins[k],
          side);
  const int64_t large = int64_t{1} << 54;
  add("test_large_integers_increasing", Tensor(large), integers({large - 1, large + 1}), Side::kLeft);
}

TEST(OrderSuite, Search) {
  std::vector<SuiteCase> cases;
  add_searches(cases);
  add_bins(cases);
  expect_suite("order", "search", cases);
}

TEST(OrderSuite, GoldenErrors) {
  expect_suite_errors(
      "order", "errors",
      {
          {"TestCumOp.test_cum_op[cumsum,3]",
           [](G g) {
             return All{cumsum(g(positive({3, 5, 2})), 3)};
           }},
          {"TestCumOp.test_cum_op[cumsum,-4]",
           [](G g) {
             return All{cumsum(g(positive({3, 5, 2})), -4)};
           }},
          {"TestCumOp.test_cum_op[cumprod,3]",
           [](G g) {
             return All{cumprod(g(positive({3, 5, 2})), 3)};
           }},
          {"TestCumOp.test_cum_op[cumprod,-4]",
           [](G g) {
             return All{cumprod(g(positive({3, 5, 2})), -4)};
           }},
          {"TestSearchsortedOp.test_searchsortedOp_on_no_1d_inp",
           [](G g) {
             return All{searchsorted(g(spread({2, 3})), g(spread({4})))};
           }},
          {"TestSort.test2[axis]",
           [](G g) {
             return All{sort(g(spread({3, 2})), 2)};
           }},
          {"TestBinCount.test_bincountFn[negative]",
           [](G g) {
             return All{bincount(g(integers({1, -1})))};
           }},
          {"TestBincount.test_with_incorrect_minlength", [](G g) { return All{bincount(g(integers({0})), {}, -1)}; }},
          {"TestDiff.test_n",
           [](G g) {
             return All{diff(g(integers({1, 2})), -1)};
           }},
          {"TestDiff.test_axis[3]",
           [](G g) {
             return All{diff(g(count({2, 3})), 1, 3)};
           }},
          {"TestDiff.test_axis[-4]",
           [](G g) {
             return All{diff(g(count({2, 3})), 1, -4)};
           }},
          {"TestDiff.test_axis[scalar]", [](G g) { return All{diff(g(number(1.5)))}; }},
          {"TestHistogram.test_one_bin",
           [](G g) {
             return All{histogram(g(integers({1, 2})), 0).counts};
           }},
          {"TestHistogram.test_arr_weights_mismatch",
           [](G g) { return All{histogram(g(whole({10})), 10, {.weights = g(whole({11}))}).counts}; }},
          {"TestHistogram.test_bin_array_dims",
           [](G g) {
             return All{histogram(g(spread({5})), g(positive({2, 2}))).counts};
           }},
          {"TestDigitize.test_casting_error",
           [](G g) { return All{digitize(g(whole({3}).cast(DType::kComplex128)), g(whole({3})))}; }},
          {"TestSqueeze.test_invalid_input", [](G g) { return All{squeeze(g(count({3})), {0})}; }},
          {"TestSqueeze.test_scalar_input", [](G g) { return All{squeeze(g(number(5)), {1})}; }},
          {"TestUnravelIndex.test_unravel_index[high]",
           [](G g) {
             return unravel_index(g(Tensor(int64_t{60})), {3, 4, 5});
           }},
          {"TestRavelMultiIndex.test_ravel_multi_index[raise]",
           [](G g) {
             return All{ravel_multi_index({g(integers({3})), g(integers({0}))}, {3, 4})};
           }},
          {"Test_TopK.test_argtopk_1d", [](G g) { return All{argtopk(g.known(spread({4})), 5)}; }},
      });
}

}  // namespace
}  // namespace thtrain::order_suite
