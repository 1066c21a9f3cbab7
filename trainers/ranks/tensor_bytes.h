// Tensors as bytes, for messages between ranks of one machine type.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/tensor.h"

namespace thtrain {

/// A list of them.
void append_tensors(std::span<const Tensor> tensors, std::string& bytes);
/// The list that `bytes` begins with, which is taken off.
std::vector<Tensor> take_tensors(std::string_view& bytes);

}  // namespace thtrain
