// "1..5": the ranges of integers in lists of `thtrain sweep`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thtrain {

struct IntegerRange {
  int64_t first = 0, last = 0, step = 1;
};

/// "1..5" or "10..0..-2"; nothing where the text is none, also where a number does not fit in 64 bits.
std::optional<IntegerRange> range_of(const std::string& text);
/// Of a range that is not empty, at most `most`.
int64_t length_of(const IntegerRange& range, int64_t most);
/// "0.1..0.5": a range by its form, though range_of() reads none.
bool is_range_of_other_numbers(const std::string& text);

}  // namespace thtrain
