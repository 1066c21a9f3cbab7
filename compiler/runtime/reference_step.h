// Steps of a program that run through the reference of their op: what a call back needs, and its text in a finished
// program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/plan/program.h"
#include "compiler/runtime/function.h"

namespace thtrain {

struct ReferenceStep {
  size_t number;                     // among the program's steps
  std::shared_ptr<const Node> node;  // where it was read back: on stand-ins for its inputs
  struct Value {
    bool has_elements;  // a token has none
    Type type;
    Dims strides;
  };
  std::vector<Value> values;  // inputs, then outputs
  size_t inputs;
  bool after_write = false;                 // a shared variable may have changed before it runs
  std::shared_ptr<const std::string> file;  // of the node's origin, where it was read back
};

std::vector<ReferenceStep> reference_steps_of(const Program& program);

/// The node on stand-ins for its inputs, as the text of a graph; constants stay. nullopt where that does not read back
/// to the same types: a length that is the value of an input, a body with a constant of more than 64 elements or with
/// an op of a user.
std::optional<std::string> call_text(const Node& node);
/// The node of such a text, with this origin; `user_op` is its op where that is in no list, else null. UserError where
/// the text is another.
std::shared_ptr<const Node> read_call(const std::string& text, const Origin& origin, const Op* user_op);

/// Such a step of the function's program in a call.
void run_reference_step(Function::State& state, size_t step, void* const* buffers);

}  // namespace thtrain
