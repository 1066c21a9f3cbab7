#include "compiler/passes/fuse_reductions.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "compiler/ops/elemwise/body_code.h"
#include "compiler/ops/elemwise/gather.h"
#include "compiler/ops/nnet/normalize_candidates.h"
#include "compiler/ops/nnet/softmax_candidates.h"
#include "compiler/ops/reduce/fused_reduction.h"
#include "compiler/ops/reduce/reduce_op.h"
#include "compiler/passes/regions.h"

namespace thtrain {
namespace {

using kernel::FusionLimits;

bool is_trailing(const RowDomain& rows) {
  size_t first = rows.dims.size() - rows.axes.size();
  for (size_t i = 0; i < rows.axes.size(); ++i)
    if (rows.axes[i] != static_cast<int64_t>(first + i)) return false;
  return true;
}

// Images of a batch, of which each channel is a row: the last axes are reduced, and some before axes that stay.
bool has_long_runs(const RowDomain& rows, const FusionLimits& limits) {
  Dim run = 1, count = 1;
  size_t axis = rows.dims.size();
  while (axis > 0 && rows.reduces(axis - 1)) run = run * rows.dims[--axis];
  for (const Dim& length : rows.dropped()) count = count * length;
  return run.is_known() && run.value() >= limits.run && count.is_known() && count.value() >= limits.rows_of_runs;
}

// Rows of more than one element, as far as is known (elements and per-row scalars are told apart by their lengths),
// which are not too far apart in memory.
bool is_suitable(const RowDomain& rows, const FusionLimits& limits) {
  Dim count = 1;
  for (int64_t axis : rows.axes) {
    const Dim& length = rows.dims[static_cast<size_t>(axis)];
    if (length.is_known() && length.value() < 2) return false;
    count = count * length;
  }
  return !rows.axes.empty() && (is_trailing(rows) || has_long_runs(rows, limits) ||
                                (count.is_known() && count.value() <= limits.strided_row));
}

// The axes of the reduction over `domain` that the value is computed from by a few elementwise operations on per-row
// scalars; none where there is no such reduction.
Ints axes_of_reduction_behind(const Node& node, const Dims& domain) {
  constexpr size_t kMaxSteps = 32;
  std::vector<const Node*> queue{&node};
  for (size_t i = 0; i < queue.size() && i < kMaxSteps; ++i) {
    if (reduction_of(*queue[i]->op)) {
      if (queue[i]->inputs[0].dims() == domain) return queue[i]->props.get<Ints>("axes");
      continue;
    }
    if (!queue[i]->op->scalar && !queue[i]->op->axis_order) continue;
    for (const Expr& e : queue[i]->inputs)
      if (e.dims() != domain) queue.push_back(&e.node());
  }
  return {};
}

// Does it add axes of length 1 (those that a reduction dropped), and nothing else?
bool only_adds_axes(const Node& node) {
  const Ints* order = axis_order_of(node);
  if (!order) return false;
  int64_t next = 0;
  for (int64_t axis : *order)
    if (axis != -1 && axis != next++) return false;
  return next == static_cast<int64_t>(node.inputs[0].rank()) && next < static_cast<int64_t>(node.types[0].rank());
}

class ReductionFuser : public RegionFuser {
 public:
  using RegionFuser::RegionFuser;

 protected:
  bool is_fusable(const Node& node) const override {
    if (node.types.size() != 1) return false;
    return reduction_of(*node.op) || has_scalar_code(node) || only_adds_axes(node) || may_be_gathered(node, limits_);
  }

  bool joins(const Node& node, FusionRegion& region) const override {
    if (reduction_of(*node.op)) return reduction_joins(node, region);
    if (node.op->gather && !is_used_only_in(node, region)) return false;
    const Dims& dims = node.types[0].dims;
    const bool adds_axes = node.op->axis_order != nullptr;
    if (region.nodes.empty()) {
      region.domain = dims;
      return !adds_axes;
    }
    if (dims == region.domain) return !adds_axes && may_be_written(node, region);
    // A per-row scalar. The reduction that it is computed from may be one that has not joined yet.
    Ints axes = region.reduced.empty() ? axes_of_reduction_behind(node, region.domain) : region.reduced;
    RowDomain rows{region.domain, axes};
    if (!is_suitable(rows, limits_)) return false;
    bool fits = dims == rows.kept() ? !adds_axes || node.inputs[0].dims() == rows.dropped()
                                    : dims == rows.dropped() && !adds_axes && may_be_dropped(node, region, rows);
    if (fits) region.reduced = axes;
    return fits;
  }

  bool merges(const FusionRegion& a, const FusionRegion& b) const override {
    if (a.domain != b.domain) return false;
    if (a.reduced.empty() && b.reduced.empty()) return true;
    if (!a.reduced.empty() && !b.reduced.empty() && a.reduced != b.reduced) return false;
    RowDomain rows{a.domain, a.reduced.empty() ? b.reduced : a.reduced};
    for (const FusionRegion* region : {&a, &b})
      for (const Node* node : region->nodes)
        if (node->types[0].dims == a.domain && !may_be_written(*node, *region, rows.axes)) return false;
    if (rows.is_leading()) return true;
    // No per-row scalar without the reduced axes is read by elements of the other region.
    for (const FusionRegion* region : {&a, &b})
      for (const Node* node : region->nodes)
        if (node->types[0].dims == rows.dropped())
          for (const Node* reader : readers(*node))
            if ((is_in(*reader, a) || is_in(*reader, b)) && !is_in(*reader, *region)) return false;
    return true;
  }

  bool is_worth_it(const FusionRegion& region) const override {
    size_t computing = 0;
    for (const Node* node : region.nodes) computing += !node->op->axis_order;
    return region.main && computing > 1;
  }

  bool is_of_slices(const FusionRegion& region, const Node& reader) const override {
    RowDomain rows{region.domain, region.reduced};
    return !reduction_of(*reader.op) && (reader.op->axis_order || reader.types[0].dims == rows.dropped());
  }

  std::shared_ptr<const Node> make(GraphPtr body, std::vector<Expr> inputs) const override {
    return make_fused_reduction(std::move(body), std::move(inputs));
  }

 private:
  bool reduction_joins(const Node& node, FusionRegion& region) const {
    RowDomain rows{node.inputs[0].dims(), node.props.get<Ints>("axes")};
    if (!is_suitable(rows, limits_)) return false;
    if (region.nodes.empty()) {
      // It begins a region.
    } else if (rows.dims == region.domain) {
      if (!region.reduced.empty() && region.reduced != rows.axes) return false;
      if (!node.props.get<bool>("keepdims") && !may_be_dropped(node, region, rows)) return false;
      if (std::any_of(region.nodes.begin(), region.nodes.end(),
                      [&](const Node* n) { return n->types[0].dims == rows.dims && !may_be_written(*n, region); }))
        return false;
    } else if (!region.reduced.empty() || node.types[0].dims != region.domain) {
      return false;  // its elements become per-row scalars
    }
    region.domain = rows.dims;
    region.reduced = rows.axes;
    if (!region.main) region.main = &node;
    return true;
  }

  // May the value be a per-row scalar without the reduced axes? Then readers in the region are per-row scalars too, but
  // where such a scalar broadcasts over the elements as it is.
  bool may_be_dropped(const Node& node, const FusionRegion& region, const RowDomain& rows) const {
    if (rows.is_leading()) return true;
    for (const Node* reader : readers(node))
      if (is_in(*reader, region) && !reader->op->axis_order && reader->types[0].dims != rows.dropped()) return false;
    return true;
  }

  bool may_be_written(const Node& node, const FusionRegion& region) const {
    return may_be_written(node, region, region.reduced);
  }

  // Elements that nodes outside the region read are written. Where there is one row, and so one thread, they must be
  // few.
  bool may_be_written(const Node& node, const FusionRegion& region, const Ints& reduced) const {
    if (reduced.size() != region.domain.size()) return true;
    Dim count = node.types[0].elements();
    if (count.is_known() && count.value() <= limits_.single_row) return true;
    return is_used_only_in(node, region);
  }
};

// softmax(x) -> e / sum(e) with e = exp(x - max(x))
std::vector<Expr> written_out(const Node& node, const std::vector<Expr>& inputs, const PassContext& context) {
  if (!node.op->expand || is_softmax_of_library(node, context.target, context.chooser) ||
      is_normalize_of_library(node, context.target, context.chooser))
    return {};
  InheritOrigin origin(node.origin);
  Expr value = node.op->expand(node, inputs);
  return value.has_value() ? std::vector<Expr>{value} : std::vector<Expr>{};
}

}  // namespace

Graph fuse_reductions(const Graph& graph, const PassContext& context) {
  const auto expanded = [&](const Node& node, const std::vector<Expr>& inputs) {
    return written_out(node, inputs, context);
  };
  return ReductionFuser(rewrite_graph(graph, expanded), context.target.fusion_limits()).run();
}

}  // namespace thtrain
