// Calls that tell of outputs while the program computes the rest.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/runtime/function_state.h"

namespace thtrain {

/// Of one call.
struct EarlyOutputs {
  const std::function<void(size_t output, const Tensor& value)>& on_output;
  std::span<const Tensor> outputs = {};  // of the call, as far as callers see them
  std::vector<bool> told = {};

  void begin(const Function::State& state, std::span<const Tensor> of_call);
  void tell(size_t output);
};

/// ThContext::output_done. Nothing happens in other calls.
void on_output_done(ThContext* context, int number);

}  // namespace thtrain
