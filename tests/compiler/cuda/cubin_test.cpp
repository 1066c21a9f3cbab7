// Machine code without a device: by NVRTC and by nvcc, and of every kernel of the ops' cases.
#include <gtest/gtest.h>

#include <atomic>
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

// New ones several at once; what a compiler of another version, or for another device, made is not taken.
TEST_F(Cubin, IsKeptByTextOptionsAndVersion) {
  std::atomic<int> compiled = 0;
  const auto compiler = [&](const char* version) {
    return cuda::CubinCompiler{version, [&](const std::string& text, int compute_capability) {
                                 ++compiled;
                                 return str("code of ", text, " for ", compute_capability);
                               }};
  };
  std::vector<std::string> texts;  // of this run alone: the cache is the process's
  for (int i = 0; i < 5; ++i) texts.push_back(str(root_, " ", i));
  const auto expect = [&](const char* version, int compute_capability, int count) {
    compiled = 0;
    const std::vector<std::string> got = cuda::cached_cubins(compiler(version), texts, compute_capability);
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(got[i], str("code of ", texts[i], " for ", compute_capability));
    EXPECT_EQ(compiled, count) << version;
  };
  expect("1", 90, 5);
  expect("1", 90, 0);
  expect("2", 90, 5);
  expect("1", 75, 5);
  texts.push_back(str(root_, " another"));
  expect("1", 90, 1);
}

TEST_F(Cubin, ARefusedTextEndsAllOthers) {
  const cuda::CubinCompiler refusing{
      "1", [](const std::string& text, int) -> std::string { throw InternalError({.what = "refused " + text}); }};
  const std::vector<std::string> texts = {root_ + " a", root_ + " b", root_ + " c"};
  EXPECT_THROW(cuda::cached_cubins(refusing, texts, 90), InternalError);
}

}  // namespace
}  // namespace thtrain::cubin_test
