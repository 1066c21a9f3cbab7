// What trainers read: the training, validation and test examples of a data set, in memory or streamed from large files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "datasets/data_array.h"
#include "datasets/held_rows.h"
#include "datasets/images.h"
#include "datasets/sequences.h"
#include "datasets/standardization.h"
#include "datasets/table_inputs.h"

namespace thtrain {

/// What y holds: nothing, the number of a class for each example, values to approximate, several labels that an
/// example has (1) or has not (0), or a sequence of classes for each sequence, with -1 behind the last one.
enum class Targets { kNone, kClasses, kValues, kLabels, kLabelSequences };
/// "none", "classes", "values", "labels", "label sequences".
const char* name_of(Targets targets);

/// Some examples, row-major. x: floatX [n, ...input shape], scaled. y: int64 [n] classes, floatX [n, ...] values, uint8
/// [n, ...] labels, int64 [n, labels] label sequences, or int64 [0]. weights: floatX [n], 0 or more; of rank 0 where
/// each example counts alike. lengths: int64 [n], the steps of each sequence, behind which there are zeros; of rank 0
/// where all have the same.
struct Batch {
  Tensor x, y, weights = {}, lengths = {};
  /// In place of x, of examples of which only the numbers that are not 0 are kept: example i has values[e], floatX, in
  /// the columns columns[places[e]], for e from indptr[i] to indptr[i + 1] - 1. All are int32; `columns` are those of
  /// the batch, ascending. indptr is of rank 0 where there is x.
  struct Sparse {
    Tensor values, places, indptr, columns;
  } sparse = {};
};

/// What a model takes x and y for, beyond their shapes.
struct Demands {
  int64_t symbols = 0;                // x are integers from 0 to below it; 0: any numbers
  std::string layer = {};             // that takes these symbols
  ConfigPosition where = {};          // of that layer
  std::string hint = {};              // for a symbol beyond them
  std::optional<int64_t> blank = {};  // label sequences that a path over the steps spells, with this blank (Ctc)
};

/// Some rows of two arrays. Copies share the arrays; reading is const and may be done from several threads.
class Split {
 public:
  Split() = default;  // no examples
  /// All rows. `y.raw` is not looked at for kNone. `scale` multiplies x. UserError: complex or scalar x or y, different
  /// numbers of rows, examples of no numbers, classes that are not one number for each row.
  Split(DataArray x, DataArray y, Targets targets, double scale);
  /// The same of sequences: x [n, steps, numbers of a step...], where [n, steps] stands for one number at each step.
  /// Targets are those of the steps where y is [n, steps] classes, or [n, steps, k...] values or labels; else one for
  /// each sequence, [n] or [n, k]; label sequences are [n, labels]. UserError as above, as SequenceLengths, and for
  /// targets of another number of steps.
  Split(DataArray x, DataArray y, Targets targets, double scale, Sequences sequences);
  /// Takes rows as images: each row is one of this shape. UserError where it has another number of numbers.
  void set_image_shape(const ImageShape& shape, const ConfigPosition& where);
  /// From now on an example is the middle of its image; the numbers of those that are read are not looked at beyond it.
  /// UserError where the examples are no images, or smaller.
  void set_crop(const ImageCrop& crop);
  /// How much each example counts: one number for each row. UserError as above.
  void set_weights(DataArray weights);
  /// The same sequences with as many of their first steps. Only those that are no longer may be read.
  Split first_steps(int64_t steps) const;
  /// Rows `begin` to `begin + count` of this one; or these rows, in this order.
  Split part(int64_t begin, int64_t count) const;
  Split part(std::vector<int64_t> rows) const;

  int64_t size() const { return size_; }
  /// Of one example: [28, 28]; of a sequence [steps, numbers of a step...].
  const Shape& input_shape() const { return input_shape_; }
  /// Channels, height and width of examples that are images: [28, 28], [3, 32, 32]. Nothing of others.
  std::optional<ImageShape> image_shape() const;
  /// The same examples as their images are before crop and standardization; of y nothing is changed.
  Split whole_images() const;
  /// What whole_images() leaves out besides the crop, in place; x [n, ...].
  void standardize(Tensor x) const;
  bool is_cropped() const { return crop_.has_value(); }
  /// [steps, ...] where each step has a target.
  const Shape& target_shape() const { return target_shape_; }
  bool is_sequence() const { return is_sequence_; }
  bool has_step_targets() const { return has_step_targets_; }
  /// Of one step of a sequence; of one example where they are no sequences.
  Shape step_shape() const { return {input_shape_.begin() + is_sequence_, input_shape_.end()}; }
  Shape step_target_shape() const { return {target_shape_.begin() + has_step_targets_, target_shape_.end()}; }
  /// Steps that there is room for; 1 where they are no sequences.
  int64_t steps() const { return is_sequence_ ? input_shape_[0] : 1; }
  bool has_lengths() const { return lengths_ != nullptr; }
  const DataArray& lengths_array() const { return lengths_->array; }
  /// Steps of one sequence; 1 where they are no sequences.
  int64_t length(int64_t example) const { return length_of_row(file_row(example)); }
  /// The same of a row of the file.
  int64_t length_of_row(int64_t row) const { return lengths_ ? lengths_->of_rows[static_cast<size_t>(row)] : steps(); }
  /// Of all sequences together.
  int64_t step_count() const;
  /// What has a target: all steps of all sequences, or all examples.
  int64_t target_count() const { return has_step_targets_ ? step_count() : size_; }
  Targets targets() const { return targets_; }
  /// What multiplies x.
  double scale() const { return scale_; }
  const Standardization* standardization() const { return standardization_.get(); }
  /// How the inputs are made of the columns of a table; null where they are its numbers.
  const TableInputs* table_inputs() const { return table_inputs_.get(); }
  /// The texts whose codes are in x of a table; null: there are none. Before set_standardization().
  const Categories* categories() const { return categories_.get(); }
  void set_categories(Categories categories) {
    categories_ = std::make_shared<const Categories>(std::move(categories));
  }
  /// What multiplies each number of an example in turn, or all of them.
  std::vector<double> input_scales() const;
  /// The number of a row of x that the input at `position` of an example comes from.
  int64_t column_of(int64_t position) const;
  /// What check_batch looks for besides; null: nothing.
  const Demands* demands() const { return demands_.get(); }
  void set_demands(Demands demands) { demands_ = std::make_shared<const Demands>(std::move(demands)); }
  /// Labels from here on are out of range; 0 while it is not known.
  int64_t classes() const { return classes_; }
  void set_classes(int64_t classes) { classes_ = classes; }
  /// The arrays as they were found, all their rows.
  const DataArray& x_array() const { return x_; }
  const DataArray& y_array() const { return y_; }
  /// Changes x, and y of kValues, as they are read. The lengths of its vectors are 1 or the inputs. Where it has an
  /// imputation or categories, examples are the columns of a table, and input_shape() counts what is made of them.
  /// Reading is a UserError then for a text that is none of the categories.
  void set_standardization(std::shared_ptr<const Standardization> standardization);
  bool has_weights() const { return weights_ != nullptr; }
  const DataArray& weights_array() const { return *weights_; }
  /// Of all examples as `floatx`, with their targets.
  uint64_t bytes(DType floatx) const;
  /// The row of the file that example `i` is in, for messages.
  int64_t file_row(int64_t i) const { return rows_ ? (*rows_)[static_cast<size_t>(first_ + i)] : first_ + i; }

  /// From now on the arrays with a source are read through these, instead of the source; none where all are in
  /// memory. They hold and drop rows of the file.
  std::vector<std::shared_ptr<HeldRows>> hold_rows();

  /// Tensors for so many examples, to be filled by read_into.
  Batch buffer(int64_t count, DType floatx) const;
  /// Examples `begin` to `begin + count`, or those with these numbers, as `floatx` (float32 or float64). UserError for
  /// a class that is no integer, and a label that is not 0 or 1 (values and ranges are checked by check_batch).
  Batch read(int64_t begin, int64_t count, DType floatx) const;
  Batch read(std::span<const int64_t> examples, DType floatx) const;
  /// Is only what is not 0 kept of the examples? read() gives them whole.
  bool is_sparse() const { return x_.source && x_.source->sparse(); }
  /// The same of sparse examples, as they are kept: Batch::sparse in place of x.
  Batch read_sparse(std::span<const int64_t> examples, DType floatx) const;
  /// The same into the contiguous tensors of `into`, whose lengths say how many and whose x says which dtype.
  void read_into(Batch& into, int64_t begin) const;
  void read_into(Batch& into, std::span<const int64_t> examples) const;
  /// The weights alone; there are some.
  Tensor read_weights(int64_t begin, int64_t count, DType floatx) const;
  /// y alone.
  Tensor read_targets(int64_t begin, int64_t count, DType floatx) const;
  /// All of it; x is the array itself (not to be written to) where nothing has to be converted.
  Batch all(DType floatx) const;

 private:
  void take_targets();
  void check_target_shape() const;
  void check_step_targets() const;
  void check_label_sequences() const;
  Tensor read_lengths(int64_t count, const RowOf& row_of) const;
  Tensor make_targets(int64_t count, DType floatx) const;
  void fill(Batch& into, const RowOf& row_of) const;
  void fill_besides_x(Batch& into, const RowOf& row_of) const;
  void fill_targets(Tensor into, const RowOf& row_of) const;
  void fill_cropped(Tensor into, const RowOf& row_of) const;
  void fill_table(Tensor into, const RowOf& row_of) const;
  [[noreturn]] void refuse_category(int64_t row, int64_t column, double code) const;

  DataArray x_, y_;
  std::shared_ptr<const DataArray> weights_;                // null: all alike
  std::shared_ptr<const Standardization> standardization_;  // null: numbers stay as they are
  std::shared_ptr<const Categories> categories_;
  std::shared_ptr<const TableInputs> table_inputs_;
  Targets targets_ = Targets::kNone;
  double scale_ = 1;
  int64_t first_ = 0, size_ = 0, classes_ = 0;
  std::shared_ptr<const std::vector<int64_t>> rows_;  // null: the rows as they are
  Shape input_shape_, target_shape_;
  std::optional<ImageCrop> crop_;    // none: an example is the whole image
  bool standardizes_inputs_ = true;  // where there is a standardization
  bool is_sequence_ = false, has_step_targets_ = false;
  std::shared_ptr<const SequenceLengths> lengths_;  // null: all have the same
  std::shared_ptr<const Demands> demands_;
};

/// Of examples that are images. UserError at `where`, which asks for them, where they are none.
ImageShape require_images(const Split& split, const ConfigPosition& where);

/// UserError for the first x, value of y or weight that is NaN or infinite, for a weight below 0, for a class below 0
/// (in label sequences, -1) or not below split.classes(), and for what split.demands() does not allow. `batch` holds
/// examples `first` and on of `split`, in order (or `examples`).
void check_batch(const Split& split, const Batch& batch, int64_t first);
void check_batch(const Split& split, const Batch& batch, std::span<const int64_t> examples);
/// Reads and checks every example, a few MiB at a time.
void check_all(const Split& split, DType floatx);
/// The same of targets and weights alone.
void check_targets(const Split& split, DType floatx);
/// The same of split.demands() alone, of every example.
void check_demands(const Split& split, DType floatx);
/// 1 + the largest label; 0 for no examples. UserError for a label below 0 (in label sequences, -1), and for one that
/// is not below split.target_count(), or the number of labels in label sequences: so many classes cannot be learned,
/// and one wild label would ask for all of the memory.
int64_t count_classes(const Split& split);

/// The columns of a source that is a table.
struct TableColumns {
  std::vector<std::string> columns = {};       // of an example
  bool columns_named = false;                  // by the table's header
  bool may_lack_header = false;                // numbers like 0, 1, 2 in the first line, which is taken as an example
  std::optional<size_t> label_at = {};         // the label's column, from 0, where it is one
  std::vector<size_t> other_columns = {};      // columns of labels and weights, from 0
  std::vector<std::string> target_names = {};  // of several columns of y
};

struct Dataset : TableColumns {
  std::string name;
  Split train, valid, test;
  std::shared_ptr<const Standardization> standardization = {};  // of all splits, learned on the first; null: none
  std::vector<std::string> class_names;                         // where the source has names
  bool streamed = false;  // it would not fit in memory: read batch by batch, check_batch each
  /// An epoch's order is drawn among so many examples at a time, as trainers/epoch_order.h says. 0: among all.
  int64_t shuffle_window = 0;
  bool is_window_default = false;  // nobody chose it
  bool cut_from_end = false;       // validation examples are the last of the training file

  Targets targets() const { return train.targets(); }
  /// Of kClasses and kLabelSequences; 0 otherwise.
  int64_t classes() const { return train.classes(); }
  /// Of all splits, instead of what they have.
  void set_standardization(std::shared_ptr<const Standardization> standard);
  /// What a model gives for an example: a probability for each class or label, or the values.
  int64_t outputs() const;
  const Shape& input_shape() const { return train.input_shape(); }
  std::optional<ImageShape> image_shape() const { return train.image_shape(); }
  bool is_sequence() const { return train.is_sequence(); }
  /// Lines for people: the splits with sizes, shapes, and the files that they come from.
  std::string text() const;
};

}  // namespace thtrain
