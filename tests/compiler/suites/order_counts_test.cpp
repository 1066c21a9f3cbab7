// After PyTensor's tests/tensor/test_extra_ops.py and NumPy's test_function_base.py, test_histograms.py and
// test_arraysetops.py: counts, unique elements, running sums, differences, repeated and chosen elements.
//
// Not expressed: weights that are complex, edges by a rule's name (bins="auto"), unique along an axis, equal_nan=False,
// diff with prepend and append, cumulative_sum with include_initial.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/order_values.h"

namespace thtrain::order_counts_suite {
namespace {

using G = Given&;

TEST(OrderSuite, Counts) {
  std::vector<SuiteCase> cases;
  for (const DType dtype : std::vector<DType>(kReals.begin(), kReals.begin() + 8))
    cases.push_back(made_case(str("TestBinCount.test_bincountFn[", name_of(dtype), "]"), [dtype](G g) {
      const Expr x = g(residues({25}, 7, 19).cast(dtype));
      return All{bincount(x), bincount(x, g(positive({25}))), bincount(x, {}, 30), bincount(x, {}, 5)};
    }));
  const std::string test = "TestBincount.test_";
  const std::vector<double> weights = {0.25, 0.5, 0.125, 1, 2};
  cases.push_back({test + "simple", [](G g) { return bincount(g(whole({4}))); }});
  cases.push_back({test + "simple2", [](G g) { return bincount(g(integers({1, 5, 2, 4, 1}))); }});
  cases.push_back({test + "simple_weight", [](G g) {
                     return bincount(g(whole({4})), g(numbers({0.25, 0.5, 0.125, 1})));
                   }});
  cases.push_back(made_case(test + "simple_weight2", [weights](G g) {
    return All{bincount(g(integers({1, 2, 4, 5, 2})), g(numbers(weights)))};
  }));
  cases.push_back({test + "with_minlength", [](G g) {
                     const Expr x = g(integers({0, 1, 0, 1, 1}));
                     return All{bincount(x, {}, 3), bincount(x, {}, 0)};
                   }});
  cases.push_back({test + "with_minlength_smaller_than_maxvalue", [](G g) {
                     return bincount(g(integers({0, 1, 1, 2, 2, 3, 3})), {}, 2);
                   }});
  cases.push_back(made_case(test + "with_minlength_and_weights", [weights](G g) {
    return All{bincount(g(integers({1, 2, 4, 5, 2})), g(numbers(weights)), 8)};
  }));
  cases.push_back({test + "empty", [](G g) { return bincount(g(integers({}))); }});
  cases.push_back({test + "empty_with_minlength", [](G g) { return bincount(g(integers({})), {}, 5); }});
  expect_suite("order", "counts", cases);
}

All both(const Histogram& one) {
  return {one.counts, one.edges};
}

/// Of x, in bins or between edges.
class Histograms {
 public:
  void bins(const std::string& name, const Tensor& x, int64_t count,
            std::optional<std::pair<double, double>> range = {}, const std::optional<Tensor>& weights = {},
            bool density = false) {
    add(name, [=](G g) { return histogram(g(x), count, options(g, range, weights, density)); });
  }
  void edges(const std::string& name, const Tensor& x, const Tensor& edges, const std::optional<Tensor>& weights = {},
             bool density = false) {
    add(name, [=](G g) { return histogram(g(x), g(edges), options(g, {}, weights, density)); });
  }

  std::vector<SuiteCase> cases;

 private:
  static HistogramOptions options(G g, const std::optional<std::pair<double, double>>& range,
                                  const std::optional<Tensor>& weights, bool density) {
    HistogramOptions out{.density = density};
    if (range) out.range = {Operand(range->first), Operand(range->second)};
    if (weights) out.weights = g(*weights);
    return out;
  }
  void add(const std::string& name, const std::function<Histogram(Given&)>& build) {
    cases.push_back(made_case("TestHistogram.test_" + name, [build](G g) { return both(build(g)); }));
  }
};

TEST(OrderSuite, Histograms) {
  Histograms h;
  std::vector<double> quarters, halves;
  for (int i = 0; i < 40; ++i) quarters.push_back(i / 4.0);
  for (int i = 0; i < 10; ++i) halves.push_back(i + 0.5);
  const Tensor half = numbers(halves), ten = whole({10}), uneven = integers({0, 1, 3, 6, 10});
  using Range = std::pair<double, double>;
  h.bins("simple", numbers(quarters), 10);
  h.edges("one_bin[edges]", integers({1, 2, 3, 4}), integers({1, 2}));
  h.bins("one_bin[count]", integers({1, 2}), 1);
  h.bins("density[even]", spread({30}), 10, {}, {}, true);
  h.edges("density[edges]", ten, uneven, {}, true);
  h.edges("density[False]", ten, uneven);
  h.edges("density[inf]", ten, numbers({0, 1, 3, 6, kInf}), {}, true);
  h.bins("outliers[lower]", half, 10, Range(0, 9));
  h.bins("outliers[upper]", half, 10, Range(1, 10));
  h.bins("outliers[density]", half, 10, Range(1, 9), {}, true);
  h.bins("outliers[weights,density]", half, 10, Range(1, 9), half, true);
  h.bins("outliers[weights]", half, 8, Range(1, 9), half);
  h.bins("weights[even]", spread({30}), 10, {}, numbers(std::vector<double>(30, 5)));
  h.edges("weights[edges]", evenly(0, 10, 10), whole({11}), positive({10}));
  h.bins("weights[density]", numbers({1, 2, 2, 4}), 4, {}, numbers({4, 3, 2, 1}), true);
  h.edges("weights[uneven]", whole({9}), uneven, numbers({2, 1, 1, 1, 1, 1, 1, 1, 1}), true);
  h.edges("empty", numbers({}), integers({0, 1}));
  h.bins("finite_range", evenly(0, 1, 50), 10, Range(0.25, 0.75));
  h.bins("bin_edge_cases", integers({337, 404, 739, 806, 1007, 1811, 2012}), 200, Range(2, 2280));
  h.bins("last_bin_inclusive_range", numbers({0, 0, 0, 1, 2, 3, 3, 4, 5}), 30, Range(-0.5, 5));
  h.bins("some_nan_values[one]", numbers({0, 1, kNan}), 2, Range(0, 1));
  h.bins("some_nan_values[all]", numbers({kNan, kNan}), 2, Range(0, 1));
  h.edges("some_nan_values[edges]", numbers({0, 1, kNan}), integers({0, 1}));
  for (const auto& [dtype, high] :
       {std::pair{DType::kInt8, int64_t{127}}, {DType::kInt16, int64_t{32767}}, {DType::kInt32, int64_t{2147483647}}})
    h.cases.push_back(made_case(str("TestHistogram.test_signed_overflow_bounds[", name_of(dtype), "]"),
                                [dtype = dtype, high = high](G g) {
                                  return All{histogram(g(integers({-high, high}).cast(dtype)), 2).counts};
                                }));
  expect_suite("order", "histograms", h.cases);
}

TEST(OrderSuite, UniqueElements) {
  std::vector<SuiteCase> cases;
  const auto add = [&](const std::string& name, const Tensor& x) {
    cases.push_back(made_case("TestUnique.test_" + name, [x](G g) {
      const Unique found = unique(g(x));
      return All{found.values, found.index, found.inverse, found.counts};
    }));
  };
  std::vector<int64_t> repeated;
  for (int i = 0; i < 5; ++i) repeated.insert(repeated.end(), {5, 7, 1, 2, 1, 5, 7});
  for (const DType dtype : kReals) {
    add(str("unique_1d[", name_of(dtype), "]"), integers(repeated).cast(dtype));
    add(str("unique_zero_sized[", name_of(dtype), "]"), integers({}).cast(dtype));
  }
  const auto matrix = [](const std::vector<int64_t>& elements, const Shape& shape) {
    return Tensor::of(elements, shape);
  };
  add("unique_1d[bool]", bools({4}, "1011"));
  add("unique_1d[4785]", matrix({1, 2, 1, 2, 2, 3}, {3, 2}));
  add("unique_1d[2111]", numbers({2, kNan, 1, kNan}));
  add("unique_1d[19300]", numbers({kNan, kNan, kNan, kNan}));
  add("unique_nanequals", numbers({1, 1, kNan, kNan, kNan}));
  add("unique_inverse_shape", matrix({1, 2, 3, 2, 3, 1}, {2, 3}));
  add("simple", integers({4, 3, 2, 1, 1, 2, 3, 4, 0}));
  add("basic_vector[0]", numbers({2, 1, 3, 2}));
  add("basic_vector[1]", numbers({1, 2, 3}));
  add("basic_matrix[0]", matrix({2, 1, 3, 2, 2, 1}, {3, 2}).cast(DType::kFloat64));
  add("basic_matrix[1]", residues({3, 4, 2}, 1, 5));
  expect_suite("order", "unique", cases);
}

void add_running(std::vector<SuiteCase>& cases) {
  for (const Axis axis : {Axis(), Axis(-3), Axis(-2), Axis(-1), Axis(0), Axis(1), Axis(2)}) {
    const Shape shape = axis ? Shape{3, 5, 2} : Shape{30};
    cases.push_back(made_case(str("TestCumOp.test_cum_op[", shown(axis), "]"), [axis](G g) {
      const Expr x = g(positive({3, 5, 2}));
      return All{cumsum(x, axis), cumprod(x, axis)};
    }));
    cases.push_back(made_case(str("TestCumOp.test_grad[", shown(axis), "]"), [axis, shape](G g) {
      const Expr x = g(positive({3, 5, 2}));
      return All{weighed(x, cumsum(x, axis), shape), weighed(x, cumprod(x, axis), shape)};
    }));
  }
  const Tensor one = integers({1, 2, 10, 11, 6, 5, 4});
  const Tensor two = Tensor::of(std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 9, 10, 3, 4, 5}, {3, 4});
  for (const DType dtype : kReals) {
    cases.push_back(made_case(str("TestCumsum.test_basic[", name_of(dtype), "]"), [=](G g) {
      const Expr a = g(one.cast(dtype)), b = g(two.cast(dtype));
      return All{cumsum(a), cumsum(b, 0), cumsum(b, 1)};
    }));
    cases.push_back(made_case(str("TestCumprod.test_basic[", name_of(dtype), "]"), [=](G g) {
      const Expr a = g(one.cast(dtype)), b = g(two.cast(dtype));
      return All{cumprod(a), cumprod(b, 0), cumprod(b, -1)};
    }));
  }
}

void add_differences(std::vector<SuiteCase>& cases) {
  const std::string test = "TestDiff.test_";
  cases.push_back({test + "basic[integers]", [](G g) {
                     const Expr x = g(integers({1, 4, 6, 7, 12}));
                     return All{diff(x), diff(x, 2), diff(x, 3)};
                   }});
  cases.push_back({test + "basic[floats]", [](G g) { return diff(g(numbers({1.125, 2.25, 3, -0.25, -0.125}))); }});
  cases.push_back({test + "basic[bools]", [](G g) {
                     const Expr x = g(bools({4}, "1100"));
                     return All{diff(x), diff(x, 2)};
                   }});
  cases.push_back({test + "axis", [](G g) {
                     Tensor values = count({2, 4, 3});
                     for (int64_t i = 0; i < 24; ++i) values.data<double>()[i] = static_cast<double>(i / 3 % 2);
                     const Expr x = g(values);
                     return All{diff(x), diff(x, 1, 0), diff(x, 1, 1), diff(x, 1, -2)};
                   }});
  cases.push_back({test + "nd", [](G g) {
                     const Expr x = g(spread({2, 4, 5}));
                     return All{diff(x), diff(x, 2), diff(x, 1, 0), diff(x, 2, 1)};
                   }});
  for (const int64_t n : {0, 1, 2, 3, 4})
    cases.push_back(made_case(str(test, "n[", n, "]"), [n](G g) { return All{diff(g(whole({3})), n)}; }));
  cases.push_back({test + "basic", [](G g) {
                     const Expr x = g(spread({6, 7})), y = diff(x);
                     return All{y, weighed(x, y, {6, 6})};
                   }});
  for (const int64_t axis : {-2, -1, 0, 1})
    for (const int64_t n : {0, 1, 2, 5, 6})
      cases.push_back(made_case(str(test, "perform[", n, ",", axis, "]"), [=](G g) {
        return All{diff(g(spread({6, 7})), n, axis)};
      }));
}

void add_shapes(std::vector<SuiteCase>& cases) {
  const std::vector<Shape> squeezed = {{1, 3}, {1, 2, 3}, {1, 5, 1, 1, 6}};
  for (size_t k = 0; k < squeezed.size(); ++k) {
    cases.push_back(made_case(str("TestSqueeze.test_op[", k, "]"),
                              [shape = squeezed[k]](G g) { return All{squeeze(g(spread(shape)))}; }));
    cases.push_back(made_case(str("TestSqueeze.test_grad[", k, "]"), [shape = squeezed[k]](G g) {
      const Expr x = g(spread(shape));
      return All{grad(sum(sqr(squeeze(x))), x)};
    }));
  }
  const std::vector<std::pair<Shape, std::vector<int64_t>>> axes = {
      {{2, 1, 3}, {1}}, {{2, 1, 3, 1}, {1, 3}}, {{1, 2, 1, 3, 1}, {0, -1}}};
  for (size_t k = 0; k < axes.size(); ++k)
    cases.push_back(made_case(str("TestSqueeze.test_axis[", k, "]"),
                              [row = axes[k]](G g) { return All{squeeze(g(spread(row.first)), row.second)}; }));
  const std::vector<std::tuple<Axis, std::vector<int64_t>, Shape>> compressed = {
      {{}, {1, 0, 1, 0, 0, 1}, {2, 3}}, {-1, {0, 1, 1, 0}, {3, 4}},  {0, {0, 1, 1, 0}, {4, 3}}, {0, {}, {4, 3}},
      {0, {0, 0, 0, 0}, {4, 3}},        {1, {1, 1, 0, 1, 0}, {3, 5}}};
  for (size_t k = 0; k < compressed.size(); ++k)
    cases.push_back(made_case(str("TestCompress.test_op[", k, "]"), [row = compressed[k]](G g) {
      const auto& [axis, condition, shape] = row;
      return All{compress(g(integers(condition)), g(spread(shape)), axis)};
    }));
  for (const Axis axis : {Axis(), Axis(0), Axis(1), Axis(-1)}) {
    const int64_t size = !axis ? 12 : *axis == 1 ? 3 : 2;
    cases.push_back(made_case(str("TestRepeat.test_basic[scalar,", shown(axis), "]"), [=](G g) {
      return All{repeat_elements(g(spread({2, 3, 2})), 2, axis)};
    }));
    cases.push_back(made_case(str("TestRepeat.test_basic[vector,", shown(axis), "]"), [=](G g) {
      return All{repeat_elements(g(spread({2, 3, 2})), g(residues({size}, 1, 3)), axis)};
    }));
    cases.push_back(made_case(str("TestRepeat.test_grad[", shown(axis), "]"), [=](G g) {
      const Expr x = g(spread({2, 3, 2}));
      return All{grad(sum(sqr(repeat_elements(x, 3, axis))), x)};
    }));
  }
  const std::vector<Tensor> places = {Tensor(int64_t{10}), whole({4}, 3),
                                      Tensor::of(std::vector<int64_t>{0, 59, 17, 5}, {2, 2})};
  for (size_t k = 0; k < places.size(); ++k)
    cases.push_back(made_case(str("TestUnravelIndex.test_unravel_index[", k, "]"), [place = places[k]](G g) {
      return unravel_index(g(place), {3, 4, 5});
    }));
  for (const auto& [name, mode] :
       {std::pair{"raise", OutOfRange::kRefused}, {"wrap", OutOfRange::kWrapped}, {"clip", OutOfRange::kClipped}})
    cases.push_back(made_case(str("TestRavelMultiIndex.test_ravel_multi_index[", name, "]"), [mode = mode](G g) {
      const bool is_inside = mode == OutOfRange::kRefused;
      const Expr i = g(is_inside ? integers({0, 2, 1}) : integers({3, 5, 4}));
      const Expr j = g(is_inside ? integers({3, 0, 1}) : integers({-2, -5, -4}));
      return All{ravel_multi_index({i, j}, {3, 4}, mode)};
    }));
}

TEST(OrderSuite, RunningSumsAndShapes) {
  std::vector<SuiteCase> cases;
  add_running(cases);
  add_differences(cases);
  add_shapes(cases);
  expect_suite("order", "cumulative", cases);
}

}  // namespace
}  // namespace thtrain::order_counts_suite
