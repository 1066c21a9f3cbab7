#include "trainers/run/wrap_up.h"

#include <algorithm>
#include <filesystem>

#include "datasets/dataset.h"
#include "trainers/evaluator.h"
#include "trainers/table_facts.h"

namespace thtrain {

void keep_table_facts(const RunFolder& folder, const Dataset& data, const TrainOptions& options) {
  if (!writes_folder(options)) return;
  std::error_code ignored;
  const bool is_table = !data.columns.empty() || !data.class_names.empty();
  if (is_table && !std::filesystem::exists(folder.table(), ignored))
    write_table_facts(folder.table(), table_facts(data));
}

static std::optional<Evaluation> evaluate_unless_stopped(const Experiment& experiment, const Dataset& data, Part part,
                                                         const RunFolder& folder, const TrainOptions& options) {
  try {
    auto stops = [&] { return options.stop && options.stop->load(std::memory_order_relaxed) != 0; };
    return evaluate(experiment, data, part, folder.best(), 0, stops);
  } catch (const MeasurementStopped&) {
    return {};
  }
}

void add_confusion(TrainSummary& summary, const Experiment& experiment, const Dataset& data, const RunFolder& folder,
                   const TrainOptions& options) {
  const TrainerConfig& trainer = experiment.trainer;
  if (summary.interrupted || !writes_folder(options) ||
      std::none_of(trainer.metrics.begin(), trainer.metrics.end(),
                   [](const auto& metric) { return metric.name() == "confusion_matrix"; }))
    return;
  for (const auto& [part, split] : {std::pair(Part::kTest, &data.test), std::pair(Part::kValid, &data.valid)})
    if (split->size() >= (trainer.full_batches_only ? trainer.batch_size : 1)) {
      const std::optional<Evaluation> found = evaluate_unless_stopped(experiment, data, part, folder, options);
      summary.interrupted = !found;
      if (!found) return;
      summary.confusion = found->confusion;
      summary.confusion_of_steps = found->steps > 0;
      summary.class_names = data.class_names;
      summary.confusion_part = part;
      return;
    }
}

}  // namespace thtrain
