#include "compiler/ops/elemwise/indexed_axes.h"

#include "compiler/kernel/schedule/schedule.h"

namespace thtrain {

using kernel::StepBuilder;

static kernel::Index index_at(const Node& node, const IndexedAxes& form, size_t k, kernel::Location location,
                              bool checked, Dims row) {
  const IndexCheck& check = form.checks[k];
  kernel::Index out{
      .location = std::move(location), .length = node.inputs[0].dims()[form.named[k]], .from_end = check.from_end};
  if (!checked) out.check = kernel::RuntimeCheck{check.what, check.expected, node.origin};
  if (form.reports_row) out.reported = std::move(row);
  return out;
}

void check_indices(StepBuilder& b, const Node& node, const IndexedAxes& form,
                   std::span<const kernel::Operand> indices) {
  for (size_t k = 0; k < indices.size(); ++k) {
    kernel::Nest nest(indices[k].type.dims);
    Dims row(nest.axes().size(), Dim(0));
    if (!row.empty()) row[0] = 1;
    nest.position(index_at(node, form, k, kernel::placed(indices[k]), false, std::move(row)));
    kernel::schedule(b, nest, "check", "every index is inside");
  }
}

bool loops_check_indices(const StepBuilder& b, const IndexedAxes& form, const Dims& elements, bool last_may_be_empty) {
  for (size_t i = 0; i < form.axes.size(); ++i) {
    if (form.axes[i].of_indices || elements[i].is_at_least(1)) continue;
    const bool is_inner = i > 0 && i + 1 == form.axes.size() && form.axes[i - 1].of_indices;
    if (!last_may_be_empty || !is_inner) return false;
  }
  return !b.writes_variable();
}

kernel::Location indexed_location(kernel::Nest& nest, const Node& node, const IndexedAxes& form, const Dims& elements,
                                  const kernel::Operand& x, std::span<const kernel::Operand> indices, bool checked,
                                  const std::function<Dims(const Dims&)>& onto) {
  const Dims still(elements.size(), Dim(0));
  Dims source = still, row = still;
  if (elements.size() > form.axes.size()) source.back() = x.layout.strides.back();
  for (size_t i = 0; i < form.axes.size(); ++i)
    if (form.axes[i].of_x && !elements[i].is(1)) source[i] = x.layout.strides[*form.axes[i].of_x];
  if (form.reports_row && !elements[0].is(1)) row[0] = 1;

  kernel::Location out{x, onto(source)};
  for (size_t k = 0; k < indices.size(); ++k) {
    Dims strides = still;
    for (size_t i = 0; i < form.axes.size(); ++i)
      if (form.axes[i].of_indices && !elements[i].is(1))
        strides[i] = indices[k].layout.strides[*form.axes[i].of_indices];
    const kernel::Term position =
        nest.position(index_at(node, form, k, {indices[k], onto(strides)}, checked, onto(row)));
    out = out.at(position, x.layout.strides[form.named[k]]);
  }
  return out;
}

}  // namespace thtrain
