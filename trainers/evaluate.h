// The errors of a trained model on the examples of an experiment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/history.h"
#include "trainers/experiment.h"

namespace thtrain {

struct Dataset;

enum class Part { kTrain, kValid, kTest };
/// "train", "valid", "test"
const char* name_of(Part part);

/// A model's errors on one part of the data, counted as training counts them: over full minibatches only where
/// trainer.full_batches_only says so.
struct Evaluation {
  /// One of trainer.metrics.
  struct Value {
    std::string name;
    std::string text;                   // as people read it
    std::optional<double> number = {};  // none of a matrix
  };
  int64_t examples = 0;
  int64_t errors = 0;  // where the metric "error" counts examples or steps, which have no weights
  int64_t steps = 0;   // of those examples, where each step has a target; else 0
  double error = 0;    // of the metric that the run goes by
  double loss = 0;     // of the objective over the examples, without penalties
  MetricName metric = {};
  bool has_errors = false;         // is `errors` their number?
  std::vector<Value> others = {};  // the other metrics
  /// float64 [classes, classes]: how many examples (steps, where each has a target) of each class (rows; or the sum of
  /// their weights) were taken for each class (columns).
  std::optional<Tensor> confusion = {};
  std::vector<std::string> unused_arrays = {};  // of the weights: those that the model has no use for
};
/// `weights` is an .npz: a run's best.npz or checkpoint.npz, or any with the model's names. UserError where it does not
/// fit the model, or the part has no examples. The confusion matrix is of the output with this number, where it decides
/// between classes. `stops` as Evaluator::measure().
Evaluation evaluate(const Experiment& experiment, const Dataset& data, Part part, const std::string& weights,
                    size_t confusion_of = 0, const std::function<bool()>& stops = {});

}  // namespace thtrain
