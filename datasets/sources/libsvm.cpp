#include "datasets/sources/libsvm.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler/base/escape.h"
#include "datasets/content.h"
#include "datasets/csv_text.h"
#include "datasets/data_fields.h"
#include "datasets/line_rows.h"
#include "datasets/memory.h"
#include "datasets/sources/joined.h"
#include "datasets/sparse_rows.h"
#include "datasets/text_lines.h"

namespace thtrain {

namespace {

constexpr int64_t kMostFeatures = 2147483647;

class LibsvmReader {
 public:
  LibsvmReader(const std::string& path, const LibsvmOptions& options)
      : path_(path), options_(options), file_(path), lines_(file_) {}

  LibsvmTable read() {
    const std::string beginning = file_.beginning();
    if (Content content = content_of(beginning); content != Content::kText && content != Content::kEmpty)
      throw file_error(path_, "not a LIBSVM file", "text: lines of label index:value ...", content_text(beginning));
    for (std::string_view line; lines_.next(line);) {
      line = trimmed(line.substr(0, line.find('#')));
      if (!line.empty()) row(line);
    }
    if (starts_.empty()) throw file_error(path_, "there are no examples", "a line for each", "no lines");
    return table();
  }

 private:
  UserError error(std::string what, std::string expected, std::string_view got, std::string hint = "") const {
    return file_error(path_, str("line ", lines_.number(), ": ", what), std::move(expected),
                      str('"', excerpt(got, 40), '"'), std::move(hint));
  }

  static std::string_view next_part(std::string_view& line) {
    size_t end = std::min(line.find_first_of(" \t"), line.size());
    std::string_view out = line.substr(0, end);
    line = line.substr(std::min(line.find_first_not_of(" \t", end), line.size()));
    return out;
  }

  static std::optional<int64_t> integer_in(std::string_view text) {
    int64_t value = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return {};
    return value;
  }

  /// A line may begin with its numbers where an example need not have a label.
  static std::string_view label_part(std::string_view& line, Targets targets) {
    const bool has_none =
        targets == Targets::kLabels && line.substr(0, line.find_first_of(" \t")).find(':') != std::string_view::npos;
    return has_none ? std::string_view() : next_part(line);
  }

  /// Calls add(column, value) for what row() reads of a line that was read before.
  template <class Add>
  static bool parse(std::string_view text, Targets targets, int64_t features, Add add) {
    std::string_view line = trimmed(text.substr(0, text.find_first_of("#\r\n")));
    label_part(line, targets);
    for (int64_t last = 0; !line.empty();) {
      const std::string_view part = next_part(line);
      const size_t colon = std::min(part.find(':'), part.size() - 1);
      const std::optional<int64_t> index = integer_in(part.substr(0, colon));
      const std::optional<double> value = number_in(part.substr(colon + 1));
      if (!index || *index <= last || *index > features || !value) return false;
      last = *index;
      add(last - 1, *value);
    }
    return true;
  }

  std::shared_ptr<const RowSource> rows_in_file(int64_t features) const {
    const Targets targets = options_.targets;
    if (options_.sparse)
      return std::make_shared<const SparseLineRows>(
          file_, lines_of_rows_, features, [=](std::string_view text, SparseNumbers& out) {
            return parse(text, targets, features, [&](int64_t column, double value) { out.add(column, value); });
          });
    return std::make_shared<const LineRows>(file_, lines_of_rows_, features, [=](std::string_view text, double* out) {
      std::fill_n(out, features, 0.0);
      return parse(text, targets, features, [&](int64_t column, double value) { out[column] = value; });
    });
  }

  void row(std::string_view line) {
    starts_.push_back(numbers_.values.size());
    lines_of_rows_.push_back(lines_.begin());
    // Dense, with the zeros between them, they are more than the limit already.
    const size_t of_number = options_.sparse ? kSparseBytes : sizeof(double);
    if (options_.memory_limit > 0 && numbers_.values.size() * of_number > options_.memory_limit) {
      stays_ = true;
      numbers_ = {};
    }
    const std::string_view label = label_part(line, options_.targets);
    if (options_.targets == Targets::kLabels)
      labels_of_row(label);
    else
      y_.push_back(number(label, "the label is not a finite number"));
    int64_t last = 0;
    while (!line.empty()) {
      std::string_view part = next_part(line);
      size_t colon = part.find(':');
      std::optional<int64_t> index = integer_in(part.substr(0, colon));
      if (colon == std::string_view::npos || !index)
        throw error("not a number of the example", "index:value, the index an integer from 1", part);
      if (*index < 1)
        throw error("the index is below 1", "indices from 1 on", part,
                    "numbers are counted from 1: dump_svmlight_file of scikit-learn does so with zero_based=False");
      if (*index <= last)
        throw error("the indices do not rise", str("an index above ", last, ", which precedes it"), part);
      if (options_.features > 0 && *index > options_.features)
        throw error("the index is too large", str("at most ", options_.features, ", the numbers of an example"), part,
                    "data.features says how many numbers an example has");
      if (*index > kMostFeatures)
        throw error("the index is too large", str("at most ", kMostFeatures), part, kFeaturesHint);
      last = *index;
      if (last > most_) {
        most_ = last;
        most_line_ = lines_.number();
      }
      const double value = number(part.substr(colon + 1), "the value is not a finite number");
      if (!stays_) numbers_.add(last - 1, value);
    }
  }

  double number(std::string_view text, const char* what) const {
    std::optional<double> value = number_in(text);
    if (value && std::isfinite(*value)) return *value;
    throw error(what, "a finite number", text);
  }

  void labels_of_row(std::string_view text) {
    std::vector<int64_t>& out = labels_.emplace_back();
    while (!text.empty()) {
      size_t comma = std::min(text.find(','), text.size());
      std::optional<int64_t> label = integer_in(text.substr(0, comma));
      if (!label || *label < 0 || *label >= (options_.labels > 0 ? options_.labels : kMostLabels))
        throw error("not the numbers of labels",
                    options_.labels > 0 ? str("numbers from 0 to ", options_.labels - 1, " with commas between them")
                                        : "numbers from 0 on with commas between them",
                    text.substr(0, comma));
      out.push_back(*label);
      most_label_ = std::max(most_label_, *label);
      text = text.substr(std::min(comma + 1, text.size()));
    }
  }

  // Training holds several examples at a time, and weights for each of their numbers.
  void require_example_fits(int64_t features) const {
    const uint64_t most = usable_memory() / 8, bytes = static_cast<uint64_t>(features) * sizeof(double);
    if (bytes <= most) return;
    auto text = [](uint64_t n) { return bytes_text(static_cast<double>(n)); };
    const std::string location = options_.features > 0 ? "" : str("line ", most_line_, ": ");
    throw file_error(path_, str(location, "an example does not fit in memory"),
                     str("at most ", text(most), ", an eighth of the memory that there is"),
                     str(text(bytes), ", ", features, " numbers",
                         options_.features > 0 ? ", as data.features says" : ", by the largest index"),
                     str(options_.features > 0 ? "" : str(kFeaturesHint, ";\n"),
                         "data.sparse = true keeps the numbers that are named only"));
  }

  LibsvmTable table() {
    auto rows = static_cast<int64_t>(starts_.size());
    int64_t features = options_.features > 0 ? options_.features : most_;
    if (features == 0) throw file_error(path_, "the examples have no numbers", "index:value behind the labels");
    if (!options_.sparse) require_example_fits(features);
    double bytes = static_cast<double>(rows) * static_cast<double>(features) * sizeof(double);
    LibsvmTable out;
    out.y = options_.targets == Targets::kLabels ? label_table(rows) : number_labels(rows);
    const bool is_wide = options_.memory_limit > 0 && bytes > static_cast<double>(options_.memory_limit);
    starts_.push_back(numbers_.values.size());
    if (options_.sparse && !stays_) {
      out.held = std::max<uint64_t>(numbers_.values.size() * kSparseBytes, 1);
      out.source = std::make_shared<const HeldSparseRows>(std::move(numbers_), std::move(starts_), features);
    } else if (stays_ || is_wide) {
      out.source = rows_in_file(features);
    }
    out.x = out.source ? outline(DType::kFloat64, {rows, features}) : Tensor::zeros(DType::kFloat64, {rows, features});
    if (out.source) return out;
    for (size_t i = 0; i + 1 < starts_.size(); ++i) {
      double* row = out.x.data<double>() + static_cast<int64_t>(i) * features;
      for (size_t c = starts_[i]; c < starts_[i + 1]; ++c) row[numbers_.columns[c]] = numbers_.values[c];
    }
    return out;
  }

  Tensor label_table(int64_t rows) const {
    int64_t count = options_.labels > 0 ? options_.labels : most_label_ + 1;
    if (count == 0) throw file_error(path_, "no example has a label", "labels before the numbers: \"0,3 1:0.5\"");
    Tensor out = Tensor::zeros(DType::kUInt8, {rows, count});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t label : labels_[static_cast<size_t>(i)]) out.data<uint8_t>()[i * count + label] = 1;
    return out;
  }

  Tensor number_labels(int64_t rows) const {
    bool signs = options_.targets == Targets::kClasses &&
                 std::all_of(y_.begin(), y_.end(), [](double v) { return v == 1 || v == -1; }) &&
                 std::count(y_.begin(), y_.end(), -1) > 0;
    std::vector<double> out = y_;
    if (signs) std::replace(out.begin(), out.end(), -1., 0.);
    return Tensor::of(out, {rows});
  }

  static constexpr int64_t kMostLabels = 100000;
  static constexpr const char* kFeaturesHint =
      "if the index is wrong, data.features says how many numbers an example has, and larger ones are refused";
  const std::string& path_;
  const LibsvmOptions& options_;
  TextFile file_;
  TextLines lines_;
  static constexpr size_t kSparseBytes = sizeof(double) + sizeof(int32_t);
  SparseNumbers numbers_;
  std::vector<size_t> starts_;           // of each row's numbers
  std::vector<uint64_t> lines_of_rows_;  // where they begin in the file
  bool stays_ = false;                   // numbers are not kept: x stays in the file
  std::vector<double> y_;
  std::vector<std::vector<int64_t>> labels_;
  int64_t most_ = 0, most_label_ = -1;
  int64_t most_line_ = 0;  // where the index most_ is
};

}  // namespace

LibsvmTable read_libsvm(const std::string& path, const LibsvmOptions& options) {
  return LibsvmReader(path, options).read();
}

void LibsvmConfig::fill(DatasetOptions& out) const {
  SetFiles::fill(out);
  out.read = [features = features, sparse = sparse](const DatasetOptions& options, DType floatx) {
    LibsvmOptions reading{.targets = options.targets,
                          .features = features,
                          .labels = static_cast<int64_t>(options.class_names.size()),
                          .sparse = sparse};
    bool stays = false;
    SourceData out = read_sets(options, floatx, [&](const std::string& path, uint64_t room) {
      const uint64_t with_copy = room * sizeof(double) / (sizeof(double) + size_of(floatx));
      reading.memory_limit = std::max<uint64_t>(sparse ? room : with_copy, 1);
      LibsvmTable table = read_libsvm(path, reading);
      stays = stays || table.held == 0;
      // Rows that are drawn one by one would be unpacked from far before each of them.
      if (sparse && table.held == 0 && table.source->is_sequential())
        throw file_error(path, "a packed file of sparse examples does not fit in memory",
                         str("at most ", bytes_text(static_cast<double>(room)), ", or a file that is not packed"), {},
                         str("gunzip -k ", path));
      // What the first file has, the others have.
      reading.features = table.x.dim(1);
      if (options.targets == Targets::kLabels) reading.labels = table.y.dim(1);
      return JoinedPart{table.x, table.y, table.source, {}, table.held};
    });
    if (sparse) out.streamed = stays;
    return out;
  };
}

std::optional<Split> LibsvmConfig::read_examples(const std::string& path, const KnownData& known) const {
  LibsvmTable table = read_libsvm(path, {.targets = target,
                                         .features = features > 0 ? features : known.numbers,
                                         .labels = static_cast<int64_t>(known.classes.size()),
                                         .memory_limit = usable_memory() / 4,
                                         .sparse = sparse});
  return Split({.raw = table.x, .source = table.source, .origin = path}, {.raw = table.y, .origin = path}, target,
               scale);
}

void LibsvmConfig::describe(Fields<LibsvmConfig>& f) {
  f.about(
      "LIBSVM's text files: a line `label index:value index:value ...` for each example, indices from 1, numbers that "
      "are not named are 0. Labels -1 and 1 are the classes 0 and 1; with `target = \"labels\"` a line begins with the "
      "numbers of its labels, `0,3`. `qid` is refused. Paths are looked for as those of `npy`.");
  f.field("features", &LibsvmConfig::features)
      .range(between(0, kMostFeatures))
      .unit("numbers")
      .help("Of an example. 0: the largest index of the first training file.");
  f.field("sparse", &LibsvmConfig::sparse)
      .help(
          "Whether only the numbers that are named are kept, in memory and in minibatches: `dense`, `softmax`, "
          "`maxout` and `factorization` layers compute with these, and change the weights of the columns that a "
          "minibatch has.");
  describe_target(f);
  describe_sets(f, "Files");
  f.check([](const LibsvmConfig& c, Findings& findings) {
    if (c.sparse) check_sparse(c, findings);
  });
}

Kind<DataConfig> libsvm_source() {
  return kind<LibsvmConfig, DataConfig>();
}

}  // namespace thtrain
