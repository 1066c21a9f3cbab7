// Measuring a model on examples: several metrics in one pass.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/runtime/function.h"
#include "nn/model.h"
#include "nn/sparse_examples.h"
#include "trainers/examples.h"
#include "trainers/measures.h"
#include "trainers/outputs.h"
#include "trainers/ranks/ranks.h"

namespace thtrain {

/// What Evaluator::measure() throws where it was asked to stop.
struct MeasurementStopped {};

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
  /// Over the first `count` examples, a chunk at a time: `batch` of them, in native mode a multiple of it. A value of
  /// each metric. `stops` is asked between two chunks, where there is one; MeasurementStopped where it says yes.
  /// UserError where a metric cannot take the targets or what the model gives, or an example cannot be read. Ranks
  /// share the chunks, and each gets the values of all.
  std::vector<MetricValue> measure(Examples& examples, int64_t count, int64_t batch,
                                   const std::function<bool()>& stops = {});
  std::vector<MetricValue> measure(Examples& examples, int64_t count, int64_t batch, const std::function<bool()>& stops,
                                   Ranks& ranks);
  /// The function that does it, for all chunks but a shorter last one.
  Explanation explain(const Examples& examples, int64_t count, int64_t batch);
  const std::vector<kernel::Choice>& choices(const Examples& examples, int64_t count, int64_t batch);

 private:
  /// Of a chunk.
  struct Expressions {
    Expr x = {}, y = {}, weights = {}, lengths = {};  // empty where there are none
    std::optional<SparseExamples> sparse = {};        // of which x is the dense form
    std::vector<In> inputs() const;
    std::vector<std::vector<MetricPart>> parts = {};  // of each metric
  };
  struct Compiled {
    Function function;
    std::vector<std::vector<MetricPart>> parts;
  };
  int64_t chunk_of(int64_t count, int64_t batch) const;
  std::vector<int64_t> lengths_of(int64_t count, int64_t batch) const;
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
