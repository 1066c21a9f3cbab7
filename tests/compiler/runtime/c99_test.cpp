// Functions that are compiled as scalar C99: the entry's own forms, what is left to references, and the text.
#include <gtest/gtest.h>

#include "compiler/api.h"
#include "compiler/ir/compare.h"
#include "compiler/ops/candidates.h"
#include "compiler/ops/linalg/matrix_product.h"
#include "compiler/tuning/tuner.h"
#include "tests/support/error_text.h"

namespace thtrain::c99_test {
namespace {

FunctionOptions c99() {
  return {.target = kernel::c99_target(2)};
}

Expr f64(const std::string& name, const Dims& dims) {
  return tensor(name, dims, DType::kFloat64);
}

Tensor numbers(const Shape& shape, DType dtype = DType::kFloat64) {
  Tensor out = Tensor::empty(DType::kFloat64, shape);
  for (int64_t i = 0; i < out.size(); ++i) out.data<double>()[i] = static_cast<double>(i * 7 % 19 - 9) / 8;
  return out.cast(dtype);
}

// As C99 and by the reference.
void expect_equal(const std::vector<In>& inputs, const std::vector<Out>& outputs, const std::vector<Tensor>& values,
                  FunctionOptions options = c99()) {
  Function f = function(inputs, outputs, {}, options);
  EXPECT_TRUE(f.is_native());
  const std::vector<Tensor> got = f(values),
                            expected = function(inputs, outputs, {}, {.mode = Mode::kReference})(values);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_FALSE(difference(got[i], expected[i], 64)) << "output " << i;
}

TEST(C99, LoopsAndBranchesEqualTheReference) {
  const Expr x = f64("x", {"n", 3}), w = f64("w", {3, 3});
  const Expr start = make_constant(Tensor::zeros(DType::kFloat64, {3}));
  const auto [states, updates] = scan([](Expr row, Expr h, Expr w) { return tanh(dot(h, w) + row); },
                                      {.sequences = {x}, .outputs_info = {start}, .non_sequences = {w}});
  expect_equal({x, w},
               {states, if_else(
                            gt(sum(x), 0), [&] { return x * 2; }, [&] { return exp(x); })},
               {numbers({5, 3}), numbers({3, 3})});
}

TEST(C99, ThreadsShareARange) {
  const Expr x = f64("x", {"n"}), m = f64("m", {"k", "n"});
  FunctionOptions options = c99();
  options.threads = 2;
  expect_equal({x, m}, {sqrt(abs(x)) + exp(x), sum(m, {0}), mean(m)}, {numbers({300'000}), numbers({4, 300'000})},
               options);
}

TEST(C99, UpdatesAreWrittenInPlace) {
  Shared w(numbers({4, 3})), c99_w(numbers({4, 3}));
  const Expr x = f64("x", {"n", 4});
  auto step = [&](Shared& of, FunctionOptions options) {
    const Expr error = dot(x, of.expr()) - 1.0;
    return function({x}, {mean(sqr(error))}, {{of, of.expr() - 0.1 * dot(transpose(x), error)}}, options);
  };
  Function native = step(w, {}), f = step(c99_w, c99());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(difference(f({numbers({5, 4})})[0], native({numbers({5, 4})})[0], 64));
  EXPECT_FALSE(difference(c99_w.get_value(), w.get_value(), 64));
}

TEST(C99, LengthsMayFollowFromTheData) {
  const Expr x = f64("x", {"n"});
  const Expr found = nonzero(gt(x, 0))[0];
  expect_equal({x}, {found, take(x, found) * 2.0, concatenate({x, take(x, found)}, 0)}, {numbers({50})});
}

TEST(C99, ErrorsAreThoseOfAProcessor) {
  const Expr x = f64("x", {"n"}), i = tensor("i", {"m"}, DType::kInt64);
  for (const Tensor& wrong : {Tensor::of(std::vector<int64_t>{0, 7}, {2}), Tensor::of(std::vector<int64_t>{-6}, {1})}) {
    auto text = [&](const FunctionOptions& options) {
      Function f = function({x, i}, {take(x, i)}, {}, options);
      return text_without_node([&] { f({numbers({5}), wrong}); });
    };
    EXPECT_EQ(text(c99()), text({}));
    EXPECT_TRUE(text(c99()).starts_with("error: "));
  }
}

TEST(C99, WhatHasNoLoopsIsComputedByTheReference) {
  const Expr m = f64("m", {3, 3});
  RandomStreams random(5), other(5);
  Function f = function({m}, {inverse(m + 9.0 * eye(3)), random.normal({4})}, {}, c99()),
           native = function({m}, {inverse(m + 9.0 * eye(3)), other.normal({4})});
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> got = f({numbers({3, 3})}), expected = native({numbers({3, 3})});
    for (size_t i = 0; i < got.size(); ++i) EXPECT_FALSE(difference(got[i], expected[i], 64));
  }
  std::vector<std::string> names = f.info().reference_steps;
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"inverse", "mt_normal"}));
  EXPECT_TRUE(native.info().reference_steps.empty());
}

TEST(C99, DebugModeAndTheProfileSeeEachStep) {
  const Expr x = f64("x", {"n", 3});
  FunctionOptions options = c99();
  options.mode = Mode::kDebug;
  expect_equal({x}, {softmax(x), sum(dot(x, transpose(x)))}, {numbers({4, 3})}, options);
  Function f = function({x}, {sum(exp(x))}, {}, c99());
  f.start_profile();
  f({numbers({4, 3})});
  EXPECT_EQ(f.profile().calls, 1);
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
