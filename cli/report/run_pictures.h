// The pictures of a run's report: those that `thtrain show` draws, and those that training has drawn.
#pragma once

#include <map>
#include <string>

#include "compiler/base/file.h"
#include "reports/report/report_page.h"
#include "trainers/run_record.h"

namespace thtrain {

/// Keeps what it has drawn, so that a report that is made again and again draws a run once.
class RunPictures {
 public:
  /// Of the run's best weights; `report` gets pictures, tables of mistakes, and what is left out and why. A run that is
  /// `running` is not drawn by the report: that would slow it down. Nothing is written into the run's folder.
  void add_to(ReportRun& report, const RunRecord& run, bool is_running);

 private:
  struct Drawn {
    FileState weights = {};  // that it was drawn of
    ReportRun part = {};
  };
  std::map<std::string, Drawn> drawn_;  // by the run's folder
};

}  // namespace thtrain
