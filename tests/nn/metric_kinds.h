// Metrics by name, and the inputs of tests/golden/metrics.txt.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "nn/metrics/accuracy.h"
#include "nn/metrics/auc.h"
#include "nn/metrics/class_ratios.h"
#include "nn/metrics/confusion_matrix.h"
#include "nn/metrics/error.h"
#include "nn/metrics/loss.h"
#include "nn/metrics/matthews_correlation.h"
#include "nn/metrics/mean_absolute_error.h"
#include "nn/metrics/mean_squared_error.h"
#include "nn/metrics/r2.h"
#include "nn/metrics/top_k_error.h"
#include "tests/support/golden_lines.h"

namespace thtrain {

template <class M>
std::unique_ptr<Metric> of_average(const std::string& average) {
  typename M::Options options;
  options.average = average == "macro" ? Average::kMacro : average == "micro" ? Average::kMicro : Average::kBinary;
  return options.make();
}

// `option`: "-", "k:2" or "average:macro".
inline std::unique_ptr<Metric> make_metric(const std::string& kind, const std::string& option) {
  const std::string value = option.substr(option.find(':') + 1);
  if (kind == "top_k_error") {
    TopKError::Options options;
    options.k = std::stoll(value);
    return options.make();
  }
  if (kind == "precision") return of_average<Precision>(value);
  if (kind == "recall") return of_average<Recall>(value);
  if (kind == "f1") return of_average<F1>(value);
  if (kind == "error") return ErrorRate::Options().make();
  if (kind == "accuracy") return Accuracy::Options().make();
  if (kind == "mean_squared_error") return MeanSquaredError::Options().make();
  if (kind == "mean_absolute_error") return MeanAbsoluteError::Options().make();
  if (kind == "r2") return R2::Options().make();
  if (kind == "auc") return Auc::Options().make();
  if (kind == "matthews_correlation") return MatthewsCorrelation::Options().make();
  if (kind == "confusion_matrix") return ConfusionMatrix::Options().make();
  throw std::runtime_error("an unknown kind " + kind);
}

// An input of so many examples like those of an array.
inline Expr input_like(const std::string& name, const Tensor& all, int64_t length) {
  Type type = type_of(all);
  type.dims[0] = length;
  return make_input(type, name);
}

// Arrays by name; an empty one for "-". Whole numbers are labels.
inline std::map<std::string, Tensor> golden_inputs(DType dtype) {
  std::map<std::string, Tensor> out = {{"-", Tensor()}};
  for (const GoldenLine& line : golden_lines("metrics.txt")) {
    if (line.name != "input") continue;
    const bool whole = line.values[0].find('.') == std::string::npos;
    out[line.arguments[0]] = line.result(whole ? DType::kInt64 : dtype);
  }
  return out;
}

}  // namespace thtrain
