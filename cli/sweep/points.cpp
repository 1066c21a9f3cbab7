#include "cli/sweep/points.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "cli/sweep/integer_range.h"
#include "cli/text.h"
#include "compiler/base/utf8.h"
#include "config/config_node.h"
#include "datasets/split_mix.h"

namespace thtrain {

namespace {

constexpr const char* kPointForm = "write several values as key=0.1,0.03 or key=1..5";

ConfigPosition position_of(const std::string& word, size_t index, size_t start, size_t end) {
  const std::string_view view = word;
  ConfigPosition out;
  out.file = kCommandLine;
  out.line = static_cast<int>(index) + 1;
  out.column = character_count(view.substr(0, start)) + 1;
  out.length = std::max(1, character_count(view.substr(start, end - start)));
  out.source_line = word;
  return out;
}

// Behind the string of TOML that begins at `at`, on one line or between three quotes; the end of the word where it is
// not closed.
size_t end_of_string(const std::string& word, size_t at) {
  const char quote = word[at];
  const bool has_three = word.compare(at, 3, std::string(3, quote)) == 0;
  const std::string closing(has_three ? 3 : 1, quote);
  for (size_t i = at + closing.size(); i < word.size(); ++i) {
    if (word[i] == '\\' && quote == '"') {
      ++i;
    } else if (word.compare(i, closing.size(), closing) == 0) {
      i += closing.size();
      for (int more = 0; has_three && more < 2 && i < word.size() && word[i] == quote; ++more) ++i;  // """a"""" ends so
      return i;
    }
  }
  return word.size();
}

// The parts between commas that are in no quotes and no brackets. A quote opens a string where a value may begin: it
// is a letter inside a word (don't). Of a word whose quotes or brackets are not closed, what follows them is one part:
// reading it as a value says so.
std::vector<SweptValue> parts_of(const std::string& word, size_t begin) {
  std::vector<SweptValue> out;
  int depth = 0;
  size_t start = begin;
  auto end_part = [&](size_t end) {
    size_t first = start, last = end;
    while (first < last && std::isspace(static_cast<unsigned char>(word[first]))) ++first;
    while (last > first && std::isspace(static_cast<unsigned char>(word[last - 1]))) --last;
    out.push_back({word.substr(first, last - first), first, last});
    start = end + 1;
  };
  bool may_begin = true;  // a value
  for (size_t i = begin; i < word.size(); ++i) {
    const char c = word[i];
    if (std::isspace(static_cast<unsigned char>(c))) continue;
    if ((c == '"' || c == '\'') && may_begin) {
      i = end_of_string(word, i) - 1;
      may_begin = false;
      continue;
    }
    if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      depth = std::max(0, depth - 1);
    } else if (c == ',' && depth == 0) {
      end_part(i);
    }
    may_begin = c == ',' || c == '[' || c == '{' || (c == '=' && depth > 0);
  }
  end_part(word.size());
  return out;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// One text of numbers that are written differently, such as 1, 01 and 1.0; the text of what is none.
std::string number_or_text(const std::string& text) {
  const char *begin = text.data() + text.starts_with('+'), *end = text.data() + text.size();
  int64_t integer = 0;
  double number = 0;
  if (const auto [stop, error] = std::from_chars(begin, end, integer); error == std::errc() && stop == end)
    return std::to_string(integer);
  if (const auto [stop, error] = std::from_chars(begin, end, number); error == std::errc() && stop == end)
    return number_text(number);
  return text;
}

/// One word, taken apart.
class Words {
 public:
  Words(const std::vector<std::string>& words, bool draws) : words_(words), draws_(draws) {
    for (size_t i = 0; i < words.size(); ++i) read(i);
    if (keys_.empty() && findings_.empty())
      throw UserError(Message{.what = "thtrain sweep: no key has several values",
                              .expected = "at least one list, as in trainer.learning_rate=0.1,0.03 or seed=1..3",
                              .hint = "`thtrain train` does a single run"});
    int64_t product = 1;
    for (const SweptKey& key : keys_) {
      if (draws_) break;  // it counts those
      product *= static_cast<int64_t>(key.values.size());
      if (product <= kMaxSweepRuns) continue;
      findings_.add({.what = str("the sweep has more than ", count_text(kMaxSweepRuns), " runs"),
                     .expected = str("a product of the lengths of the lists of at most ", count_text(kMaxSweepRuns)),
                     .config = position_of(words[key.word], key.word, 0, words[key.word].size())});
      break;
    }
    findings_.raise();
  }
  std::vector<SweptKey> keys() { return std::move(keys_); }

 private:
  void read(size_t index) {
    const std::string& word = words_[index];
    const size_t equals = word.find('=');
    if (equals == std::string::npos || trimmed(word.substr(equals + 1)).empty()) {
      findings_.add({.what = str('"', word, "\" has no ", equals == std::string::npos ? "=" : "value behind the ="),
                     .config = position_of(word, index, 0, word.size()),
                     .hint = kPointForm});
      return;
    }
    const std::string key = trimmed(word.substr(0, equals));
    const auto [first, is_new] = seen_.emplace(key, index);
    if (!key.empty() && !is_new)
      findings_.add(
          {.what = str(key, " is given twice"),
           .config = position_of(word, index, word.find(key), word.find(key) + key.size()),
           .hint = str("it is first given as ", words_[first->second], ": write all of its values as one list")});
    const std::vector<SweptValue> parts = parts_of(word, equals + 1);
    const bool has_interval = std::ranges::any_of(parts, SweepInterval::is_meant, &SweptValue::text);
    if (parts.size() == 1 && !has_interval && !range_of(parts[0].text) && !is_range_of_other_numbers(parts[0].text))
      return;
    SweptKey swept{.key = key, .name = key, .values = {}, .word = index};
    if (has_interval)
      take_interval(swept, parts);
    else
      for (const SweptValue& part : parts) add(swept, part);
    keys_.push_back(std::move(swept));
  }

  void take_interval(SweptKey& swept, const std::vector<SweptValue>& parts) {
    const SweptValue& part = *std::ranges::find_if(parts, SweepInterval::is_meant, &SweptValue::text);
    const ConfigPosition position = position_of(words_[swept.word], swept.word, part.start, part.end);
    swept.interval = SweepInterval::of(part.text);
    if (!swept.interval)
      findings_.add({.what = str(part.text, " is no interval"),
                     .expected = "uniform:a..b or log:a..b with two numbers, a below b, of log: above 0",
                     .config = position});
    else if (parts.size() > 1)
      findings_.add({.what = str(swept.key, " has an interval and other values"),
                     .expected = "a list, or one interval",
                     .config = position});
    else if (!draws_)
      findings_.add({.what = str("no values are drawn from the interval ", part.text),
                     .expected = "--random N, for N runs whose values are drawn",
                     .config = position,
                     .hint = "a sweep without --random takes all combinations of lists"});
    else if (swept.key == "seed")
      findings_.add({.what = "seed has an interval",
                     .expected = "a list of seeds, with each of which every point is run",
                     .config = position,
                     .hint = "as in seed=1..3"});
    swept.values.push_back(part);
  }

  void add(SweptKey& swept, const SweptValue& part) {
    const std::string& word = words_[swept.word];
    const ConfigPosition position = position_of(word, swept.word, part.start, part.end);
    if (part.text.empty()) {
      findings_.add(
          {.what = str(swept.key, " has an empty value between its commas"), .config = position, .hint = kPointForm});
      return;
    }
    if (is_range_of_other_numbers(part.text)) {
      findings_.add({.what = str("the range ", part.text, " is not one of integers"),
                     .expected = "integers of 64 bits, as in 1..5 or 10..35..10",
                     .config = position,
                     .hint = "write other numbers as a list, as in 0.1,0.3,0.5"});
      return;
    }
    const std::optional<IntegerRange> range = range_of(part.text);
    if (!range) return add_value(swept, part, part.text);
    const bool leads = range->first == range->last || (range->step > 0) == (range->first < range->last);
    if (range->step == 0 || !leads) {
      findings_.add({.what = str("the range ", part.text, " has no numbers"),
                     .expected = "a..b with a at most b, or steps that lead from a to b, as in 5..1..-1",
                     .got = str("steps of ", range->step, " from ", range->first, " to ", range->last),
                     .config = position});
      return;
    }
    const int64_t length = length_of(*range, kMaxSweepRuns + 1);
    for (int64_t i = 0, at = range->first; i < length; ++i) {
      add_value(swept, part, std::to_string(at));
      if (i + 1 < length) at += range->step;  // length_of() found that it fits
    }
  }

  void add_value(SweptKey& swept, const SweptValue& part, const std::string& text) {
    const auto [found, is_new] = written_.emplace(str(swept.key, '=', number_or_text(text)), text);
    if (is_new) {
      swept.values.push_back({text, part.start, part.end});
      return;
    }
    const std::string& before = found->second;
    findings_.add({.what = str(swept.key, " has the value ", before, " twice",
                               before == text ? "" : str(", the second time as ", text)),
                   .expected = "each value once",
                   .config = position_of(words_[swept.word], swept.word, part.start, part.end)});
  }

  const std::vector<std::string>& words_;
  bool draws_;
  std::vector<SweptKey> keys_;
  std::map<std::string, size_t> seen_;          // keys, and the words that they are in
  std::map<std::string, std::string> written_;  // "key=value" of lists, numbers alike, and how it was written first
  Findings findings_;
};

// The last `count` parts of "model.layers.0.units".
std::string last_parts(const std::string& key, int count) {
  size_t at = key.size();
  while (count-- > 0 && at != std::string::npos && at > 0) at = key.rfind('.', at - 1);
  return at == std::string::npos || at == 0 ? key : key.substr(at + 1);
}

void name_keys(std::vector<SweptKey>& keys) {
  for (SweptKey& key : keys) {
    for (int parts = 1; parts < 100; ++parts) {
      key.name = last_parts(key.key, parts);
      const bool is_unique = std::count_if(keys.begin(), keys.end(), [&](const SweptKey& other) {
                               return last_parts(other.key, parts) == key.name;
                             }) == 1;
      if (is_unique || key.name == key.key) break;
    }
  }
}

// A string of TOML without its quotes.
std::string without_quotes(const std::string& text) {
  const bool is_quoted = text.size() > 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

bool is_name(const std::string& text) {
  return text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) ||
                  std::string_view(".,=_+-").find(c) != std::string::npos;
         });
}

}  // namespace

SweepPoints::SweepPoints(std::vector<std::string> words, const SweepSearch& search) : words_(std::move(words)) {
  keys_ = Words(words_, search.random > 0).keys();
  name_keys(keys_);
  if (search.random > 0) draw(search);
  std::set<std::string> names;
  for (int64_t i = 0; i < count() && is_readable_; ++i) {
    const std::string name = readable_name(i);
    is_readable_ = is_name(name) && names.insert(name).second;
  }
}

// Which value each key has in a draw: of a list its index, of an interval that of a new value.
void SweepPoints::draw(const SweepSearch& search) {
  const int64_t most_failed = 1000 + 100 * search.random;  // draws, before there are taken to be no more points
  std::vector<std::optional<SweptValue>> intervals;
  size_t seeds = keys_.size();
  for (size_t k = 0; k < keys_.size(); ++k) {
    SweptKey& key = keys_[k];
    intervals.push_back(key.interval ? std::optional(key.values.front()) : std::nullopt);
    if (key.interval) key.values.clear();
    if (key.key == "seed") seeds = k;
  }
  const size_t runs_of_a_point = seeds < keys_.size() ? keys_[seeds].values.size() : 1;
  if (search.random > kMaxSweepRuns / static_cast<int64_t>(runs_of_a_point))
    throw UserError(Message{.what = str("the sweep has more than ", count_text(kMaxSweepRuns), " runs"),
                            .expected = str("at most ", count_text(kMaxSweepRuns), ", of all points with all seeds"),
                            .got = str("--random ", search.random)});
  std::set<std::vector<std::string>> seen;
  int64_t failed = 0;
  for (uint64_t n = 0; std::ssize(seen) < search.random && failed < most_failed; ++n) {
    std::vector<std::string> texts;
    std::vector<size_t> point;
    for (size_t k = 0; k < keys_.size(); ++k) {
      const double u = SplitMix::of(static_cast<uint64_t>(search.random_seed), k, n).uniform();
      const std::vector<SweptValue>& list = keys_[k].values;
      point.push_back(k == seeds || intervals[k] ? 0 : static_cast<size_t>(u * static_cast<double>(list.size())));
      texts.push_back(intervals[k] ? keys_[k].interval->draw(u) : list[point[k]].text);
    }
    const bool is_new = seen.insert(texts).second;
    failed = is_new ? 0 : failed + 1;
    if (!is_new) continue;
    for (size_t k = 0; k < keys_.size(); ++k) {
      if (!intervals[k]) continue;
      point[k] = keys_[k].values.size();
      keys_[k].values.push_back({texts[k], intervals[k]->start, intervals[k]->end});
    }
    for (size_t run = 0; run < runs_of_a_point; ++run) {
      if (seeds < keys_.size()) point[seeds] = run;
      drawn_.push_back(point);
    }
  }
  if (std::ssize(seen) < search.random)
    throw UserError(Message{.what = str("there are too few different points for --random ", search.random),
                            .expected = "larger intervals, longer lists, or fewer points",
                            .got = count_text(std::ssize(seen), "point"),
                            .hint = "a sweep without --random takes all combinations of lists; each point is run with "
                                    "all values of a list of seed"});
}

int64_t SweepPoints::count() const {
  if (is_drawn()) return std::ssize(drawn_);
  int64_t out = 1;
  for (const SweptKey& key : keys_) out *= static_cast<int64_t>(key.values.size());
  return out;
}

std::vector<size_t> SweepPoints::indices(int64_t point) const {
  if (is_drawn()) return drawn_[static_cast<size_t>(point)];
  std::vector<size_t> out(keys_.size());
  for (size_t i = keys_.size(); i-- > 0;) {
    const auto size = static_cast<int64_t>(keys_[i].values.size());
    out[i] = static_cast<size_t>(point % size);
    point /= size;
  }
  return out;
}

int64_t SweepPoints::point_of(size_t key, size_t value) const {
  auto out = static_cast<int64_t>(value);
  for (size_t i = key + 1; i < keys_.size(); ++i) out *= static_cast<int64_t>(keys_[i].values.size());
  return out;
}

std::vector<std::string> SweepPoints::values(int64_t point) const {
  std::vector<std::string> out;
  const std::vector<size_t> at = indices(point);
  for (size_t i = 0; i < keys_.size(); ++i) out.push_back(keys_[i].values[at[i]].text);
  return out;
}

std::vector<std::string> SweepPoints::overrides(int64_t point) const {
  std::vector<std::string> out = words_;
  const std::vector<std::string> chosen = values(point);
  for (size_t i = 0; i < keys_.size(); ++i) {
    std::string& word = out[keys_[i].word];
    word = word.substr(0, word.find('=') + 1) + chosen[i];
  }
  return out;
}

std::string SweepPoints::readable_name(int64_t point) const {
  std::string out;
  const std::vector<std::string> chosen = values(point);
  for (size_t i = 0; i < keys_.size(); ++i) out += str(i ? "," : "", keys_[i].name, '=', without_quotes(chosen[i]));
  return out;
}

std::string SweepPoints::name(int64_t point) const {
  if (is_readable_) return readable_name(point);
  const std::string number = std::to_string(point + 1);
  return str("run-", std::string(std::to_string(count()).size() - number.size(), '0'), number);
}

std::vector<Message> SweepPoints::located(const Error& error, int64_t point) const {
  std::vector<Message> out = error.messages();
  const std::vector<size_t> at = indices(point);
  for (Message& message : out) {
    if (message.config.file != kCommandLine) continue;
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (message.config.line != static_cast<int>(keys_[i].word) + 1) continue;
      const std::string& word = words_[keys_[i].word];
      const SweptValue& value = keys_[i].values[at[i]];
      const int key_end = character_count(std::string_view(word).substr(0, word.find('=') + 1));
      message.config.source_line = word;
      if (message.config.column <= key_end) continue;
      const bool is_of_range = word.substr(value.start, value.end - value.start) != value.text;
      const ConfigPosition whole = position_of(word, keys_[i].word, value.start, value.end);
      message.config.column = is_of_range ? whole.column : whole.column + message.config.column - key_end - 1;
      if (is_of_range) message.config.length = whole.length;
    }
  }
  return out;
}

}  // namespace thtrain
