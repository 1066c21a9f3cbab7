// Where libraries of CUDA are looked for, and what is said of those that are missing, old or incomplete.
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/base/run_program.h"
#include "compiler/base/str.h"
#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/libraries.h"
#include "tests/support/datasets_support.h"
#include "tests/support/folder_test.h"

namespace thtrain::cuda_libraries_test {
namespace {

class CudaLibraries : public FolderTest {
 protected:
  std::string made(const std::string& folder) const {
    std::filesystem::create_directories(root_ + "/" + folder);
    return root_ + "/" + folder;
  }
  // A driver that does nothing, of that version, without one of the functions.
  void put_driver(int version, const std::string& without, const std::string& status_of_init = "0") const {
    std::string text = str("int cuDriverGetVersion(int* version) { *version = ", version, "; return 0; }\n");
    auto add = [&](const std::string& name) {
      if (name == without || name == "cuDriverGetVersion") return;
      text += str("int ", name, "(void) { return ", name == "cuInit" ? status_of_init : "0", "; }\n");
    };
#define TH_REQUIRED(name, parameters) add(#name);
#define TH_OPTIONAL(name, parameters, loss) add(#name);
#include "compiler/cuda/driver_functions.inc"
    build("libcuda.so.1", text);
  }
  void build(const std::string& library, const std::string& text) const {
    std::ofstream(root_ + "/library.c") << text;
    const std::vector<std::string> words = {
        "gcc", "-shared", "-fPIC", "-o", root_ + "/" + library, root_ + "/library.c"};
    const Finished built = run_program({.words = words});
    ASSERT_EQ(built.exit_code, 0) << built.trouble << built.output;
  }
  // Paths in texts begin in the test's folder.
  std::string shortened(std::string text) const {
    const std::string real = std::filesystem::canonical(root_).string();
    for (size_t at; (at = text.find(real)) != std::string::npos;) text.replace(at, real.size(), "ROOT");
    return text;
  }
};

TEST_F(CudaLibraries, FoldersAreThoseOfToolkitsThenOfWheels) {
  const std::vector<std::string> expected = {
      made("toolkit/lib64"),
      made("usr/local/cuda/lib64"),
      made("venv/lib/python3.11/site-packages/nvidia/cublas/lib"),
      made("venv/lib/python3.11/site-packages/nvidia/cu13/lib"),
      made("home/.local/lib/python3.12/site-packages/nvidia/nccl/lib"),
      made("home/.local/lib/python3.11/site-packages/nvidia/nccl/lib"),
      made("usr/lib/python3/dist-packages/nvidia/cudnn/lib"),
  };
  made("venv/lib/python3.11/site-packages/nvidia/without");
  made("conda/lib/pkgconfig");
  const cuda::SearchVariables variables{.cuda_home = root_ + "/toolkit",
                                        .virtual_environment = root_ + "/venv",
                                        .conda = root_ + "/conda",
                                        .home = root_ + "/home",
                                        .root = root_};
  EXPECT_EQ(cuda::library_folders(variables), expected);
  EXPECT_TRUE(cuda::library_folders({.root = root_ + "/conda"}).empty());
}

TEST_F(CudaLibraries, ALibraryOfAFolderIsOpenedByItsFirstNameThatIsThere) {
  put_driver(12040, "");
  std::filesystem::rename(root_ + "/libcuda.so.1", root_ + "/libth_some.so.2");
  const cuda::Library found = cuda::open_library({"libth_some.so.3", "libth_some.so.2"}, {root_ + "/none", root_});
  ASSERT_NE(found.handle, nullptr);
  EXPECT_EQ(shortened(found.path), "ROOT/libth_some.so.2");
  EXPECT_EQ(cuda::open_library({"libth_some.so.3"}, {root_}).trouble, "not found");
}

TEST_F(CudaLibraries, WhatCannotBeLoadedSaysWhy) {
  std::ofstream(root_ + "/libth_some.so") << "text";
  EXPECT_EQ(shortened(cuda::open_library({"libth_some.so"}, {root_}).trouble), "ROOT/libth_some.so: file too short");
}

// Of a version before 9 the path and the version are named.
TEST_F(CudaLibraries, AnOldCudnnIsRefusedByItsPath) {
  if (cuda::open_cudnn({}).handle) GTEST_SKIP() << "the linker finds cuDNN first";
  std::string text = "int cudnnGetProperty(int part, int* value) { *value = part == 0 ? 8 : 9; return 0; }\n";
#define TH_REQUIRED(name, parameters) \
  if (std::string(#name) != "cudnnGetProperty") text += "int " #name "(void) { return 0; }\n";
#include "compiler/cuda/cudnn_functions.inc"
  build("libcudnn.so.8", text);
  const cuda::Opened<cuda::Cudnn> opened = cuda::open_cudnn({root_});
  EXPECT_EQ(opened.version, "8.9.9");
  EXPECT_EQ(shortened(opened.trouble), "ROOT/libcudnn.so.8 is cuDNN 8.9.9; from 9.0 on, and before 10.0, it is of use");
}

class CudaDrivers : public CudaLibraries {
 protected:
  void SetUp() override {
    CudaLibraries::SetUp();
    if (cuda::driver().handle) GTEST_SKIP() << "the linker finds a driver of this machine first";
  }
};

TEST_F(CudaDrivers, AWholeOneIsTaken) {
  put_driver(13010, "");
  const cuda::OpenedDriver opened = cuda::open_driver({root_});
  EXPECT_EQ(opened.trouble, "");
  EXPECT_EQ(opened.version, "13.1");
  EXPECT_TRUE(opened.missing.empty());
  EXPECT_NE(opened.functions.cuLaunchKernel, nullptr);
}

TEST_F(CudaDrivers, WithoutAnOptionalFunctionItCosts) {
  put_driver(12040, "cuGetErrorName");
  const cuda::OpenedDriver opened = cuda::open_driver({root_});
  EXPECT_EQ(opened.trouble, "");
  EXPECT_EQ(opened.missing, std::vector<std::string>{"cuGetErrorName: errors have numbers instead of names"});
}

TEST_F(CudaDrivers, WithoutARequiredFunctionItIsOfNoUse) {
  put_driver(12040, "cuMemAlloc_v2");
  EXPECT_EQ(shortened(cuda::open_driver({root_}).trouble), "ROOT/libcuda.so.1 has no function cuMemAlloc_v2");
}

TEST_F(CudaDrivers, AnOldOneIsOfNoUse) {
  put_driver(11080, "");
  EXPECT_EQ(shortened(cuda::open_driver({root_}).trouble),
            "ROOT/libcuda.so.1 is a driver of CUDA 11.8; from 12.4 on, and before 14.0, it is of use");
}

TEST_F(CudaDrivers, OneWithoutADeviceSaysWhy) {
  put_driver(12080, "");
  EXPECT_EQ(cuda::why_no_device(cuda::open_driver({root_})), "driver 12.8 finds none");
}

TEST_F(CudaDrivers, OneThatCannotBeginSaysWhy) {
  put_driver(12080, "cuGetErrorString", "100");
  EXPECT_EQ(cuda::why_no_device(cuda::open_driver({root_})), "cuInit: error 100");
}

TEST_F(CudaDrivers, WithoutOneTheErrorNamesTheEmulatedDevice) {
  EXPECT_EQ(error_text([] { cuda::require_device(0); }),
            "error: there is no CUDA device\n"
            "  expected: a device of NVIDIA and its driver, of CUDA 12.4 to 13\n"
            "  got:      the driver (libcuda.so.1): not found\n"
            "  hint:     compiler.device = \"emulated\" runs the same kernels on the host, slowly");
  const std::vector<cuda::Fact> facts = cuda::library_facts();
  EXPECT_EQ(
      facts.front().text,
      "none (not found): no CUDA device can be used; compiler.device = \"emulated\" runs CUDA kernels on the host");
  EXPECT_EQ(facts.back().text, "none (the driver (libcuda.so.1): not found)");
}

}  // namespace
}  // namespace thtrain::cuda_libraries_test
