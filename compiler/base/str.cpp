#include "compiler/base/str.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace thtrain {

template <class T>
static std::string shortest(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

std::string number_text(double value) {
  return shortest(value);
}
std::string number_text(float value) {
  return shortest(value);
}

std::string fixed_text(double value, int decimals) {
  char text[400];  // the largest number has 309 digits
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  double rounded = bytes < 10 ? std::round(bytes * 10) / 10 : std::round(bytes);
  return str(rounded, " ", units[unit]);
}

}  // namespace thtrain
