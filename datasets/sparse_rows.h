// Rows of which only the numbers that are not 0 are kept, in memory or in a text file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "datasets/row_source.h"
#include "datasets/text_lines.h"

namespace thtrain {

/// Numbers and their columns, of one row or of several that follow one another; within a row the columns rise.
struct SparseNumbers {
  std::vector<int32_t> columns = {};
  std::vector<double> values = {};

  void add(int64_t column, double value) {
    columns.push_back(static_cast<int32_t>(column));
    values.push_back(value);
  }
};

/// As a RowSource it gives the rows whole, in float64.
class SparseRows : public RowSource {
 public:
  explicit SparseRows(int64_t width) : width_(width) {}
  const SparseRows* sparse() const override { return this; }
  /// Numbers of a row, those that are 0 among them.
  int64_t width() const { return width_; }
  /// Adds what is kept of a row. May be called from several threads. UserError as read().
  virtual void append(int64_t row, SparseNumbers& out) const = 0;
  void read(int64_t first, int64_t count, std::byte* out) const override;

 private:
  int64_t width_;
};

/// In memory: row i has the numbers begins[i] to begins[i + 1] - 1.
class HeldSparseRows : public SparseRows {
 public:
  HeldSparseRows(SparseNumbers numbers, std::vector<size_t> begins, int64_t width)
      : SparseRows(width), numbers_(std::move(numbers)), begins_(std::move(begins)) {}
  void append(int64_t row, SparseNumbers& out) const override;

 private:
  SparseNumbers numbers_;
  std::vector<size_t> begins_;
};

/// The i-th row is the line that begins at byte starts[i] of the file; they rise.
class SparseLineRows : public SparseRows {
 public:
  /// Adds what the line that `text` begins with has, as the reader of the whole file would; false where it cannot.
  using Parse = std::function<bool(std::string_view text, SparseNumbers& out)>;

  SparseLineRows(const TextFile& file, std::vector<uint64_t> starts, int64_t width, Parse parse)
      : SparseRows(width), file_(file), starts_(std::move(starts)), parse_(std::move(parse)) {}
  void append(int64_t row, SparseNumbers& out) const override;
  bool is_sequential() const override { return file_.bytes->is_sequential(); }
  void check_unchanged() const override { file_.bytes->check_unchanged(); }
  void list_files(std::vector<OpenedFile>& out) const override { file_.bytes->list_files(out); }

 private:
  TextFile file_;
  std::vector<uint64_t> starts_;
  Parse parse_;
};

/// The rows of several sources, one after the other.
class JoinedSparseRows : public SparseRows {
 public:
  /// Of sources with sparse() rows.
  explicit JoinedSparseRows(std::vector<JoinedRows::Part> parts);
  void append(int64_t row, SparseNumbers& out) const override;
  bool is_sequential() const override;
  void check_unchanged() const override;
  void list_files(std::vector<OpenedFile>& out) const override;

 private:
  std::vector<JoinedRows::Part> parts_;
};

}  // namespace thtrain
