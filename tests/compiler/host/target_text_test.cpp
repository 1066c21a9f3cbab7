// Tests of compiler/host/target_text.h and the texts of compiler/kernel/target.h.
#include "compiler/host/target_text.h"

#include <gtest/gtest.h>

#include "compiler/kernel/target.h"
#include "tests/support/error_text.h"

namespace thtrain {
namespace {

TEST(TargetText, WhatATargetPrintsIsRead) {
  const kernel::Target target{.isa = "avx2",
                              .vector_bytes = 32,
                              .first_cache_bytes = 48 << 10,
                              .second_cache_bytes = 1280 << 10,
                              .last_cache_bytes = 30 << 20,
                              .cores = 3,
                              .memory = {12'000'001, 8, 32},
                              .rates = {.load = 71, .wake = 204'800}};
  EXPECT_EQ(target.text(),
            "isa=avx2,vectors=32,caches=48K/1280K/30M,cores=3,non_temporal=12000001,store_prefetch=8,load_prefetch=32,"
            "rates=50/400/71/100/100/400/200/1400/400/1000/1600/2800/57/50/1000/100000/204800");
  const TargetParts parts = parse_target(target.text());
  EXPECT_EQ(parts.isa, "avx2");
  EXPECT_EQ(parts.vector_bytes, 32);
  EXPECT_EQ(parts.caches, (std::array<int64_t, 3>{48 << 10, 1280 << 10, 30 << 20}));
  EXPECT_EQ(parts.cores, 3);
  EXPECT_EQ(parts.non_temporal_bytes, 12'000'001);
  EXPECT_EQ(parts.store_prefetch_lines, 8);
  EXPECT_EQ(parts.load_prefetch_lines, 32);
  EXPECT_EQ(parts.rates, target.rates);
}

TEST(TargetText, WhatIsNotNamedIsLeftOpen) {
  const TargetParts parts = parse_target("cores=2");
  EXPECT_EQ(parts.cores, 2);
  EXPECT_FALSE(parts.isa || parts.vector_bytes || parts.caches || parts.non_temporal_bytes ||
               parts.store_prefetch_lines || parts.load_prefetch_lines || parts.rates);
}

TEST(TargetText, ScalarC99TakesNothingOfAProcessor) {
  EXPECT_EQ(kernel::c99_target(3).text(), "isa=c99,cores=3");
  const TargetParts parts = parse_target("isa=c99,cores=3");
  EXPECT_TRUE(parts.is_of_no_processor());
  EXPECT_EQ(parts.cores, 3);
  for (const char* text : {"isa=c99,vectors=16", "caches=1/2/3,isa=c99", "isa=c99,load_prefetch=0"})
    EXPECT_EQ("\n" + text_without_node([&] { parse_target(text); }) + "\n", str(R"(
error: THTRAIN_TARGET names parts of a processor with isa=c99
  expected: isa=c99, with cores or alone
  got:      )",
                                                                                text, "\n"));
}

TEST(TargetText, AnEmulatedDeviceTakesNothingOfAProcessor) {
  EXPECT_EQ(kernel::emulated_cuda_target(3).text(), "isa=cuda-emulated,cores=3");
  EXPECT_EQ(kernel::cuda_target(0, 3).text(), "isa=cuda,cores=3");
  EXPECT_EQ(kernel::cuda_target(1, 3).text(), "isa=cuda:1,cores=3");
  EXPECT_EQ(kernel::cuda_target(11).device_number(), 11);
  for (const char* isa : {"cuda-emulated", "cuda", "cuda:12"})
    EXPECT_TRUE(parse_target(str("isa=", isa, ",cores=3")).is_of_no_processor()) << isa;
  EXPECT_EQ(parse_target("isa=cuda:0").isa, "cuda");
  EXPECT_EQ("\n" + text_without_node([] { parse_target("vectors=16,isa=cuda-emulated"); }) + "\n", R"(
error: THTRAIN_TARGET names parts of a processor with isa=cuda-emulated
  expected: isa=cuda-emulated, with cores or alone
  got:      vectors=16,isa=cuda-emulated
)");
}

TEST(TargetText, MistakesAreNamed) {
  auto error_of = [](const std::string& text) { return "\n" + text_without_node([&] { parse_target(text); }) + "\n"; };
  EXPECT_EQ(error_of("isa=avx9"), R"(
error: THTRAIN_TARGET has no such isa
  expected: avx512, avx2, sse2, c99, cuda, cuda:1 or cuda-emulated
  got:      avx9
)");
  EXPECT_EQ(error_of("vectors=48"), R"(
error: THTRAIN_TARGET has no such vectors
  expected: 16, 32 or 64
  got:      48
)");
  for (const char* caches : {"32K/256K", "32K/256K/4M/1", "a/b/c", "1/-2/3", "", "1/2/99999999999999999999"})
    EXPECT_EQ(error_of(std::string("caches=") + caches), str(R"(
error: THTRAIN_TARGET has no such caches
  expected: three sizes such as 32K/256K/4M
)",
                                                             *caches ? str("  got:      ", caches, "\n") : ""));
  EXPECT_EQ(error_of("cores=0"), R"(
error: THTRAIN_TARGET has no such cores
  expected: a number from 1 to 1024
  got:      0
)");
  EXPECT_EQ(error_of("load_prefetch=1025"), R"(
error: THTRAIN_TARGET has no such load_prefetch
  expected: a number of cache lines from 0 to 1024
  got:      1025
)");
  for (const char* rates : {"50", "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/x",
                            "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/0", "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18"})
    EXPECT_EQ(error_of(std::string("rates=") + rates), str(R"(
error: THTRAIN_TARGET has no such rates
  expected: 17 numbers of hundredths of a cycle from 1 to 100000000, such as 50/400/...
  got:      )",
                                                           rates, "\n"));
  EXPECT_EQ(error_of("non_temporal=4T"), R"(
error: THTRAIN_TARGET has no such non_temporal
  expected: a size such as 20M; 0: no such stores
  got:      4T
)");
  EXPECT_EQ(error_of("cache=1/2/3"), R"(
error: THTRAIN_TARGET has no entry cache
  expected: isa, vectors, caches, cores, non_temporal, store_prefetch, load_prefetch, rates
  got:      cache=1/2/3
  hint:     did you mean caches?
)");
  EXPECT_EQ(error_of("cores=2,,isa=avx2"), R"(
error: THTRAIN_TARGET has an entry without a value
  expected: entries such as isa=avx2,caches=32K/256K/4M
)");
  EXPECT_EQ(error_of("cores=2,cores=2"), R"(
error: THTRAIN_TARGET names cores twice
  expected: each entry once
  got:      cores=2,cores=2
)");
}

TEST(Target, LoopsOfSeveralThreadsHaveTheirSecondCaches) {
  kernel::Target target{.second_cache_bytes = 1000, .last_cache_bytes = 9000};
  EXPECT_EQ(target.non_temporal_threshold(4), 0) << "no loop stores past the caches";
  target.memory.non_temporal_bytes = 2500;
  EXPECT_EQ(target.non_temporal_threshold(1), 2500);
  EXPECT_EQ(target.non_temporal_threshold(3), 3000);
}

}  // namespace
}  // namespace thtrain
