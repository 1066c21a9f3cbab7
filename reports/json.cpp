#include "reports/json.h"

#include <cmath>
#include <cstdio>

#include "compiler/base/error.h"

namespace thtrain {

// Bytes of the UTF-8 character that begins at `i`; 0 where none does. Overlong forms and surrogates are taken as they
// are.
static size_t character_bytes(std::string_view text, size_t i) {
  auto byte = static_cast<unsigned char>(text[i]);
  size_t count = byte < 0x80                   ? 1
                 : byte >= 0xc2 && byte < 0xe0 ? 2
                 : (byte & 0xf0) == 0xe0       ? 3
                 : byte >= 0xf0 && byte < 0xf5 ? 4
                                               : 0;
  if (i + count > text.size()) return 0;
  for (size_t k = 1; k < count; ++k)
    if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return 0;
  return count;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t count = character_bytes(text, i);
    if (count == 0) return false;
    auto first = static_cast<unsigned char>(text[i]), second = static_cast<unsigned char>(text[i + (count > 1)]);
    bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool is_surrogate = first == 0xed && second >= 0xa0, is_beyond = first == 0xf4 && second >= 0x90;
    if (is_overlong || is_surrogate || is_beyond) return false;
    i += count;
  }
  return true;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    size_t count = character_bytes(text, i);
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (count == 0)
      out += "\\ufffd";
    else if (c == '"' || c == '\\')
      out += {'\\', text[i]};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else
      out += text.substr(i, count);
    i += count ? count : 1;
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
  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
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
    size_t end = text_.find_first_of(" \t\r\n,]}", at_);
    std::string out(text_.substr(at_, end == std::string_view::npos ? end : end - at_));
    if (out.empty()) fail("a value is missing");
    at_ += out.size();
    return out;
  }
  std::string string() {
    expect('"');
    std::string out;
    while (true) {
      if (at_ == text_.size()) fail("a string does not end");
      char c = text_[at_++];
      if (c == '"') return out;
      if (c == '\\')
        escape(out);
      else
        out += c;
    }
  }
  void escape(std::string& out) {
    if (at_ == text_.size()) fail("a string does not end");
    char c = text_[at_++];
    const std::string_view from = "nrtbf\"\\/", to = "\n\r\t\b\f\"\\/";
    size_t which = from.find(c);
    if (which != std::string_view::npos)
      out += to[which];
    else if (c == 'u')
      unicode(out);
    else
      fail("an unknown escape");
  }
  // What json_string writes: code points of one unit.
  void unicode(std::string& out) {
    if (at_ + 4 > text_.size()) fail("a string does not end");
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      size_t digit = std::string_view("0123456789abcdef").find(static_cast<char>(text_[at_++] | 0x20));
      if (digit == std::string_view::npos) fail("an escape is no number");
      code = code * 16 + static_cast<unsigned>(digit);
    }
    if (code < 0x80)
      out += static_cast<char>(code);
    else if (code < 0x800)
      out += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    else
      out += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
              static_cast<char>(0x80 | (code & 63))};
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
