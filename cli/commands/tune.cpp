// `thtrain tune`: who computes the matrix products of an experiment fastest on this machine.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/load_experiment.h"
#include "cli/text.h"
#include "compiler/runtime/cache.h"
#include "compiler/runtime/gemm_trials.h"
#include "compiler/runtime/machine.h"
#include "compiler/runtime/threads.h"
#include "trainers/load_data.h"
#include "trainers/trainer.h"

namespace thtrain {

namespace {

struct TunedProduct {
  kernel::MatrixProduct product;
  std::vector<GemmTrial> trials;  // the fastest first
};

double gflops(const TunedProduct& tuned, const GemmTrial& trial) {
  const kernel::MatrixProduct& p = tuned.product;
  return 2e-9 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) / trial.seconds;
}

std::string tuned_text(const TunedProduct& tuned) {
  std::vector<std::vector<std::string>> rows = {{"candidate", "GFLOP/s", "microseconds"}};
  for (const GemmTrial& trial : tuned.trials)
    rows.push_back({trial.candidate, json_fixed(gflops(tuned, trial), 1), json_fixed(1e6 * trial.seconds, 1)});
  return str(text_of(tuned.product), ": ", tuned.trials.front().candidate, "\n", table_text(rows));
}

std::string tuned_json(const TunedProduct& tuned) {
  auto trial_json = [&](const GemmTrial& trial) {
    return JsonObject().add("candidate", trial.candidate).add("gflops", gflops(tuned, trial)).line();
  };
  return JsonObject()
      .add("product", text_of(tuned.product))
      .add("choice", tuned.trials.front().candidate)
      .add_raw("trials", str('[', join(tuned.trials, ", ", trial_json), ']'))
      .line();
}

}  // namespace

int run_tune(const TuneArguments& arguments) {
  LoadedExperiment loaded = load_experiment_or_run(arguments.experiment.config, arguments.experiment.overrides);
  Dataset data = load_data(loaded.experiment, loaded.config_folder);
  int threads = thread_count(static_cast<int>(loaded.experiment.compiler.threads));
  std::vector<TunedProduct> tuned;
  TuningTable table;
  for (const kernel::MatrixProduct& product : matrix_products(loaded.experiment, data, loaded.config_folder)) {
    std::vector<GemmTrial> trials = time_candidates(product, candidates_of(product), threads);
    std::stable_sort(trials.begin(), trials.end(),
                     [](const GemmTrial& a, const GemmTrial& b) { return a.seconds < b.seconds; });
    table[text_of(product)] = trials.front().candidate;
    tuned.push_back({product, std::move(trials)});
    if (!arguments.json) print_text(str(tuned_text(tuned.back()), "\n"));
  }
  if (!table.empty()) remember(table, threads);
  measure_machine_again();
  if (arguments.json) {
    print_text(
        JsonObject().add("threads", threads).add_raw("products", str('[', join(tuned, ", ", tuned_json), ']')).line() +
        "\n");
    return kDone;
  }
  const bool is_reference = loaded.experiment.compiler.mode == CompilerConfig::Mode::kReference;
  const char* nothing = is_reference ? ": compiler.mode = \"reference\" computes without native code\n" : "\n";
  print_text(str(count_text(static_cast<int64_t>(tuned.size()), "product"), " for ", count_text(threads, "thread"),
                 tuned.empty() ? nothing : str(", remembered in ", cache_folder_text(), "\n")));
  return kDone;
}

}  // namespace thtrain
