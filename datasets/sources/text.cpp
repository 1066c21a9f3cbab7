#include "datasets/sources/text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/base/utf8.h"
#include "datasets/data_fields.h"
#include "datasets/locate.h"

namespace thtrain {

namespace {

int64_t line_of(std::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

}  // namespace

std::vector<char32_t> characters_of(std::string_view text, const std::string& path) {
  std::vector<char32_t> out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (!point.valid)
      throw file_error(path, str("line ", line_of(text, at), ": not UTF-8"), "text in UTF-8",
                       str("the bytes ", printable(text.substr(at, 4))),
                       "iconv -f latin1 -t utf-8 makes it of a text in Latin-1");
    out.push_back(point.code);
    at += point.bytes;
  }
  return out;
}

TextWindows text_windows(const std::vector<int64_t>& text, int64_t steps, int64_t tracks) {
  const int64_t windows = std::max<int64_t>(std::ssize(text) - 1, 0) / tracks / steps, n = windows * tracks;
  TextWindows out{Tensor::empty(DType::kInt64, {n, steps}), Tensor::empty(DType::kInt64, {n, steps})};
  for (int64_t row = 0; row < n; ++row) {
    const auto* from = text.data() + (row % tracks * windows + row / tracks) * steps;
    std::copy_n(from, steps, out.x.data<int64_t>() + row * steps);
    std::copy_n(from + 1, steps, out.y.data<int64_t>() + row * steps);
  }
  return out;
}

namespace {

/// x with a one at each number: uint8 [n, steps, count].
Tensor one_hot_of(const Tensor& x, int64_t count) {
  Tensor out = Tensor::zeros(DType::kUInt8, {x.dim(0), x.dim(1), count});
  for (int64_t i = 0; i < x.size(); ++i) out.data<uint8_t>()[i * count + x.data<int64_t>()[i]] = 1;
  return out;
}

constexpr char32_t kByteOrderMark = 0xfeff;

std::vector<char32_t> text_in(const std::string& path) {
  std::vector<char32_t> out = characters_of(read_file(path), path);
  if (!out.empty() && out.front() == kByteOrderMark) out.erase(out.begin());
  return out;
}

UserError too_short(const std::string& path, const char* set, const std::string& expected, int64_t got) {
  return file_error(path, str("the text is too short for ", set, " windows"), expected, str(got, " characters"));
}

class TextReader {
 public:
  TextReader(const TextConfig& config, const DatasetOptions& options, DType floatx)
      : config_(config),
        options_(options),
        floatx_(floatx),
        where_(options.files.at("file").where),
        path_(find_data_file(options.files.at("file").path, options.config_folder, false, where_)) {}

  SourceData read() {
    const std::vector<char32_t> all = text_in(path_);
    auto part = [&](double fraction) { return std::llround(fraction * static_cast<double>(all.size())); };
    const int64_t valid = part(config_.valid_fraction), test = part(config_.test_fraction),
                  train = std::ssize(all) - valid - test;
    known_ = all;
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    const auto numbers = static_cast<double>(all.size()) * static_cast<double>(config_.one_hot ? known_.size() : 1);
    require_fits(options_, path_, static_cast<int64_t>(numbers), config_.one_hot ? DType::kUInt8 : DType::kInt64,
                 floatx_);
    SourceData out{.train = split("training", all, 0, train, config_.window_tracks)};
    if (valid > 0) out.valid = split("validation", all, train, valid, 1);
    if (test > 0) out.test = split("test", all, train + valid, test, 1);
    out.classes = std::ssize(known_);
    for (char32_t character : known_) append_utf8(out.class_names.emplace_back(), character);
    return out;
  }

 private:
  std::vector<int64_t> numbers_of(const std::vector<char32_t>& all, int64_t begin, int64_t count) const {
    std::vector<int64_t> out;
    for (int64_t i = begin; i < begin + count; ++i) {
      const auto found = std::lower_bound(known_.begin(), known_.end(), all[static_cast<size_t>(i)]);
      out.push_back(found - known_.begin());
    }
    return out;
  }

  Split split(const char* set, const std::vector<char32_t>& all, int64_t begin, int64_t count, int64_t tracks) const {
    const TextWindows windows = text_windows(numbers_of(all, begin, count), config_.steps, tracks);
    if (windows.x.dim(0) == 0)
      throw too_short(path_, set,
                      str("at least ", tracks * config_.steps + 1, " characters",
                          tracks > 1 ? str(", ", tracks, " tracks of ", config_.steps, " steps and one") : ""),
                      count);
    auto array = [&](const Tensor& raw) { return DataArray{.raw = raw, .origin = path_, .where = where_}; };
    const Tensor x = config_.one_hot ? one_hot_of(windows.x, std::ssize(known_)) : windows.x;
    return Split(array(x), array(windows.y), Targets::kClasses, 1, Sequences{});
  }

  const TextConfig& config_;
  const DatasetOptions& options_;
  DType floatx_;
  ConfigPosition where_;
  std::string path_;
  std::vector<char32_t> known_;  // the characters, sorted
};

}  // namespace

std::vector<DataFile> TextConfig::files() {
  return {{"file", "file", &file}};
}

void TextConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  out.read = [config = *this](const DatasetOptions& options, DType floatx) {
    return located(options.files.at("file").where, [&] { return TextReader(config, options, floatx).read(); });
  };
}

std::optional<Split> TextConfig::read_examples(const std::string& path, const KnownData& known) const {
  const std::vector<char32_t> all = text_in(path);
  std::map<std::string, int64_t> number_of;
  for (const std::string& name : known.classes) number_of.emplace(name, std::ssize(number_of));
  std::vector<int64_t> numbers;
  int64_t line = 1;
  for (char32_t character : all) {
    std::string text;
    append_utf8(text, character);
    const auto found = number_of.find(text);
    if (found == number_of.end())
      throw file_error(path, str("line ", line, ": the model does not know this character"),
                       str("the ", known.classes.size(), " characters of the text that it was trained on"),
                       str('"', printable(text), '"'));
    numbers.push_back(found->second);
    line += character == U'\n';
  }
  const TextWindows windows = text_windows(numbers, steps, 1);
  if (windows.x.dim(0) == 0)
    throw too_short(path, "whole", str("at least ", steps + 1, " characters"), std::ssize(all));
  const Tensor x = one_hot ? one_hot_of(windows.x, std::ssize(known.classes)) : windows.x;
  return Split({.raw = x, .origin = path}, {.raw = windows.y, .origin = path}, Targets::kClasses, 1, Sequences{});
}

void TextConfig::describe(Fields<TextConfig>& f) {
  f.about(
      "A text file in UTF-8 as sequences of characters: windows of it, and at each step the class of the character "
      "that follows. The classes are the characters of the whole file, also of the parts for validation and test, "
      "sorted "
      "by their code points; a byte-order mark at its beginning is none. The path is looked for as those of `npy`.");
  f.field("file", &TextConfig::file).required().help("The text file.");
  f.field("steps", &TextConfig::steps)
      .range(between(1, 1000000))
      .unit("characters")
      .help("Length of the windows, which follow one another.");
  f.field("tracks", &TextConfig::window_tracks)
      .range(between(1, 1000000))
      .help(
          "Parts that the training text is cut into, so that the row of a minibatch goes on where the same row of the "
          "minibatch before it ended: `trainer.batch_size` of them, with `trainer.shuffle = false`, for layers with "
          "`carry = true`.");
  f.field("one_hot", &TextConfig::one_hot)
      .help(
          "Whether a character is a row of zeros with a one at its number; else it is its number, for layers such as "
          "`embedding`.");
  f.field("valid_fraction", &TextConfig::valid_fraction)
      .range(from_below(0, 1))
      .help("The part of the text that validates, after the training part.");
  f.field("test_fraction", &TextConfig::test_fraction)
      .range(from_below(0, 1))
      .help("The part of the text that tests, at its end.");
  f.check([](const TextConfig& c, Findings& findings) {
    if (c.valid_fraction + c.test_fraction < 1) return;
    findings.add({.what = "data.valid_fraction + data.test_fraction leave nothing to train on",
                  .expected = "a sum below 1",
                  .got = str(c.valid_fraction, " + ", c.test_fraction),
                  .config = c.at(c.has("test_fraction") ? "test_fraction" : "valid_fraction")});
  });
}

Kind<DataConfig> text_source() {
  return kind<TextConfig, DataConfig>();
}

}  // namespace thtrain
