// `thtrain train` and `thtrain resume`.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "bench/workloads.h"
#include "cli/commands/commands.h"
#include "cli/interrupt.h"
#include "cli/load_experiment.h"
#include "cli/progress.h"
#include "trainers/load_data.h"
#include "trainers/profile_report.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace fs = std::filesystem;

namespace {

/// The place of a new run folder. From made() to keep(), the folder goes again with this object, and so do those above
/// it that came with it.
class NewPlace {
 public:
  explicit NewPlace(const std::string& path) : path_(fs::absolute(path).lexically_normal()) {
    if (path_.filename().empty()) path_ = path_.parent_path();
    std::error_code error;
    was_there_ = fs::exists(path_, error);
    for (fs::path above = path_.parent_path(); !fs::exists(above, error) && above.has_relative_path();
         above = above.parent_path())
      new_above_.push_back(above);
  }
  ~NewPlace() {
    if (!made_ || kept_) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (was_there_) fs::create_directory(path_, ignored);
    for (const fs::path& above : new_above_) ::rmdir(above.c_str());  // where another run came meanwhile, it stays
  }
  NewPlace(const NewPlace&) = delete;
  NewPlace& operator=(const NewPlace&) = delete;
  void made() { made_ = true; }
  void keep() { kept_ = true; }

 private:
  fs::path path_;
  std::vector<fs::path> new_above_;
  bool was_there_ = false, made_ = false, kept_ = false;
};

// "trainer.epochs" -> "30", of what resolved_toml writes.
std::map<std::string, std::string> resolved_values(const Experiment& experiment) {
  std::map<std::string, std::string> out;
  std::istringstream lines(resolved_toml(experiment));
  std::string section;
  std::map<std::string, int> elements;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("[[")) {
      std::string list = line.substr(2, line.find("]]") - 2);
      section = str(list, '.', elements[list]++, '.');
    } else if (line.starts_with("[")) {
      section = str(line.substr(1, line.find(']') - 1), '.');
    } else if (size_t equals = line.find(" = "); equals != std::string::npos) {
      out[section + line.substr(0, equals)] = line.substr(equals + 3);
    }
  }
  return out;
}

// An experiment that is named beside the run folder to resume must be the one that the folder holds.
void require_same(const LoadedExperiment& named, const LoadedExperiment& run) {
  auto then = resolved_values(run.experiment), now = resolved_values(named.experiment);
  std::vector<std::string> different;
  for (const auto& [key, value] : now)
    if (!then.contains(key))
      different.push_back(str(key, ": not set then, ", value, " now"));
    else if (then[key] != value)
      different.push_back(str(key, ": ", then[key], " then, ", value, " now"));
  for (const auto& [key, value] : then)
    if (!now.contains(key)) different.push_back(str(key, ": ", value, " then, not set now"));
  if (different.empty()) return;
  throw UserError(Message{.what = str(run.run->path(), ": the run in this folder is of another experiment"),
                          .expected = str("what ", run.config_file, " says"),
                          .got = join(different, "\n"),
                          .hint = str("`thtrain resume ", run.run->path(), "` goes on with it as it is")});
}

// Measured now, beside the profile: machines differ, and so do the hours of one. A ceiling is the fastest that was
// seen.
MachineRates machine_rates(const CompilerConfig& config, int threads) {
  WorkloadOptions options{.dtype = config.floatX, .threads = threads};
  const auto width = static_cast<double>(size_of(config.floatX));
  MachineRates out{.flops = 1e9 * measure(gemm_ceiling("2x2x2/NN", options), 0.2).high};
  for (int64_t elements : {4'000, 30'000, 300'000, 2'000'000, 10'000'000}) {
    MachineRates::Stream& stream = out.streams.emplace_back();
    for (auto [formula, arrays] : {std::pair("a+1", 2), {"2a+3b", 3}}) {  // read one or two, write one
      const Workload workload = elementwise_ceiling(str(formula, '/', elements), options);
      const double rate = arrays * width * measure(workload, 0.05).high;
      if (rate > stream.bytes_per_second)
        stream = {.size = arrays * width * static_cast<double>(elements), .bytes_per_second = rate};
    }
  }
  return out;
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw UserError(Message{.what = path.string() + ": cannot be written"});
}

void report_profile(const TrainSummary& summary, const Experiment& experiment, bool print) {
  const Profile& profile = *summary.profile;
  MachineRates rates = machine_rates(experiment.compiler, profile.threads);
  fs::path folder = fs::path(summary.run_dir) / "profile";
  fs::create_directories(folder);
  write_text(folder / "profile.json", profile_json(profile, *summary.explanation, rates));
  write_text(folder / "trace.json", profile_trace(profile));
  if (!print) return;
  std::fputs(profile_table(profile, *summary.explanation, rates).c_str(), stdout);
  std::printf("profile %s\n", folder.c_str());
}

int result(const TrainSummary& summary, Progress& progress, const InterruptWatch& interrupt,
           const Experiment& experiment, bool json) {
  progress.finish(summary);
  if (summary.profile) report_profile(summary, experiment, !json);
  return summary.interrupted ? interrupt.exit_code() : kDone;
}

int resume_run(const TrainArguments& arguments, Progress::Options options, TrainOptions train_options) {
  LoadedExperiment loaded = load_run(arguments.run_dir, {});
  if (!arguments.experiment.config.empty())
    require_same(load_experiment(arguments.experiment.config, arguments.experiment.overrides), loaded);
  Dataset data = load_data(loaded.experiment, loaded.config_folder);
  options.epochs = loaded.experiment.trainer.epochs;
  Progress progress(options);
  InterruptWatch interrupt;
  train_options.stop = interrupt.flag();
  return result(resume(loaded.experiment, data, *loaded.run, progress.hooks(), train_options), progress, interrupt,
                loaded.experiment, arguments.json);
}

// Where two runs choose the same number at once, one of them takes the next.
RunFolder make_folder(const TrainArguments& arguments, const LoadedExperiment& loaded, std::optional<NewPlace>& place) {
  RunFacts facts{arguments.command_line, loaded.config_file, loaded.config_folder};
  for (int attempt = 0;; ++attempt) {
    std::string path = arguments.run_dir;
    if (path.empty()) path = new_run_path(loaded.experiment.output.root, loaded.config_file);
    place.emplace(path);
    try {
      RunFolder folder = RunFolder::create(path, loaded.experiment, facts);
      place->made();
      return folder;
    } catch (const UserError&) {
      if (!arguments.run_dir.empty() || attempt == 20 || !fs::exists(path)) throw;
    }
  }
}

int new_run(const TrainArguments& arguments, Progress::Options options, TrainOptions train_options) {
  LoadedExperiment loaded = load_experiment(arguments.experiment.config, arguments.experiment.overrides);
  const Experiment& experiment = loaded.experiment;
  Dataset data = load_data(experiment, loaded.config_folder);
  options.epochs = experiment.trainer.epochs;
  Progress progress(options);
  std::optional<NewPlace> place;
  RunFolder folder = make_folder(arguments, loaded, place);
  InterruptWatch interrupt;
  train_options.stop = interrupt.flag();
  TrainHooks hooks = progress.hooks();
  hooks.on_start = [&, report = hooks.on_start](const ModelSummary& model) {
    place->keep();
    report(model);
  };
  return result(train(experiment, data, folder, hooks, train_options), progress, interrupt, experiment, arguments.json);
}

}  // namespace

int run_train(const TrainArguments& arguments) {
  Progress::Options options{.json = arguments.json, .quiet = arguments.quiet, .verbose = arguments.verbose};
  TrainOptions train_options{.allow_different_bits = arguments.allow_different_bits,
                             .profile = arguments.profile,
                             .started = arguments.started};
  if (!arguments.resume) return new_run(arguments, options, train_options);
  if (arguments.run_dir.empty())
    throw UserError(Message{.what = "--resume needs the folder of the run to go on with",
                            .expected = "--run-dir DIR",
                            .hint = "`thtrain resume DIR` is the same"});
  return resume_run(arguments, options, train_options);
}

}  // namespace thtrain
