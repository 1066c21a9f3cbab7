// What compiler/cuda declares, compared with the headers of a toolkit and with what its libraries export.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/base/run_program.h"
#include "compiler/cuda/libraries.h"
#include "tests/support/folder_test.h"

namespace thtrain::cuda_declarations_test {
namespace {

class CudaDeclarations : public FolderTest {};

// The toolkit that is installed; "" where none is.
std::string toolkit() {
  for (const std::string& folder : cuda::library_folders(cuda::search_variables())) {
    const std::string out = std::filesystem::path(folder).parent_path().string();
    if (std::filesystem::exists(out + "/include/cuda.h")) return out;
  }
  return "";
}

// Enumerations count as int, which our declarations have in their place.
constexpr const char* kProgram = R"(
#include <cuda.h>
#include <nvrtc.h>
#include <type_traits>
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#include <cublasLt.h>
#include <cufft.h>
#include <cusolver_common.h>
#include <cusparse.h>
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif
#include "compiler/cuda/functions.h"

template <class T, bool = std::is_enum_v<T>> struct Plain { using type = T; };
template <class T> struct Plain<T, true> { using type = int; };
template <class T> struct Plain<T*, false> { using type = typename Plain<T>::type*; };
template <class R, class... P> struct Plain<R(P...), false> {
  using type = typename Plain<R>::type(typename Plain<P>::type...);
};

#define TH_SAME(ours, theirs) \
  static_assert(std::is_same_v<typename Plain<decltype(ours)>::type, typename Plain<decltype(&theirs)>::type>, #theirs);
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Driver::name, ::name)
#define TH_OPTIONAL(name, parameters, loss) TH_SAME(thtrain::cuda::Driver::name, ::name)
#include "compiler/cuda/driver_functions.inc"
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Nvrtc::name, ::name)
#define TH_OPTIONAL(name, parameters, loss) TH_SAME(thtrain::cuda::Nvrtc::name, ::name)
#include "compiler/cuda/nvrtc_functions.inc"
#define TH_CONSTANT(type, name, value) static_assert(static_cast<long>(::name) == value, #name);
#include "compiler/cuda/driver_constants.inc"
static_assert(sizeof(CUdeviceptr) == sizeof(thtrain::cuda::DeviceAddress));
static_assert(CUDA_VERSION >= 12040 && CUDA_VERSION < 14000);
#if __has_include(<cublas_v2.h>) && __has_include(<cudnn.h>)
thtrain::cuda::Status (*ask)(int, int*);
#define TH_LIBRARY(library, name, ...) TH_SAME(ask, ::name)
#include "compiler/cuda/version_functions.inc"
#endif
)";

constexpr const char* kNcclProgram = R"(
#include <cuda.h>
#include <nccl.h>
#include <type_traits>
template <class T, bool = std::is_enum_v<T>> struct Plain { using type = T; };
template <class T> struct Plain<T, true> { using type = int; };
template <class T> struct Plain<T*, false> { using type = typename Plain<T>::type*; };
template <class R, class... P> struct Plain<R(P...), false> {
  using type = typename Plain<R>::type(typename Plain<P>::type...);
};
namespace ours {
using Status = int;
#define TH_REQUIRED(name, parameters) extern Status(*name) parameters;
#include "compiler/cuda/nccl_functions.inc"
}
#define TH_SAME(ours, theirs) \
  static_assert(std::is_same_v<typename Plain<decltype(ours)>::type, typename Plain<decltype(&theirs)>::type>, #theirs);
#define TH_REQUIRED(name, parameters) TH_SAME(ours::name, ::name)
#include "compiler/cuda/nccl_functions.inc"
static_assert(ncclInt8 == 0 && sizeof(ncclUniqueId) == 128);
)";

TEST_F(CudaDeclarations, OfNcclAreThoseOfItsHeader) {
  if (toolkit().empty() || !std::filesystem::exists(toolkit() + "/include/nccl.h"))
    GTEST_SKIP() << "the header of NCCL is not installed";
  const std::string source = root_ + "/nccl.cpp";
  std::ofstream(source) << kNcclProgram;
  const Finished found = run_program({.words = {"g++", "-std=c++20", "-fsyntax-only", "-I" THTRAIN_SOURCE_DIR,
                                                "-isystem", toolkit() + "/include", source}});
  EXPECT_EQ(found.exit_code, 0) << found.trouble << found.output;
}

TEST_F(CudaDeclarations, AreThoseOfTheToolkitsHeaders) {
  if (toolkit().empty()) GTEST_SKIP() << "no CUDA toolkit is installed";
  const std::string source = root_ + "/declarations.cpp";
  auto compiled = [&](const std::string& text) {
    std::ofstream(source) << text;
    return run_program({.words = {"g++", "-std=c++20", "-fsyntax-only", "-I" THTRAIN_SOURCE_DIR, "-isystem",
                                  toolkit() + "/include", source}});
  };
  const Finished right = compiled(kProgram);
  EXPECT_EQ(right.exit_code, 0) << right.trouble << right.output;
  // It would see a mistake.
  const Finished wrong = compiled(std::string(kProgram) + "TH_SAME(thtrain::cuda::Driver::cuMemFree_v2, ::cuInit)\n");
  EXPECT_EQ(wrong.exit_code, 1);
}

TEST_F(CudaDeclarations, AreExportedByTheToolkitsLibraries) {
  void* stub = dlopen((toolkit() + "/lib64/stubs/libcuda.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!stub) GTEST_SKIP() << "no stub of the driver is installed";
#define TH_REQUIRED(name, parameters) EXPECT_NE(dlsym(stub, #name), nullptr) << #name;
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)
#include "compiler/cuda/driver_functions.inc"
  dlclose(stub);
  if (cuda::nvrtc().handle) {
    EXPECT_EQ(cuda::nvrtc().trouble, "");
    EXPECT_TRUE(cuda::nvrtc().missing.empty());
  }
}

}  // namespace
}  // namespace thtrain::cuda_declarations_test
