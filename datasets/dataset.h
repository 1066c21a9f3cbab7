// What trainers read: the training, validation and test examples of a data set, in memory or streamed from large files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/data_array.h"

namespace thtrain {

/// What y holds: nothing, the number of a class for each example, or values to approximate.
enum class Targets { kNone, kClasses, kValues };

/// Some examples, row-major. x: floatX [n, ...input shape], scaled. y: int64 [n] classes, floatX [n, ...] values, or
/// int64 [0].
struct Batch {
  Tensor x, y;
};

/// Some rows of two arrays. Copies share the arrays; reading is const and may be done from several threads.
class Split {
 public:
  Split() = default;  // no examples
  /// All rows. `y.raw` is not looked at for kNone. `scale` multiplies x. UserError: complex or scalar x or y, different
  /// numbers of rows, examples of no numbers, labels that are not one number for each row.
  Split(DataArray x, DataArray y, Targets targets, double scale);
  /// Rows `begin` to `begin + count` of this one; or these rows, in this order.
  Split part(int64_t begin, int64_t count) const;
  Split part(std::vector<int64_t> rows) const;

  int64_t size() const { return size_; }
  /// Of one example: [28, 28].
  const Shape& input_shape() const { return input_shape_; }
  const Shape& target_shape() const { return target_shape_; }
  Targets targets() const { return targets_; }
  /// Labels from here on are out of range; 0 while it is not known.
  int64_t classes() const { return classes_; }
  void set_classes(int64_t classes) { classes_ = classes; }
  /// The arrays as they were found, all their rows.
  const DataArray& x_array() const { return x_; }
  const DataArray& y_array() const { return y_; }
  /// Of all examples as `floatx`, with their targets.
  uint64_t bytes(DType floatx) const;
  /// The row of the file that example `i` stands in, for messages.
  int64_t file_row(int64_t i) const { return rows_ ? (*rows_)[static_cast<size_t>(first_ + i)] : first_ + i; }

  /// Examples `begin` to `begin + count`, or those with these numbers, as `floatx` (float32 or float64). UserError for
  /// a label that is no integer (values and ranges are checked by check_batch).
  Batch read(int64_t begin, int64_t count, DType floatx) const;
  Batch read(std::span<const int64_t> examples, DType floatx) const;
  /// The same into the contiguous tensors of `into`, whose lengths say how many and whose x says which dtype.
  void read_into(const Batch& into, int64_t begin) const;
  void read_into(const Batch& into, std::span<const int64_t> examples) const;
  /// y alone.
  Tensor read_targets(int64_t begin, int64_t count, DType floatx) const;
  /// All of it; x is the array itself (not to be written to) where nothing has to be converted.
  Batch all(DType floatx) const;

 private:
  Batch make_batch(int64_t count, DType floatx) const;
  Tensor make_targets(int64_t count, DType floatx) const;
  void fill(const Batch& into, const RowOf& row_of) const;
  void fill_targets(const Tensor& into, const RowOf& row_of) const;

  DataArray x_, y_;
  Targets targets_ = Targets::kNone;
  double scale_ = 1;
  int64_t first_ = 0, size_ = 0, classes_ = 0;
  std::shared_ptr<const std::vector<int64_t>> rows_;  // null: the rows as they stand
  Shape input_shape_, target_shape_;
};

/// UserError for the first x or value of y that is NaN or infinite and for a label below 0 or not below
/// split.classes(). `batch` holds examples `first` and on of `split`, in order (or `examples`).
void check_batch(const Split& split, const Batch& batch, int64_t first);
void check_batch(const Split& split, const Batch& batch, std::span<const int64_t> examples);
/// Reads and checks every example, a few MiB at a time.
void check_all(const Split& split, DType floatx);
/// 1 + the largest label; 0 for no examples. UserError for a label below 0, and for one that is not below the number of
/// examples: so many classes cannot be learned, and one wild label would ask for all of the memory.
int64_t count_classes(const Split& split);

struct Dataset {
  std::string name;
  Split train, valid, test;
  std::vector<std::string> class_names;  // where the source has names
  std::vector<std::string> columns;      // of an example, where the source is a table
  bool columns_named = false;            // by the table's header
  std::optional<size_t> label_at = {};   // the label's column in that table, from 0
  bool streamed = false;                 // it would not fit in memory: read batch by batch, check_batch each
  bool cut_from_end = false;             // validation examples are the last of the training file

  Targets targets() const { return train.targets(); }
  int64_t classes() const { return train.classes(); }
  const Shape& input_shape() const { return train.input_shape(); }
  /// Lines for people: the splits with sizes, shapes, and the files that they come from.
  std::string text() const;
};

}  // namespace thtrain
