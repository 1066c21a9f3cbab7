// A finished program as bytes: what a warm start loads instead of running passes, planner and printer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/emit.h"
#include "compiler/plan/program.h"
#include "compiler/runtime/reference_step.h"

namespace thtrain {

struct ProgramImage {
  SourceText source;
  std::vector<CheckText> checks;
  std::vector<size_t> shared_order;  // argument order, as indices in leaves_of(user's graph)
  std::vector<Tensor> constants;
  std::vector<bool> on_device;     // does it lie there? In argument order
  std::vector<bool> read_by_host;  // inputs_read_by_host()
  Dim arena_bytes = 0, lower_bound = 0, host_bytes = 0;
  std::vector<ReferenceStep> reference_steps;
  std::vector<kernel::Choice> choices;  // the tuner's answers that the program was made with
};

/// `user_ops` are those of the user's graph, in the order of its text (user_ops_of). nullopt where a reference step has
/// no text (see call_text).
std::optional<std::string> to_bytes(const ProgramImage& image, std::span<const Op* const> user_ops = {});
/// nullopt where the bytes are not of this version.
std::optional<ProgramImage> from_bytes(std::string_view bytes, std::span<const Op* const> user_ops = {});

}  // namespace thtrain
