// The CUDA text of nests, at the lengths where a schedule takes another shape.
#include <gtest/gtest.h>

#include <regex>

#include "compiler/codegen/emit.h"
#include "compiler/ir/variables.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/factor/factor.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/nnet/softmax.h"
#include "compiler/ops/order/order.h"
#include "compiler/ops/random/random.h"
#include "compiler/ops/reduce/cumulative.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "tests/support/golden_text.h"

namespace thtrain::device_schedule_test {
namespace {

Expr floats(const Dims& dims, const std::string& name = "x") {
  return tensor(name, dims, DType::kFloat32);
}

Program planned(const Expr& result) {
  const std::vector<Expr> results{result};
  const CanonicalGraph canonical = canonical_lengths(Graph{leaves_of(results), results, {}});
  const kernel::Target target = kernel::emulated_cuda_target();
  return plan(optimize(canonical.graph, {.target = target}), canonical.value_checks, {.target = target});
}

std::string launches_of(const std::string& entry) {
  std::string out;
  static const std::regex kLaunch("launch(_checked)?\\(ctx, \\d");
  for (std::sregex_iterator it(entry.begin(), entry.end(), kLaunch), end; it != end; ++it) {
    const auto at = static_cast<size_t>(it->position());
    out += entry.substr(at, entry.find(';', at) - at) + "\n";
  }
  return out;
}

// Kernels, and how they are launched.
std::string text_of(const std::vector<Expr>& results) {
  std::string out;
  for (const Expr& result : results) {
    const SourceText text = emit_cpp(planned(result)).text;
    out += str(out.empty() ? "" : "\n", device_text(text), launches_of(text.entry));
  }
  return out;
}

TEST(GoldenCode, ElementsOnADevice) {
  expect_golden(text_of({floats({}) * 2.0, floats({0}) * 2.0, floats({1}) * 2.0, floats({32}) * 2.0, floats({33}) * 2.0,
                         floats({"n", 300}) + floats({300}, "row")}),
                "code/cuda_elements.txt");
}

// A thread takes the elements that 16 bytes hold, where there are some for each of its block.
TEST(GoldenCode, PiecesOnADevice) {
  const Expr x = floats({"n"}), pixels = tensor("pixels", {4096}, DType::kUInt8);
  expect_golden(
      text_of({floats({1023}) * 2.0, floats({1024}) * 2.0, floats({1025}) * 2.0, x[{Slice{.start = 1}}] * 2.0,
               floats({"n", "m"}) * floats({"m"}, "row"),
               floats({1025}) > cast(tensor("y", {1025}, DType::kInt8), DType::kFloat32),
               cast(pixels, DType::kFloat32) * 2.0, take(floats({10, 64}), tensor("at", {"m"}, DType::kInt64))}),
      "code/cuda_pieces.txt");
}

TEST(GoldenCode, RowsOnADevice) {
  const auto row_sums = [](const Dims& dims) { return sum(floats(dims), {1}); };
  expect_golden(
      text_of({row_sums({5, 0}), row_sums({0, 32}), row_sums({5, 1}), row_sums({5, 32}), row_sums({5, 33}),
               row_sums({5, 127}), row_sums({5, 128}), row_sums({5, 1024}), row_sums({5, 1025}), row_sums({"n", "m"})}),
      "code/cuda_rows.txt");
}

TEST(GoldenCode, ColumnsOnADevice) {
  const auto column_sums = [](const Dims& dims) { return sum(floats(dims), {0}); };
  expect_golden(
      text_of({column_sums({31, 33}), column_sums({"n", 600}), column_sums({3, 32'768}), column_sums({65, "m"})}),
      "code/cuda_columns.txt");
}

TEST(GoldenCode, ChainsOfRowsOnADevice) {
  const Expr x = floats({300, 9000});
  expect_golden(text_of({softmax(floats({"n", 100})), softmax(floats({"n", 2000})), argmax(floats({7, 2000}), {1}),
                         x - mean(x, {1}, true)}),
                "code/cuda_row_chains.txt");
}

TEST(GoldenCode, TransposesOnADevice) {
  const Expr x = floats({16, 33}), y = floats({33, 16}, "y"), narrow = floats({15, 33}), many = floats({"b", "m", "n"});
  expect_golden(text_of({transpose(x) * 2.0 + y, transpose(narrow) * 2.0, transpose(many, {0, 2, 1}) * 2.0,
                         transpose(floats({32, 36})) * 2.0}),
                "code/cuda_transposes.txt");
}

TEST(GoldenCode, PartsOfRowsOnADevice) {
  const Expr rows = floats({3, 16384}), columns = floats({257, 33}), all = floats({"n"});
  expect_golden(text_of({mean(rows, {1}), sum(columns, {0}), max(all, {0})}), "code/cuda_parts_of_rows.txt");
}

TEST(GoldenCode, ProductsOnADevice) {
  const auto product = [](const Dims& a, const Dims& b) { return dot(floats(a, "a"), floats(b, "b")); };
  expect_golden(text_of({product({31, 64}, {64, 33}), product({"m", "k"}, {"k", "n"}), product({1024, 65}, {65, 1024}),
                         product({5, 15}, {15, 5}), product({40, 100}, {100})}),
                "code/cuda_products.txt");
}

TEST(GoldenCode, GathersAndScattersOnADevice) {
  const Expr at = tensor("at", {"m"}, DType::kInt64), counts = tensor("counts", {10, 3}, DType::kInt32),
             more = tensor("more", {"m", 3}, DType::kInt32);
  expect_golden(text_of({take(floats({10, 3}), at), scatter_add(floats({10, 3}), at, floats({"m", 3}, "y")),
                         scatter_add(counts, at, more)}),
                "code/cuda_scatters.txt");
}

TEST(GoldenCode, SortsOnADevice) {
  const Expr whole = tensor("x", {3, 33}, DType::kInt64);
  expect_golden(text_of({sort(floats({0})), argsort(whole), sort(floats({2, 1024})), sort(floats({2, 1025})),
                         argtopk(floats({3, 3000}), 2000)}),
                "code/cuda_sorts.txt");
}

TEST(GoldenCode, RunningSumsOnADevice) {
  expect_golden(text_of({cumsum(floats({5, 63}), 1), cumsum(floats({5, 64}), 1), cumsum(floats({5, 1025}), 1),
                         cummax(floats({300, 3}), 0), cumprod(floats({2, 16'384}), 1), cumsum(floats({"n"}), 0)}),
                "code/cuda_running_sums.txt");
}

TEST(GoldenCode, FactorizationsOnADevice) {
  expect_golden(text_of({lu(floats({20, 20})).packed, cholesky(floats({3, 9, 9})), cholesky(floats({5, 4, 4})),
                         triangular_solve(floats({20, 20}), floats({20, 7}))}),
                "code/cuda_factorizations.txt");
}

TEST(GoldenCode, DrawsOnADevice) {
  const Expr state = tensor("state", {628}, DType::kUInt32);
  const auto numbers = [&](const std::string& of, const std::vector<Operand>& parameters) {
    return draw(of, state, {100}, parameters, DType::kFloat32).sample;
  };
  expect_golden(
      text_of({numbers("uniform", {-1.0, 1.0}), numbers("normal", {0.0, tensor("deviation", {100}, DType::kFloat64)}),
               draw("randint", state, {100}, {0, 10}).sample}),
      "code/cuda_draws.txt");
}

TEST(DeviceSchedule, ExplainPrintsTheChoices) {
  const auto prints = [](const Expr& e, const std::string& choices) {
    EXPECT_NE(program_text(planned(e)).find(choices), std::string::npos) << program_text(planned(e));
  };
  prints(floats({1000}) * 2.0, ", blocks: 4 of 256 threads, a thread for each element");
  prints(floats({5000}) * 2.0, ", blocks: 5 of 256 threads, a thread for 4 elements side by side");
  prints(floats({"n"}) * 2.0, ", blocks: floor_div(n + 1023, 1024) of 256 threads, a thread for 4 elements");
  prints(sum(floats({50, 700}), {1}), ", blocks: 13 of 128 threads, a warp for each row, 4 elements at once");
  prints(sum(floats({50, 70000}), {1}), ", blocks: 900 of 256 threads, a block for each part of a row");
  prints(sum(floats({600, 70000}), {1}), ", blocks: 600 of 256 threads, a block for each row, on two levels");
  prints(sum(floats({200, 50}), {0}), ", blocks: 1 of 64 threads, a thread for each row");
  prints(sum(floats({65, 40'000}), {0}),
         ", blocks: 40 of 256 threads, a thread for 4 rows side by side, on two levels");
  prints(sum(floats({512, 5000}), {0}), ", blocks: 40 of 256 threads, a thread for 4 parts of rows side by side");
  prints(sum(floats({700, 50}), {0}), ", blocks: 3 of 256 threads, a thread for each part of a row");
  prints(dot(floats({60, 784}, "a"), floats({784, 500}, "b")),
         ", blocks: 4 of 256 threads, tiles of 64 x 128, a thread for 4 x 8, on two levels");
}

// Neither the text nor the launch may follow from how many threads a device has.
TEST(DeviceSchedule, FollowsFromTheShapeAlone) {
  kernel::Target few = kernel::emulated_cuda_target(1), many = kernel::emulated_cuda_target(64);
  const Expr result = softmax(floats({100, 3000}));
  const auto text = [&](const kernel::Target& target) {
    return whole_text(emit_cpp(plan(Graph{leaves_of(std::vector{result}), {result}, {}}, {}, {.target = target})).text);
  };
  EXPECT_EQ(text(few), text(many));
}

}  // namespace
}  // namespace thtrain::device_schedule_test
