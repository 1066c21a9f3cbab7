#include "bench/start.h"

#include <algorithm>

#include "compiler/base/clock.h"
#include "compiler/base/error.h"
#include "datasets/sources/adding.h"
#include "datasets/sources/digits.h"
#include "nn/layers/conv.h"
#include "nn/layers/dense.h"
#include "nn/layers/lstm.h"
#include "nn/layers/pool.h"
#include "nn/layers/rbm.h"
#include "nn/layers/softmax.h"
#include "nn/objectives/contrastive_divergence.h"
#include "nn/objectives/squared_error.h"
#include "nn/optimizers/adam.h"
#include "trainers/load_data.h"
#include "trainers/program.h"

namespace thtrain {

namespace {

template <class Config>
Config few_examples() {
  Config out;
  out.n_train = 200;
  out.n_valid = out.n_test = 100;
  return out;
}

Dense::Options dense(int64_t units, const std::string& activation) {
  Dense::Options out;
  out.units = units;
  out.activation = activation;
  return out;
}

OneOf<OptimizerOptions> sgd(double momentum) {
  OptimizerKind<Sgd> out;
  out.learning_rate = 0.05;
  out.momentum = momentum;
  return out;
}

Experiment of_digits(std::vector<OneOf<LayerOptions>> layers, int64_t batch) {
  Experiment out;
  out.data = few_examples<DigitsConfig>();
  out.model.layers = std::move(layers);
  out.model.layers.emplace_back(Softmax::Options());
  out.trainer.optimizer = sgd(0.9);
  out.trainer.batch_size = batch;
  return out;
}

Experiment mlp_digits() {
  Experiment out = of_digits({dense(300, "tanh")}, 50);
  out.loss.l2 = 1e-4;
  return out;
}

Experiment lenet_digits() {
  std::vector<OneOf<LayerOptions>> layers;
  for (const int64_t filters : {8, 16}) {
    Conv::Options conv;
    conv.units = filters;
    conv.window.size = {5};
    Pool::Options pool;
    pool.activation = "relu";
    layers.insert(layers.end(), {conv, pool});
  }
  layers.emplace_back(dense(60, "relu"));
  return of_digits(std::move(layers), 50);
}

Experiment layers_20() {
  std::vector<OneOf<LayerOptions>> layers;
  for (int64_t i = 0; i < 20; ++i) layers.emplace_back(dense(67 + 7 * i, "tanh"));
  return of_digits(std::move(layers), 60);
}

Experiment lstm_adding() {
  Experiment out;
  out.data = few_examples<AddingConfig>();
  Lstm::Options lstm;
  lstm.units = 64;
  lstm.output = RecurrentOutput::kLast;
  out.model.layers = {lstm, dense(1, "linear")};
  out.loss.objective = SquaredError::Options();
  OptimizerKind<Adam> adam;
  adam.learning_rate = 0.002;
  out.trainer.optimizer = adam;
  out.trainer.clip_norm = 1;
  out.trainer.batch_size = 50;
  return out;
}

Experiment rbm_digits() {
  Experiment out;
  out.data = few_examples<DigitsConfig>();
  Rbm::Options rbm;
  rbm.units = 100;
  out.model.layers = {rbm};
  ContrastiveDivergence::Options loss;
  loss.k = 5;
  loss.persistent = true;
  out.loss.objective = loss;
  out.trainer.optimizer = sgd(0);
  out.trainer.batch_size = 20;
  return out;
}

struct Start {
  const char* name;
  Experiment (*experiment)();
};
constexpr Start kStarts[] = {{"mlp_digits", mlp_digits},
                             {"lenet_digits", lenet_digits},
                             {"lstm_adding", lstm_adding},
                             {"rbm_digits", rbm_digits},
                             {"layers_20", layers_20}};

}  // namespace

const std::vector<std::string>& start_cases() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Start& start : kStarts) out.emplace_back(start.name);
    return out;
  }();
  return names;
}

double seconds_to_first_step(const std::string& name, const WorkloadOptions& options) {
  const Start* start = std::ranges::find(kStarts, name, &Start::name);
  TH_CHECK(start != std::end(kStarts), "bench: no start of ", name);
  Experiment experiment = checked_experiment(start->experiment());
  experiment.compiler.floatX = options.dtype;
  experiment.compiler.threads = options.threads;
  const Dataset data = load_data(experiment, ".");
  RandomState random(1);
  const double begin = seconds_now();
  TrainingProgram program(experiment, data, ".");
  program.begin_epoch(random);
  program.step(0);
  return seconds_now() - begin;
}

}  // namespace thtrain
