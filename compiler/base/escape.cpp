#include "compiler/base/escape.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace thtrain {

namespace {

/// A character of a text: its bytes, and its code point; -1 for a byte that is no UTF-8.
struct Character {
  std::string_view bytes;
  int32_t code;
};

Character character_at(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(at);
  if (first < 0x80) return {text.substr(at, 1), first};
  size_t count = first >= 0xc2 && first < 0xe0 ? 2 : (first & 0xf0) == 0xe0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (count == 0 || at + count > text.size()) return {text.substr(at, 1), -1};
  int32_t code = first & (0x7f >> count);
  for (size_t i = 1; i < count; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {text.substr(at, 1), -1};
    code = code << 6 | (byte(at + i) & 0x3f);
  }
  const bool is_overlong = (count == 3 && code < 0x800) || (count == 4 && code < 0x10000);
  if (is_overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {text.substr(at, 1), -1};
  return {text.substr(at, count), code};
}

bool is_shown_as_it_is(int32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;  // -1 too
  const bool sets_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                              code == 0x200e || code == 0x200f || code == 0x061c;
  const bool ends_line = code == 0x2028 || code == 0x2029;
  return !sets_direction && !ends_line;
}

std::string hexadecimal(uint32_t value, int digits) {
  std::string out;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
  return out;
}

std::string shown(const Character& c) {
  if (is_shown_as_it_is(c.code)) return std::string(c.bytes);
  if (c.code == '\n') return "\\n";
  if (c.code == '\t') return "\\t";
  if (c.code == '\r') return "\\r";
  if (c.code < 0x80) return "\\x" + hexadecimal(static_cast<unsigned char>(c.bytes[0]), 2);
  return "\\u" + hexadecimal(static_cast<uint32_t>(c.code), 4);
}

}  // namespace

// Calls what(character) for each in turn.
template <class What>
static void for_each_character(std::string_view text, What what) {
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    what(c);
    at += c.bytes.size();
  }
}

std::vector<std::string> printable_characters(std::string_view text) {
  std::vector<std::string> out;
  out.reserve(text.size());
  for_each_character(text, [&](const Character& c) { out.push_back(shown(c)); });
  return out;
}

std::string printable(std::string_view text, std::string_view kept) {
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0x20 && c != 0x7f; });
  if (is_plain) return std::string(text);
  std::string out;
  for_each_character(text, [&](const Character& c) {
    const bool is_kept = c.bytes.size() == 1 && kept.find(c.bytes[0]) != std::string_view::npos;
    out += is_kept ? std::string(c.bytes) : shown(c);
  });
  return out;
}

std::string escaped(std::string_view name) {
  std::string out;
  for_each_character(name, [&](const Character& c) { out += c.code == '\\' ? "\\\\" : shown(c); });
  return out;
}

// The code points that shown() writes as \uXXXX have four digits at most.
static std::string utf8(unsigned code) {
  auto byte = [](unsigned value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), byte(0x80 | (code & 0x3f))};
  return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 0x3f)), byte(0x80 | (code & 0x3f))};
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
    out += kind == 'x' ? std::string(1, static_cast<char>(code)) : utf8(code);
    i += count;
  }
  return out;
}

std::string excerpt(std::string_view text, size_t most) {
  size_t length = std::min(most, text.size());
  auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (length < text.size() && length > 0 && is_continuation(text[length])) --length;
  std::string out = printable(text.substr(0, length));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return length < text.size() ? out + "..." : out;
}

}  // namespace thtrain
