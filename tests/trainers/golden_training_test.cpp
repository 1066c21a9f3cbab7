// Whole trainings compared with a plain NumPy program: weights, losses, order of the examples, penalties, optimizers.
#include <cmath>

#include "datasets/npz.h"
#include "tests/support/golden_lines.h"
#include "tests/support/training_support.h"
#include "trainers/build_model.h"
#include "trainers/program.h"

namespace thtrain {
namespace {

struct GoldenEpoch {
  double loss;
  std::map<std::string, Tensor> weights;
};
struct GoldenRun {
  std::string optimizer;
  bool shuffle, full;
  std::vector<GoldenEpoch> epochs;
};
struct Golden {
  Tensor x, y;
  std::vector<GoldenRun> runs;
};

Golden read_golden() {
  Golden out;
  for (const GoldenLine& line : golden_lines("training.txt")) {
    if (line.name == "x")
      out.x = line.result(DType::kFloat64);
    else if (line.name == "y")
      out.y = line.result(DType::kInt64);
    else if (line.name == "run")
      out.runs.push_back({line.arguments[0], line.arguments[1] == "1", line.arguments[2] == "1", {}});
    else if (line.name == "loss")
      out.runs.back().epochs.push_back({line.result(DType::kFloat64).as_double(), {}});
    else
      out.runs.back().epochs.back().weights[line.name] = line.result(DType::kFloat64);
  }
  return out;
}

Experiment golden_experiment(const GoldenRun& run) {
  Experiment out = small_experiment();
  out.model.layers[0].get<Dense::Options>().units = 5;
  out.model.layers[1].get<Softmax::Options>().init.law = Init::Law::kGlorotUniform;
  out.seed = 1234;
  out.loss.l1 = 0.002;
  out.loss.l2 = 0.01;
  sgd_of(out).learning_rate = 0.3;
  sgd_of(out).momentum = run.optimizer == "plain" ? 0 : 0.8;
  sgd_of(out).nesterov = run.optimizer == "nesterov";
  out.trainer.batch_size = 10;
  out.trainer.shuffle = run.shuffle;
  out.trainer.full_batches_only = run.full;
  out.compiler.floatX = DType::kFloat64;
  return out;
}

void expect_near(const Tensor& got, const Tensor& expected, double bound, const std::string& what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got.as_double(i), expected.as_double(i), bound) << what << " " << i;
}

class GoldenTraining : public testing::TestWithParam<std::tuple<CompilerConfig::Mode, DType, bool>> {};

TEST_P(GoldenTraining, GivesNumPysWeightsAndLosses) {
  auto [mode, dtype, streamed] = GetParam();
  Golden golden = read_golden();
  ASSERT_EQ(golden.runs.size(), 4u);
  Dataset data;
  data.train = split_of(golden.x, golden.y, 3);
  data.streamed = streamed;
  double bound = dtype == DType::kFloat64 ? 1e-12 : 2e-5;
  for (const GoldenRun& run : golden.runs) {
    Experiment experiment = golden_experiment(run);
    experiment.compiler.mode = mode;
    experiment.compiler.floatX = dtype;
    TrainingProgram program(experiment, data, "");
    EXPECT_EQ(program.batches(), run.full ? 4 : 5);
    RandomState random = program.model().random();
    for (size_t epoch = 0; epoch < run.epochs.size(); ++epoch) {
      std::string what = str(run.optimizer, " epoch ", epoch + 1, " ");
      program.begin_epoch(random);
      for (int64_t batch = 0; batch < program.batches(); ++batch) program.step(batch);
      EXPECT_NEAR(program.loss_sum() / static_cast<double>(program.batches()), run.epochs[epoch].loss, bound) << what;
      for (const auto& [name, variable] : program.weights())
        expect_near(variable.get_value(), run.epochs[epoch].weights.at(name), bound, what + name);
    }
  }
}

std::string name_of_case(const testing::TestParamInfo<GoldenTraining::ParamType>& info) {
  auto [mode, dtype, streamed] = info.param;
  const char* modes[] = {"native_", "reference_", "debug_"};
  return str(modes[static_cast<int>(mode)], name_of(dtype), streamed ? "_streamed" : "");
}
using Mode_ = CompilerConfig::Mode;
INSTANTIATE_TEST_SUITE_P(Cases, GoldenTraining,
                         testing::Values(std::tuple(Mode_::kNative, DType::kFloat64, false),
                                         std::tuple(Mode_::kNative, DType::kFloat32, false),
                                         std::tuple(Mode_::kNative, DType::kFloat64, true),
                                         std::tuple(Mode_::kReference, DType::kFloat64, false),
                                         std::tuple(Mode_::kDebug, DType::kFloat32, false)),
                         name_of_case);

// A run may start from another program's weights.
TEST(GoldenTrainingWeights, StartFromAnNpz) {
  Golden golden = read_golden();
  TemporaryFolder folder;
  const GoldenRun& run = golden.runs[0];
  std::vector<std::pair<std::string, Tensor>> arrays(run.epochs[0].weights.begin(), run.epochs[0].weights.end());
  write_npz(folder.path("w.npz"), arrays);
  Experiment experiment = golden_experiment(run);
  experiment.model.weights = "w.npz";
  experiment.compiler.mode = CompilerConfig::Mode::kReference;
  Dataset data;
  data.train = split_of(golden.x, golden.y, 3);
  TrainingProgram program(experiment, data, folder.path());
  RandomState random = program.model().random();
  program.begin_epoch(random);
  for (int64_t batch = 0; batch < program.batches(); ++batch) program.step(batch);
  for (const auto& [name, variable] : program.weights())
    expect_near(variable.get_value(), run.epochs[1].weights.at(name), 1e-12, name);
}

}  // namespace
}  // namespace thtrain
