// Runs on sparse examples: those of the dense ones, streamed or not, resumed, evaluated and predicted.
#include <fstream>

#include "datasets/npz.h"
#include "datasets/sources/libsvm.h"
#include "nn/optimizers/adam.h"
#include "nn/optimizers/sgd.h"
#include "tests/support/dtypes.h"
#include "tests/support/training_support.h"
#include "trainers/load_data.h"
#include "trainers/predict.h"

namespace thtrain::sparse_training_test {
namespace {

// 24 examples of some of 40 numbers; one has none.
std::string text() {
  std::string out;
  for (int i = 0; i < 24; ++i) {
    out += std::to_string(i % 3);
    for (int j = 1; i != 7 && j <= 40; j += 1 + (i * 5 + j) % 11) out += str(' ', j, ':', (i * j) % 7 - 2.5);
    out += '\n';
  }
  return out;
}

template <class O>
Experiment experiment_in(const TemporaryFolder& folder, bool is_sparse, const typename O::Options& optimizer) {
  folder.write("a.txt", text());
  Experiment out = small_experiment();
  LibsvmConfig files;
  files.train = {"a.txt"};
  files.n_valid = 6;
  files.features = 45;
  files.sparse = is_sparse;
  files.standardize = Standardization::By::kScales;
  out.data = files;
  OptimizerKind<O> kind;
  static_cast<typename O::Options&>(kind) = optimizer;
  out.trainer.optimizer = kind;
  out.loss.l2 = 0;
  out.trainer.batch_size = 5;
  out.trainer.checkpoint_epochs = 1;
  out.compiler.mode = CompilerConfig::Mode::kReference;
  return out;
}

using Arrays = std::map<std::string, Tensor>;

Arrays trained(const Experiment& e, const TemporaryFolder& folder, const std::string& name) {
  RunFolder run = RunFolder::create(folder.path(name), e, {.config_folder = folder.path()});
  train(e, load_data(e, folder.path()), run);
  return read_npz(run.checkpoint());
}

TEST(SparseTraining, WithoutStateIsTheDenseOne) {
  TemporaryFolder folder;
  const Sgd::Options sgd{.learning_rate = 0.2};
  const Arrays sparse = trained(experiment_in<Sgd>(folder, true, sgd), folder, "sparse"),
               dense = trained(experiment_in<Sgd>(folder, false, sgd), folder, "dense");
  for (const char* name : {"hidden/W", "hidden/b", "softmax/W", "data/scale"}) {
    const Tensor &a = sparse.at(name), &b = dense.at(name);
    ASSERT_EQ(a.shape(), b.shape());
    for (int64_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a.as_double(i), b.as_double(i), 1e-5) << name << ' ' << i;
  }
}

TEST(SparseTraining, StreamedAndResumedRunsHaveTheSameBits) {
  TemporaryFolder folder;
  Experiment e = experiment_in<Adam>(folder, true, {.learning_rate = 0.05});
  e.trainer.shuffle = true;
  const Arrays whole = trained(e, folder, "whole");
  Experiment streams = e;
  auto files = *e.data.get_if<LibsvmConfig>();
  files.memory_limit = 1e-9;
  streams.data = files;
  EXPECT_TRUE(load_data(streams, folder.path()).streamed);
  const Arrays streamed = trained(streams, folder, "streamed");
  RunFolder run = RunFolder::create(folder.path("run"), e, {.config_folder = folder.path()});
  struct Stop {};
  TrainHooks hooks{.on_epoch = [](const EpochReport& report) {
    if (report.epoch == 2) throw Stop();
  }};
  EXPECT_THROW(train(e, load_data(e, folder.path()), run, hooks), Stop);
  resume(e, load_data(e, folder.path()), run);
  const Arrays resumed = read_npz(run.checkpoint());
  for (const char* name : {"hidden/W", "softmax/W"}) {
    EXPECT_TRUE(same_bits(streamed.at(name), whole.at(name))) << name;
    EXPECT_TRUE(same_bits(resumed.at(name), whole.at(name))) << name;
  }
}

TEST(SparseTraining, EvaluatesAndPredictsAsOfTheDenseExamples) {
  TemporaryFolder folder;
  const Experiment sparse = experiment_in<Sgd>(folder, true, {.learning_rate = 0.2}),
                   dense = experiment_in<Sgd>(folder, false, {.learning_rate = 0.2});
  RunFolder run = RunFolder::create(folder.path("run"), sparse, {.config_folder = folder.path()});
  const Dataset data = load_data(sparse, folder.path()), whole = load_data(dense, folder.path());
  train(sparse, data, run);
  const Evaluation a = evaluate(sparse, data, Part::kValid, run.best()),
                   b = evaluate(dense, whole, Part::kValid, run.best());
  EXPECT_EQ(a.error, b.error);
  EXPECT_NEAR(a.loss, b.loss, 1e-6);
  const Prediction of_sparse = predict_all(sparse, data.train, run.best(), {}).outputs.front(),
                   of_dense = predict_all(dense, whole.train, run.best(), {}).outputs.front();
  EXPECT_TRUE(same_bits(of_sparse.classes, of_dense.classes));
  for (int64_t i = 0; i < of_dense.probabilities.size(); ++i)
    EXPECT_NEAR(of_sparse.probabilities.as_double(i), of_dense.probabilities.as_double(i), 1e-6);
}

}  // namespace
}  // namespace thtrain::sparse_training_test
