#include "nn/training_step.h"

#include "compiler/autodiff/gradient.h"
#include "nn/updates/clip_gradients.h"
#include "nn/updates/max_norm.h"

namespace thtrain {

void StepOptions::describe(Fields<StepOptions>& f) {
  using C = StepOptions;
  using Average = TrainingStep::Average;
  f.field("accumulate", &C::accumulate)
      .range(at_least(1))
      .unit("minibatches")
      .synonyms({"accumulation_steps", "gradient_accumulation_steps"})
      .help("Minibatches whose mean gradient makes one step.");
  f.field("clip_value", &C::clip_value)
      .range(at_least(0))
      .synonyms({"clipvalue", "clip_grad_value"})
      .help("Largest absolute value of an element of a gradient; larger ones are set to it; 0: no bound.");
  f.field("clip_norm", &C::clip_norm)
      .range(at_least(0))
      .synonyms({"clipnorm", "clip_grad_norm", "max_grad_norm", "global_clipnorm"})
      .help("Largest norm of all gradients together; longer ones are made shorter; 0: no bound.");
  f.field("max_norm", &C::max_norm)
      .range(at_least(0))
      .synonyms({"maxnorm"})
      .help("Largest norm of the weights that come into a unit, after each step; 0: no bound.");
  f.choice("average", &C::average,
           {{"none", Average::kNone}, {"equal", Average::kEqual}, {"exponential", Average::kExponential}})
      .synonyms({"ema", "swa"})
      .help("Evaluate with an average of the weights: of all steps alike, or with weights that fall exponentially.");
  f.field("average_decay", &C::average_decay)
      .range(from_below(0, 1))
      .synonyms({"ema_decay"})
      .help("What the exponential average keeps of itself in a step.");
  f.field("average_start", &C::average_start)
      .range(at_least(0))
      .unit("steps")
      .help("Steps before the average begins; until then it is the weights themselves.");
  f.check([](const C& c, Findings& findings) {
    auto useless = [&](const char* key, const char* expected) {
      findings.add({.what = str(c.name_of(key), " has no effect"), .expected = expected, .config = c.at(key)});
    };
    if (c.average_decay != C().average_decay && c.average != Average::kExponential)
      useless("average_decay", "average = \"exponential\"");
    if (c.average_start != 0 && c.average == Average::kNone)
      useless("average_start", "average = \"equal\" or \"exponential\"");
  });
}

TrainingStep::TrainingStep(std::unique_ptr<Optimizer> optimizer, const Options& options)
    : optimizer_(std::move(optimizer)) {
  TH_CHECK(optimizer_ != nullptr, "a step without an optimizer");
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

std::vector<Update> TrainingStep::updates(const std::vector<Expr>& gradients) const {
  std::vector<Expr> taken = accumulation_ ? accumulation_->mean(gradients) : gradients;
  if (clip_value_.has_value()) taken = clip_by_value(taken, clip_value_);
  if (clip_norm_.has_value()) taken = clip_by_global_norm(taken, clip_norm_);
  std::vector<Update> out = optimizer_->updates(taken);
  if (max_norm_.has_value()) out = limit_norms(std::move(out), optimizer_->params(), max_norm_);
  if (average_) {
    std::vector<Update> of_average = average_->updates(out);
    out.insert(out.end(), of_average.begin(), of_average.end());
  }
  return accumulation_ ? accumulation_->updates(gradients, out) : out;
}

}  // namespace thtrain
