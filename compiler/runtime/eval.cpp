#include "compiler/runtime/eval.h"

#include "compiler/runtime/function.h"

namespace thtrain {

Tensor eval(const Expr& value, const std::vector<std::pair<Expr, Tensor>>& inputs, std::source_location where) {
  require_value(value, "eval: the value", where);
  std::vector<In> given;
  std::vector<Tensor> values;
  for (const auto& [input, tensor] : inputs) {
    require_value(input, "eval: an input", where);
    given.emplace_back(input);
    values.push_back(tensor);
  }
  return function(given, {value}, {}, {.name = "eval"}, where)(values, where)[0];
}

}  // namespace thtrain
