// The values of a random search: intervals that runs draw from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thtrain {

/// What the points of a sweep are, and which of its runs train to the end.
struct SweepSearch {
  int64_t random = 0;       // points that are drawn; 0: all of the product of the lists
  int64_t random_seed = 1;  // of the draws
  int64_t halving = 0;      // epochs of the first round (cli/sweep/halving.h); 0: all runs train to the end
  bool operator==(const SweepSearch&) const = default;
  /// " --random 20 --random-seed 1 --halving 4": the options that say it.
  std::string options() const;
};

/// "uniform:0..0.5", "log:1e-4..1", "uniform:1..8", "log:16..1024".
class SweepInterval {
 public:
  /// Is this text meant as one? One that is not right is, too.
  static bool is_meant(const std::string& text);
  /// Nothing where the text is none: ends that are no finite numbers or do not rise, or for "log:" are not above 0.
  static std::optional<SweepInterval> of(const std::string& text);

  /// A number of the interval, both ends included: all alike, or all logarithms alike. An integer where both ends are
  /// written as integers, else with four significant digits, more where the interval is narrow. `u` is from 0 to
  /// below 1.
  std::string draw(double u) const;

 private:
  bool is_log_ = false, is_integer_ = false;
  double low_ = 0, high_ = 0;
};

}  // namespace thtrain
