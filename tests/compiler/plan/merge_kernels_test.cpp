// Kernels that differ in constants alone, and values that are computed where a join wants them.
#include "compiler/plan/merge_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/api.h"
#include "compiler/codegen/emit.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/plan/program.h"

namespace thtrain::merge_kernels_test {
namespace {

Program planned(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs) {
  CanonicalGraph canonical = canonical_lengths({inputs, outputs, {}});
  return plan(optimize(canonical.graph, {}), canonical.value_checks, {.target = {.vector_bytes = 32}});
}

size_t kernels(const Program& program) {
  return emit_cpp(program).text.kernels.size();
}

size_t steps(const Program& program) {
  size_t out = 0;
  for_each_step(program.body, [&](const Step&) { ++out; });
  return out;
}

// x times 2, 3, ... one result each.
std::vector<Expr> multiples(const Expr& x, int count) {
  std::vector<Expr> out;
  for (int i = 0; i < count; ++i) out.push_back(sin(x * (i + 2)));
  return out;
}

// Native and reference give the same for an x of seven elements.
void expect_the_reference(const Expr& x, const std::vector<Expr>& outputs) {
  const std::vector<In> in{x};
  const std::vector<Out> out(outputs.begin(), outputs.end());
  Function native = function(in, out, {}, {.threads = 1});
  Function reference = function(in, out, {}, {.mode = Mode::kReference});
  const Tensor value = Tensor::of(std::vector<double>{0.5, -1, 2, 3.25, 0, 7, -0.125}, {7}).cast(x.dtype());
  const std::vector<Tensor> a = native({value}), b = reference({value});
  for (size_t k = 0; k < a.size(); ++k) {
    ASSERT_EQ(a[k].shape(), b[k].shape());
    for (int64_t i = 0; i < a[k].size(); ++i) {
      const double expected = b[k].as_double(i);
      if (a[k].as_double(i) == expected) continue;  // infinities
      EXPECT_NEAR(a[k].as_double(i), expected, 1e-6 * (1 + std::fabs(expected))) << "output " << k << ", element " << i;
    }
  }
}

TEST(MergeKernels, KernelsThatDifferInConstantsAloneAreOne) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const Expr x = tensor("x", {"n"}, dtype);
    EXPECT_EQ(kernels(planned({x}, multiples(x, 40))), 1u);
    expect_the_reference(x, multiples(x, 40));
  }
}

TEST(MergeKernels, FewKernelsKeepTheirConstants) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  EXPECT_EQ(kernels(planned({x}, multiples(x, 7))), 7u);
  EXPECT_EQ(kernels(planned({x}, multiples(x, 8))), 1u);
}

TEST(MergeKernels, AConstantOfAllStaysInTheKernel) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  std::vector<Expr> outputs;
  for (int i = 0; i < 9; ++i) outputs.push_back(sin(x * (i + 2)) * 0.375);
  const std::string text = whole_text(emit_cpp(planned({x}, outputs)).text);
  EXPECT_NE(text.find("0.375"), std::string::npos) << text;
  EXPECT_EQ(text.find("c1"), std::string::npos) << text;
}

TEST(MergeKernels, ConstantsThatAreNoOrdinaryNumbersArePassedToo) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  std::vector<Expr> outputs;
  for (double c : {2.5, -0.0, 1e-310, std::numeric_limits<double>::infinity(), -1e300, 0.1, 3.0, 1e17})
    outputs.push_back(maximum(cos(x), c));
  expect_the_reference(x, outputs);
}

// x times 2, 3, ... one after the other in a vector.
Expr written_parts(const Expr& x, int64_t count) {
  Expr y = zeros({7 * count}, DType::kFloat64);
  for (int64_t i = 0; i < count; ++i) y = set_subtensor(y[Slice{7 * i, 7 * i + 7}], x * (i + 2));
  return y;
}

TEST(MergeKernels, MoreWritesOfPartsNeedNoMoreKernels) {
  const Expr x = tensor("x", {7}, DType::kFloat64);
  EXPECT_EQ(kernels(planned({x}, {written_parts(x, 30)})), kernels(planned({x}, {written_parts(x, 60)})));
  expect_the_reference(x, {written_parts(x, 30)});
}

TEST(Join, ValuesAreComputedWhereTheyAreJoined) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const std::vector<Expr> values = multiples(x, 3);
  EXPECT_EQ(steps(planned({x}, {join(0, {values[0], values[1], values[2]})})), 3u);
  expect_the_reference(x, {join(0, {values[0], values[1], values[2]})});
}

TEST(Join, WhatIsReadElsewhereTooIsComputedInItsLocationOnce) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const Expr a = exp(x), all = join(0, {a, sin(x)});
  const Expr other = dot(a, cos(x));
  expect_the_reference(x, {all, other});
  expect_the_reference(x, {all, a});
  expect_the_reference(x, {sum(all), a});
}

TEST(Join, AValueThatIsJoinedTwiceIsCopiedOnce) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64), a = exp(x);
  EXPECT_EQ(steps(planned({x}, {join(0, {a, x, a})})), 3u);
  expect_the_reference(x, {join(0, {a, x, a})});
}

TEST(Join, OfJoinsNeedsNoCopy) {
  const Expr x = tensor("x", {"n"}, DType::kFloat64);
  const Expr inner = join(0, {exp(x), sin(x)});
  EXPECT_EQ(steps(planned({x}, {join(0, {inner, cos(x)})})), 3u);
  expect_the_reference(x, {join(0, {inner, cos(x)})});
}

TEST(Join, ColumnsAreComputedWhereTheyAreJoined) {
  const Expr x = tensor("x", {"n", "m"}, DType::kFloat64);
  const Program program = planned({x}, {join(1, {exp(x), sin(x)})});
  EXPECT_EQ(steps(program), 2u);
  Function native = function({x}, {join(1, {exp(x), sin(x)})}, {}, {.threads = 1});
  const Tensor value = Tensor::of(std::vector<double>{0, 1, 2, 3, 4, 5}, {2, 3});
  const Tensor out = native({value})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 6}));
  EXPECT_DOUBLE_EQ(out.at<double>({1, 5}), std::sin(5.0));
  Function debug = function({x}, {sum(join(1, {exp(x), sin(x)}))}, {}, {.mode = Mode::kDebug});
  EXPECT_NO_THROW(debug({value})) << "a part that is no block of memory is where it may be written";
}

// A product writes whole rows of its own; a last axis of joined numbers has no rows that vectors could store.
TEST(Join, ColumnsOfOtherStepsAndSingleColumnsAreCopied) {
  const Expr x = tensor("x", {"n", "m"}, DType::kFloat64), v = tensor("v", {"k"}, DType::kFloat64);
  EXPECT_EQ(steps(planned({x}, {join(1, {dot(x, transpose(x)), sin(x)})})), 3u);
  EXPECT_EQ(steps(planned({v}, {stack({exp(v), sin(v)}, 1)})), 4u);
  expect_the_reference(v, {stack({exp(v), sin(v)}, 1)});
}

TEST(Join, AVariableKeepsItsOldValueUntilItsReadersHaveRun) {
  Shared w(Tensor::of(std::vector<double>{1, 2, 3, 4}, {4}), "w");
  const Expr old = w.expr();
  // The new second half is made of the old first half.
  const Expr next = join(0, {old[Slice{2, 4}] * 10, old[Slice{0, 2}] + 0.5});
  Function step = function({}, {}, {{w, next}}, {.threads = 1});
  step({});
  const Tensor now = w.get_value();
  EXPECT_EQ(now.at<double>({0}), 30);
  EXPECT_EQ(now.at<double>({1}), 40);
  EXPECT_EQ(now.at<double>({2}), 1.5);
  EXPECT_EQ(now.at<double>({3}), 2.5);
}

}  // namespace
}  // namespace thtrain::merge_kernels_test
