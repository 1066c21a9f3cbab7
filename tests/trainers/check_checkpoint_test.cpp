// Checkpoints that somebody changed are refused as a whole: the folder stays as it is.
#include "trainers/check_checkpoint.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "compiler/base/file.h"
#include "datasets/npz.h"
#include "tests/support/training_support.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// A run of one epoch of 10 minibatches, which is over.
class CheckCheckpoint : public testing::Test {
 protected:
  using Arrays = std::vector<std::pair<std::string, Tensor>>;

  void SetUp() override {
    experiment_ = small_experiment();
    experiment_.trainer.epochs = 1;
    RunFolder folder = RunFolder::create(temporary_.path("run"), experiment_);
    train(experiment_, data(), folder);
    path_ = folder.checkpoint();
    NpzFile file(path_);
    for (const std::string& name : file.names()) good_.emplace_back(name, file.read(name));
  }
  const Dataset& data() {
    if (!data_) data_ = load_data(experiment_, "");
    return *data_;
  }

  // The error that resuming ends with, without "error: PATH: " and the hint, which are checked.
  std::string refusal(const std::function<void(Arrays&)>& change) {
    Arrays arrays;
    for (const auto& [name, array] : good_) arrays.emplace_back(name, array.copy());
    change(arrays);
    write_npz(path_, arrays);
    RunFolder folder = RunFolder::open(temporary_.path("run"));
    auto before = files();
    std::string text = error_text([&] { resume(experiment_, data(), folder); });
    EXPECT_EQ(files(), before);
    const std::string head = str("error: ", path_, ": ");
    const std::string hint =
        str("\n  hint:     the checkpoint is damaged or was changed: put it back from a copy;\n"
            "            a new run can start from the weights in ",
            folder.best(), ", as its model.weights");
    EXPECT_TRUE(text.starts_with(head)) << text;
    EXPECT_TRUE(text.ends_with(hint)) << text;
    if (!text.starts_with(head) || !text.ends_with(hint)) return text;
    return text.substr(head.size(), text.size() - head.size() - hint.size());
  }
  static Tensor& of(Arrays& arrays, const std::string& name) {
    for (auto& [key, array] : arrays)
      if (key == name) return array;
    throw std::runtime_error(name);
  }
  std::string with_number(const std::string& name, int64_t index, double value) {
    return refusal([&](Arrays& arrays) { of(arrays, name).data<double>()[index] = value; });
  }
  std::string with_position(int64_t index, int64_t value) {
    return refusal([&](Arrays& arrays) { of(arrays, "run.position").data<int64_t>()[index] = value; });
  }
  std::string with_array(const std::string& name, const Tensor& array) {
    return refusal([&](Arrays& arrays) { of(arrays, name) = array; });
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary_.path("run")))
      if (entry.is_regular_file()) out[entry.path().string()] = read_file(entry.path().string());
    return out;
  }

  TemporaryFolder temporary_;
  Experiment experiment_;
  std::optional<Dataset> data_;
  std::string path_;
  Arrays good_;
};

TEST_F(CheckCheckpoint, TheGoodOneGoesOn) {
  RunFolder folder = RunFolder::open(temporary_.path("run"));
  experiment_.trainer.epochs = 3;
  EXPECT_EQ(resume(experiment_, data(), folder, {}, {.accept_edits = true}).steps, 30);
}

// What numpy.savez writes of a dictionary that was sorted.
TEST_F(CheckCheckpoint, TheOrderOfTheBestWeightsIsFree) {
  Arrays arrays(good_.rbegin(), good_.rend());
  write_npz(path_, arrays);
  Checkpoint checkpoint = read_checkpoint(path_);
  NamedArrays weights(checkpoint.weights.rbegin(), checkpoint.weights.rend());
  check_checkpoint(path_, checkpoint, weights);
  NamedArrays best = best_of(checkpoint, weights);
  ASSERT_EQ(best.size(), weights.size());
  for (size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].first, weights[i].first);
  RunFolder folder = RunFolder::open(temporary_.path("run"));
  experiment_.trainer.epochs = 3;
  EXPECT_EQ(resume(experiment_, data(), folder, {}, {.accept_edits = true}).steps, 30);
}

TEST_F(CheckCheckpoint, BestWeightsThatAreMissingOrMore) {
  const std::string names = "run.best/hidden/W, run.best/hidden/b, run.best/softmax/W, run.best/softmax/b";
  auto without = [&](const std::string& prefix) {
    return refusal([&](Arrays& arrays) {
      std::erase_if(arrays, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    });
  };
  EXPECT_EQ(without("run.best/"),
            str("there is no run.best/hidden/W\n  expected: ", names, "\n  got:      nothing of those names"));
  EXPECT_EQ(without("run.best/softmax/W"),
            str("there is no run.best/softmax/W\n  expected: ", names,
                "\n  got:      run.best/hidden/W, run.best/hidden/b, run.best/softmax/b"));
  for (const char* name : {"run.best//x", "run.best/zzz/W", "run.velocity/zzz/W", "run.zzz/hidden/W"}) {
    std::string text = refusal([&](Arrays& arrays) { arrays.emplace_back(name, Tensor::matrix<float>({{1, 2}})); });
    std::string prefix = name == std::string_view("run.best//x") || std::string_view(name).starts_with("run.best")
                             ? "run.best/"
                             : "run.velocity/";
    std::string all = join(std::vector<std::string>{"hidden/W", "hidden/b", "softmax/W", "softmax/b"}, ", ",
                           [&](const std::string& weight) { return prefix + weight; });
    EXPECT_EQ(text, str("the run has no ", name, " float32[1, 2]\n  expected: ", all));
  }
}

TEST_F(CheckCheckpoint, ArraysOfOtherTypesAndShapes) {
  for (const char* name : {"run.best/softmax/b", "run.velocity/softmax/b", "softmax/b"})
    for (DType dtype : {DType::kFloat64, DType::kInt32, DType::kComplex128}) {
      if (name == std::string_view("softmax/b") && dtype == DType::kComplex128) continue;  // Model::load refuses it
      EXPECT_EQ(
          with_array(name, Tensor::zeros(dtype, {10})),
          str(name, " is not what this run writes\n  expected: float32[10]\n  got:      ", name_of(dtype), "[10]"));
    }
  for (const char* name : {"run.best/softmax/b", "run.velocity/softmax/b"})
    EXPECT_EQ(with_array(name, Tensor::zeros(DType::kFloat32, {1})),
              str(name, " is not what this run writes\n  expected: float32[10]\n  got:      float32[1]"));
}

TEST_F(CheckCheckpoint, ValuesThatAreNotFinite) {
  for (const char* name : {"run.best/softmax/b", "run.velocity/softmax/b"})
    for (double value : {kNan, kInf}) {
      std::string text =
          refusal([&](Arrays& arrays) { of(arrays, name).data<float>()[3] = static_cast<float>(value); });
      EXPECT_EQ(text, str(name, " holds a value that is not finite\n  expected: finite numbers\n  got:      ", value,
                          " at element 3 of float32[10]"));
    }
  EXPECT_EQ(with_number("run.epoch", 0, kNan),
            "run.epoch[0], the sum of the losses, is not finite\n  expected: a finite number\n  got:      nan");
  EXPECT_EQ(with_number("run.epoch", 4, -kInf),
            "run.epoch[4], the seconds, is not finite\n  expected: a finite number, at least 0\n  got:      -inf");
  EXPECT_EQ(with_number("run.epoch", 6, kInf),
            "run.epoch[6], the learning rate, is not finite\n  expected: a finite number\n  got:      inf");
}

TEST_F(CheckCheckpoint, PositionsThatNoRunComesTo) {
  const int64_t lowest = std::numeric_limits<int64_t>::min(), huge = int64_t{1} << 62;
  EXPECT_EQ(with_position(0, lowest),
            "run.position[0], the finished epochs, is not what a run writes\n"
            "  expected: 0 to 10, the minibatches in all\n  got:      -9223372036854775808");
  EXPECT_EQ(with_position(0, 5),
            "run.history is not what a run writes\n"
            "  expected: float64[5, 9], a row for each finished epoch\n"
            "  got:      float64[1, 9]");
  for (int64_t value : {lowest, int64_t{-1}, int64_t{10}, huge})
    EXPECT_EQ(with_position(1, value), str("run.position[1], the minibatches of this epoch, is not what a run writes\n"
                                           "  expected: 0 to 9: each finished epoch had one at least\n  got:      ",
                                           value));
  for (int64_t value : {lowest, int64_t{-1}, huge})
    EXPECT_EQ(with_position(2, value), str("run.position[2], the minibatches in all, is not what a run writes\n"
                                           "  expected: 0 to 9007199254740992\n  got:      ",
                                           value));
  EXPECT_EQ(with_position(3, 7),
            "run.position[3], stopped early, is not what a run writes\n  expected: 0 or 1\n  got:      7");
}

TEST_F(CheckCheckpoint, MonitorsThatNoRunHas) {
  for (double value : {kNan, kInf, -kInf})
    EXPECT_EQ(with_number("run.monitor", 0, value),
              str("run.monitor[0], the patience, is not finite\n  expected: a finite number, at least 0\n  got:      ",
                  value));
  EXPECT_EQ(with_number("run.monitor", 1, 1e300),
            "run.monitor[1], the best validation error, is not what a run writes\n  expected: 0 to 100\n"
            "  got:      1e+300");
  for (double value : {kInf, -kInf, kNan})
    EXPECT_EQ(
        with_number("run.monitor", 1, value),
        str("run.monitor[1], the best validation error, is not finite\n  expected: 0 to 100\n  got:      ", value));
  for (double value : {-1.0, 0.5, 3.0, 1e300})
    EXPECT_EQ(with_number("run.monitor", 2, value),
              str("run.monitor[2], the epoch of the best validation error, is not what a run writes\n"
                  "  expected: 0 (none yet) to 2\n  got:      ",
                  value));
  EXPECT_EQ(with_number("run.monitor", 3, -5),
            "run.monitor[3], the test error with the best validation error, is not what a run writes\n"
            "  expected: 0 to 100, or NaN where it was not measured\n  got:      -5");
  EXPECT_EQ(with_array("run.monitor", Tensor::vector<double>({0, kInf, -1, kNan})),
            "run.monitor[2], the epoch of the best validation error, is not what a run writes\n"
            "  expected: 0 (none yet) to 2\n  got:      -1");
  EXPECT_EQ(with_array("run.monitor", Tensor::vector<double>({0, kInf, 0, kNan})),
            "there are best weights of no epoch\n"
            "  expected: run.monitor[2], the epoch of the best validation error, from 1\n"
            "  got:      0, and run.best/hidden/W");
}

TEST_F(CheckCheckpoint, HistoriesThatNoRunHas) {
  Tensor all = Tensor::empty(DType::kFloat64, {1, 9});
  std::fill_n(all.data<double>(), 9, -1e300);
  EXPECT_EQ(with_array("run.history", all),
            "run.history[0, 0], the epoch, is not what a run writes\n  expected: 1\n  got:      -1e+300");
  for (double value : {kNan, kInf})
    EXPECT_EQ(
        with_number("run.history", 1, value),
        str("run.history[0, 1], the training loss, is not finite\n  expected: a finite number\n  got:      ", value));
  EXPECT_EQ(with_number("run.history", 2, 101),
            "run.history[0, 2], the validation error, is not what a run writes\n"
            "  expected: 0 to 100, or NaN where it was not measured\n  got:      101");
  EXPECT_EQ(with_number("run.history", 8, -kInf),
            "run.history[0, 8], the learning rate, is not finite\n  expected: a finite number\n  got:      -inf");
  EXPECT_EQ(with_array("run.history", Tensor::zeros(DType::kFloat32, {1, 9})),
            "run.history is not what a run writes\n"
            "  expected: float64[1, 9], a row for each finished epoch\n  got:      float32[1, 9]");
}

TEST_F(CheckCheckpoint, GeneratorsThatNoRunHas) {
  auto with = [&](int64_t byte, uint8_t value, size_t count = 1) {
    Arrays arrays;
    for (const auto& [name, array] : good_) arrays.emplace_back(name, array.copy());
    std::fill_n(of(arrays, "run.random").data<uint8_t>() + byte, count, value);
    write_npz(path_, arrays);
    return error_text([&] { read_checkpoint(path_); });
  };
  const int64_t read_position = read_checkpoint(path_).state.random.state().position;
  EXPECT_EQ(with(4 * 624 + 3, 1), str("error: ", path_,
                                      ": run.random: the saved state of a random generator is damaged\n"
                                      "  expected: a position from 0 to 624\n"
                                      "  got:      position ",
                                      (1 << 24) + read_position));
  EXPECT_EQ(with(4 * 624 + 8, 0xff, 8),
            str("error: ", path_,
                ": run.random holds a value that is not finite\n"
                "  expected: the state of a generator, whose numbers are finite\n"
                "  hint:     the checkpoint is damaged or was changed: put it back from a copy"));
}

TEST_F(CheckCheckpoint, NothingToMeasureBeforeAMinibatch) {
  Arrays arrays = good_;
  arrays.emplace_back("run.unmeasured", Tensor::vector<int64_t>({1}));
  write_npz(path_, arrays);
  EXPECT_EQ(error_text([&] { read_checkpoint(path_); }),
            str("error: ", path_,
                ": run.unmeasured is not what a run writes\n"
                "  expected: 0, as this epoch has no minibatches (run.position[1])\n"
                "  got:      1"));
}

}  // namespace
}  // namespace thtrain
