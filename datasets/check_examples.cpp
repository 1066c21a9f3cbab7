// What is refused in examples: numbers that are not finite, weights below 0, classes out of range.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "datasets/dataset.h"
#include "datasets/elements.h"

namespace thtrain {

namespace {

/// An element as it is in the file: 1e39, not what is infinite in float32.
double element(const DataArray& array, int64_t row, int64_t position) {
  Shape shape = array.raw.shape();
  shape[0] = 1;
  Tensor one = Tensor::empty(DType::kFloat64, shape);
  convert_rows(
      array, 1, [row](int64_t) { return row; }, one);
  return one.as_double(position);
}

void check_finite(const DataArray& array, const Tensor& batch, const RowOf& row_of, std::string_view hint = {},
                  const Split* table = nullptr) {
  visit(batch.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* elements = batch.data<T>();
      if (has_only_finite(batch)) return;
      int64_t bad = 0;
      while (std::isfinite(elements[bad])) ++bad;
      Shape shape(batch.shape().begin() + 1, batch.shape().end());
      const int64_t row = bad / element_count(shape), input = bad % element_count(shape),
                    position = table ? table->column_of(input) : input;
      if (table) shape = {array.raw.dim(1)};
      const double raw = element(array, row_of(row), position);
      throw UserError({.what = str(element_location(array, shape, row_of(row), position), ": not a finite number"),
                       .expected = str("numbers that are finite in ", name_of(batch.dtype())),
                       .got = std::isfinite(static_cast<T>(raw))
                                  ? str(static_cast<T>(raw), ", multiplied by data.scale")
                                  : number_text(raw),
                       .config = array.where,
                       .hint = str(counting_hint(array), hint.empty() ? "" : ";\n", hint)});
    }
  });
}

// Sequences that may be padded, in files that an experiment names.
std::string_view lengths_hint(const Split& split) {
  if (!split.is_sequence() || split.has_lengths() || !split.x_array().where) return "";
  return "a file of lengths, such as data.train_lengths, says where each sequence ends; what follows it may be "
         "anything";
}

void check_weights(const Split& split, const Tensor& weights, const RowOf& row_of) {
  check_finite(split.weights_array(), weights, row_of);
  for (int64_t i = 0; i < weights.size(); ++i)
    if (weights.as_double(i) < 0)
      throw UserError({.what = str(row_location(split.weights_array(), row_of(i)), ": the weight is negative"),
                       .expected = "0 or more",
                       .got = number_text(weights.as_double(i)),
                       .config = split.weights_array().where,
                       .hint = counting_hint(split.weights_array())});
}

// Numbers of classes in a row of y.
int64_t labels_of_row(const Split& split) {
  return std::max<int64_t>(element_count(split.target_shape()), 1);
}

std::string label_location(const Split& split, int64_t row, int64_t step) {
  const std::string location = row_location(split.y_array(), row);
  if (split.targets() == Targets::kLabelSequences) return str(location, ", label ", step);
  return split.has_step_targets() ? str(location, ", step ", step) : location;
}

// "x.npy: row 3, step 2".
std::string symbol_location(const Split& split, int64_t row, int64_t position) {
  const DataArray& x = split.x_array();
  if (split.table_inputs()) return element_location(x, {x.raw.dim(1)}, row, split.column_of(position));
  if (!split.is_sequence()) return element_location(x, split.input_shape(), row, position);
  const int64_t of_step = element_count(split.step_shape());
  const std::string step = str(row_location(x, row), ", step ", position / of_step);
  return of_step == 1 ? step : str(step, ", number ", position % of_step);
}

void check_symbols(const Split& split, const Tensor& x, const RowOf& row_of) {
  const Demands& demands = *split.demands();
  const int64_t of_row = element_count(split.input_shape());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T* symbols = x.data<T>();
      for (int64_t i = 0; i < x.size(); ++i) {
        const bool is_integer = std::trunc(symbols[i]) == symbols[i];
        if (is_integer && symbols[i] >= 0 && symbols[i] < static_cast<T>(demands.symbols)) continue;
        const std::string location = symbol_location(split, row_of(i / of_row), i % of_row),
                          got = number_text(symbols[i]);
        throw UserError({.what = is_integer ? str(location, ": symbol ", got, ", and layer ", demands.layer, " has ",
                                                  demands.symbols, demands.symbols == 1 ? " symbol" : " symbols")
                                            : str(location, ": not a symbol, which layer ", demands.layer, " takes"),
                         .expected = str("integers from 0 to ", demands.symbols - 1),
                         .got = got,
                         .config = demands.where,
                         .hint = demands.hint});
      }
    }
  });
}

// Labels that a path over the steps spells: none follows the end, and there are steps for all.
void check_spelled(const Split& split, const Tensor& y, const RowOf& row_of) {
  const int64_t blank = *split.demands()->blank, width = labels_of_row(split);
  for (int64_t i = 0; i < y.size() / width; ++i) {
    const int64_t* labels = y.data<int64_t>() + i * width;
    const auto* end = std::find_if(labels, labels + width, [&](int64_t label) { return label < 0 || label == blank; });
    const auto* behind = std::find_if(end, labels + width, [&](int64_t label) { return label >= 0 && label != blank; });
    const int64_t row = row_of(i), count = end - labels, length = split.length_of_row(row);
    if (behind != labels + width)
      throw UserError(
          {.what = str(label_location(split, row, behind - labels), ": a label behind the end of the labels"),
           .expected = str("-1, or the blank, ", blank, ", behind the first of them"),
           .got = str(*behind),
           .config = split.y_array().where,
           .hint = counting_hint(split.y_array())});
    int64_t repeats = 0;
    for (int64_t k = 1; k < count; ++k) repeats += labels[k] == labels[k - 1];
    if (count + repeats <= length) continue;
    throw UserError(
        {.what = str(row_location(split.y_array(), row), ": the sequence has fewer steps than its labels need"),
         .expected = str("at least ", count + repeats, " steps: ", count, count == 1 ? " label" : " labels",
                         repeats == 0 ? "" : str(", and one between each of ", repeats, " equal neighbours")),
         .got = str(length, length == 1 ? " step" : " steps"),
         .config = split.y_array().where,
         .hint = counting_hint(split.y_array())});
  }
}

// What x and y are where the model demands something of them.
void check_demanded(const Split& split, const Batch& batch, const RowOf& row_of) {
  if (!split.demands()) return;
  if (split.demands()->symbols > 0 && batch.x.rank() > 0) check_symbols(split, batch.x, row_of);
  if (split.demands()->blank && split.targets() == Targets::kLabelSequences) check_spelled(split, batch.y, row_of);
}

void check_labels(const Split& split, const Tensor& y, const RowOf& row_of) {
  const auto* labels = y.data<int64_t>();
  const int64_t of_row = labels_of_row(split), least = split.targets() == Targets::kLabelSequences ? -1 : 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    if (labels[i] >= least && (split.classes() == 0 || labels[i] < split.classes())) continue;
    const std::string counting = counting_hint(split.y_array());
    const char* classes = least == 0 ? "classes are numbered 0, 1, 2, ..."
                                     : "classes are numbered 0, 1, 2, ..., and -1 follows the last label";
    throw UserError({.what = str(label_location(split, row_of(i / of_row), i % of_row), ": the label is out of range"),
                     .expected = split.classes() == 0 ? str(least, " or more")
                                                      : str(least, " to ", split.classes() - 1,
                                                            ", the classes of the training examples"),
                     .got = str(labels[i]),
                     .config = split.y_array().where,
                     .hint = labels[i] >= 0 ? counting : str(counting, counting.empty() ? "" : "; ", classes)});
  }
}

// Numbers that are kept of sparse examples.
void check_sparse(const Split& split, const Batch::Sparse& batch, const RowOf& row_of) {
  if (has_only_finite(batch.values)) return;
  int64_t bad = 0, row = 0;
  while (std::isfinite(batch.values.as_double(bad))) ++bad;
  while (batch.indptr.as_int(row + 1) <= bad) ++row;
  const int64_t column = batch.columns.as_int(batch.places.as_int(bad));
  const DataArray& array = split.x_array();
  throw UserError(
      {.what = str(element_location(array, split.input_shape(), row_of(row), column), ": not a finite number"),
       .expected = str("numbers that are finite in ", name_of(batch.values.dtype())),
       .got = number_text(element(array, row_of(row), column)),
       .config = array.where,
       .hint = counting_hint(array)});
}

void check(const Split& split, const Batch& batch, const RowOf& row_of) {
  if (batch.sparse.indptr.rank() > 0)
    check_sparse(split, batch.sparse, row_of);
  else if (is_float(split.x_array().raw.dtype()))
    check_finite(split.x_array(), batch.x, row_of, lengths_hint(split), split.table_inputs() ? &split : nullptr);
  if (split.targets() == Targets::kValues) check_finite(split.y_array(), batch.y, row_of, lengths_hint(split));
  if (batch.weights.rank() > 0) check_weights(split, batch.weights, row_of);
  if (split.targets() == Targets::kClasses || split.targets() == Targets::kLabelSequences)
    check_labels(split, batch.y, row_of);
  check_demanded(split, batch, row_of);
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

// What the largest label may count: more classes are never learned.
int64_t most_classes(const Split& split) {
  return split.targets() == Targets::kLabelSequences ? split.size() * labels_of_row(split) : split.target_count();
}

UserError too_many_classes(const Split& split, int64_t row, int64_t step, int64_t label) {
  const DataArray& y = split.y_array();
  std::string counting = counting_hint(y);
  if (only_first_line_is_none(split, row))
    return UserError(
        {.what = str(row_location(y, row), ": the label is too large, and all others are classes"),
         .expected = str("classes numbered from 0 on, and no more of them than examples (", split.size(), ')'),
         .got = str(label),
         .config = y.where,
         .hint = "does the first line name the columns? data.header = true takes it as their names"});
  if (y.text)
    return UserError(
        {.what = str(row_location(y, row), ": the label is too large"),
         .expected = str("classes numbered from 0 on, and no more of them than examples (", split.size(), ')'),
         .got = str(label),
         .config = y.where,
         .hint = "is it a value, not a class? data.label_column names another column; "
                 "data.target = \"values\" takes numbers to approximate"});
  return UserError({.what = str(label_location(split, row, step), ": the label is too large"),
                    .expected = str("classes numbered from 0 on, and no more of them than ",
                                    split.targets() == Targets::kLabelSequences ? "labels ("
                                    : split.has_step_targets()                  ? "steps ("
                                                                                : "examples (",
                                    most_classes(split), ')'),
                    .got = str(label),
                    .config = y.where,
                    .hint = str(counting, counting.empty() ? "" : ";\n",
                                "numpy.unique(labels, return_inverse=True)[1] numbers classes from 0 on")});
}

// What is not finite in the middle of an image is told by its location in the file.
bool is_bad_within(const Split& split, const Batch& batch) {
  return split.is_cropped() && batch.x.rank() > 0 && !has_only_finite(batch.x);
}

}  // namespace

void check_batch(const Split& split, const Batch& batch, int64_t first) {
  if (is_bad_within(split, batch)) {
    const Split whole = split.whole_images();
    check_batch(whole, whole.read(first, batch.x.dim(0), batch.x.dtype()), first);
  }
  check(split, batch, [&](int64_t i) { return split.file_row(first + i); });
}

void check_batch(const Split& split, const Batch& batch, std::span<const int64_t> examples) {
  if (is_bad_within(split, batch)) {
    const Split whole = split.whole_images();
    check_batch(whole, whole.read(examples, batch.x.dtype()), examples);
  }
  check(split, batch, [&](int64_t i) { return split.file_row(examples[static_cast<size_t>(i)]); });
}

static int64_t rows_at_once(const Split& split) {
  constexpr int64_t kElements = int64_t{1} << 20;
  return std::max<int64_t>(1, kElements / std::max<int64_t>(1, element_count(split.input_shape())));
}

static void check_all_sparse(const Split& split, DType floatx) {
  constexpr int64_t kRows = 1024;
  for (int64_t first = 0; first < split.size(); first += kRows) {
    std::vector<int64_t> examples(static_cast<size_t>(std::min(kRows, split.size() - first)));
    std::iota(examples.begin(), examples.end(), first);
    check_batch(split, split.read_sparse(examples, floatx), examples);
  }
}

void check_all(const Split& split, DType floatx) {
  // Integers are always finite: only their targets are read.
  if (!is_float(split.x_array().raw.dtype())) return check_targets(split, floatx);
  if (split.is_sparse()) return check_all_sparse(split, floatx);
  for (int64_t first = 0, rows = rows_at_once(split); first < split.size(); first += rows)
    check_batch(split, split.read(first, std::min(rows, split.size() - first), floatx), first);
}

void check_targets(const Split& split, DType floatx) {
  if (split.targets() == Targets::kNone && !split.has_weights()) return;
  for (int64_t first = 0, rows = rows_at_once(split); first < split.size(); first += rows) {
    const int64_t count = std::min(rows, split.size() - first);
    Batch batch{Tensor(), split.read_targets(first, count, floatx)};
    if (split.has_weights()) batch.weights = split.read_weights(first, count, floatx);
    check_batch(split, batch, first);
  }
}

void check_demands(const Split& split, DType floatx) {
  if (!split.demands()) return;
  const bool inputs = split.demands()->symbols > 0;
  if (!inputs && !split.demands()->blank) return;
  for (int64_t first = 0, rows = rows_at_once(split); first < split.size(); first += rows) {
    const int64_t count = std::min(rows, split.size() - first);
    const Batch batch =
        inputs ? split.read(first, count, floatx) : Batch{Tensor(), split.read_targets(first, count, floatx)};
    check_demanded(split, batch, [&](int64_t i) { return split.file_row(first + i); });
  }
}

int64_t count_classes(const Split& split) {
  TH_CHECK(split.targets() == Targets::kClasses || split.targets() == Targets::kLabelSequences,
           "classes of targets that are none");
  Split unbounded = split;
  unbounded.set_classes(0);
  int64_t classes = 0;
  const int64_t of_row = labels_of_row(split), most = most_classes(split);
  const int64_t kRows = std::max<int64_t>((int64_t{1} << 16) / of_row, 1);
  for (int64_t first = 0; first < split.size(); first += kRows) {
    Batch batch{Tensor(), split.read_targets(first, std::min(kRows, split.size() - first), DType::kFloat32)};
    check_batch(unbounded, batch, first);
    const auto* labels = batch.y.data<int64_t>();
    for (int64_t i = 0; i < batch.y.size(); ++i) {
      if (labels[i] >= most) throw too_many_classes(split, split.file_row(first + i / of_row), i % of_row, labels[i]);
      classes = std::max(classes, labels[i] + 1);
    }
  }
  return classes;
}

}  // namespace thtrain
