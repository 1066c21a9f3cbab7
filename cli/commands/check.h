// What other files need of `thtrain check`.
#pragma once

#include "cli/command.h"

namespace thtrain {

struct CheckArguments {
  ExperimentArguments experiment;
  std::string predict = {};  // "cpu", or the name of a device (reports/predicted_time.h); "": nothing is predicted
  bool json = false;
};
/// Builds, compiles and runs one step of an experiment, and writes nothing.
int run_check(const CheckArguments& arguments);

}  // namespace thtrain
