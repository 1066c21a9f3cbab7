// Rows of an array that stay where they are, and are read when they are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/base/file.h"
#include "compiler/ir/tensor.h"

namespace thtrain {

class SparseRows;  // datasets/sparse_rows.h

class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Rows `first` to `first + count` into `out`: row-major, in the array's dtype and byte order. May be called from
  /// several threads. UserError where they cannot be read, or are no rows any more.
  virtual void read(int64_t first, int64_t count, std::byte* out) const = 0;
  /// Does it cost much to read a row that does not follow the one before? True of packed files, which are unpacked from
  /// the nearest known location on.
  virtual bool is_sequential() const { return false; }
  /// The first `bytes` bytes of each row, without reading more; null where rows are read whole.
  virtual std::shared_ptr<const RowSource> beginnings(int64_t /*bytes*/) const { return nullptr; }
  /// Itself, where only the numbers that are not 0 are kept of each row; else null.
  virtual const SparseRows* sparse() const { return nullptr; }
  /// UserError where a file that the rows come from was changed since it was opened.
  virtual void check_unchanged() const {}
  /// Adds the files that the rows come from.
  virtual void list_files(std::vector<OpenedFile>&) const {}
};

/// Bytes at any location of a file, as they were before it was packed.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` from byte `offset` on. May be called from several threads. UserError as InputFile::read_at.
  virtual void read_at(uint64_t offset, std::span<std::byte> out) const = 0;
  virtual bool is_sequential() const { return false; }
  /// As RowSource's.
  virtual void check_unchanged() const {}
  virtual void list_files(std::vector<OpenedFile>&) const {}
};

/// Those of a file that is not packed.
class FileBytes : public ByteSource {
 public:
  explicit FileBytes(std::shared_ptr<const InputFile> file) : file_(std::move(file)) {}
  void read_at(uint64_t offset, std::span<std::byte> out) const override { file_->read_at(offset, out); }
  void check_unchanged() const override { file_->check_unchanged(); }
  void list_files(std::vector<OpenedFile>& out) const override { out.push_back(file_->opened()); }

 private:
  std::shared_ptr<const InputFile> file_;
};

/// Rows of `row_bytes` bytes, the first at byte `offset`, each `stride` bytes behind the one before it.
class FixedRows : public RowSource {
 public:
  FixedRows(std::shared_ptr<const ByteSource> bytes, uint64_t offset, int64_t row_bytes, int64_t stride)
      : bytes_(std::move(bytes)), offset_(offset), row_bytes_(row_bytes), stride_(stride) {}
  void read(int64_t first, int64_t count, std::byte* out) const override;
  bool is_sequential() const override { return bytes_->is_sequential(); }
  void check_unchanged() const override { bytes_->check_unchanged(); }
  void list_files(std::vector<OpenedFile>& out) const override { bytes_->list_files(out); }

 private:
  std::shared_ptr<const ByteSource> bytes_;
  uint64_t offset_;
  int64_t row_bytes_, stride_;
};

/// Rows of a contiguous tensor: a part in memory of an array that is joined of several.
class MemoryRows : public RowSource {
 public:
  explicit MemoryRows(Tensor rows);
  void read(int64_t first, int64_t count, std::byte* out) const override;

 private:
  Tensor rows_;
  int64_t row_bytes_;
};

/// The rows of several sources, one after the other.
class JoinedRows : public RowSource {
 public:
  struct Part {
    std::shared_ptr<const RowSource> source;
    int64_t rows = 0;
  };
  JoinedRows(std::vector<Part> parts, int64_t row_bytes);
  void read(int64_t first, int64_t count, std::byte* out) const override;
  bool is_sequential() const override;
  void check_unchanged() const override;
  void list_files(std::vector<OpenedFile>& out) const override;

 private:
  std::vector<Part> parts_;
  std::vector<int64_t> begins_;  // the first row of each part
  int64_t row_bytes_;
};

}  // namespace thtrain
