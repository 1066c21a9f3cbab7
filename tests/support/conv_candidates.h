// Candidates of a convolution outside of any program, with vectors of any width: what the tests compare.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "compiler/codegen/entry_abi.h"
#include "compiler/host/cache.h"
#include "compiler/kernel/step_builder.h"
#include "compiler/ops/conv/convolution.h"

namespace thtrain {

/// How GoogleTest names it.
inline void PrintTo(ConvPass pass, std::ostream* out) {
  *out << name_of(pass);
}

/// Candidates of convolutions, compiled in one translation unit.
class ConvCandidates {
 public:
  struct One {
    Convolution convolution;
    std::string name;
  };
  ConvCandidates(std::vector<One> all, const kernel::Target& target);

  size_t size() const { return steps_.size(); }
  /// The output of candidate i for row-major operands; `out` has its elements. Sets context.library. InternalError
  /// where a library function fails.
  void run(size_t i, ThContext& context, const void* a, const void* b, void* out) const;

 private:
  using Kernel = int (*)(ThContext*, void* const* buffers);  // gives a library function's status, else 0
  struct Step {
    std::vector<Kernel> kernels;
    std::vector<int64_t> workspace_bytes;
  };
  std::vector<Step> steps_;
  std::vector<void*> library_;
  std::shared_ptr<const SharedObject> object_;
};

}  // namespace thtrain
