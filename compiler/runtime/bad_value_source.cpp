#include "compiler/runtime/bad_value_source.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/graph.h"
#include "compiler/ir/op.h"
#include "compiler/ir/print.h"
#include "compiler/ops/evaluate.h"
#include "compiler/ops/reduce/reduce_op.h"

namespace thtrain {
namespace {

Tensor element_at(const Tensor& value, int64_t position) {
  return value.contiguous().reshape({value.size()}).rows(position, 1).reshape({});
}

std::string kind_of(const Tensor& element) {
  if (first_bad(element, {.infinity = false})) return "NaN";
  return first_bad(element, {}) ? "infinity" : "number that is too large";
}

Shape index_of(const Tensor& value, int64_t position) {
  Shape out(value.rank());
  for (size_t axis = value.rank(); axis-- > 0; position /= value.dim(axis)) out[axis] = position % value.dim(axis);
  return out;
}

std::string element_text(const Tensor& value, int64_t position) {
  const Shape index = index_of(value, position);
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

// One element of one value.
struct BadValue {
  Expr expr;
  Tensor value;
  int64_t position;
};

// Arguments, shared variables and constants may be anything: only what is computed can be at fault.
bool is_computed(const Expr& value) {
  return !value.node().is_leaf() && !is_constant(value);
}

// All values that the roots need, in their order, computed by the references of the ops.
struct Values {
  std::vector<Expr> exprs;
  std::vector<Tensor> tensors;

  const Tensor& of(const Expr& value) const {
    for (size_t i = 0; i < exprs.size(); ++i)
      if (exprs[i].same(value)) return tensors[i];
    TH_CHECK(false, "no value of ", expr_text(value));
    return tensors[0];
  }
};

Values values_of(std::span<const Expr> roots, const std::vector<std::pair<Expr, Tensor>>& inputs) {
  Values out;
  for (const Node* node : topological_order(roots))
    for (size_t i = 0; i < node->types.size(); ++i) out.exprs.push_back((*node)[i]);
  out.tensors = evaluate(out.exprs, inputs);
  return out;
}

// Where an element of the result reads the argument: an index, with -1 on axes where it reads all or nobody knows.
Shape read_at(const Node& node, const Tensor& result, int64_t position, const Tensor& argument) {
  const Shape index = index_of(result, position);
  Shape out(argument.rank(), -1);
  if (const std::vector<int64_t>* order = axis_order_of(node)) {
    for (size_t k = 0; k < index.size(); ++k)
      if ((*order)[k] >= 0) out[static_cast<size_t>((*order)[k])] = index[k];
  } else if (node.op->scalar && index.size() >= out.size()) {
    for (size_t k = 0; k < out.size(); ++k) out[k] = index[index.size() - out.size() + k];
  } else if (reduction_of(*node.op)) {
    const std::vector<int64_t>& axes = node.props.get<Ints>("axes");
    const bool keeps_axes = index.size() == out.size();
    for (size_t axis = 0, next = 0; axis < out.size(); ++axis) {
      const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
      if (!is_reduced && next < index.size()) out[axis] = index[next];
      if (!is_reduced || keeps_axes) ++next;
    }
  }
  for (size_t axis = 0; axis < out.size(); ++axis)
    if (argument.dim(axis) == 1) out[axis] = 0;
  return out;
}

// The position of the first bad element there.
std::optional<int64_t> first_bad_at(const Tensor& value, const Shape& index, const BadValues& bad) {
  const Tensor dense = value.contiguous();
  Shape shape = dense.shape();
  int64_t offset = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    if (index[axis] < 0) continue;
    shape[axis] = 1;
    offset += index[axis] * dense.strides()[axis];
  }
  const Tensor part = dense.view(shape, dense.strides(), offset);
  const std::optional<int64_t> found = first_bad(part, bad);
  if (!found) return {};
  const Shape inside = index_of(part, *found);
  int64_t position = offset;
  for (size_t axis = 0; axis < inside.size(); ++axis) position += inside[axis] * dense.strides()[axis];
  return position;
}

// But for the sign, which a difference or a step downhill turns.
bool is_same_number(const BadValue& a, const BadValue& b) {
  if (is_complex(a.value.dtype()) || is_complex(b.value.dtype()))
    return a.value.dtype() == b.value.dtype() &&
           same_bits(element_at(a.value, a.position), element_at(b.value, b.position));
  const double x = std::abs(element_at(a.value, a.position).as_double());
  const double y = std::abs(element_at(b.value, b.position).as_double());
  return x == y || (std::isnan(x) && std::isnan(y));
}

// A bad argument of a bad element: of several one that is computed, and of these one that is the element itself.
std::optional<BadValue> bad_argument(const Values& values, const BadValue& made, const BadValues& bad) {
  const Node& node = made.expr.node();
  size_t left_out = node.inputs.size();
  if (node.op->name == "switch") {
    const Tensor& condition = values.of(node.inputs[0]);
    const Shape at = read_at(node, made.value, made.position, condition);
    const Tensor dense = condition.contiguous();
    int64_t position = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) position += at[axis] * dense.strides()[axis];
    left_out = dense.as_double(position) != 0 ? 2 : 1;
  }
  std::optional<BadValue> out;
  int best = -1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i == left_out || node.inputs[i].type().kind == TypeKind::kToken) continue;
    const Tensor& value = values.of(node.inputs[i]);
    const std::optional<int64_t> position = first_bad_at(value, read_at(node, made.value, made.position, value), bad);
    if (!position) continue;
    const BadValue found{node.inputs[i], value, *position};
    const int rank = 2 * is_computed(found.expr) + is_same_number(found, made);
    if (rank > best) out = found;
    best = std::max(best, rank);
  }
  return out;
}

// The first computed value on the way to a bad element whose own element is bad and not just the number of an argument
// or a constant, but for its sign; where all of them are, the first.
std::optional<BadValue> first_on_the_way(const Values& values, BadValue made, const BadValues& bad) {
  if (!is_computed(made.expr)) return {};
  std::vector<BadValue> way{std::move(made)};
  while (is_computed(way.back().expr)) {
    std::optional<BadValue> argument = bad_argument(values, way.back(), bad);
    if (!argument) return way.back();
    way.push_back(std::move(*argument));
  }
  for (size_t k = way.size() - 1; k > 0; --k)
    if (!is_same_number(way[k], way[k - 1])) return way[k - 1];
  return way[way.size() - 2];
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

std::optional<BadValueSource> source_inside(const Node& node, size_t output, int64_t position,
                                            std::span<const Tensor> inputs, const BadValues& bad) {
  if (!node.op->fused) return {};
  const Graph& body = *node.bodies[0];
  std::vector<std::pair<Expr, Tensor>> values;
  std::vector<std::pair<Expr, Expr>> outside;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values.emplace_back(body.inputs[i], inputs[i]);
    outside.emplace_back(body.inputs[i], node.inputs[i]);
  }
  const Values inside = values_of(body.outputs, values);
  const Expr& made = body.outputs[output];
  const Tensor& result = inside.of(made);
  if (!first_bad(element_at(result, position), bad)) return {};
  const std::optional<BadValue> found = first_on_the_way(inside, {made, result, position}, bad);
  if (!found) return {};
  const std::vector<Expr> whole = substitute(std::vector<Expr>{found->expr}, outside);
  return BadValueSource{readable_text(whole[0]), element_text(found->value, found->position),
                        kind_of(element_at(found->value, found->position)), telling_origin(whole[0])};
}

std::optional<BadValueSource> source_by_reference(std::span<const Expr> roots,
                                                  const std::vector<std::pair<Expr, Tensor>>& inputs,
                                                  const BadValues& bad) {
  const Values values = values_of(roots, inputs);
  for (size_t i = 0; i < values.exprs.size(); ++i)
    if (const std::optional<int64_t> position = first_bad(values.tensors[i], bad);
        position && is_computed(values.exprs[i]))
      return source_of(values.exprs[i].node(), values.exprs[i].output(), values.tensors[i], *position);
  return {};
}

}  // namespace thtrain
