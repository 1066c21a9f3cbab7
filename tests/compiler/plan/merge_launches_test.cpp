// Which kernels of a device are launched together, and which are not.
#include "compiler/plan/merge_launches.h"

#include <gtest/gtest.h>

#include "compiler/ir/variables.h"
#include "compiler/ops/control/repeat.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/linalg/linalg.h"
#include "compiler/ops/reduce/reduce.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/rename_lengths.h"
#include "compiler/runtime/shared.h"
#include "tests/support/host_sort.h"

namespace thtrain::merge_launches_test {
namespace {

Program planned(const std::vector<Expr>& inputs, const std::vector<Expr>& outputs,
                const std::vector<Update>& updates = {}, bool merged = true) {
  const kernel::Target target = kernel::emulated_cuda_target();
  CanonicalGraph canonical = canonical_lengths({inputs, outputs, updates});
  return plan(optimize(canonical.graph, {.target = target}), canonical.value_checks,
              {.target = target, .merge_launches = merged});
}

const kernel::KernelCall* kernel_of(const Step& step) {
  return std::get_if<kernel::KernelCall>(&step.code);
}

// The kernels of the program's steps and the blocks of each: "tanh 4, exp_and_1 3".
std::string launches_of(const Program& program) {
  std::vector<std::string> out;
  for_each_step(program.body, [&](const Step& step) {
    if (const kernel::KernelCall* call = kernel_of(step))
      out.push_back(str(call->function->name, " ", call->blocks.text()));
  });
  return join(out, ", ");
}

Shared parameter(size_t number, int64_t length) {
  return Shared(Tensor::zeros(DType::kFloat32, {length}), str("w", number));
}

TEST(MergeLaunches, KernelsThatNeedNothingOfEachOtherShareALaunch) {
  const Expr x = vector("x", {1000}), y = vector("y", {300});
  EXPECT_EQ(launches_of(planned({x, y}, {tanh(x), exp(y)}, {}, false)), "tanh 2, exp 2");
  EXPECT_EQ(launches_of(planned({x, y}, {tanh(x), exp(y)})), "tanh_and_1 4");
}

TEST(MergeLaunches, AtMostSixteenDo) {
  std::vector<Expr> inputs, outputs;
  for (int64_t n = 1; n <= 20; ++n) {
    inputs.push_back(vector(str("x", n), {n}));
    outputs.push_back(tanh(inputs.back()));
  }
  EXPECT_EQ(launches_of(planned(inputs, outputs)), "tanh_and_15 16, tanh_and_3 4");
}

TEST(MergeLaunches, WhatAnotherComputesIsWaitedFor) {
  const Expr x = vector("x", {1000}), y = vector("y", {300});
  EXPECT_EQ(launches_of(planned({x, y}, {tanh(y * sum(x)), exp(y)})), "sum_and_1 3, mul_tanh 2");
}

TEST(MergeLaunches, StepsOfTheHostSplitThem) {
  const Expr x = vector("x", {8}), y = vector("y", {300});
  EXPECT_EQ(launches_of(planned({x, y}, {host_sort(tanh(x)), exp(y)})), "tanh 1, exp 2");
}

// However many there are: behind all that their old values are read by.
TEST(MergeLaunches, AllUpdatesByElementsAreOneLaunch) {
  std::vector<Update> updates;
  Expr x = vector("x", {64}), read = x;
  for (size_t n = 0; n < 12; ++n) {
    const Shared w = parameter(n, 64);
    read = tanh(read * w);
    updates.push_back({w, w * 0.9F});
  }
  const Program program = planned({x}, {read}, updates);
  size_t updating = 0;
  for_each_step(program.body, [&](const Step& step) {
    if (!kernel_of(step) || !writes_shared(program, step)) return;
    ++updating;
    EXPECT_EQ(step.outputs, 12U);
  });
  EXPECT_EQ(updating, 1U) << launches_of(program);
}

TEST(MergeLaunches, ACheckAndAnUpdateAreApart) {
  const Shared w = parameter(0, 64);
  const Expr x = vector("x", {64}), at = tensor("at", {5}, DType::kInt64);
  EXPECT_EQ(launches_of(planned({x, at}, {take(x, at)}, {{w, w * 0.9F}})), "mul 1, gather 1");
}

TEST(MergeLaunches, WhatReliesOnACheckIsBehindIt) {
  const Expr x = vector("x", {8}), y = vector("y", {2}), z = vector("z", {300}), at = tensor("at", {2}, DType::kInt64);
  const std::string apart = launches_of(planned({x, y, z, at}, {scatter_add(x, at, y), exp(z)}, {}, false));
  EXPECT_EQ(apart, "check 1, copy 1, scatter 1, exp 2");
  EXPECT_EQ(launches_of(planned({x, y, z, at}, {scatter_add(x, at, y), exp(z)})), "check_and_1 3, copy 1, scatter 1");
}

// Threads that wait for each other are as many as those of the launch, and a large grid of them has a launch of its
// own.
TEST(MergeLaunches, WavesOfBlocksOfProductsAreApart) {
  const auto launches = [](int64_t rows) {
    const Expr a = matrix("a", {rows, 512}), b = matrix("b", {512, 1024}), y = vector("y", {300});
    return launches_of(planned({a, b, y}, {dot(a, b), exp(y)}));
  };
  EXPECT_EQ(launches(256), "product_loops_and_1 34");
  EXPECT_EQ(launches(16384), "product_loops 2048, exp 2");
}

TEST(MergeLaunches, ThoseOfAnIterationToo) {
  const Expr x = vector("x", {64}), y = vector("y", {300});
  const std::vector<Expr> looped = repeat(5, {x, y}, [](const std::vector<Expr>& s) {
    return std::vector<Expr>{tanh(s[0] * 0.5F), exp(s[1] * -0.5F)};
  });
  const std::string apart = launches_of(planned({x, y}, looped, {}, false));
  EXPECT_NE(apart.find("mul_tanh 1, mul_exp 2"), std::string::npos) << apart;
  const std::string merged = launches_of(planned({x, y}, looped));
  EXPECT_NE(merged.find("mul_tanh_and_1 3"), std::string::npos) << merged;
}

}  // namespace
}  // namespace thtrain::merge_launches_test
