// Machine code without a device: by NVRTC and by nvcc, and of every kernel of the ops' cases.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "compiler/base/error.h"
#include "compiler/cuda/cubin.h"
#include "compiler/cuda/libraries.h"
#include "tests/support/folder_test.h"

namespace thtrain::cubin_test {
namespace {

class Cubin : public FolderTest {};

constexpr const char* kText =
    "extern \"C\" __global__ void k(const float* a, float* b, long n) {\n"
    "  const long i = (long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) b[i] = a[i] / 3.0f;\n"
    "}\n";

TEST_F(Cubin, NvrtcAndNvccCompileTheSameText) {
  const std::string nvcc = "/usr/local/cuda/bin/nvcc";
  if (!cuda::nvrtc().trouble.empty()) GTEST_SKIP() << "NVRTC: " << cuda::nvrtc().trouble;
  const std::string by_nvrtc = cuda::compile_cubin(cuda::nvrtc().functions, kText, 90);
  EXPECT_TRUE(by_nvrtc.starts_with("\177ELF"));
  if (!std::filesystem::exists(nvcc)) GTEST_SKIP() << "nvcc is not installed";
  EXPECT_TRUE(cuda::compile_cubin(nvcc, kText, 90, root_).starts_with("\177ELF"));
  EXPECT_THROW(cuda::compile_cubin(nvcc, "void f() { return 1; }", 90, root_), InternalError);
}

TEST_F(Cubin, WhatIsRefusedComesWithTheComplaint) {
  if (!cuda::nvrtc().trouble.empty()) GTEST_SKIP() << "NVRTC: " << cuda::nvrtc().trouble;
  try {
    cuda::compile_cubin(cuda::nvrtc().functions, "void f() { x = 1; }", 90);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_EQ(error.messages().front().what, "nvrtcCompileProgram: error 6");
    EXPECT_NE(error.messages().front().got.find("identifier \"x\" is undefined"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace thtrain::cubin_test
