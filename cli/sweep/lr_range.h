// `thtrain sweep --lr-range`: a learning-rate range test, its table and its picture.
#pragma once

#include "cli/command.h"
#include "trainers/lr_range.h"

namespace thtrain {

struct LrRangeArguments {
  bool wanted = false;
  std::optional<double> low = {}, high = {};
  std::optional<int64_t> steps = {};
  std::string output = {};  // the picture; "": lr_range.png in the working folder
  bool json = false;
};

/// Declares the options of the test.
void add_lr_range(CLI::App& command, LrRangeArguments& into);
/// UserError where an option of the test is given without --lr-range.
void require_lr_range(const LrRangeArguments& arguments);
/// Runs the test on the experiment, writes FILE.csv, FILE.png and FILE.svg, and prints a suggestion. Returns kDone.
/// UserError as
/// test_lr_range(), and where a file cannot be written.
int run_lr_range(const LrRangeArguments& arguments, const ExperimentArguments& experiment);

}  // namespace thtrain
