// The candidates of a matrix product, run outside of any program: what the tuner times and the tests compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/entry_abi.h"
#include "compiler/ops/linalg/gemm_kernel.h"
#include "compiler/runtime/cache.h"

namespace thtrain {

/// Candidates of one product, the generated ones compiled in one translation unit.
class GemmCandidates {
 public:
  /// `names` as a Chooser gives them, of what is installed. `alpha` and `beta` are numbers; beta is 0 where the product
  /// does not accumulate. UserError where no compiler is found and the cache does not have the object.
  GemmCandidates(const kernel::MatrixProduct& product, std::vector<std::string> names, double alpha, double beta,
                 int vector_bytes);

  size_t size() const { return names_.size(); }
  const std::string& name(size_t i) const { return names_[i]; }
  /// C = alpha op(A) op(B) + beta C by candidate i; dense row-major matrices as stored.
  void run(size_t i, ThContext& context, const void* a, const void* b, void* c) const;

 private:
  using Kernel = void (*)(ThContext*, void* const* buffers);
  kernel::MatrixProduct product_;
  std::vector<std::string> names_;
  std::vector<Kernel> kernels_;  // null for a library's
  double alpha_, beta_;
  std::shared_ptr<const SharedObject> object_;
};

struct GemmTrial {
  std::string candidate;
  double seconds = 0;  // of one product, in the fastest turn
};

/// Times the candidates in turns, so that a busy moment of the machine hits all of them, on `threads` threads.
std::vector<GemmTrial> time_candidates(const kernel::MatrixProduct& product, const std::vector<std::string>& names,
                                       int threads);

}  // namespace thtrain
