#include "datasets/dataset.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/escape.h"
#include "datasets/csv_text.h"
#include "datasets/elements.h"

namespace thtrain {

const char* name_of(Targets targets) {
  switch (targets) {
    case Targets::kNone:
      return "none";
    case Targets::kClasses:
      return "classes";
    case Targets::kValues:
      return "values";
    case Targets::kLabels:
      return "labels";
    case Targets::kLabelSequences:
      return "label sequences";
  }
  return "";
}

Split::Split(DataArray x, DataArray y, Targets targets, double scale)
    : x_(std::move(x)), y_(std::move(y)), targets_(targets), scale_(scale) {
  check_array(x_);
  take_targets();
}

Split::Split(DataArray x, DataArray y, Targets targets, double scale, Sequences sequences)
    : x_(std::move(x)), y_(std::move(y)), targets_(targets), scale_(scale), is_sequence_(true) {
  check_array(x_);
  Tensor& raw = x_.raw;
  if (raw.rank() < 2 || raw.dim(1) == 0)
    throw UserError({.what = str(x_.origin, ": the examples are no sequences"),
                     .expected = "an array of sequences, steps and numbers of a step",
                     .got = raw.type_text(),
                     .config = x_.where});
  if (raw.rank() == 2)  // one number at each step
    raw = raw.view({raw.dim(0), raw.dim(1), 1}, {raw.strides()[0], raw.strides()[1], 1}, 0);
  take_targets();
  if (sequences.lengths) lengths_ = std::make_shared<const SequenceLengths>(std::move(*sequences.lengths), x_);
}

void Split::take_targets() {
  size_ = x_.raw.dim(0);
  input_shape_.assign(x_.raw.shape().begin() + 1, x_.raw.shape().end());
  if (input_shape_.empty()) {  // a vector is one column
    x_.raw = x_.raw.view({size_, 1}, {x_.raw.strides()[0], 1}, 0);
    input_shape_ = {1};
  }
  if (element_count(input_shape_) == 0) {
    throw UserError({.what = str(x_.origin, ": the examples have no numbers to learn from"),
                     .expected = "at least one column",
                     .got = x_.raw.type_text(),
                     .config = x_.where});
  }
  if (targets_ == Targets::kNone) {
    y_ = {};
    return;
  }
  check_array(y_);
  if (size_ == 0 && y_.raw.dim(0) > 0) {
    throw UserError({.what = str(x_.origin, ": there are no examples, but labels"),
                     .expected = str(y_.raw.dim(0), " rows, as in ", y_.origin),
                     .got = x_.raw.type_text(),
                     .config = x_.where});
  }
  if (y_.raw.dim(0) != size_) {
    throw UserError({.what = "examples and labels differ in number",
                     .expected = str(size_, " rows, as in ", x_.origin),
                     .got = str(y_.raw.dim(0), " rows in ", y_.origin),
                     .config = y_.where});
  }
  target_shape_.assign(y_.raw.shape().begin() + 1, y_.raw.shape().end());
  if (targets_ == Targets::kLabelSequences) return check_label_sequences();
  const bool has_classes = targets_ == Targets::kClasses;
  if (has_classes && target_shape_ == Shape{1} && !is_sequence_) {
    y_.raw = y_.raw.view({size_}, {y_.raw.strides()[0]}, 0);
    target_shape_.clear();
  }
  has_step_targets_ = is_sequence_ && target_shape_.size() >= (has_classes ? 1 : 2);
  if (has_step_targets_) check_step_targets();
  if (!has_classes) {
    check_target_shape();
    return;
  }
  if (!step_target_shape().empty()) {
    throw UserError({.what = str(y_.origin, ": the labels are not one number for each ",
                                 is_sequence_ ? "sequence, or one for each step" : "example"),
                     .expected = str("an array ", shape_text(Shape{size_}),
                                     is_sequence_ ? str(" or ", shape_text(Shape{size_, steps()})) : ""),
                     .got = y_.raw.type_text(),
                     .config = y_.where,
                     .hint = "rows of zeros with a one at the class become class numbers by labels.argmax(axis=1); "
                             "several labels of an example are data.target = \"labels\", values to approximate are "
                             "data.target = \"values\""});
  }
}

void Split::check_step_targets() const {
  if (target_shape_[0] == steps()) return;
  throw UserError({.what = "sequences and their targets differ in the number of steps",
                   .expected = str(steps(), " steps, as in ", x_.origin, ' ', x_.raw.type_text()),
                   .got = str(target_shape_[0], " steps in ", y_.origin, ' ', y_.raw.type_text()),
                   .config = y_.where,
                   .hint = targets_ == Targets::kClasses
                               ? "classes are [sequences], or [sequences, steps]"
                               : "targets are [sequences, numbers], or [sequences, steps, numbers]"});
}

void Split::check_label_sequences() const {
  if (target_shape_.size() == 1 && target_shape_[0] > 0) return;
  throw UserError(
      {.what = str(y_.origin, ": the labels are not a sequence of labels for each sequence"),
       .expected = str("an array [", size_, ", labels] as wide as the longest of them, -1 behind the end"),
       .got = y_.raw.type_text(),
       .config = y_.where,
       .hint = "the objective learns label sequences: [[1, 2, 1], [2, -1, -1]] are those of two sequences"});
}

int64_t Split::step_count() const {
  if (!lengths_) return size_ * steps();
  int64_t out = 0;
  for (int64_t i = 0; i < size_; ++i) out += length(i);
  return out;
}

void Split::check_target_shape() const {
  if (element_count(target_shape_) > 0) return;
  throw UserError({.what = str(y_.origin, ": the examples have no targets to learn"),
                   .expected = "at least one column",
                   .got = y_.raw.type_text(),
                   .config = y_.where});
}

void Split::set_weights(DataArray weights) {
  check_array(weights);
  Tensor& raw = weights.raw;
  if (raw.shape() == Shape{raw.dim(0), 1}) raw = raw.view({raw.dim(0)}, {raw.strides()[0]}, 0);
  if (raw.rank() != 1)
    throw UserError({.what = str(weights.origin, ": the weights are not one number for each example"),
                     .expected = str("an array ", shape_text(Shape{raw.dim(0)})),
                     .got = raw.type_text(),
                     .config = weights.where});
  if (raw.dim(0) != x_.raw.dim(0))
    throw UserError({.what = "examples and weights differ in number",
                     .expected = str(x_.raw.dim(0), " rows, as in ", x_.origin),
                     .got = str(raw.dim(0), " rows in ", weights.origin),
                     .config = weights.where});
  weights_ = std::make_shared<const DataArray>(std::move(weights));
}

Split Split::part(int64_t begin, int64_t count) const {
  TH_CHECK(begin >= 0 && count >= 0 && begin + count <= size_, "part ", begin, " + ", count, " of ", size_,
           " examples");
  Split out = *this;
  out.first_ += begin;
  out.size_ = count;
  return out;
}

Split Split::part(std::vector<int64_t> rows) const {
  for (int64_t& row : rows) {
    TH_CHECK(row >= 0 && row < size_, "example ", row, " of ", size_);
    row = file_row(row);
  }
  Split out = *this;
  out.first_ = 0;
  out.size_ = static_cast<int64_t>(rows.size());
  out.rows_ = std::make_shared<const std::vector<int64_t>>(std::move(rows));
  return out;
}

static DType dtype_of(Targets targets, DType floatx) {
  if (targets == Targets::kLabels) return DType::kUInt8;
  return targets == Targets::kValues ? floatx : DType::kInt64;
}

uint64_t Split::bytes(DType floatx) const {
  auto of = [&](const Shape& shape, DType dtype) {
    return static_cast<uint64_t>(element_count(shape)) * size_of(dtype);
  };
  uint64_t one = of(input_shape_, floatx);
  if (targets_ != Targets::kNone) one += of(target_shape_, dtype_of(targets_, floatx));
  if (has_weights()) one += size_of(floatx);
  return static_cast<uint64_t>(size_) * one;
}

namespace {

Shape with_rows(int64_t count, const Shape& one) {
  Shape out{count};
  out.insert(out.end(), one.begin(), one.end());
  return out;
}
Tensor rows_of(DType dtype, int64_t count, const Shape& one) {
  return Tensor::empty(dtype, with_rows(count, one));
}

}  // namespace

Tensor Split::make_targets(int64_t count, DType floatx) const {
  if (targets_ == Targets::kNone) return Tensor::empty(DType::kInt64, {0});
  return rows_of(dtype_of(targets_, floatx), count, target_shape_);
}

std::vector<std::shared_ptr<HeldRows>> Split::hold_rows() {
  std::vector<std::shared_ptr<HeldRows>> out;
  auto through = [&](DataArray& array) {
    if (!array.source || array.source->sparse()) return;  // sparse rows are read one by one
    out.push_back(std::make_shared<HeldRows>(array.source, row_bytes(array)));
    array.source = out.back();
  };
  through(x_);
  through(y_);
  if (weights_) {
    DataArray weights = *weights_;
    through(weights);
    weights_ = std::make_shared<const DataArray>(std::move(weights));
  }
  return out;
}

Batch Split::buffer(int64_t count, DType floatx) const {
  TH_CHECK(floatx == DType::kFloat32 || floatx == DType::kFloat64, "examples as ", name_of(floatx));
  Batch out{rows_of(floatx, count, input_shape_), make_targets(count, floatx)};
  if (has_weights()) out.weights = Tensor::empty(floatx, {count});
  if (has_lengths()) out.lengths = Tensor::empty(DType::kInt64, {count});
  return out;
}

Tensor Split::read_lengths(int64_t count, const RowOf& row_of) const {
  Tensor out = Tensor::empty(DType::kInt64, {count});
  for (int64_t i = 0; i < count; ++i) out.data<int64_t>()[i] = lengths_->of_rows[static_cast<size_t>(row_of(i))];
  return out;
}

void Split::fill(Batch& into, const RowOf& row_of) const {
  TH_CHECK(into.x.is_contiguous() && into.x.rank() > 0 && into.x.size() == into.x.dim(0) * element_count(input_shape_),
           into.x.type_text(), " for examples of ", shape_text(input_shape_));
  if (table_inputs_)
    fill_table(into.x, row_of);
  else if (crop_)
    fill_cropped(into.x, row_of);
  else
    convert_rows(x_, scale_, row_of, into.x);
  if (standardizes_inputs_) standardize(into.x);
  if (has_lengths()) {
    TH_CHECK(into.lengths.shape() == Shape{into.x.dim(0)}, into.lengths.type_text(), " for lengths");
    into.lengths.assign(read_lengths(into.x.dim(0), row_of));
    clear_behind_end(into.x.reshape(with_rows(into.x.dim(0), input_shape_)), into.lengths);
  }
  TH_CHECK(!has_weights() || into.weights.shape() == Shape{into.x.dim(0)}, into.weights.type_text(), " for weights");
  TH_CHECK(targets_ == Targets::kNone || (into.y.rank() > 0 && into.y.dim(0) == into.x.dim(0)), into.y.type_text(),
           " for ", into.x.type_text());
  fill_besides_x(into, row_of);
}

void Split::fill_besides_x(Batch& into, const RowOf& row_of) const {
  if (has_weights()) convert_rows(*weights_, 1, row_of, into.weights);
  fill_targets(into.y, row_of);
}

void Split::set_standardization(std::shared_ptr<const Standardization> standardization) {
  standardization_ = std::move(standardization);
  const bool was_of_table = table_inputs_ != nullptr, is_of_table = standardization_ && standardization_->is_of_table();
  if (!was_of_table && !is_of_table) return;
  TH_CHECK(input_shape_.size() == 1 && x_.raw.rank() == 2, "columns of a table in examples ", shape_text(input_shape_));
  table_inputs_ =
      is_of_table ? std::make_shared<const TableInputs>(*standardization_, x_.raw.dim(1), categories_.get()) : nullptr;
  input_shape_ = {is_of_table ? table_inputs_->width() : x_.raw.dim(1)};
}

std::vector<double> Split::input_scales() const {
  if (!table_inputs_) return {scale_};
  std::vector<double> out;
  for (const TableInputs::Input& input : table_inputs_->inputs())
    out.push_back(input.kind == TableInputs::Input::Kind::kNumber ? scale_ : 1);
  return out;
}

int64_t Split::column_of(int64_t position) const {
  return table_inputs_ ? table_inputs_->inputs()[static_cast<size_t>(position)].column : position;
}

void Split::fill_table(Tensor into, const RowOf& row_of) const {
  constexpr int64_t kElements = int64_t{1} << 18;
  const int64_t columns = table_inputs_->columns(), count = into.dim(0),
                piece = std::clamp<int64_t>(kElements / columns, 1, std::max<int64_t>(count, 1));
  const Tensor inputs = into.reshape({count, table_inputs_->width()});
  Tensor rows = Tensor::empty(DType::kFloat64, {piece, columns});
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t length = std::min(piece, count - begin);
    const Tensor some = rows.rows(0, length);
    convert_rows(
        x_, 1, [&](int64_t i) { return row_of(begin + i); }, some);
    const int64_t unknown = table_inputs_->apply(some, scale_, inputs.rows(begin, length));
    if (unknown >= 0) refuse_category(row_of(begin + unknown / columns), unknown % columns, some.as_double(unknown));
  }
}

void Split::refuse_category(int64_t row, int64_t column, double code) const {
  const std::vector<std::string>& known = standardization_->categories.of(column);
  const std::string location = element_location(x_, {table_inputs_->columns()}, row, column);
  if (categories_ && categories_->has(column))
    throw UserError({.what = location + ": the text is not one of the categories of the model",
                     .expected = str("one of ", list_text(known)),
                     .got = str('"', excerpt(categories_->of(column)[static_cast<size_t>(code)], 40), '"'),
                     .config = x_.where});
  throw UserError({.what = location + ": not the code of a category",
                   .expected = str("integers from 0 to ", known.size() - 1),
                   .got = number_text(code),
                   .config = x_.where,
                   .hint = counting_hint(x_)});
}

void Split::fill_targets(Tensor into, const RowOf& row_of) const {
  if (targets_ == Targets::kNone) return;
  TH_CHECK(into.is_contiguous() && into.size() == into.dim(0) * element_count(target_shape_), into.type_text(),
           " for targets of ", shape_text(target_shape_));
  RowOf within;  // the numbers of a row that precede its end
  if (has_step_targets_ && has_lengths())
    within = [&](int64_t i) {
      return lengths_->of_rows[static_cast<size_t>(row_of(i))] * element_count(step_target_shape());
    };
  if (targets_ == Targets::kClasses || targets_ == Targets::kLabelSequences)
    convert_labels(y_, row_of, into, within);
  else if (targets_ == Targets::kLabels)
    convert_bits(y_, row_of, into, within);
  else {
    convert_rows(y_, 1, row_of, into);
    if (standardization_) standardization_->targets.apply(into);
    if (within) clear_behind_end(into, read_lengths(into.dim(0), row_of));
  }
}

void Split::read_into(Batch& into, int64_t begin) const {
  TH_CHECK(begin >= 0 && begin + into.x.dim(0) <= size_, "examples ", begin, " + ", into.x.dim(0), " of ", size_);
  fill(into, [&](int64_t i) { return file_row(begin + i); });
}

void Split::read_into(Batch& into, std::span<const int64_t> examples) const {
  TH_CHECK(into.x.dim(0) == static_cast<int64_t>(examples.size()), into.x.dim(0), " rows for ", examples.size(),
           " examples");
  for (int64_t i : examples) TH_CHECK(i >= 0 && i < size_, "example ", i, " of ", size_);
  fill(into, [&](int64_t i) { return file_row(examples[static_cast<size_t>(i)]); });
}

Batch Split::read(int64_t begin, int64_t count, DType floatx) const {
  Batch out = buffer(count, floatx);
  read_into(out, begin);
  return out;
}

Batch Split::read(std::span<const int64_t> examples, DType floatx) const {
  Batch out = buffer(static_cast<int64_t>(examples.size()), floatx);
  read_into(out, examples);
  return out;
}

Tensor Split::read_targets(int64_t begin, int64_t count, DType floatx) const {
  TH_CHECK(begin >= 0 && count >= 0 && begin + count <= size_, "targets ", begin, " + ", count, " of ", size_);
  Tensor out = make_targets(count, floatx);
  fill_targets(out, [&](int64_t i) { return file_row(begin + i); });
  return out;
}

Tensor Split::read_weights(int64_t begin, int64_t count, DType floatx) const {
  Tensor out = Tensor::empty(floatx, {count});
  convert_rows(
      *weights_, 1, [&](int64_t i) { return file_row(begin + i); }, out);
  return out;
}

Batch Split::all(DType floatx) const {
  bool is_unchanged = !rows_ && !x_.source && !has_lengths() && !table_inputs_ &&
                      !(standardization_ && !standardization_->inputs.empty()) && scale_ == 1 && !x_.swapped &&
                      x_.raw.dtype() == floatx && x_.raw.is_contiguous() && !crop_;
  if (!is_unchanged) return read(0, size_, floatx);
  Batch out{x_.raw.rows(first_, size_), read_targets(0, size_, floatx)};
  if (has_weights()) out.weights = read_weights(0, size_, floatx);
  return out;
}

void Dataset::set_standardization(std::shared_ptr<const Standardization> standard) {
  standardization = std::move(standard);
  for (Split* split : {&train, &valid, &test}) split->set_standardization(standardization);
}

int64_t Dataset::outputs() const {
  const bool has_classes = targets() == Targets::kClasses || targets() == Targets::kLabelSequences;
  return has_classes ? classes() : element_count(train.step_target_shape());
}

// "examples of [28, 28]", "sequences of 7 to 25 steps of [7]".
static std::string examples_text(const Split& split) {
  if (!split.is_sequence()) return str("examples of ", shape_text(split.input_shape()));
  int64_t shortest = split.steps(), longest = split.size() == 0 ? split.steps() : 0;
  for (int64_t i = 0; i < split.size(); ++i) {
    shortest = std::min(shortest, split.length(i));
    longest = std::max(longest, split.length(i));
  }
  return str("sequences of ", shortest == longest ? "" : str(shortest, " to "), longest,
             longest == 1 ? " step of " : " steps of ", shape_text(split.step_shape()));
}

// ", categories: colour 3, city 12".
static std::string categories_of(const std::vector<std::string>& columns, const Categories& categories) {
  if (categories.empty()) return "";
  std::vector<std::string> out;
  for (size_t j = 0; j < columns.size(); ++j)
    if (const auto column = static_cast<int64_t>(j); categories.has(column))
      out.push_back(str(columns[j], ' ', categories.of(column).size()));
  return ", categories: " + list_text(out);
}

std::string Dataset::text() const {
  const char* by_step = train.has_step_targets() ? " by step" : "";
  std::string out = str("data set ", name, ": ", examples_text(train));
  if (targets() == Targets::kClasses) out += str(", ", classes(), " classes", by_step);
  if (targets() == Targets::kLabelSequences) out += str(", label sequences of ", classes(), " classes");
  if (targets() == Targets::kValues) out += str(", targets of ", shape_text(train.step_target_shape()), by_step);
  if (targets() == Targets::kLabels) out += str(", labels of ", shape_text(train.step_target_shape()), by_step);
  if (train.standardization() && train.standardization()->imputation.indicators() > 0)
    out += str(", indicators of missing values: ", train.standardization()->imputation.indicators());
  if (train.standardization()) out += categories_of(columns, train.standardization()->categories);
  if (streamed) out += ", streamed";
  if (shuffle_window > 0) out += str(", shuffled within ", shuffle_window, " examples");
  for (auto [label, split] : {std::pair("train", &train), {"valid", &valid}, {"test ", &test}}) {
    if (split->size() == 0) continue;
    out += str("\n  ", label, " ", split->size(), split->is_sequence() ? " sequences" : " examples", " from ",
               split->x_array().origin);
    if (targets() != Targets::kNone && split->y_array().origin != split->x_array().origin)
      out += str(" and ", split->y_array().origin);
  }
  return out;
}

}  // namespace thtrain
