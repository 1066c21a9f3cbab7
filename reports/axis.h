// The values along one side of a panel: its ticks, and what is written at them.
#pragma once

#include <string>
#include <vector>

namespace thtrain {

/// Round numbers from `low` to `high`, at most `count` + 1 of them: the ticks of an axis. `high` > `low`.
std::vector<double> axis_ticks(double low, double high, int count);

/// How the values of curves are placed on their axis.
enum class ValueScale {
  kAuto,         // logarithmic where all are above 0 and go over several powers of ten
  kLinear,       //
  kLogarithmic,  // values of 0 or less are left out
};

struct Axis {
  double low = 0, high = 1;  // with low == high its one value is in the middle
  bool logarithmic = false;  // ticks at the powers of ten; over fewer than two, also at 2 and 5, or at 3, times these
  bool whole = false;        // ticks at whole numbers only
  int ticks = 7;             // about, and fewer where their texts would touch
  std::string name = {};
  bool has_texts = true;  // at the ticks

  /// From 0 at `low` to 1 at `high`.
  double position(double value) const;
  std::vector<double> tick_values() const;
};

/// One for each value, all with as many decimals as their distances need: "0.05" and "0.10", "2×10⁶" and "4×10⁶".
std::vector<std::string> tick_texts(const Axis& axis, const std::vector<double>& values);

/// The axis of values from low to high with some space beyond them. 0 is its end where they are not far from it, and on
/// one side of it.
Axis axis_of(double low, double high, const std::string& name = "");

}  // namespace thtrain
