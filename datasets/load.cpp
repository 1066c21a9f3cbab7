#include "datasets/load.h"

#include <algorithm>
#include <optional>

#include "compiler/base/file.h"
#include "datasets/class_names.h"
#include "datasets/cut.h"
#include "datasets/memory.h"
#include "datasets/weight_sums.h"

namespace thtrain {

namespace {

std::string gib(uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

class Loader {
 public:
  Loader(const DatasetOptions& options, DType floatx)
      : options_(options), floatx_(floatx), memory_limit_(most_bytes_of(options)) {}

  Dataset load() {
    TH_CHECK(options_.read, "a data set without a reader");
    SourceData data = located(options_.where, [&] { return options_.read(options_, floatx_); });
    static_cast<TableColumns&>(out_) = data.table;
    out_.name = options_.name;
    out_.class_names = data.class_names;
    out_.streamed = data.streamed.value_or(stays(data.train) || (data.valid && stays(*data.valid)) ||
                                           (data.test && stays(*data.test)));
    known_classes_ = data.classes;
    whole_ = data.train;
    cut_dataset(options_, floatx_, {data.train, data.valid, data.test, data.valid_default}, out_);
    prepare_table();
    check();
    return std::move(out_);
  }

 private:
  static bool stays(const Split& split) { return split.size() > 0 && split.x_array().source != nullptr; }

  /// The number of classes, and every value that is in memory.
  void check() {
    if (out_.train.size() == 0) {
      throw UserError({.what = str("the data set \"", options_.name, "\" has no training examples"),
                       .expected = "at least one, besides those for validation and test",
                       .config = options_.where});
    }
    int64_t classes = options_.classes;
    name_classes();
    const bool has_classes = out_.targets() == Targets::kClasses || out_.targets() == Targets::kLabelSequences;
    if (has_classes && classes == 0) {
      // A class may be only in the rows that are kept for validation: it counts too.
      classes = known_classes_ ? known_classes_ : count_classes(whole_);
    }
    for (Split* split : {&out_.train, &out_.valid, &out_.test}) {
      split->set_classes(classes);
      check_weight_sums(*split, floatx_);
      if (!out_.streamed || split->bytes(floatx_) <= memory_limit_) check_all(*split, floatx_);
    }
    cut_images(options_, out_);  // behind the checks, which name columns of rows and see whole images
    standardize();
    out_.shuffle_window = window();
    out_.is_window_default = options_.shuffle_window == 0;
  }

  /// Of the training examples.
  int64_t window() const {
    const DataArray& x = out_.train.x_array();
    if (!out_.streamed || options_.shuffle_window > 0) return options_.shuffle_window;
    if (!x.source || !x.source->is_sequential()) return 0;
    const uint64_t most = options_.memory_limit ? std::min(kPackedWindow, memory_limit_ / 4) : kPackedWindow;
    return std::max<int64_t>(static_cast<int64_t>(most) / std::max<int64_t>(row_bytes(x), 1), 1);
  }

  void name_classes() {
    if (options_.class_names.empty()) return;
    const Targets targets = out_.targets();
    const auto count = static_cast<int64_t>(options_.class_names.size());
    int64_t known = targets == Targets::kLabels ? element_count(out_.train.step_target_shape()) : known_classes_;
    const bool is_counted = known == 0 && (targets == Targets::kClasses || targets == Targets::kLabelSequences);
    // There may be names of classes that have no examples.
    if (is_counted) known = std::max(count_classes(whole_), count);
    check_class_names(options_.class_names, position_of(options_, options_.class_names_where), targets, known,
                      is_counted ? whole_.y_array().origin : "");
    out_.class_names = options_.class_names;
    known_classes_ = count;
  }

  /// What the inputs are made of, where examples are columns of a table.
  void prepare_table() {
    if (out_.train.size() == 0) return;
    Standardization learned;
    if (options_.impute != Imputation::By::kNone)
      learned.imputation =
          learn_imputation(out_.train, options_.impute, floatx_, position_of(options_, options_.impute_where));
    if (out_.train.categories()) learned.categories = *out_.train.categories();
    if (learned.is_of_table()) out_.set_standardization(std::make_shared<const Standardization>(std::move(learned)));
  }

  void standardize() {
    if (options_.standardize_targets && out_.targets() != Targets::kValues)
      throw UserError({.what = "data.standardize_targets needs values to approximate",
                       .expected = "data.target = \"values\"",
                       .got = str("data.target = \"", name_of(out_.targets()), '"'),
                       .config = position_of(options_, options_.standardize_where)});
    if (options_.standardize == Standardization::By::kNone && !options_.standardize_targets) return;
    Standardization learned =
        learn_standardization(out_.train, options_.standardize, options_.standardize_targets, floatx_);
    if (out_.standardization) {
      learned.imputation = out_.standardization->imputation;
      learned.categories = out_.standardization->categories;
    }
    out_.set_standardization(std::make_shared<const Standardization>(std::move(learned)));
  }

  const DatasetOptions& options_;
  DType floatx_;
  uint64_t memory_limit_;
  int64_t known_classes_ = 0;
  Split whole_;  // the training file
  Dataset out_;
};

}  // namespace

const DataPath* file_of(const DatasetOptions& options, const std::string& part) {
  const auto found = options.files.find(part);
  return found == options.files.end() ? nullptr : &found->second;
}

const DataPath& required_file(const DatasetOptions& options, const std::string& part) {
  if (const DataPath* path = file_of(options, part)) return *path;
  throw UserError({.what = str("the data set \"", options.name, "\" needs the file ", part),
                   .expected = str(part, " = \"path\""),
                   .config = options.where});
}

std::vector<DataPath> files_of(const DatasetOptions& options, const std::string& set) {
  std::vector<DataPath> out;
  for (auto found = options.files.find(set + ".0"); found != options.files.end();
       found = options.files.find(str(set, '.', out.size())))
    out.push_back(found->second);
  return out;
}

uint64_t most_bytes_of(const DatasetOptions& options) {
  return options.memory_limit ? options.memory_limit : usable_memory() / 2;
}

void require_fits(const DatasetOptions& options, const std::string& path, int64_t numbers, DType from, DType floatx) {
  uint64_t most = most_bytes_of(options);
  uint64_t needed = static_cast<uint64_t>(numbers) * (size_of(from) + size_of(floatx));
  if (needed <= most) return;
  throw file_error(path, "the data does not fit in memory",
                   str("at most ", gib(most), options.memory_limit ? "" : ", half of the memory that there is"),
                   str(gib(needed), " as ", name_of(floatx)), "examples in files are read while training");
}

Dataset load_dataset(const DatasetOptions& options, DType floatx) {
  return Loader(options, floatx).load();
}

}  // namespace thtrain
