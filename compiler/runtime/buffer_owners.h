// Which memory belongs to which shared variable, and which to a function that writes it in its next call.
#pragma once

#include <memory>
#include <string>

#include "compiler/base/origin.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

/// Until the result is gone, the memory of `value` belongs to `owner`, which texts call `called`. UserError, at
/// `origin`, where some of it belongs to another owner. Null for a value without elements.
std::shared_ptr<void> claim_buffer(const void* owner, const std::string& called, const Tensor& value,
                                   const Origin& origin);

}  // namespace thtrain
