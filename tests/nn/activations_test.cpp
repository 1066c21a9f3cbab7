#include "nn/activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/runtime/function.h"
#include "tests/support/golden_lines.h"

namespace thtrain {
namespace {

// PyTorch's values: "tanh" and "derivative tanh", and the inputs "x", "rows" and "cotangent".
std::map<std::string, Tensor> golden(DType dtype) {
  std::map<std::string, Tensor> out;
  for (const GoldenLine& line : golden_lines("activations.txt"))
    out[line.arguments.empty() ? line.name : line.name + " " + line.arguments[0]] = line.result(dtype);
  return out;
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(got.type_text(), want.type_text());
  for (int64_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got.as_double(i), want.as_double(i), tolerance * std::max(1.0, std::abs(want.as_double(i)))) << i;
}

struct Activated {
  Expr x, y, derivative;
};

Activated activated(const std::string& name, DType dtype, std::map<std::string, Tensor>& values) {
  const bool is_softmax = name == "softmax";
  Activated out;
  out.x = make_input(type_of(values.at(is_softmax ? "rows" : "x")), "x");
  out.y = apply_activation(name, out.x);
  EXPECT_EQ(out.y.dtype(), dtype);
  out.derivative = grad(sum(is_softmax ? out.y * make_constant(values.at("cotangent")) : out.y), out.x);
  return out;
}

TEST(Activations, AndTheirDerivativesArePyTorchs) {
  for (DType dtype : {DType::kFloat64, DType::kFloat32}) {
    std::map<std::string, Tensor> values = golden(dtype);
    for (const std::string& name : activation_function_names()) {
      if (name == "linear") continue;
      SCOPED_TRACE(str(name, " ", name_of(dtype)));
      Activated f = activated(name, dtype, values);
      const Tensor& x = values.at(name == "softmax" ? "rows" : "x");
      std::vector<Tensor> got = evaluate({f.y, f.derivative}, {{f.x, x}});
      const double tolerance = dtype == DType::kFloat64 ? 1e-14 : 4e-6;
      expect_near(got[0], values.at(name), tolerance);
      expect_near(got[1], values.at("derivative " + name), tolerance);
    }
  }
}

TEST(Activations, NativeCodeComputesThem) {
  std::map<std::string, Tensor> values = golden(DType::kFloat64);
  std::vector<In> inputs = {vector("x", {23}), matrix("rows", {4, 3})};
  std::vector<Out> outputs;
  std::vector<Tensor> wanted;
  for (const char* name :
       {"elu", "selu", "gelu", "gelu_tanh", "leaky_relu", "swish", "hard_sigmoid", "softsign", "softmax"}) {
    const bool is_softmax = std::string_view(name) == "softmax";
    const Expr& x = inputs[is_softmax ? 1 : 0].variable;
    Expr y = apply_activation(name, x);
    outputs.emplace_back(y);
    outputs.emplace_back(grad(sum(is_softmax ? y * make_constant(values.at("cotangent")) : y), x));
    wanted.push_back(values.at(name));
    wanted.push_back(values.at(str("derivative ", name)));
  }
  std::vector<Tensor> got = function(inputs, outputs)({values.at("x"), values.at("rows")});
  for (size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(got[i], wanted[i], 1e-14);
  }
}

TEST(Activations, DerivativesAgreeWithDifferences) {
  const std::vector<double> at = {-7, -3.5, -2, -0.75, -0.2, 0.3, 0.9, 1.7, 2.6, 5};  // away from kinks
  const double step = 1e-6;
  for (const std::string& name : activation_function_names()) {
    SCOPED_TRACE(name);
    Expr x = tensor("x", {2, 5}, DType::kFloat64), weights = tensor("weights", {2, 5}, DType::kFloat64);
    Expr cost = sum(weights * apply_activation(name, x)), derivative = grad(cost, x);
    Tensor value = Tensor::of(at, {2, 5}),
           factors = Tensor::of(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 5});
    Tensor exact = evaluate({derivative}, {{x, value}, {weights, factors}})[0];
    for (int64_t i = 0; i < 10; ++i) {
      auto cost_at = [&](double change) {
        Tensor moved = value.copy();
        moved.data<double>()[i] += change;
        return evaluate({cost}, {{x, moved}, {weights, factors}})[0].as_double();
      };
      EXPECT_NEAR(exact.as_double(i), (cost_at(step) - cost_at(-step)) / (2 * step), 2e-7) << i;
    }
  }
}

TEST(Activations, KeepNaN) {
  Tensor at = Tensor::vector({std::nan("")});
  Expr x = vector("x", {1});
  for (const std::string& name : activation_function_names())
    EXPECT_TRUE(std::isnan(evaluate({apply_activation(name, x)}, {{x, at}})[0].as_double())) << name;
}

}  // namespace
}  // namespace thtrain
