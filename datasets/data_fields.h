// What the tables of several sources have in common: keys, and checks of keys together.
#pragma once

#include <utility>
#include <vector>

#include "datasets/data_config.h"

namespace thtrain {

inline constexpr double kLargestDataSeed = 4294967295.0;  // what NumPy's RandomState takes

void describe_target(Fields<DataConfig> f);
void describe_fractions(Fields<FileConfig> f);

/// What `folds` replaces.
void check_folds(const SplitConfig& c, const std::vector<std::pair<const char*, bool>>& others, Findings& findings);
/// Where validation and test examples come from.
void check_sets(const FileConfig& c, Findings& findings);
/// What would change nothing is a mistake.
void check_split(const SplitConfig& c, bool is_cut, Findings& findings);
void check_stratified(const SplitConfig& c, Findings& findings);
/// Of examples of which only the numbers that are not 0 are kept.
void check_sparse(const DataConfig& c, Findings& findings);
void check_targets(const DataConfig& c, Findings& findings);
/// What the keys of a source with files say together.
void check_files(const FileConfig& c, Findings& findings);

}  // namespace thtrain
