#include "cli/toml_check.h"

#include <algorithm>
#include <optional>

#include "cli/toml_keys.h"
#include "cli/toml_values.h"
#include "compiler/base/escape.h"
#include "compiler/base/utf8.h"

namespace thtrain {

ConfigPosition TomlSource::position(int number, int column, int length) const {
  ConfigPosition out;
  out.file = file, out.line = number + first_line - 1, out.column = column;
  if (number < 1 || number > static_cast<int>(lines.size())) return out;
  out.length = std::max(1, length);
  // Each value has its line with it: of a line of a million values only those near its beginning may.
  constexpr size_t kLongLine = 4096;
  const std::string& text = line(number);
  if (text.size() <= kLongLine || column <= static_cast<int>(kLongLine))
    out.source_line = text.substr(0, 2 * kLongLine);
  return out;
}

const std::string& TomlSource::line(int number) const {
  static const std::string none;
  return number < 1 || number > static_cast<int>(lines.size()) ? none : lines[static_cast<size_t>(number) - 1];
}

namespace {

constexpr const char* kKey = "a key, bare or in quotes";
constexpr const char* kValues = "a string in quotes, a number, true, false, an array or an inline table";
constexpr const char* kEndOfLine = "the end of the line, or a comment";
constexpr const char* kLine = "a line of TOML: [section], key = value, or # a comment";
constexpr const char* kNoControl = "no control characters but tabs";

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// A walk over the text; a mistake is thrown as its TomlFault.
class Checker {
 public:
  Checker(std::string_view text, const TomlSource& source, std::string (*describe)(std::string_view value))
      : text_(text), source_(source), describe_(describe), table_(&root_) {}

  TomlCheck run(int most) {
    TomlCheck out{.rest = std::string(text_)};
    while (at_ < text_.size()) {
      const size_t start = at_, end = line_end(start);
      const std::optional<Message> mistake = mistake_of_line();
      if (!mistake) continue;
      out.has_more = static_cast<int>(out.mistakes.size()) == most;
      if (!out.has_more) out.mistakes.push_back(*mistake);
      if (out.has_more || at_ > end || !ends_with_its_line(text_.substr(start, end - start))) {
        out.rest.clear();
        break;
      }
      std::fill(out.rest.begin() + static_cast<std::ptrdiff_t>(start),
                out.rest.begin() + static_cast<std::ptrdiff_t>(end), ' ');
      at_ = end;
    }
    return out;
  }

 private:
  // ---- messages ----

  size_t line_end(size_t at) const { return std::min(text_.find('\n', at), text_.size()); }

  ConfigPosition position(size_t begin, int characters) const {
    const size_t start = begin == 0 ? 0 : text_.rfind('\n', begin - 1) + 1;  // npos + 1 is 0
    const int line =
        1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
    return source_.position(line, 1 + character_count(text_.substr(start, begin - start)) + source_.column_shift,
                            characters);
  }
  Message message(const TomlFault& fault) const {
    Message out{.what = fault.what.empty() ? "not valid TOML" : "not valid TOML: " + fault.what,
                .expected = fault.expected,
                .got = fault.got,
                .config = position(fault.begin, character_count(text_.substr(fault.begin, fault.end - fault.begin))),
                .hint = fault.hint};
    return out;
  }
  // At this position there is something else.
  [[noreturn]] void fail(const std::string& expected) const {
    if (at_ == text_.size()) fail_at_end();
    const CodePoint point = code_point_at(text_, at_);
    std::string got = point.code == 0 ? "\\u0000" : printable(text_.substr(at_, point.bytes));
    if (is_line_end()) got = "the end of the line";
    throw TomlFault{.begin = at_, .end = at_ + point.bytes, .expected = expected, .got = got};
  }
  [[noreturn]] void fail_as(const std::string& what, const std::string& expected) const {
    throw TomlFault{.begin = at_, .end = std::min(at_ + 1, text_.size()), .what = what, .expected = expected};
  }
  [[noreturn]] void fail_at_end() const {
    const size_t start = text_.rfind('\n', at_ == 0 ? 0 : at_ - 1) + 1;
    const bool is_open = text_.substr(start).find_first_of("[{") != std::string_view::npos;
    throw TomlFault{.begin = at_,
                    .end = at_,
                    .what = "the text ends inside a value",
                    .expected = "the rest of the value",
                    .got = "the end of the text",
                    .hint = is_open ? "is a ] or } missing?" : ""};
  }

  // Whether the lines behind this one, in which there is a mistake, can be read without it.
  static bool ends_with_its_line(std::string_view line) {
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || line[start] == '[') return false;
    if (line.find("\"\"\"") != std::string_view::npos || line.find("'''") != std::string_view::npos) return false;
    int depth = 0;
    for (char c : line) depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    return depth == 0;
  }

  // ---- characters ----

  bool is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool is_line_end() const { return is('\n') || (is('\r') && text_.substr(at_, 2) == "\r\n"); }
  void skip_blanks() {
    while (is(' ') || is('\t')) ++at_;
  }
  void skip_comment() {
    if (!is('#')) return;
    while (at_ < text_.size() && !is_line_end())
      skip_character("control characters other than TAB (U+0009) are explicitly prohibited in comments");
  }
  // Of a comment or a string. `control` is said of control characters.
  void skip_character(const char* control) {
    const CodePoint point = code_point_at(text_, at_);
    if (!point.valid) fail_as("invalid utf-8", "a text in UTF-8");
    if ((point.code < 0x20 && point.code != '\t') || point.code == 0x7f) fail_as(control, kNoControl);
    at_ += point.bytes;
  }
  void expect_line_end() {
    skip_blanks();
    skip_comment();
    if (at_ == text_.size()) return;
    if (!is_line_end()) fail(kEndOfLine);
    at_ = text_.find('\n', at_) + 1;
  }

  // ---- lines ----

  std::optional<Message> mistake_of_line() {
    try {
      skip_blanks();
      if (is('['))
        header();
      else if (at_ < text_.size() && (is_bare(text_[at_]) || is('"') || is('\'')))
        pair(*table_, true);
      else if (!is('#') && !is_line_end() && at_ < text_.size())
        fail(kLine);
      else
        expect_line_end();
      return {};
    } catch (const TomlFault& fault) {
      return message(fault);
    } catch (const RepeatedTomlKey& repeated) {
      return message(repeated);
    }
  }

  void header() {
    const size_t start = at_++;
    const bool is_array = is('[');
    if (is_array) ++at_;
    skip_blanks();
    if (is('[')) fail_as("[[ and ]] brackets must be contiguous", "[[ and ]] without blanks between them");
    if (is(']'))
      fail_as("tables with blank bare keys are explicitly prohibited", "a key in the brackets, as in [trainer]");
    const std::vector<TomlKey> keys = dotted_key();
    for (int i = 0; i < (is_array ? 2 : 1); ++i, ++at_)
      if (!is(']')) fail("']'");
    const size_t end = at_;
    expect_line_end();
    try {
      table_ = &open_table(root_, keys, is_array);
    } catch (const ClosedTomlTable&) {
      const size_t name = is_array ? 2 : 1;
      throw TomlFault{.begin = start,
                      .end = end,
                      .what = str("cannot insert '", text_.substr(start + name, end - start - 2 * name),
                                  "' into existing inline table"),
                      .expected = "all keys of an inline table within its braces"};
    }
  }

  // Of a line, or within an inline table.
  void pair(TomlTable& table, bool is_line) {
    const std::vector<TomlKey> keys = dotted_key();
    if (!is('=')) fail("'='");
    ++at_;
    skip_blanks();
    if (at_ == text_.size()) fail_at_end();
    if (is_line_end() || std::string_view(",]}#").find(text_[at_]) != std::string_view::npos) fail(kValues);
    require_new(table, keys);
    TomlTable inner;
    const size_t begin = at_;
    const bool is_table = is('{');
    value(inner);
    const size_t end = at_;
    if (is_line) expect_line_end();
    TomlTable& added = add_value(table, keys);
    added.kind = is_table ? TomlTable::Kind::kInline : TomlTable::Kind::kValue;
    added.children = std::move(inner.children);
    added.begin = begin, added.end = end;
  }

  std::vector<TomlKey> dotted_key() {
    std::vector<TomlKey> out;
    do {
      if (!out.empty()) ++at_;
      skip_blanks();
      if (at_ == text_.size()) fail_at_end();
      const size_t begin = at_;
      if (is('"') || is('\'')) {
        if (text_.substr(at_, 3) == std::string(3, text_[at_]))
          fail_as("multi-line strings are prohibited in keys", "a string of one line");
        std::string name = string();
        out.push_back({std::move(name), begin, begin + 1});
      } else {
        while (at_ < text_.size() && is_bare(text_[at_])) ++at_;
        if (at_ == begin) fail(kKey);
        out.push_back({std::string(text_.substr(begin, at_ - begin)), begin, begin});
      }
      skip_blanks();
    } while (is('.'));
    return out;
  }

  // ---- values ----

  // `inner` gets the keys of an inline table.
  void value(TomlTable& inner) {
    if (is('"') || is('\''))
      string();
    else if (is('['))
      array();
    else if (is('{'))
      inline_table(inner);
    else
      at_ = check_toml_scalar(text_, at_);
  }

  void skip_lines() {
    for (bool goes_on = true; goes_on;) {
      skip_blanks();
      skip_comment();
      goes_on = is_line_end();
      if (goes_on) at_ = text_.find('\n', at_) + 1;
    }
  }

  void array() {
    ++at_;
    while (true) {
      skip_lines();
      if (is(']')) break;
      if (is(',')) throw TomlFault{.begin = at_, .end = at_ + 1, .expected = "value or closing ']'", .got = "comma"};
      if (at_ == text_.size()) fail_at_end();
      TomlTable inner;
      value(inner);
      skip_lines();
      if (is(']')) break;
      if (!is(',')) fail("comma or closing ']'");
      ++at_;
    }
    ++at_;
  }

  void inline_table(TomlTable& inner) {
    ++at_;
    skip_blanks();
    while (!is('}')) {
      if (at_ == text_.size()) fail_at_end();
      pair(inner, false);
      skip_blanks();
      if (is('}')) break;
      if (!is(',')) fail("comma or closing '}'");
      ++at_;
      skip_blanks();
      if (is('}')) fail("key = value, or no comma before the }");
    }
    ++at_;
  }

  // Its text, of one line; of one of several lines "".
  std::string string() {
    const char quote = text_[at_];
    const bool has_lines = text_.substr(at_, 3) == std::string(3, quote);
    at_ += has_lines ? 3 : 1;
    std::string out;
    while (true) {
      if (at_ == text_.size() || (!has_lines && is_line_end()))
        throw TomlFault{.begin = at_,
                        .end = at_,
                        .what = "the string has no closing quote",
                        .expected = "the quote that it began with",
                        .got = has_lines ? "the end of the text" : "the end of the line"};
      if (has_lines && is_line_end()) {
        at_ = text_.find('\n', at_) + 1;
      } else if (is(quote)) {
        if (!has_lines) return ++at_, out;
        if (text_.substr(at_, 3) == std::string(3, quote)) break;
        ++at_;
      } else if (is('\\') && quote == '"') {
        out += toml_escape(text_, at_, has_lines);
      } else {
        const size_t start = at_;
        skip_character("unescaped control characters other than TAB (U+0009) are explicitly prohibited");
        out += text_.substr(start, at_ - start);
      }
    }
    at_ += 3;
    for (int more = 0; more < 2 && is(quote); ++more) ++at_;  // of the text
    return "";
  }

  Message message(const RepeatedTomlKey& repeated) const {
    std::vector<std::string> path;
    for (size_t i = 0; i < repeated.depth; ++i) path.push_back(repeated.keys[i].name);
    const TomlTable& first = repeated.first;
    const ConfigPosition before = position(first.key, 1);
    Message out{.what = str("key ", join(path, "."), " is given twice"),
                .expected = "each key once",
                .config = position(repeated.keys[repeated.depth - 1].name_begin, character_count(path.back()))};
    out.hint = str("it is first given in line ", before.line,
                   before.line == out.config.line ? str(", column ", before.column) : "");
    if (repeated.wants_table && first.kind == TomlTable::Kind::kTables)
      out.hint += str(", as an array of ", first.elements);
    else if (repeated.wants_table && first.kind == TomlTable::Kind::kValue)
      out.hint += ", as " + describe_(text_.substr(first.begin, first.end - first.begin));
    return out;
  }

  std::string_view text_;
  const TomlSource& source_;
  std::string (*describe_)(std::string_view value);
  TomlTable root_;
  TomlTable* table_;  // of the header that the line is under
  size_t at_ = 0;
};

}  // namespace

TomlCheck check_toml(std::string_view text, const TomlSource& source, int most,
                     std::string (*describe)(std::string_view value)) {
  return Checker(text, source, describe).run(most);
}

}  // namespace thtrain
