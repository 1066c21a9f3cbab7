#include "compiler/runtime/bad_value_source.h"

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"

namespace thtrain {
namespace {

Tensor element_at(const Tensor& value, int64_t position) {
  return value.contiguous().reshape({value.size()}).rows(position, 1).reshape({});
}

std::string kind_of(const Tensor& element) {
  if (first_bad(element, {.infinity = false})) return "NaN";
  return first_bad(element, {}) ? "infinity" : "number that is too large";
}

std::string element_text(const Tensor& value, int64_t position) {
  Shape index(value.rank());
  int64_t rest = position;
  for (size_t axis = value.rank(); axis-- > 0; rest /= value.dim(axis)) index[axis] = rest % value.dim(axis);
  const std::string where = index.empty() ? "" : str(" at ", shape_text(index));
  const std::string number =
      is_complex(value.dtype()) ? element_at(value, position).text() : str(value.as_double(position));
  return str(number, where, " of ", value.type_text());
}

// Where a value comes from, for people: a rewrite that joined several layers' terms belongs to none of them, and then
// the nearest value below that belongs to one says most.
Origin telling_origin(const Expr& value) {
  std::vector<const Node*> queue{&value.node()};
  for (size_t i = 0; i < queue.size() && i < 64; ++i) {
    if (queue[i]->origin.scope) return queue[i]->origin;
    for (const Expr& input : queue[i]->inputs) queue.push_back(&input.node());
  }
  return value.node().origin;
}

// The first bad one of the values that the roots need, in their order, computed by the references of the ops.
struct BadValue {
  Expr expr;
  Tensor value;
  int64_t position;
};
std::optional<BadValue> first_bad_value(std::span<const Expr> roots, const std::vector<std::pair<Expr, Tensor>>& inputs,
                                        const BadValues& bad) {
  std::vector<Expr> values;
  for (const Node* node : topological_order(roots))
    for (size_t i = 0; i < node->types.size(); ++i) values.push_back((*node)[i]);
  const std::vector<Tensor> results = evaluate(values, inputs);
  for (size_t i = 0; i < values.size(); ++i)
    if (const std::optional<int64_t> position = first_bad(results[i], bad))
      return BadValue{values[i], results[i], *position};
  return {};
}

}  // namespace

std::string readable_text(const Expr& value, size_t limit) {
  auto unfused = [](const Node& node, const std::vector<Expr>& inputs) -> std::vector<Expr> {
    if (!node.op->fused) return {};
    const Graph& body = *node.bodies[0];
    std::vector<std::pair<Expr, Expr>> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) arguments.emplace_back(body.inputs[i], inputs[i]);
    return substitute(body.outputs, arguments);
  };
  return expr_text(Rebuilder().rebuild(value, unfused), limit);
}

BadValueSource source_of(const Node& node, size_t output, const Tensor& value, int64_t position) {
  return {readable_text(node[output]), element_text(value, position), kind_of(element_at(value, position)),
          telling_origin(node[output])};
}

std::optional<BadValueSource> source_inside(const Node& node, std::span<const Tensor> inputs, const BadValues& bad) {
  if (!node.op->fused) return {};
  const Graph& body = *node.bodies[0];
  std::vector<std::pair<Expr, Tensor>> values;
  std::vector<std::pair<Expr, Expr>> outside;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.emplace_back(body.inputs[i], inputs[i]);
    outside.emplace_back(body.inputs[i], node.inputs[i]);
  }
  const std::optional<BadValue> found = first_bad_value(body.outputs, values, bad);
  if (!found) return {};
  const std::vector<Expr> whole = substitute(std::vector<Expr>{found->expr}, outside);
  return BadValueSource{readable_text(whole[0]), element_text(found->value, found->position),
                        kind_of(element_at(found->value, found->position)), telling_origin(whole[0])};
}

std::optional<BadValueSource> source_by_reference(std::span<const Expr> roots,
                                                  const std::vector<std::pair<Expr, Tensor>>& inputs,
                                                  const BadValues& bad) {
  const std::optional<BadValue> found = first_bad_value(roots, inputs, bad);
  if (!found) return {};
  return source_of(found->expr.node(), found->expr.output(), found->value, found->position);
}

}  // namespace thtrain
