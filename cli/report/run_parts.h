// What a report has of one run: its results, its curves, its profile.
#pragma once

#include "cli/named_runs.h"
#include "reports/report/report_page.h"

namespace thtrain {

/// Facts, configuration and profile. UserError where config.toml or the profile is damaged.
ReportRun report_of_run(const NamedRun& run);

/// UserError where metrics.jsonl is damaged.
ReportCurves curves_of_run(const NamedRun& run);

/// What the runs have measured: first what the first one goes by, then losses, other metrics, and the learning rate.
std::vector<ReportMeasure> measures_of(const std::vector<NamedRun>& runs, const std::vector<ReportCurves>& curves);

}  // namespace thtrain
