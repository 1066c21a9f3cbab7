// After PyTensor's tests/tensor/test_elemwise.py and the broadcasting tests of tests/tensor/test_math.py.
//
// 356 cases. 16 tests cannot be expressed:
// - dtypes of reductions and of their accumulators as arguments: test_reduce_default_acc_dtype,
//   test_reduce_custom_dtype, test_reduce_custom_acc_dtype, test_reduce_precision, test_mean_custom_dtype,
//   test_mean_precision (6);
// - products that are told to have no zeros: test_prod_no_zeros_in_input, test_prod_without_zeros,
//   test_prod_without_zeros_grad, test_mul_without_zeros_zeros, and test_prod_without_zeros_default_dtype,
//   _custom_dtype (6);
// - bitwise reductions of integers, as test_perform with and_, or_ and xor (1);
// - ops that write over their arguments: test_perform_inplace, test_c_inplace (2); pickles: test_pickle_bug (1).
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"

namespace thtrain::elemwise_suite {
namespace {

using G = Given&;
using Binary = Expr (*)(const Expr& x, const Expr& y);
using Unary = Expr (*)(const Expr& x);
using Reduce = Expr (*)(const Expr& x, const Axes& axes);

const std::vector<std::tuple<std::string, Binary, bool>> kBinary = {
    {"Add", [](const Expr& x, const Expr& y) { return x + y; }, true},
    {"Sub", [](const Expr& x, const Expr& y) { return x - y; }, true},
    {"Mul", [](const Expr& x, const Expr& y) { return x * y; }, true},
    {"TrueDiv", [](const Expr& x, const Expr& y) { return x / y; }, true},
    {"IntDiv", [](const Expr& x, const Expr& y) { return floor_div(x, y); }, false},
    {"Mod", [](const Expr& x, const Expr& y) { return x % y; }, false},
    {"Maximum", [](const Expr& x, const Expr& y) { return maximum(x, y); }, true},
    {"Minimum", [](const Expr& x, const Expr& y) { return minimum(x, y); }, true},
    {"Pow", [](const Expr& x, const Expr& y) { return pow(x, y); }, true},
    {"Arctan2", [](const Expr& x, const Expr& y) { return arctan2(x, y); }, true},
    {"LT", [](const Expr& x, const Expr& y) { return x < y; }, false},
    {"GE", [](const Expr& x, const Expr& y) { return x >= y; }, false},
    {"EQ", [](const Expr& x, const Expr& y) { return eq(x, y); }, false}};

TEST(ElemwiseSuite, BinaryOps) {
  const std::vector<std::tuple<std::string, Shape, Shape>> kinds = {{"same_shapes", {2, 3}, {2, 3}},
                                                                    {"not_same_dimensions", {2, 2}, {2}},
                                                                    {"scalar", {2, 3}, {}},
                                                                    {"1_scalar", {2, 3}, {1, 1}},
                                                                    {"row", {2, 3}, {1, 3}},
                                                                    {"column", {2, 3}, {2, 1}},
                                                                    {"empty", {0}, {1}}};
  std::vector<SuiteCase> cases;
  for (const auto& [name, op, has_gradient] : kBinary) {
    for (const auto& [kind, of_x, of_y] : kinds)
      cases.push_back(made_case(str("Test", name, "Broadcast.test_good[", kind, "]"),
                                [op = op, has_gradient = has_gradient, of_x = of_x, of_y = of_y](G g) {
                                  const Expr x = g.known(positive(of_x)), y = g.known(positive(of_y, 1)), z = op(x, y);
                                  All out{z};
                                  if (has_gradient)
                                    for (const Expr& slope : grad(sum(z * z), All{x, y})) out.push_back(slope);
                                  return out;
                                }));
    if (name != "Pow" && name != "Arctan2")
      cases.push_back(made_case(str("Test", name, "Broadcast.test_good[integers]"), [op = op](G g) {
        return All{op(g.known(whole({2, 3}, -2)), g.known(whole({2, 3}, 1)))};
      }));
  }
  expect_suite("elemwise", "binary", cases);
}

Tensor in_unit(const Tensor& x) {
  Tensor out = x.copy();
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] /= 4;
  return out;
}

Tensor above_one(const Tensor& x) {
  Tensor out = x.copy();
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] += 1;
  return out;
}

TEST(ElemwiseSuite, UnaryOps) {
  const Tensor any = spread({2, 3}), above_zero = positive({2, 3}), unit = in_unit(any), above = above_one(above_zero);
  const std::vector<std::tuple<std::string, Unary, Tensor, bool>> ops = {
      {"Neg", [](const Expr& x) { return -x; }, any, true},
      {"Sgn", [](const Expr& x) { return sign(x); }, any, false},
      {"Abs", [](const Expr& x) { return abs(x); }, any, true},
      {"Sqr", [](const Expr& x) { return sqr(x); }, any, true},
      {"Sqrt", [](const Expr& x) { return sqrt(x); }, above_zero, true},
      {"Exp", [](const Expr& x) { return exp(x); }, any, true},
      {"Exp2", [](const Expr& x) { return exp2(x); }, any, true},
      {"Expm1", [](const Expr& x) { return expm1(x); }, any, true},
      {"Log", [](const Expr& x) { return log(x); }, above_zero, true},
      {"Log2", [](const Expr& x) { return log2(x); }, above_zero, true},
      {"Log10", [](const Expr& x) { return log10(x); }, above_zero, true},
      {"Log1p", [](const Expr& x) { return log1p(x); }, above_zero, true},
      {"Floor", [](const Expr& x) { return floor(x); }, any, false},
      {"Ceil", [](const Expr& x) { return ceil(x); }, any, false},
      {"Trunc", [](const Expr& x) { return trunc(x); }, any, false},
      {"RoundHalfToEven", [](const Expr& x) { return round(x); }, any, false},
      {"Sin", [](const Expr& x) { return sin(x); }, any, true},
      {"Cos", [](const Expr& x) { return cos(x); }, any, true},
      {"Tan", [](const Expr& x) { return tan(x); }, any, true},
      {"Arcsin", [](const Expr& x) { return arcsin(x); }, unit, true},
      {"Arccos", [](const Expr& x) { return arccos(x); }, unit, true},
      {"Arctan", [](const Expr& x) { return arctan(x); }, any, true},
      {"Sinh", [](const Expr& x) { return sinh(x); }, any, true},
      {"Cosh", [](const Expr& x) { return cosh(x); }, any, true},
      {"Tanh", [](const Expr& x) { return tanh(x); }, any, true},
      {"Arcsinh", [](const Expr& x) { return arcsinh(x); }, any, true},
      {"Arccosh", [](const Expr& x) { return arccosh(x); }, above, true},
      {"Arctanh", [](const Expr& x) { return arctanh(x); }, unit, true},
      {"Reciprocal", [](const Expr& x) { return reciprocal(x); }, above_zero, true},
      {"Sigmoid", [](const Expr& x) { return sigmoid(x); }, any, true},
      {"Softplus", [](const Expr& x) { return softplus(x); }, any, true},
      {"Erf", [](const Expr& x) { return erf(x); }, any, true},
      {"Erfc", [](const Expr& x) { return erfc(x); }, any, true}};
  std::vector<SuiteCase> cases;
  for (const auto& [name, op, value, has_gradient] : ops) {
    cases.push_back(made_case("Test" + name + "Broadcast.test_good[normal]",
                              [op = op, value = value, has_gradient = has_gradient](G g) {
                                const Expr x = g(value);
                                return has_gradient ? All{op(x), grad(sum(sqr(op(x))), x)} : All{op(x)};
                              }));
    cases.push_back(made_case("Test" + name + "Broadcast.test_good[empty]", [op = op](G g) {
      return All{op(g(Tensor::zeros(DType::kFloat64, {0, 2})))};
    }));
  }
  expect_suite("elemwise", "unary", cases);
}

TEST(ElemwiseSuite, Shuffles) {
  const std::vector<std::pair<Shape, std::vector<int64_t>>> shuffles = {{{2, 3}, {1, 0}},
                                                                        {{1, 2, 3}, {1, 2}},
                                                                        {{1, 2, 1, 3}, {1, 3}},
                                                                        {{2, 3, 4}, {2, 1, 0}},
                                                                        {{2, 3, 4}, {-1, 2, 1, 0, -1}},
                                                                        {{1, 4, 3, 2, 1}, {3, 2, 1}},
                                                                        {{1, 1, 4}, {1, 2}},
                                                                        {{1, 1, 1}, {}},
                                                                        {{1}, {-1, -1}}};
  std::vector<SuiteCase> cases;
  for (size_t k = 0; k < shuffles.size(); ++k)
    cases.push_back(made_case(str("TestDimShuffle.test_perform[", k, "]"), [one = shuffles[k]](G g) {
      return All{dimshuffle(g(positive(one.first)), one.second)};
    }));
  expect_suite("elemwise", "shuffles", cases);
}

const std::vector<std::pair<std::string, Reduce>> kReductions = {
    {"sum", [](const Expr& x, const Axes& axes) { return sum(x, axes); }},
    {"prod", [](const Expr& x, const Axes& axes) { return prod(x, axes); }},
    {"max", [](const Expr& x, const Axes& axes) { return max(x, axes); }},
    {"min", [](const Expr& x, const Axes& axes) { return min(x, axes); }},
    {"mean", [](const Expr& x, const Axes& axes) { return mean(x, axes); }},
    {"var", [](const Expr& x, const Axes& axes) { return var(x, axes); }},
    {"any", [](const Expr& x, const Axes& axes) { return any(x, axes); }},
    {"all", [](const Expr& x, const Axes& axes) { return all(x, axes); }}};

Tensor above_half(const Shape& shape) {
  const Tensor x = spread(shape);
  Tensor out = Tensor::empty(DType::kBool, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<bool>()[i] = x.as_double(i) > 0.5;
  return out;
}

std::vector<SuiteCase> reductions_of_every_axis() {
  const std::vector<std::pair<Shape, std::vector<int64_t>>> shapes = {{{5, 6}, {}},
                                                                      {{5, 6}, {0, 1}},
                                                                      {{5, 6}, {0}},
                                                                      {{5, 6}, {1}},
                                                                      {{5, 6}, {-1}},
                                                                      {{5, 6}, {-2}},
                                                                      {{}, {}},
                                                                      {{2, 3, 4, 5}, {0, 1, 3}},
                                                                      {{2, 3, 4, 5}, {-2, -3}},
                                                                      {{5, 0}, {1}},
                                                                      {{}, {}}};
  std::vector<SuiteCase> cases;
  for (const auto& [name, op] : kReductions)
    for (size_t k = 0; k < shapes.size(); ++k) {
      const auto& [shape, axes] = shapes[k];
      const bool is_empty = element_count(shape) == 0;
      if (k == 6 || (is_empty && (name == "max" || name == "min" || name == "mean" || name == "var")) ||
          (k == 10 && name == "var"))
        continue;
      const bool of_bools = name == "any" || name == "all";
      const Tensor value = of_bools ? above_half(shape) : positive(shape);
      cases.push_back(made_case(str("TestCAReduce.test_perform[", name, ",", k, "]"),
                                [op = op, value, axes = axes](G g) { return All{op(g(value), Axes(axes))}; }));
      if (name == "sum" || name == "mean" || name == "max" || name == "prod")
        cases.push_back(
            made_case(str("TestCAReduce.test_perform[", name, ",", k, ",grad]"), [op = op, value, axes = axes](G g) {
              const Expr x = g(value);
              return All{grad(sum(sqr(op(x, Axes(axes)))), x)};
            }));
    }
  return cases;
}

Tensor with_nan() {
  Tensor out = spread({3, 4});
  for (int64_t i = 0; i < out.size(); ++i)
    if (out.as_double(i) > 1.5) out.data<double>()[i] = std::nan("");
  return out;
}

TEST(ElemwiseSuite, Reductions) {
  std::vector<SuiteCase> cases = reductions_of_every_axis();
  for (size_t k = 0; k < 4; ++k)
    cases.push_back(made_case(str("TestCAReduce.test_perform_nan[", kReductions[k].first, "]"),
                              [op = kReductions[k].second](G g) { return All{op(g(with_nan()), 1)}; }));
  for (const auto& [name, op] : kReductions)
    if (name != "prod" && name != "any" && name != "all")
      cases.push_back(made_case("TestReduceAxes.test_" + name + "_axes", [op = op](G g) {
        const Expr m = g(spread({2, 3, 4}));
        return All{op(m, 0), op(m, 1), op(m, -1), op(m, {0, 1}), op(m, {-1, 0}), op(m, {})};
      }));
  const std::vector<std::vector<double>> with_zeros = {
      {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 0, 5, 6, 0, 0, 9}, {0, 0, 0, 4, 5, 6, 7, 8, 0}};
  for (size_t k = 0; k < 3; ++k)
    cases.push_back(made_case(str("TestProd.test_verify_grad_with_zeros[", k, "]"), [value = with_zeros[k]](G g) {
      const Expr x = g(Tensor::of(value, {3, 3})), p = prod(x, 1);
      return All{p, grad(sum(p), x), grad(sum(sqr(p)), x)};
    }));
  for (const DType dtype : kAllDTypes) {
    if (is_complex(dtype)) continue;
    const Tensor value = integers({1, 0, 1}).cast(dtype);
    cases.push_back(made_case(str("TestReduceDType.test_reduce_default_dtype[", name_of(dtype), "]"), [value](G g) {
      const Expr v = g(value);
      return All{sum(v), prod(v)};
    }));
    if (dtype != DType::kBool && dtype != DType::kUInt64)
      cases.push_back(made_case(str("TestMeanDType.test_mean_default_dtype[", name_of(dtype), "]"),
                                [value](G g) { return All{mean(g(value))}; }));
  }
  const double specials[] = {HUGE_VAL, -HUGE_VAL, std::nan(""), 0.0, -1.0};
  for (size_t k = 0; k < 5; ++k) {
    const Tensor value = Tensor::matrix({{specials[k], 1.0}, {2.0, specials[k]}});
    cases.push_back(
        made_case(str("TestIsInfIsNan.test_isinf[", k, "]"), [value](G g) { return All{isinf(g(value))}; }));
    cases.push_back(
        made_case(str("TestIsInfIsNan.test_isnan[", k, "]"), [value](G g) { return All{isnan(g(value))}; }));
  }
  const std::vector<SuiteCase> others = {
      {"TestReduceAxes.test_argmax_axes",
       [](G g) {
         const Expr m = g(spread({2, 3, 4}));
         return All{argmax(m, 0), argmax(m, 1), argmax(m, -1), argmax(m)};
       }},
      {"TestReduceAxes.test_argmax_axes[argmin]",
       [](G g) {
         const Expr m = g(spread({2, 3, 4}));
         return All{argmin(m, 0), argmin(m, 1), argmin(m, -1), argmin(m)};
       }},
      {"TestProd.test_verify_grad",
       [](G g) {
         const Expr x = g(positive({3, 3}));
         return All{prod(x), grad(prod(x), x)};
       }},
      {"TestBitOpReduceGrad.test_all_grad",
       [](G g) {
         const Expr x = g(spread({3, 3}));
         return grad(sum(x * all(x > 0)), x);
       }},
      {"TestBitOpReduceGrad.test_any_grad",
       [](G g) {
         const Expr x = g(spread({3, 3}));
         return grad(sum(x * any(x > 0)), x);
       }},
      {"TestElemwise.test_elemwise_grad_bool",
       [](G g) {
         const Expr x = g(spread({3, 3}));
         return grad(sum(x * cast(x > 0, DType::kFloat64)), x);
       }},
      {"test_gt_grad",
       [](G g) {
         const Expr u = g(positive({4}));
         return grad(sum(pow(maximum(0.5 - u, 0), 2)), u);
       }},
      {"test_clip_grad",
       [](G g) {
         const Expr a = g(number(-0.5)), b = g(number(1));
         return grad(sum(clip(g(spread({6})), a, b)), All{a, b});
       }},
      {"test_clip_grad[x]",
       [](G g) {
         const Expr x = g(spread({6}));
         return grad(sum(sqr(clip(x, -0.5, 1.0))), x);
       }},
      {"test_clip_grad_int", [](G g) { return clip(g(whole({5})), 1, 3); }},
      {"test_grad_useless_sum",
       [](G g) {
         const Expr x = g(spread({5, 5}));
         return grad(sum(log(1 / (1 + exp(-x)))), x);
       }},
      {"test_elemwise_grad_broadcast",
       [](G g) {
         const Expr t = g.known(spread({2, 3, 4, 3})), v = g.known(spread({3}));
         return grad(sum(t * v), All{t, v});
       }},
      {"TestBroadcast.test_fill",
       [](G g) {
         const Expr row = g.known(spread({1, 4})), column = g.known(spread({3, 1}));
         return All{ones({3, 4}) * row, broadcast_to(row, {3, 4}) + 0 * column};
       }},
      {"TestBroadcast.test_same_inputs",
       [](G g) {
         const Expr y = g(spread({5, 5}, 1));
         return y + y;
       }},
      {"TestBroadcast.test_perform",
       [](G g) {
         const auto added = [&](const Shape& x, const Shape& y, int64_t seed) {
           return g.known(spread(x)) + g.known(spread(y, seed));
         };
         return All{added({3, 5}, {3, 5}, 1),
                    added({3, 5}, {1, 5}, 1),
                    added({1, 5}, {3, 5}, 1),
                    added({1, 1}, {1, 1}, 0),
                    added({2, 3, 4, 5}, {1, 3, 1, 5}, 0),
                    added({0, 5}, {1, 5}, 0),
                    g(number(2)) + g(spread({3}))};
       }},
  };
  cases.insert(cases.end(), others.begin(), others.end());
  expect_suite("elemwise", "reductions", cases);
}

TEST(ElemwiseSuite, GoldenErrors) {
  expect_suite_errors("elemwise", "errors",
                      {
                          {"TestAddBroadcast.test_bad_runtime[0]",
                           [](G g) {
                             return All{g(spread({2, 3})) + g(spread({3, 2}))};
                           }},
                          {"TestAddBroadcast.test_bad_runtime[1]",
                           [](G g) {
                             return All{g.known(spread({2, 3})) + g(spread({4}))};
                           }},
                          {"TestAddBroadcast.test_bad_runtime[2]",
                           [](G g) {
                             return All{g.known(spread({2, 3, 4})) + g.known(spread({3, 3}))};
                           }},
                          {"TestDimShuffle.test_perform[same_axis_twice]",
                           [](G g) {
                             return All{dimshuffle(g(spread({2, 3})), {0, 0})};
                           }},
                          {"TestDimShuffle.test_perform[lost_axis]",
                           [](G g) {
                             return All{dimshuffle(g(spread({2, 3})), {0})};
                           }},
                          {"TestDimShuffle.test_perform[no_axis]",
                           [](G g) {
                             return All{dimshuffle(g(spread({2, 3})), {0, 1, 2})};
                           }},
                          {"TestCAReduce.test_repeated_axis",
                           [](G g) {
                             return All{sum(g(spread({2, 3})), {0, 0})};
                           }},
                          {"TestCAReduce.test_perform[no_axis]",
                           [](G g) {
                             return All{sum(g(spread({2, 3})), 2)};
                           }},
                          {"TestReduceAxes.test_max_axes[empty]",
                           [](G g) {
                             return All{max(g(Tensor::zeros(DType::kFloat64, {0, 3})), 0)};
                           }},
                      });
}

}  // namespace
}  // namespace thtrain::elemwise_suite
