// The shipped experiments on the emulated device give the processor's figures.
#include <cmath>
#include <cstdlib>

#include "reports/json.h"
#include "tests/models/small_labs.h"
#include "trainers/inspect.h"

namespace thtrain {
namespace {

using Device = CompilerConfig::Device;

// THTRAIN_DEVICE_LABS=whole takes the labs' own layers, and trains logistic_mnist to its end.
bool are_wanted_whole() {
  const char* text = std::getenv("THTRAIN_DEVICE_LABS");
  return text && std::string(text) == "whole";
}

LabResult run_lab_on(Device device, Experiment experiment, const std::string& folder) {
  experiment.compiler.device = device;
  for (Experiment& phase : experiment.phases) phase.compiler.device = device;
  return run_lab(experiment, folder);
}

// By how much a figure is off, relative to the processor's where that is above 1: the most of all epochs.
class Differences {
 public:
  void add(std::optional<double> found, std::optional<double> expected) {
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (found) most_ = std::max(most_, std::abs(*found - *expected) / std::max(1.0, std::abs(*expected)));
  }
  double most() const { return most_; }

 private:
  double most_ = 0;
};

// In all labs the largest difference is 5e-7, of the last bits of float32; a unit that a machine draws differently, or
// a digit that is recognized by one of them alone, would make a thousand times as much.
void expect_figures_of_the_processor(const Experiment& experiment, const Experiment& on_device,
                                     const TemporaryFolder& temporary) {
  const LabResult expected = run_lab_on(Device::kCpu, experiment, temporary.path("cpu")),
                  found = run_lab_on(Device::kEmulated, on_device, temporary.path("device"));
  ASSERT_EQ(found.epochs.size(), expected.epochs.size());
  ASSERT_EQ(found.epochs.size(), 2 * phase_count(experiment));
  Differences differences;
  for (size_t i = 0; i < found.epochs.size(); ++i) {
    const EpochReport &got = found.epochs[i], &wanted = expected.epochs[i];
    differences.add(got.train_loss, wanted.train_loss);
    differences.add(got.train_error, wanted.train_error);
    differences.add(got.valid_loss, wanted.valid_loss);
    differences.add(got.valid_error, wanted.valid_error);
    differences.add(got.test_error, wanted.test_error);
  }
  testing::Test::RecordProperty("difference", json_number(differences.most()));
  testing::Test::RecordProperty("seconds", json_number(found.summary.seconds));
  EXPECT_LE(differences.most(), 5e-6);
}

class DeviceLabs : public testing::TestWithParam<std::string> {};

TEST_P(DeviceLabs, TrainToTheFiguresOfTheProcessor) {
  TemporaryFolder temporary;
  const std::optional<Experiment> experiment = smallest_lab(GetParam(), temporary, {}, are_wanted_whole());
  if (!experiment) GTEST_SKIP() << "no such data in THTRAIN_DATA";
  expect_figures_of_the_processor(*experiment, *experiment, temporary);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceLabs, testing::ValuesIn(lab_names()), [](const auto& info) { return info.param; });

// By libraries all that they are candidates for: products, convolutions, pooling.
struct OfLibraries {
  const char *name, *lab;
  std::vector<std::string> overrides, called;  // functions of libraries in a step of training
};

class DeviceLabsByLibraries : public testing::TestWithParam<OfLibraries> {};

TEST_P(DeviceLabsByLibraries, TrainToTheFiguresOfTheProcessor) {
  TemporaryFolder temporary;
  const Experiment experiment = smallest_lab(GetParam().lab, temporary, GetParam().overrides).value();
  Experiment on_device = experiment;
  on_device.compiler.device = Device::kEmulated;
  on_device.compiler.only_candidates = {"cu*", "layer_product:own"};  // with relu cuBLASLt is taken by name alone
  const std::string text = explain_training(on_device, load_data(on_device, "configs/labs"), "configs/labs").device;
  for (const std::string& function : GetParam().called)
    EXPECT_NE(text.find("emulated_" + function), std::string::npos) << function << " in " << text.substr(0, 400);
  expect_figures_of_the_processor(experiment, on_device, temporary);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceLabsByLibraries,
                         testing::ValuesIn(std::vector<OfLibraries>{
                             {"maxima", "lenet_digits", {}, {"cublas_gemm_f32", "cudnn_conv_f32", "cudnn_pool_f32"}},
                             {"averages",
                              "lenet_digits",
                              {"model.layers.1.mode=average", "model.layers.3.mode=average"},
                              {"cublas_gemm_f32", "cudnn_conv_f32", "cudnn_pool_f32", "cudnn_pool_gradient_f32"}},
                             {"recurrent", "rnn_reber", {}, {"cublas_gemm_f32"}}}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Tf32, RoundsProductsAndConvolutionsWhereAnExperimentSaysSo) {
  TemporaryFolder temporary;
  Experiment experiment = smallest_lab("lenet_digits", temporary, {"trainer.learning_rate=0.5"}).value();
  const LabResult exact = run_lab_on(Device::kEmulated, experiment, temporary.path("exact"));
  experiment.compiler.tf32 = true;
  const LabResult rounded = run_lab_on(Device::kEmulated, experiment, temporary.path("rounded"));
  const double difference = std::abs(rounded.epochs.back().train_loss - exact.epochs.back().train_loss);
  EXPECT_GT(difference, 1e-6) << "10 bits behind the point are seen";
  EXPECT_LT(difference, 1e-2);
  experiment.compiler.device = Device::kEmulated;
  const std::string text = explain_training(experiment, load_data(experiment, "configs/labs"), "configs/labs").device;
  for (const char* function : {"emulated_cublas_gemm_tf32", "emulated_cudnn_conv_tf32"})
    EXPECT_NE(text.find(function), std::string::npos) << function << " in " << text.substr(0, 400);
}

// The exact series of the Deep Learning Tutorials' logistic_sgd: all epochs take minutes.
TEST(LogisticMnistOnADevice, GivesTheTutorialsNumbers) {
  if (!has_mnist()) GTEST_SKIP() << "no MNIST in THTRAIN_DATA";
  TemporaryFolder temporary;
  std::vector<std::string> overrides{"compiler.floatX=float64", "output.plots=false"};
  if (!are_wanted_whole()) overrides.push_back("trainer.epochs=1");
  const LabResult done =
      run_lab_on(Device::kEmulated, lab("configs/labs/logistic_mnist.toml", overrides), temporary.path("run"));
  EXPECT_DOUBLE_EQ(*done.epochs[0].valid_error, 100.0 * 1196 / 9600);
  if (!are_wanted_whole()) return;
  EXPECT_EQ(done.summary.stop_epoch, 74);
  EXPECT_EQ(done.summary.best_epoch, 73);
  EXPECT_TRUE(done.summary.stopped_early);
  EXPECT_DOUBLE_EQ(*done.summary.valid_error, 7.5);
  EXPECT_DOUBLE_EQ(*done.summary.test_error, 100.0 * 719 / 9600);
}

}  // namespace
}  // namespace thtrain
