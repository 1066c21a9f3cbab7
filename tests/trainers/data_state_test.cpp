#include "trainers/data_state.h"

#include <limits>

#include "datasets/npz.h"
#include "datasets/sources/npy.h"
#include "tests/support/dtypes.h"
#include "tests/support/training_support.h"
#include "trainers/build_model.h"
#include "trainers/load_data.h"

namespace thtrain {
namespace {

// 12 examples of 3 numbers far from 0, of classes 0, 1, 2, 0, ...
Experiment experiment_in(const TemporaryFolder& folder) {
  Tensor x = Tensor::empty(k32, {12, 3}), y = Tensor::empty(DType::kInt64, {12});
  for (int i = 0; i < 36; ++i) x.data<float>()[i] = static_cast<float>(100 + i * i % 17);
  for (int i = 0; i < 12; ++i) y.data<int64_t>()[i] = i % 3;
  write_npy(folder.path("x.npy"), x);
  write_npy(folder.path("y.npy"), y);
  Experiment out = small_experiment();
  NpyConfig files;
  files.train = "x.npy";
  files.train_labels = "y.npy";
  files.n_valid = 4;
  files.standardize = Standardization::By::kFeatures;
  out.data = files;
  out.trainer.batch_size = 4;
  out.compiler.mode = CompilerConfig::Mode::kReference;
  return out;
}

TEST(DataState, IsKeptWithTheModelAndUsedByEvaluation) {
  TemporaryFolder folder;
  Experiment e = experiment_in(folder);
  Dataset data = load_data(e, folder.path());
  RunFolder run = RunFolder::create(folder.path("run"), e, {.config_folder = folder.path()});
  train(e, data, run);
  for (const std::string& file : {run.best(), run.checkpoint()}) {
    std::map<std::string, Tensor> arrays = read_npz(file);
    EXPECT_EQ(arrays.at("data/mean").as_double(1), data.standardization->inputs.mean[1]);
    EXPECT_EQ(arrays.at("data/scale").as_double(2), data.standardization->inputs.scale[2]);
  }
  Evaluation with = evaluate(e, data, Part::kValid, run.best());
  // What the model keeps counts, not what the data says of itself.
  Dataset plain = data;
  plain.set_standardization(nullptr);
  EXPECT_EQ(evaluate(e, plain, Part::kValid, run.best()).loss, with.loss);
}

TEST(DataState, AResumedRunHasTheSameBits) {
  TemporaryFolder folder;
  Experiment e = experiment_in(folder);
  e.trainer.checkpoint_epochs = 1;
  Dataset data = load_data(e, folder.path());
  RunFolder whole = RunFolder::create(folder.path("whole"), e, {.config_folder = folder.path()});
  train(e, data, whole);
  RunFolder run = RunFolder::create(folder.path("run"), e, {.config_folder = folder.path()});
  struct Stop {};
  TrainHooks hooks{.on_epoch = [](const EpochReport& report) {
    if (report.epoch == 2) throw Stop();
  }};
  EXPECT_THROW(train(e, data, run, hooks), Stop);
  resume(e, load_data(e, folder.path()), run);
  std::map<std::string, Tensor> a = read_npz(whole.checkpoint()), b = read_npz(run.checkpoint());
  for (const char* name : {"hidden/W", "softmax/W", "data/mean"})
    EXPECT_TRUE(same_bits(a.at(name), b.at(name))) << name;
}

TEST(DataState, ArraysAndBack) {
  auto standard = std::make_shared<const Standardization>(Standardization{{{1, 2}, {3, 4}}, {{5}, {6}}});
  NamedArrays arrays = arrays_of(standard, k64);
  std::map<std::string, Tensor> map(arrays.begin(), arrays.end());
  map["W"] = Tensor::zeros(k64, {2});
  auto back = take_standardization(map, "w.npz");
  EXPECT_EQ(back->inputs.mean, (std::vector<double>{1, 2}));
  EXPECT_EQ(back->targets.scale, (std::vector<double>{6}));
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(take_standardization(map, "w.npz"), nullptr);
  EXPECT_TRUE(arrays_of(nullptr, k32).empty());
}

TEST(DataState, WhatFillsMissingValuesAndBack) {
  Standardization learned;
  learned.imputation = {{1.5, 0, -2}, {0, 2}};
  const NamedArrays arrays = arrays_of(std::make_shared<const Standardization>(learned), k64);
  EXPECT_EQ(array_named(arrays, "data/fill").text(), "[1.5, 0, -2]");
  EXPECT_EQ(array_named(arrays, "data/indicator").text(), "[1, 0, 1]");
  std::map<std::string, Tensor> map(arrays.begin(), arrays.end());
  const auto back = take_standardization(map, "w.npz");
  EXPECT_EQ(back->imputation.fill, learned.imputation.fill);
  EXPECT_EQ(back->imputation.indicated, learned.imputation.indicated);
  EXPECT_TRUE(back->inputs.empty());
  EXPECT_TRUE(map.empty());
}

TEST(DataState, DamagedArraysThatFill) {
  auto text = [](std::map<std::string, Tensor> arrays) {
    return error_text([&] { take_standardization(arrays, "w.npz"); });
  };
  const Tensor fill = Tensor::vector<double>({1, 0}), one = Tensor::vector<double>({1});
  EXPECT_EQ(text({{"data/indicator", one}}),
            "error: w.npz: there is no data/fill\n"
            "  expected: data/fill and data/indicator, which fill the data");
  EXPECT_EQ(text({{"data/fill", fill}, {"data/indicator", one}}),
            "error: w.npz: data/fill and data/indicator do not fill data\n"
            "  expected: two vectors of one length\n"
            "  got:      float64[2] and float64[1]");
  EXPECT_EQ(text({{"data/fill", fill}, {"data/indicator", Tensor::vector<double>({1, 0.5})}}),
            "error: w.npz: data/fill and data/indicator do not fill data\n"
            "  expected: finite numbers, and indicators that are 0 or 1\n"
            "  got:      0 and 0.5 at [1]");
  EXPECT_EQ(
      text({{"data/fill", Tensor::vector<double>({std::numeric_limits<double>::infinity()})}, {"data/indicator", one}}),
      "error: w.npz: data/fill and data/indicator do not fill data\n"
      "  expected: finite numbers, and indicators that are 0 or 1\n"
      "  got:      inf and 1 at [0]");
}

TEST(DataState, FillsExamplesOfItsSizeAlone) {
  Standardization learned;
  learned.imputation = {{1, 2}, {1}};
  const Split three({.raw = Tensor::zeros(k32, {2, 3}), .origin = "x.npy"}, {}, Targets::kNone, 1);
  EXPECT_EQ(error_text([&] { check_standardization(learned, three, "w.npz"); }),
            "error: w.npz: missing values were filled in examples of another size\n"
            "  expected: 2 numbers for each example, as data/fill has\n"
            "  got:      [3] in x.npy");
  Split filled({.raw = Tensor::zeros(k32, {2, 2}), .origin = "t.csv"}, {}, Targets::kNone, 1);
  filled.set_standardization(std::make_shared<const Standardization>(learned));
  EXPECT_EQ(filled.input_shape(), (Shape{3}));
  EXPECT_EQ(error_text([&] { check_standardization({}, filled, "w.npz"); }),
            "error: w.npz: the model was trained without data.impute\n"
            "  expected: data.impute = \"none\"\n"
            "  got:      missing values to fill in t.csv");
  // Another set of columns with indicators: those of the weights count.
  Standardization other;
  other.imputation = {{0, 0}, {0, 1}};
  EXPECT_NO_THROW(check_standardization(other, filled, "w.npz"));
  filled.set_standardization(std::make_shared<const Standardization>(other));
  EXPECT_EQ(filled.input_shape(), (Shape{4}));
  filled.set_standardization(nullptr);
  EXPECT_EQ(filled.input_shape(), (Shape{2}));
}

TEST(DataState, DamagedArrays) {
  auto text = [](std::map<std::string, Tensor> arrays) {
    return error_text([&] { take_standardization(arrays, "w.npz"); });
  };
  Tensor two = Tensor::of(std::vector<double>{1, 0}, {2}), one = Tensor::of(std::vector<double>{1}, {1});
  EXPECT_EQ(text({{"data/mean", two}}),
            "error: w.npz: there is no data/scale\n"
            "  expected: data/mean and data/scale, which standardize the data");
  EXPECT_EQ(text({{"data/mean", two}, {"data/scale", one}}),
            "error: w.npz: data/mean and data/scale do not standardize data\n"
            "  expected: two vectors of one length\n"
            "  got:      float64[2] and float64[1]");
  EXPECT_EQ(text({{"data/mean", two}, {"data/scale", two}}),
            "error: w.npz: data/mean and data/scale do not standardize data\n"
            "  expected: finite numbers, and deviations above 0\n"
            "  got:      0 and 0 at [1]");
  Split split({.raw = Tensor::zeros(k32, {2, 3}), .origin = "x.npy"}, {}, Targets::kNone, 1);
  EXPECT_EQ(error_text([&] {
              check_standardization({{{1, 2}, {3, 4}}, {}}, split, "w.npz");
            }),
            "error: w.npz: the data was standardized in another size\n"
            "  expected: 2 numbers for each example, as data/mean has\n"
            "  got:      [3] in x.npy");
}

}  // namespace
}  // namespace thtrain
