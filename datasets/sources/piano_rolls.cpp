#include "datasets/sources/piano_rolls.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "compiler/base/escape.h"
#include "datasets/content.h"
#include "datasets/data_fields.h"
#include "datasets/locate.h"
#include "datasets/text_lines.h"

namespace thtrain {

namespace {

constexpr int64_t kMostKeys = 1024;

using Keys = std::vector<int64_t>;  // of one step
struct Piece {
  std::vector<Keys> steps;
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

std::optional<int64_t> integer_in(std::string_view word) {
  int64_t value = 0;
  auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size()) return {};
  return value;
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
    if (sets_[0].empty())
      throw file_error(path_, "there are no training pieces", "a line \"@ train steps keys\" for each", "none");
    return {arrays(sets_[0]), arrays(sets_[1]), arrays(sets_[2])};
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
    piece_ = &sets_[set - std::begin(kSets)].emplace_back();
  }

  void end_piece(const std::string& why) {
    if (!piece_ || std::ssize(piece_->steps) == wanted_) return;
    throw file_error(path_, str("line ", begin_, ": the piece has fewer steps than this line says"),
                     str(wanted_, " lines of keys"), str(piece_->steps.size(), ", then ", why));
  }

  void add_step(const std::vector<std::string_view>& words) {
    if (!piece_) {
      if (words.empty()) return;
      throw error("this line belongs to no piece", "a line \"@ set steps keys\" before it",
                  str('"', excerpt(words[0], 40), '"'));
    }
    if (std::ssize(piece_->steps) == wanted_) {
      if (words.empty()) return;  // between pieces
      throw error("a step more than the piece has", str(wanted_, " steps, as line ", begin_, " says"),
                  str('"', excerpt(words[0], 40), '"'));
    }
    Keys keys;
    for (std::string_view word : words) {
      const std::optional<int64_t> key = integer_in(word);
      if (!key || *key < 0 || *key >= keys_)
        throw error("not a key", str("numbers from 0 to ", keys_ - 1), str('"', excerpt(word, 40), '"'));
      keys.push_back(*key);
    }
    piece_->steps.push_back(std::move(keys));
  }

  PianoRolls arrays(const std::vector<Piece>& pieces) const {
    const auto n = std::ssize(pieces);
    int64_t steps = 1;
    for (const Piece& piece : pieces) steps = std::max<int64_t>(steps, std::ssize(piece.steps) - 1);
    PianoRolls out{Tensor::zeros(DType::kUInt8, {n, steps, keys_}), Tensor::zeros(DType::kUInt8, {n, steps, keys_}),
                   Tensor::empty(DType::kInt64, {n})};
    for (int64_t i = 0; i < n; ++i) {
      const std::vector<Keys>& piece = pieces[static_cast<size_t>(i)].steps;
      out.lengths.data<int64_t>()[i] = std::ssize(piece) - 1;
      auto set = [&](Tensor& array, int64_t step, const Keys& keys) {
        for (int64_t key : keys) array.data<uint8_t>()[(i * steps + step) * keys_ + key] = 1;
      };
      for (int64_t step = 0; step + 1 < std::ssize(piece); ++step) {
        set(out.x, step, piece[static_cast<size_t>(step)]);
        set(out.y, step, piece[static_cast<size_t>(step) + 1]);
      }
    }
    return out;
  }

  const std::string& path_;
  InputFile file_;
  TextLines lines_;
  std::vector<Piece> sets_[3];  // train, valid, test
  Piece* piece_ = nullptr;      // the one that is read, which is the last of its set
  int64_t keys_ = 0, wanted_ = 0, begin_ = 0;
};

}  // namespace

PianoRollSets read_piano_rolls(const std::string& path) {
  return Reader(path).read();
}

std::vector<DataFile> PianoRollsConfig::files() {
  return {{"file", "file", &file}};
}

void PianoRollsConfig::fill(DatasetOptions& out) const {
  fill_common(out);
  out.targets = Targets::kLabels;
  out.read = [](const DatasetOptions& options, DType floatx) {
    const DataPath& file = options.files.at("file");
    const std::string path = find_data_file(file.path, options.config_folder, false, file.where);
    const PianoRollSets sets = located(file.where, [&] { return read_piano_rolls(path); });
    int64_t numbers = 0;
    for (const PianoRolls* set : {&sets.train, &sets.valid, &sets.test}) numbers += set->x.size();
    require_fits(options, path, numbers, DType::kUInt8, floatx);
    auto split = [&](const PianoRolls& set) {
      auto array = [&](const Tensor& raw) { return DataArray{.raw = raw, .origin = path, .where = file.where}; };
      return Split(array(set.x), array(set.y), Targets::kLabels, 1, {array(set.lengths)});
    };
    return SourceData{.train = split(sets.train), .valid = split(sets.valid), .test = split(sets.test)};
  };
}

std::optional<Split> PianoRollsConfig::read_examples(const std::string& path, const KnownData&) const {
  const PianoRolls set = read_piano_rolls(path).train;
  auto array = [&](const Tensor& raw) { return DataArray{.raw = raw, .origin = path}; };
  return Split(array(set.x), array(set.y), Targets::kLabels, 1, {array(set.lengths)});
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
