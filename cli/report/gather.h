// From the folders on the command line of `thtrain report` to its page.
#pragma once

#include <string>
#include <vector>

#include "cli/report/run_pictures.h"
#include "reports/report/report_page.h"

namespace thtrain {

struct GatheredReport {
  Report report;
  bool is_going_on = false;  // does a process write to one of the runs or sweeps?
};
/// Folders of runs and of sweeps. Of a sweep its best run has a section, and all are in its tables; of all runs the
/// kMostCurves first ones have curves, those of a sweep in the order of their results. Where `leaves_running`, runs
/// that go on are not drawn. UserError as read_run(), and where no run was named, or one twice.
GatheredReport gather_report(const std::vector<std::string>& words, RunPictures& pictures, bool leaves_running);

inline constexpr size_t kMostCurves = 40;

}  // namespace thtrain
