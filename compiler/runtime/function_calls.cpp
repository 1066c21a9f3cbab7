// Calls of functions by users: arguments by name, and errors that name the line of the call.
#include <algorithm>
#include <set>

#include "compiler/autodiff/differentiation.h"
#include "compiler/base/escape.h"
#include "compiler/runtime/bad_value_source.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

void fail_moved_from(const std::source_location& where) {
  throw UserError({.what = "a function is used that was moved from",
                   .node = with_call("", "it", where),
                   .hint = "use the function that it was moved to, or move a copy"});
}

template <class E>
[[noreturn]] static void throw_called_at(const E& error, const std::string& name, const std::source_location& where) {
  std::vector<Message> messages = error.messages();
  for (Message& message : messages) message.node = with_call(std::move(message.node), escaped(name), where);
  throw E(std::move(messages));
}

void rethrow_called_at(const std::string& name, const std::source_location& where) {
  try {
    throw;
  } catch (const BadValueError& error) {
    throw_called_at(error, name, where);
  } catch (const UserError& error) {
    throw_called_at(error, name, where);
  }
}

std::vector<Tensor> Function::call_at(std::span<const Tensor> inputs, const std::source_location& where) {
  State& s = state_behind(state_, where);
  try {
    s.called_at = where;
    return (*this)(inputs);
  } catch (...) {
    rethrow_called_at(s.options.name, where);
  }
}

static std::vector<Tensor> in_order_of_inputs(const Function::State& s, const std::map<std::string, Tensor>& by_name) {
  const std::vector<Expr>& inputs = s.graph.inputs;
  const auto name_of_input = [](const Expr& input) {
    return input.name().empty() ? std::string("one without a name") : escaped(input.name());
  };
  const std::string called = escaped(s.options.name);
  std::set<std::string> used;
  for (const Expr& input : inputs)
    if (by_name.contains(input.name()) && !used.insert(input.name()).second)
      throw UserError({.what = str(called, ": two inputs are called ", name_of_input(input)),
                       .expected = "names that tell the inputs apart",
                       .got = join(inputs, ", ", described),
                       .hint = "give the arguments in the order of the inputs"});
  for (const auto& [name, value] : by_name)
    if (!used.contains(name))
      throw UserError({.what = str(called, ": there is no input ", name.empty() ? "\"\"" : escaped(name)),
                       .expected = inputs.empty() ? "no arguments" : join(inputs, ", ", name_of_input)});
  std::vector<Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto at = by_name.find(inputs[i].name());
    if (at == by_name.end() && !s.inputs[i].value)
      throw UserError({.what = str(called, ": the input ", name_of_input(inputs[i]), " is missing"),
                       .expected = described(inputs[i])});
    values.push_back(at != by_name.end() ? at->second : *s.inputs[i].value);
  }
  return values;
}

std::vector<Tensor> in_order(const Function::State& s, const Arguments& arguments, const std::source_location& where) {
  if (const auto* values = std::get_if<std::vector<Tensor>>(&arguments.values)) return *values;
  try {
    return in_order_of_inputs(s, std::get<std::map<std::string, Tensor>>(arguments.values));
  } catch (...) {
    rethrow_called_at(s.options.name, where);
  }
}

std::vector<Tensor> Function::operator()(const Arguments& arguments, std::source_location where) {
  return call_at(in_order(state_behind(state_, where), arguments, where), where);
}

}  // namespace thtrain
