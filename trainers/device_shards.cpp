#include "trainers/device_shards.h"

#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "compiler/ops/elemwise/elemwise.h"
#include "compiler/ops/index/index.h"
#include "compiler/ops/shape/shape.h"

namespace thtrain {

DeviceShards::DeviceShards(DType dtype, const std::vector<int64_t>& sizes, int64_t shards, Ranks& ranks,
                           const FunctionOptions& options)
    : sizes_(sizes) {
  int64_t elements = 0;
  for (int64_t size : sizes) begins_.push_back(std::exchange(elements, elements + size));
  for (int64_t i = 0; i <= std::countr_zero(static_cast<uint64_t>(shards)); ++i)
    levels_.emplace_back(Tensor::zeros(dtype, {elements}), str("shards", i), true);
  for (size_t i = 0; i + 1 < levels_.size(); ++i) {
    if (i > 0) {
      adders_.push_back(adders_[0].copy({{levels_[0], levels_[i]}, {levels_[1], levels_[i + 1]}}));
      continue;
    }
    FunctionOptions adds = options;
    adds.name = "add_shards";
    adders_.push_back(function({}, {}, {{levels_[0], levels_[0] + levels_[1]}}, adds));
  }
  if (ranks.size() > 1) ranks_ = std::make_unique<DeviceRanks>(levels_[0], ranks, options);
}

Update DeviceShards::update(const std::vector<Expr>& parts) const {
  TH_CHECK(parts.size() == sizes_.size(), "parts of a shard");
  std::vector<Operand> rows;
  for (const Expr& part : parts) rows.emplace_back(flatten(part));
  return {levels_[0], concatenate(rows)};
}

std::vector<Function> DeviceShards::for_levels(const Function& function) const {
  std::vector<Function> out = {function};
  for (size_t i = 1; i < levels_.size(); ++i) out.push_back(function.copy({{levels_[0], levels_[i]}}));
  return out;
}

size_t DeviceShards::level() const {
  return static_cast<size_t>(std::popcount(added_));
}

void DeviceShards::add() {
  size_t top = level();
  for (int pairs = std::countr_one(added_); pairs > 0; --pairs, --top) adders_[top - 1](std::vector<Tensor>());
  ++added_;
}

void DeviceShards::add_zeros(const Tensor& last) {
  Tensor zeros = Tensor::zeros(last.dtype(), levels_[0].type().known_shape());
  std::memcpy(static_cast<char*>(zeros.raw()) + zeros.bytes() - last.bytes(), last.raw(), last.bytes());
  levels_[level()].set_value(zeros);
  add();
}

void DeviceShards::sum_over_ranks() {
  if (ranks_) ranks_->sum();
}

Expr DeviceShards::part(size_t part, const Shape& shape) const {
  return reshape(slice_axis(levels_[0], 0, begins_[part], sizes_[part]), Dims(shape.begin(), shape.end()));
}

}  // namespace thtrain
