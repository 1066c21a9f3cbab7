#include "datasets/dataset.h"

#include <algorithm>
#include <cmath>

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
  }
  return "";
}

namespace {

/// An element as it stands in the file: 1e39, not what is infinite in float32.
double element(const DataArray& array, int64_t row, int64_t position) {
  Shape shape = array.raw.shape();
  shape[0] = 1;
  Tensor one = Tensor::empty(DType::kFloat64, shape);
  convert_rows(
      array, 1, [row](int64_t) { return row; }, one);
  return one.as_double(position);
}

void check_finite(const DataArray& array, const Tensor& batch, const RowOf& row_of) {
  visit(batch.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* elements = batch.data<T>();
      if (has_only_finite(batch)) return;
      int64_t bad = 0;
      while (std::isfinite(elements[bad])) ++bad;
      Shape shape(batch.shape().begin() + 1, batch.shape().end());
      int64_t row = bad / element_count(shape);
      const double raw = element(array, row_of(row), bad % element_count(shape));
      throw UserError(
          {.what = str(element_place(array, shape, row_of(row), bad % element_count(shape)), ": not a finite number"),
           .expected = str("numbers that are finite in ", name_of(batch.dtype())),
           .got = std::isfinite(static_cast<T>(raw)) ? str(static_cast<T>(raw), ", multiplied by data.scale")
                                                     : number_text(raw),
           .config = array.where,
           .hint = counting_hint(array)});
    }
  });
}

}  // namespace

Split::Split(DataArray x, DataArray y, Targets targets, double scale)
    : x_(std::move(x)), y_(std::move(y)), targets_(targets), scale_(scale) {
  check_array(x_);
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
  if (targets == Targets::kNone) {
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
  if (targets != Targets::kClasses) {
    check_target_shape();
    return;
  }
  if (target_shape_ == Shape{1}) {
    y_.raw = y_.raw.view({size_}, {y_.raw.strides()[0]}, 0);
    target_shape_.clear();
  }
  if (!target_shape_.empty()) {
    throw UserError({.what = str(y_.origin, ": the labels are not one number for each example"),
                     .expected = str("an array ", shape_text(Shape{size_})),
                     .got = y_.raw.type_text(),
                     .config = y_.where,
                     .hint = "rows of zeros with a one at the class become class numbers by labels.argmax(axis=1); "
                             "several labels of an example are data.target = \"labels\", values to approximate are "
                             "data.target = \"values\""});
  }
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
  return targets == Targets::kClasses ? DType::kInt64 : targets == Targets::kLabels ? DType::kUInt8 : floatx;
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

Tensor rows_of(DType dtype, int64_t count, const Shape& one) {
  Shape shape{count};
  shape.insert(shape.end(), one.begin(), one.end());
  return Tensor::empty(dtype, shape);
}

}  // namespace

Tensor Split::make_targets(int64_t count, DType floatx) const {
  if (targets_ == Targets::kNone) return Tensor::empty(DType::kInt64, {0});
  return rows_of(dtype_of(targets_, floatx), count, target_shape_);
}

std::vector<std::shared_ptr<HeldRows>> Split::hold_rows() {
  std::vector<std::shared_ptr<HeldRows>> out;
  auto through = [&](DataArray& array) {
    if (!array.source) return;
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
  return out;
}

void Split::fill(const Batch& into, const RowOf& row_of) const {
  TH_CHECK(into.x.is_contiguous() && into.x.rank() > 0 && into.x.size() == into.x.dim(0) * element_count(input_shape_),
           into.x.type_text(), " for examples of ", shape_text(input_shape_));
  convert_rows(x_, scale_, row_of, into.x);
  if (standardization_) standardization_->inputs.apply(into.x);
  if (has_weights()) {
    TH_CHECK(into.weights.shape() == Shape{into.x.dim(0)}, into.weights.type_text(), " for weights");
    convert_rows(*weights_, 1, row_of, into.weights);
  }
  if (targets_ == Targets::kNone) return;
  TH_CHECK(into.y.rank() > 0 && into.y.dim(0) == into.x.dim(0), into.y.type_text(), " beside ", into.x.type_text());
  fill_targets(into.y, row_of);
}

void Split::fill_targets(const Tensor& into, const RowOf& row_of) const {
  if (targets_ == Targets::kNone) return;
  TH_CHECK(into.is_contiguous() && into.size() == into.dim(0) * element_count(target_shape_), into.type_text(),
           " for targets of ", shape_text(target_shape_));
  if (targets_ == Targets::kClasses)
    convert_labels(y_, row_of, into);
  else if (targets_ == Targets::kLabels)
    convert_bits(y_, row_of, into);
  else {
    convert_rows(y_, 1, row_of, into);
    if (standardization_) standardization_->targets.apply(into);
  }
}

void Split::read_into(const Batch& into, int64_t begin) const {
  TH_CHECK(begin >= 0 && begin + into.x.dim(0) <= size_, "examples ", begin, " + ", into.x.dim(0), " of ", size_);
  fill(into, [&](int64_t i) { return file_row(begin + i); });
}

void Split::read_into(const Batch& into, std::span<const int64_t> examples) const {
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
  bool as_it_stands = !rows_ && !x_.source && !(standardization_ && !standardization_->inputs.empty()) && scale_ == 1 &&
                      !x_.swapped && x_.raw.dtype() == floatx && x_.raw.is_contiguous();
  if (!as_it_stands) return read(0, size_, floatx);
  Batch out{x_.raw.rows(first_, size_), read_targets(0, size_, floatx)};
  if (has_weights()) out.weights = read_weights(0, size_, floatx);
  return out;
}

namespace {

void check_weights(const Split& split, const Tensor& weights, const RowOf& row_of) {
  check_finite(split.weights_array(), weights, row_of);
  for (int64_t i = 0; i < weights.size(); ++i)
    if (weights.as_double(i) < 0)
      throw UserError({.what = str(row_place(split.weights_array(), row_of(i)), ": the weight is negative"),
                       .expected = "0 or more",
                       .got = number_text(weights.as_double(i)),
                       .config = split.weights_array().where,
                       .hint = counting_hint(split.weights_array())});
}

void check(const Split& split, const Batch& batch, const RowOf& row_of) {
  if (is_float(split.x_array().raw.dtype())) check_finite(split.x_array(), batch.x, row_of);
  if (split.targets() == Targets::kValues) check_finite(split.y_array(), batch.y, row_of);
  if (batch.weights.rank() > 0) check_weights(split, batch.weights, row_of);
  if (split.targets() != Targets::kClasses) return;
  const auto* labels = batch.y.data<int64_t>();
  for (int64_t i = 0; i < batch.y.size(); ++i) {
    if (labels[i] >= 0 && (split.classes() == 0 || labels[i] < split.classes())) continue;
    const std::string counting = counting_hint(split.y_array());
    const char* classes = "classes are numbered 0, 1, 2, ...";
    throw UserError({.what = str(row_place(split.y_array(), row_of(i)), ": the label is out of range"),
                     .expected = split.classes() == 0
                                     ? "0 or more"
                                     : str("0 to ", split.classes() - 1, ", the classes of the training examples"),
                     .got = str(labels[i]),
                     .config = split.y_array().where,
                     .hint = labels[i] >= 0 ? counting : str(counting, counting.empty() ? "" : "; ", classes)});
  }
}

/// Is the label in the first line of a table without a header the only one that is no class?
bool only_first_line_is_none(const Split& split, int64_t row) {
  const DataArray& y = split.y_array();
  if (row != 0 || !y.text || y.text->named || split.size() < 2) return false;
  int64_t most = split.size() - 1;  // examples without that line
  Tensor labels = split.read_targets(0, split.size(), DType::kFloat32);
  return std::count_if(labels.data<int64_t>(), labels.data<int64_t>() + labels.size(),
                       [&](int64_t label) { return label < 0 || label >= most; }) == 1;
}

UserError too_many_classes(const Split& split, int64_t row, int64_t label) {
  const DataArray& y = split.y_array();
  std::string counting = counting_hint(y);
  if (only_first_line_is_none(split, row))
    return UserError(
        {.what = str(row_place(y, row), ": the label is too large, and all others are classes"),
         .expected = str("classes numbered from 0 on, and no more of them than examples (", split.size(), ')'),
         .got = str(label),
         .config = y.where,
         .hint = "does the first line name the columns? data.header = true takes it as their names"});
  if (y.text)
    return UserError(
        {.what = str(row_place(y, row), ": the label is too large"),
         .expected = str("classes numbered from 0 on, and no more of them than examples (", split.size(), ')'),
         .got = str(label),
         .config = y.where,
         .hint = "is it a value, not a class? data.label_column names another column; "
                 "data.target = \"values\" takes numbers to approximate"});
  return UserError(
      {.what = str(row_place(y, row), ": the label is too large"),
       .expected = str("classes numbered from 0 on, and no more of them than examples (", split.size(), ')'),
       .got = str(label),
       .config = y.where,
       .hint = str(counting, counting.empty() ? "" : ";\n",
                   "numpy.unique(labels, return_inverse=True)[1] numbers classes from 0 on")});
}

}  // namespace

void check_batch(const Split& split, const Batch& batch, int64_t first) {
  check(split, batch, [&](int64_t i) { return split.file_row(first + i); });
}

void check_batch(const Split& split, const Batch& batch, std::span<const int64_t> examples) {
  check(split, batch, [&](int64_t i) { return split.file_row(examples[static_cast<size_t>(i)]); });
}

void check_all(const Split& split, DType floatx) {
  // Integers are always finite: only their targets are read.
  bool inputs = is_float(split.x_array().raw.dtype());
  if (!inputs && split.targets() == Targets::kNone && !split.has_weights()) return;
  constexpr int64_t kElements = int64_t{1} << 20;
  int64_t rows = std::max<int64_t>(1, kElements / std::max<int64_t>(1, element_count(split.input_shape())));
  for (int64_t first = 0; first < split.size(); first += rows) {
    int64_t count = std::min(rows, split.size() - first);
    if (inputs) {
      check_batch(split, split.read(first, count, floatx), first);
      continue;
    }
    Batch batch{Tensor(), split.read_targets(first, count, floatx)};
    if (split.has_weights()) batch.weights = split.read_weights(first, count, floatx);
    check_batch(split, batch, first);
  }
}

int64_t count_classes(const Split& split) {
  TH_CHECK(split.targets() == Targets::kClasses, "classes of targets that are none");
  Split unbounded = split;
  unbounded.set_classes(0);
  int64_t classes = 0;
  constexpr int64_t kRows = int64_t{1} << 16;
  for (int64_t first = 0; first < split.size(); first += kRows) {
    Batch batch{Tensor(), split.read_targets(first, std::min(kRows, split.size() - first), DType::kFloat32)};
    check_batch(unbounded, batch, first);
    const auto* labels = batch.y.data<int64_t>();
    for (int64_t i = 0; i < batch.y.size(); ++i) {
      if (labels[i] >= split.size()) throw too_many_classes(split, split.file_row(first + i), labels[i]);
      classes = std::max(classes, labels[i] + 1);
    }
  }
  return classes;
}

void Dataset::set_standardization(std::shared_ptr<const Standardization> standard) {
  standardization = std::move(standard);
  for (Split* split : {&train, &valid, &test}) split->set_standardization(standardization);
}

int64_t Dataset::outputs() const {
  return targets() == Targets::kClasses ? classes() : element_count(train.target_shape());
}

std::string Dataset::text() const {
  std::string out = str("data set ", name, ": examples of ", shape_text(input_shape()));
  if (targets() == Targets::kClasses) out += str(", ", classes(), " classes");
  if (targets() == Targets::kValues) out += str(", targets of ", shape_text(train.target_shape()));
  if (targets() == Targets::kLabels) out += str(", labels of ", shape_text(train.target_shape()));
  if (streamed) out += ", streamed";
  if (shuffle_window > 0) out += str(", shuffled within ", shuffle_window, " examples");
  for (auto [label, split] : {std::pair("train", &train), {"valid", &valid}, {"test ", &test}}) {
    if (split->size() == 0) continue;
    out += str("\n  ", label, " ", split->size(), " examples from ", split->x_array().origin);
    if (targets() != Targets::kNone && split->y_array().origin != split->x_array().origin)
      out += str(" and ", split->y_array().origin);
  }
  return out;
}

}  // namespace thtrain
