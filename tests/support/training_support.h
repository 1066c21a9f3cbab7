// Small experiments for the tests of trainers/: built in the program, done in a moment.
#pragma once

#include "datasets/load.h"
#include "tests/support/datasets_support.h"
#include "trainers/trainer.h"

namespace thtrain {

/// The options of an experiment that is trained with SGD.
inline OptimizerKind<Sgd>& sgd_of(Experiment& experiment) {
  return experiment.trainer.optimizer.get<OptimizerKind<Sgd>>();
}

/// 784-8-10 on 200 digits of the generator, with momentum and shuffling, 3 epochs of 10 minibatches; named as
/// read_experiment names layers.
inline Experiment small_experiment() {
  Experiment out;
  DigitsConfig digits;
  digits.n_train = 200;
  digits.n_valid = 60;
  digits.n_test = 40;
  out.data = digits;
  Dense::Options hidden;
  hidden.name = "hidden";
  hidden.units = 8;
  hidden.activation = "tanh";
  Softmax::Options softmax;
  softmax.name = "softmax";
  out.model.layers = {hidden, softmax};
  out.loss.l2 = 1e-3;
  sgd_of(out).learning_rate = 0.05;
  sgd_of(out).momentum = 0.9;
  out.trainer.batch_size = 20;
  out.trainer.epochs = 3;
  out.trainer.checkpoint_seconds = 0;
  out.compiler.threads = 1;
  out.output.plots = false;
  return out;
}

/// A split of these arrays, as if they stood in files.
inline Split split_of(const Tensor& x, const Tensor& y, int64_t classes) {
  Split out({.raw = x, .origin = "x.npy"}, {.raw = y, .origin = "y.npy"}, Targets::kClasses, 1);
  out.set_classes(classes);
  return out;
}

/// The values of a run's metrics without the times.
inline std::string metrics_without_times(const std::string& path) {
  std::ifstream lines(path);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += line.substr(0, line.find(", \"seconds\"")) + "\n";
  return out;
}

}  // namespace thtrain
