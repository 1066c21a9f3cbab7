// Rows of a source that are held in memory for a while: those that are needed soon, read in the order of their file.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "datasets/row_source.h"

namespace thtrain {

class HeldRows : public RowSource {
 public:
  HeldRows(std::shared_ptr<const RowSource> source, int64_t row_bytes);

  /// Reads rows `first` to `first + count` and keeps each until drop() was called for it as often as this.
  void hold(int64_t first, int64_t count);
  void drop(int64_t row);
  void drop_all();
  /// Rows that are held come from memory, others from the source. Not while another thread is in hold() or drop().
  void read(int64_t first, int64_t count, std::byte* out) const override;

 private:
  struct Held {
    size_t slot = 0;
    int64_t times = 0;
  };
  std::byte* at(size_t slot) const;

  std::shared_ptr<const RowSource> source_;
  int64_t row_bytes_;
  size_t slots_of_piece_;
  std::unordered_map<int64_t, Held> held_;  // by row
  std::vector<std::unique_ptr<std::byte[]>> pieces_;
  std::vector<size_t> free_;
  std::vector<std::byte> buffer_;
};

}  // namespace thtrain
