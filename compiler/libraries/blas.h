// The one OpenBLAS of the process: loaded at first use, with the kernels that this processor deserves.
//
// OpenBLAS chooses its kernels while it is loaded, and the version of Debian 12 takes processors newer than itself for
// very old ones (SSE3, five times slower). So the choice is made here, from CPUID, and handed over in the environment.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "compiler/host/cpu.h"

namespace thtrain {

/// CBLAS, with its enumerations as the numbers that they are.
enum CblasOrder : int { kCblasRowMajor = 101 };
enum CblasTranspose : int { kCblasNoTrans = 111, kCblasTrans = 112 };
template <class T>
using CblasGemm = void (*)(CblasOrder, CblasTranspose, CblasTranspose, int m, int n, int k, T alpha, const T* a,
                           int lda, const T* b, int ldb, T beta, T* c, int ldc);
template <class T>
using CblasGemv = void (*)(CblasOrder, CblasTranspose, int m, int n, T alpha, const T* a, int lda, const T* x, int incx,
                           T beta, T* y, int incy);
template <class T>
using CblasGer = void (*)(CblasOrder, int m, int n, T alpha, const T* x, int incx, const T* y, int incy, T* a, int lda);

struct Blas {
  std::string corename;     // the kernels in use: "SkylakeX", "Haswell", "Prescott"
  std::string version;      // "OpenBLAS 0.3.21"
  bool was_loaded = false;  // by the host program, before us: its choice of kernels holds
  CblasGemm<float> sgemm = nullptr;
  CblasGemm<double> dgemm = nullptr;
  CblasGemv<float> sgemv = nullptr;
  CblasGemv<double> dgemv = nullptr;
  CblasGer<float> sger = nullptr;
  CblasGer<double> dger = nullptr;
  void* library = nullptr;

  /// An entry point by its name, such as LAPACK's "dpotrf_"; InternalError where the library has none of that name.
  template <class Function>
  Function* lapack(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  void* symbol(const char* name) const;
  /// Kernels made before AVX2, whatever the processor can do.
  bool has_old_kernels() const;
};

/// Loaded at the first call and kept. Its own threads are switched off (for the host program too, where it was loaded
/// before): matrix products are divided by matrix_products.h. Warns once on standard error where the kernels are much
/// older than the processor. UserError where there is no OpenBLAS, or it cannot be loaded.
const Blas& blas();

/// What OPENBLAS_CORETYPE has to say for OpenBLAS to take good kernels on `cpu`; none where its own choice is good.
std::optional<std::string> openblas_coretype(const Cpu& cpu);

/// "OPENBLAS_CORETYPE=Haswell forces kernels older than this processor's"; empty where the environment does not. Loads
/// the library where the variable is set.
std::string forced_kernels_text();

namespace detail {
/// Are the kernels of that name made for instructions that `cpu` has outgrown? Names that are not known are not.
bool are_older(const std::string& corename, const Cpu& cpu);
/// Tries the names in turn; UserError, with what the dynamic linker said, where none can be loaded.
Blas load_blas(std::span<const char* const> names, const Cpu& cpu);
}  // namespace detail

}  // namespace thtrain
