// Registers, local bytes (spills among them) and shared bytes of the schedules' kernels, by NVRTC's version and compute
// capability: a kernel that needs more than before is seen.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "compiler/cuda/cubin.h"
#include "compiler/cuda/kernel_resources.h"
#include "compiler/cuda/libraries.h"
#include "compiler/kernel/schedule/device_tiles.h"
#include "compiler/ops/candidates.h"
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
#include "compiler/runtime/compile.h"
#include "tests/support/golden_text.h"
#include "tests/support/target_calls.h"

namespace thtrain::resources_test {
namespace {

/// Compute capabilities that THTRAIN_CUBINS names, such as "75 80 90 100" in the long checks; 90 without it.
std::vector<int> architectures() {
  const char* const chosen = std::getenv("THTRAIN_CUBINS");
  std::istringstream in(chosen ? chosen : "90");
  std::vector<int> out;
  for (int one; in >> one;) out.push_back(one);
  return out;
}

Expr floats(const Dims& dims, const std::string& name = "x") {
  return tensor(name, dims, DType::kFloat32);
}

std::vector<std::pair<std::string, Expr>> schedules() {
  const Expr square = floats({1024, 1024}), tall = floats({60, 784}, "a"), wide = floats({784, 500}, "b");
  return {{"elements", tanh(floats({1000}))},
          {"elements of any length", floats({"n", 300}) + floats({300}, "row")},
          {"squares", transpose(floats({100, 200})) * 2.0},
          {"a warp a row", sum(floats({50, 700}), {1})},
          {"a block a row", sum(floats({600, 5000}), {1})},
          {"parts of rows", sum(floats({3, 50'000}), {1})},
          {"columns", sum(floats({200, 600}), {0})},
          {"pieces of columns", sum(floats({200, 40'000}), {0})},
          {"parts of columns", sum(floats({2000, 600}), {0})},
          {"argmax", argmax(floats({50, 5000}), {1})},
          {"softmax by warps", softmax(floats({50, 700}))},
          {"softmax by blocks", softmax(floats({50, 5000}))},
          {"a gather", take(floats({100, 30}), tensor("at", {60}, DType::kInt64))},
          {"a sort", argsort(floats({50, 5000}))},
          {"a sort of doubles", sort(f64("x", {50, 700}))},
          {"running sums", cumsum(floats({50, 5000}), 1)},
          {"running sums in parts", cumsum(floats({50'000}), 0)},
          {"an LU factorization", lu(floats({50, 50})).packed},
          {"normal numbers", draw("normal", tensor("state", {628}, DType::kUInt32), {1000}, {0.0, 1.0}).sample},
          {"a product", dot(tall, wide)},
          {"a layer", tanh(dot(tall, wide) + floats({500}, "bias"))},
          {"a product of any lengths", dot(floats({"m", "k"}, "a"), floats({"k", "n"}, "b"))},
          {"a product of doubles", dot(f64("a", {60, 784}), f64("b", {784, 500}))},
          {"a large product", dot(square, square)},
          {"a batch of products", matmul(floats({8, 60, 64}, "a"), floats({8, 64, 60}, "b"))},
          {"a matrix and a vector", dot(floats({500, 700}, "a"), floats({700}, "b"))}};
}

TEST(GoldenResources, OfTheSchedulesAreThoseOfTheGoldenTables) {
  const cuda::OpenedNvrtc& nvrtc = cuda::nvrtc();
  if (!nvrtc.trouble.empty()) GTEST_SKIP() << "NVRTC: " << nvrtc.trouble;
  int major = 0, minor = 0;
  ASSERT_EQ(nvrtc.functions.nvrtcVersion(&major, &minor), 0);
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, result] : schedules()) {
    const PreparedProgram prepared = prepare(canonical_lengths({leaves_of(std::vector{result}), {result}, {}}),
                                             {.target = kernel::emulated_cuda_target(), .use_cache = false});
    texts.emplace_back(name, device_text(prepared.program->image.source));
  }
  bool is_compared = false;
  for (const int architecture : architectures()) {
    const std::string file = str("cuda/resources_nvrtc_", major, ".", minor, "_sm_", architecture, ".txt");
    if (!std::filesystem::exists("tests/golden/" + file) && !std::getenv("THTRAIN_REWRITE_GOLDEN")) continue;
    is_compared = true;
    std::string table = "registers  local  shared  kernel (bytes)\n";
    for (const auto& [name, text] : texts)
      for (const auto& [kernel, of] :
           cuda::kernel_resources(cuda::compile_cubin(nvrtc.functions, text, architecture))) {
        EXPECT_EQ(of.local, 0U) << name << ": " << kernel << " for " << architecture;
        char row[32];
        std::snprintf(row, sizeof row, "%9u  %5u  %6lu  ", of.registers, of.local, of.shared);
        table += row + name + ": " + kernel + "\n";
      }
    expect_golden(table, file);
  }
  if (!is_compared)
    GTEST_SKIP() << "no table for NVRTC " << major << "." << minor << ": THTRAIN_REWRITE_GOLDEN=1 writes one";
}

// The tilings that are offered, and the candidates of convolutions. THTRAIN_CUBINS="75 80 90": for these compute
// capabilities.
TEST(KernelResources, NoCandidateSpills) {
  const cuda::OpenedNvrtc& nvrtc = cuda::nvrtc();
  if (!nvrtc.trouble.empty()) GTEST_SKIP() << "NVRTC: " << nvrtc.trouble;
  struct One {
    std::string computation, properties, candidate;
  };
  std::vector<One> all;
  for (const char* dtype : {"float32", "float64"}) {
    for (const char* name : {"tile 128x128", "tile 128x64", "tile 64x128", "tile 64x64", "tile 16x128"})
      if (kernel::is_possible(*kernel::device_tiling_named(name), *dtype_named(dtype)))
        all.push_back({"matrix_product", str(dtype, " 1000x1000x999 NT"), name});
    for (const char* computation : {"conv", "conv_input_gradient", "conv_weight_gradient"}) {
      const std::string square = str(dtype, " b16 i64x56x56 k64x3x3 p1:1x1:1"),
                        few = str(dtype, " b60 i3x32x33 k20x5x5 s2x2");
      for (const std::string& candidate :
           {std::string("winograd 2"), std::string("winograd 4"),
            std::string("patches ") + (dtype[5] == '3' ? "tile 128x128" : "tile 128x64")})
        all.push_back({computation, square, candidate});
      all.push_back({computation, str(dtype, " b16 i64x24x27 k64x5x5"), "FFT"});
      if (computation != std::string("conv_weight_gradient"))
        for (const char* candidate : {"direct 8x4", "direct 8x2"}) all.push_back({computation, few, candidate});
    }
  }
  for (const int architecture : architectures())
    for (const One& one : all) {
      if (!std::getenv("THTRAIN_CUBINS") && one.properties[5] == '6') continue;
      const Graph graph = find_computation(one.computation)->example(one.properties).value();
      const PreparedProgram prepared =
          prepare(canonical_lengths(graph), {.target = kernel::emulated_cuda_target(),
                                             .use_cache = false,
                                             .candidates = {{one.computation, one.candidate}}});
      const std::string cubin =
          cuda::compile_cubin(nvrtc.functions, device_text(prepared.program->image.source), architecture);
      for (const auto& [kernel, of] : cuda::kernel_resources(cubin)) {
        // sin and cos of the roots of 1 bring an array of 40 bytes, for large angles.
        if (one.candidate == "FFT" && kernel.find("fft_products") == std::string::npos) continue;
        EXPECT_EQ(of.local, 0U) << one.computation << one.properties << " by " << one.candidate << ": " << kernel
                                << " for " << architecture;
        RecordProperty(str(one.candidate, one.properties, kernel), static_cast<int>(of.registers));
      }
    }
}

TEST(KernelResources, DecideHowManyBlocksAreResident) {
  const auto blocks = [](uint32_t registers, uint64_t shared, int threads, int compute_capability) {
    return cuda::resident_blocks({.registers = registers, .shared = shared}, threads, compute_capability);
  };
  EXPECT_EQ(blocks(32, 0, 256, 90), 8) << "threads";
  EXPECT_EQ(blocks(32, 0, 32, 90), 32) << "blocks";
  EXPECT_EQ(blocks(128, 0, 256, 90), 2) << "registers";
  EXPECT_EQ(blocks(32, 48 << 10, 128, 90), 4) << "shared memory";
  EXPECT_EQ(blocks(32, 48 << 10, 128, 75), 1);
  EXPECT_EQ(blocks(32, 0, 256, 86), 6);
  EXPECT_EQ(blocks(33, 0, 100, 90), 12) << "whole warps, of 256 registers at a time";
}

}  // namespace
}  // namespace thtrain::resources_test
