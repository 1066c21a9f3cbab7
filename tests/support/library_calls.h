// What programs on the device under test call of its libraries.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "compiler/api.h"
#include "compiler/base/str.h"
#include "compiler/ir/compare.h"
#include "tests/support/device_under_test.h"
#include "tests/support/numbers.h"

namespace thtrain {

/// The functions, as `explain` lists them: "emulated_cublas_gemm_f32"; "none" where it calls none.
inline std::string called_libraries(const Function& f) {
  const std::string text = f.explain().device, before = "// calls of libraries: ";
  const size_t at = text.find(before);
  return at == std::string::npos ? "none" : text.substr(at + before.size(), text.find('\n', at) - at - before.size());
}

/// What a program calls the function of a library: those of the emulated device have other names.
inline std::string name_on_device(const std::string& function) {
  return (device_under_test().is_emulated() ? "emulated_" : "") + function;
}

/// y of random x, compiled so for the device, is what the reference computes, to 256 units in the last place; the
/// function calls those of libraries.
inline void expect_by_library(const std::vector<Type>& inputs, const std::function<Expr(const std::vector<Expr>& x)>& y,
                              const std::vector<std::string>& functions, const FunctionOptions& options) {
  std::vector<Expr> x;
  std::vector<In> arguments;
  std::vector<Tensor> values;
  for (const Type& type : inputs) {
    x.push_back(tensor(str("x", x.size()), type.dims, type.dtype));
    arguments.emplace_back(x.back());
    values.push_back(numbers(type, values.size() + 1));
  }
  const Expr result = y(x);
  Function f = function(arguments, {result}, {}, options);
  const std::string expected_calls = join(functions, ", ", name_on_device);
  EXPECT_EQ(called_libraries(f), expected_calls);
  const Tensor expected = function(arguments, {result}, {}, {.mode = Mode::kReference})(values)[0];
  EXPECT_EQ(difference(f(values)[0], expected, 256).value_or(""), "") << expected_calls << result.type().text();
}

}  // namespace thtrain
