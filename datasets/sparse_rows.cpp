#include "datasets/sparse_rows.h"

#include <algorithm>

namespace thtrain {

void SparseRows::read(int64_t first, int64_t count, std::byte* out) const {
  // Rows of doubles begin where doubles may: buffers of elements do.
  auto* numbers = reinterpret_cast<double*>(out);
  std::fill_n(numbers, count * width_, 0.0);
  SparseNumbers of_row;
  for (int64_t i = 0; i < count; ++i, numbers += width_) {
    of_row.columns.clear();
    of_row.values.clear();
    append(first + i, of_row);
    for (size_t e = 0; e < of_row.columns.size(); ++e) numbers[of_row.columns[e]] = of_row.values[e];
  }
}

void HeldSparseRows::append(int64_t row, SparseNumbers& out) const {
  const auto begin = static_cast<std::ptrdiff_t>(begins_[static_cast<size_t>(row)]),
             end = static_cast<std::ptrdiff_t>(begins_[static_cast<size_t>(row) + 1]);
  out.columns.insert(out.columns.end(), numbers_.columns.begin() + begin, numbers_.columns.begin() + end);
  out.values.insert(out.values.end(), numbers_.values.begin() + begin, numbers_.values.begin() + end);
}

void SparseLineRows::append(int64_t row, SparseNumbers& out) const {
  const auto at = static_cast<size_t>(row);
  const uint64_t begin = starts_[at], end = at + 1 < starts_.size() ? starts_[at + 1] : file_.size;
  if (end < begin) throw changed_while_read(file_.path);
  std::string line(end - begin, '\0');
  file_.bytes->read_at(begin, std::as_writable_bytes(std::span(line)));
  if (!parse_(line, out))
    throw file_error(file_.path, "the file changed while it was read", {}, {},
                     "start again: the run reads its lines where they were at the beginning");
}

JoinedSparseRows::JoinedSparseRows(std::vector<JoinedRows::Part> parts)
    : SparseRows(parts.front().source->sparse()->width()), parts_(std::move(parts)) {}

void JoinedSparseRows::append(int64_t row, SparseNumbers& out) const {
  size_t part = 0;
  while (row >= parts_[part].rows) row -= parts_[part++].rows;
  parts_[part].source->sparse()->append(row, out);
}

bool JoinedSparseRows::is_sequential() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const JoinedRows::Part& part) { return part.source->is_sequential(); });
}
void JoinedSparseRows::check_unchanged() const {
  for (const JoinedRows::Part& part : parts_) part.source->check_unchanged();
}
void JoinedSparseRows::list_files(std::vector<OpenedFile>& out) const {
  for (const JoinedRows::Part& part : parts_) part.source->list_files(out);
}

}  // namespace thtrain
