#include "cli/toml_mistakes.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "cli/toml_nesting.h"
#include "compiler/base/str.h"
#include "compiler/base/utf8.h"

namespace thtrain {

ConfigPosition TomlSource::place(int number, int column, int length) const {
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

size_t byte_of(const std::string& line, int column) {
  size_t at = 0;
  for (; at < line.size(); ++at)
    if ((line[at] & 0xC0) != 0x80 && --column <= 0) break;
  return at;
}

// ---- keys that are given twice -------------------------------------------------------------------------------------

bool is_of_repeated_key(const TomlComplaint& complaint) {
  return complaint.what.find("cannot redefine") != std::string::npos;
}

static bool is_header(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string::npos && line[first] == '[';
}

int line_of(const TomlSource& source, const TomlComplaint& complaint) {
  const bool is_of_header = complaint.what.ends_with("' as array-of-tables") ||
                            complaint.what.ends_with("' as table") ||
                            complaint.what.find("existing table '") != std::string::npos ||
                            complaint.what.ends_with("into existing inline table");
  const bool is_behind = is_of_header && complaint.column == 1 && !is_header(source.line(complaint.line));
  return is_behind && is_header(source.line(complaint.line - 1)) ? complaint.line - 1 : complaint.line;
}

namespace {

// The keys of the one entry of a text, from the outside in: "a.b" of `[a]` and `b = 1`, "a" and "b".
std::vector<std::string> keys_of(const ConfigNode& root) {
  std::vector<std::string> out;
  for (const ConfigNode* node = &root; !node->children.empty();) {
    const ConfigNode& last = node->children.back();
    if (node->is_array()) {
      node = &last;
      continue;
    }
    out.push_back(last.key);
    if (!last.is_table() && !(last.is_array() && !last.children.empty() && last.children.back().is_table())) break;
    node = &last;
  }
  return out;
}

// The table that a header at this place would be in: of an array of tables, its last one.
const ConfigNode* last_element(const ConfigNode* node) {
  return node && node->is_array() && !node->children.empty() && node->children.back().is_table()
             ? &node->children.back()
             : node;
}

class RepeatedKey {
 public:
  RepeatedKey(const TomlSource& source, const TomlComplaint& complaint, const std::vector<std::string>& lines,
              std::optional<ConfigNode> (*parse)(const std::string& text))
      : source_(source),
        number_(line_of(source, complaint)),
        line_(source.line(number_)),
        lines_(lines),
        parse_(parse) {
    const size_t start = std::min(line_.find_first_not_of(" \t"), line_.size());
    if (is_header(line_)) keys_ = keys_in(line_);  // a line of an array may begin with a bracket too
    is_header_ = !keys_.empty();
    if (is_header_) {
      at_ = std::min(line_.find_first_not_of("[ \t", start), line_.size());
    } else {
      // Of several in a line, the parser points to this one, or behind it.
      const std::string quoted = name_in_quotes(complaint.what);
      const size_t pointed = byte_of(line_, complaint.column);
      at_ = quoted.empty() ? line_.find_last_of("\n\t ,{", pointed) + 1 : line_.rfind(quoted, pointed);
      if (at_ == std::string::npos) at_ = start;
      is_inside_ = at_ > start;
      keys_ = keys_in(str(line_.substr(at_, std::min(line_.find('=', at_), line_.size()) - at_), "= 0"));
      if (keys_.empty()) keys_ = {quoted};
    }
  }

  Message message() {
    find_first();
    std::vector<std::string> path(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(depth_));
    Message out{.what = str("key ", join(path, "."), " is given twice"),
                .expected = "each key once",
                .config = source_.place(number_, 1, 1)};
    size_t at = at_;
    for (size_t i = 0; i < depth_; ++i) {
      const size_t found = line_.find(keys_[i], i == 0 ? at_ : at + keys_[i - 1].size());
      if (found == std::string::npos) break;
      at = found;
    }
    const int length = character_count(path.back());
    out.config = source_.place(number_, character_count(line_.substr(0, at)) + 1, length);
    if (!first_) return out;
    const ConfigPosition& place = first_->key_position;
    out.hint = str("it is first given in line ", place.line,
                   place.line == out.config.line ? str(", column ", place.column) : "");
    const bool wants_table = is_header_ || depth_ < keys_.size();
    if (wants_table && !first_->is_table()) out.hint += str(", as ", description(*first_));
    return out;
  }

 private:
  // "cannot redefine existing integer 'a.b'" -> "a.b"
  static std::string name_in_quotes(std::string_view text) {
    const size_t first = text.find('\''), last = text.find('\'', first + 1);
    if (last == std::string_view::npos) return "";
    return std::string(text.substr(first + 1, last - first - 1));
  }
  std::vector<std::string> keys_in(const std::string& text) const {
    const std::optional<ConfigNode> parsed = parse_(text);
    return parsed ? keys_of(*parsed) : std::vector<std::string>();
  }

  // What was there when the key came again, and the table that the key is of.
  void find_first() {
    depth_ = keys_.size();
    std::string before;
    const size_t above = std::min(static_cast<size_t>(std::max(number_, 1)) - 1, lines_.size());
    for (size_t i = 0; i < above; ++i) before += lines_[i] + "\n";
    if (is_inside_) {
      before += line_.substr(0, at_);
      while (!before.empty() && std::string_view(" \t\n,").find(before.back()) != std::string_view::npos)
        before.pop_back();
    }
    const std::string closing = is_inside_ ? closing_brackets(before) : "";
    root_ = parse_(before + closing);
    if (!root_) return;
    const ConfigNode* table = &*root_;
    if (!is_header_)
      for (const std::string& key : section_keys()) {
        const ConfigNode* found = table ? table->find(key) : nullptr;
        table = last_element(found);
      }
    for (size_t i = 0; table && i < closing.size(); ++i) {  // into the value that the key stands in
      if (table->children.empty()) return;
      table = &table->children.back();
      while (is_dotted(*table) && !table->children.empty()) table = &table->children.back();
    }
    for (size_t i = 0; table && i < keys_.size(); ++i) {
      const ConfigNode* found = table->find(keys_[i]);
      if (!found) return;
      const ConfigNode* inner = last_element(found);
      if (i + 1 == keys_.size() || !inner->is_table()) {
        first_ = found;
        depth_ = i + 1;
        return;
      }
      table = inner;
    }
  }
  // `a.b = {`: a is where its key is, and b behind its own.
  static bool is_dotted(const ConfigNode& table) {
    return table.is_table() && !table.key.empty() && table.position.line == table.key_position.line &&
           table.position.column == table.key_position.column;
  }

  // Of the header that the line is under.
  std::vector<std::string> section_keys() const {
    for (size_t i = std::min(static_cast<size_t>(std::max(number_, 1)) - 1, lines_.size()); i-- > 0;) {
      const std::string& line = lines_[i];
      if (!is_header(line)) continue;
      if (std::vector<std::string> keys = keys_in(line); !keys.empty()) return keys;
    }
    return {};
  }

  const TomlSource& source_;
  int number_;
  const std::string& line_;
  const std::vector<std::string>& lines_;
  std::optional<ConfigNode> (*parse_)(const std::string& text);
  bool is_header_ = false, is_inside_ = false;  // within a value of its line
  size_t at_ = 0;                               // where its first key begins
  std::vector<std::string> keys_;
  size_t depth_ = 0;  // how many of them name what is given twice
  std::optional<ConfigNode> root_;
  const ConfigNode* first_ = nullptr;
};

}  // namespace

Message repeated_key(const TomlSource& source, const TomlComplaint& complaint, const std::vector<std::string>& lines,
                     std::optional<ConfigNode> (*parse)(const std::string& text)) {
  return RepeatedKey(source, complaint, lines, parse).message();
}

// ---- other mistakes ------------------------------------------------------------------------------------------------

// Text where a value should be, such as `True` or `digits`: where it starts, if the byte `at` is in it.
static size_t bare_word(const std::string& line, size_t at) {
  size_t start = at;
  if (line.find_first_not_of(" \t") == line.find('[')) return std::string::npos;  // a header
  while (start > 0 && std::string_view(" \t=,[{").find(line[start - 1]) == std::string_view::npos) --start;
  size_t before = start == 0 ? std::string::npos : line.find_last_not_of(" \t", start - 1);
  bool is_value = before != std::string::npos && std::string_view("=,[").find(line[before]) != std::string_view::npos;
  bool letter = start < line.size() && std::isalpha(static_cast<unsigned char>(line[start]));
  return is_value && letter ? start : std::string::npos;
}

static constexpr const char* kValues = "a string in quotes, a number, true, false, an array or an inline table";

static void take_bare_word(Message& out, const std::string& line, size_t start) {
  const std::string word = line.substr(start, line.find_first_of(" \t#,]}", start) - start);
  std::string lower = word;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool is_boolean = lower == "true" || lower == "false";
  const bool is_plain = word.find_first_of("\"'=[{") == std::string::npos;
  out.what = "not valid TOML: this is not a value";
  out.expected = kValues;
  out.got = word;
  out.config.column = character_count(line.substr(0, start)) + 1;
  out.config.length = character_count(word);
  if (is_plain) out.hint = is_boolean ? str("write ", lower) : str("text goes into quotes: \"", word, "\"");
}

// 'x' or '\n' as a message says it; what follows the last of `before` in `text`, without quotes.
static std::string seen(const std::string& text) {
  std::string out = text;
  if (out.size() >= 2 && out.front() == '\'' && out.back() == '\'') out = out.substr(1, out.size() - 2);
  return out == "\\n" || out == "\\r" || out == "\n" || out == "\r" ? "the end of the line" : out;
}

// "expected a comment or whitespace, saw '2'" has both; false where it has not.
static bool take_expected(Message& out, const std::string& what) {
  const std::string begin = "expected ", middle = ", saw ";
  const size_t at = what.rfind(middle);
  if (!what.starts_with(begin) || at == std::string::npos) return false;
  out.what = "not valid TOML";
  out.expected = what.substr(begin.size(), at - begin.size());
  out.got = seen(what.substr(at + middle.size()));
  if (out.expected == "bare key starting character or string delimiter") out.expected = "a key, bare or in quotes";
  if (out.got.starts_with("closing '}'")) out.expected = "key = value, or no comma before the }", out.got = "}";
  if (out.expected == "value") out.expected = kValues;
  if (out.expected == "a comment or whitespace") out.expected = "the end of the line, or a comment";
  return true;
}

// The number or word that ends before the byte `at`.
static void point_at_literal(Message& out, const std::string& line, size_t at) {
  size_t end = std::min(at, line.size());
  while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t')) --end;
  size_t start = end;
  while (start > 0 && std::string_view(" \t=,[{").find(line[start - 1]) == std::string_view::npos) --start;
  if (start == end) return;
  out.got = line.substr(start, end - start);
  out.config.column = character_count(line.substr(0, start)) + 1;
  out.config.length = character_count(out.got);
}

static void take_number(Message& out, const std::string& what, const std::string& line, size_t at) {
  if (what.find("is not representable in 64 bits") != std::string::npos) {
    out.what = "not valid TOML: the integer does not fit 64 bits";
    out.expected =
        str("an integer from ", std::numeric_limits<int64_t>::min(), " to ", std::numeric_limits<int64_t>::max());
    point_at_literal(out, line, at);
  } else if (what.find("could not be interpreted as a value") != std::string::npos) {
    out.what = "not valid TOML: the number is too large";
    out.expected = "a number that float64 holds, up to 1.8e308";
    point_at_literal(out, line, at);
  } else if (what.find("leading zeroes are prohibited") != std::string::npos) {
    out.expected = "a number without zeros before it";
    const size_t end = std::min(line.find_first_of(" \t#,]}", at), line.size());
    point_at_literal(out, line, end);
    const size_t first = std::min(out.got.find_first_not_of("+-0"), out.got.size());
    if (first < out.got.size() && std::isdigit(static_cast<unsigned char>(out.got[first])))
      out.hint = str("write ", out.got.starts_with('-') ? "-" : "", out.got.substr(first));
  }
}

// What a complaint of these words asks for; the first that fits.
static const char* expected_after(const std::string& what) {
  struct Row {
    const char *part, *expected;
  };
  static constexpr Row kRows[] = {
      {"could not determine value type", kValues},
      {"blank bare keys", "a key in the brackets, as in [trainer]"},
      {"brackets must be contiguous", "[[ and ]] without blanks between them"},
      {"into existing inline table", "all keys of an inline table within its braces"},
      {"escape sequence", "one of \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX, or the text in single quotes"},
      {"control characters", "no control characters but tabs"},
      {"trailing comma", "no comma before the }"},
      {"multi-line strings", "a string of one line"},
      {"invalid utf-8", "a text in UTF-8"},
      {"underscores", "digits before and after each _"},
  };
  for (const auto& [part, expected] : kRows)
    if (what.find(part) != std::string::npos) return expected;
  return "a line of TOML: [section], key = value, or # a comment";
}

Message syntax_mistake(const TomlSource& source, const TomlComplaint& complaint) {
  std::string what = complaint.what;
  const bool in_string = what.find("string: ") != std::string::npos;
  const size_t colon = what.find(": ");
  if (what.starts_with("Error while parsing") && colon != std::string::npos) what = what.substr(colon + 2);
  if (what.starts_with("Encountered")) what[0] = 'e';
  const int number = line_of(source, complaint);
  const std::string& line = source.line(number);
  const bool is_elsewhere = number != complaint.line;
  Message out{
      .what = str("not valid TOML: ", what),
      .config = source.place(number, is_elsewhere ? 1 : complaint.column, is_elsewhere ? character_count(line) : 1)};
  const size_t at = byte_of(line, out.config.column), word = bare_word(line, at);
  if (word != std::string::npos) {
    take_bare_word(out, line, word);
  } else if (in_string && at == line.size()) {
    out.what = "not valid TOML: the string has no closing quote";
    out.expected = "the quote that it began with";
    out.got = "the end of the line";
  } else if (what.find("end-of-file") != std::string::npos) {
    out.what = "not valid TOML: the text ends inside a value";
    out.expected = "the rest of the value";
    out.got = "the end of the text";
    if (line.find_first_of("[{") != std::string::npos) out.hint = "is a ] or } missing?";
  } else if (!take_expected(out, what)) {
    take_number(out, what, line, at);
  }
  if (out.expected.empty()) out.expected = expected_after(what);
  return out;
}

}  // namespace thtrain
