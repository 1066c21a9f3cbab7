// Lengths that the data decides, in a call: their values, their checks, and the buffers that wait for them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/codegen/entry_abi.h"
#include "compiler/ir/lengths.h"
#include "compiler/ir/op.h"
#include "compiler/runtime/function.h"

namespace thtrain {

/// The values of defined lengths are the last outputs of a function's graph, which its callers do not see.
struct DataLengths {
  // Of each such output: the length in the user's graph and in the canonical one.
  std::vector<std::pair<std::string, std::string>> names;
  std::vector<size_t> late_outputs;  // their shapes depend on defined lengths: allocated while the entry runs
  std::vector<Tensor> late_values;   // one for each output of the graph
  std::vector<Tensor> temporaries;   // kept from call to call
  std::span<const Tensor> inputs;    // of the call
  // Those that bodies define, with their numbers in the canonical graph, and under these numbers the last values.
  std::map<std::string, size_t> inside;
  std::vector<long> values;

  bool any() const { return !names.empty() || !inside.empty(); }
  void forget_buffers() { late_values.clear(), temporaries.clear(); }
};

/// The graph with values replaced. Where inputs that are not listed go, their lengths go with them: names of these
/// become the lengths of the values that replace them, in bodies too.
Graph with_givens(const Graph& graph, const std::vector<std::pair<Expr, Expr>>& givens);
/// The graph with outputs after the first `seen_outputs` that define the lengths of its values, and no others.
Graph with_definitions(Graph graph, size_t seen_outputs);
/// Fills `names` and `late_outputs` once the canonical graph is there. UserError where a length has two values.
void name_definitions(Function::State& state);

/// Before the entry runs: no length is defined, and no late output has a buffer.
void begin_lengths(Function::State& state, std::span<const Tensor> inputs);
/// The lengths that steps have defined so far, into those of the call; 0 for the others.
void read_lengths(Function::State& state);
/// Afterwards: late outputs get their positions and shapes, and the values of lengths leave.
void finish_lengths(Function::State& state, std::vector<Tensor>& outputs);
/// ThContext::allocate.
void* on_allocate(ThContext* context, int slot, long bytes);

/// All lengths of the call by the reference, each as soon as it can be told, and the checks of `value_checks`. Gives
/// the leaves of the user's graph and the definitions with their values.
std::vector<std::pair<Expr, Tensor>> define_by_reference(Function::State& state, std::span<const Tensor> inputs);

/// The hint of an error that comes after a step that writes a shared variable.
inline constexpr const char* kMayHaveChanged = "shared variables that this call updates may have changed already";
/// The error with that hint behind its own.
UserError with_changed_variables(const UserError& error);
/// Each equality that the types could not prove.
void check_lengths(const std::vector<LengthCheck>& checks, const Lengths& lengths);
/// The same for those of which all lengths are known.
void check_known_lengths(const std::vector<LengthCheck>& checks, const Lengths& lengths);

/// Where output k of a call goes: the function's own buffer where it is borrowed, unless the caller gave that back as
/// an argument or its lengths changed.
Tensor output_buffer(Function::State& state, size_t k, std::span<const Tensor> inputs);

}  // namespace thtrain
