// Tests of compiler/tuning/machine.h: what is measured of this machine, and that it changes no bit.
#include "compiler/tuning/machine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "compiler/api.h"
#include "compiler/host/memory_trials.h"
#include "compiler/tuning/rate_trials.h"

namespace thtrain {
namespace {

TEST(Machine, ItsLimitsLieBetweenItsCaches) {
  const kernel::Target target = machine();
  const kernel::MemoryLimits limits = measure_memory_limits(target);
  EXPECT_GE(limits.non_temporal_bytes, 0);
  EXPECT_LE(limits.non_temporal_bytes, std::max(target.second_cache_bytes, target.last_cache_bytes));
  EXPECT_LE(limits.store_prefetch_lines, 32);
  EXPECT_LE(limits.load_prefetch_lines, 32);
}

// Threads that run through much memory besides what is measured.
class BusyMachine {
 public:
  BusyMachine() {
    for (int i = 0; i < 4; ++i)
      threads_.emplace_back([this] {
        std::vector<char> much(size_t{64} << 20);
        for (char c = 0; !over_; ++c) std::memset(much.data(), c, much.size());
      });
  }
  ~BusyMachine() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

// Formulae whose kernels have stores of both kinds and prefetches, with tails, and whose lengths are known at the call
// and before it; a sum; and a row-wise kernel.
std::vector<Tensor> results_with(const kernel::Target& target) {
  use_limits_of(target.text());
  EXPECT_EQ(machine(), target);
  Expr a = tensor("a", {"n"}, DType::kFloat32), b = tensor("b", {"n"}, DType::kFloat32);
  Expr c = tensor("c", {37, 1003}, DType::kFloat64);
  Function f = function({In(a), In(b), In(c)}, {Out(1 / (1 + exp(-a)) * tanh(b)), Out(2 * a + 3 * b), Out(tanh(c) * c),
                                                Out(sum(a * b)), Out(softmax(c))});
  Tensor x = Tensor::empty(DType::kFloat32, {50'003}), y = Tensor::empty(DType::kFloat32, {50'003}),
         z = Tensor::empty(DType::kFloat64, {37, 1003});
  for (int64_t i = 0; i < x.size(); ++i) {
    x.data<float>()[i] = static_cast<float>(i % 617) / 100 - 3;
    y.data<float>()[i] = static_cast<float>(i % 351) / 99 - 2;
  }
  for (int64_t i = 0; i < z.size(); ++i) z.data<double>()[i] = static_cast<double>(i % 777) / 250 - 1;
  return f(std::vector<Tensor>{x, y, z});
}

TEST(Machine, WhatWasMeasuredDecidesNoBits) {
  const kernel::Target before = machine();
  auto measured = [&] {
    kernel::Target out = before;
    out.memory = measure_memory_limits(before);
    out.rates = measure_kernel_rates(before);
    return out;
  };
  const kernel::Target quiet = measured();
  const kernel::Target busy = [&] {
    BusyMachine others;
    return measured();
  }();
  // Whatever the two measured, what differs in everything is among that which is tried.
  kernel::Target low = before, high = before;
  low.memory = {.non_temporal_bytes = 4 << 10, .store_prefetch_lines = 8, .load_prefetch_lines = 32};
  low.rates.wake = 12'800;
  high.memory = {.non_temporal_bytes = int64_t{1} << 30, .store_prefetch_lines = 64, .load_prefetch_lines = 0};
  high.rates.wake = 26'214'400;
  const std::vector<Tensor> wanted = results_with(quiet);
  for (const kernel::Target& target : {busy, low, high}) {
    const std::vector<Tensor> got = results_with(target);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(std::memcmp(got[i].raw(), wanted[i].raw(), wanted[i].bytes()), 0) << "result " << i;
  }
  use_limits_of(before.text());
}

// A text of another machine, or none, changes nothing.
TEST(Machine, WhatWasMeasuredIsTakenOverFromTheSameMachineOnly) {
  const kernel::Target before = machine();
  kernel::Target other = before;
  other.second_cache_bytes *= 2;
  other.memory.store_prefetch_lines += 1;
  other.rates.load += 1;
  for (const std::string& text : {other.text(), std::string("no text"), std::string(), std::string("cores=1")}) {
    use_limits_of(text);
    EXPECT_EQ(machine(), before) << text;
  }
}

}  // namespace
}  // namespace thtrain
