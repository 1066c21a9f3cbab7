#include "compiler/ops/clone_replace.h"

#include <set>

#include "compiler/ir/lengths.h"
#include "compiler/ir/op.h"
#include "compiler/ops/shape/length_list.h"

namespace thtrain {

std::vector<Expr> clone_replace(const std::vector<Expr>& outputs,
                                const std::vector<std::pair<Expr, Expr>>& replacements, std::source_location where) {
  for (const Expr& output : outputs) require_value(output, "clone_replace: an output", where);
  for (const auto& [from, to] : replacements) {
    require_value(from, "clone_replace: a value to replace", where);
    require_value(to, "clone_replace: a replacement", where);
    if (from.type().kind != to.type().kind || from.dtype() != to.dtype() || from.rank() != to.rank())
      fail_build(where, "clone_replace: the replacement has another dtype or rank", value_text(from), value_text(to));
  }
  return substitute(outputs, replacements);
}

Expr clone_replace(const Expr& output, const std::vector<std::pair<Expr, Expr>>& replacements,
                   std::source_location where) {
  return clone_replace(std::vector<Expr>{output}, replacements, where)[0];
}

std::vector<Shape> shapes_of(const std::vector<Expr>& values, const std::vector<std::pair<Expr, Shape>>& inputs,
                             std::source_location where) {
  for (const Expr& value : values) require_value(value, "shapes_of: a value", where);
  Lengths lengths;
  std::vector<std::pair<Expr, Tensor>> bound;
  for (const auto& [input, shape] : inputs) {
    require_value(input, "shapes_of: an input", where);
    for (int64_t length : shape)
      if (length < 0) fail_build(where, "shapes_of: a length is below 0", "lengths of 0 and more", shape_text(shape));
    // One element, shown at every location: no length depends on it.
    if (shape.size() != input.rank())
      fail_build(where, "shapes_of: a shape has another number of axes", value_text(input), shape_text(shape));
    const Tensor value = Tensor::zeros(input.dtype(), {1}).view(shape, Shape(shape.size(), 0), 0);
    bound.emplace_back(input, value);
    if (!shape.empty()) lengths.bind_names(input, value);
  }
  for (const auto& [input, value] : bound) lengths.check(input, value);
  for (const Expr& leaf : leaves_of(values))
    if (is_shared(leaf)) lengths.bind(leaf, leaf.node().shared->value);
  std::vector<Shape> out;
  for (const Expr& value : values) {
    std::set<std::string> names;
    for (const Dim& dim : value.dims()) dim.collect_names(names);
    for (const std::string& name : names)
      if (!lengths.has(name))
        fail_build(where, "shapes_of: a length does not follow from the shapes of these inputs",
                   "values whose lengths are those of inputs", value_text(value));
    out.push_back(lengths.evaluate(value.dims()));
  }
  return out;
}

}  // namespace thtrain
