// What a target answers, for processors and for scalar C99.
#include "compiler/kernel/target.h"

#include <gtest/gtest.h>

namespace thtrain::kernel {
namespace {

TEST(Target, LanesFollowFromTheKindAndTheWidth) {
  const Target avx512, sse2{.isa = "sse2", .vector_bytes = 16};
  EXPECT_EQ(avx512.lanes_of(DType::kFloat32), 16);
  EXPECT_EQ(avx512.lanes_of(DType::kInt8), 64);
  EXPECT_EQ(sse2.lanes_of(DType::kFloat64), 2);
  EXPECT_EQ(sse2.lanes_of_bytes(32), 1) << "an element that is wider than a vector";
  for (DType dtype : {DType::kBool, DType::kFloat32, DType::kComplex128}) EXPECT_EQ(c99_target().lanes_of(dtype), 1);
}

TEST(Target, ProcessorsDifferInWhatIsOneInstruction) {
  const Target avx512, avx2{.isa = "avx2", .vector_bytes = 32}, sse2{.isa = "sse2", .vector_bytes = 16},
      arm64{.isa = "arm64", .vector_bytes = 16}, other{.isa = "other", .vector_bytes = 16};
  EXPECT_TRUE(avx512.has_fma() && avx2.has_fma() && arm64.has_fma());
  EXPECT_FALSE(sse2.has_fma() || other.has_fma());
  EXPECT_TRUE(avx512.has_gathers() && avx2.has_gathers());
  EXPECT_FALSE(sse2.has_gathers() || arm64.has_gathers());
  EXPECT_TRUE(avx512.is_x86() && avx2.is_x86() && sse2.is_x86());
  EXPECT_FALSE(arm64.is_x86() || other.is_x86());
  EXPECT_EQ(avx512.registers(), 32);
  EXPECT_EQ(avx2.registers(), 16);
}

TEST(Target, ScalarC99HasNoVectorsAndNoLibraries) {
  const Target c99 = c99_target(3);
  EXPECT_FALSE(c99.has_vectors() || c99.has_libraries() || c99.is_x86() || c99.has_fma() || c99.has_gathers());
  EXPECT_EQ(c99.language(), Language::kC99);
  EXPECT_EQ(c99.non_temporal_threshold(1), 0);
  EXPECT_EQ(c99.code_name(), "scalar C99");
  EXPECT_EQ(Target().code_name(), "vectors of 64 bytes");
  EXPECT_EQ(Target().language(), Language::kCpp);
}

TEST(Target, ADeviceHasThreadsInBlocks) {
  const Target device = emulated_cuda_target(3);
  EXPECT_TRUE(device.is_device() && device.has_fma());
  EXPECT_FALSE(device.has_vectors() || device.has_libraries() || device.is_x86() || device.has_gathers());
  EXPECT_FALSE(Target().is_device() || c99_target().is_device());
  EXPECT_EQ(device.lanes_of(DType::kFloat32), 1);
  EXPECT_EQ(device.language(), Language::kCuda);
  EXPECT_EQ(device.code_name(), "emulated CUDA");
}

}  // namespace
}  // namespace thtrain::kernel
