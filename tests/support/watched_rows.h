// Streamed examples whose reading a test watches.
#pragma once

#include <atomic>
#include <memory>

#include "datasets/dataset.h"
#include "datasets/row_source.h"
#include "tests/support/training_support.h"
#include "trainers/load_data.h"

namespace thtrain {

/// What the rows of several arrays have in common. Threads read them ahead.
struct Watch {
  std::atomic<int64_t> reads = 0;
  std::atomic<int64_t> stop_at = -1;  // the read that sets `stop`
  std::atomic<int> stop = 0;
  /// This row of that array cannot be read.
  std::atomic<const char*> bad_array = "";
  std::atomic<int64_t> bad_row = -1;
};

class WatchedRows : public RowSource {
 public:
  WatchedRows(const Tensor& rows, const char* name, Watch& watch) : rows_(rows), name_(name), watch_(watch) {}
  void read(int64_t first, int64_t count, std::byte* out) const override {
    if (watch_.reads++ == watch_.stop_at) watch_.stop = 1;
    const int64_t bad = watch_.bad_row;
    if (watch_.bad_array == name_ && first <= bad && bad < first + count)
      throw file_error(name_, str("row ", bad, " cannot be read"));
    rows_.read(first, count, out);
  }

 private:
  MemoryRows rows_;
  const char* name_;
  Watch& watch_;
};

/// The examples of the experiment's data as streams, "train", "valid" and "test".
inline Dataset watched_data(const Experiment& e, Watch& watch) {
  Dataset out = load_data(e, "");
  for (const auto& [split, name] :
       {std::pair(&out.train, "train"), std::pair(&out.valid, "valid"), std::pair(&out.test, "test")}) {
    const Batch all = split->all(DType::kFloat32);
    const int64_t classes = split->classes();
    const Tensor x = all.x.contiguous();
    *split = Split(
        {.raw = outline(x.dtype(), x.shape()), .source = std::make_shared<WatchedRows>(x, name, watch), .origin = name},
        {.raw = all.y, .origin = name}, Targets::kClasses, 1);
    split->set_classes(classes);
  }
  out.streamed = true;
  return out;
}

}  // namespace thtrain
