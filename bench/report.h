// What a benchmark found, as tables.
#pragma once

#include <string>
#include <vector>

#include "bench/measurement.h"

namespace thtrain {

/// The ratio of thtrain to the fastest peer of a row.
struct Ratio {
  const Measurement* peer = nullptr;    // null where none was measured
  double value = 0, low = 0, high = 0;  // thtrain / peer: round by round: the median, and the extremes
};

/// The fastest of the measurements of the same row (bench, case, dtype, threads) whose output is the same side's as
/// `ours`; with `as_users_write` among those of kind "user" only.
Ratio ratio_to_fastest(const Measurement& ours, const std::vector<Measurement>& all, bool as_users_write);

/// For each dtype and number of threads a table in Markdown: thtrain's rate, the part of the ceiling that it is, and
/// its ratios over the fastest form of any peer and over the fastest form that peers' users write; of convolutions the
/// candidate that computes each.
std::string ratio_tables(const std::vector<Measurement>& all);

/// Of the benchmark "compile": the seconds that each graph takes, by implementation, with the exponent of a power of
/// its nodes fitted through them (by least squares of the logarithms), and the seconds of each start. Empty without
/// any.
std::string compile_tables(const std::vector<Measurement>& all);

/// Every measurement, a row each.
std::string full_table(const std::vector<Measurement>& all);

/// "57,123", "1.24 M", "3.10 G"
std::string rate_text(double rate);

}  // namespace thtrain
