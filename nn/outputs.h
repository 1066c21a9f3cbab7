// A model that is trained by several of its layers: each has an objective, and training makes their weighted sum small.
//
//   WeightedObjectives objectives({{"digit", std::make_shared<NegativeLogLikelihood>()},
//                                  {"picture", std::make_shared<SquaredError>(), 0.5}});
//   ModelPass pass = model.pass({x}, Phase::kTraining);
//   ObjectiveStep step = objectives.step(pass, x, {{.value = y}, {.value = x}}, model.trained_params());
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/model.h"
#include "nn/objective.h"

namespace thtrain {

/// A layer whose output is judged.
struct OutputObjective {
  std::string layer;
  std::shared_ptr<Objective> objective;
  double weight = 1;
};

/// cost = sum_k weight_k cost_k, cost_k that of the objective k. One output of weight 1 is its objective alone.
class WeightedObjectives {
 public:
  /// UserError: there are none, two judge one layer, a weight is below 0 or not finite.
  explicit WeightedObjectives(std::vector<OutputObjective> outputs);

  const std::vector<OutputObjective>& outputs() const { return outputs_; }
  /// Is it one output of weight 1?
  bool is_plain() const { return outputs_.size() == 1 && outputs_[0].weight == 1; }
  /// A step of training: `targets` are those of each output. The cost is differentiated, or where it is one output, the
  /// objective's own gradients are taken. UserError as Objective::step, and where one of several objectives gives
  /// gradients of its own.
  ObjectiveStep step(ModelPass& pass, const Expr& x, const std::vector<TargetInput>& targets,
                     const std::vector<Param>& params);
  /// sum_k weight_k losses[k]
  double total(const std::vector<double>& losses) const;
  /// What a checkpoint keeps: of several outputs, "<layer>/<name>".
  std::vector<std::pair<std::string, Shared>> state() const;

 private:
  std::vector<OutputObjective> outputs_;
  std::vector<std::optional<Shared>> weights_;  // in the program
};

}  // namespace thtrain
