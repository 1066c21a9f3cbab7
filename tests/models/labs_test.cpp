// Every shipped experiment, shortened; and the exact numbers of those that have some.
#include <cmath>
#include <optional>

#include "datasets/sources/cifar10.h"
#include "datasets/sources/piano_rolls.h"
#include "datasets/sources/text.h"
#include "tests/support/lab_support.h"
#include "tests/support/sequence_labs.h"

namespace thtrain {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lab_names() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(source_path("configs/labs")))
    if (entry.path().extension() == ".toml") out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

class Labs : public testing::TestWithParam<std::string> {};

// The lab with so many examples where it can take fewer; nothing where its data is not there.
std::optional<Experiment> small_lab(const std::string& name, int64_t train, int64_t others,
                                    std::vector<std::string> overrides) {
  const std::string file = str("configs/labs/", name, ".toml");
  const OneOf<DataConfig> data = lab(file, {}).data;
  const bool is_of_files =
      data.is<CsvConfig>() || data.is<Cifar10Config>() || data.is<TextConfig>() || data.is<PianoRollsConfig>();
  if (!is_of_files)
    for (const std::string& size :
         {str("data.n_train=", train), str("data.n_valid=", others), str("data.n_test=", others)})
      overrides.push_back(size);
  Experiment out = lab(file, overrides);
  try {
    load_data(out, "configs/labs");
  } catch (const UserError&) {
    return std::nullopt;
  }
  return out;
}

TEST_P(Labs, RunsShortened) {
  TemporaryFolder temporary;
  std::vector<std::string> overrides = small_sequence_files(GetParam(), temporary);
  overrides.push_back("trainer.epochs=2");
  const std::optional<Experiment> experiment = small_lab(GetParam(), 3000, 1200, overrides);
  if (!experiment) GTEST_SKIP() << "no such data in THTRAIN_DATA";
  LabResult done = run_lab(*experiment, temporary.path("run"));
  EXPECT_EQ(done.summary.epochs, 2);
  ASSERT_EQ(done.epochs.size(), 2u);
  EXPECT_LT(done.epochs[1].train_loss, done.epochs[0].train_loss);
  ASSERT_TRUE(done.summary.valid_error && done.summary.test_error);
  if (experiment->trainer.metrics.empty()) {
    const double chance = GetParam() == "mlp_cifar10" ? 80 : 60;  // 90 is chance
    EXPECT_LT(*done.summary.valid_error, chance);
    EXPECT_LT(*done.summary.test_error, chance);
  }
  EXPECT_TRUE(fs::exists(temporary.path("run/plots/learning_curves.png")));
}

// The debug mode, which holds every step against the references, stops no good run. MNIST's labs train on digits here.
TEST_P(Labs, TrainsInDebugMode) {
  TemporaryFolder temporary;
  std::vector<std::string> overrides = {"trainer.epochs=2", "trainer.batch_size=20", "compiler.mode=debug",
                                        "output.plots=false"};
  for (const std::string& small : small_sequence_files(GetParam(), temporary)) overrides.push_back(small);
  if (GetParam() == "rnn_chars") overrides.push_back("data.tracks=20");
  if (GetParam() == "lstm_adding") overrides.push_back("data.steps=10");
  if (GetParam() == "lstm_adding" || GetParam() == "rnn_jsb") overrides.push_back("model.layers.0.units=10");
  if (GetParam() == "rnn_chars") overrides.push_back("model.layers.1.units=10");
  if (GetParam() == "mlp_cifar10")  // its pictures cannot be fewer: two steps in an epoch
    overrides.insert(overrides.end(), {"trainer.batch_size=100", "data.n_valid=1800", "model.layers.1.units=20"});
  std::optional<Experiment> experiment = small_lab(GetParam(), 40, 20, overrides);
  if (GetParam().ends_with("_mnist")) {
    experiment = lab(str("configs/labs/", GetParam(), ".toml"), overrides);
    DigitsConfig digits;
    digits.n_train = 40;
    digits.n_valid = 20;
    digits.n_test = 20;
    experiment->data = digits;
  }
  if (!experiment) GTEST_SKIP() << "no such data in THTRAIN_DATA";
  LabResult done = run_lab(*experiment, temporary.path("run"));
  EXPECT_EQ(done.summary.epochs, 2);
  EXPECT_LT(done.epochs[1].train_loss, done.epochs[0].train_loss);
}

INSTANTIATE_TEST_SUITE_P(All, Labs, testing::ValuesIn(lab_names()), [](const auto& info) { return info.param; });

// The Deep Learning Tutorials' logistic_sgd: nothing in it is random.
class LogisticMnist : public testing::TestWithParam<const char*> {};

TEST_P(LogisticMnist, GivesTheTutorialsNumbers) {
  if (!has_mnist()) GTEST_SKIP() << "no MNIST in THTRAIN_DATA";
  TemporaryFolder temporary;
  Experiment experiment = lab("configs/labs/logistic_mnist.toml", {str("compiler.floatX=", GetParam())});
  LabResult done = run_lab(experiment, temporary.path("run"));
  EXPECT_EQ(done.summary.stop_epoch, 74);
  EXPECT_EQ(done.summary.best_epoch, 73);
  EXPECT_TRUE(done.summary.stopped_early);
  EXPECT_DOUBLE_EQ(*done.summary.valid_error, 7.5);
  EXPECT_DOUBLE_EQ(*done.summary.test_error, 100.0 * 719 / 9600);
  EXPECT_DOUBLE_EQ(*done.epochs[0].valid_error, 100.0 * 1196 / 9600);
}

INSTANTIATE_TEST_SUITE_P(DTypes, LogisticMnist, testing::Values("float32", "float64"),
                         [](const auto& info) { return info.param; });

// The tutorials' mlp beside a plain NumPy program from the same first weights: counts of wrong digits of 10,000.
TEST(MlpMnist, TheFirstTenEpochsAreNumPys) {
  if (!has_mnist()) GTEST_SKIP() << "no MNIST in THTRAIN_DATA";
  TemporaryFolder temporary;
  Experiment experiment = lab("configs/labs/mlp_mnist.toml", {"trainer.epochs=10", "trainer.test_at=never"});
  LabResult done = run_lab(experiment, temporary.path("run"));
  std::vector<double> wrong, expected = {962, 861, 800, 760, 730, 702, 668, 626, 597, 574};
  for (const EpochReport& epoch : done.epochs) wrong.push_back(std::round(*epoch.valid_error * 100));
  EXPECT_EQ(wrong, expected);
}

}  // namespace
}  // namespace thtrain
