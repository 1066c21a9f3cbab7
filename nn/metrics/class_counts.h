// How often each class is predicted, is there, and both: what precision, recall and F1 are made of.
#pragma once

#include <string_view>

#include "nn/metric.h"

namespace thtrain {

/// How the numbers of the classes become one.
enum class Average {
  kMacro,   // their mean, over all classes
  kMicro,   // the ratio of the sums over all classes
  kBinary,  // that of class 1 of two, or of the only label
};

struct AverageOptions : MetricOptions {
  Average average = Average::kMacro;

  static void describe_average(Fields<AverageOptions> f);
};

/// The table of classes, [classes, classes] of float64: row actual, column predicted.
MetricPart class_table(const MetricInput& input);

/// Sums of the weights of the examples, for each class or label.
struct ClassCounts {
  std::vector<double> both, predicted, actual;
};
std::vector<MetricPart> class_count_parts(const MetricInput& input, TargetForm form);
ClassCounts class_counts(const MetricTotals& totals);
/// A table needs scores [n], [n, 1] or [n, classes], with known classes.
std::optional<Message> misfit_of_table(const Scores& scores);
/// The same, and scores of two classes, or of one label, for kBinary.
std::optional<Message> misfit_of_average(const AverageOptions& options, const Scores& scores, TargetForm form);

/// `ratio(both, predicted, actual)` of each class and of all, by the average. A ratio gives 0 where it is 0 / 0.
MetricValue averaged(const ClassCounts& counts, Average average, double (*ratio)(double, double, double));

}  // namespace thtrain
