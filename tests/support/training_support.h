// Small experiments for the tests of trainers/: built in the program, done in a moment.
#pragma once

#include "datasets/load.h"
#include "datasets/sources/digits.h"
#include "nn/layers/dense.h"
#include "nn/layers/softmax.h"
#include "tests/support/datasets_support.h"
#include "trainers/checkpoint.h"
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

/// small_experiment() in reference mode.
inline Experiment reference_experiment() {
  Experiment out = small_experiment();
  out.compiler.mode = CompilerConfig::Mode::kReference;
  return out;
}

/// The array of that name; throws std::out_of_range where there is none.
inline const Tensor& array_named(const NamedArrays& arrays, const std::string& name) {
  for (const auto& [other, value] : arrays)
    if (other == name) return value;
  throw std::out_of_range(name);
}

/// Names and bits are the same.
inline void expect_same(const NamedArrays& a, const NamedArrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
  }
}

/// A split of these arrays, as if they were in files.
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
