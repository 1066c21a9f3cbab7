// Arguments at addresses that stay from call to call, for programs whose calls are replayed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

class FixedArguments {
 public:
  /// Copies of the arguments, row-major: at the same addresses as in the call before where dtypes and shapes are the
  /// same. Scalars lie in one block, 16 bytes each. Valid until the next call.
  std::span<const Tensor> copies_of(std::span<const Tensor> arguments);

 private:
  std::shared_ptr<Tensor> scalars_;
  std::vector<Tensor> copies_;
};

}  // namespace thtrain
