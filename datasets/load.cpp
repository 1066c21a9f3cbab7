#include "datasets/load.h"

#include <algorithm>
#include <optional>

#include "compiler/base/escape.h"
#include "datasets/array_file.h"
#include "datasets/class_names.h"
#include "datasets/csv.h"
#include "datasets/cut.h"
#include "datasets/digits_generator.h"
#include "datasets/file.h"
#include "datasets/idx.h"
#include "datasets/locate.h"
#include "datasets/memory.h"
#include "datasets/npz.h"
#include "datasets/weight_sums.h"

namespace thtrain {

namespace {

constexpr double kPixelScale = 1.0 / 256;

/// Of the mirror that PyTorch's torchvision takes first.
constexpr const char* kMnistUrl = "https://ossci-datasets.s3.amazonaws.com/mnist";
/// A file of fewer bytes is read at once; the rows of a larger one are converted a piece at a time.
constexpr uint64_t kReadByPiecesFrom = uint64_t{64} << 20;

/// Runs `action`; an error that has no place in the configuration gets `where`.
template <class Action>
auto located(const ConfigPosition& where, Action action) {
  try {
    return action();
  } catch (const UserError& error) {
    throw placed(error, where);
  }
}

std::string gib(uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

constexpr const char* kOtherColumns = "the columns are not those of the training file";

/// A table without a header, or beside a training file without one, has its columns in the order of the training file.
void check_columns(const std::string& path, const Dataset& training, const CsvTable& table) {
  if (!training.columns_named || !table.named || table.columns == training.columns) return;
  auto [first, other] = std::mismatch(training.columns.begin(), training.columns.end(), table.columns.begin());
  auto text = [](auto name, auto begin) { return str("column ", name - begin + 1, " named \"", excerpt(*name), '"'); };
  throw file_error(path, kOtherColumns, text(first, training.columns.begin()), text(other, table.columns.begin()));
}

/// Before its cells are read: where columns are missing, the last one is not the label's.
void check_column_count(const std::string& path, const CsvOptions& options, size_t expected) {
  size_t count = read_csv_columns(path, options).names.size();
  if (count == expected) return;
  throw file_error(path, kOtherColumns,
                   str(expected, expected == 1 ? " column" : " columns", ", the label's among them"),
                   str(count, count == 1 ? " column" : " columns"));
}

std::shared_ptr<const TextRows> text_rows(const CsvTable& table, const std::vector<std::string>& columns) {
  return std::make_shared<const TextRows>(TextRows{table.lines, columns, table.named, table.label});
}

/// The arrays of a split in their files.
struct SplitFiles {
  ArrayFile x;
  std::optional<ArrayFile> y, weights = {}, lengths = {};
};

class Loader {
 public:
  Loader(const DatasetOptions& options, DType floatx)
      : options_(options), floatx_(floatx), memory_limit_(most_bytes_of(options)) {}

  Dataset load() {
    out_.name = options_.name;
    if (options_.read)
      own_reader();
    else if (options_.name == "digits")
      digits();
    else if (options_.name == "mnist")
      mnist();
    else if (options_.name == "npz")
      npz();
    else if (options_.name == "csv")
      csv();
    else if (options_.name == "npy" || options_.name == "idx")
      files();
    else {
      throw UserError({.what = str("unknown data set \"", options_.name, "\""),
                       .expected = "digits, mnist, npy, npz, idx or csv",
                       .config = options_.where});
    }
    check();
    return std::move(out_);
  }

 private:
  double scale_or(double otherwise) const { return options_.scale != 0 ? options_.scale : otherwise; }

  const DataPath* file(const std::string& key) const {
    auto found = options_.files.find(key);
    return found == options_.files.end() ? nullptr : &found->second;
  }
  const DataPath& required(const std::string& key) const {
    if (const DataPath* path = file(key)) return *path;
    throw UserError({.what = str("the data set \"", options_.name, "\" needs the file ", key),
                     .expected = str(key, " = \"path\""),
                     .config = options_.where});
  }
  std::string found(const DataPath& path, bool or_gzipped = false) const {
    return find_data_file(path.path, options_.config_folder, or_gzipped, path.where);
  }

  void own_reader() {
    SourceData data = located(options_.where, [&] { return options_.read(options_, floatx_); });
    out_.class_names = data.class_names;
    known_classes_ = data.classes;
    note_streams({&data.train, data.valid ? &*data.valid : nullptr, data.test ? &*data.test : nullptr});
    cut(data.train, data.valid, data.test, 0);
  }

  /// What stays in its file makes a stream of the data.
  void note_streams(std::initializer_list<const Split*> splits) {
    for (const Split* split : splits)
      out_.streamed = out_.streamed || (split && split->size() > 0 && split->x_array().source != nullptr);
  }

  void digits() {
    int64_t train = options_.train < 0 ? 10000 : options_.train, valid = options_.valid < 0 ? 2000 : options_.valid,
            test = options_.test < 0 ? 2000 : options_.test;
    check_digits_fit(train, valid, test);
    auto part = [&](int64_t n, uint64_t number) {
      Digits digits = generate_digits(n, static_cast<uint64_t>(options_.seed), number);
      std::string origin = str("the generator of digits, seed ", options_.seed);
      return Split({.raw = digits.images, .origin = origin, .where = options_.where},
                   {.raw = digits.labels, .origin = origin, .where = options_.where}, options_.targets,
                   scale_or(kPixelScale));
    };
    out_.train = part(train, 0);
    out_.valid = part(valid, 1);
    out_.test = part(test, 2);
    known_classes_ = 10;
  }

  /// The largest of the three numbers is blamed.
  void check_digits_fit(int64_t train, int64_t valid, int64_t test) const {
    double pixels = 28 * 28, one = pixels + pixels * static_cast<double>(size_of(floatx_)) + 1 + sizeof(int64_t);
    double needed = one * (static_cast<double>(train) + static_cast<double>(valid) + static_cast<double>(test));
    auto most = static_cast<double>(usable_memory());
    if (needed <= most) return;
    int64_t largest = std::max({train, valid, test});
    throw UserError({.what = "so many digits do not fit in memory",
                     .expected = str("at most ", bytes_text(most), ", the memory that there is: about ",
                                     static_cast<int64_t>(most / one), " digits"),
                     .got = str(bytes_text(needed), " for ", largest,
                                largest == train   ? " training"
                                : largest == valid ? " validation"
                                                   : " test",
                                " digits and the others"),
                     .config = place_of(largest == train   ? options_.train_where
                                        : largest == valid ? options_.valid_where
                                                           : options_.test_where)});
  }
  const ConfigPosition& place_of(const ConfigPosition& where) const { return where ? where : options_.where; }

  void mnist() {
    const DataPath* folder = file("folder");
    const ConfigPosition& where = folder ? folder->where : options_.where;
    std::vector<std::string> paths = find_data_set(
        "mnist",
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
        kMnistUrl, options_.config_folder, folder ? folder->path : "", where);
    auto split = [&](const std::string& x, const std::string& y) {
      return located(where, [&] {
        return Split({.raw = read_idx(x), .origin = x, .where = where},
                     {.raw = read_idx(y), .origin = y, .where = where}, options_.targets, scale_or(kPixelScale));
      });
    };
    known_classes_ = 10;
    // The tutorials validate on the last 10,000 digits of the training file.
    cut(split(paths[0], paths[1]), std::nullopt, split(paths[2], paths[3]), 10000);
  }

  void files() {
    auto open = [&](const DataPath& path) {
      bool idx = options_.name == "idx";
      ArrayPath parts(path.path);
      std::string place = found({parts.file, path.where}, idx);
      if (!parts.name.empty()) place += str('[', parts.name, ']');
      return ArrayFile(place, idx ? ArrayFile::Format::kIdx : ArrayFile::Format::kNpy, path.where);
    };
    auto split = [&](const std::string& key) -> std::optional<SplitFiles> {
      const DataPath* x = key == "train" ? &required("train_x") : file(key + "_x");
      const DataPath* y = file(key + "_y");
      const DataPath *weights = file(key + "_w"), *lengths = file(key + "_l");
      if (!x && (y || weights || lengths)) required(key + "_x");
      if (!x) return std::nullopt;
      if (!y && has_targets()) required(key + "_y");
      auto maybe = [&](const DataPath* path) { return path ? std::optional(open(*path)) : std::nullopt; };
      return SplitFiles{open(*x), maybe(has_targets() ? y : nullptr), maybe(weights), maybe(lengths)};
    };
    read_files({split("train"), split("valid"), split("test")});
  }

  void npz() {
    const DataPath& path = required("npz");
    std::string place = found(path);
    NpzFile archive = located(path.where, [&] { return NpzFile(place); });
    auto open = [&](const std::string& split, const std::string& axis) {
      std::string name = str(split, "_", axis), turned = str(axis, "_", split);
      if (!archive.contains(name) && archive.contains(turned)) name = turned;
      return ArrayFile(str(place, "[", name, "]"), ArrayFile::Format::kNpy, path.where);
    };
    auto split = [&](const std::string& key) -> std::optional<SplitFiles> {
      bool there = archive.contains(key + "_x") || archive.contains("x_" + key);
      if (key != "train" && !there) return std::nullopt;
      auto maybe = [&](bool is_there, const char* axis) {
        return is_there ? std::optional(open(key, axis)) : std::nullopt;
      };
      return SplitFiles{open(key, "x"), maybe(has_targets(), "y"), {}, maybe(archive.contains(key + "_l"), "l")};
    };
    read_files({split("train"), split("valid"), split("test")});
  }

  bool has_targets() const { return options_.targets != Targets::kNone; }
  double scale_of(const ArrayFile& x) const {
    bool pixels = options_.name == "idx" && x.described().raw.dtype() == DType::kUInt8;
    return scale_or(pixels ? kPixelScale : 1);
  }
  /// Are these the numbers that will be trained on, so that nothing has to be converted?
  bool as_it_stands(const ArrayFile& x) const {
    return x.described().raw.dtype() == floatx_ && !x.described().swapped && scale_of(x) == 1 &&
           options_.standardize == Standardization::By::kNone;
  }
  bool by_pieces(const ArrayFile& x) const {
    return x.can_stay() && x.bytes() >= kReadByPiecesFrom && !as_it_stands(x);
  }

  /// Bytes of the arrays while they are in memory.
  uint64_t bytes_in_memory(const SplitFiles& files) const {
    uint64_t out = static_cast<uint64_t>(files.x.described().raw.size()) * size_of(floatx_);
    if (!as_it_stands(files.x) && !by_pieces(files.x)) out += files.x.bytes();
    if (files.y) out += files.y->bytes() + static_cast<uint64_t>(files.y->described().raw.size()) * sizeof(int64_t);
    if (files.weights) out += files.weights->bytes() + static_cast<uint64_t>(files.weights->described().raw.size()) * 8;
    return out;
  }

  [[noreturn]] void fail_too_large(const ArrayFile& file, uint64_t needed) const {
    throw UserError({.what = str(file.described().origin, ": the data does not fit in memory"),
                     .expected = str("at most ", gib(memory_limit_),
                                     options_.memory_limit == 0 ? ", half of the memory that there is"
                                                                : ", as data.memory_limit says"),
                     .got = str(gib(needed), " as ", name_of(floatx_)),
                     .config = file.described().where,
                     .hint = file.why_not().empty() ? "data.memory_limit sets the limit" : file.why_not()});
  }

  /// Into memory what fits there. What does not stays in its file, or is refused.
  void read_files(const std::vector<std::optional<SplitFiles>>& sets) {
    uint64_t needed = 0, kept = 0;
    for (const auto& set : sets) needed += set ? bytes_in_memory(*set) : 0;
    out_.streamed = needed > memory_limit_;
    auto array = [&](const ArrayFile& file, bool stays) {
      if (stays && file.can_stay()) return file.in_file();
      kept += file.bytes();
      if (out_.streamed && kept > memory_limit_) fail_too_large(file, needed);
      return file.in_memory();
    };
    auto split = [&](const std::optional<SplitFiles>& set) -> std::optional<Split> {
      if (!set) return std::nullopt;
      DataArray x = array(set->x, out_.streamed || by_pieces(set->x));
      // Labels are small, and are read again and again: they stay in the file only where they alone are too large.
      DataArray y = set->y ? array(*set->y, out_.streamed && set->y->bytes() > memory_limit_) : DataArray{};
      Split out = options_.sequences || set->lengths
                      ? Split(std::move(x), std::move(y), options_.targets, scale_of(set->x),
                              {set->lengths ? std::optional(set->lengths->in_memory()) : std::nullopt})
                      : Split(std::move(x), std::move(y), options_.targets, scale_of(set->x));
      if (set->weights) out.set_weights(array(*set->weights, out_.streamed && set->weights->bytes() > memory_limit_));
      return out;
    };
    auto train = split(sets[0]), valid = split(sets[1]), test = split(sets[2]);
    cut(*train, valid, test, 0);
  }

  void csv() {
    CsvOptions csv = options_.csv;
    csv.has_label = has_targets();
    csv.may_stay = true;
    csv.bytes_per_number = sizeof(double) + size_of(floatx_);  // the table's, and those of the examples made of it
    uint64_t used = 0;
    size_t columns = 0;  // of the training file, the label's among them
    auto split = [&](const std::string& key) -> std::optional<Split> {
      const DataPath* path = key == "train" ? &required("train") : file(key);
      if (!path) return std::nullopt;
      std::string place = found(*path);
      csv.memory_limit = std::max<uint64_t>(1, memory_limit_ - used);
      return located(path->where, [&] {
        if (key != "train") check_column_count(place, csv, columns);
        CsvTable table = read_csv(place, csv);
        if (!table.source) {
          const uint64_t bytes = table.x.bytes() + static_cast<uint64_t>(table.x.size()) * size_of(floatx_);
          used = std::min(memory_limit_, used + bytes);
        }
        if (key == "train") {
          csv.classes = table.classes;
          csv.label_at = table.label_at;
          columns = table.columns.size() + table.other_columns.size();
          out_.other_columns = table.other_columns;
          out_.target_names = table.targets;
          out_.columns = table.columns;
          out_.columns_named = table.named;
          out_.label_at = table.label_at;
        } else {
          check_columns(place, out_, table);
        }
        if (options_.targets != Targets::kClasses && !table.classes.empty()) {
          throw file_error(place, "the target values are not numbers", "a column of numbers",
                           str("\"", table.classes[0], "\""));
        }
        auto text = text_rows(table, table.columns);
        auto array = [&](const Tensor& raw) {
          return DataArray{.raw = raw, .origin = place, .where = path->where, .text = text};
        };
        DataArray y = array(table.y);
        if (!table.targets.empty()) y.text = text_rows(table, table.targets);
        DataArray x = array(table.x);
        x.source = table.source;
        Split out(std::move(x), y, options_.targets, scale_or(1));
        if (!csv.weight.empty()) out.set_weights(array(table.weights));
        return out;
      });
    };
    auto train = split("train"), valid = split("valid"), test = split("test");
    if (!csv.classes.empty() && !options_.class_names.empty())
      throw UserError({.what = str(train->x_array().origin, ": the classes have names in the table"),
                       .expected = "data.class_names only where labels are numbers",
                       .got = excerpt(join(csv.classes, ", "), 80),
                       .config = place_of(options_.class_names_where)});
    out_.class_names = csv.classes;
    known_classes_ = static_cast<int64_t>(csv.classes.size());
    note_streams({&*train, valid ? &*valid : nullptr, test ? &*test : nullptr});
    cut(*train, valid, test, 0);
  }

  void cut(const Split& whole, const std::optional<Split>& valid, const std::optional<Split>& test,
           int64_t valid_default) {
    whole_ = whole;
    cut_dataset(options_, floatx_, {whole, valid, test, valid_default}, out_);
  }

  /// The number of classes, and every value that is in memory.
  void check() {
    if (out_.train.size() == 0) {
      throw UserError({.what = str("the data set \"", options_.name, "\" has no training examples"),
                       .expected = "at least one, beside those for validation and test",
                       .config = options_.where});
    }
    int64_t classes = options_.classes;
    name_classes();
    const bool has_classes = out_.targets() == Targets::kClasses || out_.targets() == Targets::kLabelSequences;
    if (has_classes && classes == 0) {
      // A class may stand only in the rows that are kept for validation: it counts too.
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
    check_class_names(options_.class_names, place_of(options_.class_names_where), targets, known,
                      is_counted ? whole_.y_array().origin : "");
    out_.class_names = options_.class_names;
    known_classes_ = count;
  }

  void standardize() {
    if (options_.standardize_targets && out_.targets() != Targets::kValues)
      throw UserError({.what = "data.standardize_targets needs values to approximate",
                       .expected = "data.target = \"values\"",
                       .got = str("data.target = \"", name_of(out_.targets()), '"'),
                       .config = place_of(options_.standardize_where)});
    if (options_.standardize == Standardization::By::kNone && !options_.standardize_targets) return;
    out_.set_standardization(std::make_shared<const Standardization>(
        learn_standardization(out_.train, options_.standardize, options_.standardize_targets, floatx_)));
  }

  const DatasetOptions& options_;
  DType floatx_;
  uint64_t memory_limit_;
  int64_t known_classes_ = 0;
  Split whole_;  // the training file
  Dataset out_;
};

}  // namespace

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
