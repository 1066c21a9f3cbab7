// oneDNN's matrix product, where the library is installed: a candidate of the tuner, never required.
#pragma once

#include <string>

#include "compiler/codegen/entry_abi.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/ops/linalg/library_functions.h"

namespace thtrain {

struct OneDnn {
  std::string version;  // "oneDNN 2.6.3"
  int (*sgemm)(char trans_a, char trans_b, long m, long n, long k, float alpha, const float* a, long lda,
               const float* b, long ldb, float beta, float* c, long ldc) = nullptr;
  void (*set_threads)(int) = nullptr;  // of OpenMP, for the calling thread; null where it is built without
  int major = 0;
  void* library = nullptr;

  /// The calling thread works alone in the library's functions from here on.
  void use_one_thread() const;
};

/// Loaded at the first call and kept; null where there is none.
const OneDnn* onednn();

/// gemm of ops/linalg/library_functions.h, where no length is 0; gives the library's status, 0 where it succeeded. Its
/// own threads are never used: they spin while they wait, and are slow next to any other process (docs/decisions/0005).
/// Pieces are those of gemm_f32.
int onednn_f32(ThContext* context, TH_GEMM_PARAMETERS(float));

/// The same by the name that programs list.
NamedFunctions onednn_functions();

}  // namespace thtrain
