#include "cli/sweep/points.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "cli/text.h"
#include "compiler/base/utf8.h"
#include "config/config_node.h"

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

struct IntegerRange {
  int64_t first = 0, last = 0, step = 1;
};

// "1..5" or "10..0..-2"; nothing where the text is none, also where a number does not fit in 64 bits.
std::optional<IntegerRange> range_of(const std::string& text) {
  IntegerRange out;
  const char *at = text.data(), *end = at + text.size();
  auto number = [&](int64_t& into) {
    if (at < end && *at == '+') ++at;
    const auto [stop, error] = std::from_chars(at, end, into);
    const bool ok = error == std::errc();
    at = stop;
    return ok;
  };
  auto dots = [&] {
    const bool ok = end - at >= 2 && at[0] == '.' && at[1] == '.';
    at += ok ? 2 : 0;
    return ok;
  };
  if (!number(out.first) || !dots() || !number(out.last)) return {};
  if (at != end && (!dots() || !number(out.step))) return {};
  return at == end ? std::optional(out) : std::nullopt;
}

// Of a range that is not empty, at most `most`.
int64_t length_of(const IntegerRange& range, int64_t most) {
  int64_t out = 1;
  for (int64_t at = range.first; out < most; ++out)
    if (__builtin_add_overflow(at, range.step, &at) || (range.step > 0 ? at > range.last : at < range.last)) break;
  return out;
}

// "0.1..0.5": a range by its form, though range_of() reads none.
bool is_range_of_other_numbers(const std::string& text) {
  if (range_of(text)) return false;
  int parts = 0;
  for (size_t start = 0, end = 0; end != std::string::npos; start = end + 2, ++parts) {
    end = text.find("..", start);
    const std::string part = text.substr(start, end == std::string::npos ? end : end - start);
    const size_t sign = part.starts_with('+') || part.starts_with('-');
    if (sign == part.size() || !std::isdigit(static_cast<unsigned char>(part[sign]))) return false;
    double number = 0;
    const char *at = part.data() + sign, *last = part.data() + part.size();
    const auto [stop, error] = std::from_chars(at, last, number);
    if (error == std::errc::invalid_argument || stop != last) return false;
  }
  return parts == 2 || parts == 3;
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
  explicit Words(const std::vector<std::string>& words) : words_(words) {
    for (size_t i = 0; i < words.size(); ++i) read(i);
    if (keys_.empty() && findings_.empty())
      throw UserError(Message{.what = "thtrain sweep: no key has several values",
                              .expected = "at least one list, as in trainer.learning_rate=0.1,0.03 or seed=1..3",
                              .hint = "`thtrain train` does a single run"});
    int64_t product = 1;
    for (const SweptKey& key : keys_) {
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
    if (parts.size() == 1 && !range_of(parts[0].text) && !is_range_of_other_numbers(parts[0].text)) return;
    SweptKey swept{.key = key, .name = key, .values = {}, .word = index};
    for (const SweptValue& part : parts) add(swept, part);
    keys_.push_back(std::move(swept));
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

SweepPoints::SweepPoints(std::vector<std::string> words) : words_(std::move(words)) {
  keys_ = Words(words_).keys();
  name_keys(keys_);
  std::set<std::string> names;
  for (int64_t i = 0; i < count() && is_readable_; ++i) {
    const std::string name = readable_name(i);
    is_readable_ = is_name(name) && names.insert(name).second;
  }
}

int64_t SweepPoints::count() const {
  int64_t out = 1;
  for (const SweptKey& key : keys_) out *= static_cast<int64_t>(key.values.size());
  return out;
}

std::vector<size_t> SweepPoints::indices(int64_t point) const {
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
