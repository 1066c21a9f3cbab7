// What a length check demands, for people: a bound is shown as one, and not as the equality of lengths that it is.
#pragma once

#include <string>

#include "compiler/ir/op.h"

namespace thtrain {

struct LengthCondition {
  std::string expected;  // "n == 3", "m + 2 <= n", "-n <= i <= n - 1"
  std::string got;       // how the two values are shown: {value} is the left one's, {limit} the right one's
};

/// As the user wrote it: "i + 1" for "@i~3 + 1", the value of an integer scalar i.
std::string as_written(const Dim& number);

/// `max(a, b) == b` is a <= b, and `max(a, min(b, c)) == b` is a <= b <= c.
LengthCondition condition_of(const LengthCheck& check);

/// The UserError of a check whose lengths have these values.
[[noreturn]] void throw_lengths_differ(const LengthCheck& check, int64_t left, int64_t right,
                                       const std::string& hint = {});

}  // namespace thtrain
