// Generated matrix products outside of any program, with vectors of any width: what the tests compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/entry_abi.h"
#include "compiler/host/cache.h"
#include "compiler/ops/linalg/gemm_kernel.h"

namespace thtrain {

/// Tilings of one product, compiled in one translation unit.
class GemmCandidates {
 public:
  /// `names` are those of tilings. `alpha` and `beta` are numbers; beta is 0 where the product does not accumulate.
  GemmCandidates(const MatrixProduct& product, std::vector<std::string> names, double alpha, double beta,
                 int vector_bytes);

  size_t size() const { return names_.size(); }
  const std::string& name(size_t i) const { return names_[i]; }
  /// C = alpha op(A) op(B) + beta C by candidate i; dense row-major matrices as stored, those of a batch one after the
  /// other.
  void run(size_t i, ThContext& context, const void* a, const void* b, void* c) const;

 private:
  using Kernel = void (*)(ThContext*, void* const* buffers);
  std::vector<std::string> names_;
  std::vector<Kernel> kernels_;
  std::shared_ptr<const SharedObject> object_;
};

}  // namespace thtrain
