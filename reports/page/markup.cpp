#include "reports/page/markup.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "compiler/base/str.h"
#include "reports/json.h"

namespace thtrain {

std::string markup_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
      out += "\xEF\xBF\xBD";
    else
      out += c;
  }
  return out;
}

std::string coordinate(double value) {
  std::string out = json_fixed(value, 1);
  return out.ends_with(".0") ? out.substr(0, out.size() - 2) : out;
}

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_keyword(std::string_view word) {
  static constexpr std::array kWords = {
      "__attribute__", "always_inline", "auto",   "bool",   "char",     "const",   "double",   "else",  "extern",
      "float",         "for",           "if",     "inline", "int",      "long",    "return",   "short", "signed",
      "sizeof",        "static",        "struct", "switch", "template", "typedef", "unsigned", "void",  "while"};
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  // f32x8, s64x4: a vector.
  const size_t x = word.find('x');
  return x != std::string_view::npos && x >= 2 && x + 1 < word.size() && std::isalpha(word[0]) &&
         std::all_of(word.begin() + 1, word.end(), [](char c) { return std::isdigit(c) || c == 'x'; });
}

// The end of the token that begins at `at`, and its class ("" for none).
std::pair<size_t, const char*> token(std::string_view text, size_t at) {
  auto until = [&](std::string_view end, size_t from) {
    const size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found;
  };
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("//")) return {until("\n", at), "c"};
  if (rest.starts_with("/*")) return {std::min(text.size(), until("*/", at + 2) + 2), "c"};
  if (rest[0] == '#' && (at == 0 || text[at - 1] == '\n')) return {until("\n", at), "p"};
  if (rest[0] == '"') {
    size_t end = at + 1;
    while (end < text.size() && text[end] != '"' && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
    return {std::min(text.size(), end + 1), "n"};
  }
  size_t end = at;
  if (std::isdigit(static_cast<unsigned char>(rest[0]))) {
    while (end < text.size() &&
           (is_word(text[end]) || text[end] == '.' ||
            ((text[end] == '-' || text[end] == '+') && (text[end - 1] == 'p' || text[end - 1] == 'e'))))
      ++end;
    return {end, "n"};
  }
  while (end < text.size() && is_word(text[end])) ++end;
  if (end == at) return {at + 1, ""};
  return {end, is_keyword(text.substr(at, end - at)) ? "k" : ""};
}

}  // namespace

std::string cpp_markup(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto [end, kind] = token(text, at);
    const std::string inner = markup_text(text.substr(at, end - at));
    out += *kind ? str("<span class=\"", kind, "\">", inner, "</span>") : inner;
    at = end;
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t part = 0;
    for (size_t k = 0; k < 3; ++k) part = part << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kLetters[part >> (18 - 6 * k) & 63];
  }
  return out;
}

}  // namespace thtrain
