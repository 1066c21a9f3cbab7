// A wrong candidate that a program added through the public interface: the debug mode names it.
#include <gtest/gtest.h>

#include <regex>

#include "compiler/api.h"
#include "compiler/base/error.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/library_functions.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

// A product by its definition, but for the element [1, 2] where the first number is 0.
extern "C" void off_by_one(ThContext*, TH_GEMM_PARAMETERS(float)) {
  for (long i = 0; i < m; ++i)
    for (long j = 0; j < n; ++j) {
      float sum = 0;
      for (long p = 0; p < k; ++p)
        sum += (trans_a ? a[p * lda + i] : a[i * lda + p]) * (trans_b ? b[j * ldb + p] : b[p * ldb + j]);
      c[i * ldc + j] = *alpha_at * sum + (reads_c ? *beta_at * c[i * ldc + j] : 0);
    }
  if (m > 1 && n > 2 && a[0] == 0) c[ldc + 2] += 1;
}

// For products of 23 columns: nothing to the other tests.
std::vector<Candidate> offer(const kernel::ChoiceKey& key, const kernel::Target&) {
  const MatrixProduct product = *product_of(key.properties);
  if (product.n != 23 || product.dtype != DType::kFloat32) return {};
  kernel::LibraryFunction function = gemm_function(DType::kFloat32);
  function.name = "off_by_one";
  function.may_fail = false;
  return {{.name = "off by one", .functions = {"off_by_one"}, .lower = [function](kernel::StepBuilder& b) {
             call_product(b, function);
           }}};
}

TEST(DebugOfCandidates, NamesAWrongCandidateOfTheProgram) {
  add_library_function("off_by_one", [] { return LibraryImplementation{reinterpret_cast<void*>(off_by_one), "1"}; });
  add_candidates({"matrix_product", offer, nullptr, {"off by one"}});
  Expr x = tensor("x", {3, 4}, DType::kFloat32), y = tensor("y", {4, 23}, DType::kFloat32);
  auto made = [&](Mode mode) {
    return function({x, y}, {dot(x, y)}, {},
                    {.mode = mode, .threads = 1, .candidates = {{"matrix_product", "off by one"}}});
  };
  Tensor left = Tensor::empty(DType::kFloat32, {3, 4}), right = Tensor::empty(DType::kFloat32, {4, 23});
  for (int64_t i = 0; i < left.size(); ++i) left.data<float>()[i] = 1;
  for (int64_t i = 0; i < right.size(); ++i) right.data<float>()[i] = 2;
  Function checked = made(Mode::kDebug);
  ASSERT_EQ(checked.info().choices.at(0).candidate, "off by one");
  EXPECT_EQ(checked({left, right})[0].as_double(25), 8) << "right numbers are no error";
  left.data<float>()[0] = 0;
  EXPECT_EQ(made(Mode::kNative)({left, right})[0].as_double(25), 9);
  std::string text;
  try {
    checked({left, right});
  } catch (const UserError& error) {
    text = without_call(error.what());
  }
  text = std::regex_replace(text, std::regex("_test.cpp:[0-9]+"), "_test.cpp:LINE");
  EXPECT_EQ(text,
            "error: debug: native code and reference differ in step 0 (dot), output 0, which the candidate off by one "
            "computes\n"
            "  got:      at [1, 2]: 9, expected 8, bound 5.7e-06\n"
            "  node:     built at tests/compiler/runtime/debug_candidates_test.cpp:LINE\n"
            "  hint:     that candidate was added by add_candidates()");
}

}  // namespace
}  // namespace thtrain
