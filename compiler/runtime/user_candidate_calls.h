// Calls from programs into candidates of shared objects: what a step writes, and what stands behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/kernel/step_builder.h"
#include "compiler/runtime/candidate_abi.h"
#include "compiler/runtime/library_functions.h"

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

/// The functions that such steps call.
NamedFunctions user_candidate_functions();

/// For a process that tries candidates.
struct UserCallWatch {
  std::function<void()> begin, end;  // before and after each call
  /// Each call gets a workspace and a result of its own, whose bytes are `fill` at first, with guards around them.
  bool is_guarded = false;
  uint8_t fill = 0xFF;
  std::string complaint = {};  // what the first bad call did: "it wrote behind its result: up to 40 bytes further"
};
/// Null: none. Not while a program runs.
void watch_user_calls(UserCallWatch* watch);

}  // namespace thtrain
