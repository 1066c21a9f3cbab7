#include "compiler/runtime/fixed_arguments.h"

namespace thtrain {

std::span<const Tensor> FixedArguments::copies_of(std::span<const Tensor> arguments) {
  constexpr int64_t kScalarBytes = 16;
  if (copies_.size() != arguments.size()) {
    copies_.assign(arguments.size(), Tensor());
    const auto count = static_cast<int64_t>(arguments.size());
    scalars_ = std::make_shared<Tensor>(Tensor::empty(DType::kUInt8, {count * kScalarBytes}));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& given = arguments[i];
    Tensor& copy = copies_[i];
    if (given.rank() == 0)
      copy = Tensor::wrap(given.dtype(), {}, {}, scalars_->data<uint8_t>() + static_cast<int64_t>(i) * kScalarBytes,
                          scalars_);
    else if (copy.dtype() != given.dtype() || copy.shape() != given.shape())
      copy = Tensor::empty(given.dtype(), given.shape());
    copy.assign(given);
  }
  return copies_;
}

}  // namespace thtrain
