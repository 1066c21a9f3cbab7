#include "datasets/cut.h"

#include <algorithm>
#include <cmath>

namespace thtrain {

namespace {

class Cutter {
 public:
  Cutter(const DatasetOptions& options, DType floatx, Dataset& out) : options_(options), floatx_(floatx), out_(out) {}

  /// The first `wanted` rows of a split (all if -1).
  Split first(const Split& split, int64_t wanted, const char* which, const ConfigPosition& where) const {
    if (wanted > split.size()) {
      throw UserError({.what = str("there are not enough ", which, " examples"),
                       .expected = str("at most ", split.size(), " from ", split.x_array().origin),
                       .got = str(wanted),
                       .config = position_of(options_, where)});
    }
    return wanted < 0 ? split : split.part(0, wanted);
  }

  /// How many rows of the training file, which has `rows`, go into each set.
  SplitSizes sizes_of(const Split& whole, int64_t valid, int64_t test) const {
    int64_t rows = whole.size(), train = std::max<int64_t>(options_.train, 1);
    auto fail = [&](std::string what, int64_t most, int64_t got, const ConfigPosition& where) {
      throw UserError({.what = std::move(what),
                       .expected = str("at most ", std::max<int64_t>(most, 0), " of the ", rows, " examples in ",
                                       whole.x_array().origin),
                       .got = std::to_string(got),
                       .config = position_of(options_, where),
                       .hint = "at least one example must be left to train on"});
    };
    if (rows == 0)
      throw UserError({.what = str(whole.x_array().origin, ": there are no examples to train on"),
                       .expected = "at least one",
                       .got = whole.x_array().raw.type_text(),
                       .config = whole.x_array().where});
    if (options_.train > rows) fail("there are not enough training examples", rows, train, options_.train_where);
    if (valid > rows - train)
      fail("so many validation examples are not there", rows - train, valid, options_.valid_where);
    if (test > rows - train - valid)
      fail("so many test examples are not there", rows - train - valid, test, options_.test_where);
    return {options_.train > 0 ? options_.train : rows - valid - test, valid, test};
  }

  /// The class of each row, for a stratified split.
  std::vector<int64_t> classes_of(const Split& whole) const {
    if (options_.targets != Targets::kClasses || whole.has_step_targets())
      throw UserError({.what = "data.split = \"stratified\" needs classes",
                       .expected = "data.split = \"last\" or \"shuffled\"",
                       .got = options_.targets == Targets::kLabelSequences ? "label sequences"
                              : options_.targets == Targets::kClasses
                                  ? "a class for each step of the sequences"
                                  : str("data.target = \"", name_of(options_.targets), '"'),
                       .config = position_of(options_, options_.split_where)});
    count_classes(whole);  // refuses labels that are none
    Tensor labels = whole.read_targets(0, whole.size(), floatx_);
    return {labels.data<int64_t>(), labels.data<int64_t>() + labels.size()};
  }

  /// The rows of `whole` in the order train, valid, test. Those of a packed file stay in its order within each.
  Split drawn(const Split& whole, const SplitSizes& sizes) const {
    std::vector<int64_t> classes;
    if (options_.split == SplitBy::kStratified) classes = classes_of(whole);
    std::vector<int64_t> rows = split_rows(options_.split, options_.split_seed, whole.size(), sizes, classes);
    const DataArray& x = whole.x_array();
    if (x.source && x.source->is_sequential()) {
      auto begin = rows.begin();
      for (int64_t length : {sizes.train, sizes.valid, sizes.test}) {
        std::sort(begin, begin + length);
        begin += length;
      }
    }
    return whole.part(std::move(rows));
  }

  /// Makes the three splits. What has no file of its own is cut from the training file `whole`; `valid_default` rows
  /// for validation.
  void cut(const Split& whole, const std::optional<Split>& valid, const std::optional<Split>& test,
           int64_t valid_default) {
    if (options_.folds > 0) return cut_fold(whole, test);
    auto part = [&](double fraction) { return std::llround(fraction * static_cast<double>(whole.size())); };
    int64_t valid_rows = valid                         ? 0
                         : options_.valid_fraction > 0 ? part(options_.valid_fraction)
                         : options_.valid < 0          ? valid_default
                                                       : options_.valid;
    int64_t test_rows = test                         ? 0
                        : options_.test_fraction > 0 ? part(options_.test_fraction)
                                                     : std::max<int64_t>(options_.test, 0);
    SplitSizes sizes = sizes_of(whole, valid_rows, test_rows);
    bool in_order = options_.split == SplitBy::kOrder;
    Split rows = in_order ? whole : drawn(whole, sizes);
    out_.cut_from_end = in_order && valid_rows > 0;
    int64_t rest = rows.size() - valid_rows - test_rows;
    out_.train = rows.part(0, sizes.train);
    out_.valid =
        valid ? first(*valid, options_.valid, "validation", options_.valid_where) : rows.part(rest, valid_rows);
    out_.test =
        test ? first(*test, options_.test, "test", options_.test_where) : rows.part(rest + valid_rows, test_rows);
    check_shapes(whole);
  }

  /// Of all rows but those of one part, which validate.
  void cut_fold(const Split& rows, const std::optional<Split>& test) {
    const Split whole = first(rows, options_.train, "training", options_.train_where);
    if (options_.folds > whole.size())
      throw UserError({.what = "there are more folds than examples",
                       .expected = str("at most ", whole.size(), ", the examples in ", whole.x_array().origin),
                       .got = std::to_string(options_.folds),
                       .config = position_of(options_, options_.folds_where)});
    Folds folds =
        options_.split == SplitBy::kStratified
            ? fold_rows(options_.folds, options_.split_seed, classes_of(whole))
            : fold_rows(options_.folds, options_.split == SplitBy::kOrder ? -1 : options_.split_seed, whole.size());
    std::vector<int64_t> rest;
    for (int64_t i = 0; i < options_.folds; ++i)
      if (i != options_.fold) rest.insert(rest.end(), folds[i].begin(), folds[i].end());
    if (const DataArray& x = whole.x_array(); x.source && x.source->is_sequential())
      std::sort(rest.begin(), rest.end());  // the others are
    out_.train = whole.part(std::move(rest));
    out_.valid = whole.part(folds[options_.fold]);
    out_.test = test ? first(*test, options_.test, "test", options_.test_where) : whole.part(0, 0);
    check_shapes(whole);
  }

  void check_shapes(const Split& whole) const {
    for (const Split* split : {&out_.valid, &out_.test}) {
      check_kinds(whole, *split);
      if (split->step_shape() == whole.step_shape() && split->step_target_shape() == whole.step_target_shape())
        continue;
      bool inputs = split->step_shape() != whole.step_shape();
      const DataArray &first = inputs ? whole.x_array() : whole.y_array(),
                      &other = inputs ? split->x_array() : split->y_array();
      auto one = [&](const Split& s) { return shape_text(inputs ? s.step_shape() : s.step_target_shape()); };
      const char* each = (inputs ? whole.is_sequence() : whole.has_step_targets()) ? "step" : "row";
      throw UserError({.what = str(other.origin, inputs ? ": the examples differ in shape from the training examples"
                                                        : ": the targets differ in shape from the training targets"),
                       .expected = str(one(whole), " for each ", each, ", as in ", first.origin),
                       .got = str(one(*split)),
                       .config = position_of(options_, other.where)});
    }
  }

  /// Sequences may differ in their steps, but not in what a target belongs to.
  void check_kinds(const Split& whole, const Split& split) const {
    if (split.size() == 0 || split.has_step_targets() == whole.has_step_targets()) return;
    auto text = [](const Split& s) {
      return str("one for each ", s.has_step_targets() ? "step" : "sequence", ": ", s.y_array().raw.type_text());
    };
    throw UserError({.what = str(split.y_array().origin, ": the targets are not of the kind of the training targets"),
                     .expected = str(text(whole), " in ", whole.y_array().origin),
                     .got = text(split),
                     .config = position_of(options_, split.y_array().where)});
  }

 private:
  const DatasetOptions& options_;
  DType floatx_;
  Dataset& out_;
};

}  // namespace

void cut_dataset(const DatasetOptions& options, DType floatx, const FileSplits& files, Dataset& out) {
  Cutter(options, floatx, out).cut(files.whole, files.valid, files.test, files.valid_default);
}

void cut_images(const DatasetOptions& options, Dataset& data) {
  const std::vector<int64_t>& shape = options.image_shape;
  for (Split* split : {&data.train, &data.valid, &data.test}) {
    if (!shape.empty()) split->set_image_shape({shape.at(0), shape.at(1), shape.at(2)}, options.image_shape_where);
    if (options.crop) split->set_crop(*options.crop);
  }
}

}  // namespace thtrain
