// Lesson 15: sparse gradients. A text uses some forty of a million words. The gradient of a classifier's weights is 0
// but for the rows of these words: we ask for the gradient of an element that is stored, look at the memory of a step
// that never makes the whole gradient, and see what Adam does with rows that have none. `./thtrain lesson 15` builds
// and runs it.
//
// Sources: J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods, JMLR 12, 2011, section 1.3 (why words that are
// rare want steps of their own); the lazy form is that of TensorFlow's LazyAdam and of PyTorch's SparseAdam.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "compiler/api.h"
#include "datasets/sources/topics.h"
#include "nn/losses.h"
#include "nn/optimizers/adam.h"
#include "nn/optimizers/sgd.h"
#include "nn/sparse_examples.h"
#include "nn/training_step.h"

using namespace thtrain;

static void expect(bool holds, const char* what) {
  std::printf("%-78s %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}

// Which elements have a gradient: those that are stored. Of the dense matrix all have.
static void gradients_of_elements() {
  const SparseTensor value = SparseTensor::from_dense(Tensor::matrix({{2.0, 0.0, 0.0}, {0.0, 0.0, 3.0}}));
  const Sparse a = csr_matrix("a", 2, 3, DType::kFloat64);
  const Expr w = tensor("w", {3}, DType::kFloat64), x = tensor("x", {2, 3}, DType::kFloat64);
  const Expr of_sparse = sum(sqr(dot(a, w))), of_dense = sum(sqr(dot(x, w)));
  Function f = function(inputs_of({a, w, x}), {grad(of_sparse, a.data), grad(of_dense, x)});
  const auto out = f(arguments_of({value, Tensor::vector({1.0, 1.0, 1.0}), value.dense()}));
  std::printf("gradient by stored elements: %s\nby all elements:\n%s\n", out[0].text().c_str(), out[1].text().c_str());
  expect(out[0].size() == 2 && out[0].as_double(0) == out[1].as_double(0), "stored elements have the dense gradient");
  expect(out[1].as_double(1) != 0, "an element that is not stored has one too, which the sparse one leaves out");
}

constexpr int64_t kWords = 1'000'000, kTopics = 10, kTexts = 100;

static const SparseExamples& texts() {
  static const SparseExamples examples(kTexts, kWords, DType::kFloat32);
  return examples;
}

// A minibatch of the generator, as a run has it.
static std::vector<Tensor> minibatch(int64_t number) {
  const TopicTexts made = generate_topics(kTexts, kTopics, kWords, 50, 0.5, 1, number);
  Split split({.raw = outline(DType::kFloat64, {kTexts, kWords}), .source = made.x, .origin = "topics"},
              {.raw = made.y, .origin = "topics"}, Targets::kClasses, 1);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < kTexts; ++i) all.push_back(i);
  const Batch batch = split.read_sparse(all, DType::kFloat32);
  return {batch.sparse.values, batch.sparse.places, batch.sparse.indptr, batch.sparse.columns, batch.y};
}

// A step by the formula: W - r dcost/dW. The gradient is a product of two matrices, and the compiler adds it to W in
// place, without making it.
static void a_step_in_place() {
  const Sparse x = csr_matrix("x", kTexts, kWords, DType::kFloat32);
  const Shared w(Tensor::zeros(DType::kFloat32, {kWords, kTopics}), "w", true);
  const Expr y = tensor("y", {kTexts}, DType::kInt64);
  const Expr cost = negative_log_likelihood(dot(x, w), y);
  Function step = function(inputs_of({x, y}), {cost}, {{w, w - 0.1f * grad(cost, {w})[0]}});
  const double whole = 4.0 * kWords * kTopics / 1e6;
  std::printf("W has %.0f MB, the arena of a step %.3f MB\n", whole,
              static_cast<double>(step.info().arena_bytes) / 1e6);
  expect(step.info().arena_bytes < 100'000, "the step makes nothing of the size of W");
}

template <class O>
static Function step_of(const Shared& w, const typename O::Options& options) {
  const Expr y = tensor("y", {kTexts}, DType::kInt64);
  const Expr cost = negative_log_likelihood(texts().times(w), y);
  const TrainingStep step(std::make_unique<O>(options, std::vector<Param>{{"w", w}}));
  std::vector<In> inputs;
  for (const Expr& part : texts().inputs()) inputs.emplace_back(part);
  inputs.emplace_back(y);
  return function(inputs, {cost}, step.updates(cost, texts().columns));
}

// An optimizer with state: a word that the first minibatch has and the second has not.
static void rows_that_rest() {
  const std::vector<Tensor> first = minibatch(0), second = minibatch(1);
  int64_t only_first = -1;
  for (int64_t i = 0, j = 0; i < first[3].size(); ++i) {
    while (j < second[3].size() && second[3].as_int(j) < first[3].as_int(i)) ++j;
    if (j == second[3].size() || second[3].as_int(j) != first[3].as_int(i)) only_first = first[3].as_int(i);
  }
  std::printf("the first minibatch has %lld words of %lld, and word %lld is not in the second\n",
              static_cast<long long>(first[3].size()), static_cast<long long>(kWords),
              static_cast<long long>(only_first));
  const Shared w(Tensor::zeros(DType::kFloat32, {kWords, kTopics}), "w", true);
  Function adam = step_of<Adam>(w, {.learning_rate = 0.01});
  const auto weight = [&] { return w.get_value(true).as_double(only_first * kTopics); };
  adam(first);
  const double after_one = weight();
  adam(second);
  expect(after_one != 0, "its weights took a step with the first");
  expect(weight() == after_one, "and rest with the second, where Adam's running mean would move them on");
  // A gradient that is 0 moves nothing in plain descent: there is nothing to choose.
  const Shared v(Tensor::zeros(DType::kFloat32, {kWords, kTopics}), "v", true);
  Function sgd = step_of<Sgd>(v, {.learning_rate = 0.5});
  double cost = 0;
  for (int64_t k = 0; k < 30; ++k) cost = sgd(minibatch(k))[0].as_double();
  std::printf("cost of a minibatch after 30 steps: %.2f, at first %.2f\n", cost, std::log(10.0));
  expect(cost < std::log(10.0) / 2, "plain descent learns the topics");
}

int main() {
  gradients_of_elements();
  a_step_in_place();
  rows_that_rest();
  return 0;
}

// To try: give Adam every row, by step.updates(cost) in step_of: how long does a step take, and what becomes of the
// weights that rested? Then train on all rows with momentum, and say after how many steps a row that was seen once
// rests.
