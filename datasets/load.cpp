#include "datasets/load.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "compiler/base/random_state.h"
#include "datasets/csv.h"
#include "datasets/digits_generator.h"
#include "datasets/file.h"
#include "datasets/idx.h"
#include "datasets/locate.h"
#include "datasets/npy.h"
#include "datasets/npz.h"

namespace thtrain {

namespace {

constexpr double kPixelScale = 1.0 / 256;

/// Runs `action`; an error that has no place in the configuration gets `where`.
template <class Action>
auto located(const ConfigPosition& where, Action action) {
  try {
    return action();
  } catch (const UserError& error) {
    std::vector<Message> messages = error.messages();
    for (Message& message : messages) {
      if (!message.config) message.config = where;
    }
    throw UserError(std::move(messages));
  }
}

uint64_t machine_memory() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGE_SIZE));
}

class Loader {
 public:
  Loader(const DatasetOptions& options, DType floatx)
      : options_(options),
        floatx_(floatx),
        memory_limit_(options.memory_limit ? options.memory_limit : machine_memory() / 4) {}

  Dataset load() {
    out_.name = options_.name;
    if (options_.name == "digits")
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

  void digits() {
    auto part = [&](int64_t n, uint64_t number) {
      Digits digits = generate_digits(n, static_cast<uint64_t>(options_.seed), number);
      std::string origin = str("the generator of digits, seed ", options_.seed);
      return Split({.raw = digits.images, .origin = origin, .where = options_.where},
                   {.raw = digits.labels, .origin = origin, .where = options_.where}, options_.targets,
                   scale_or(kPixelScale));
    };
    out_.train = part(options_.train < 0 ? 10000 : options_.train, 0);
    out_.valid = part(options_.valid < 0 ? 2000 : options_.valid, 1);
    out_.test = part(options_.test < 0 ? 2000 : options_.test, 2);
    known_classes_ = 10;
  }

  void mnist() {
    const DataPath* folder = file("folder");
    const ConfigPosition& where = folder ? folder->where : options_.where;
    std::vector<std::string> paths = find_data_set(
        "mnist",
        {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
        options_.config_folder, folder ? folder->path : "", where);
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
    auto array = [&](const DataPath& path) {
      std::string place = found(path, options_.name == "idx");
      return located(path.where, [&]() -> DataArray {
        if (options_.name == "idx") return {.raw = read_idx(place), .origin = place, .where = path.where};
        NpyArray read = open_npy(place, std::min(kMapNpyFrom, memory_limit_));
        return {.raw = read.raw,
                .swapped = read.header.swapped,
                .mapped = read.mapped,
                .origin = place,
                .where = path.where};
      });
    };
    auto split = [&](const std::string& key) -> std::optional<Split> {
      const DataPath* x = key == "train" ? &required("train_x") : file(key + "_x");
      const DataPath* y = file(key + "_y");
      if (!x && y) required(key + "_x");
      if (!x) return std::nullopt;
      if (!y && options_.targets != Targets::kNone) required(key + "_y");
      DataArray inputs = array(*x), targets = y ? array(*y) : DataArray{};
      return of_arrays(std::move(inputs), std::move(targets));
    };
    auto train = split("train"), valid = split("valid"), test = split("test");
    cut(*train, valid, test, 0);
  }

  /// Split's own errors carry the places of the arrays.
  Split of_arrays(DataArray x, DataArray y) const {
    bool pixels = options_.name == "idx" && x.raw.dtype() == DType::kUInt8;
    return Split(std::move(x), std::move(y), options_.targets, scale_or(pixels ? kPixelScale : 1));
  }

  void npz() {
    const DataPath& path = required("npz");
    std::string place = found(path);
    located(path.where, [&] {
      NpzFile archive(place);
      auto name_of_array = [&](const std::string& split, const std::string& axis) {
        std::string name = str(split, "_", axis), turned = str(axis, "_", split);
        return !archive.contains(name) && archive.contains(turned) ? turned : name;
      };
      auto array = [&](const std::string& name) -> DataArray {
        return {.raw = archive.read(name), .origin = str(place, "[", name, "]"), .where = path.where};
      };
      auto split = [&](const std::string& key) -> std::optional<Split> {
        std::string x = name_of_array(key, "x"), y = name_of_array(key, "y");
        if (key != "train" && !archive.contains(x) && !archive.contains(y)) return std::nullopt;
        return of_arrays(array(x), options_.targets == Targets::kNone ? DataArray{} : array(y));
      };
      auto train = split("train"), valid = split("valid"), test = split("test");
      cut(*train, valid, test, 0);
      return 0;
    });
  }

  void csv() {
    CsvOptions csv{.label = options_.targets == Targets::kNone ? "none" : options_.label};
    std::vector<std::string> columns;
    auto split = [&](const std::string& key) -> std::optional<Split> {
      const DataPath* path = key == "train" ? &required("train") : file(key);
      if (!path) return std::nullopt;
      std::string place = found(*path);
      return located(path->where, [&] {
        CsvTable table = read_csv(place, csv);
        if (key == "train") {
          csv.classes = table.classes;
          columns = table.columns;
        } else if (table.columns != columns) {
          throw file_error(place, "the columns are not those of the training file", join(columns, ", "),
                           join(table.columns, ", "));
        }
        if (options_.targets == Targets::kValues && !table.classes.empty()) {
          throw file_error(place, "the target values are not numbers", "a column of numbers",
                           str("\"", table.classes[0], "\""));
        }
        return Split({.raw = table.x, .origin = place, .where = path->where},
                     {.raw = table.y, .origin = place, .where = path->where}, options_.targets, scale_or(1));
      });
    };
    auto train = split("train"), valid = split("valid"), test = split("test");
    out_.class_names = csv.classes;
    known_classes_ = static_cast<int64_t>(csv.classes.size());
    cut(*train, valid, test, 0);
  }

  /// The first `wanted` rows of a split (all if -1).
  Split first(const Split& split, int64_t wanted, const char* which) const {
    if (wanted > split.size()) {
      throw UserError({.what = str("there are not enough ", which, " examples"),
                       .expected = str("at most ", split.size(), " from ", split.x_array().origin),
                       .got = str(wanted),
                       .config = options_.where});
    }
    return wanted < 0 ? split : split.part(0, wanted);
  }

  /// Makes the three splits. What has no file of its own is cut from the end of `whole`; `valid_default` rows for
  /// validation.
  void cut(const Split& whole, const std::optional<Split>& valid, const std::optional<Split>& test,
           int64_t valid_default) {
    Split rows = options_.shuffle ? whole.part(RandomState(options_.seed).permutation(whole.size())) : whole;
    int64_t valid_rows = valid ? 0 : options_.valid < 0 ? valid_default : options_.valid;
    int64_t test_rows = test ? 0 : std::max<int64_t>(options_.test, 0);
    int64_t rest = rows.size() - valid_rows - test_rows;
    if (rest < std::max<int64_t>(options_.train, 0)) {
      throw UserError({.what = "the splits need more rows than the training file has",
                       .expected = str("at most ", rows.size(), " rows, as in ", rows.x_array().origin),
                       .got = str(std::max<int64_t>(options_.train, 0), " to train, ", valid_rows, " to validate, ",
                                  test_rows, " to test"),
                       .config = options_.where});
    }
    out_.train = first(rows.part(0, rest), options_.train, "training");
    out_.valid = valid ? first(*valid, options_.valid, "validation") : rows.part(rest, valid_rows);
    out_.test = test ? first(*test, options_.test, "test") : rows.part(rest + valid_rows, test_rows);
    for (const Split* split : {&out_.valid, &out_.test}) {
      if (split->input_shape() == whole.input_shape() && split->target_shape() == whole.target_shape()) continue;
      bool inputs = split->input_shape() != whole.input_shape();
      throw UserError(
          {.what = str("the splits have different ", inputs ? "inputs" : "targets"),
           .expected = str(shape_text(inputs ? whole.input_shape() : whole.target_shape()), " for each row, as in ",
                           inputs ? whole.x_array().origin : whole.y_array().origin),
           .got = str(shape_text(inputs ? split->input_shape() : split->target_shape()), " in ",
                      inputs ? split->x_array().origin : split->y_array().origin),
           .config = options_.where});
    }
  }

  /// The number of classes, whether to stream, and every value that is in memory.
  void check() {
    if (out_.train.size() == 0) {
      throw UserError(
          {.what = str("the data set \"", options_.name, "\" has no training examples"), .config = options_.where});
    }
    out_.streamed = out_.train.is_larger_than(memory_limit_, floatx_);
    int64_t classes = options_.classes;
    if (out_.targets() == Targets::kClasses && classes == 0) {
      classes = known_classes_ ? known_classes_ : count_classes(out_.train);
    }
    for (Split* split : {&out_.train, &out_.valid, &out_.test}) {
      split->set_classes(classes);
      if (!split->is_larger_than(memory_limit_, floatx_)) check_all(*split, floatx_);
    }
  }

  const DatasetOptions& options_;
  DType floatx_;
  uint64_t memory_limit_;
  int64_t known_classes_ = 0;
  Dataset out_;
};

}  // namespace

Dataset load_dataset(const DatasetOptions& options, DType floatx) {
  return Loader(options, floatx).load();
}

}  // namespace thtrain
