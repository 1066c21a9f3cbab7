// What thtrain calls of CUDA's libraries of mathematics, declared as functions.h declares the driver: tables that an
// opened library or an emulated one (emulated/) fills. docs/decisions/0021.
#pragma once

#include "compiler/cuda/functions.h"
#include "compiler/cuda/libraries.h"

struct cublasContext;
struct cublasLtContext;
struct cusolverDnContext;
struct cusolverDnParams;
struct cusparseContext;
struct cusparseSpMatDescr;
struct cusparseDnMatDescr;
struct cusparseDnVecDescr;
struct float2;   // a complex number: its parts
struct double2;  // NOLINT: their names

namespace thtrain::cuda {

#define TH_CONSTANT(type, name, value) inline constexpr type name = value;
#include "compiler/cuda/math_constants.inc"
/// CUFFT_FORWARD and CUFFT_INVERSE, which are macros.
inline constexpr int kCufftForward = -1, kCufftInverse = 1;

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
struct Cublas {
#include "compiler/cuda/cublas_functions.inc"
};

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
struct CublasLt {
#include "compiler/cuda/cublaslt_functions.inc"
};

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
struct Cufft {
#include "compiler/cuda/cufft_functions.inc"
};

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
struct Cusolver {
#include "compiler/cuda/cusolver_functions.inc"
};

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
struct Cusparse {
#include "compiler/cuda/cusparse_functions.inc"
};

/// One of these libraries; of no use where it says so (Library::trouble).
template <class Functions>
struct Opened : Library {
  Functions functions = {};
};

/// A version of a library that is older than the lists is of no use: `trouble` says so.
Opened<Cublas> open_cublas(const std::vector<std::string>& folders);
Opened<CublasLt> open_cublaslt(const std::vector<std::string>& folders);
Opened<Cufft> open_cufft(const std::vector<std::string>& folders);
Opened<Cusolver> open_cusolver(const std::vector<std::string>& folders);
Opened<Cusparse> open_cusparse(const std::vector<std::string>& folders);
struct Cudnn;  // cudnn_functions.h
Opened<Cudnn> open_cudnn(const std::vector<std::string>& folders);

/// Where the libraries of a device come from: each is opened by the first call.
struct MathLibraries {
  const Opened<Cublas>& (*cublas)();
  const Opened<CublasLt>& (*cublaslt)();
  const Opened<Cufft>& (*cufft)();
  const Opened<Cusolver>& (*cusolver)();
  const Opened<Cusparse>& (*cusparse)();
  const Opened<Cudnn>& (*cudnn)();
};
/// Those of this machine.
const MathLibraries& math_libraries();

/// InternalError "cublasSgemm_v2: status 13", unless the status is 0.
void check_math(Status status, const char* function);

}  // namespace thtrain::cuda
