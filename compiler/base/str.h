// Joining values into text. (g++ 12 has no <format>.)
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace thtrain {

/// The shortest decimal text that reads back as the same number ("0.1", "1e-05", "inf", "nan").
std::string number_text(double value);
std::string number_text(float value);

namespace detail {
inline void append_text(std::string& out, std::string_view text) {
  out += text;
}
inline void append_text(std::string& out, char c) {
  out += c;
}
template <std::integral T>
void append_text(std::string& out, T value) {
  if constexpr (std::same_as<T, bool>)
    out += value ? "true" : "false";
  else
    out += std::to_string(value);
}
template <std::floating_point T>
void append_text(std::string& out, T value) {
  out += number_text(value);
}
}  // namespace detail

/// str("x has ", 3, " rows") == "x has 3 rows".
template <class... Parts>
std::string str(const Parts&... parts) {
  std::string out;
  (detail::append_text(out, parts), ...);
  return out;
}

/// join({1, 2, 3}, ", ") == "1, 2, 3"; each element is put through `text` first.
template <class Range, class Text>
std::string join(const Range& range, std::string_view separator, Text text) {
  std::string out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += separator;
    first = false;
    detail::append_text(out, text(element));
  }
  return out;
}
template <class Range>
std::string join(const Range& range, std::string_view separator) {
  return join(range, separator, [](const auto& element) { return element; });
}

/// fixed_text(2.5, 2) == "2.50".
std::string fixed_text(double value, int decimals);
/// 1536 -> "1.5 KiB", 0 -> "0 B".
std::string bytes_text(double bytes);

}  // namespace thtrain
