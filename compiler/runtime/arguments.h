// The arguments of a call: what its caller left out, dtypes, memory that the call may not read or write.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/runtime/function.h"

namespace thtrain {

/// The value as an input of another dtype takes it: integers that this holds exactly, unless InOptions::strict; every
/// real number with InOptions::allow_downcast. Else nullopt.
std::optional<Tensor> in_dtype(const Tensor& value, DType dtype, const InOptions& options);

// Each of these gives the arguments themselves, or a view of `copies`, which it filled.

/// With the values of the last inputs, where the caller gave fewer and these have some.
std::span<const Tensor> with_own_values(const Function::State& state, std::span<const Tensor> given,
                                        std::vector<Tensor>& copies);
/// In the dtypes of the inputs (in_dtype). What does not fit is reported when its lengths are bound.
std::span<const Tensor> in_own_dtypes(const Function::State& state, std::span<const Tensor> given,
                                      std::vector<Tensor>& copies);
/// Row-major and on the host, but for those in the memory of the program's device that the host need not read.
std::span<const Tensor> in_reach(const Function::State& state, std::span<const Tensor> given,
                                 std::vector<Tensor>& copies);
/// With copies of those that are the buffer of a variable that the call updates, and of mutable ones whose memory
/// somebody else reads: a variable, another argument, a later call.
std::span<const Tensor> in_own_memory(const Function::State& state, std::span<const Tensor> given,
                                      std::vector<Tensor>& copies);

/// What a call returned, without the next values of inputs and variables, which these get.
void take_next_values(Function::State& state, std::vector<Tensor>& returned);

}  // namespace thtrain
