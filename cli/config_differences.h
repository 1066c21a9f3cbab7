// In what the experiments of several runs differ.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "trainers/experiment.h"

namespace thtrain {

/// An experiment as the comparison needs it.
struct ComparedConfig {
  std::map<std::string, std::string> values;  // config_values()
  std::set<std::string> defaults;             // the keys among them that have the default of their table
};
ComparedConfig compared_config(const Experiment& experiment);

/// A row for each key that does not have one value in all of them: the key, then the value of each; "-" where there is
/// no such key. Numbers within keys count: layer 10 follows layer 9.
std::vector<std::vector<std::string>> all_differences(const std::vector<ComparedConfig>& configs);

/// The same for people. A key that some do not have is left out where the others have its default. An element of a list
/// of tables, such as a layer, that some do not have or that is of another type is one row: the element as an inline
/// table, without its defaults and without a name that it was given of itself ("dense1"). Values that are the same in
/// all phases, of each experiment that has phases, come once, under the key without the phase.
std::vector<std::vector<std::string>> short_differences(const std::vector<ComparedConfig>& configs);

}  // namespace thtrain
