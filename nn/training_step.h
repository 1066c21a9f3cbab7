// An optimizer with what surrounds it: clipping, max-norm, averages of weights, accumulation of gradients.
#pragma once

#include <memory>
#include <optional>

#include "nn/optimizer.h"
#include "nn/updates/gradient_accumulation.h"
#include "nn/updates/weight_average.h"

namespace thtrain {

/// In this order: the mean of the accumulated gradients; clipping by value, then by norm; the optimizer, with its
/// weight decay; the max-norm constraint; the average of the weights.
class TrainingStep {
 public:
  enum class Average { kNone, kEqual, kExponential };
  /// What is not asked for is left out of the program.
  struct Options {
    int64_t accumulate = 1;            // minibatches for each step
    double clip_value = 0;             // 0: none
    double clip_norm = 0;              // 0: none
    double max_norm = 0;               // 0: none
    Average average = Average::kNone;  // see WeightAverage
    double average_decay = 0.999;
    int64_t average_start = 0;  // steps
  };

  /// Without any of it.
  explicit TrainingStep(std::unique_ptr<Optimizer> optimizer) : TrainingStep(std::move(optimizer), Options()) {}
  /// UserError where an option is out of its range.
  TrainingStep(std::unique_ptr<Optimizer> optimizer, const Options& options);

  /// Of all state and of the parameters. `cost` is a scalar that all parameters reach.
  std::vector<Update> updates(const Expr& cost) const;
  /// The same where the minibatch is sparse and `rows` are its columns (nn/sparse_examples.h): of parameters of which
  /// the cost reads these rows only, these alone are changed, as Optimizer::updates() says. All rows are where
  /// gradients are accumulated, columns limited or weights averaged.
  std::vector<Update> updates(const Expr& cost, const Expr& rows) const;
  /// The same where the gradients are given: one for each parameter of the optimizer, in their order.
  std::vector<Update> updates(const std::vector<Expr>& gradients) const;

  const Optimizer& optimizer() const { return *optimizer_; }
  /// What a checkpoint keeps, the optimizer's first.
  const NamedState& state() const { return state_; }
  /// The averages of the weights; null without.
  const WeightAverage* average() const { return average_ ? &*average_ : nullptr; }
  /// clip_value, clip_norm and max_norm as far as they are above 0: shared scalars of the parameters' dtype.
  const NamedState& bounds() const { return bounds_; }

 private:
  Expr bound(const char* name, double value);
  std::vector<Update> updates_of(std::vector<ParamGradient> taken) const;

  std::unique_ptr<Optimizer> optimizer_;
  std::optional<GradientAccumulation> accumulation_;
  std::optional<WeightAverage> average_;
  Expr clip_value_, clip_norm_, max_norm_;  // empty where there is none
  NamedState bounds_, state_;
};

/// What a configuration says of what surrounds an optimizer.
struct StepOptions : Section, TrainingStep::Options {
  static void describe(Fields<StepOptions>& f);
};

/// Declares what surrounds an optimizer, for a table that derives from StepOptions.
template <class C>
void describe_step(Fields<C>& f) {
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
      .help("Decay rate of the exponential average: the part that a step keeps.");
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

}  // namespace thtrain
