// The whole C++ text of a few small functions, at vectors of 32 bytes on every machine.
#include "compiler/codegen/emit.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/control/if_else.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/conv/conv.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/runtime/shared.h"
#include "tests/support/always_chooser.h"
#include "tests/support/golden_text.h"

namespace thtrain {
namespace {

// Without the interface that every generated source begins with.
std::string emitted_for(const kernel::Target& target, const Graph& graph, const kernel::Chooser* chooser = nullptr) {
  CanonicalGraph canonical = canonical_lengths(graph);
  Program program = plan(optimize(canonical.graph, {.chooser = chooser, .target = target}), canonical.value_checks,
                         {.target = target, .chooser = chooser});
  std::string text = whole_text(emit_cpp(program).text);
  const std::string& interface = interface_text();
  size_t at = text.find(interface);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, interface.size(), "// (entry_abi.h)\n\n");
}

std::string emitted(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                    const std::vector<Update>& updates = {}, int64_t non_temporal_threshold = 0,
                    const kernel::Chooser* chooser = nullptr) {
  return emitted_for({.vector_bytes = 32, .memory = {.non_temporal_bytes = non_temporal_threshold}},
                     {inputs, outputs, updates}, chooser);
}

Expr input(const std::string& name, const Dims& lengths, DType dtype) {
  return tensor(name, lengths, dtype);
}

TEST(GoldenCode, BiasAndRectifier) {
  Expr x = input("x", {"batch", 20}, DType::kFloat32), b = input("b", {20}, DType::kFloat32);
  expect_golden(emitted({x, b}, {maximum(x + b, 0) * 0.5}), "code/bias_and_rectifier.txt");
}

TEST(GoldenCode, ResultsThatGoPastTheCaches) {
  Expr a = input("a", {"n"}, DType::kFloat64), b = input("b", {"n"}, DType::kFloat64);
  expect_golden(emitted({a, b}, {2 * a + 3 * b}, {}, 1 << 20), "code/results_past_the_caches.txt");
}

TEST(GoldenCode, ALayerAsC99) {
  Expr x = input("x", {"batch", 20}, DType::kFloat32), w = input("W", {20, 5}, DType::kFloat32),
       b = input("b", {5}, DType::kFloat32);
  expect_golden(emitted_for(kernel::c99_target(), {{x, w, b}, {tanh(dot(x, w) + b)}, {}}), "code/c99_layer.txt");
}

TEST(GoldenCode, LengthsOfTheDataAsC99) {
  Expr x = input("x", {"n"}, DType::kFloat64);
  expect_golden(emitted_for(kernel::c99_target(), {{x}, {take(x, nonzero(gt(x, 0))[0]) / 3.0}, {}}),
                "code/c99_lengths_of_the_data.txt");
}

TEST(GoldenCode, IntegersOfUnknownLength) {
  Expr i = input("i", {"n"}, DType::kInt64), j = input("j", {"n"}, DType::kInt16);
  expect_golden(emitted({i, j}, {i % 3 + j, lt(i, j)}), "code/integers_of_unknown_length.txt");
}

TEST(GoldenCode, UpdateInPlaceByAMatrixProduct) {
  Shared w(Tensor::zeros(DType::kFloat64, {3, 4}), "W");
  Expr x = input("x", {"batch", 3}, DType::kFloat64), d = input("d", {"batch", 4}, DType::kFloat64);
  expect_golden(emitted({x, d}, {}, {{w, w.expr() - 0.125 * dot(transpose(x), d)}}), "code/update_in_place.txt");
}

TEST(GoldenCode, SoftmaxOfRows) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "kernels compute exp themselves on x86-64 only";
#endif
  Expr x = input("x", {"batch", 40}, DType::kFloat32);
  expect_golden(emitted({x}, {softmax(x)}), "code/softmax_of_rows.txt");
}

TEST(GoldenCode, SumOfRows) {
  Expr x = input("x", {"n", 21}, DType::kFloat32);
  expect_golden(emitted({x}, {sum(x, 1)}), "code/sum_of_rows.txt");
}

// The index is checked, and moves the row that is read.
TEST(GoldenCode, RowsByAnIndex) {
  Expr table = input("table", {30, 4}, DType::kFloat32), words = input("words", {"batch"}, DType::kInt32);
  expect_golden(emitted({table, words}, {take(table, words)}), "code/rows_by_an_index.txt");
}

TEST(GoldenCode, ALoopOfTheProgram) {
  Expr x = input("x", {6}, DType::kFloat64), w = input("w", {6, 6}, DType::kFloat64);
  auto iteration = [&](const std::vector<Expr>& s) { return std::vector<Expr>{tanh(dot(w, s[0]))}; };
  expect_golden(emitted({x, w}, repeat(5, {x}, iteration)), "code/loop_of_the_program.txt");
}

TEST(GoldenCode, ABranchOfTheProgram) {
  Expr x = input("x", {6}, DType::kFloat64), is_hot = input("is_hot", {}, DType::kBool);
  expect_golden(emitted({x, is_hot}, {if_else(
                                         is_hot, [&] { return x * 2; }, [&] { return x + 1; })}),
                "code/branch_of_the_program.txt");
}

TEST(GoldenCode, AConvolutionThatEndsWithItsActivation) {
  Expr x = input("x", {2, 1, 3, 9}, DType::kFloat32), w = input("w", {2, 1, 2, 2}, DType::kFloat32),
       b = input("b", {2}, DType::kFloat32);
  const Expr y = conv(x, w, {.flip = false});
  const Always chooser("rows 2x1");
  expect_golden(emitted({x, w, b}, {maximum(y + reshape(b, {1, 2, 1, 1}), 0)}, {}, 0, &chooser),
                "code/convolution_and_rectifier.txt");
}

// The data decides how many elements there are: their memory is asked for between two steps.
TEST(GoldenCode, ALengthThatTheDataDecides) {
  Expr x = input("x", {"n"}, DType::kFloat64), mask = input("mask", {"n"}, DType::kBool);
  expect_golden(emitted({x, mask}, {masked(x, mask)}), "code/length_by_the_data.txt");
}

// The text depends on the program alone: not on serial numbers, nor on what was built before.
TEST(Emit, SameProgramSameText) {
  auto text = [] {
    Expr x = input("x", {"n", 7}, DType::kFloat64), y = input("y", {7}, DType::kFloat64);
    return emitted({x, y}, {exp(x * y), softmax(x), x + 1});
  };
  std::string first = text();
  EXPECT_EQ(first, text());
}

// Equal kernels are one function, whatever buffers they are called on.
TEST(Emit, EqualKernelsArePrintedOnce) {
  Expr x = input("x", {"n"}, DType::kFloat32), y = input("y", {"n"}, DType::kFloat32);
  Expr m = input("m", {"n", "n"}, DType::kFloat32);
  CanonicalGraph canonical = canonical_lengths({{x, m}, {exp(dot(m, exp(dot(m, exp(dot(m, x))))))}, {}});
  Program program = plan(optimize(canonical.graph, {}), canonical.value_checks, {.target = {.vector_bytes = 32}});
  size_t kernel_steps = 0;
  for_each_step(program.body,
                [&](const Step& step) { kernel_steps += std::holds_alternative<kernel::KernelCall>(step.code); });
  EXPECT_EQ(kernel_steps, 3u);
  EXPECT_EQ(emit_cpp(program).text.kernels.size(), 1u);
}

TEST(Emit, TheEntryOfALongProgramIsNotOptimized) {
  auto products = [](int count) {
    Expr x = matrix("x", {7, 7}), w = matrix("w", {7, 7}), value = x;
    for (int i = 0; i < count; ++i) value = dot(value, w);
    return emitted({x, w}, {value});
  };
  const std::string mark =
      "__attribute__((optimize(\"O0\", \"no-expensive-optimizations\")))\n#endif\nint thtrain_entry";
  EXPECT_EQ(products(200).find(mark), std::string::npos);
  EXPECT_NE(products(201).find(mark), std::string::npos);
}

}  // namespace
}  // namespace thtrain
