// The results of the runs of a sweep over its seeds: mean and standard deviation for each point of the other lists.
//
// Counted are the runs that ended and have a finite value. Those that failed, were not finite or measured
// nothing are left out, and named; those that have not ended are neither.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/spread.h"
#include "cli/sweep/results.h"

namespace thtrain {

/// The runs that differ in their seed alone.
struct SeedGroup {
  std::vector<std::string> values = {};        // of the other keys, in the order of their lists
  std::optional<MetricName> metric = {};       // of the runs that count; none where there are none
  Spread best = {}, test = {};                 // of best validation values; of the test values of those that have one
  std::vector<const SweepRun*> left_out = {};  // in the order of the points
};

/// Is `seed` a list of several values?
bool has_seeds(const SweepPoints& points);
/// By their mean validation values, the best one first, those of one metric together; then those that have none.
/// `points` has_seeds().
std::vector<SeedGroup> seed_groups(const SweepPoints& points, const std::vector<SweepRun>& runs);

/// A title and a row for each group; "" where no run counts and none is left out, and of a sweep without seeds.
std::string seeds_table(const SweepPoints& points, const std::vector<SweepRun>& runs);
/// The same as cells, the titles first; none where the table is "".
std::vector<std::vector<std::string>> seeds_rows(const SweepPoints& points, const std::vector<SweepRun>& runs);
/// seeds.csv: a line of titles, then a row for each group. Columns: each swept key but `seed`, metric, runs, mean,
/// deviation, test_runs, test_mean, test_deviation, left_out, left_out_runs.
std::string seeds_csv(const SweepPoints& points, const std::vector<SweepRun>& runs);
/// The same as one JSON array.
std::string seeds_json(const SweepPoints& points, const std::vector<SweepRun>& runs);

}  // namespace thtrain
