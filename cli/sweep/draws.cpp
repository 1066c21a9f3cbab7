#include "cli/sweep/draws.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "compiler/base/str.h"

namespace thtrain {

static constexpr std::string_view kUniform = "uniform:", kLog = "log:";

std::string SweepSearch::options() const {
  std::string out;
  if (random > 0) out += str(" --random ", random, " --random-seed ", random_seed);
  if (halving > 0) out += str(" --halving ", halving);
  return out;
}

// A word, a colon and what begins like a number with an end behind dots; of the two words that there are also less.
bool SweepInterval::is_meant(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos) return false;
  const bool is_word = std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                                   [](unsigned char c) { return std::isalpha(c); });
  const std::string rest = text.substr(colon + 1);
  const bool is_number = rest.empty() || std::string_view("0123456789+-.").find(rest[0]) != std::string_view::npos;
  const bool is_known = text.starts_with(kUniform) || text.starts_with(kLog);
  const bool has_dots = rest.find("..") != std::string::npos;
  return is_word && (is_known ? is_number || has_dots : is_number && has_dots);
}

// Integers of a double are exact.
static bool is_integer(std::string_view text) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() && std::abs(number) <= int64_t{1} << 53;
}

static std::optional<double> number_of(std::string_view text) {
  double out = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool is_right = error == std::errc() && stop == text.data() + text.size() && std::isfinite(out);
  return is_right ? std::optional(out) : std::nullopt;
}

std::optional<SweepInterval> SweepInterval::of(const std::string& text) {
  if (!is_meant(text) || !(text.starts_with(kUniform) || text.starts_with(kLog))) return {};
  SweepInterval out;
  out.is_log_ = text.starts_with(kLog);
  const std::string_view ends = std::string_view(text).substr(out.is_log_ ? kLog.size() : kUniform.size());
  const size_t dots = ends.find("..");
  if (dots == std::string_view::npos) return {};
  const std::string_view first = ends.substr(0, dots), last = ends.substr(dots + 2);
  const std::optional<double> low = number_of(first), high = number_of(last);
  if (!low || !high || !(*low < *high) || (out.is_log_ && *low <= 0)) return {};
  out.low_ = *low;
  out.high_ = *high;
  out.is_integer_ = is_integer(first) && is_integer(last);
  return out;
}

std::string SweepInterval::draw(double u) const {
  // Each integer has the part of the interval from itself to the next one.
  const double high = is_integer_ ? high_ + 1 : high_;
  double value = is_log_ ? std::exp(std::lerp(std::log(low_), std::log(high), u)) : std::lerp(low_, high, u);
  if (is_integer_) return std::to_string(static_cast<int64_t>(std::clamp(std::floor(value), low_, high_)));
  value = std::clamp(value, low_, high_);
  const double magnitude = std::max(std::abs(low_), std::abs(high_)) / (high_ / 2 - low_ / 2) / 2;
  const int digits_of_width = 4 + static_cast<int>(std::max(0.0, std::ceil(std::log10(magnitude) - 0.1)));
  for (int digits = digits_of_width; digits < 17; ++digits) {  // rounding may leave the interval
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (const std::optional<double> rounded = number_of(text); rounded && low_ <= *rounded && *rounded <= high_)
      return text;
  }
  return number_text(value);
}

}  // namespace thtrain
