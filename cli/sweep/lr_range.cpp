#include "cli/sweep/lr_range.h"

#include <cstdio>
#include <filesystem>

#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/base/escape.h"
#include "compiler/base/file.h"
#include "reports/font.h"
#include "reports/json.h"
#include "reports/lr_range_picture.h"
#include "trainers/load_data.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTableHead = "step,learning_rate,loss,smoothed_loss\n";

void refuse(std::string what, std::string expected, std::string got = "") {
  throw UserError(
      Message{.what = "thtrain sweep: " + std::move(what), .expected = std::move(expected), .got = std::move(got)});
}

std::string stem_of(const LrRangeArguments& arguments) {
  if (arguments.output.empty()) return "lr_range";
  if (!arguments.output.ends_with(".png"))
    refuse("--output names a picture", "a name that ends in .png; the table and an SVG file get the same name",
           arguments.output);
  return arguments.output.substr(0, arguments.output.size() - 4);
}

// A name that was typed is meant; at others stays what this command did not write.
void check_output(const LrRangeArguments& arguments, const LoadedExperiment& loaded, const std::string& stem) {
  for (const char* ending : {".csv", ".png", ".svg"}) {
    const std::string path = stem + ending;
    refuse_to_overwrite("--output", path, loaded);
    check_replaceable(path);
    std::error_code error;
    if (path == arguments.output || !fs::exists(fs::symlink_status(path, error))) continue;
    const bool is_ours =
        path.ends_with(".csv") ? InputFile(path).beginning().starts_with(kTableHead) : is_made_by(path, kLrRangeMaker);
    if (!is_ours)
      throw UserError(Message{.what = str(path, ": there is a file of this name already"),
                              .expected = "no file, or one that `thtrain sweep --lr-range` wrote",
                              .hint = path.ends_with(".png")
                                          ? "--output lr_range.png overwrites it, --output NAME.png writes others"
                                          : "--output NAME.png writes others"});
  }
}

void write_table(const std::string& path, const LrRange& range) {
  AtomicFile file(path);
  file.write(kTableHead);
  for (size_t i = 0; i < range.steps.size(); ++i) {
    const LrRange::Step& step = range.steps[i];
    file.write(
        str(i + 1, ',', number_text(step.rate), ',', number_text(step.loss), ',', number_text(step.smoothed), '\n'));
  }
  file.commit();
}

// With two digits: more would say more than the test does.
std::string rate_text(double rate) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2g", rate);
  return text;
}

std::vector<std::string> draw(const std::string& stem, const std::string& config, const LrRange& range) {
  LrRangePicture picture{.title = str("learning-rate range test of ", config)};
  for (const LrRange::Step& step : range.steps) {
    picture.losses.emplace_back(step.rate, step.loss);
    picture.smoothed.emplace_back(step.rate, step.smoothed);
  }
  if (range.steepest) picture.suggestion = picture.smoothed[*range.steepest];
  picture.diverged_at = range.diverged_at;
  return draw_lr_range(stem, picture);
}

std::string range_text(const LrRange& range, const LrRangeOptions& options) {
  const LrRange::Step& first = range.steps.front();
  std::string out = str(count_text(std::ssize(range.steps), "step"), ", learning rates from ", rate_text(first.rate),
                        " to ", rate_text(range.steps.back().rate), "\n");
  if (range.diverged_at)
    out += str("stopped at ", rate_text(*range.diverged_at), ": ",
               range.is_finite ? "the mean of the last 5 losses was above twice that of the first 5\n"
                               : "the loss was not finite\n");
  const LrRange::Step& lowest = range.steps[range.lowest];
  out += str("smoothed loss ", loss_text(first.smoothed, 6), " at first, lowest ", loss_text(lowest.smoothed, 6),
             " at ", rate_text(lowest.rate), "\n");
  if (!range.steepest)
    return str(out, "no suggestion: the smoothed loss does not fall between ", rate_text(options.low), " and ",
               rate_text(lowest.rate), "\n");
  return str(out, "suggestion: trainer.learning_rate=", rate_text(range.steps[*range.steepest].rate),
             ", the steepest descent: there the smoothed loss falls fastest over the logarithm of the rate\n");
}

std::string range_json(const LrRange& range, const std::string& table, const std::vector<std::string>& pictures) {
  JsonObject out;
  out.add("steps", std::ssize(range.steps)).add("first_rate", range.steps.front().rate);
  out.add("last_rate", range.steps.back().rate);
  if (range.diverged_at) out.add("diverged_at", *range.diverged_at);
  out.add("lowest_rate", range.steps[range.lowest].rate).add("lowest_loss", range.steps[range.lowest].smoothed);
  if (range.steepest) out.add("suggestion", range.steps[*range.steepest].rate);
  out.add("csv", table).add("pictures", pictures);
  return out.line() + '\n';
}

}  // namespace

void add_lr_range(CLI::App& command, LrRangeArguments& into) {
  command.add_flag("--lr-range", into.wanted, "a range test instead of runs: the loss while the learning rate rises");
  auto rate = [](const std::string& option) { return number_in("sweep", option, 1e-30, 1e30); };
  command.add_option("--lr-from", into.low, "of a range test: the first learning rate; without it 1e-6")
      ->type_name("RATE")
      ->check(rate("--lr-from"));
  command.add_option("--lr-to", into.high, "of a range test: the last learning rate; without it 1")
      ->type_name("RATE")
      ->check(rate("--lr-to"));
  command.add_option("--lr-steps", into.steps, "of a range test: minibatches; without it 200")
      ->type_name("N")
      ->check(number_in("sweep", "--lr-steps", int64_t{10}, int64_t{100'000}));
  command
      .add_option("--output", into.output,
                  "of a range test: the picture; without it lr_range.png in the working folder")
      ->type_name("FILE");
}

void require_lr_range(const LrRangeArguments& arguments) {
  const char* given = arguments.low               ? "--lr-from"
                      : arguments.high            ? "--lr-to"
                      : arguments.steps           ? "--lr-steps"
                      : !arguments.output.empty() ? "--output"
                                                  : nullptr;
  if (given) refuse(str(given, " has no use without --lr-range"), "--lr-range, or no " + std::string(given));
}

int run_lr_range(const LrRangeArguments& arguments, const ExperimentArguments& experiment) {
  if (experiment.config.empty()) refuse("CONFIG is missing", "the experiment file");
  const LoadedExperiment loaded = load_experiment(experiment.config, experiment.overrides);
  const std::string stem = stem_of(arguments);
  check_output(arguments, loaded, stem);
  LrRangeOptions options;
  options.low = arguments.low.value_or(options.low);
  options.high = arguments.high.value_or(options.high);
  options.steps = arguments.steps.value_or(options.steps);
  const Dataset data = load_data(loaded.experiment, loaded.config_folder);
  const LrRange range = test_lr_range(loaded.experiment, data, loaded.config_folder, options);
  if (range.steps.empty())
    throw UserError(Message{.what = "the loss of the first minibatch is not finite",
                            .hint = "`thtrain train` of this experiment says where it comes from"});
  const std::string table = stem + ".csv";
  write_table(table, range);
  const std::vector<std::string> pictures = draw(stem, experiment.config, range);
  if (arguments.json) {
    print_text(range_json(range, table, pictures));
  } else {
    print_text(str(range_text(range, options), "table ", printable(table), ", picture ",
                   printable(join(pictures, ", ")), "\n"));
  }
  if (!Font::find()) std::fprintf(stderr, "warning: %s\n", printable(without_font()).c_str());
  return kDone;
}

}  // namespace thtrain
