// Calls of functions by users: arguments by name, and errors that name the line of the call.
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
  const State& s = state_behind(state_, where);
  try {
    return (*this)(inputs);
  } catch (...) {
    rethrow_called_at(s.options.name, where);
  }
}

std::vector<Tensor> Function::operator()(const std::map<std::string, Tensor>& inputs, std::source_location where) {
  const State& s = state_behind(state_, where);
  std::vector<Tensor> values;
  std::set<std::string> used;
  for (size_t i = 0; i < s.graph.inputs.size(); ++i) {
    const Expr& input = s.graph.inputs[i];
    auto at = inputs.find(input.name());
    if (at != inputs.end()) {
      values.push_back(at->second);
      if (!used.insert(input.name()).second)
        throw_called_at(UserError({.what = str(escaped(name()), ": two inputs are called ", escaped(input.name())),
                                   .expected = "names that tell the inputs apart",
                                   .got = join(s.graph.inputs, ", ", described),
                                   .hint = "give the arguments in the order of the inputs"}),
                        name(), where);
    } else if (s.inputs[i].value) {
      values.push_back(*s.inputs[i].value);
    } else {
      throw_called_at(UserError({.what = str(escaped(name()), ": the input ", escaped(input.name()), " is missing"),
                                 .expected = described(input)}),
                      name(), where);
    }
  }
  if (used.size() != inputs.size()) {
    const auto name_of_input = [](const Expr& input) { return escaped(input.name()); };
    const auto name_given = [](const auto& entry) { return escaped(entry.first); };
    throw_called_at(UserError({.what = str(escaped(name()), ": an argument has a name that no input has"),
                               .expected = join(s.graph.inputs, ", ", name_of_input),
                               .got = join(inputs, ", ", name_given)}),
                    name(), where);
  }
  return call_at(values, where);
}

}  // namespace thtrain
