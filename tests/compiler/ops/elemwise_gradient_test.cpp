// Derivatives of elementwise ops: against differences for every record, and at the points that need care.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/autodiff/gradient.h"
#include "compiler/base/random_state.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/elemwise/scalar_table.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"

namespace thtrain {
namespace {

using Bindings = std::vector<std::pair<Expr, Tensor>>;

Tensor random_tensor(RandomState& rng, DType dtype, const Shape& shape, double low, double high) {
  Tensor out = Tensor::empty(dtype, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    if (dtype == DType::kFloat64)
      out.data<double>()[i] = rng.uniform(low, high);
    else
      out.data<std::complex<double>>()[i] = {rng.uniform(low, high), rng.uniform(-0.5, 0.5)};
  }
  return out;
}

// The loss Re(sum(weights * output)) over the float and complex outputs.
Expr loss_of(const std::vector<Expr>& outputs, Bindings& bound, RandomState& rng) {
  Expr loss;
  for (const Expr& output : outputs) {
    Expr weights = make_input(output.type(), "weights");
    bound.emplace_back(weights, random_tensor(rng, output.dtype(), output.type().known_shape(), 0.5, 1.5));
    Expr part = real(sum(output * weights));
    loss = loss.has_value() ? loss + part : part;
  }
  return loss;
}

// For each element of each input, a step along the real and along the imaginary axis: a cotangent r of z says that the
// loss changes by Re(r dz).
void check_gradient(const std::string& name, const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                    Bindings bound, RandomState& rng) {
  Expr loss = loss_of(outputs, bound, rng);
  std::vector<Expr> gradients = grad(loss, inputs);
  for (size_t k = 0; k < inputs.size(); ++k) ASSERT_EQ(gradients[k].type().text(), inputs[k].type().text()) << name;
  std::vector<Tensor> exact = evaluate(gradients, bound);
  const double step = 1e-6;
  auto loss_at = [&](size_t k, int64_t i, std::complex<double> change) {
    Bindings moved = bound;
    Tensor& x = moved[k].second;
    x = x.copy();
    if (x.dtype() == DType::kFloat64)
      x.data<double>()[i] += change.real();
    else
      x.data<std::complex<double>>()[i] += change;
    return evaluate({loss}, moved)[0].as_double();
  };
  for (size_t k = 0; k < inputs.size(); ++k)
    for (int64_t i = 0; i < exact[k].size(); ++i) {
      bool complex = is_complex(inputs[k].dtype());
      std::complex<double> r = complex ? exact[k].data<std::complex<double>>()[i] : exact[k].data<double>()[i];
      for (std::complex<double> direction : {std::complex<double>(1, 0), std::complex<double>(0, 1)}) {
        if (!complex && direction.real() == 0) continue;
        double numeric = (loss_at(k, i, direction * step) - loss_at(k, i, -direction * step)) / (2 * step);
        double expected = (r * direction).real();
        EXPECT_NEAR(numeric, expected, 1e-6 * std::max(1.0, std::abs(expected))) << name << ", input " << k;
      }
    }
}

class ElemwiseGradient : public testing::TestWithParam<DType> {};

TEST_P(ElemwiseGradient, AgreesWithDifferences) {
  RandomState rng(1234);
  int checked = 0;
  for (const Op* op : elementwise_ops()) {
    const ScalarOp& record = *op->scalar;
    Props props = op == &cast_op() ? Props{{"dtype", GetParam()}} : Props{};
    if (!record.gradient) continue;
    size_t arity = static_cast<size_t>(record.arity);
    std::vector<DType> dtypes(arity, GetParam());
    if (!record.signature(dtypes, props)) continue;
    std::vector<Expr> inputs, given;
    Bindings bound;
    for (size_t k = 0; k < arity; ++k) {
      bool is_condition = op == &switch_op() && k == 0;
      Shape shape = k + 1 == arity && arity > 1 ? Shape{3} : Shape{2, 3};
      if (is_condition) {
        given.push_back(make_constant(Tensor::matrix<int64_t>({{1, 0, 2}, {0, 3, 0}})));
        continue;
      }
      given.push_back(make_input({.dtype = dtypes[k], .dims = Dims(shape.begin(), shape.end())}, "x"));
      inputs.push_back(given.back());
      bound.emplace_back(given.back(), random_tensor(rng, dtypes[k], shape, record.low, record.high));
    }
    Expr first = elementwise(*op, given, props, std::source_location::current());
    std::vector<Expr> outputs;
    for (size_t o = 0; o < first.node().types.size(); ++o) outputs.push_back(Expr(first.node_ptr(), o));
    check_gradient(op->name, inputs, outputs, bound, rng);
    ++checked;
  }
  EXPECT_GE(checked, is_complex(GetParam()) ? 20 : 45);
}

INSTANTIATE_TEST_SUITE_P(DTypes, ElemwiseGradient, testing::Values(DType::kFloat64, DType::kComplex128),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// d sum(f(x, y)) / d (x, y) at one point.
std::vector<double> derivatives_at(double x_value, double y_value, Expr (*f)(const Expr&, const Expr&)) {
  Expr x = make_input({.dtype = DType::kFloat64}, "x"), y = make_input({.dtype = DType::kFloat64}, "y");
  std::vector<Expr> gradients = grad(f(x, y), {x, y}, {.disconnected = Disconnected::kZero});
  std::vector<Tensor> values = evaluate(gradients, {{x, Tensor(x_value)}, {y, Tensor(y_value)}});
  return {values[0].as_double(), values[1].as_double()};
}

TEST(ElemwiseGradientAt, PowersOfZero) {
  auto power = [](const Expr& x, const Expr& y) { return pow(x, y); };
  EXPECT_EQ(derivatives_at(0, 2, power), (std::vector<double>{0, 0}));
  EXPECT_EQ(derivatives_at(0, 1, power), (std::vector<double>{1, 0}));
  EXPECT_EQ(derivatives_at(0, 0, power), (std::vector<double>{0, 0}));
  EXPECT_EQ(derivatives_at(-3, 2, power)[0], -6);
  EXPECT_EQ(derivatives_at(INFINITY, 0, power)[0], 0);
  auto second = [](const Expr& x, const Expr& y) { return grad(pow(x, y), x); };
  EXPECT_EQ(derivatives_at(0, 2, second)[0], 2);
  EXPECT_EQ(derivatives_at(0, 1, second)[0], 0);
}

TEST(ElemwiseGradientAt, TiesGoToTheFirst) {
  auto larger = [](const Expr& x, const Expr& y) { return maximum(x, y); };
  auto smaller = [](const Expr& x, const Expr& y) { return minimum(x, y); };
  EXPECT_EQ(derivatives_at(2, 2, larger), (std::vector<double>{1, 0}));
  EXPECT_EQ(derivatives_at(1, 2, larger), (std::vector<double>{0, 1}));
  EXPECT_EQ(derivatives_at(2, 2, smaller), (std::vector<double>{1, 0}));
  EXPECT_EQ(derivatives_at(1, 2, smaller), (std::vector<double>{1, 0}));
}

TEST(ElemwiseGradientAt, ClipPassesAtBothBounds) {
  auto clipped = [](const Expr& x, const Expr& high) { return clip(x, -1, high); };
  EXPECT_EQ(derivatives_at(-1, 2, clipped), (std::vector<double>{1, 0}));
  EXPECT_EQ(derivatives_at(2, 2, clipped), (std::vector<double>{1, 0}));
  EXPECT_EQ(derivatives_at(-1.5, 2, clipped), (std::vector<double>{0, 0}));
  EXPECT_EQ(derivatives_at(2.5, 2, clipped), (std::vector<double>{0, 1}));
  EXPECT_EQ(derivatives_at(0, -3, clipped), (std::vector<double>{0, 1}));  // the bounds cross
}

TEST(ElemwiseGradientAt, AbsAndSignAtZero) {
  auto distance = [](const Expr& x, const Expr&) { return abs(x); };
  EXPECT_EQ(derivatives_at(0, 0, distance)[0], 0);
  EXPECT_EQ(derivatives_at(-2, 0, distance)[0], -1);
  auto direction = [](const Expr& x, const Expr&) { return sign(x); };
  EXPECT_EQ(derivatives_at(5, 0, direction)[0], 0);
}

TEST(ElemwiseGradientAt, SaturatedFunctionsStayFinite) {
  auto squashed = [](const Expr& x, const Expr& y) { return sigmoid(x) + softplus(y); };
  EXPECT_EQ(derivatives_at(-1e4, -1e4, squashed), (std::vector<double>{0, 0}));
  EXPECT_EQ(derivatives_at(1e4, 1e4, squashed), (std::vector<double>{0, 1}));
}

TEST(ElemwiseGradientAt, MixedDTypesGetTheirOwnBack) {
  Expr x = make_input({.dtype = DType::kFloat32, .dims = {2, 1}}, "x");
  Expr y = make_input({.dtype = DType::kFloat64, .dims = {3}}, "y");
  Expr z = make_input({.dtype = DType::kComplex64, .dims = {}}, "z");
  std::vector<Expr> gradients = grad(real(sum(x * y * z)), {x, y, z});
  EXPECT_EQ(gradients[0].type().text(), "float32[2, 1]");
  EXPECT_EQ(gradients[1].type().text(), "float64[3]");
  EXPECT_EQ(gradients[2].type().text(), "complex64[]");
}

TEST(ElemwiseGradientAt, NotConnected) {
  auto node_of = [](const Expr& e) -> const Node& { return e.node(); };
  Expr x = make_input({.dtype = DType::kFloat64}, "x"), n = make_input({.dtype = DType::kInt64}, "n");
  Expr product = x * n;
  EXPECT_TRUE(mul_op().connection(node_of(product), 0, 0));
  EXPECT_FALSE(mul_op().connection(node_of(product), 1, 0));
  Expr less = x < 1;
  EXPECT_FALSE(lt_op().connection(node_of(less), 0, 0));
  Expr whole = cast(x, DType::kInt64);
  EXPECT_FALSE(cast_op().connection(node_of(whole), 0, 0));
  Expr chosen = switch_(x, x, 0);
  EXPECT_FALSE(switch_op().connection(node_of(chosen), 0, 0));
  EXPECT_TRUE(switch_op().connection(node_of(chosen), 1, 0));
}

}  // namespace
}  // namespace thtrain
