// Reading metrics.jsonl back, a line at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/history.h"
#include "trainers/checkpoint.h"

namespace thtrain {

/// A line of metrics.jsonl.
struct MetricsLine {
  std::string phase = {};
  int64_t epoch = 0;
  std::map<std::string, std::string> values = {};  // every key with its value as it is written

  std::optional<double> value(const std::string& key) const;
};

/// Calls `take` with each line; none where there is no file. What follows the last line end is not one yet: it is
/// being written, or was when the process was killed. UserError where a line is not what a run writes.
void for_each_line(const std::string& path, const std::function<void(const MetricsLine&)>& take);

/// What a picture of a run shows, from its checkpoint: the epochs that it holds, or where there were more of a phase,
/// those of metrics.jsonl at `path`, thinned.
std::vector<PhaseHistory> histories_to_draw(const std::string& path, std::vector<PhaseHistory> phases,
                                            int64_t best_epoch);

/// Epochs, of all phases in a row, and values.
using EpochValues = std::vector<std::pair<double, double>>;
struct RunSeries {
  std::map<std::string, EpochValues> values = {};           // by the key of metrics.jsonl: "valid_error"
  std::vector<std::pair<double, std::string>> phases = {};  // where each begins, half an epoch before its first one
};
/// Every number that metrics.jsonl in a run's folder has of its epochs, but their seconds; thinned where it is long.
/// Nothing where there is no file. UserError where it is damaged.
RunSeries read_series(const std::string& folder);

struct RunCurves {
  EpochValues valid = {}, train = {};
};
/// Of these, one metric on validation and training examples; none where it was not measured.
RunCurves read_curves(const std::string& folder, const std::string& metric);

}  // namespace thtrain
