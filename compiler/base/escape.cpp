#include "compiler/base/escape.h"

#include <algorithm>
#include <charconv>

#include "compiler/base/utf8.h"

namespace thtrain {

namespace {

bool is_shown_as_it_is(const CodePoint& point) {
  const char32_t code = point.code;
  if (!point.valid || code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  const bool sets_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                              code == 0x200e || code == 0x200f || code == 0x061c;
  const bool ends_line = code == 0x2028 || code == 0x2029;
  return !sets_direction && !ends_line;
}

std::string hexadecimal(char32_t value, int digits) {
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
  return out;
}

// `bytes` are those of the code point.
std::string shown(const CodePoint& point, std::string_view bytes) {
  if (is_shown_as_it_is(point)) return std::string(bytes);
  if (point.code == '\n') return "\\n";
  if (point.code == '\t') return "\\t";
  if (point.code == '\r') return "\\r";
  if (bytes.size() == 1) return "\\x" + hexadecimal(point.code, 2);
  return "\\u" + hexadecimal(point.code, 4);
}

}  // namespace

// Calls what(code point, its bytes) for each in turn.
template <class What>
static void for_each_character(std::string_view text, What what) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    what(point, text.substr(at, point.bytes));
    at += point.bytes;
  }
}

std::vector<std::string> printable_characters(std::string_view text) {
  std::vector<std::string> out;
  out.reserve(text.size());
  for_each_character(text, [&](const CodePoint& point, std::string_view bytes) { out.push_back(shown(point, bytes)); });
  return out;
}

std::string printable(std::string_view text, std::string_view kept) {
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0x20 && c != 0x7f; });
  if (is_plain) return std::string(text);
  std::string out;
  for_each_character(text, [&](const CodePoint& point, std::string_view bytes) {
    const bool is_kept = bytes.size() == 1 && kept.find(bytes[0]) != std::string_view::npos;
    out += is_kept ? std::string(bytes) : shown(point, bytes);
  });
  return out;
}

std::string escaped(std::string_view name) {
  std::string out;
  for_each_character(name, [&](const CodePoint& point, std::string_view bytes) {
    out += point.code == '\\' ? "\\\\" : shown(point, bytes);
  });
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    const std::string_view digits = text.substr(i + 1, kind == 'x' ? 2 : kind == 'u' ? 4 : 0);
    unsigned code = 0;
    const char* end = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16).ptr;
    const auto count = static_cast<size_t>(end - digits.data());
    if (count == 0) {
      out += kind == 'n' ? '\n' : kind == 't' ? '\t' : kind == 'r' ? '\r' : kind;
      continue;
    }
    if (kind == 'x')
      out += static_cast<char>(code);
    else
      append_utf8(out, code);
    i += count;
  }
  return out;
}

std::string excerpt(std::string_view text, size_t most) {
  const size_t length = whole_characters(text, most);
  std::string out = printable(text.substr(0, length));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return length < text.size() ? out + "..." : out;
}

}  // namespace thtrain
