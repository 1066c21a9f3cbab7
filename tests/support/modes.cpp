#include "tests/support/modes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/gradient.h"
#include "compiler/runtime/function.h"

namespace thtrain {

std::vector<Tensor> in_all_modes(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                                 const std::vector<Tensor>& values, double bound) {
  const std::vector<In> given(inputs.begin(), inputs.end());
  const std::vector<Out> wanted(outputs.begin(), outputs.end());
  const std::vector<Tensor> native = function(given, wanted)(values);
  const std::vector<Tensor> reference = function(given, wanted, {}, {.mode = Mode::kReference})(values);
  const std::vector<Tensor> debug = function(given, wanted, {}, {.mode = Mode::kDebug})(values);
  for (size_t k = 0; k < native.size(); ++k) {
    EXPECT_EQ(native[k].shape(), reference[k].shape());
    for (int64_t i = 0; i < native[k].size(); ++i) {
      EXPECT_NEAR(native[k].as_double(i), reference[k].as_double(i),
                  bound * std::max(1.0, std::abs(reference[k].as_double(i))))
          << "output " << k << ", element " << i;
      EXPECT_EQ(native[k].as_double(i), debug[k].as_double(i)) << "output " << k << ", element " << i;
    }
  }
  return native;
}

void expect_gradient(const Expr& cost, const std::vector<Expr>& inputs, const std::vector<Tensor>& values,
                     double bound) {
  const std::vector<Expr> gradients = grad(cost, inputs);
  const std::vector<Tensor> got = in_all_modes(inputs, gradients, values);
  const Function f = function(std::vector<In>(inputs.begin(), inputs.end()), {cost}, {}, {.mode = Mode::kReference});
  for (size_t k = 0; k < inputs.size(); ++k)
    for (int64_t i = 0; i < values[k].size(); ++i) {
      const double h = 1e-6;
      std::vector<Tensor> up, down;
      for (const Tensor& value : values) {
        up.push_back(value.copy());
        down.push_back(value.copy());
      }
      up[k].data<double>()[i] += h;
      down[k].data<double>()[i] -= h;
      Function call = f;
      const double slope = (call(up)[0].as_double() - call(down)[0].as_double()) / (2 * h);
      EXPECT_NEAR(got[k].as_double(i), slope, bound * std::max(1.0, std::abs(slope))) << "input " << k << ", " << i;
    }
}

}  // namespace thtrain
