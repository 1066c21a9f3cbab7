// `thtrain report`: the results of runs as one page for a browser.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "cli/command.h"
#include "cli/report/gather.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "compiler/tuning/machine.h"
#include "reports/font.h"
#include "reports/page/page.h"

namespace thtrain {

namespace {

struct ReportArguments {
  std::vector<std::string> runs = {};
  std::string output = "report.html";
  bool watch = false;
};

constexpr int kReload = 5;  // seconds

}  // namespace

static void refuse_to_replace_page(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error)) || is_page_of(path, kReportMaker)) return;
  throw UserError(Message{.what = str(path, ": there is a file of this name already"),
                          .expected = "no file, or one that `thtrain report` wrote",
                          .hint = "--output NAME.html writes another one"});
}

// Writes the page; are runs going on?
static bool write_report(const ReportArguments& arguments, RunPictures& pictures, size_t& bytes) {
  GatheredReport gathered = gather_report(arguments.runs, pictures, arguments.watch);
  const bool goes_on = arguments.watch && gathered.is_going_on;
  if (goes_on) gathered.report.reload = kReload;
  const std::string page = report_page(gathered.report);
  AtomicFile file(arguments.output);
  file.write(page);
  file.commit();
  bytes = page.size();
  return goes_on;
}

static int run_report(const ReportArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  refuse_to_replace_page(arguments.output);
  RunPictures pictures;
  size_t bytes = 0;
  for (bool is_first = true;; is_first = false) {
    const Clock::time_point begin = Clock::now();
    if (!write_report(arguments, pictures, bytes)) break;
    if (is_first) print_text(str("report ", printable(arguments.output), ", written again while runs go on\n"));
    // A report that takes long to make takes no more than a tenth of the time from the runs.
    std::this_thread::sleep_for(std::max<Clock::duration>(std::chrono::seconds(kReload), 9 * (Clock::now() - begin)));
  }
  print_text(
      str("report of ", bytes_text(static_cast<double>(bytes)), " written to ", printable(arguments.output), "\n"));
  if (!Font::find()) std::fprintf(stderr, "warning: %s\n", without_font().c_str());
  return kDone;
}

static Command declare_report(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<ReportArguments>();
  command.add_option("DIR", arguments->runs, "the folders of runs; that of a sweep names its runs")
      ->required()
      ->expected(1, -1);
  command
      .add_option("--output", arguments->output,
                  "the page; without it report.html; a file that came from elsewhere is not overwritten")
      ->type_name("FILE");
  command.add_flag("--watch", arguments->watch, "write it again while runs go on; the page reads itself again");
  return [arguments] { return run_report(*arguments); };
}

CommandSpec report_command() {
  return {"report",
          "write the results of runs as one page for a browser",
          {{"thtrain report runs/lab-1", "curves, configuration, pictures and profile, as report.html"},
           {"thtrain report runs/lab-1 runs/lab-2 --output labs.html", "two runs, and where they differ"},
           {"thtrain report --watch runs/lab-sweep-1", "a sweep, while its runs go on"}},
          declare_report};
}

}  // namespace thtrain
