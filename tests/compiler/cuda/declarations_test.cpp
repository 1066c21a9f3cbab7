// What compiler/cuda declares, compared with the headers of a toolkit and with what its libraries export.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/base/run_program.h"
#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/libraries.h"
#include "compiler/cuda/math_functions.h"
#include "tests/support/folder_test.h"

namespace thtrain::cuda_declarations_test {
namespace {

class CudaDeclarations : public FolderTest {};

// Folders of headers: of a toolkit, or one for each of PyPI's wheels. Empty where none has the driver's.
std::vector<std::string> header_folders() {
  std::vector<std::string> out;
  bool has_driver = false;
  for (const std::string& folder : cuda::library_folders(cuda::search_variables())) {
    const std::string headers = (std::filesystem::path(folder).parent_path() / "include").string();
    has_driver = has_driver || std::filesystem::exists(headers + "/cuda.h");
    if (std::filesystem::exists(headers)) out.push_back(headers);
  }
  return has_driver ? out : std::vector<std::string>();
}

// Enumerations count as int, which our declarations have in their place.
constexpr const char* kProgram = R"(
#include <cuda.h>
#include <type_traits>
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define TH_HAS_NVRTC
#endif
#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>)
#include <cublas_v2.h>
#include <cublasLt.h>
#define TH_HAS_CUBLAS
#endif
#if __has_include(<cufft.h>)
#include <cufft.h>
#define TH_HAS_CUFFT
static_assert(CUFFT_FORWARD == -1 && CUFFT_INVERSE == 1);
#undef CUFFT_FORWARD
#undef CUFFT_INVERSE
#endif
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#define TH_HAS_CUSOLVER
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define TH_HAS_CUDNN
#endif
#if __has_include(<cusparse.h>)
#include <cusparse.h>
#define TH_HAS_OTHERS
#endif
#include "compiler/cuda/cublaslt_handle.h"
#include "compiler/cuda/cudnn_functions.h"
#include "compiler/cuda/functions.h"
#include "compiler/cuda/math_functions.h"

template <class T, bool = std::is_enum_v<T>> struct Plain { using type = T; };
template <class T> struct Plain<T, true> { using type = int; };
template <class T> struct Plain<T*, false> { using type = typename Plain<T>::type*; };
template <class R, class... P> struct Plain<R(P...), false> {
  using type = typename Plain<R>::type(typename Plain<P>::type...);
};
#ifdef TH_HAS_CUBLAS
// Structures without names, which ours has as void.
#define TH_VOID(theirs)                                                  \
  template <> struct Plain<theirs, false> { using type = void; };        \
  template <> struct Plain<const theirs, false> { using type = const void; };
TH_VOID(cublasLtMatmulDescOpaque_t)
TH_VOID(cublasLtMatrixLayoutOpaque_t)
TH_VOID(cublasLtMatmulPreferenceOpaque_t)
TH_VOID(cublasLtMatmulHeuristicResult_t)
TH_VOID(cublasLtMatmulAlgo_t)
#endif

#define TH_SAME(ours, theirs) \
  static_assert(std::is_same_v<typename Plain<decltype(ours)>::type, typename Plain<decltype(&theirs)>::type>, #theirs);
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Driver::name, ::name)
#define TH_OPTIONAL(name, parameters, loss) TH_SAME(thtrain::cuda::Driver::name, ::name)
#include "compiler/cuda/driver_functions.inc"
#ifdef TH_HAS_NVRTC
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Nvrtc::name, ::name)
#define TH_OPTIONAL(name, parameters, loss) TH_SAME(thtrain::cuda::Nvrtc::name, ::name)
#include "compiler/cuda/nvrtc_functions.inc"
#endif
#ifdef TH_HAS_CUBLAS
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Cublas::name, ::name)
#include "compiler/cuda/cublas_functions.inc"
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::CublasLt::name, ::name)
#include "compiler/cuda/cublaslt_functions.inc"
static_assert(sizeof(thtrain::cuda::CublasLtAlgorithmFound) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(thtrain::cuda::CublasLtAlgorithmFound, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(thtrain::cuda::CublasLtAlgorithmFound, status) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));
#endif
#ifdef TH_HAS_CUFFT
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Cufft::name, ::name)
#include "compiler/cuda/cufft_functions.inc"
#endif
#ifdef TH_HAS_CUSOLVER
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Cusolver::name, ::name)
#include "compiler/cuda/cusolver_functions.inc"
#endif
#ifdef TH_HAS_CUDNN
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Cudnn::name, ::name)
#include "compiler/cuda/cudnn_functions.inc"
#define TH_CONSTANT(type, name, value) static_assert(static_cast<long>(::name) == value, #name);
#include "compiler/cuda/cudnn_constants.inc"
#define TH_ALGORITHM(pass, enumerator, number, name, deterministic, method) static_assert(enumerator == number);
#include "compiler/cpu/conv/cudnn_algorithms.inc"
#define TH_SAME_STRUCTURE(theirs)                                                                        \
  static_assert(sizeof(thtrain::cuda::CudnnAlgorithmFound) == sizeof(theirs));                           \
  static_assert(offsetof(thtrain::cuda::CudnnAlgorithmFound, workspace_bytes) == offsetof(theirs, memory)); \
  static_assert(offsetof(thtrain::cuda::CudnnAlgorithmFound, determinism) == offsetof(theirs, determinism)); \
  static_assert(offsetof(thtrain::cuda::CudnnAlgorithmFound, math) == offsetof(theirs, mathType));
TH_SAME_STRUCTURE(cudnnConvolutionFwdAlgoPerf_t)
TH_SAME_STRUCTURE(cudnnConvolutionBwdDataAlgoPerf_t)
TH_SAME_STRUCTURE(cudnnConvolutionBwdFilterAlgoPerf_t)
#endif
#ifdef TH_HAS_OTHERS
#define TH_REQUIRED(name, parameters) TH_SAME(thtrain::cuda::Cusparse::name, ::name)
#include "compiler/cuda/cusparse_functions.inc"
#endif
#if defined(TH_HAS_CUBLAS) && defined(TH_HAS_CUFFT) && defined(TH_HAS_CUSOLVER) && defined(TH_HAS_OTHERS)
#define TH_CONSTANT(type, name, value) static_assert(static_cast<long>(::name) == value, #name);
#include "compiler/cuda/math_constants.inc"
#endif
#define TH_CONSTANT(type, name, value) static_assert(static_cast<long>(::name) == value, #name);
#include "compiler/cuda/driver_constants.inc"
static_assert(sizeof(CUdeviceptr) == sizeof(thtrain::cuda::DeviceAddress));
static_assert(CUDA_VERSION >= 12040 && CUDA_VERSION < 14000);
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

// By g++, with the headers of CUDA that are installed.
Finished compiled(const std::string& source, const std::string& text) {
  std::ofstream(source) << text;
  std::vector<std::string> words{"g++", "-std=c++20", "-fsyntax-only", "-I" THTRAIN_SOURCE_DIR};
  for (const std::string& folder : header_folders()) words.insert(words.end(), {"-isystem", folder});
  words.push_back(source);
  return run_program({.words = words});
}

TEST_F(CudaDeclarations, OfNcclAreThoseOfItsHeader) {
  const std::vector<std::string> folders = header_folders();
  if (std::ranges::none_of(folders,
                           [](const std::string& folder) { return std::filesystem::exists(folder + "/nccl.h"); }))
    GTEST_SKIP() << "the header of NCCL is not installed";
  const Finished found = compiled(root_ + "/nccl.cpp", kNcclProgram);
  EXPECT_EQ(found.exit_code, 0) << found.trouble << found.output;
}

TEST_F(CudaDeclarations, AreThoseOfTheToolkitsHeaders) {
  if (header_folders().empty()) GTEST_SKIP() << "no headers of CUDA are installed";
  const std::string source = root_ + "/declarations.cpp";
  const Finished right = compiled(source, kProgram);
  EXPECT_EQ(right.exit_code, 0) << right.trouble << right.output;
  // It would see a mistake.
  const Finished wrong =
      compiled(source, std::string(kProgram) + "TH_SAME(thtrain::cuda::Driver::cuMemFree_v2, ::cuInit)\n");
  EXPECT_EQ(wrong.exit_code, 1);
}

TEST_F(CudaDeclarations, AreExportedByTheToolkitsLibraries) {
  void* stub = nullptr;
  for (const std::string& folder : header_folders())
    if (!stub) stub = dlopen((folder + "/../lib64/stubs/libcuda.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!stub) GTEST_SKIP() << "no stub of the driver is installed";
#define TH_REQUIRED(name, parameters) EXPECT_NE(dlsym(stub, #name), nullptr) << #name;
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)
#include "compiler/cuda/driver_functions.inc"
  dlclose(stub);
}

TEST(CudaLibrariesOfThisMachine, AreOfUseWhereTheyAreThere) {
  bool any = false;
  const auto expect_use = [&](const cuda::Library& library) {
    if (!library.handle) return;
    any = true;
    EXPECT_EQ(library.trouble, "");
    EXPECT_NE(library.version, "");
    EXPECT_TRUE(library.missing.empty());
  };
  expect_use(cuda::nvrtc());
  expect_use(cuda::math_libraries().cublas());
  expect_use(cuda::math_libraries().cublaslt());
  expect_use(cuda::math_libraries().cufft());
  expect_use(cuda::math_libraries().cusolver());
  expect_use(cuda::math_libraries().cudnn());
  expect_use(cuda::math_libraries().cusparse());
  if (!any) GTEST_SKIP() << "no library of CUDA is installed";
}

}  // namespace
}  // namespace thtrain::cuda_declarations_test
