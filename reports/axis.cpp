#include "reports/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/base/str.h"

namespace thtrain {

std::vector<double> axis_ticks(double low, double high, int count) {
  double raw = (high - low) / std::max(count, 1);
  double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  // Bounded: numbers that are large against their distance stand still at k + 1, others are not finite.
  std::vector<double> out;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= std::max(count, 1); ++i)
    if (double tick = (first + i) * step; std::isfinite(tick) && tick <= high + 1e-9 * step) out.push_back(tick);
  return out;
}

double Axis::position(double value) const {
  if (!(high > low)) return 0.5;
  if (logarithmic) return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
  return (value - low) / (high - low);
}

std::vector<double> Axis::tick_values() const {
  std::vector<double> out;
  if (logarithmic) {
    if (!(low > 0) || !std::isfinite(high)) return out;
    const double first = std::log10(low) - 1e-9, last = std::log10(high) + 1e-9;
    const double every = std::max(1.0, std::ceil((last - first) / std::max(ticks, 1)));
    for (double power = every * std::ceil(first / every); power <= last; power += every)
      out.push_back(std::pow(10.0, power));
    if (last - first >= 2) return out;
    for (const std::vector<double>& factors : {std::vector<double>{1, 2, 5}, {1, 3}}) {
      std::vector<double> more;
      for (double power = std::floor(first); power <= last; ++power)
        for (double factor : factors)
          if (double tick = factor * std::pow(10.0, power); std::log10(tick) >= first && std::log10(tick) <= last)
            more.push_back(tick);
      if (more.size() <= static_cast<size_t>(std::max(ticks, 1)) || out.empty()) out = more;
      if (more.size() <= static_cast<size_t>(std::max(ticks, 1))) break;
    }
    return out;
  }
  out = axis_ticks(low, high > low ? high : low + 1, ticks);
  if (whole) std::erase_if(out, [](double tick) { return tick != std::round(tick); });
  return out;
}

namespace {

// "10⁻³"
std::string power_text(int power) {
  static const char* const kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = power < 0 ? "10⁻" : "10";
  for (char digit : std::to_string(std::abs(power))) out += kRaised[digit - '0'];
  return out;
}

std::string shortest(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

// "2×10⁶", of a value that has few digits
std::string scientific(double value) {
  if (value == 0) return "0";
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  const std::string factor = shortest(value / std::pow(10.0, power), 4);
  return factor == "1" ? power_text(power) : str(factor, "×", power_text(power));
}

std::vector<std::string> logarithmic_texts(const std::vector<double>& values) {
  const bool is_plain = values.front() > 0.9e-3 && values.back() < 1.1e4;
  std::vector<std::string> out;
  for (double value : values) out.push_back(is_plain ? shortest(value, 6) : scientific(value));
  return out;
}

}  // namespace

std::vector<std::string> tick_texts(const Axis& axis, const std::vector<double>& values) {
  if (values.empty()) return {};
  if (axis.logarithmic) return logarithmic_texts(values);
  double largest = 0, step = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  for (size_t i = 1; i < values.size(); ++i) {
    const double distance = values[i] - values[i - 1];
    if (distance > 0 && (step == 0 || distance < step)) step = distance;
  }
  std::vector<std::string> out;
  if (step == 0) step = largest > 0 ? largest : 1;
  const double digits = std::log10(std::max(largest, step) / step);
  if (digits < 3.5 && (largest > 999999 || step < 0.9e-4)) {
    for (double value : values) out.push_back(scientific(std::abs(value) < 1e-6 * step ? 0 : value));
    return out;
  }
  const int decimals = static_cast<int>(std::max(0.0, -std::floor(std::log10(step) + 1e-9)));
  for (double value : values) {
    const bool is_long = largest > 1e15 || decimals > 12;
    std::string text = is_long ? shortest(value, 6) : fixed_text(value, decimals);
    out.push_back(text == "-0" || std::abs(value) < 1e-6 * step ? fixed_text(0, is_long ? 0 : decimals) : text);
  }
  return out;
}

Axis axis_of(double low, double high, const std::string& name) {
  constexpr double kMost = 1e300;
  low = std::clamp(std::isfinite(low) ? low : 0.0, -kMost, kMost);
  high = std::clamp(std::isfinite(high) ? high : 1.0, -kMost, kMost);
  if (low > high) std::swap(low, high);
  if (low == 0 && high == 0) return {.name = name};
  const double span = high > low ? high - low : std::abs(high);
  Axis out{.low = low - 0.05 * span, .high = high + 0.05 * span, .name = name};
  if (low >= 0 && low <= 0.5 * high) out.low = 0;
  if (high <= 0 && high >= 0.5 * low) out.high = 0;
  return out;
}

}  // namespace thtrain
