// Calls of functions that are compiled for a target, compared with the reference.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/api.h"
#include "compiler/ir/compare.h"

namespace thtrain {

inline Expr f64(const std::string& name, const Dims& dims) {
  return tensor(name, dims, DType::kFloat64);
}

/// From -9/8 to 9/8, without an order.
inline Tensor numbers(const Shape& shape) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i * 7 % 19 - 9) / 8;
  return out;
}

/// Natively and by the reference, within 64 ulp.
inline void expect_equal(const std::vector<In>& inputs, const std::vector<Out>& outputs,
                         const std::vector<Tensor>& values, const FunctionOptions& options) {
  Function f = function(inputs, outputs, {}, options);
  EXPECT_TRUE(f.is_native());
  const std::vector<Tensor> got = f(values),
                            expected = function(inputs, outputs, {}, {.mode = Mode::kReference})(values);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_FALSE(difference(got[i], expected[i], 64)) << "output " << i;
}

}  // namespace thtrain
