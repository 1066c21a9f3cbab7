#include "reports/json.h"

#include <cmath>

#include "compiler/base/error.h"
#include "compiler/base/utf8.h"

namespace thtrain {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    const char32_t c = point.code;
    if (!point.valid)
      out += "\\ufffd";
    else if (c == '"' || c == '\\')
      out += {'\\', text[i]};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20 || c == 0x7f)
      out += {'\\', 'u', '0', '0', static_cast<char>('0' + c / 16), "0123456789abcdef"[c % 16]};
    else
      out += text.substr(i, point.bytes);
    i += point.bytes;
  }
  return out + '"';
}

std::string json_number(double value) {
  return std::isfinite(value) ? number_text(value) : "null";
}

std::string json_fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "null";
  return fixed_text(value, decimals);
}

JsonObject& JsonObject::add_raw(std::string_view key, std::string_view json) {
  entries_.push_back(str(json_string(key), ": ", json));
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<std::string>& values) {
  return add_raw(key, str('[', join(values, ", ", [](const std::string& value) { return json_string(value); }), ']'));
}

JsonObject& JsonObject::add_error(std::string_view key, const std::optional<double>& value) {
  return value ? add_raw(key, json_fixed(*value, 6)) : *this;
}

std::string JsonObject::line() const {
  return str('{', join(entries_, ", "), '}');
}
std::string JsonObject::lines() const {
  return str("{\n  ", join(entries_, ",\n  "), "\n}\n");
}

namespace {

class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& source) : text_(text), source_(source) {}
  std::map<std::string, std::string> read() {
    if (text_.size() > kMaxBytes) fail(str("it has ", text_.size(), " bytes, and may have ", kMaxBytes));
    value("", 0);
    skip_spaces();
    if (at_ != text_.size()) fail("more after the end");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(Message{.what = str(source_, ": no valid JSON: ", what),
                            .expected = "JSON, as it was written",
                            .got = str("byte ", at_)});
  }
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  void skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  char peek() {
    skip_spaces();
    if (at_ == text_.size()) fail("it ends too early");
    return text_[at_];
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(str("there is no '", c, "'"));
  }

  // Each value is kept with its whole path: without limits, a small text with long keys takes all the memory.
  static constexpr size_t kMaxBytes = 64 << 20, kLongestPath = 4096, kMaxKept = 256 << 20;
  void keep(const std::string& path, std::string value) {
    kept_ += path.size() + value.size() + 96;  // and a node of the map
    if (kept_ > kMaxKept) fail("it holds too much");
    out_[path] = std::move(value);
  }

  void value(const std::string& path, int depth) {
    if (depth > 64) fail("too deep");
    if (path.size() > kLongestPath) fail(str("a value has keys of more than ", kLongestPath, " bytes"));
    char c = peek();
    if (c == '{')
      table(path, depth);
    else if (c == '[')
      array(path, depth);
    else if (c == '"')
      keep(path, string());
    else
      keep(path, word());
  }
  void table(const std::string& path, int depth) {
    expect('{');
    if (take('}')) return;
    do {
      if (peek() != '"') fail("a key is no string");
      std::string key = string();
      expect(':');
      value(path.empty() ? key : str(path, '.', key), depth + 1);
    } while (take(','));
    expect('}');
  }
  void array(const std::string& path, int depth) {
    expect('[');
    if (take(']')) return;
    int64_t i = 0;
    do value(path.empty() ? std::to_string(i) : str(path, '.', i), depth + 1);
    while (++i, take(','));
    expect(']');
  }
  std::string word() {
    size_t end = at_;
    for (; end < text_.size() && !is_space(text_[end]); ++end)
      if (text_[end] == ',' || text_[end] == ']' || text_[end] == '}') break;
    const std::string_view out = text_.substr(at_, end - at_);
    if (out.empty()) fail("a value is missing");
    if (out != "true" && out != "false" && out != "null" && !is_number(out)) fail("a value is none");
    at_ = end;
    return std::string(out);
  }
  // [ - ] digits [ . digits ] [ e [ + | - ] digits ], without zeros before the first digits.
  static bool is_number(std::string_view text) {
    size_t at = text[0] == '-' ? 1 : 0;
    auto is = [&](char c) { return at < text.size() && text[at] == c; };
    auto digits = [&] {
      const size_t start = at;
      while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
      return at - start;
    };
    const bool begins_with_zero = is('0');
    const size_t count = digits();
    if (count == 0 || (begins_with_zero && count > 1)) return false;
    if (is('.') && (++at, digits() == 0)) return false;
    if (is('e') || is('E')) {
      ++at;
      if (is('+') || is('-')) ++at;
      if (digits() == 0) return false;
    }
    return at == text.size();
  }
  std::string string() {
    expect('"');
    std::string out;
    while (true) {
      size_t end = at_;  // of what is as it is
      while (end < text_.size() && static_cast<signed char>(text_[end]) >= 0x20 && text_[end] != '"' &&
             text_[end] != '\\')
        ++end;
      out.append(text_, at_, end - at_);
      at_ = end;
      if (at_ == text_.size()) fail("a string does not end");
      const char c = text_[at_];
      if (c == '"') return ++at_, out;
      if (c == '\\')
        ++at_, escape(out);
      else
        beyond_ascii(out);
    }
  }
  void beyond_ascii(std::string& out) {
    const CodePoint point = code_point_at(text_, at_);
    if (!point.valid) fail("a string is not UTF-8");
    if (point.code < 0x20) fail("a string holds a control character");
    out.append(text_, at_, point.bytes);
    at_ += point.bytes;
  }
  void escape(std::string& out) {
    if (at_ == text_.size()) fail("a string does not end");
    char c = text_[at_++];
    const std::string_view from = "nrtbf\"\\/", to = "\n\r\t\b\f\"\\/";
    size_t which = from.find(c);
    if (which != std::string_view::npos)
      out += to[which];
    else if (c == 'u')
      append_utf8(out, escaped_code_point());
    else
      fail("an unknown escape");
  }
  // Behind "\u": four digits, and the other half where they are the first one of a pair.
  char32_t escaped_code_point() {
    const char32_t first = four_digits();
    if (is_code_point(first)) return first;
    const bool goes_on = first < 0xdc00 && text_.substr(at_, 2) == "\\u";
    if (goes_on) at_ += 2;
    const char32_t second = goes_on ? four_digits() : 0;
    if (second < 0xdc00 || second > 0xdfff) fail("an escape is half of a surrogate pair");
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }
  char32_t four_digits() {
    if (at_ + 4 > text_.size()) fail("a string does not end");
    char32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      char c = text_[at_++];
      if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
      const size_t digit = std::string_view("0123456789abcdef").find(c);
      if (digit == std::string_view::npos) fail("an escape is no number");
      code = code * 16 + static_cast<char32_t>(digit);
    }
    return code;
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0, kept_ = 0;
  std::map<std::string, std::string> out_;
};

}  // namespace

std::map<std::string, std::string> read_json(std::string_view text, const std::string& source) {
  return JsonReader(text, source).read();
}

}  // namespace thtrain
