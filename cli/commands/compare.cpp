// `thtrain compare`: in what runs differ, their results, and their curves.
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "cli/compare_picture.h"
#include "cli/config_differences.h"
#include "cli/differences_table.h"
#include "cli/load_experiment.h"
#include "cli/named_runs.h"
#include "cli/runs_table.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "reports/compared_runs.h"
#include "trainers/metrics_file.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

struct CompareArguments {
  std::vector<std::string> runs;
  std::optional<std::string> output = {};  // a .png, and next to it an .svg; not given: compare.png, where it is free
  ValueScale plot_scale = ValueScale::kAuto;
  bool json = false;
};

std::string compare_json(const std::vector<NamedRun>& runs, const std::vector<std::vector<std::string>>& rows,
                         const std::vector<std::string>& pictures) {
  JsonObject keys;
  for (const auto& row : rows) {
    JsonObject values;
    for (size_t i = 0; i < runs.size(); ++i)
      if (row[i + 1] != "-") values.add(runs[i].name, row[i + 1]);
    keys.add_raw(row[0], values.line());
  }
  return JsonObject()
      .add_raw("differences", keys.line())
      .add_raw("runs", str('[', join(runs, ", ", [](const NamedRun& run) { return run_json({run.record}); }), ']'))
      .add("pictures", pictures)
      .line();
}

// The path without ".png".
std::string stem_of(const CompareArguments& arguments) {
  const std::string output = arguments.output.value_or("compare.png");
  if (!output.ends_with(".png") || fs::path(output).filename() == ".png")
    throw UserError(Message{.what = str("thtrain compare: --output ", output, " is no name of a picture"),
                            .expected = "a name that ends with .png; an .svg is written next to it",
                            .got = output});
  return output.substr(0, output.size() - 4);
}

// A name that was typed is meant, as elsewhere; at the standard name stays what `compare` did not write.
void refuse_to_replace(const std::string& stem) {
  std::error_code error;
  for (const char* ending : {".png", ".svg"}) {
    const std::string path = stem + ending;
    if (fs::exists(fs::symlink_status(path, error)) && !is_made_by(path, kCompareMaker))
      throw UserError(Message{.what = str(path, ": there is a file of this name already"),
                              .expected = "no file, or one that `thtrain compare` wrote",
                              .hint = "--output compare.png overwrites it, --output NAME.png writes another one"});
  }
}

// Their experiments; the pictures at `stem` must not replace a file of the runs.
std::vector<ComparedConfig> configs_of(const std::vector<NamedRun>& runs, const std::string& stem) {
  std::vector<ComparedConfig> out;
  for (const NamedRun& run : runs) {
    const LoadedExperiment loaded = load_run(run.record.folder, {});
    for (const char* ending : {".png", ".svg"}) refuse_to_overwrite("--output", stem + ending, loaded);
    out.push_back(compared_config(loaded.experiment));
  }
  return out;
}

// By the metric of the first run. A run that measured another one has no curve.
std::vector<std::string> draw(const std::vector<NamedRun>& runs, const std::string& stem, ValueScale scale) {
  const std::string& metric = runs.front().record.metric.name;
  std::vector<NamedCurves> curves;
  for (const NamedRun& run : runs) {
    const RunCurves found = read_curves(run.record.folder, metric);
    curves.push_back({run.name, found.valid, found.train});
    if (!found.valid.empty() || !found.train.empty()) continue;
    const std::string why =
        run.record.trouble.empty() ? str("it did not measure the ", metric_label(metric)) : run.record.trouble;
    std::fprintf(stderr, "%s has no curve: %s\n", printable(run.name).c_str(), printable(why).c_str());
  }
  const std::string unit = runs.front().record.metric.unit;
  return draw_curves(stem, curves, str(metric_label(metric), unit.empty() ? "" : str(" (", unit, ')')), scale);
}

}  // namespace

// The keys in which the experiments of runs differ, their results, and their curves in one picture.
static int run_compare(const CompareArguments& arguments) {
  const std::vector<std::string> folders = folders_of_runs(arguments.runs);
  if (folders.size() < 2)
    throw UserError(Message{.what = "thtrain compare: there is nothing to compare with",
                            .expected = "the folders of two or more runs",
                            .got = folders.empty() ? "none" : folders[0]});
  const std::string stem = stem_of(arguments);
  const std::vector<NamedRun> runs = read_runs("thtrain compare", folders);
  const std::vector<ComparedConfig> configs = configs_of(runs, stem);
  // What is told of the runs does not wait for a picture that cannot be written.
  std::optional<UserError> trouble;
  auto draw_or_note = [&]() -> std::vector<std::string> {
    try {
      if (!arguments.output) refuse_to_replace(stem);
      return draw(runs, stem, arguments.plot_scale);
    } catch (const UserError& error) {
      trouble = error;
      return {};
    }
  };
  if (arguments.json) {
    const std::vector<std::string> pictures = draw_or_note();
    print_text(compare_json(runs, all_differences(configs), pictures) + "\n");
    if (trouble) throw UserError(*trouble);
    return kDone;
  }
  constexpr int kWidth = 100;  // of what no terminal shows
  const int width = is_terminal(stdout) ? terminal_width(stdout) : 0;
  std::vector<RunRow> results;
  std::vector<std::string> names;
  for (const NamedRun& run : runs) {
    results.push_back({run.record});
    names.push_back(run.name);
  }
  print_text(str(differences_text(names, short_differences(configs), width > 0 ? width : kWidth), "\n",
                 runs_text(results, width)));
  std::string text;
  for (const std::string& picture : draw_or_note()) text += str("curves ", printable(picture), "\n");
  print_text(text);
  if (trouble) throw UserError(*trouble);
  return kDone;
}

static Command declare_compare(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<CompareArguments>();
  auto plot_scale = std::make_shared<std::string>();
  command.add_option("RUN", arguments->runs, "the folders of two or more runs; that of a sweep means all of its runs")
      ->required()
      ->expected(1, -1);
  command
      .add_option(
          "--output", arguments->output,
          "the picture, a .png, which may be there; an .svg is written next to it; without it a new compare.png")
      ->type_name("FILE");
  command.add_option("--plot-scale", *plot_scale, "the axis of values: linear, log, or auto (the default)")
      ->type_name("SCALE")
      ->check(one_of("compare", "--plot-scale", {"auto", "linear", "log"}));
  command.add_flag("--json", arguments->json, "print one JSON object");
  return [arguments, plot_scale] {
    if (*plot_scale == "linear") arguments->plot_scale = ValueScale::kLinear;
    if (*plot_scale == "log") arguments->plot_scale = ValueScale::kLogarithmic;
    return run_compare(*arguments);
  };
}

CommandSpec compare_command() {
  return {"compare",
          "show in what runs differ, and draw their curves into one picture",
          {{"thtrain compare runs/lab-1 runs/lab-2", "keys that differ, results, and compare.png"},
           {"thtrain compare runs/lab-* --output curves.png", "all runs of an experiment"}},
          declare_compare};
}

}  // namespace thtrain
