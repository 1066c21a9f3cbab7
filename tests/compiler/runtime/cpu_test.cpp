// Tests of compiler/runtime/cpu.h.
#include "compiler/runtime/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "compiler/base/error.h"

namespace thtrain {
namespace {

TEST(Cpu, VectorBytesFollowFromFeatures) {
  Cpu cpu = detect_cpu(nullptr);
  int expected = cpu.has_avx512() ? 64 : cpu.avx2 && cpu.fma ? 32 : 16;
  EXPECT_EQ(cpu.vector_bytes, expected);
  EXPECT_GE(cpu.cores, 1);
}

TEST(Cpu, AgreesWithTheCompilersOwnDetection) {
#if defined(__x86_64__)
  Cpu cpu = detect_cpu(nullptr);
  __builtin_cpu_init();
  EXPECT_EQ(cpu.avx2, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(cpu.fma, __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(cpu.avx512f, __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(cpu.avx512dq, __builtin_cpu_supports("avx512dq") != 0);
  EXPECT_EQ(cpu.avx512vl, __builtin_cpu_supports("avx512vl") != 0);
  EXPECT_EQ(cpu.avx512bw, __builtin_cpu_supports("avx512bw") != 0);
#endif
}

TEST(Cpu, OverrideChangesWidthAndFeatureText) {
  Cpu usual = detect_cpu(nullptr), narrow = detect_cpu("16");
  EXPECT_EQ(narrow.vector_bytes, 16);
  EXPECT_EQ(detect_cpu(std::to_string(usual.vector_bytes).c_str()).feature_text, usual.feature_text);
  EXPECT_EQ(narrow.feature_text == usual.feature_text, usual.vector_bytes == 16);
  EXPECT_EQ(detect_cpu("").vector_bytes, detect_cpu(nullptr).vector_bytes);
}

TEST(Cpu, OverrideOfNoWidthIsAnError) {
  try {
    detect_cpu("48");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "error: THTRAIN_VECTOR_BYTES is not a width of vectors\n"
                 "  expected: 16, 32 or 64\n"
                 "  got:      48");
  }
}

// A function of libmvec takes its vectors in registers that the processor has.
TEST(Cpu, OverrideBeyondTheProcessorIsAnError) {
  Cpu usual = detect_cpu(nullptr);
  if (usual.architecture != "x86-64" || usual.vector_bytes == 64) GTEST_SKIP() << "every width is there";
  try {
    detect_cpu("64");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), str("error: THTRAIN_VECTOR_BYTES is wider than this processor's vectors\n"
                                "  expected: at most ",
                                usual.vector_bytes, "\n  got:      64"));
  }
}

TEST(Cpu, FeatureTextIsStable) {
  EXPECT_EQ(detect_cpu(nullptr).feature_text, detect_cpu(nullptr).feature_text);
  EXPECT_EQ(detect_cpu(nullptr).feature_text.find('\n'), std::string::npos);
}

TEST(Cpu, CachedBytesAreThoseOfTheCoresOrOfAllCaches) {
  Cpu processor;
  EXPECT_EQ(processor.non_temporal_threshold(2), 0) << "nothing is known of it";
  processor.core_cache_bytes = 1000;
  processor.last_cache_bytes = 2500;
  EXPECT_EQ(processor.non_temporal_threshold(1), 2500);
  EXPECT_EQ(processor.non_temporal_threshold(3), 3000);
  processor.vendor = "GenuineIntel";
  EXPECT_EQ(processor.non_temporal_threshold(1), 2500);
  processor.avx512f = processor.avx512dq = processor.avx512vl = processor.avx512bw = true;
  EXPECT_EQ(processor.non_temporal_threshold(1), 1000);
  processor.last_cache_bytes = 10000;
  EXPECT_EQ(processor.non_temporal_threshold(1), 2500);
  EXPECT_EQ(processor.non_temporal_threshold(3), 3000);
  EXPECT_GE(detect_cpu(nullptr).core_cache_bytes, 0);
}

TEST(Cpu, CoresFollowTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(detect_cpu(nullptr).cores, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Cpu, QuotaOfAControlGroupRoundsUp) {
  EXPECT_EQ(detail::cores_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(detail::cores_of_quota(""), std::nullopt);
  EXPECT_EQ(detail::cores_of_quota("200000 100000"), 2);
  EXPECT_EQ(detail::cores_of_quota("150000 100000"), 2);
  EXPECT_EQ(detail::cores_of_quota("10000 100000"), 1);
}

}  // namespace
}  // namespace thtrain
