// Outputs by their names, and calls that compute some of them.
#include <algorithm>

#include "compiler/autodiff/differentiation.h"
#include "compiler/base/escape.h"
#include "compiler/base/nearest_name.h"
#include "compiler/ir/effects.h"
#include "compiler/runtime/data_lengths.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {
namespace {

std::string names_text(const std::vector<std::string>& names) {
  return join(names, ", ", [](const std::string& name) { return name.empty() ? "(no name)" : escaped(name); });
}

size_t number_of(const Function::State& s, const OutputKey& key, const std::source_location& where) {
  const std::vector<std::string>& names = s.output_names;
  const std::string called = with_call("", escaped(s.options.name), where);
  if (const int* number = std::get_if<int>(&key.key)) {
    if (*number >= 0 && static_cast<size_t>(*number) < names.size()) return static_cast<size_t>(*number);
    throw UserError({.what = str(escaped(s.options.name), ": there is no output of this number"),
                     .expected = str("a number from 0, below ", names.size()),
                     .got = str(*number),
                     .node = called});
  }
  const std::string& name = std::get<std::string>(key.key);
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end() || name.empty()) {
    const std::string near = nearest_name(name, names);
    throw UserError({.what = str(escaped(s.options.name), ": no output is called ", escaped(name)),
                     .expected = names_text(names),
                     .node = called,
                     .hint = near.empty() ? "give an output a name: function({x}, {{\"loss\", loss}})"
                                          : str("did you mean ", escaped(near), "?")});
  }
  if (std::find(at + 1, names.end(), name) != names.end())
    throw UserError({.what = str(escaped(s.options.name), ": two outputs are called ", escaped(name)),
                     .expected = "names that tell the outputs apart",
                     .got = names_text(names),
                     .node = called,
                     .hint = "give their numbers, or names of their own: function({x}, {{\"loss\", loss}})"});
  return static_cast<size_t>(at - names.begin());
}

}  // namespace

std::shared_ptr<Function::State> subset(const Function::State& s, const std::vector<size_t>& outputs,
                                        bool with_updates) {
  auto out = std::make_shared<Function::State>();
  out->options = s.options;
  out->inputs = s.inputs;
  out->graph = s.graph;
  out->graph.outputs.clear();
  for (size_t k : outputs) {
    out->graph.outputs.push_back(s.graph.outputs[k]);
    out->output_names.push_back(s.output_names[k]);
    out->borrowed.push_back(s.borrowed[k]);
    out->internal.push_back(s.internal[k]);
  }
  out->resized = s.resized;
  if (!with_updates) {
    out->graph.updates.clear();
    out->resized.clear();
    for (InOptions& input : out->inputs) input.update = {};
  }
  const size_t seen_or_next = s.graph.outputs.size() - s.lengths.names.size();
  for (size_t k = s.output_names.size(); with_updates && k < seen_or_next; ++k)
    out->graph.outputs.push_back(s.graph.outputs[k]);
  const size_t count = out->graph.outputs.size();
  out->graph = with_definitions(std::move(out->graph), count);
  build(*out, outputs.size());
  for (size_t i : out->own_leaves) out->storages[i] = s.storage_of(out->leaves[i]);
  return out;
}

std::map<std::string, Tensor> Function::named(const Arguments& arguments, std::source_location where) {
  const State& s = state_behind(state_, where);
  for (const std::string& name : s.output_names) {
    if (name.empty())
      throw UserError({.what = str(escaped(s.options.name), ": an output has no name"),
                       .got = names_text(s.output_names),
                       .node = with_call("", escaped(s.options.name), where),
                       .hint = "give it one: function({x}, {{\"loss\", loss}})"});
    number_of(s, name, where);
  }
  std::vector<Tensor> values = call_at(in_order(s, arguments, where), where);
  std::map<std::string, Tensor> out;
  for (size_t k = 0; k < values.size(); ++k) out.emplace(s.output_names[k], std::move(values[k]));
  return out;
}

std::vector<Tensor> Function::only(const std::vector<OutputKey>& outputs, const Arguments& arguments,
                                   std::source_location where) {
  State& s = state_behind(state_, where);
  const CallScope scope(*s.mark, name());
  std::vector<size_t> numbers;
  for (const OutputKey& key : outputs) numbers.push_back(number_of(s, key, where));
  const std::vector<Tensor> inputs = in_order(s, arguments, where);
  try {
    std::shared_ptr<State>& part = s.subsets[numbers];
    if (!part) part = subset(s, numbers, /*with_updates=*/true);
    return call_of(s, *part, inputs);
  } catch (...) {
    rethrow_called_at(name(), where);
  }
}

}  // namespace thtrain
