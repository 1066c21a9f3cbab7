// After PyTensor's tests/compile/function/test_pfunc.py, test_types.py and test_function.py and
// tests/compile/test_shared.py: what is refused there is refused here.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "tests/compiler/suites/suite.h"
#include "tests/support/error_text.h"
#include "tests/support/golden_text.h"

namespace thtrain::function_errors_suite {
namespace {

Tensor doubles(std::initializer_list<double> values) {
  return Tensor::vector(values);
}

struct FunctionError {
  std::string name;
  void (*run)();
};

TEST(FunctionSuite, GoldenErrors) {
  const std::vector<FunctionError> cases = {
      {"TestPfunc.test_update_err_broadcast",
       [] {
         const Shared data(Tensor::zeros(DType::kFloat64, {10, 10}), "data");
         const Expr x = matrix("x");
         function({x}, {}, {{data, sum(data + 0)}}, {.unused_inputs = UnusedInputs::kAllowed});
       }},
      {"TestPfunc.test_duplicate_updates",
       [] {
         const Expr x = matrix("x"), y = matrix("y");
         const Shared z(Tensor::zeros(DType::kFloat64, {2, 3}), "z");
         function({}, {z + 0}, {{z, z + 1}, {z, z - 1}});
       }},
      {"TestPfunc.test_duplicate_inputs",
       [] {
         const Expr x = iscalar("x");
         function({x, x, x}, {x});
       }},
      {"TestPfunc.test_param_strict",
       [] {
         const Expr a = tensor_of_rank("a", 1, DType::kInt64);
         function({a}, {a + 1})({doubles({1.5})});
       }},
      {"TestFunction.test_extra_inputs",
       [] {
         const Expr x = scalar("x");
         function({x}, {x * 2})({number(1), number(2)});
       }},
      {"TestFunction.test_missing_inputs",
       [] {
         const Expr x = scalar("x");
         function({}, {x * 2});
       }},
      {"TestFunction.test_missing_inputs[call]",
       [] {
         const Expr x = scalar("x"), s = scalar("s");
         function({x, s}, {x / s})({number(1)});
       }},
      {"TestFunction.test_naming_rule0[unknown]",
       [] {
         const Expr x = scalar("x");
         function({x}, {x * 2})(std::map<std::string, Tensor>{{"q", number(2)}});
       }},
      {"TestFunction.test_disconnected_input",
       [] {
         const Expr a = scalar("a"), v = vector("v");
         function({a, v}, {v * 2});
       }},
      {"TestFunction.test_masked_input",
       [] {
         const Expr m = matrix("m");
         const Expr masked = m.T();
         function({m, masked}, {m + 1});
       }},
      {"TestFunctionIn.test_in_update_wrong_dtype",
       [] {
         const Shared a(Tensor::vector({1.0F, 2.0F}), "a");
         const Expr b = vector("b", {2});
         function({b}, {a + b}, {{a, b}});
       }},
      {"TestSharedVariable.test_scalar_strict",
       [] {
         const Shared b(int8_t{7}, "b");
         b.set_value(number(8.23));
       }},
      {"TestSharedVariable.test_tensor_strict",
       [] {
         const Shared b(Tensor::vector<float>({7, 8}), "b");
         b.set_value(doubles({1, 2}));
       }},
      {"TestSharedVariable.test_tensor_strict[lengths]",
       [] {
         const Shared b(doubles({7, 8}), "b");
         b.set_value(doubles({1, 2, 3}));
       }},
      {"TestFunction.test_copy[no_variable]",
       [] {
         const Shared a(1.0, "a"), b(2.0, "b"), c(3.0, "c");
         function({}, {a + 1}).copy({{b, c}});
       }},
  };
  std::string texts;
  for (const FunctionError& one : cases) {
    const std::string text = text_without_node(one.run);
    EXPECT_NE(text, "no error") << one.name;
    texts += str("# ", one.name, "\n", text, "\n\n");
  }
  expect_golden(texts, "suite_function_errors.txt");
}

}  // namespace
}  // namespace thtrain::function_errors_suite
