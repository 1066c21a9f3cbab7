#include "compiler/ops/control/vmap.h"

#include <unordered_set>

#include "compiler/ir/defined_lengths.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/lengths.h"
#include "compiler/ir/op.h"
#include "compiler/ops/control/over_iterations.h"
#include "compiler/ops/index/strided_slice.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

// x with that axis first.
static Expr with_first_axis(const Operand& x, int64_t axis) {
  const Expr value = x.expr();
  const size_t first = axis_of(axis, value, "vmap", x.where());
  Ints order = {static_cast<int64_t>(first)};
  for (size_t i = 0; i < value.rank(); ++i)
    if (i != first) order.push_back(static_cast<int64_t>(i));
  return transpose(x, order);
}

// x[i] of an i that varies: the position is an input of a gather, where it is a length that the node names.
static std::vector<Expr> with_gathered_elements(const std::vector<Expr>& results, const std::vector<Expr>& elements) {
  NamedScalars scalars;
  for (const Expr& element : elements)
    if (element.type().is_scalar() && is_int(element.dtype())) scalars.emplace(value_name(element.node()), element);
  const Graph out = rewrite_graph({elements, results, {}}, [&](const Node& node, const std::vector<Expr>& inputs) {
    InheritOrigin origin(node.origin);
    const Expr read = with_read_starts(node, inputs, scalars), &slice = read.has_value() ? read : node[0];
    const Expr gathered = with_gathered_element(slice.node(), read.has_value() ? read.node().inputs : inputs);
    const Expr made = gathered.has_value() ? gathered : read;
    return made.has_value() ? std::vector{made} : std::vector<Expr>{};
  });
  return out.outputs;
}

std::vector<Expr> vmap_all(const ScanStep& step, const std::vector<Operand>& xs, const std::vector<int64_t>& axes,
                           const std::source_location& where) {
  if (xs.empty()) fail_build(where, "vmap: there is no value", "one or more");
  if (!axes.empty() && axes.size() != xs.size())
    fail_build(where, str("vmap: ", axes.size(), " axes for ", xs.size(), " values"), "an axis for each value");
  if (step.parameters() && *step.parameters() != xs.size())
    fail_build(where, str("vmap: the step function takes ", *step.parameters(), " values"),
               str("as many as are given, ", xs.size()));
  std::vector<Expr> all, elements;
  for (size_t i = 0; i < xs.size(); ++i) {
    all.push_back(with_first_axis(xs[i], axes.empty() ? 0 : axes[i]));
    const Dims& lengths = all.back().dims();
    const Dim &length = lengths[0], &first = all.front().dims()[0];
    if (length.is_known() && first.is_known() && length != first)
      fail_build(where, str("vmap: value ", i, " has ", length.value(), " elements, and value 0 has ", first.value()),
                 "axes of one length", value_text(xs[i].expr()));
    elements.push_back(
        make_input({.dtype = all.back().dtype(), .dims = {lengths.begin() + 1, lengths.end()}}, "element"));
  }
  ScanStep::Result results = step(elements);
  if (!results.updates.empty() || results.until)
    fail_build(where, "vmap: the step function gives updates or until()", "values alone", {},
               "map() is a loop, which can have both");

  for (const Expr& result : results.outputs) require_value(result, "vmap: a result of the step function", where);
  results.outputs = with_gathered_elements(results.outputs, elements);
  OverIterations over(all[0].dims()[0], OverIterations::Follows::kMapped);
  std::unordered_set<const Node*> varying;
  for (size_t i = 0; i < elements.size(); ++i) {
    over.know(elements[i], all[i], true);
    varying.insert(&elements[i].node());
  }
  // What a length is computed from is no input of the value that has the length.
  std::vector<Expr> read = definitions_of(results.outputs);
  read.insert(read.end(), results.outputs.begin(), results.outputs.end());
  varying = over.know_fixed(read, std::move(varying));
  for (const Node* node : topological_order(read))
    if (node->op->defines && varying.contains(node))
      throw UserError({.what = "vmap: the data of each element decides a length",
                       .expected = "lengths that are those of all elements",
                       .node = node->origin.text(),
                       .config = node->origin.config(),
                       .hint = "map() is a loop, whose body may define lengths"});
  over.find(results.outputs);
  const Origin origin = Origin::here(where);
  InheritOrigin inherit(origin);
  std::vector<Expr> out;
  for (const Expr& result : results.outputs) out.push_back(over.all(result));
  return out;
}

}  // namespace thtrain
