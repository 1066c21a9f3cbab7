// `thtrain check`: builds, compiles and runs one step of an experiment, and writes nothing.
#include "cli/commands/check.h"

#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/machine_rates.h"
#include "cli/text.h"
#include "cli/tuning_progress.h"
#include "cli/validators.h"
#include "reports/predicted_time.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"
#include "trainers/phases.h"
#include "trainers/trainer.h"

namespace thtrain {

// A kernel of a CUDA graph: an assumption, which the text says.
static constexpr double kSecondsOfALaunch = 2e-6;

namespace {

/// The step time of a phase, predicted and, of this processor, measured.
struct RooflineStep {
  PredictedTime time;
  std::optional<double> measured = {};
  std::string where = {};  // "this processor", "an NVIDIA H100 SXM"
  bool is_of_device = false;

  std::string text() const {
    const auto rate = [](double count, const char* unit) {
      return count < 1e9 ? str(fixed_text(1e-6 * count, 2), " M", unit) : str(fixed_text(1e-9 * count, 2), " G", unit);
    };
    std::string out = str("  predicted    ", time_text(time.seconds), " a step on ", where, ": ",
                          rate(time.flops, "FLOP"), ", ", bytes_text(time.bytes), ", ",
                          is_of_device ? str(count_text(time.steps), time.steps == 1 ? " launch" : " launches")
                                       : count_text(time.steps, "step"));
    out += str("; ", time_text(time.seconds_of_arithmetic), " by arithmetic, ", time_text(time.seconds_of_memory),
               " by memory");
    if (is_of_device)
      out += str(", ", time_text(time.seconds_of_launches), " by launches of ", time_text(kSecondsOfALaunch),
                 " (assumed)");
    if (time.host_steps > 0) out += str("; without ", count_text(time.host_steps, "step"), " of the host");
    if (measured)
      out += str("\n  measured     ", time_text(*measured), ", of which the prediction is ",
                 fixed_text(100 * time.seconds / *measured, 0), " %");
    return out + '\n';
  }
  std::string json() const {
    JsonObject out;
    out.add("seconds", time.seconds).add("flops", time.flops).add("bytes", time.bytes).add("steps", time.steps);
    out.add("arithmetic", time.seconds_of_arithmetic).add("memory", time.seconds_of_memory);
    if (is_of_device) out.add("launches", time.seconds_of_launches).add("host_steps", time.host_steps);
    if (measured) out.add("measured", *measured);
    return out.line();
  }

 private:
  static std::string time_text(double seconds) {
    return seconds < 1e-3 ? str(fixed_text(1e6 * seconds, 1), " us") : str(fixed_text(1e3 * seconds, 3), " ms");
  }
};

}  // namespace

// Nothing where none is asked for.
static std::optional<RooflineStep> predicted(const CheckArguments& arguments, Experiment experiment,
                                             const Dataset& data, const std::string& config_folder) {
  if (arguments.predict.empty()) return {};
  experiment.compiler.mode = CompilerConfig::Mode::kNative;  // that is what takes the time
  if (arguments.predict == "cpu") {
    experiment.compiler.device = CompilerConfig::Device::kCpu;
    const Profile profile = profile_steps(experiment, data, config_folder, 0.5).profile;
    return RooflineStep{.time = predicted_time(profile, machine_rates(experiment.compiler, profile.threads)),
                        .measured = profile.seconds / static_cast<double>(profile.calls),
                        .where = "this processor"};
  }
  experiment.compiler.device = CompilerConfig::Device::kEmulated;
  const DeviceSheet& sheet = *find_device_sheet(arguments.predict);
  const bool is_float64 = experiment.compiler.floatX == DType::kFloat64;
  const ProfiledSteps steps = profile_steps(experiment, data, config_folder, 0);
  return RooflineStep{.time = predicted_time(steps.profile, sheet, is_float64, steps.launches, kSecondsOfALaunch),
                      .where = str("an ", sheet.full_name),
                      .is_of_device = true};
}

static int check_phases(const CheckArguments& arguments, const LoadedExperiment& loaded) {
  const Experiment& experiment = loaded.experiment;
  PhaseData data(experiment, [&](const Experiment& phase) { return load_data(phase, loaded.config_folder); });
  data.check(0, loaded.config_folder);
  check_candidate_lists(
      experiment, [&](size_t i) -> const Dataset& { return data.of(i); }, loaded.config_folder);
  std::vector<std::string> objects;
  std::string text;
  for (size_t i = 0; i < phase_count(experiment); ++i) {
    const Experiment& phase = phase_of(experiment, i);
    print_warnings(phase, data.of(i));
    CheckReport report = check_experiment(phase, data.of(i), loaded.config_folder);
    const std::optional<RooflineStep> time = predicted(arguments, phase, data.of(i), loaded.config_folder);
    JsonObject out;
    out.add("phase", phase_name(phase)).add("loss", report.loss);
    add_summary(out, report.model);
    if (time) out.add_raw("predicted", time->json());
    objects.push_back(out.line());
    text += str("phase ", phase_name(phase), '\n', summary_text(report.model, targets_text(data.of(i))),
                "  loss of the first minibatch: ", loss_text(report.loss, 6), "\n", time ? time->text() : "");
  }
  if (arguments.json)
    print_text(
        JsonObject().add("config", loaded.config_file).add_raw("phases", str('[', join(objects, ", "), ']')).line() +
        "\n");
  else
    print_text(str(loaded.config_file, ": ", count_text(static_cast<int64_t>(objects.size()), "phase"),
                   " built, compiled, and one step of each done\n", text));
  return kDone;
}

int run_check(const CheckArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  if (!loaded.experiment.phases.empty()) return check_phases(arguments, loaded);
  Dataset data = load_data(loaded.experiment, loaded.config_folder);
  print_warnings(loaded.experiment, data);
  const TuningProgress tuning(0);
  check_candidate_lists(
      loaded.experiment, [&](size_t) -> const Dataset& { return data; }, loaded.config_folder);
  CheckReport report = check_experiment(loaded.experiment, data, loaded.config_folder);
  const std::optional<RooflineStep> time = predicted(arguments, loaded.experiment, data, loaded.config_folder);
  if (arguments.json) {
    JsonObject out;
    out.add("config", loaded.config_file).add("loss", report.loss);
    add_summary(out, report.model);
    if (time) out.add_raw("predicted", time->json());
    print_text(out.line() + "\n");
  } else {
    print_text(str(loaded.config_file, ": built, compiled, and one step done\n",
                   summary_text(report.model, targets_text(data)),
                   "  loss of the first minibatch: ", loss_text(report.loss, 6), "\n", time ? time->text() : ""));
  }
  return kDone;
}

static Command declare_check(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<CheckArguments>();
  add_experiment(command, arguments->experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  std::vector<std::string> machines = {"cpu"};
  for (const DeviceSheet& sheet : device_sheets()) machines.emplace_back(sheet.name);
  command
      .add_option("--predict", arguments->predict,
                  "the time of a step by a roofline: cpu, also measured, or a CUDA device by its data sheet")
      ->type_name("MACHINE")
      ->check(one_of("check", "--predict", machines));
  command.add_flag("--json", arguments->json, "print one JSON object");
  return [arguments] { return run_check(*arguments); };
}

CommandSpec check_command() {
  return {"check",
          "build, compile and run one step; write no files",
          {{"thtrain check lab.toml", "is the experiment right, and how large is the model?"},
           {"thtrain check runs/lab-1", "the experiment of a run"},
           {"thtrain check lab.toml --predict h100", "how long would a step take on that device?"}},
          declare_check};
}

}  // namespace thtrain
