// However a data set is cut into chunks, metrics give the same bits.
#include <gtest/gtest.h>

#include "compiler/base/random_state.h"
#include "compiler/runtime/function.h"
#include "nn/objectives/hinge.h"
#include "nn/objectives/negative_log_likelihood.h"
#include "nn/objectives/squared_error.h"
#include "tests/nn/metric_kinds.h"

namespace thtrain {
namespace {

// All metrics of classes, of labels and of values in one function, on float32 scores as models give them.
class AllMetrics {
 public:
  AllMetrics() : inputs_(golden_inputs(DType::kFloat32)) {
    auto add = [&](const char* kind, const char* option, const char* scores, const char* targets) {
      rows_.push_back({make_metric(kind, option), scores, targets});
    };
    for (const char* kind : {"error", "accuracy", "auc", "confusion_matrix"}) add(kind, "-", "scores", "classes");
    add("top_k_error", "k:2", "scores", "classes");
    add("f1", "average:macro", "scores", "classes");
    for (const char* kind : {"error", "auc"}) add(kind, "-", "label_scores", "labels");
    add("precision", "average:micro", "label_scores", "labels");
    add("recall", "average:macro", "label_scores", "labels");
    for (const char* kind : {"mean_squared_error", "mean_absolute_error", "r2"}) add(kind, "-", "guesses", "values");
    // Wide rows, which one program may sum along and another side by side.
    std::vector<double> numbers = RandomState(3).normal(0, 2, 2 * 41 * 37);
    for (auto [name, begin] : {std::pair("wide", 0), {"wide_values", 41 * 37}})
      inputs_[name] =
          Tensor::of(std::span<const double>(numbers).subspan(static_cast<size_t>(begin), 41 * 37), {41, 37})
              .cast(DType::kFloat32);
    add("mean_squared_error", "-", "wide", "wide_values");
    rows_.push_back({Loss::Options().make(), "wide", "wide_values", SquaredError::Options().make()});
    rows_.push_back({Loss::Options().make(), "wide", "classes", NegativeLogLikelihood::Options().make()});
    rows_.push_back({Loss::Options().make(), "wide", "classes", Hinge::Options().make()});
  }

  // The numbers over all examples, in chunks of this length, by native code.
  std::vector<double> numbers(int64_t chunk) {
    std::vector<double> out;
    std::vector<std::vector<MetricPart>> parts;
    std::vector<MetricTotals> totals;
    std::optional<Function> f;
    for (int64_t begin = 0, last = 0; begin < 41; begin += chunk) {
      const int64_t length = std::min<int64_t>(chunk, 41 - begin);
      if (length != last) f = function_of(length, parts);
      last = length;
      if (totals.empty())
        for (const auto& of_metric : parts) totals.emplace_back(of_metric);
      std::vector<Tensor> arguments;
      for (const std::string& name : kNames) arguments.push_back(inputs_.at(name).rows(begin, length));
      std::vector<Tensor> results = (*f)(arguments);
      size_t at = 0;
      for (size_t i = 0; i < totals.size(); ++i) {
        totals[i].add(std::span(results).subspan(at, parts[i].size()));
        at += parts[i].size();
      }
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      MetricValue value = rows_[i].metric->value(totals[i]);
      if (value.number) out.push_back(*value.number);
      out.insert(out.end(), value.by_class.begin(), value.by_class.end());
      if (value.matrix)
        for (int64_t j = 0; j < value.matrix->size(); ++j) out.push_back(value.matrix->as_double(j));
    }
    return out;
  }

 private:
  struct Row {
    std::unique_ptr<Metric> metric;
    std::string scores, targets;
    std::unique_ptr<Objective> objective = {};
  };
  const std::vector<std::string> kNames = {"scores", "classes", "label_scores", "labels",     "guesses",
                                           "values", "w",       "wide",         "wide_values"};

  Function function_of(int64_t length, std::vector<std::vector<MetricPart>>& parts) {
    std::map<std::string, Expr> exprs;
    std::vector<In> ins;
    for (const std::string& name : kNames) {
      exprs[name] = input_like(name, inputs_.at(name), length);
      ins.emplace_back(exprs[name]);
    }
    parts.clear();
    std::vector<Out> outs;
    for (const Row& row : rows_) {
      MetricInput input{.scores = {exprs[row.scores]}, .targets = {.value = exprs[row.targets], .weights = exprs["w"]}};
      if (row.objective) input.losses = row.objective->losses({exprs[row.scores]}, input.targets);
      parts.push_back(row.metric->parts(input));
      for (const MetricPart& part : parts.back()) outs.emplace_back(part.value, true);
    }
    return function(ins, outs);
  }

  std::map<std::string, Tensor> inputs_;
  std::vector<Row> rows_;
};

TEST(Metrics, ChunksChangeNoBitOfNativeResults) {
  AllMetrics all;
  std::vector<double> whole = all.numbers(41);
  EXPECT_EQ(whole.size(), 51u);
  for (int64_t chunk : {1, 16, 25}) EXPECT_EQ(all.numbers(chunk), whole) << chunk;
}

}  // namespace
}  // namespace thtrain
