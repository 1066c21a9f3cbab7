#include "cli/sweep/integer_range.h"

#include <cctype>
#include <charconv>

namespace thtrain {

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

int64_t length_of(const IntegerRange& range, int64_t most) {
  int64_t out = 1;
  for (int64_t at = range.first; out < most; ++out)
    if (__builtin_add_overflow(at, range.step, &at) || (range.step > 0 ? at > range.last : at < range.last)) break;
  return out;
}

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

}  // namespace thtrain
