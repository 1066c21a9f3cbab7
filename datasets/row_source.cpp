#include "datasets/row_source.h"

#include <algorithm>
#include <cstring>

namespace thtrain {

void FixedRows::read(int64_t first, int64_t count, std::byte* out) const {
  const uint64_t from = offset_ + static_cast<uint64_t>(first * stride_);
  if (stride_ == row_bytes_) return bytes_->read_at(from, {out, static_cast<size_t>(count * row_bytes_)});
  constexpr int64_t kPieceBytes = int64_t{1} << 18;
  const int64_t piece = std::clamp<int64_t>(kPieceBytes / stride_, 1, std::max<int64_t>(count, 1));
  std::vector<std::byte> records(static_cast<size_t>(piece * stride_));
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t length = std::min(piece, count - begin);
    // What follows the last row is no part of it, and may be beyond the end of the file.
    const auto bytes = static_cast<size_t>((length - 1) * stride_ + row_bytes_);
    bytes_->read_at(from + static_cast<uint64_t>(begin * stride_), std::span(records).first(bytes));
    for (int64_t i = 0; i < length; ++i)
      std::memcpy(out + (begin + i) * row_bytes_, records.data() + i * stride_, static_cast<size_t>(row_bytes_));
  }
}

MemoryRows::MemoryRows(Tensor rows) : rows_(std::move(rows)) {
  TH_CHECK(rows_.is_contiguous() && rows_.rank() > 0, rows_.type_text(), " as rows in memory");
  row_bytes_ = rows_.dim(0) == 0 ? 0 : static_cast<int64_t>(rows_.bytes()) / rows_.dim(0);
}

void MemoryRows::read(int64_t first, int64_t count, std::byte* out) const {
  std::memcpy(out, static_cast<const std::byte*>(rows_.raw()) + first * row_bytes_,
              static_cast<size_t>(count * row_bytes_));
}

JoinedRows::JoinedRows(std::vector<Part> parts, int64_t row_bytes) : parts_(std::move(parts)), row_bytes_(row_bytes) {
  int64_t begin = 0;
  for (const Part& part : parts_) {
    begins_.push_back(begin);
    begin += part.rows;
  }
}

void JoinedRows::read(int64_t first, int64_t count, std::byte* out) const {
  auto part = static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), first) - begins_.begin()) - 1;
  for (; count > 0; ++part) {
    const int64_t at = first - begins_[part], length = std::min(count, parts_[part].rows - at);
    if (length <= 0) continue;  // an empty part
    parts_[part].source->read(at, length, out);
    first += length;
    count -= length;
    out += length * row_bytes_;
  }
}

void JoinedRows::check_unchanged() const {
  for (const Part& part : parts_) part.source->check_unchanged();
}

void JoinedRows::list_files(std::vector<OpenedFile>& out) const {
  for (const Part& part : parts_) part.source->list_files(out);
}

bool JoinedRows::is_sequential() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.source->is_sequential(); });
}

}  // namespace thtrain
