#include "nn/outputs.h"

#include <cmath>

#include "compiler/ops/elemwise/elemwise.h"
#include "nn/model_pass.h"

namespace thtrain {

WeightedObjectives::WeightedObjectives(std::vector<OutputObjective> outputs)
    : outputs_(std::move(outputs)), weights_(outputs_.size()) {
  if (outputs_.empty()) throw UserError(Message{.what = "no output of the model has an objective"});
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!(outputs_[i].weight >= 0) || std::isinf(outputs_[i].weight))
      throw UserError(Message{.what = str("the weight of the output ", outputs_[i].layer, " is out of range"),
                              .expected = "a finite number, at least 0",
                              .got = str(outputs_[i].weight)});
    for (size_t j = 0; j < i; ++j)
      if (outputs_[i].layer == outputs_[j].layer)
        throw UserError(Message{.what = str("two objectives judge the output ", outputs_[i].layer),
                                .expected = "one for each output"});
  }
}

ObjectiveStep WeightedObjectives::step(ModelPass& pass, const Expr& x, const std::vector<TargetInput>& targets,
                                       const std::vector<Param>& params) {
  TH_CHECK(targets.size() == outputs_.size(), targets.size(), " targets of ", outputs_.size(), " outputs");
  auto step_of = [&](size_t k) {
    return outputs_[k].objective->step(
        {.x = x, .output = pass.model_output(outputs_[k].layer), .targets = targets[k], .params = params});
  };
  if (is_plain()) return step_of(0);
  ObjectiveStep out;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    ObjectiveStep one = step_of(k);
    if (one.gradients)
      throw UserError(Message{.what = str("objective \"", outputs_[k].objective->name(),
                                          "\" gives gradients of its own, which have no weighted sum"),
                              .expected = "it alone, with the weight 1"});
    Scope scope(outputs_[k].layer);
    if (!weights_[k]) weights_[k] = Shared(Tensor(outputs_[k].weight).cast(one.cost.dtype()), "weight", true);
    Expr term = *weights_[k] * one.cost;
    out.cost = out.cost.has_value() ? out.cost + term : term;
    out.updates.insert(out.updates.end(), one.updates.begin(), one.updates.end());
  }
  return out;
}

double WeightedObjectives::total(const std::vector<double>& losses) const {
  TH_CHECK(losses.size() == outputs_.size(), losses.size(), " losses of ", outputs_.size(), " outputs");
  double out = 0;
  for (size_t k = 0; k < losses.size(); ++k) out += outputs_[k].weight * losses[k];
  return out;
}

std::vector<std::pair<std::string, Shared>> WeightedObjectives::state() const {
  std::vector<std::pair<std::string, Shared>> out;
  for (const OutputObjective& output : outputs_)
    for (const auto& [name, variable] : output.objective->state())
      out.emplace_back(outputs_.size() == 1 ? name : str(output.layer, '/', name), variable);
  return out;
}

}  // namespace thtrain
