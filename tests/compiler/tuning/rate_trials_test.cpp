// Tests of compiler/tuning/rate_trials.h.
#include "compiler/tuning/rate_trials.h"

#include <gtest/gtest.h>

#include "compiler/base/clock.h"
#include "compiler/tuning/machine.h"

namespace thtrain {
namespace {

using detail::rounded_rate;
using kernel::KernelRates;
using kernel::Target;

TEST(RoundedRate, IsAQuarterOfAnOctaveWide) {
  EXPECT_EQ(rounded_rate(100), 100);
  EXPECT_EQ(rounded_rate(92), 100);
  EXPECT_EQ(rounded_rate(109), 100);
  EXPECT_EQ(rounded_rate(110), 119);
  EXPECT_EQ(rounded_rate(50), 50);
  EXPECT_EQ(rounded_rate(390), 400);
  EXPECT_EQ(rounded_rate(0.1), 1);
  EXPECT_EQ(rounded_rate(-5), 1);
}

// Bounds that every x86-64 of the last ten years keeps, whoever else is at work: a multiply-add waits three to five
// cycles for the one before it, and no processor begins more than two of them, or three loads, in a cycle.
TEST(KernelRates, AreThoseOfAProcessor) {
  const Target target = machine();
  if (!target.is_x86() || !target.has_fma() || target.second_cache_bytes == 0) GTEST_SKIP() << "not measured";
  const double begin = seconds_now();
  const KernelRates rates = measure_kernel_rates(target);
  EXPECT_LT(seconds_now() - begin, 1) << "all rounds, on a machine with much else to do";
  EXPECT_GE(rates.multiply_add, 42);
  EXPECT_GE(rates.sum, 283);
  EXPECT_LE(rates.multiply_add, rates.sum);
  EXPECT_GE(rates.load, 30);
  EXPECT_LE(rates.load, rates.crossing_load);
  EXPECT_LE(rates.second_line, rates.third_line);
  EXPECT_LE(rates.second_line, rates.memory_line);
  EXPECT_LE(rates.memory_line, rates.apart_memory_line);
  EXPECT_LT(rates.library_multiply_add, rates.library_call);
}

TEST(KernelRates, StayWhereNothingCanBeMeasured) {
  EXPECT_EQ(measure_kernel_rates(kernel::c99_target()), KernelRates());
  EXPECT_EQ(measure_kernel_rates({.isa = "sse2", .vector_bytes = 16, .second_cache_bytes = 1 << 20}), KernelRates());
  EXPECT_EQ(measure_kernel_rates({.isa = "avx2", .vector_bytes = 32, .second_cache_bytes = 0}), KernelRates());
}

TEST(KernelRates, SayWhatIsWorthAThread) {
  Target target;
  EXPECT_EQ(target.grain_of_work(), 1 << 17);
  EXPECT_EQ(target.grain_of_products(), 500'000);
  target.rates.wake *= 2;
  EXPECT_EQ(target.grain_of_work(), 1 << 18);
  EXPECT_EQ(target.grain_of_products(), 1'000'000);
}

}  // namespace
}  // namespace thtrain
