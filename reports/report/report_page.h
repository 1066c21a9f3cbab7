// The page of `thtrain report`: the results of runs, with curves that can be read off, for a browser.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/canvas.h"

namespace thtrain {

/// A picture as a part of the page, from a file.
struct ReportPicture {
  std::string what;   // "how many test examples of each class are taken for each"
  std::string type;   // "image/png", "image/svg+xml"
  std::string bytes;  // of the file
};
/// Pictures of one kind, of which one is seen at a time: filters after each epoch.
struct ReportSeries {
  std::string title;
  std::vector<std::pair<std::string, ReportPicture>> pictures;  // "epoch 1"
};

/// Cells of text, the first row of names; numbers are set to the right.
struct ReportTable {
  std::string title;
  std::vector<std::vector<std::string>> rows;
  /// Which of the page's runs a row (but the first) is, where it is one: it leads there, and to its line in the plot.
  std::vector<std::string> links = {};
};

/// The curves of a run: epochs and values by the key of metrics.jsonl, "valid_error".
struct ReportCurves {
  std::string name;  // of the run
  std::map<std::string, std::vector<Point>> values = {};
  std::vector<std::pair<double, std::string>> phases = {};  // where each begins
  std::optional<Point> best = {};                           // of the metric that the run goes by
};
/// What a chart can show: the sets of one measure.
struct ReportMeasure {
  std::string label;        // "error (%)"
  std::string name;         // "error": keys are train_error, valid_error, test_error; else the key itself
  bool goes_by_it = false;  // do the runs go by it?
};

/// A run as a part of the page.
struct ReportRun {
  std::string name, folder;
  std::vector<std::pair<std::string, std::string>> facts = {};  // "test error", "7.5 %"
  std::string note = {};                                        // what is to be known first: "it is running"
  std::vector<ReportPicture> pictures = {};
  std::vector<ReportSeries> series = {};
  std::vector<ReportTable> tables = {};
  std::vector<std::string> left_out = {};  // what is not shown, and why
  std::string config = {};                 // TOML
};

/// Lines through values of several keys, one for each run.
struct ReportPlot {
  std::vector<std::string> axes = {};                 // names; the last one is that of the results
  bool larger_is_better = false;                      // of the last axis
  std::vector<std::string> names = {};                // of the runs
  std::vector<std::vector<std::string>> values = {};  // of each run on each axis; "": none
};

/// Runs in one section: those of a sweep, or those that were named.
struct ReportGroup {
  std::string title;
  std::string about = {};
  std::vector<ReportTable> tables = {};
  std::optional<ReportPlot> plot = {};
};

struct Report {
  std::string title;  // "report of 3 runs"
  std::string time;   // when it was written
  int reload = 0;     // seconds after which the page reads itself again; 0: never
  std::vector<ReportMeasure> measures = {};
  std::vector<ReportCurves> curves = {};
  std::string about_curves = {};  // which runs have none
  std::vector<ReportGroup> groups = {};
  std::vector<ReportRun> runs = {};
};

inline constexpr const char* kReportMaker = "thtrain report";

/// The whole page (reports/page/page.h). Texts of it may be anything: they are escaped, and control characters become
/// visible. Pictures are in it as data.
std::string report_page(const Report& report);

/// Styles and scripts of the page.
extern const char* const kReportStyle;
extern const char* const kReportScript;  // what is kept from one reading of the page to the next one, and series
extern const char* const kChartScript;   // the curves
extern const char* const kPlotScript;    // parallel coordinates

}  // namespace thtrain
