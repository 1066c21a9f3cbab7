#include "compiler/kernel/schedule/device_row_parts.h"

#include "compiler/kernel/schedule/accumulators.h"
#include "compiler/kernel/schedule/device.h"
#include "compiler/kernel/schedule/nest_copy.h"

namespace thtrain::kernel {

using Kind = Nest::Value::Kind;

// Rows are cut where there are fewer threads, or blocks, than this, a thread having at least so many elements and a row
// at most so many parts.
static constexpr int64_t kFewBlocks = 512, kPartOfThread = 64, kPartOfBlock = 4096, kParts = 1024;

void RowParts::cut(const Dim& rows, const Dim& count, int of_row) {
  const int64_t least = of_row == 1 ? kPartOfThread : kPartOfBlock, few = of_row == 1 ? kFewDeviceThreads : kFewBlocks;
  if (!rows.is_known() || rows.value() == 0 || rows.value() >= few || (count.is_known() && count.value() < 4 * least) ||
      !are_possible())
    return;
  rows_ = rows;
  length_ = least;
  if (count.is_known()) length_ = max(length_, blocks_for(blocks_for(count, kParts), of_row) * Dim(of_row));
  // One part at least, which finds that there is nothing to combine.
  count_ = floor_div(max(count, 1) + length_ - Dim(1), length_);
}

bool RowParts::are_possible() const {
  if (plan_.loops() != 1) return false;
  for (const Nest::Value& value : nest_.values())
    if (!may_be_copied(value) || (value.how && (value.how->better || value.how->combine_pairs))) return false;
  for (size_t s = 0; s < nest_.stores().size(); ++s)
    if (plan_.stores_elements(s) || nest_.stores()[s].location.is_indexed()) return false;
  return true;
}

void RowParts::begin() {
  for (size_t v : plan_.reductions(0)) {
    const Accumulation& how = *nest_.values()[v].how;
    const bool has_wide = how.rounds && is_float(how.dtype);
    partial_.emplace_back(v, b_.workspace(has_wide ? wide_of(how.dtype) : how.dtype, rows_ * count_));
  }
}

void RowParts::store(const std::vector<Term>& values, const Term& row, const Term& part) const {
  for (const auto& [v, to] : partial_) b_.store(to, row * b_.length(count_) + part, cast(values[v], to.type.dtype));
}

void RowParts::combine() const {
  std::vector<NestAxis> axes;
  std::vector<size_t> parallel;
  for (size_t i = 0; i < nest_.axes().size(); ++i) {
    if (nest_.axes()[i].kind == AxisKind::kReduce) continue;
    parallel.push_back(i);
    axes.push_back(nest_.axes()[i]);
  }
  axes.push_back({count_, AxisKind::kReduce});
  const auto without_reduced = [&](Location location) {
    Dims strides;
    for (size_t i : parallel) strides.push_back(location.strides[i]);
    strides.emplace_back(0);
    location.strides = std::move(strides);
    return location;
  };
  Dims lengths;
  for (const NestAxis& axis : axes) lengths.push_back(axis.length);
  Nest out(std::move(axes));
  std::vector<Term> values(nest_.values().size());
  for (const auto& [v, from] : partial_) {
    Accumulation how = *nest_.values()[v].how;
    const DType dtype = how.dtype;
    how.dtype = from.type.dtype;
    how.no_elements = {};
    const Term part = out.load("part", {from, row_major(lengths).strides});
    values[v] = out.let(nest_.values()[v].name, cast(out.reduce("combined", std::move(how), part), dtype));
  }
  for (size_t v = 0; v < values.size(); ++v) {
    if (plan_.varies(v) || static_cast<bool>(values[v])) continue;
    values[v] = nest_.values()[v].kind == Kind::kLoad
                    ? out.load(nest_.values()[v].name, without_reduced(nest_.values()[v].location))
                    : out.let(nest_.values()[v].name, bound(nest_, nest_.values()[v].term, values));
  }
  for (const Nest::Store& store : nest_.stores())
    out.store(without_reduced(store.location), bound(nest_, store.value, values));
  schedule_whole_device_rows(b_, out, "combine_parts", "what the parts of each row gave");
}

}  // namespace thtrain::kernel
