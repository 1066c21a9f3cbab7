// `thtrain explain`: the stages of a function, from the graph to the text that is compiled; or all of them as a page.
#include <map>
#include <optional>

#include "cli/command.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/base/file.h"
#include "compiler/runtime/occupancy.h"
#include "compiler/tuning/machine.h"
#include "reports/explain/page.h"
#include "reports/explain/pass_changes.h"
#include "trainers/inspect.h"
#include "trainers/load_data.h"

namespace thtrain {

namespace {

struct ExplainArguments {
  ExperimentArguments experiment;
  std::string phase = {};  // "": the last one
  std::string stage = "graph";
  std::string function = "train";
  std::string html = {};  // a file for the page; "": the stage is printed
};

}  // namespace

static const std::vector<std::string>& explain_stages() {
  static const std::vector<std::string> names = {"graph",   "passes", "rewrites", "canonical", "fused",
                                                 "program", "cpp",    "c99",      "cuda"};
  return names;
}

static const std::vector<std::string>& explain_functions() {
  static const std::vector<std::string> names = {"train", "valid"};
  return names;
}

// What each pass did, and how often each rule was applied.
static std::string passes_text(const Explanation& explanation) {
  std::vector<std::vector<std::string>> rows = {{"pass", "stage", "nodes before", "after", "milliseconds"}};
  for (const PassRecord& pass : explanation.passes)
    rows.push_back({pass.name, pass.stage, std::to_string(pass.nodes_before), std::to_string(pass.nodes_after),
                    json_fixed(1000 * pass.seconds, 3)});
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const Fired& fired : explanation.fired) ++counts[{fired.pass, fired.rule}];
  std::vector<std::vector<std::string>> rules = {{"times", "rule", "pass"}};
  for (const auto& [name, count] : counts) rules.push_back({std::to_string(count), name.second, name.first});
  return table_text(rows, "") + (counts.empty() ? "" : "\n" + table_text(rules, ""));
}

static void write_page(const ExplainArguments& arguments, const std::string& config, const Explanation& explanation,
                       const std::vector<Tensor>& minibatch, AtomicFile& file) {
  const bool trains = arguments.function == "train";
  std::string page = explain_page(explanation,
                                  {.experiment = config.substr(config.rfind('/') + 1),
                                   .function = trains ? "the training step" : "the counting of errors"},
                                  minibatch);
  file.write(page);
  file.commit();
  print_text(str("page of ", bytes_text(static_cast<double>(page.size())), " written to ", arguments.html, "\n"));
}

static int run_explain(const ExplainArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  take_phase(loaded, arguments.phase);
  if (!arguments.html.empty()) refuse_to_overwrite("--html", arguments.html, loaded);
  Dataset data = load_data(loaded.experiment, loaded.config_folder);
  std::optional<AtomicFile> page;  // opened before the work: a file that cannot be written is told at once
  if (!arguments.html.empty()) page.emplace(arguments.html);
  if (arguments.stage == "c99") {
    use_target(kernel::c99_target(machine().cores));
    loaded.experiment.compiler.device = CompilerConfig::Device::kCpu;  // which has that target
  }
  if (arguments.stage == "cuda") use_target(kernel::emulated_cuda_target(machine().cores));
  std::vector<Tensor> minibatch;
  const Explanation explanation =
      arguments.function == "valid"
          ? explain_errors(loaded.experiment, data, loaded.config_folder)
          : explain_training(loaded.experiment, data, loaded.config_folder, page ? &minibatch : nullptr);
  if (page) {
    write_page(arguments, loaded.config_file, explanation, minibatch, *page);
    return kDone;
  }
  const std::string& stage = arguments.stage;
  std::string text = stage == "passes"      ? passes_text(explanation)
                     : stage == "rewrites"  ? rewrites_text(explanation)
                     : stage == "canonical" ? explanation.canonical
                     : stage == "fused"     ? explanation.fused
                     : stage == "program"   ? explanation.program
                     : stage == "graph"     ? explanation.graph
                     : stage == "cuda"      ? occupancy_text(explanation) + explanation.device
                                            : explanation.cpp;  // or C99
  if (!text.ends_with('\n')) text += '\n';
  print_text(text);
  return kDone;
}

static Command declare_explain(CLI::App& command, const Invocation&) {
  auto arguments = std::make_shared<ExplainArguments>();
  add_experiment(command, arguments->experiment, "CONFIG|DIR", "the experiment file, or a run's folder");
  add_phase(command, arguments->phase);
  command.add_option("--stage", arguments->stage, join(explain_stages(), ", ") + "; without it graph")
      ->type_name("STAGE")
      ->check(one_of("explain", "--stage", explain_stages()));
  command.add_option("--html", arguments->html, "write all stages as one page for a browser")->type_name("FILE");
  command
      .add_option("--function", arguments->function,
                  "train: the training step (the default); valid: the count of errors")
      ->type_name("NAME")
      ->check(one_of("explain", "--function", explain_functions()));
  return [arguments, &command] {
    if (!arguments->html.empty() && command.count("--stage") > 0)
      throw UserError(Message{.what = "thtrain explain: --stage and --html are both given",
                              .expected = "one of them",
                              .hint = "the page of --html has all stages"});
    return run_explain(*arguments);
  };
}

CommandSpec explain_command() {
  return {"explain",
          "print a stage of the compilation of a function",
          {{"thtrain explain lab.toml", "the graph of the training step"},
           {"thtrain explain lab.toml --stage cpp", "the C++ text that is compiled"},
           {"thtrain explain lab.toml --stage c99", "the same as C99 without libraries"},
           {"thtrain explain lab.toml --stage cuda", "a device's graphs, and its kernels"},
           {"thtrain explain runs/lab-1 --html page.html", "all stages as one page for a browser"}},
          declare_explain};
}

}  // namespace thtrain
