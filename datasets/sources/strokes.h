// Digits as the pen writes them, a built-in problem: sequences of moves, and the digit as the class of each.
#pragma once

#include <cstdint>
#include <string_view>

#include "datasets/data_config.h"

namespace thtrain {

struct Strokes {
  Tensor x;        // float64 [n, steps, 3]: to the right, down, and 1 where the pen is on the paper (0: it is lifted)
  Tensor y;        // int64 [n], 0 to 9
  Tensor lengths;  // int64 [n], 1 to steps
};

/// `n` digits, each one of the ways of datasets/digit_strokes.h to write it, moved at random: its points by up to 4
/// units of its box (100 wide, 140 high), its width and height by a factor from 200/256 to 312/256, slanted by up to
/// 60/256. Each curve is four moves; where the pen is lifted there is one move to the next stroke. Moves are in tens of
/// units. Random numbers are those of randint of RandomState(s), where s is the number `part` (from 0) that
/// RandomState(seed).next_uint32() gives; all else is done in integers, so that a seed gives the same bytes everywhere.
Strokes generate_strokes(int64_t n, int64_t seed, int64_t part);

struct StrokesConfig : GeneratorConfig {
  static constexpr std::string_view kName = "strokes";
  bool has_sequences() const override { return true; }
  bool has_lengths() const override { return true; }
  void fill(DatasetOptions& out) const override;
  static void describe(Fields<StrokesConfig>& f);
};

}  // namespace thtrain
