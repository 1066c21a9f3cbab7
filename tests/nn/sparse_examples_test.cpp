// Models of sparse minibatches: the values of dense ones, and updates of the rows that occur.
#include <gtest/gtest.h>

#include "nn/sparse_examples.h"

#include <cmath>

#include "compiler/api.h"
#include "nn/layers/dense.h"
#include "nn/layers/softmax.h"
#include "nn/losses.h"
#include "nn/model.h"
#include "nn/model_pass.h"
#include "nn/optimizers/adagrad.h"
#include "nn/optimizers/adam.h"
#include "nn/optimizers/adamw.h"
#include "nn/optimizers/sgd.h"
#include "nn/training_step.h"
#include "tests/support/error_text.h"

namespace thtrain::sparse_examples_test {
namespace {

constexpr int64_t kBatch = 3, kFeatures = 7;

// Columns 0, 2 and 5 of 7.
Tensor dense_x() {
  return Tensor::matrix(
      {{1.0, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0}, {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, {0.5, 0.0, 3.0, 0.0, 0.0, 1.0, 0.0}});
}
std::vector<Tensor> sparse_x() {
  return {Tensor::vector<double>({1, -2, 0.5, 3, 1}), Tensor::vector<int32_t>({0, 2, 0, 1, 2}),
          Tensor::vector<int32_t>({0, 2, 2, 5}), Tensor::vector<int32_t>({0, 2, 5})};
}
Tensor labels() {
  return Tensor::vector<int64_t>({1, 0, 2});
}

Model new_model() {
  Model model({kFeatures}, DType::kFloat64, 7);
  model.add(Dense::Options{{.name = "hidden"}, 4, "tanh"});
  model.add(Softmax::Options{{.name = "softmax"}, 3});
  return model;
}

// Steps on one minibatch; the parameters and the state afterwards.
template <class MakeOptimizer>
std::vector<Tensor> trained(bool is_sparse, MakeOptimizer make, int steps = 3,
                            const TrainingStep::Options& options = {}) {
  const Model model = new_model();
  const Expr y = tensor("y", {kBatch}, DType::kInt64);
  const SparseExamples sparse(kBatch, kFeatures, DType::kFloat64);
  const Expr x = tensor("x", {kBatch, kFeatures}, DType::kFloat64);
  ModelPass pass = is_sparse ? model.pass(sparse, Phase::kTraining) : model.pass({x}, Phase::kTraining);
  const Expr cost = negative_log_likelihood(pass.logits(), y);
  const TrainingStep step(make(model.trained_params()), options);
  std::vector<In> inputs;
  for (const Expr& part : is_sparse ? sparse.inputs() : std::vector{x}) inputs.emplace_back(part);
  inputs.emplace_back(y);
  Function f = function(inputs, {}, is_sparse ? step.updates(cost, sparse.columns) : step.updates(cost));
  std::vector<Tensor> arguments = is_sparse ? sparse_x() : std::vector{dense_x()};
  arguments.push_back(labels());
  for (int i = 0; i < steps; ++i) f(arguments);
  std::vector<Tensor> out;
  for (const Param& param : model.params()) out.push_back(param.variable.get_value());
  for (const auto& [name, variable] : step.state()) out.push_back(variable.get_value());
  return out;
}

void expect_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t k = 0; k < a.size(); ++k)
    for (int64_t i = 0; i < a[k].size(); ++i)
      EXPECT_NEAR(a[k].as_double(i), b[k].as_double(i), 1e-12) << k << ", " << i;
}

template <class O>
auto maker(const typename O::Options& options) {
  return [options](std::vector<Param> params) { return std::make_unique<O>(options, std::move(params)); };
}

TEST(SparseExamples, GiveWhatDenseOnesGive) {
  const Model model = new_model();
  const SparseExamples sparse(kBatch, kFeatures, DType::kFloat64);
  const Expr x = tensor("x", {kBatch, kFeatures}, DType::kFloat64);
  std::vector<In> inputs;
  for (const Expr& part : sparse.inputs()) inputs.emplace_back(part);
  const auto of_sparse = function(inputs, {model.pass(sparse, Phase::kEvaluation).output(), sparse.x})(sparse_x());
  const auto of_dense = function({x}, {model.output(x)})({dense_x()});
  expect_close({of_sparse[0]}, {of_dense[0]});
  EXPECT_TRUE(same_bits(of_sparse[1], dense_x()));
}

TEST(SparseExamples, StepsWithoutStateAreTheDenseOnes) {
  const auto sgd = maker<Sgd>({.learning_rate = 0.3});
  expect_close(trained(true, sgd), trained(false, sgd));
  expect_close(trained(true, sgd, 3, {.clip_value = 0.05, .clip_norm = 0.1}),
               trained(false, sgd, 3, {.clip_value = 0.05, .clip_norm = 0.1}));
  // A state that does not move where the gradient is 0.
  const auto adagrad = maker<Adagrad>({.learning_rate = 0.3});
  expect_close(trained(true, adagrad), trained(false, adagrad));
}

// One minibatch again and again: what a row has that is in it is what it has where all rows are.
TEST(SparseExamples, RowsThatOccurTakeTheWholeStepAndOthersRest) {
  const std::vector<Tensor> first = trained(false, maker<Sgd>({}), 0);
  const auto check = [&](auto make) {
    const std::vector<Tensor> lazy = trained(true, make), whole = trained(false, make);
    ASSERT_EQ(lazy.size(), whole.size());
    for (size_t k = 0; k < lazy.size(); ++k)
      for (int64_t i = 0; i < lazy[k].size(); ++i) {
        const bool of_rows = lazy[k].rank() == 2 && lazy[k].dim(0) == kFeatures;
        const int64_t row = of_rows ? i / lazy[k].dim(1) : 0;
        const bool rests = of_rows && row != 0 && row != 2 && row != 5;
        const double start = k < first.size() ? first[k].as_double(i) : 0;
        EXPECT_NEAR(lazy[k].as_double(i), rests ? start : whole[k].as_double(i), 1e-12) << k << ", " << i;
      }
  };
  check(maker<Sgd>({.learning_rate = 0.3, .momentum = 0.9}));
  check(maker<Sgd>({.learning_rate = 0.3, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1}));
  check(maker<Adam>({.learning_rate = 0.1, .amsgrad = true}));
  check(maker<AdamW>({.learning_rate = 0.1, .weight_decay = 0.2}));
}

TEST(SparseExamples, AllRowsMoveWhereSomethingReadsThemAll) {
  const auto momentum = maker<Sgd>({.learning_rate = 0.3, .momentum = 0.9, .weight_decay = 0.1});
  for (const TrainingStep::Options& options :
       {TrainingStep::Options{.accumulate = 2}, TrainingStep::Options{.max_norm = 0.5},
        TrainingStep::Options{.average = TrainingStep::Average::kEqual}})
    expect_close(trained(true, momentum, 4, options), trained(false, momentum, 4, options));
}

// The plain reference of lazy Adam, on minibatches that differ: rows rest between two of theirs.
TEST(SparseExamples, LazyAdamIsItsFormula) {
  const SparseExamples sparse(1, 4, DType::kFloat64);
  const Shared w(Tensor::zeros(DType::kFloat64, {4, 1}), "w");
  const Expr target = tensor("target", {1}, DType::kFloat64);
  const Expr cost = sum(sqr(flatten(sparse.times(w)) - target));
  const Adam::Options options{.learning_rate = 0.1};
  const TrainingStep step(std::make_unique<Adam>(options, std::vector<Param>{{"w", w}}));
  std::vector<In> inputs;
  for (const Expr& part : sparse.inputs()) inputs.emplace_back(part);
  inputs.emplace_back(target);
  Function f = function(inputs, {}, step.updates(cost, sparse.columns));
  std::vector<double> weight(4), mean(4), square(4);
  for (int t = 1; t <= 6; ++t) {
    const int a = t % 2, b = 2 + t % 2;  // columns 1 and 3, then 0 and 2
    const double xa = 1 + t, xb = -0.5 * t, wanted = 3;
    f({Tensor::vector<double>({xa, xb}), Tensor::vector<int32_t>({0, 1}), Tensor::vector<int32_t>({0, 2}),
       Tensor::vector<int32_t>({a, b}), Tensor::vector<double>({wanted})});
    const auto at = [](int i) { return static_cast<size_t>(i); };
    const double error = xa * weight[at(a)] + xb * weight[at(b)] - wanted;
    for (const auto& [column, value] : {std::pair(at(a), xa), std::pair(at(b), xb)}) {
      const double g = 2 * error * value;
      mean[column] = 0.9 * mean[column] + 0.1 * g;
      square[column] = 0.999 * square[column] + 0.001 * g * g;
      weight[column] -= 0.1 / (1 - std::pow(0.9, t)) * mean[column] /
                        (std::sqrt(square[column]) / std::sqrt(1 - std::pow(0.999, t)) + 1e-8);
    }
    const Tensor now = w.get_value();
    for (size_t j = 0; j < 4; ++j) EXPECT_NEAR(now.as_double(static_cast<int64_t>(j)), weight[j], 1e-12) << t;
  }
}

// A million features and 100 outputs: 400 MB of weights, and an arena of what 1,000 numbers need.
TEST(SparseExamples, AStepMakesNothingOfTheSizeOfFeatures) {
  constexpr int64_t kOutputs = 100, kExamples = 100, kStored = 1000;
  for (const bool has_state : {false, true}) {
    SCOPED_TRACE(has_state);
    const int64_t many = has_state ? 100000 : 1000000;
    SparseExamples sparse(kExamples, many, DType::kFloat32);
    // Of known lengths, so that the arena is known.
    sparse.values = tensor("values", {kStored}, DType::kFloat32);
    sparse.places = tensor("places", {kStored}, DType::kInt32);
    sparse.columns = tensor("columns", {kStored}, DType::kInt32);
    const Shared w(Tensor::zeros(DType::kFloat32, {many, kOutputs}), "w", true);
    const Expr y = tensor("y", {kExamples}, DType::kInt64);
    const Expr cost = negative_log_likelihood(sparse.times(w), y);
    std::vector<Param> params{{"w", w}};
    std::unique_ptr<Optimizer> optimizer;
    if (has_state)
      optimizer = std::make_unique<Sgd>(Sgd::Options{.learning_rate = 0.1, .momentum = 0.9}, params);
    else
      optimizer = std::make_unique<Sgd>(Sgd::Options{.learning_rate = 0.1}, params);
    const TrainingStep step(std::move(optimizer));
    std::vector<In> inputs;
    for (const Expr& part : sparse.inputs()) inputs.emplace_back(part);
    inputs.emplace_back(y);
    Function f = function(inputs, {}, step.updates(cost, sparse.columns));
    std::vector<int32_t> places(kStored), columns(kStored), ends(kExamples + 1);
    for (int32_t e = 0; e < kStored; ++e) places[static_cast<size_t>(e)] = e, columns[static_cast<size_t>(e)] = 99 * e;
    for (int32_t i = 0; i <= kExamples; ++i) ends[static_cast<size_t>(i)] = 10 * i;
    f({Tensor::of(std::vector<float>(kStored, 1), {kStored}), Tensor::of(places, {kStored}),
       Tensor::of(ends, {kExamples + 1}), Tensor::of(columns, {kStored}), Tensor::zeros(DType::kInt64, {kExamples})});
    EXPECT_NE(w.get_value(true).as_double(0), 0);
    EXPECT_EQ(w.get_value(true).as_double(kOutputs), 0);
    EXPECT_GT(f.info().arena_bytes, 0);
    EXPECT_LT(f.info().arena_bytes, 4 * kStored * kOutputs * 4);
  }
}

}  // namespace
}  // namespace thtrain::sparse_examples_test
