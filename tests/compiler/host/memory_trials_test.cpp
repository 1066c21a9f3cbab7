// Tests of compiler/host/memory_trials.h and machine.h: what is chosen from times, and that no choice changes a bit.
#include "compiler/host/memory_trials.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "compiler/api.h"
#include "compiler/host/machine.h"

namespace thtrain {
namespace {

using detail::best_non_temporal_limit;
using detail::best_prefetch_lines;

TEST(NonTemporalLimit, LiesBetweenTheSizesWhereTheOtherStoreIsFaster) {
  EXPECT_EQ(best_non_temporal_limit({{1000, 1, 2}, {4000, 1, 2}, {9000, 2, 1}, {16000, 4, 2}}), 6000);
  EXPECT_EQ(best_non_temporal_limit({{1000, 1, 2}, {4000, 1, 2}}), 0) << "ordinary stores are always faster";
  EXPECT_EQ(best_non_temporal_limit({{1000, 2, 1}, {4000, 2, 1}}), 500) << "non-temporal ones are";
}

// A moment in which another program had the core decides nothing: the sizes around it say otherwise.
TEST(NonTemporalLimit, OneWrongTimeDoesNotMoveIt) {
  EXPECT_EQ(best_non_temporal_limit({{1000, 1.5, 1.4}, {2000, 1, 2}, {4000, 1, 2}, {9000, 2, 1}, {16000, 4, 2}}), 6000);
  EXPECT_EQ(best_non_temporal_limit({{1000, 1, 2}, {4000, 1, 2}, {9000, 2, 1}, {16000, 2, 2.2}}), 6000);
}

TEST(PrefetchLines, MustGainMoreThanAFiftiethOnNone) {
  EXPECT_EQ(best_prefetch_lines({{0, {1, 1}}, {8, {0.99, 0.99}}, {16, {1.1, 1}}}), 0);
  EXPECT_EQ(best_prefetch_lines({{0, {1, 1}}, {8, {0.9, 1}}, {16, {0.8, 1}}}), 16);
  EXPECT_EQ(best_prefetch_lines({{0, {1, 1}}, {8, {0.5, 2.5}}}), 0) << "both sizes count";
}

TEST(MemoryTrials, GiveLimitsBetweenTheCachesOfThisMachine) {
  const kernel::Target target = machine();
  const kernel::MemoryLimits limits = measure_memory_limits(target);
  EXPECT_GE(limits.non_temporal_bytes, 0);
  EXPECT_LE(limits.non_temporal_bytes, std::max(target.second_cache_bytes, target.last_cache_bytes));
  EXPECT_LE(limits.store_prefetch_lines, 32);
  EXPECT_LE(limits.load_prefetch_lines, 32);
}

TEST(MemoryTrials, UnknownCachesAreNotMeasured) {
  const kernel::Target unknown{.vector_bytes = 16, .second_cache_bytes = 0, .last_cache_bytes = 0};
  EXPECT_EQ(measure_memory_limits(unknown), (kernel::MemoryLimits{0, 0, 0}));
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
std::vector<Tensor> results_with(const kernel::MemoryLimits& limits) {
  kernel::Target target = machine();
  target.memory = limits;
  use_limits_of(target.text());
  EXPECT_EQ(machine().memory, limits);
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

TEST(MemoryLimits, DecideNoBits) {
  const kernel::Target before = machine();
  const kernel::MemoryLimits quiet = measure_memory_limits(before);
  kernel::MemoryLimits busy;
  {
    BusyMachine others;
    busy = measure_memory_limits(before);
  }
  // Whatever the two measured, limits that differ in everything are among those that are tried.
  const std::vector<Tensor> wanted = results_with(quiet);
  for (const kernel::MemoryLimits& limits :
       {busy,
        {.non_temporal_bytes = 4 << 10, .store_prefetch_lines = 8, .load_prefetch_lines = 32},
        {.non_temporal_bytes = int64_t{1} << 30, .store_prefetch_lines = 64, .load_prefetch_lines = 0}}) {
    const std::vector<Tensor> got = results_with(limits);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(std::memcmp(got[i].raw(), wanted[i].raw(), wanted[i].bytes()), 0) << "result " << i;
  }
  use_limits_of(before.text());
}

// A text of another machine, or none, changes nothing.
TEST(MemoryLimits, AreTakenOverFromTheSameMachineOnly) {
  const kernel::Target before = machine();
  kernel::Target other = before;
  other.second_cache_bytes *= 2;
  other.memory.store_prefetch_lines += 1;
  for (const std::string& text : {other.text(), std::string("no text"), std::string(), std::string("cores=1")}) {
    use_limits_of(text);
    EXPECT_EQ(machine(), before) << text;
  }
}

}  // namespace
}  // namespace thtrain
