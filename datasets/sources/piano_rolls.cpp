#include "datasets/sources/piano_rolls.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "compiler/base/escape.h"
#include "datasets/content.h"
#include "datasets/data_fields.h"
#include "datasets/locate.h"
#include "datasets/text_lines.h"

namespace thtrain {

namespace {

constexpr int64_t kMostKeys = 1024;

/// Pieces of one set as they are read.
struct Pieces {
  std::vector<uint8_t> steps;   // `keys` numbers for each
  std::vector<int64_t> starts;  // of the pieces, counted in steps
};

/// Rows of pieces: each begins `shift` steps behind a start, has as many steps as its length, and zeros behind them.
class RollRows : public RowSource {
 public:
  RollRows(std::shared_ptr<const PianoRolls> rolls, int64_t shift, int64_t row_bytes)
      : rolls_(std::move(rolls)), shift_(shift), row_bytes_(row_bytes) {}
  void read(int64_t first, int64_t count, std::byte* out) const override {
    const int64_t keys = rolls_->steps.dim(1);
    const auto* steps = static_cast<const std::byte*>(rolls_->steps.raw());
    for (int64_t i = first; i < first + count; ++i, out += row_bytes_) {
      const int64_t bytes = std::min(rolls_->lengths.data<int64_t>()[i] * keys, row_bytes_);
      std::memcpy(out, steps + (rolls_->starts[static_cast<size_t>(i)] + shift_) * keys, static_cast<size_t>(bytes));
      std::memset(out + bytes, 0, static_cast<size_t>(row_bytes_ - bytes));
    }
  }
  std::shared_ptr<const RowSource> beginnings(int64_t bytes) const override {
    return std::make_shared<const RollRows>(rolls_, shift_, bytes);
  }

 private:
  std::shared_ptr<const PianoRolls> rolls_;
  int64_t shift_, row_bytes_;
};

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpaces = " \t";
  std::vector<std::string_view> out;
  for (size_t at = line.find_first_not_of(kSpaces); at < line.size(); at = line.find_first_not_of(kSpaces, at)) {
    const size_t end = std::min(line.find_first_of(kSpaces, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path), lines_(file_) {}

  PianoRollSets read() {
    const std::string beginning = file_.beginning();
    if (Content content = content_of(beginning); content != Content::kText && content != Content::kEmpty)
      throw file_error(path_, "these are no piano rolls", "text: lines \"@ set steps keys\" and the keys of each step",
                       content_text(beginning));
    for (std::string_view line; lines_.next(line);) {
      const std::vector<std::string_view> words = words_of(line);
      if (!words.empty() && words[0] == "@")
        begin_piece(words, line);
      else
        add_step(words);
    }
    end_piece(str("the file ends"));
    if (sets_[0].starts.empty())
      throw file_error(path_, "there are no training pieces", "a line \"@ train steps keys\" for each", "none");
    return {rolls(sets_[0]), rolls(sets_[1]), rolls(sets_[2])};
  }

 private:
  UserError error(std::string what, std::string expected, std::string got) const {
    return file_error(path_, str("line ", lines_.number(), ": ", what), std::move(expected), std::move(got));
  }

  void begin_piece(const std::vector<std::string_view>& words, std::string_view line) {
    end_piece(str("line ", lines_.number(), " begins another one"));
    static constexpr std::string_view kSets[] = {"train", "valid", "test"};
    const auto* set = words.size() == 4 ? std::find(std::begin(kSets), std::end(kSets), words[1]) : std::end(kSets);
    const std::optional<int64_t> steps = words.size() == 4 ? integer_in(words[2]) : std::nullopt,
                                 keys = words.size() == 4 ? integer_in(words[3]) : std::nullopt;
    if (set == std::end(kSets) || !steps || *steps < 2 || !keys || *keys < 1 || *keys > kMostKeys)
      throw error("not the beginning of a piece",
                  str("\"@ set steps keys\": train, valid or test, at least 2 steps, 1 to ", kMostKeys, " keys"),
                  str('"', excerpt(line, 40), '"'));
    if (keys_ > 0 && *keys != keys_)
      throw error("another number of keys than before", std::to_string(keys_), std::to_string(*keys));
    keys_ = *keys;
    wanted_ = *steps;
    begin_ = lines_.number();
    pieces_ = &sets_[set - std::begin(kSets)];
    pieces_->starts.push_back(std::ssize(pieces_->steps) / keys_);
  }

  /// Those that have come of the last piece.
  int64_t steps() const { return std::ssize(pieces_->steps) / keys_ - pieces_->starts.back(); }

  void end_piece(const std::string& why) {
    if (!pieces_ || steps() == wanted_) return;
    throw file_error(path_, str("line ", begin_, ": the piece has fewer steps than this line says"),
                     str(wanted_, " lines of keys"), str(steps(), ", then ", why));
  }

  void add_step(const std::vector<std::string_view>& words) {
    if (!pieces_) {
      if (words.empty()) return;
      throw error("this line belongs to no piece", "a line \"@ set steps keys\" before it",
                  str('"', excerpt(words[0], 40), '"'));
    }
    if (steps() == wanted_) {
      if (words.empty()) return;  // between pieces
      throw error("a step more than the piece has", str(wanted_, " steps, as line ", begin_, " says"),
                  str('"', excerpt(words[0], 40), '"'));
    }
    std::vector<uint8_t> keys(static_cast<size_t>(keys_));
    for (std::string_view word : words) {
      const std::optional<int64_t> key = integer_in(word);
      if (!key || *key < 0 || *key >= keys_)
        throw error("not a key", str("numbers from 0 to ", keys_ - 1), str('"', excerpt(word, 40), '"'));
      keys[static_cast<size_t>(*key)] = 1;
    }
    pieces_->steps.insert(pieces_->steps.end(), keys.begin(), keys.end());
  }

  PianoRolls rolls(const Pieces& pieces) const {
    const int64_t n = std::ssize(pieces.starts), all = std::ssize(pieces.steps) / keys_;
    PianoRolls out{Tensor::of(pieces.steps, {all, keys_}), pieces.starts, Tensor::empty(DType::kInt64, {n})};
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      out.lengths.data<int64_t>()[i] = (i + 1 < n ? pieces.starts[at + 1] : all) - pieces.starts[at] - 1;
    }
    return out;
  }

  const std::string& path_;
  InputFile file_;
  TextLines lines_;
  Pieces sets_[3];            // train, valid, test
  Pieces* pieces_ = nullptr;  // the set whose last piece is read
  int64_t keys_ = 0, wanted_ = 0, begin_ = 0;
};

}  // namespace

Shape PianoRolls::shape() const {
  return {lengths.dim(0), std::max<int64_t>(longest(lengths), 1), steps.dim(1)};
}

std::shared_ptr<const RowSource> PianoRolls::x_rows() const {
  return std::make_shared<const RollRows>(std::make_shared<const PianoRolls>(*this), 0, shape()[1] * shape()[2]);
}

std::shared_ptr<const RowSource> PianoRolls::y_rows() const {
  return std::make_shared<const RollRows>(std::make_shared<const PianoRolls>(*this), 1, shape()[1] * shape()[2]);
}

PianoRollSets read_piano_rolls(const std::string& path) {
  return Reader(path).read();
}

std::vector<DataFile> PianoRollsConfig::files() {
  return {{"file", "file", &file}};
}

static Split split_of_rolls(const PianoRolls& set, const std::string& path, const ConfigPosition& where) {
  auto rows = [&](std::shared_ptr<const RowSource> source) {
    return DataArray{
        .raw = outline(DType::kUInt8, set.shape()), .source = std::move(source), .origin = path, .where = where};
  };
  return Split(rows(set.x_rows()), rows(set.y_rows()), Targets::kLabels, 1,
               {DataArray{.raw = set.lengths, .origin = path, .where = where}});
}

void PianoRollsConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  out.targets = Targets::kLabels;
  out.read = [](const DatasetOptions& options, DType floatx) {
    const DataPath& file = options.files.at("file");
    const std::string path = find_data_file(file.path, options.config_folder, false, file.where);
    const PianoRollSets sets = located(file.where, [&] { return read_piano_rolls(path); });
    int64_t numbers = 0;
    for (const PianoRolls* set : {&sets.train, &sets.valid, &sets.test}) numbers += set->steps.size();
    require_fits(options, path, numbers, DType::kUInt8, floatx);
    auto split = [&](const PianoRolls& set) { return split_of_rolls(set, path, file.where); };
    return SourceData{
        .train = split(sets.train), .valid = split(sets.valid), .test = split(sets.test), .streamed = false};
  };
}

std::optional<Split> PianoRollsConfig::read_examples(const std::string& path, const KnownData&) const {
  return split_of_rolls(read_piano_rolls(path).train, path, {});
}

void PianoRollsConfig::describe(Fields<PianoRollsConfig>& f) {
  f.about(
      "Pieces of music as text: a line `@ set steps keys` begins each (the set is train, valid or test), then a line "
      "for each step has the numbers of the keys that sound, from 0 on. They become sequences: the keys at each step, "
      "and as labels those at the next one. The path is looked for as those of `npy`.");
  f.field("file", &PianoRollsConfig::file).required().help("The text file, with all three sets.");
  describe_common(f);
}

Kind<DataConfig> piano_rolls_source() {
  return kind<PianoRollsConfig, DataConfig>();
}

}  // namespace thtrain
