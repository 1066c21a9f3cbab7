#include "trainers/batch_training.h"

#include <algorithm>

#include "compiler/autodiff/gradient.h"
#include "compiler/ir/bad_values.h"
#include "compiler/ops/elemwise/elemwise.h"
#include "nn/batch_objective.h"
#include "nn/objective.h"
#include "trainers/experiment.h"

namespace thtrain {

static Expr in_float64(const Expr& value) {
  return value.dtype() == DType::kFloat64 ? value : cast(value, DType::kFloat64);
}

static std::vector<Shared> sums_of(const std::vector<Param>& params) {
  std::vector<Shared> out;
  for (const Param& param : params)
    out.emplace_back(Tensor::zeros(DType::kFloat64, param.variable.type().known_shape()),
                     str("gradient_sum/", param.name), true);
  return out;
}

// f and its gradients from the sums.
static Function finish_function(const std::vector<Param>& params, const Shared& cost, const Shared& weight,
                                const std::vector<Shared>& gradients, const Expr& penalties,
                                const FunctionOptions& options) {
  const Expr total = where(eq(weight, 0), 1, weight);
  Expr value = cost / total;
  if (penalties.has_value()) value = value + in_float64(penalties);
  std::vector<Out> outputs = {Out(value, true)};
  for (size_t i = 0; i < params.size(); ++i) {
    Expr gradient = gradients[i] / total;
    if (penalties.has_value() && params[i].penalized)
      gradient = gradient + in_float64(grad(penalties, std::vector<Expr>{params[i].expr()})[0]);
    outputs.emplace_back(gradient, true);
  }
  return function({}, outputs, {}, options);
}

BatchTraining::BatchTraining(const BatchMethodOptions& options, std::vector<Param> params, const Expr& penalties,
                             const FunctionOptions& finish)
    : params_(std::move(params)),
      cost_(0.0, "cost_sum"),
      weight_(0.0, "weight_sum"),
      gradients_(sums_of(params_)),
      method_(options.method_from(values_of(params_))),
      finish_(finish_function(params_, cost_, weight_, gradients_, penalties, finish)) {
  for (const auto& [name, variable] : method_->state()) state_.emplace_back(str(method_->name(), '/', name), variable);
  const bool is_single = std::any_of(params_.begin(), params_.end(),
                                     [](const Param& param) { return param.variable.type().dtype == DType::kFloat32; });
  // A mean over a chunk in float32 has errors of that size; those of many chunks compensate each other in part.
  if (is_single) method_->set_rounding(6e-8);
}

std::vector<Update> BatchTraining::updates(const Expr& cost, const Expr& weight) const {
  std::vector<Expr> wrt;
  for (const Param& param : params_) wrt.push_back(param.expr());
  const std::vector<Expr> gradients = grad(cost, wrt);
  Scope scope(method_->name());
  const Expr factor = in_float64(weight);
  std::vector<Update> out = {{cost_, cost_ + factor * in_float64(cost)}, {weight_, weight_ + factor}};
  for (size_t i = 0; i < params_.size(); ++i) {
    Scope of_param(params_[i].name, params_[i].config);
    out.push_back({gradients_[i], gradients_[i] + factor * in_float64(gradients[i])});
  }
  return out;
}

void BatchTraining::clear_sums() {
  cost_.set_zero();
  weight_.set_zero();
  for (const Shared& sum : gradients_) sum.set_zero();
}

double BatchTraining::mean_cost() const {
  const double weight = weight_.scalar();
  return weight == 0 ? 0 : cost_.scalar() / weight;
}

bool BatchTraining::sums_are_finite() const {
  if (first_non_finite(cost_.get_value(true))) return false;
  return std::none_of(gradients_.begin(), gradients_.end(),
                      [](const Shared& sum) { return first_non_finite(sum.get_value(true)).has_value(); });
}

std::optional<int64_t> BatchTraining::iterate(int64_t chunks, const std::function<void(int64_t)>& run_chunk) {
  struct NotFinite {
    int64_t chunk;
  };
  // The weights may have been loaded since.
  const bool is_first = method_->evaluations() == 0;
  if (is_first) {
    const std::vector<double> start = values_of(params_);
    std::copy(start.begin(), start.end(), method_->x().begin());
  }
  bool is_start = is_first;
  auto f = [&](std::span<const double> x, std::span<double> gradient) {
    set_values(params_, x);
    clear_sums();
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      run_chunk(chunk);
      if (is_start && !sums_are_finite()) throw NotFinite{chunk};
    }
    is_start = false;
    const std::vector<Tensor> results = finish_(std::vector<Tensor>{});
    double* next = gradient.data();
    for (size_t i = 1; i < results.size(); ++i) {
      const Tensor part = results[i].contiguous();
      next = std::copy_n(part.data<double>(), part.size(), next);
    }
    return results[0].as_double();
  };
  try {
    method_->iterate(f);
  } catch (const NotFinite& found) {
    return found.chunk;
  }
  set_values(params_, method_->x());
  return {};
}

// ---- what it cannot train ------------------------------------------------------------------------------------------

static std::string who(const Experiment& experiment) {
  return str("trainer.optimizer = \"", experiment.trainer.optimizer.name(), '"');
}

void check_batch_training(const Experiment& experiment, const Model& model, const Objective& objective,
                          const ObjectiveStep& step) {
  for (const auto& layer : model.layers())
    if (!layer->state().empty())
      throw UserError(Message{
          .what = str(who(experiment), " cannot train the layer ", layer->name()),
          .expected = "layers that give the same for the same examples",
          .got = str("a layer ", layer->type(), " that changes ", layer->state().front().name, " with each minibatch"),
          .config = layer->position(),
          .hint = "optimizers that take a step for each minibatch can, such as sgd and adam"});
  if (!step.gradients && step.updates.empty() && objective.state().empty()) return;
  throw UserError(Message{.what = str(who(experiment), " cannot train by the objective ", objective.name()),
                          .expected = "an objective whose gradient is that of its cost",
                          .got = "one with updates of its own",
                          .config = experiment.loss.at("type"),
                          .hint = "optimizers that take a step for each minibatch can, such as sgd and adam"});
}

void check_batch_keys(const Experiment& experiment, Findings& findings) {
  const TrainerConfig& trainer = experiment.trainer;
  if (!trainer.optimizer->batch_method()) return;
  auto refuse = [&](const Section& section, const char* key, bool is_set, const char* reason) {
    if (is_set)
      findings.add({.what = str(section.name_of(key), " has no effect on ", trainer.optimizer.name()),
                    .expected = str("no ", key),
                    .config = section.at(key),
                    .hint = reason});
  };
  const TrainerConfig standard;
  const char* line_search = "a line search finds the length of each step";
  const char* exact = "each iteration takes the gradient of all training examples, as it is";
  refuse(trainer, "schedule", trainer.schedule.has_value(), line_search);
  refuse(trainer, "momentum_schedule", trainer.momentum_schedule.has_value(), line_search);
  refuse(trainer, "shuffle", trainer.shuffle != standard.shuffle,
         "each iteration takes all training examples, in the order of the file");
  refuse(trainer, "augment", trainer.augment.has_value(), "a line search compares losses of the same examples");
  refuse(trainer, "accumulate", trainer.accumulate != standard.accumulate, exact);
  refuse(trainer, "clip_value", trainer.clip_value != 0, exact);
  refuse(trainer, "clip_norm", trainer.clip_norm != 0, exact);
  refuse(trainer, "max_norm", trainer.max_norm != 0, "weights are where a line search left them");
  refuse(trainer, "average", trainer.average != standard.average, "weights are where a line search left them");
  if (experiment.loss.outputs.size() > 1)
    findings.add({.what = str(trainer.optimizer.name(), " trains one output"),
                  .expected = "no [[loss.outputs]], or one",
                  .got = str(experiment.loss.outputs.size(), " outputs"),
                  .config = experiment.loss.at("outputs"),
                  .hint = "optimizers that take a step for each minibatch train several, such as sgd and adam"});
  for (const OneOf<LayerOptions>& layer : experiment.model.layers) {
    refuse(layer->section, "rate_factor", layer->rate_factor != 1, line_search);
    refuse(layer->section, "weight_decay", layer->weight_decay.has_value(), "loss.l2 is a penalty on the weights");
  }
}

}  // namespace thtrain
