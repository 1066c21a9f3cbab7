// The debug mode: every rewrite and every native step held against the references; the first that differs is named.
#pragma once

#include "compiler/runtime/function.h"

namespace thtrain {

/// One call in debug mode. InternalError that names the pass and rule, or the step, the node's origin and the first
/// element that differs by more than rounding can explain (ops/bounded.h); or the buffer that a step changed without
/// saying so.
std::vector<Tensor> debug_call(Function::State& state, std::span<const Tensor> inputs);

}  // namespace thtrain
