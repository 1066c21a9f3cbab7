// Writing into the parts of a value that x[...] names.
#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/gather.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/index/scatter.h"
#include "compiler/ops/shape/broadcast_for.h"
#include "compiler/ops/shape/shape.h"
#include "compiler/ops/shape/specify_lengths.h"

namespace thtrain {
namespace {

bool is_defined_by_data(const Dim& dim) {
  std::vector<std::shared_ptr<const Node>> definers;
  dim.collect_definers(definers);
  return !definers.empty();
}

// y as new elements of a value of that dtype, under the lengths of the part.
Expr fitted(const Operand& y, const Expr& part, const std::string& builder) {
  Expr value = y.for_dtype(part.dtype());
  if (value.dtype() != part.dtype()) {
    if (promote(value.dtype(), part.dtype()) != part.dtype())
      fail_build(y.where(), str(builder, ": the new elements do not fit the dtype"), std::string(name_of(part.dtype())),
                 value_text(value), str("cast(y, ", name_of(part.dtype()), ") where the loss is meant"));
    value = cast(Operand(value, y.where()), part.dtype());
  }
  Dims dims = part.dims();
  // How many elements a mask or a computed slice names only the data decides: that as many are given is for the op that
  // writes them to check.
  if (value.rank() == dims.size())
    for (size_t i = 0; i < dims.size(); ++i)
      if (is_defined_by_data(dims[i]) && !value.dims()[i].is(1)) dims[i] = value.dims()[i];
  return broadcast_for(Operand(value, y.where()), dims, builder);
}

bool is_view(const Node& node) {
  return node.op == &dimshuffle_op() || node.op == &reshape_op() || node.op == &specify_lengths_op();
}

// y, elements of what the view shows, in the order of what it is a view of.
Expr under_view(const Node& view, const Expr& y) {
  const Dims& dims = view.inputs[0].dims();
  if (view.op == &reshape_op()) return reshape(y, dims);
  if (view.op == &specify_lengths_op()) return specify_lengths(y, dims);
  const Ints& order = view.props.get<Ints>("order");
  Ints back(dims.size());
  for (size_t axis = 0; axis < order.size(); ++axis)
    if (order[axis] >= 0) back[static_cast<size_t>(order[axis])] = static_cast<int64_t>(axis);
  return dimshuffle(y, back);
}

bool is_of_mask(const Node& node) {
  return node.op == &gather_op() && !is_by_row(node) && node.inputs.size() == 2 &&
         node.inputs[1].node().op == &nonzero_op();
}

// One number where a mask is true: which elements these are need not be found. Empty for other parts and values.
Expr written_where(const Node& node, const Expr& y, bool set) {
  const bool is_number = y.node().op == &broadcast_to_op() && y.node().inputs[0].rank() == 0;
  if (!is_of_mask(node) || !is_number || (!set && is_bool(y.dtype()))) return {};
  const Expr &x = node.inputs[0], &mask = node.inputs[1].node().inputs[0], &number = y.node().inputs[0];
  const auto axis = static_cast<size_t>(node.props.get<Ints>("axes")[0]);
  // Lengths that only a call compares: the scatter does, and its message is about the mask.
  if (x.node().op == &specify_lengths_op()) return {};
  if (!(mask.dims()[0] == x.dims()[axis])) return {};  // as of compress(), whose vector may be shorter
  Ints order(x.rank(), -1);
  order[axis] = 0;
  return where(dimshuffle(mask, order), set ? number : x + number, x);
}

// Input 0 of the node with the elements that it reads replaced by y, or increased.
Expr written_at(const Node& node, const Expr& y, bool set, const std::source_location& where) {
  if (const Expr out = written_where(node, y, set); out.has_value()) return out;
  if (node.op == &gather_op()) {
    // The scatter checks the length of a mask itself: into the value as it is, which may then be written in place.
    const Node& x = node.inputs[0].node();
    const bool is_checked = is_of_mask(node) && x.op == &specify_lengths_op();
    return scatter_like(node, is_checked ? x.inputs[0] : node.inputs[0], y, set, where);
  }
  std::vector<Expr> inputs = node.inputs;
  inputs.insert(inputs.begin() + 1, y);
  Props props = node.props;
  props.set("set", set);
  return apply(inc_subtensor_op(), std::move(inputs), std::move(props), where);
}

// Back through the ops that made the part: new elements pass through views unchanged, and the first part that they are
// written into is new for the op before.
Expr written(const Expr& part, const Operand& y, bool set) {
  const Origin origin = Origin::here(y.where());
  InheritOrigin inherit(origin);
  const std::string builder = set ? "set_subtensor" : "inc_subtensor";
  const Node* node = &require_value(part, str(builder, ": the part"), y.where()).node();
  Expr value = fitted(y, part, builder);
  const auto reads = [](const Node& n) { return n.op == &gather_op() || n.op == &subtensor_op(); };
  if (!reads(*node) && node->part_steps == 1)
    fail_build(y.where(), str(builder, ": the first argument is not a part of a value"),
               "the result of x[...], subtensor, rows, slice_axis, take or a mask",
               str(node->op->name, " ", value_text(part)), str(builder, "(x[...], y) gives x with that part written"));
  for (int step = part.node().part_steps; step > 0; --step, node = &node->inputs[0].node()) {
    if (is_view(*node)) {
      value = under_view(*node, value);
    } else {
      value = written_at(*node, value, set, y.where());
      set = true;
    }
  }
  return value;
}

}  // namespace

Expr set_subtensor(const Expr& part, const Operand& y) {
  return written(part, y, true);
}
Expr inc_subtensor(const Expr& part, const Operand& y) {
  return written(part, y, false);
}

}  // namespace thtrain
