// `thtrain show`: pictures of what a run has learned.
#include <cstdio>

#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/run_hints.h"
#include "cli/show_run.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "reports/font.h"

namespace thtrain {

namespace {

struct ShowArguments {
  ExperimentArguments experiment;     // `config` is a run folder
  std::string output = {};            // "": plots/ in the run folder
  std::string phase = {};             // "": the last one
  std::string weights = {};           // "": the run folder's
  std::string part = {};              // "train", "valid", "test"; "": the test examples, else those that there are
  std::string layer = {};             // whose weights are drawn; "": the first one
  int64_t example = 0;                // that feature maps and saliency are drawn of
  std::string features = {};          // the layer that is embedded; "": the last hidden one
  int64_t points = 500, seed = 1;     // of the embedding
  int64_t occlusion = 0, stride = 0;  // of the square, in pixels; 0: chosen by the size of the pictures
};

}  // namespace

static std::optional<Part> part_named(const std::string& name) {
  if (name.empty()) return {};
  return name == "train" ? Part::kTrain : name == "valid" ? Part::kValid : Part::kTest;
}

// Draws what a run has learned, and lists the files (trainers/show/show.h).
static int run_show(const ShowArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  if (!loaded.run)
    throw UserError(Message{.what = "thtrain show: an experiment file has learned nothing",
                            .expected = "the folder of a run",
                            .got = arguments.experiment.config});
  const std::string folder = arguments.output.empty() ? loaded.run->file("plots") : arguments.output;
  const auto [report, weights] = show_run(loaded, arguments.phase, arguments.weights,
                                          {.part = part_named(arguments.part),
                                           .layer = arguments.layer,
                                           .example = arguments.example,
                                           .square = {arguments.occlusion, arguments.stride},
                                           .features = arguments.features,
                                           .points = arguments.points,
                                           .seed = arguments.seed},
                                          folder);
  std::vector<std::vector<std::string>> files;
  for (const ShowReport::File& file : report.files) files.push_back({printable(file.name), printable(file.what)});
  std::string text = str("pictures in ", printable(folder), "\n", table_text(files));
  if (!report.left_out.empty()) text += "not drawn\n";
  for (const std::string& line : report.left_out) text += str("  ", printable(line), "\n");
  for (const ShowReport::Table& table : report.tables) {
    std::vector<std::vector<std::string>> rows = table.rows;
    for (std::vector<std::string>& row : rows)
      for (std::string& cell : row) cell = printable(cell);
    text += str(printable(table.title), "\n", table_text(rows));
  }
  print_text(str(text, "weights ", printable(weights), "\n"));
  warn_of_unused_arrays(weights, report.unused_arrays);
  if (!Font::find()) std::fprintf(stderr, "warning: %s\n", without_font().c_str());
  return kDone;
}

static Command declare_show(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<ShowArguments>();
  add_experiment(command, arguments->experiment, "DIR", "a run's folder");
  command.add_option("--output", arguments->output, "folder for the pictures; without it plots/ in the run's folder")
      ->type_name("DIR");
  add_phase(command, arguments->phase);
  add_weights(command, arguments->weights);
  command
      .add_option("--part", arguments->part,
                  "which examples: train, valid or test; without it test, where there are some")
      ->type_name("PART")
      ->check(one_of("show", "--part", {"train", "valid", "test"}));
  command.add_option("--layer", arguments->layer, "the layer whose weights are drawn; without it the first one")
      ->type_name("NAME");
  command
      .add_option("--features", arguments->features,
                  "the layer whose features are embedded in the plane; without it the last hidden one")
      ->type_name("NAME");
  auto number = [](const std::string& option, int64_t low) {
    return number_in("show", option, low, int64_t{1'000'000'000'000});
  };
  command
      .add_option("--example", arguments->example,
                  "the example whose feature maps and pixels are drawn; 0 unless given")
      ->type_name("N")
      ->check(number("--example", 0));
  command
      .add_option("--occlusion", arguments->occlusion,
                  "side of the grey square that moves over the example; without it a quarter of the shorter side")
      ->type_name("PIXELS")
      ->check(number("--occlusion", 1));
  command.add_option("--stride", arguments->stride, "by how much it moves; without it a quarter of its side")
      ->type_name("PIXELS")
      ->check(number("--stride", 1));
  command.add_option("--points", arguments->points, "examples of the embedding, at most; 500 unless given")
      ->type_name("N")
      ->check(number_in("show", "--points", int64_t{10}, int64_t{5000}));
  command.add_option("--seed", arguments->seed, "which of them are drawn; 1 unless given")
      ->type_name("N")
      ->check(number_in("show", "--seed", int64_t{0}, int64_t{4294967295}));
  return [arguments] { return run_show(*arguments); };
}

CommandSpec show_command() {
  return {"show",
          "draw what a run has learned",
          {{"thtrain show runs/lab-1", "weights, mistakes, feature maps ... into runs/lab-1/plots"},
           {"thtrain show runs/lab-1 --example 7 --layer conv2", "of another example, and filters of another layer"}},
          declare_show};
}

}  // namespace thtrain
