// Tests of compiler/host/cpu.h.
#include "compiler/host/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>

#include "compiler/base/error.h"
#include "tests/support/error_text.h"

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

// sysconf() would add up the third caches of a package of AMD's.
TEST(Cpu, CachesAreThoseThatACoreReaches) {
  const Cpu cpu = detect_cpu(nullptr);
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t kibibytes = 0;
  if (!(file >> kibibytes)) GTEST_SKIP() << "the kernel shows no third cache";
  EXPECT_EQ(cpu.last_cache_bytes, kibibytes << 10);
  EXPECT_LE(cpu.first_cache_bytes, cpu.second_cache_bytes);
  EXPECT_LE(cpu.second_cache_bytes, cpu.last_cache_bytes);
}

TEST(Cpu, ForcedPartsAreTakenAsGiven) {
  const Cpu cpu = detect_cpu(nullptr, parse_target("caches=16K/128K/2M,cores=7"));
  EXPECT_EQ(cpu.first_cache_bytes, 16 << 10);
  EXPECT_EQ(cpu.second_cache_bytes, 128 << 10);
  EXPECT_EQ(cpu.last_cache_bytes, 2 << 20);
  EXPECT_EQ(cpu.cores, 7);
  EXPECT_EQ(cpu.feature_text, detect_cpu(nullptr).feature_text) << "code for it is the same";
}

TEST(Cpu, ForcedInstructionsHaveTheirOwnWidthAndCode) {
  if (detect_cpu(nullptr).architecture != "x86-64") GTEST_SKIP() << "no x86-64";
  const Cpu narrow = detect_cpu(nullptr, parse_target("isa=sse2"));
  EXPECT_EQ(narrow.isa, "sse2");
  EXPECT_EQ(narrow.vector_bytes, 16);
  EXPECT_NE(narrow.feature_text, detect_cpu("16").feature_text);
}

TEST(Cpu, TwoVariablesMayNotWantTwoWidths) {
  if (detect_cpu(nullptr).vector_bytes < 32) GTEST_SKIP() << "there is one width";
  EXPECT_EQ(text_without_node([] { detect_cpu("16", parse_target("vectors=32")); }),
            "error: THTRAIN_VECTOR_BYTES and THTRAIN_TARGET want different widths of vectors\n"
            "  expected: one of the two, or the same width\n"
            "  got:      16 and 32");
  EXPECT_EQ(detect_cpu("32", parse_target("vectors=32")).vector_bytes, 32);
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
