// Measuring a model on examples: several metrics in one pass.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/runtime/function.h"
#include "nn/model.h"
#include "trainers/examples.h"
#include "trainers/measures.h"
#include "trainers/outputs.h"

namespace thtrain {

class Evaluator {
 public:
  /// Functions are compiled when they are first needed, one for each length of chunk. Where a metric is of no output,
  /// there is a metric "loss" of each. The model stays alive.
  Evaluator(const Model& model, std::vector<TrainedOutput> outputs, std::vector<OutputMetric> metrics,
            FunctionOptions options)
      : model_(model), outputs_(std::move(outputs)), metrics_(std::move(metrics)), options_(std::move(options)) {}

  /// UserError where a metric cannot take the targets or what the model gives. Compiles nothing.
  void check(const Examples& examples) const;
  /// Begins to compile, in other threads, what measure() needs of these examples and is not compiled yet.
  void begin(const Examples& examples, int64_t count, int64_t batch);
  /// Is one of them still at work?
  bool is_compiling() const;
  /// Takes what they have compiled by now; false where one is still at work.
  bool take_compiled();
  /// Waits for them, and compiles what was not begun. What a compiler threw comes from here, and not from measure().
  void wait(const Examples& examples, int64_t count, int64_t batch);
  /// Over the first `count` examples, a chunk of `batch` or a multiple of it at a time: a value of each metric.
  /// UserError where a metric cannot take the targets or what the model gives.
  std::vector<MetricValue> measure(Examples& examples, int64_t count, int64_t batch);
  /// The function that does it, for all chunks but a shorter last one.
  Explanation explain(const Examples& examples, int64_t count, int64_t batch);
  const std::vector<kernel::Choice>& choices(const Examples& examples, int64_t count, int64_t batch);

 private:
  /// Of a chunk.
  struct Expressions {
    Expr x, y, weights = {}, lengths = {};  // empty where there are none
    std::vector<In> inputs() const;
    std::vector<std::vector<MetricPart>> parts = {};  // of each metric
  };
  struct Compiled {
    Function function;
    std::vector<std::vector<MetricPart>> parts;
  };
  Expressions expressions(const Examples& examples, int64_t count) const;
  MetricInput input_of(size_t output, ModelPass& pass, const Expressions& examples) const;
  std::vector<MetricValue> values_of(const std::vector<MetricTotals>& totals) const;
  Compiled& of_length(const Examples& examples, int64_t count, bool background = false);

  const Model& model_;
  std::vector<TrainedOutput> outputs_;
  std::vector<OutputMetric> metrics_;
  FunctionOptions options_;
  /// By length, whether examples have weights, and the steps of sequences: Examples::known_steps.
  std::map<std::tuple<int64_t, bool, int64_t>, Compiled> functions_;
};

/// The chunk for `count` examples in minibatches of `batch`: a multiple of `batch`, of at most about a thousand
/// examples, that divides `count` where a large one does.
int64_t evaluation_chunk(int64_t count, int64_t batch);

}  // namespace thtrain
