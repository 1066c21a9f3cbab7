#include "nn/training_step.h"

#include "compiler/autodiff/gradient.h"
#include "nn/row_gradients.h"
#include "nn/updates/clip_gradients.h"
#include "nn/updates/max_norm.h"

namespace thtrain {

void StepOptions::describe(Fields<StepOptions>& f) {
  describe_step(f);
}

TrainingStep::TrainingStep(std::unique_ptr<Optimizer> optimizer, const Options& options)
    : optimizer_(std::move(optimizer)) {
  if (!optimizer_)
    throw UserError(Message{.what = "step: there is no optimizer",
                            .expected = "one that takes a step for each minibatch",
                            .hint = "batch methods (lbfgs, conjugate_gradient) take steps of their own"});
  check_options<StepOptions>("step", options);
  state_ = optimizer_->state();
  auto add_state = [&](const NamedState& more) { state_.insert(state_.end(), more.begin(), more.end()); };
  if (options.accumulate > 1) add_state(accumulation_.emplace(options.accumulate, optimizer_->params()).state());
  clip_value_ = bound("clip_value", options.clip_value);
  clip_norm_ = bound("clip_norm", options.clip_norm);
  max_norm_ = bound("max_norm", options.max_norm);
  if (options.average == Average::kNone) return;
  bool is_equal = options.average == Average::kEqual;
  WeightAverage::Options of_average{.kind = is_equal ? WeightAverage::Kind::kEqual : WeightAverage::Kind::kExponential,
                                    .decay = options.average_decay,
                                    .start = options.average_start};
  add_state(average_.emplace(of_average, optimizer_->params()).state());
}

Expr TrainingStep::bound(const char* name, double value) {
  if (value == 0) return {};
  bounds_.emplace_back(name, Shared(Tensor(value).cast(optimizer_->learning_rate().type().dtype), name, true));
  return bounds_.back().second.expr();
}

std::vector<Update> TrainingStep::updates(const Expr& cost) const {
  std::vector<Expr> wrt;
  for (const Param& param : optimizer_->params()) wrt.push_back(param.expr());
  return updates(grad(cost, wrt));
}

std::vector<Update> TrainingStep::updates(const Expr& cost, const Expr& rows) const {
  if (accumulation_ || max_norm_.has_value() || average_) return updates(cost);
  return updates_of(row_gradients(cost, optimizer_->params(), rows));
}

std::vector<Update> TrainingStep::updates(const std::vector<Expr>& gradients) const {
  const std::vector<Param>& params = optimizer_->params();
  if (gradients.size() != params.size())
    throw UserError(Message{.what = "step: a gradient is given for each parameter",
                            .expected = str(params.size()),
                            .got = str(gradients.size())});
  std::vector<ParamGradient> taken;
  for (const Expr& gradient : accumulation_ ? accumulation_->mean(gradients) : gradients) taken.push_back({gradient});
  std::vector<Update> out = updates_of(std::move(taken));
  return accumulation_ ? accumulation_->updates(gradients, out) : out;
}

std::vector<Update> TrainingStep::updates_of(std::vector<ParamGradient> taken) const {
  std::vector<Expr> values;
  for (const ParamGradient& gradient : taken) values.push_back(gradient.value);
  if (clip_value_.has_value()) values = clip_by_value(values, clip_value_);
  if (clip_norm_.has_value()) values = clip_by_global_norm(values, clip_norm_);
  for (size_t i = 0; i < taken.size(); ++i) taken[i].value = values[i];
  std::vector<Update> out = optimizer_->updates(taken);
  if (max_norm_.has_value()) out = limit_norms(std::move(out), optimizer_->params(), max_norm_);
  if (average_) {
    std::vector<Update> of_average = average_->updates(out);
    out.insert(out.end(), of_average.begin(), of_average.end());
  }
  return out;
}

}  // namespace thtrain
