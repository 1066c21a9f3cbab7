#include "datasets/held_rows.h"

#include <algorithm>
#include <cstring>

namespace thtrain {

HeldRows::HeldRows(std::shared_ptr<const RowSource> source, int64_t row_bytes)
    : source_(std::move(source)),
      row_bytes_(row_bytes),
      slots_of_piece_(static_cast<size_t>(std::max<int64_t>((int64_t{1} << 20) / std::max<int64_t>(row_bytes, 1), 1))) {
}

std::byte* HeldRows::at(size_t slot) const {
  return pieces_[slot / slots_of_piece_].get() + slot % slots_of_piece_ * static_cast<size_t>(row_bytes_);
}

void HeldRows::hold(int64_t first, int64_t count) {
  buffer_.resize(static_cast<size_t>(count * row_bytes_));
  source_->read(first, count, buffer_.data());
  for (int64_t i = 0; i < count; ++i) {
    Held& held = held_[first + i];
    if (held.times++ > 0) continue;
    if (free_.empty()) {
      const size_t begin = pieces_.size() * slots_of_piece_;
      pieces_.push_back(std::make_unique_for_overwrite<std::byte[]>(slots_of_piece_ * static_cast<size_t>(row_bytes_)));
      for (size_t slot = begin + slots_of_piece_; slot-- > begin;) free_.push_back(slot);
    }
    held.slot = free_.back();
    free_.pop_back();
    std::memcpy(at(held.slot), buffer_.data() + i * row_bytes_, static_cast<size_t>(row_bytes_));
  }
}

void HeldRows::drop(int64_t row) {
  auto found = held_.find(row);
  if (found == held_.end() || --found->second.times > 0) return;
  free_.push_back(found->second.slot);
  held_.erase(found);
}

void HeldRows::drop_all() {
  for (const auto& [row, held] : held_) free_.push_back(held.slot);
  held_.clear();
}

void HeldRows::read(int64_t first, int64_t count, std::byte* out) const {
  for (int64_t i = 0; i < count; ++i, out += row_bytes_) {
    auto found = held_.find(first + i);
    if (found == held_.end())
      source_->read(first + i, 1, out);
    else
      std::memcpy(out, at(found->second.slot), static_cast<size_t>(row_bytes_));
  }
}

}  // namespace thtrain
