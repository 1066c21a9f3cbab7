// Forward mode of every op, over its own test cases: tangents are those of finite differences, agree with reverse mode
// and with two reverse passes, and read nothing but the inputs and their tangents.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <set>

#include "compiler/autodiff/differentiation.h"
#include "compiler/autodiff/forward.h"
#include "compiler/base/random_state.h"
#include "compiler/ir/print.h"
#include "compiler/ops/control/stop_gradient.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/registry.h"
#include "tests/support/op_case_runner.h"

namespace thtrain {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

Tensor random_like(const Tensor& like, RandomState& random) {
  Tensor out = Tensor::empty(like.dtype(), like.shape());
  visit(like.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < out.size(); ++i) {
      const double re = random.uniform(0.5, 1.5), im = random.uniform(-1, 1);
      if constexpr (is_complex_v<T>)
        out.data<T>()[i] = T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
      else if constexpr (std::is_floating_point_v<T>)
        out.data<T>()[i] = static_cast<T>(random.uniform(0, 1) < 0.5 ? -re : re);
    }
  });
  return out;
}

bool has_single(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kComplex64;
}

// Re(sum(x * y)): how cotangents and tangents multiply.
double product(const Tensor& x, const Tensor& y) {
  double out = 0;
  for (int64_t i = 0; i < x.size(); ++i) out += (complex_element(x, i) * complex_element(y, i)).real();
  return out;
}

// Sum of |x|.
double size_of_elements(const Tensor& x) {
  double out = 0;
  for (int64_t i = 0; i < x.size(); ++i) out += std::abs(complex_element(x, i));
  return out;
}

// Outputs of some expressions, their floating inputs and directions at a point.
struct Point {
  std::string name;
  std::vector<Expr> outputs, wrt, tangents;
  Bindings inputs;      // also of what is no wrt
  Bindings directions;  // of the tangents
  bool is_single = false;

  Point(std::string n, const std::vector<Expr>& variables, const std::vector<Tensor>& values,
        const std::vector<Expr>& all_outputs, RandomState& random)
      : name(std::move(n)) {
    for (const Expr& output : all_outputs)
      if (differentiable(output.type())) outputs.push_back(output);
    for (size_t i = 0; i < variables.size(); ++i) {
      inputs.emplace_back(variables[i], values[i]);
      if (!differentiable(variables[i].type())) continue;
      is_single = is_single || has_single(variables[i].dtype());
      wrt.push_back(variables[i]);
      tangents.push_back(make_input(variables[i].type(), "tangent"));
      directions.emplace_back(tangents.back(), random_like(values[i], random));
    }
    for (const Expr& output : outputs) is_single = is_single || has_single(output.dtype());
  }

  bool is_differentiable() const { return !outputs.empty() && !wrt.empty(); }
  double tolerance() const { return is_single ? 1e-4 : 1e-9; }
  std::vector<Tensor> values_of(const std::vector<Expr>& what, const Bindings& more = {}) const {
    Bindings bound = inputs;
    bound.insert(bound.end(), directions.begin(), directions.end());
    bound.insert(bound.end(), more.begin(), more.end());
    return evaluate(what, bound);
  }
  std::vector<Expr> jvps() const { return jvp(outputs, wrt, tangents, {.disconnected = Disconnected::kZero}); }
};

std::vector<Point> points_of(const Op& op) {
  std::vector<Point> out;
  RandomState random(7);
  uint64_t seed = 100;
  for (const OpCase& c : op.cases()) {
    CaseInputs in = make_inputs(c, "x", ++seed);
    Point point(str(op.name, " ", c.name), in.variables, in.values, c.build(in.variables), random);
    if (point.is_differentiable()) out.push_back(std::move(point));
  }
  return out;
}

// (y(x + h dx) - y(x - h dx)) / 2h compared with dy.
void expect_differences(const Point& p) {
  const std::vector<Expr> exact = p.jvps();
  const std::vector<Tensor> got = p.values_of(exact);
  const double step = 1e-6;
  auto moved = [&](double change) {
    Bindings at = p.inputs;
    for (auto& [variable, value] : at)
      for (size_t k = 0; k < p.wrt.size(); ++k) {
        if (!p.wrt[k].same(variable)) continue;
        value = value.copy();
        for (int64_t i = 0; i < value.size(); ++i) {
          const std::complex<double> to =
              complex_element(value, i) + change * complex_element(p.directions[k].second, i);
          if (is_complex(value.dtype()))
            value.data<std::complex<double>>()[i] = to;
          else
            value.data<double>()[i] = to.real();
        }
      }
    return evaluate(p.outputs, at);
  };
  const std::vector<Tensor> up = moved(step), down = moved(-step);
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_TRUE(exact[o].type() == p.outputs[o].type()) << p.name << ": " << exact[o].type().text();
    for (int64_t i = 0; i < got[o].size(); ++i) {
      if (std::isinf(std::abs(complex_element(up[o], i)))) continue;  // -inf is the maximum of nothing
      const std::complex<double> want = (complex_element(up[o], i) - complex_element(down[o], i)) / (2 * step);
      EXPECT_LE(std::abs(complex_element(got[o], i) - want), 1e-5 * std::max(1.0, std::abs(want)))
          << p.name << ", output " << o << ", element " << i << ": " << complex_element(got[o], i) << " for " << want;
    }
  }
}

// <v, J u> = <J^T v, u>. Of tangents that are not finite (of a quotient by an integer that is 0) nothing is asked:
// false.
bool expect_the_transpose(const Point& p) {
  RandomState random(11);
  const std::vector<Tensor> forward = p.values_of(p.jvps());
  for (const Tensor& tangent : forward)
    if (!std::isfinite(size_of_elements(tangent))) return false;
  std::vector<Expr> cotangents;
  Bindings weights;
  for (size_t o = 0; o < forward.size(); ++o) {
    cotangents.push_back(make_input(p.outputs[o].type(), "cotangent"));
    weights.emplace_back(cotangents.back(), random_like(forward[o], random));
  }
  const std::vector<Tensor> reverse =
      p.values_of(vjp(p.outputs, p.wrt, cotangents, {.disconnected = Disconnected::kZero}), weights);
  double left = 0, right = 0, size = 1;
  for (size_t o = 0; o < forward.size(); ++o) {
    left += product(weights[o].second, forward[o]);
    size += size_of_elements(forward[o]);
  }
  for (size_t k = 0; k < reverse.size(); ++k) right += product(reverse[k], p.directions[k].second);
  EXPECT_NEAR(left, right, p.tolerance() * size) << p.name;
  return true;
}

// The derivative of u -> J^T u in the direction of the tangents.
void expect_two_reverse_passes(const Point& p) {
  std::vector<Expr> seeds;
  Bindings zeros;
  const std::vector<Tensor> values = p.values_of(p.outputs);
  for (size_t o = 0; o < values.size(); ++o) {
    seeds.push_back(make_input(p.outputs[o].type(), "u"));
    zeros.emplace_back(seeds.back(), Tensor::zeros(values[o].dtype(), values[o].shape()));
  }
  const GradOptions zero{.disconnected = Disconnected::kZero};
  const std::vector<Tensor> twice =
      p.values_of(vjp(vjp(p.outputs, p.wrt, seeds, zero), seeds, p.tangents, zero), zeros);
  const std::vector<Tensor> once = p.values_of(p.jvps());
  for (size_t o = 0; o < once.size(); ++o)
    for (int64_t i = 0; i < once[o].size(); ++i) {
      const std::complex<double> want = complex_element(twice[o], i);
      if (want == complex_element(once[o], i)) continue;  // infinities too
      EXPECT_LE(std::abs(complex_element(once[o], i) - want), p.tolerance() * std::max(1.0, std::abs(want)))
          << p.name << ", output " << o << ", element " << i << ": " << complex_element(once[o], i) << " for " << want;
    }
}

class ForwardOfOps : public testing::TestWithParam<const Op*> {};
class ForwardOfLinearOps : public testing::TestWithParam<const Op*> {};

std::vector<const Op*> ops_with_gradients() {
  std::vector<const Op*> out;
  for (const Op* op : all_ops())
    if (op->gradient && op->cases) out.push_back(op);
  return out;
}

// What grad_clip does to a derivative is not linear: its two modes are not each other's transpose.
std::vector<const Op*> ops_with_linear_derivatives() {
  std::vector<const Op*> out = ops_with_gradients();
  std::erase(out, &grad_clip_op());
  return out;
}

TEST_P(ForwardOfOps, IsThatOfDifferences) {
  std::set<std::string> smooth;
  for (const OpCase& c : GetParam()->cases())
    if (c.smooth) smooth.insert(str(GetParam()->name, " ", c.name));
  for (const Point& p : points_of(*GetParam()))
    if (!p.is_single && smooth.count(p.name)) expect_differences(p);
}

TEST_P(ForwardOfLinearOps, AgreesWithReverseModeInEveryCase) {
  size_t checked = 0;
  for (const Point& p : points_of(*GetParam())) checked += expect_the_transpose(p);
  EXPECT_GT(checked, 0u) << "no case of " << GetParam()->name << " has a derivative";
}

TEST_P(ForwardOfLinearOps, AgreesWithTwoReversePassesInEveryCase) {
  for (const Point& p : points_of(*GetParam())) expect_two_reverse_passes(p);
}

TEST_P(ForwardOfOps, ReadsOnlyInputsAndTheirTangents) {
  for (const Point& p : points_of(*GetParam()))
    for (const Expr& leaf : leaves_of(p.jvps())) {
      bool known = false;
      for (const auto& [variable, value] : p.inputs) known = known || variable.same(leaf);
      for (const Expr& tangent : p.tangents) known = known || tangent.same(leaf);
      EXPECT_TRUE(known) << p.name << " reads " << expr_text(leaf);
    }
}

INSTANTIATE_TEST_SUITE_P(All, ForwardOfOps, testing::ValuesIn(ops_with_gradients()),
                         [](const testing::TestParamInfo<const Op*>& info) { return info.param->name; });
INSTANTIATE_TEST_SUITE_P(All, ForwardOfLinearOps, testing::ValuesIn(ops_with_linear_derivatives()),
                         [](const testing::TestParamInfo<const Op*>& info) { return info.param->name; });

// What is not here has a rule.
TEST(ForwardOfOps, OnlyTheseAreDerivedFromTheirGradients) {
  std::string derived;
  for (const Op* op : all_ops())
    if (op->gradient && !op->jvp) derived += op->name + " ";
  EXPECT_EQ(derived,
            "cumprod gemm gemv ger cholesky lu qr eigh eig svd normalize mt_uniform mt_normal mt_lognormal "
            "mt_exponential mt_laplace mt_logistic "
            "graph_call ");
}

// ---- elementwise ops, of inputs that are broadcast -----------------------------------------------------------------

class ForwardOfElementwise : public testing::TestWithParam<DType> {};

TEST_P(ForwardOfElementwise, AgreesWithDifferencesAndReverseMode) {
  RandomState random(1234);
  int checked = 0;
  for (const Op* op : elementwise_ops()) {
    const ScalarOp& record = *op->scalar;
    const Props props = op == &cast_op() ? Props{{"dtype", GetParam()}} : Props{};
    const size_t arity = static_cast<size_t>(record.arity);
    if (!record.gradient || !record.signature(std::vector<DType>(arity, GetParam()), props)) continue;
    std::vector<Expr> inputs, given;
    std::vector<Tensor> values;
    for (size_t k = 0; k < arity; ++k) {
      if (op == &switch_op() && k == 0) {
        given.push_back(make_constant(Tensor::matrix<int64_t>({{1, 0, 2}, {0, 3, 0}})));
        continue;
      }
      const Shape shape = k + 1 == arity && arity > 1 ? Shape{3} : Shape{2, 3};
      given.push_back(make_input({.dtype = GetParam(), .dims = Dims(shape.begin(), shape.end())}, "x"));
      inputs.push_back(given.back());
      values.push_back(Tensor::empty(GetParam(), shape));
      for (int64_t i = 0; i < values.back().size(); ++i) {
        const double x = random.uniform(record.low, record.high), y = random.uniform(-0.5, 0.5);
        if (is_complex(GetParam()))
          values.back().data<std::complex<double>>()[i] = {x, y};
        else
          values.back().data<double>()[i] = x;
      }
    }
    const Expr first = elementwise(*op, given, props, std::source_location::current());
    std::vector<Expr> outputs;
    for (size_t o = 0; o < first.node().types.size(); ++o) outputs.emplace_back(first.node_ptr(), o);
    const Point all(op->name, inputs, values, outputs, random);
    expect_differences(all);
    EXPECT_TRUE(expect_the_transpose(all)) << op->name;
    // One input at a time: the tangent has to get the shape of the output.
    for (size_t k = 0; k < all.wrt.size(); ++k) {
      Point one = all;
      one.wrt = {all.wrt[k]};
      one.tangents = {all.tangents[k]};
      one.directions = {all.directions[k]};
      expect_differences(one);
    }
    ++checked;
  }
  EXPECT_GE(checked, is_complex(GetParam()) ? 20 : 45);
}

INSTANTIATE_TEST_SUITE_P(DTypes, ForwardOfElementwise, testing::Values(DType::kFloat64, DType::kComplex128),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace thtrain
