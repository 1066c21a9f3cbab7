// How good a model is: numbers that are added up over the chunks of a data set.
//
//   TopKError metric;
//   std::vector<MetricPart> parts = metric.parts({.scores = {.value = p}, .targets = {.value = y}});
//   ... a function of a chunk gives the value of each part ...
//   MetricTotals totals(parts);
//   totals.add(values);  // for each chunk
//   metric.text(metric.value(totals));  // "1.65 %"
//
// A kind is a class in two files under nn/metrics/, with its options.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "nn/metric_totals.h"
#include "nn/predictions.h"

namespace thtrain {

class Metric;

/// What the options of every kind begin with. A kind's own have `static constexpr std::string_view kName` and
/// `static void describe(Fields<Options>&)`.
struct MetricOptions : Section {
  virtual ~MetricOptions() = default;
  virtual std::unique_ptr<Metric> make() const = 0;
  /// Those of nn/metric_list.inc: a line `TH_METRIC(error)` stands for `Kind<MetricOptions> error_metric()`.
  static const std::vector<Kind<MetricOptions>>& kinds();
};

/// What a metric sees of a chunk of n examples.
struct MetricInput {
  Scores scores;              // what Objective::scores gives: [n, ...]
  TargetInput targets;        // class_weights are not read
  ExampleLosses losses = {};  // where reads_losses()
  /// How much of the data's units one of the scores' is, where targets are standardized: a float, or one for each of
  /// the numbers of a score, [...]. Empty: 1. What has a unit is given in the data's.
  Expr unit = {};
  bool is_sequence = false;  // do the n examples stand for the steps of sequences, n = steps * batch?
  Dim steps = 1, batch = 1;
};

struct MetricValue {
  std::optional<double> number = {};  // what epochs are compared by; NaN where it is not defined
  std::vector<double> by_class = {};  // the same for each class or output, where a kind has it
  std::optional<Tensor> matrix = {};  // float64 [classes, classes]
};

/// Metrics of classes read scores [n, classes], whose largest (the first of several; NaN is larger than any number) is
/// the predicted class, or single scores [n, 1], where class 1 is predicted above the threshold (and for NaN class 0).
/// Metrics of several labels read scores and targets [n, k]: a label is predicted above the threshold, and there where
/// its target is above 0.5. An example of weight w counts as w examples. Without examples, or with weights of 0 alone,
/// ratios are NaN.
class Metric {
 public:
  enum class Better { kSmaller, kLarger, kNeither };

  virtual ~Metric() = default;
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;

  const std::string& name() const { return name_; }  // "top_5_error"
  Better better() const { return better_; }
  const std::string& unit() const { return unit_; }  // "%" or ""
  const ConfigPosition& position() const { return position_; }
  /// Does it compare decisions, between classes or about labels, and not values?
  bool compares_decisions() const;
  /// Does it need MetricInput::losses?
  virtual bool reads_losses() const { return false; }

  /// What a chunk contributes. UserError where the metric cannot take these scores, targets or weights; see form_of.
  std::vector<MetricPart> parts(const MetricInput& input) const;
  virtual MetricValue value(const MetricTotals& totals) const = 0;
  /// "1.65 %"; numbers without a unit with six digits; a matrix as lines of aligned numbers.
  std::string text(const MetricValue& value) const;

 protected:
  Metric(std::string name, Better better, std::string unit, const MetricOptions& options)
      : name_(std::move(name)), better_(better), unit_(std::move(unit)), position_(options.position) {}

  virtual std::vector<TargetForm> target_forms() const = 0;
  /// What is wrong with the scores for targets of that form, `expected`, `got` and `hint`; nothing if all is well.
  virtual std::optional<Message> misfit(const Scores& scores, TargetForm form) const;
  virtual std::vector<MetricPart> parts_of(const MetricInput& input, TargetForm form) const = 0;

 private:
  std::string name_;
  Better better_;
  std::string unit_;
  ConfigPosition position_;
};

/// `rows` as float64, times the weights of their examples where there are some. rows: [n, ...].
Expr weighted_rows(const Expr& rows, const Expr& weights);
/// A part "weight": the sum of the examples' weights, or their number. examples: [n, ...].
MetricPart weight_part(const Expr& examples, const Expr& weights);

}  // namespace thtrain
