// Functions that are compiled as scalar C99: threads, the text, and who computes what.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/target_calls.h"

namespace thtrain::c99_test {
namespace {

FunctionOptions c99() {
  return {.target = kernel::c99_target(2)};
}

TEST(C99, ThreadsShareARange) {
  const Expr x = f64("x", {"n"}), m = f64("m", {"k", "n"});
  FunctionOptions options = c99();
  options.threads = 2;
  expect_equal({x, m}, {sqrt(abs(x)) + exp(x), sum(m, {0}), mean(m)}, {numbers({300'000}), numbers({4, 300'000})},
               options);
}

// Strict C: nothing of a compiler, a processor or a library but libc's headers.
TEST(C99, TheTextIsOfTheStandardAlone) {
  const Expr x = tensor("x", {"n", 30}, DType::kFloat32), w = tensor("w", {30, 5}, DType::kFloat32);
  const std::string text = function({x, w}, {softmax(tanh(dot(x, w))), argmax(x, {1})}, {}, c99()).explain().cpp;
  for (const char* word : {"__builtin", "__attribute__", "vector_size", "template", "library[", "gemm"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  EXPECT_NE(text.find("#include <math.h>"), std::string::npos);
}

TEST(C99, CandidatesCallNoLibraries) {
  const kernel::Target target = kernel::c99_target();
  const kernel::ChoiceKey key = key_of(MatrixProduct{DType::kFloat32, 60, 500, 784, false, false, false});
  EXPECT_TRUE(candidates_of(key, target).empty());
  EXPECT_FALSE(find_candidate(key, "library", target));
  EXPECT_EQ(Tuner({.target = target}).choose(key), "loops");
  remember(TuningTable::parse(key.text() + " = library [1] 1e-06\n"), 7);
  EXPECT_TRUE(remembered(7, target).of(key.text()).empty()) << "measured for another target";
}

}  // namespace
}  // namespace thtrain::c99_test
