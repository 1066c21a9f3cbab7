// Calls of functions by users: arguments by name, and errors that name the line of the call.
#include "compiler/autodiff/differentiation.h"
#include "compiler/base/escape.h"
#include "compiler/runtime/bad_value_source.h"
#include "compiler/runtime/function.h"
#include "compiler/runtime/function_state.h"

namespace thtrain {

template <class E>
[[noreturn]] static void throw_called_at(const E& error, const std::string& name, const std::source_location& where) {
  std::vector<Message> messages = error.messages();
  for (Message& message : messages) message.node = with_call(std::move(message.node), escaped(name), where);
  throw E(std::move(messages));
}

std::vector<Tensor> Function::call_at(std::span<const Tensor> inputs, const std::source_location& where) {
  try {
    return (*this)(inputs);
  } catch (const BadValueError& error) {
    throw_called_at(error, name(), where);
  } catch (const UserError& error) {
    throw_called_at(error, name(), where);
  }
}

std::vector<Tensor> Function::operator()(const std::map<std::string, Tensor>& inputs, std::source_location where) {
  std::vector<Tensor> values;
  size_t used = 0;
  for (size_t i = 0; i < state_->graph.inputs.size(); ++i) {
    const Expr& input = state_->graph.inputs[i];
    auto at = inputs.find(input.name());
    if (at != inputs.end()) {
      values.push_back(at->second);
      ++used;
    } else if (state_->defaults[i]) {
      values.push_back(*state_->defaults[i]);
    } else {
      throw_called_at(UserError({.what = str(escaped(name()), ": the input ", escaped(input.name()), " is missing"),
                                 .expected = described(input)}),
                      name(), where);
    }
  }
  if (used != inputs.size()) {
    const auto name_of_input = [](const Expr& input) { return escaped(input.name()); };
    const auto name_given = [](const auto& entry) { return escaped(entry.first); };
    throw_called_at(UserError({.what = str(escaped(name()), ": an argument has a name that no input has"),
                               .expected = join(state_->graph.inputs, ", ", name_of_input),
                               .got = join(inputs, ", ", name_given)}),
                    name(), where);
  }
  return call_at(values, where);
}

}  // namespace thtrain
