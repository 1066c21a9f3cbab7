// Calls from programs into candidates of shared objects: what a step writes, and what it calls.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/kernel/step_builder.h"
#include "compiler/libraries/library_functions.h"
#include "compiler/tuning/candidate_abi.h"

namespace thtrain {

/// A candidate's function for one key.
struct UserCall {
  std::string properties;
  int (*compute)(const ThCandidateCall*) = nullptr;
};

/// The number by which programs name a candidate for a key: the same in every process.
int64_t user_call_number(const std::string& file_hash, const std::string& name, const kernel::ChoiceKey& key);
/// From now on programs that call that number reach the function. Any thread may call.
void add_user_call(int64_t number, UserCall call);

/// Writes the step of a node of one of the computations.
void lower_user_call(kernel::StepBuilder& builder, const std::string& name, int64_t number, int64_t workspace_bytes);

/// Makes the function known that such steps call: before the first candidate is offered.
void add_user_candidate_function();

}  // namespace thtrain
